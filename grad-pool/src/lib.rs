//! Gradient arrays recycled within one backward sweep, over a bounded shared pool.
