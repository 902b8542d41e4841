//! Where there is no compiler: everything is interpreted.

use crate::{
    exec::{MicroOp, Run},
    lower::{Block, Lowerer, Piece},
};
use std::sync::Arc;
use warpsmith_ptx::ir::Stmt;

/// The code of a program's runs.
#[derive(Debug)]
pub(crate) struct Native {
    /// The ops where runs begin, with their own code and the code of the run.
    pub(crate) runs: Vec<(u32, Run, Run)>,
}

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
) -> Option<Arc<Native>> {
    None
}
