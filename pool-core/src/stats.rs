//! What a pool did and holds: plain data, and the counters it is read from.
//!
//! [`Counters`] has one writer at a time, the thread that owns the shelf or holds its lock, so a
//! count is a relaxed load and a relaxed store: no atomic read-modify-write on a hot path. Reading
//! takes no lock and stops nobody. The exception is [`Counters::detach`], which happens outside
//! the lock and is rare.
//!
//! At a quiet moment, when no call into the pool is under way, these hold, summed over its
//! shelves:
//!
//! - hits + misses + adopted = returns + detached + buffers that are out;
//! - returns = kept + refused;
//! - kept = hits + evicted + cleared + held buffers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::policy::{Held, Refusal};
use crate::sync::atomic::{AtomicU64, Ordering};

/// Declares the fields once, for the plain struct and for its atomic twin.
macro_rules! statistics {
    ($($(#[doc = $doc:literal])* $field:ident,)*) => {
        /// Statistics of a pool, of one of its shelves, or a sum of either.
        ///
        /// Sums add every field. The high-water marks of several shelves need not have been
        /// reached at the same moment, so their sum is an upper bound of the joint mark.
        ///
        /// # Examples
        ///
        /// ```
        /// use pool_core::Stats;
        ///
        /// let stats = Stats { hits: 99, misses: 1, ..Stats::default() };
        /// assert_eq!(stats.hit_rate(), Some(0.99));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct Stats {
            $($(#[doc = $doc])* pub $field: u64,)*
            /// Buffers that came back, kept or refused.
            pub returns: u64,
            /// Returned buffers that were not retained, by reason, in the order of
            /// [`Refusal::ALL`].
            pub refused: [u64; Refusal::ALL.len()],
        }

        /// The counters of one shelf: one writer at a time, any number of readers.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($field: AtomicU64,)*
            refused: [AtomicU64; Refusal::ALL.len()],
        }

        impl Counters {
            /// Reads all counters, each by itself, without stopping the writer.
            #[must_use]
            pub fn snapshot(&self) -> Stats {
                let mut stats = Stats {
                    $($field: read(&self.$field),)*
                    returns: 0,
                    refused: std::array::from_fn(|reason| read(&self.refused[reason])),
                };
                // Not counted on the way, as it follows from the rest.
                stats.returns = stats.kept + stats.refusals();
                stats
            }
        }

        impl AddAssign for Stats {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
                self.returns += other.returns;
                for (sum, more) in self.refused.iter_mut().zip(other.refused) {
                    *sum += more;
                }
            }
        }

        impl Stats {
            /// What happened since `earlier`: counts are differences; what is held and the
            /// high-water marks are those of `self`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                let mut since = Self {
                    $($field: self.$field.saturating_sub(earlier.$field),)*
                    returns: self.returns.saturating_sub(earlier.returns),
                    refused: std::array::from_fn(|reason| {
                        self.refused[reason].saturating_sub(earlier.refused[reason])
                    }),
                };
                since.held_buffers = self.held_buffers;
                since.held_bytes = self.held_bytes;
                since.classes = self.classes;
                since.peak_buffers = self.peak_buffers;
                since.peak_bytes = self.peak_bytes;
                since
            }
        }
    };
}

statistics! {
    /// Requests served by a retained buffer.
    hits,
    /// Requests that rode the pool and found nothing that fits.
    misses,
    /// Requests that did not ride the pool: not admitted, or the pool was off.
    bypassed,
    /// Buffers that came back and were retained.
    kept,
    /// Buffers that left the pool's care for good.
    detached,
    /// Buffers taken into the pool's care that it had not handed out.
    adopted,
    /// Retained buffers that a policy gave up for others.
    evicted,
    /// Retained buffers given up because the pool was cleared, switched off or closed.
    cleared,
    /// Bytes set to zero for borrowers.
    zeroed_bytes,
    /// Buffers retained now.
    held_buffers,
    /// Bytes of capacity retained now.
    held_bytes,
    /// Classes with at least one retained buffer now, or one on its way out and back in the place
    /// that its pool keeps for it.
    classes,
    /// Most buffers ever retained at once.
    peak_buffers,
    /// Most bytes of capacity ever retained at once.
    peak_bytes,
}

#[inline]
fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Reads an account of what is in memory.
#[inline]
fn size(account: &AtomicU64) -> usize {
    usize::try_from(read(account)).unwrap_or(usize::MAX)
}

