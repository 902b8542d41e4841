//! Small kernels with one planted fault each, and clean twins that look alike: the checker finds the first at the right
//! place with the right kind, and says nothing of the second.
//!
//! They are written in three ways: PTX by hand (`scripts`), our own language (`language`), CUDA C++ (`compiled`).
#![allow(missing_docs)]

mod compiled;
mod language;
mod orders;
mod peers;
mod scripts;
mod table;
mod tally;
