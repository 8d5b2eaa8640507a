//! One program on many ranks, as threads or processes in a star, with routed frames and collectives.
