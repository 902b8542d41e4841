//! Pure-Rust GPU kernels and transformer inference: facade and command line.