/// Takes from a counter that has no other writer.
#[inline]
fn drop_by(counter: &AtomicU64, by: u64) {
    counter.store(read(counter) - by, Ordering::Relaxed);
}

/// Adds to a counter that has no other writer.
///
/// The benchmark builds the pools with `--cfg millpond_uncounted` too, to show what counting costs.
/// The accounts of what is held stay then, as policies rule by them.
#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    if cfg!(millpond_uncounted) {
        return;
    }
    counter.store(read(counter) + by, Ordering::Relaxed);
}

impl Counters {
    /// What is held now, as far as these counters account for it.
    #[inline]
    #[must_use]
    pub fn held(&self) -> Held {
        Held {
            buffers: size(&self.held_buffers),
            bytes: size(&self.held_bytes),
            classes: size(&self.classes),
        }
    }

    /// Accounts for one more buffer of `bytes` beside what is `held`.
    #[inline]
    pub(crate) fn enter(&self, held: Held, bytes: usize) {
        self.weigh((held.bytes + bytes) as u64, held.buffers as u64 + 1);
    }

    /// Accounts for several buffers at once, with which so much is held.
    pub(crate) fn hold(&self, held: Held) {
        self.classes.store(held.classes as u64, Ordering::Relaxed);
        self.weigh(held.bytes as u64, held.buffers as u64);
    }

    /// Accounts for what is held now, and for the most that ever was.
    #[inline]
    fn weigh(&self, bytes: u64, buffers: u64) {
        self.held_bytes.store(bytes, Ordering::Relaxed);
        self.held_buffers.store(buffers, Ordering::Relaxed);
        if bytes > read(&self.peak_bytes) {
            self.peak_bytes.store(bytes, Ordering::Relaxed);
        }
        if buffers > read(&self.peak_buffers) {
            self.peak_buffers.store(buffers, Ordering::Relaxed);
        }
    }

    /// Accounts for one buffer of `bytes` less.
    #[inline]
    pub(crate) fn leave(&self, bytes: usize) {
        drop_by(&self.held_bytes, bytes as u64);
        drop_by(&self.held_buffers, 1);
    }

    /// Accounts for so many buffers of `bytes` each less.
    pub(crate) fn leave_many(&self, buffers: usize, bytes: usize) {
        drop_by(&self.held_bytes, (buffers * bytes) as u64);
        drop_by(&self.held_buffers, buffers as u64);
    }

    /// Accounts for one more class beside what is `held`.
    #[inline]
    pub(crate) fn begin_class(&self, held: Held) {
        let classes = held.classes as u64 + 1;
        self.classes.store(classes, Ordering::Relaxed);
    }

    /// Accounts for one class less.
    #[inline]
    pub(crate) fn end_class(&self) {
        drop_by(&self.classes, 1);
    }

    /// Counts a buffer of `bytes` that a front tier lends from a place of its own. For the one
    /// writer.
    #[inline]
    pub fn lend(&self, bytes: usize) {
        self.hit();
        self.leave(bytes);
    }

    /// Counts a buffer of `bytes` that comes back to a place of a front tier. For the one writer.
    #[inline]
    pub fn regain(&self, bytes: usize) {
        self.keep();
        self.enter(self.held(), bytes);
    }

    /// Accounts for a buffer of `bytes` that moves to a front tier. For the one writer.
    pub fn carry(&self, bytes: usize) {
        self.enter(self.held(), bytes);
    }

    /// Accounts for a buffer of `bytes` that a front tier hands on. For the one writer.
    pub fn hand_on(&self, bytes: usize) {
        self.leave(bytes);
    }

    /// Accounts for a shelf that holds nothing any more, but the places of `classes`.
    pub(crate) fn empty(&self, classes: usize) {
        self.held_buffers.store(0, Ordering::Relaxed);
        self.held_bytes.store(0, Ordering::Relaxed);
        self.classes.store(classes as u64, Ordering::Relaxed);
    }

    /// Counts a request served by a retained buffer.
    #[inline]
    pub(crate) fn hit(&self) {
        bump(&self.hits, 1);
    }

    /// Counts a request that found nothing.
    #[inline]
    pub(crate) fn miss(&self) {
        bump(&self.misses, 1);
    }

