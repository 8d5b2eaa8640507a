//! Retention policies, shelves and exact accounts for buffer pools.
