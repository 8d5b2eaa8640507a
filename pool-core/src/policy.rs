//! The question every pool asks: what becomes of a buffer that comes back?
//!
//! [`Retention`] is the whole interface between mechanism and policy. The mechanism hands over
//! numbers ([`Offer`], [`Held`]) and acts on a [`Verdict`]; a policy never sees a buffer, a lock,
//! a thread or a clock. One policy is one file below this module.
//!
//! - A policy cannot make the accounts wrong: it only advises, and [`Shelf`](crate::Shelf) counts.
//! - A policy cannot loop: each [`Verdict::MakeRoom`] removes one buffer, and on an empty shelf it
//!   is a refusal.

mod adaptive;
mod both;
mod bounded;
mod budget;
mod decaying;
mod unbounded;
mod unpooled;

pub use adaptive::Adaptive;
pub use both::{Both, Capped};
pub use bounded::{Bounded, WhenFull};
pub use budget::{Budget, Share};
pub use decaying::Decaying;
pub use unbounded::Unbounded;
pub use unpooled::Unpooled;

/// One returned buffer and the class it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Capacity of the buffer, in bytes, measured now that it is back.
    pub bytes: usize,
    /// Buffers of its class that the pool holds already.
    pub class_buffers: usize,
    /// Bytes of capacity in those.
    pub class_bytes: usize,
}

impl Offer {
    /// Describes a buffer of `bytes` whose class holds nothing yet.
    #[must_use]
    pub const fn of(bytes: usize) -> Self {
        Self {
            bytes,
            class_buffers: 0,
            class_bytes: 0,
        }
    }
}

/// What a pool holds at the moment of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Held {
    /// Buffers retained.
    pub buffers: usize,
    /// Bytes of capacity in those.
    pub bytes: usize,
    /// Classes with at least one buffer.
    pub classes: usize,
}

/// How one class was used, as its policy is told at the end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Use {
    /// Buffers of the class that the pool holds now.
    pub buffers: usize,
    /// Bytes of capacity in those.
    pub bytes: usize,
    /// How many of them were there at every moment since the policy last gave some of the class up:
    /// what nobody needed.
    pub idle: usize,
    /// Rounds that `idle` covers, the one that just ended included.
    pub rounds: u32,
    /// How many of the class each of the last rounds needed at once, the one that just ended first:
    /// what the pool held at its end, less the fewest that it held in it.
    pub needed: [usize; Use::ROUNDS],
}

impl Use {
    /// Rounds whose needs are remembered.
    pub const ROUNDS: usize = 8;
}

/// A policy's answer on one returned buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Retain it for the next borrower.
    Keep,
    /// Free it, and count why. A refusal is a miss later and never an error.
    Refuse(Refusal),
    /// Evict one buffer of the least recently used class, then ask again. On an empty pool this
    /// is a refusal.
    MakeRoom,
}

/// Why a returned buffer was not retained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// It is over the ceiling of one buffer.
    BufferTooLarge,
    /// Its class holds as much as it may.
    ClassFull,
    /// The pool holds as much as it may.
    PoolFull,
    /// It would begin a class, and there are as many as there may be.
    TooManyClasses,
    /// The policy retains nothing.
    Unpooled,
    /// The pool is switched off, or was cleared while the buffer was out.
    SwitchedOff,
    /// The shelf is gone: its thread is ending or its pool was dropped.
    Closed,
    /// A reason of a user's own policy.
    Other,
}

impl Refusal {
    /// Every reason, in the order of [`Stats::refused`](crate::Stats::refused).
    pub const ALL: [Self; 8] = [
        Self::BufferTooLarge,
        Self::ClassFull,
        Self::PoolFull,
        Self::TooManyClasses,
        Self::Unpooled,
        Self::SwitchedOff,
        Self::Closed,
        Self::Other,
    ];

