//! Reverse-mode automatic differentiation on CPU arrays, real and complex, over recycled buffers.
