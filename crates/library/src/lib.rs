//! Transformer kernels and their f64 references.