    /// A few words for a table.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::BufferTooLarge => "buffer too large",
            Self::ClassFull => "class full",
            Self::PoolFull => "pool full",
            Self::TooManyClasses => "too many classes",
            Self::Unpooled => "unpooled",
            Self::SwitchedOff => "switched off",
            Self::Closed => "closed",
            Self::Other => "other",
        }
    }

    /// The index of this reason in [`ALL`](Self::ALL).
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Rules on every buffer that comes back to a pool.
///
/// Implementors see sizes only. The pool calls these methods under its own lock or in its own
/// thread, so an implementation must not block. It must not panic either: a buffer comes back when
/// its guard drops, so the pools catch a panic there, free the buffer and count it as refused for
/// [`Refusal::Other`], but what such a policy remembers is its own affair. Dispatch is static where the pool's type names
/// the policy, and dynamic with `Box<dyn Retention + Send>`.
///
/// # Examples
///
/// A policy of one's own, in all three pools. It keeps buffers only while the whole pool stays
/// within a number of memory pages:
///
/// ```
/// use pool_core::{Held, Offer, Refusal, Retention, Verdict};
///
/// #[derive(Clone, Debug)]
/// struct Pages {
///     limit: usize,
/// }
///
/// impl Retention for Pages {
///     fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
///         let free = (self.limit * 4096).saturating_sub(held.bytes);
///         if offer.bytes <= free { Verdict::Keep } else { Verdict::Refuse(Refusal::PoolFull) }
///     }
/// }
///
/// // Scratch of one thread.
/// let scratch = tls_pool::TlsPool::new(Pages { limit: 2 });
/// drop(scratch.zeroed::<f64>(&[32, 32])?); // 8 KiB: kept
/// drop(scratch.zeroed::<f64>(&[8])?); // no page left
/// assert_eq!(scratch.stats().held_bytes, 8192);
///
/// // Gradients of one sweep; its arena hands what it holds to the pool when it ends.
/// let grads = grad_pool::GradPool::new(Pages { limit: 2 });
/// drop(grads.arena().zeroed::<f32>(2048));
/// assert_eq!(grads.stats().held_bytes, 8192);
///
/// // Payloads of frames.
/// let frames = frame_pool::FramePool::new(Pages { limit: 2 });
/// drop(frames.take(10_000)); // more than two pages: refused
/// assert_eq!(frames.stats().refusals(), 1);
/// # Ok::<(), pool_core::ShapeError>(())
/// ```
pub trait Retention {
    /// Rules on one returned buffer, given what the pool holds already.
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict;

    /// Says whether a request for `bytes` may ride the pool at all.
    ///
    /// A request that may not is an ordinary allocation, and its return an ordinary drop; it
    /// counts as [`bypassed`](crate::Stats::bypassed), neither hit nor miss.
    fn admit(&self, bytes: usize) -> bool {
        let _ = bytes;
        true
    }

    /// Says whether the verdict depends on the numbers of the question alone, and what is kept
    /// with some of them is kept with less held, while all the other notes and questions but
    /// [`admit`](Self::admit) do nothing.
    ///
    /// A pool then need not ask again when a retained buffer was lent and comes back to its place.
    /// `false` is always right, and the default.
    fn is_memoryless(&self) -> bool {
        false
    }