    /// Counts a returned buffer that was retained.
    #[inline]
    pub(crate) fn keep(&self) {
        bump(&self.kept, 1);
    }

    /// Counts a buffer that the pool had not handed out. For the one writer.
    pub fn adopt(&self) {
        bump(&self.adopted, 1);
    }

    /// Counts a buffer that a front tier had kept and this one refuses.
    pub(crate) fn refuse_kept(&self, reason: Refusal) {
        if !cfg!(millpond_uncounted) {
            drop_by(&self.kept, 1);
        }
        self.refuse(reason);
    }

    /// Counts a retained buffer that made room for another.
    pub(crate) fn evict(&self) {
        bump(&self.evicted, 1);
    }

    /// Counts retained buffers that were given up all at once. For the one writer.
    pub fn clear(&self, buffers: usize) {
        bump(&self.cleared, buffers as u64);
    }

    /// Counts what is still held as given up at once. For the one writer, whose shelf is gone.
    pub fn abandon(&self) {
        self.clear(self.held().buffers);
        self.empty(0);
    }

    /// Counts a request that did not ride the pool. For the one writer.
    #[inline]
    pub fn bypass(&self) {
        bump(&self.bypassed, 1);
    }

    /// Counts a returned buffer that was not retained. For the one writer.
    pub fn refuse(&self, reason: Refusal) {
        bump(&self.refused[reason.index()], 1);
    }

    /// Counts bytes set to zero for a borrower. For the one writer.
    #[inline]
    pub fn zeroed(&self, bytes: usize) {
        bump(&self.zeroed_bytes, bytes as u64);
    }

    /// Counts a buffer that left for good. For the one writer, where no other thread
    /// [detaches](Self::detach).
    #[inline]
    pub fn detach_own(&self) {
        bump(&self.detached, 1);
    }

    /// Counts a buffer that left for good. From any thread, beside the one writer.
    pub fn detach(&self) {
        self.detached.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads all counters and begins the counts anew, so that they can be
    /// [absorbed](Self::absorb) elsewhere; what is held and the high-water marks stay. For the one
    /// writer.
    #[must_use]
    pub fn take(&self) -> Stats {
        let mut stats = self.snapshot();
        for count in [
            &self.hits,
            &self.misses,
            &self.bypassed,
            &self.kept,
            &self.adopted,
            &self.evicted,
            &self.cleared,
            &self.zeroed_bytes,
        ]
        .into_iter()
        .chain(&self.refused)
        {
            count.store(0, Ordering::Relaxed);
        }
        stats.detached = self.detached.swap(0, Ordering::Relaxed);
        stats
    }

    /// Adds what another, finished set of counters counted; what it held is not taken over.
    /// For the one writer of both.
    pub fn absorb(&self, other: &Stats) {
        bump(&self.hits, other.hits);
        bump(&self.misses, other.misses);
        bump(&self.bypassed, other.bypassed);
        bump(&self.kept, other.kept);
        self.detached.fetch_add(other.detached, Ordering::Relaxed);
        bump(&self.adopted, other.adopted);
        bump(&self.evicted, other.evicted);
        bump(&self.cleared, other.cleared);
        bump(&self.zeroed_bytes, other.zeroed_bytes);
        for (sum, more) in self.refused.iter().zip(other.refused) {
            bump(sum, more);
        }
    }
}

impl Stats {
    /// Requests that rode the pool.
    #[must_use]
    pub fn acquires(&self) -> u64 {
        self.hits + self.misses
    }

    /// Share of the requests that rode the pool and were served by a retained buffer; `None`
    /// when there were none.
    #[must_use]
    pub fn hit_rate(&self) -> Option<f64> {
        let acquires = self.acquires();
        (acquires > 0).then(|| self.hits as f64 / acquires as f64)
    }

    /// Returned buffers that were not retained, whatever the reason.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.refused.iter().sum()
    }

    /// Returned buffers that were not retained for one `reason`.
    #[must_use]
    pub fn refused_for(&self, reason: Refusal) -> u64 {
        self.refused[reason.index()]
    }

    /// Buffers handed out or adopted that have neither come back nor left for good.
    #[must_use]
    pub fn live(&self) -> u64 {
        (self.acquires() + self.adopted).saturating_sub(self.returns + self.detached)
    }
}

