//! Scratch buffers recycled per thread, for any plain-old-data element.
