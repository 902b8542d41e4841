//! Textures and surfaces: what kernels find in them, against a reference of plain formulas in f64.
#![allow(missing_docs)]

mod faults;
mod fetches;
mod harness;
mod layers;
mod levels;
mod reference;
mod surfaces;
