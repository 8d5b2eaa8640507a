//! Payloads of routed frames: best fit, bounded, one owner at a time.