    /// Notes that a borrower wanted `bytes` and got a retained buffer.
    fn on_hit(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Notes that a borrower wanted `bytes` and the pool had nothing that fits.
    fn on_miss(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Notes that a retained buffer of `bytes` of capacity left: it was lent, evicted or cleared.
    ///
    /// A combinator calls this too when it turns a [`Verdict::Keep`] into another answer, so that
    /// a policy which reserves something for each buffer it keeps gets it back.
    fn on_leave(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Says at the end of a round how many buffers of one class to give up; `None` to go on
    /// watching it.
    ///
    /// A round is whatever the pool's user says it is: a sweep, a batch, a tick. Any `Some`, zero
    /// included, begins a new watch of the class. No more than the class holds is given up,
    /// those first that came back longest ago.
    fn trim(&mut self, class: Use) -> Option<usize> {
        let _ = class;
        None
    }
}

impl<R: Retention + ?Sized> Retention for Box<R> {
    fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
        (**self).rule(offer, held)
    }

    fn admit(&self, bytes: usize) -> bool {
        (**self).admit(bytes)
    }

    fn is_memoryless(&self) -> bool {
        (**self).is_memoryless()
    }

    fn on_hit(&mut self, bytes: usize) {
        (**self).on_hit(bytes);
    }

    fn on_miss(&mut self, bytes: usize) {
        (**self).on_miss(bytes);
    }

    fn on_leave(&mut self, bytes: usize) {
        (**self).on_leave(bytes);
    }

    fn trim(&mut self, class: Use) -> Option<usize> {
        (**self).trim(class)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn every_refusal_has_its_own_place_in_the_list() {
        for (index, reason) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index, "{reason:?}");
        }
    }

    /// Notes everything that it is told.
    #[derive(Default)]
    struct Spy {
        told: Rc<RefCell<Vec<String>>>,
    }

    impl Spy {
        fn note(&self, what: String) {
            self.told.borrow_mut().push(what);
        }
    }

    impl Retention for Spy {
        fn rule(&mut self, offer: Offer, held: Held) -> Verdict {
            self.note(format!("{offer:?} {held:?}"));
            Verdict::Refuse(Refusal::Other)
        }

        fn admit(&self, bytes: usize) -> bool {
            self.note(format!("admit {bytes}"));
            false
        }

        fn on_hit(&mut self, bytes: usize) {
            self.note(format!("hit {bytes}"));
        }

        fn on_miss(&mut self, bytes: usize) {
            self.note(format!("miss {bytes}"));
        }

        fn on_leave(&mut self, bytes: usize) {
            self.note(format!("leave {bytes}"));
        }

        fn trim(&mut self, class: Use) -> Option<usize> {
            self.note(format!("{class:?}"));
            Some(class.idle)
        }
    }

    /// What a policy answered to [`tell`].
    type Answers = (Verdict, bool, Option<usize>);

    /// Tells a policy of one event of each kind, and gives its answers.
    fn tell(policy: &mut impl Retention) -> Answers {
        let class = Use {
            buffers: 7,
            bytes: 70,
            idle: 5,
            rounds: 1,
            needed: [7; Use::ROUNDS],
        };
        let held = Held {
            buffers: 7,
            bytes: 70,
            classes: 1,
        };
        let verdict = policy.rule(Offer::of(10), held);
        policy.on_hit(1);
        policy.on_miss(2);
        policy.on_leave(3);
        (verdict, policy.admit(4), policy.trim(class))
    }

    /// What is answered for, and what is told to, a policy in a wrapper.
    fn wrapped<P: Retention>(wrap: impl FnOnce(Spy) -> P) -> (Answers, Vec<String>) {
        let spy = Spy::default();
        let told = Rc::clone(&spy.told);
        let answers = tell(&mut wrap(spy));
        (answers, told.take())
    }

    #[test]
    fn a_policy_inside_another_one_is_told_everything_and_answers_as_itself() {
        let expected = wrapped(|spy| spy);
        assert_eq!(expected.0.2, Some(5));
        assert_eq!(expected.1.len(), 6);
        assert_eq!(
            wrapped(|spy| -> Box<dyn Retention> { Box::new(spy) }),
            expected
        );
        assert_eq!(wrapped(|spy| Both(Unbounded, spy)), expected);
        assert_eq!(wrapped(|spy| Both(spy, Unbounded)), expected);
        let patient = |inner| Decaying {
            quiet_rounds: 9,
            share: 1,
            inner,
        };
        assert_eq!(wrapped(patient), expected);
        assert_eq!(wrapped(|inner| Adaptive { window: 1, inner }), expected);
    }

    #[test]
    fn a_policy_of_one_method_admits_everything_and_watches_on() {
        struct Least;
        impl Retention for Least {
            fn rule(&mut self, _offer: Offer, _held: Held) -> Verdict {
                Verdict::Keep
            }
        }
        assert_eq!(tell(&mut Least), (Verdict::Keep, true, None));
    }
}
