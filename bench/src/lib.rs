//! Benchmarks beside peers.
