//! Temporary.
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::allow_attributes, unreachable_pub, dead_code, missing_debug_implementations)]
pub mod tls_pool {
    use std::marker::PhantomData;
    pub struct ShapeError;
    pub struct Scratch<'p, T>(Vec<T>, PhantomData<&'p ()>);
    impl<T> std::ops::Deref for Scratch<'_, T> { type Target=[T]; fn deref(&self)->&[T]{&self.0} }
    impl<T> std::ops::DerefMut for Scratch<'_, T> { fn deref_mut(&mut self)->&mut [T]{&mut self.0} }
    pub struct TlsPool;
    impl TlsPool {
        pub fn zeroed<T: bytemuck::Pod>(&self, shape: &[usize]) -> Result<Scratch<'_, T>, ShapeError> { Ok(Scratch(vec![T::zeroed(); shape[0]], PhantomData)) }
        pub fn unspecified<T: bytemuck::Pod>(&self, shape: &[usize]) -> Result<Scratch<'_, T>, ShapeError> { self.zeroed(shape) }
    }
}
pub mod grad_pool {
    use std::marker::PhantomData;
    pub trait Element: bytemuck::Pod + Send + Sync {}
    impl Element for f32{} impl Element for f64{} impl Element for num_complex::Complex<f32>{} impl Element for num_complex::Complex<f64>{}
    pub struct Arena;
    pub struct Grad<'a, T>(Vec<T>, PhantomData<&'a ()>);
    impl<T> std::ops::Deref for Grad<'_, T> { type Target=[T]; fn deref(&self)->&[T]{&self.0} }
    impl<T> std::ops::DerefMut for Grad<'_, T> { fn deref_mut(&mut self)->&mut [T]{&mut self.0} }
    pub struct Leaf<T>(Vec<T>);
    impl<T> std::ops::Deref for Leaf<T> { type Target=[T]; fn deref(&self)->&[T]{&self.0} }
    impl<T> std::ops::DerefMut for Leaf<T> { fn deref_mut(&mut self)->&mut [T]{&mut self.0} }
    impl<T> Leaf<T> { pub fn detach(self)->Vec<T>{self.0} }
    impl<'a,T> Grad<'a,T> { pub fn into_leaf(self)->Leaf<T>{Leaf(self.0)} }
    impl Arena {
        pub fn zeroed<T: Element>(&self, n: usize) -> Grad<'_, T> { Grad(vec![T::zeroed(); n], PhantomData) }
        pub fn unspecified<T: Element>(&self, n: usize) -> Grad<'_, T> { self.zeroed(n) }
    }
}
