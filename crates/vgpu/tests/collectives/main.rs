//! Instructions of whole warps and of atomic memory, against scalar references on every tier.

mod atomics;
mod copies;
mod harness;
mod matrices;
mod narrow;
mod products;
mod runs;
mod warps;