impl Add for Stats {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sum for Stats {
    fn sum<I: Iterator<Item = Self>>(stats: I) -> Self {
        stats.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Stats {
    /// A table of two columns; reasons of refusal that did not occur are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self
            .hit_rate()
            .map_or_else(|| "-".into(), |rate| format!("{:.2} %", rate * 100.0));
        writeln!(f, "{:<24}{:>14}", "hit rate", rate)?;
        for (label, value) in [
            ("hits", self.hits),
            ("misses", self.misses),
            ("bypassed", self.bypassed),
            ("returns", self.returns),
            ("kept", self.kept),
            ("refused", self.refusals()),
        ] {
            writeln!(f, "{label:<24}{value:>14}")?;
        }
        for reason in Refusal::ALL {
            let count = self.refused_for(reason);
            if count > 0 {
                writeln!(f, "  {:<22}{count:>14}", reason.label())?;
            }
        }
        for (label, value) in [
            ("detached", self.detached),
            ("adopted", self.adopted),
            ("evicted", self.evicted),
            ("cleared", self.cleared),
            ("bytes zeroed", self.zeroed_bytes),
            ("buffers held", self.held_buffers),
            ("bytes held", self.held_bytes),
            ("classes held", self.classes),
            ("most buffers held", self.peak_buffers),
        ] {
            writeln!(f, "{label:<24}{value:>14}")?;
        }
        write!(f, "{:<24}{:>14}", "most bytes held", self.peak_bytes)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_two_moments_keeps_what_is_held() {
        let earlier = Stats {
            hits: 1,
            held_bytes: 8,
            peak_bytes: 16,
            ..Stats::default()
        };
        let later = Stats {
            hits: 4,
            held_bytes: 2,
            peak_bytes: 16,
            ..Stats::default()
        };
        let since = later.since(&earlier);
        assert_eq!((since.hits, since.held_bytes, since.peak_bytes), (3, 2, 16));
    }

    #[test]
    fn a_sum_adds_every_field() {
        let mut refused = [0; Refusal::ALL.len()];
        refused[Refusal::Closed.index()] = 2;
        let one = Stats {
            hits: 1,
            peak_bytes: 3,
            refused,
            ..Stats::default()
        };
        let sum: Stats = [one, one].into_iter().sum();
        assert_eq!(
            (sum.hits, sum.peak_bytes, sum.refused_for(Refusal::Closed)),
            (2, 6, 4)
        );
    }

    #[test]
    fn counts_that_were_taken_begin_anew_and_what_is_held_stays() {
        let (front, back) = (Counters::default(), Counters::default());
        front.hit();
        front.zeroed(8);
        front.detach();
        front.enter(Held::default(), 8);
        front.begin_class(Held::default());
        front.refuse(Refusal::Closed);
        front.detach_own();
        let taken = front.take();
        assert_eq!((taken.hits, taken.zeroed_bytes, taken.detached), (1, 8, 2));
        assert_eq!(taken.refused_for(Refusal::Closed), 1);
        back.absorb(&taken);
        let left = Stats {
            held_buffers: 1,
            held_bytes: 8,
            classes: 1,
            peak_buffers: 1,
            peak_bytes: 8,
            ..Stats::default()
        };
        assert_eq!(front.snapshot(), left);
        assert_eq!(front.snapshot() + back.snapshot(), taken);
    }

    #[test]
    fn the_table_names_the_reasons_that_occurred_and_no_others() {
        let counters = Counters::default();
        counters.refuse(Refusal::Closed);
        let table = counters.snapshot().to_string();
        assert!(
            table.contains("closed") && !table.contains("class full"),
            "{table}"
        );
        assert!(table.starts_with("hit rate"), "{table}");
    }

    #[test]
    fn a_rate_without_requests_is_none_and_not_a_division_by_zero() {
        assert_eq!(Stats::default().hit_rate(), None);
    }

    /// A different number in each field; no field is left to a default, so that a new one is
    /// noticed here.
    fn distinct(from: u64) -> Stats {
        Stats {
            hits: from + 1,
            misses: from + 2,
            bypassed: from + 3,
            returns: from + 4,
            kept: from + 5,
            detached: from + 6,
            adopted: from + 7,
            evicted: from + 8,
            cleared: from + 9,
            zeroed_bytes: from + 10,
            held_buffers: from + 11,
            held_bytes: from + 12,
            classes: from + 13,
            peak_buffers: from + 14,
            peak_bytes: from + 15,
            refused: std::array::from_fn(|reason| from + 16 + reason as u64),
        }
    }

    #[test]
    fn every_count_is_summed_subtracted_and_absorbed_by_itself() {
        let sum = distinct(0) + distinct(100);
        assert_eq!(sum.hits, 102);
        assert_eq!(sum.since(&distinct(100)).misses, 2);
        let difference = distinct(100).since(&distinct(0));
        let later = distinct(100);
        let expected = Stats {
            hits: 100,
            misses: 100,
            bypassed: 100,
            returns: 100,
            kept: 100,
            detached: 100,
            adopted: 100,
            evicted: 100,
            cleared: 100,
            zeroed_bytes: 100,
            refused: [100; Refusal::ALL.len()],
            ..later
        };
        assert_eq!(difference, expected);

        let counters = Counters::default();
        counters.absorb(&distinct(0));
        counters.absorb(&distinct(0));
        let absorbed = counters.snapshot();
        let mut twice = distinct(0) + distinct(0);
        // What follows from the other counts, and what is held, is not taken over.
        twice.returns = absorbed.returns;
        (twice.held_buffers, twice.held_bytes, twice.classes) = (0, 0, 0);
        (twice.peak_buffers, twice.peak_bytes) = (0, 0);
        assert_eq!(absorbed, twice);
        assert_eq!(counters.take(), twice);
        assert_eq!(counters.snapshot(), Stats::default());
    }

    #[test]
    fn the_high_water_marks_are_the_most_that_was_ever_held() {
        let counters = Counters::default();
        counters.begin_class(counters.held());
        counters.enter(counters.held(), 8);
        counters.enter(counters.held(), 8);
        counters.leave(8);
        counters.begin_class(counters.held());
        counters.enter(counters.held(), 4);
        let stats = counters.snapshot();
        assert_eq!(
            (stats.held_buffers, stats.held_bytes, stats.classes),
            (2, 12, 2)
        );
        assert_eq!((stats.peak_buffers, stats.peak_bytes), (2, 16));
        counters.leave(4);
        counters.end_class();
        counters.leave(8);
        counters.end_class();
        assert_eq!(counters.held(), Held::default());
    }

    #[test]
    fn what_is_out_is_what_was_lent_or_adopted_and_did_not_come_back() {
        let stats = Stats {
            hits: 5,
            misses: 7,
            adopted: 2,
            returns: 4,
            detached: 3,
            ..Stats::default()
        };
        assert_eq!((stats.acquires(), stats.live()), (12, 7));
        assert_eq!(stats.hit_rate(), Some(5.0 / 12.0));
        assert_eq!(distinct(0).refusals(), (16..24).sum::<u64>());
    }

    #[test]
    fn the_table_has_a_line_for_each_number() {
        let table = distinct(0).to_string();
        let lines: Vec<_> = table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "hit rate 33.33 %",
            "hits 1",
            "misses 2",
            "bypassed 3",
            "returns 4",
            "kept 5",
            "refused 156",
            "buffer too large 16",
            "class full 17",
            "pool full 18",
            "too many classes 19",
            "unpooled 20",
            "switched off 21",
            "closed 22",
            "other 23",
            "detached 6",
            "adopted 7",
            "evicted 8",
            "cleared 9",
            "bytes zeroed 10",
            "buffers held 11",
            "bytes held 12",
            "classes held 13",
            "most buffers held 14",
            "most bytes held 15",
        ];
        assert_eq!(lines, expected);
        assert!(Stats::default().to_string().contains("hit rate"));
    }

    #[test]
    fn a_front_tier_lends_and_regains_and_its_moves_count_as_nothing() {
        let counters = Counters::default();
        let seen = || {
            let stats = counters.snapshot();
            let held = (stats.held_buffers, stats.held_bytes);
            (stats.hits, stats.kept, held)
        };
        counters.carry(8);
        counters.carry(8);
        assert_eq!(seen(), (0, 0, (2, 16)));
        counters.lend(8);
        assert_eq!(seen(), (1, 0, (1, 8)));
        counters.regain(8);
        assert_eq!(seen(), (1, 1, (2, 16)));
        counters.hand_on(8);
        assert_eq!(seen(), (1, 1, (1, 8)));
        assert_eq!(counters.snapshot().peak_bytes, 16);
    }
}
