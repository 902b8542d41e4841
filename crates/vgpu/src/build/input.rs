//! What lowering needs to know of a kernel.

use super::{Lowerer, Piece};
use crate::{
    Tier,
    analysis::{Block, Layout},
    op::{Compiled, MicroOp},
};
use std::sync::Arc;
use warpsmith_ptx::{
    ir::{Function, Module, Stmt},
    op::Op,
};

/// Compiles runs of a lowered kernel: its instructions and blocks, the ops of each, first and last, and which blocks run
/// with all lanes. `None` where there are no runs, or the system lets no code be made.
pub(crate) type Compile = fn(
    &Lowerer<'_>,
    &[Stmt],
    &[Block],
    (&[Vec<Piece>], Vec<u32>, Vec<u32>),
    &[bool],
    &[MicroOp],
) -> Option<Arc<Compiled>>;

/// What lowering needs to know.
pub(crate) struct Input<'a> {
    pub(crate) module: &'a Module,
    pub(crate) function: &'a Function,
    pub(crate) layout: &'a Layout,
    pub(crate) tier: Tier,
    pub(crate) block: [u32; 3],
    /// Whether a checker watches.
    pub(crate) checked: bool,
    /// Whether instructions are counted.
    pub(crate) counted: bool,
    /// Whether lanes of a warp come in any order that nothing forbids.
    pub(crate) apart: bool,
    /// What compiles runs of instructions, if they are.
    pub(crate) compile: Option<Compile>,
}

impl Input<'_> {
    /// Whether it has instructions of tensor memory.
    pub(crate) fn has_tensor(&self) -> bool {
        let body = self.function.body.as_deref().unwrap_or(&[]);
        let mut insts = body.iter().filter_map(Stmt::inst);
        insts.any(|inst| inst.op == Op::Tcgen05)
    }
}
