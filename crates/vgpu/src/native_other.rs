//! Where there is no compiler: everything is interpreted.

use crate::{
    analysis::Block,
    build::{Lowerer, Piece},
    op::{Compiled, MicroOp},
};
use std::sync::Arc;
use warpsmith_ptx::ir::Stmt;

/// There is no code.
pub(crate) fn probe() -> Result<(), std::io::Error> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Compiles nothing.
pub(crate) fn compile(
    _: &Lowerer<'_>,
    _: &[Stmt],
    _: &[Block],
    _: (&[Vec<Piece>], Vec<u32>, Vec<u32>),
    _: &[bool],
    _: &[MicroOp],
) -> Option<Arc<Compiled>> {
    None
}
