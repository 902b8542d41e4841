//! The builder: operands to slots, ops to the program; and element-wise operations, which need no more.

mod alias;
mod copies;
mod input;
mod joins;
mod lowerer;
pub(crate) mod moves;
mod pieces;
pub(crate) mod shape;
mod slots;
mod watched;

pub(crate) use input::{Compile, Input};
pub(crate) use joins::{Chain, Halves};
pub(crate) use lowerer::{Dst, Lowerer, Src};
pub(crate) use pieces::Piece;
pub(crate) use slots::{Flow, Need, allocate};
