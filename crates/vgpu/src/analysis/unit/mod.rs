//! A kernel and the functions it may call as one body, for the rest of lowering.
//!
//! # Calls
//! - Parameters go through one transfer area in local memory: the caller copies its arguments there, the
//!   function begins by copying them to its own variables, and results go back in the same way.
//! - A call is `call {pointer}, (saved registers), address, label, ...`: one pair for each function it may
//!   go to. A return is `ret label` with the function's first label. `ret` of the kernel becomes `exit`.
//! - Functions that can come to themselves keep their variables on a stack in local memory, at `fp`; who
//!   calls saves its registers.
//!
//! # Other changes
//! `.param` variables of bodies become local ones; addresses of functions become numbers; `alloca` moves
//! the top of the stack.

mod body;
mod graph;
pub(crate) mod print;

use body::Merge;
use graph::Graph;
use warpsmith_ptx::{
    ir::{FuncId, Function, Module, Operand, Stmt, StmtKind, Var},
    op::Op,
};

/// The address of function 0; no other memory is near.
const FUNCTIONS: u64 = 0x3_0000_0000;
/// Bytes that a parameter of a function may have.
const PARAMETERS: u64 = 32 << 10;
/// Bytes of a thread's stack, where it has one.
const STACK: u64 = 64 << 10;

/// The address of a function, by its definition.
pub(crate) fn address_of(module: &Module, function: FuncId) -> u64 {
    FUNCTIONS + 16 * (1 + u64::from(definition(module, function).0))
}

/// The number of the function at an address.
pub(crate) fn function_at(address: u64) -> Option<u32> {
    let number = address.checked_sub(FUNCTIONS)? / 16;
    u32::try_from(number.checked_sub(1)?).ok()
}

/// The function of this name that has a body; the declaration if there is none.
fn definition(module: &Module, function: FuncId) -> FuncId {
    let Some(declared) = module.functions.get(function.index()) else {
        return function;
    };
    if declared.body.is_some() {
        return function;
    }
    let found = module
        .functions
        .iter()
        .position(|other| other.name == declared.name && other.body.is_some());
    found.map_or(function, |at| FuncId(at as u32))
}

/// The kernel with all it calls; `None` if it stands alone.
pub(crate) fn unit(module: &Module, kernel: usize) -> Option<Function> {
    let function = module.functions.get(kernel)?;
    let body = function.body.as_deref().unwrap_or(&[]);
    if !body.iter().any(needs_unit) {
        return None;
    }
    let graph = Graph::new(module, FuncId(kernel as u32));
    let functions = graph.order.iter().map(|id| &module.functions[id.index()]);
    // Hand-written calls that do not fit are refused later, as unsupported.
    let fits = |var: &Var| var.bytes().is_some_and(|bytes| bytes <= PARAMETERS);
    let passed = |f: &Function| f.params.iter().chain(&f.returns).all(fits);
    functions
        .skip(1)
        .all(passed)
        .then(|| Merge::new(module, &graph).run())
}

fn needs_unit(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Inst(inst) => {
            matches!(
                inst.op,
                Op::Call | Op::Alloca | Op::Stacksave | Op::Stackrestore
            ) || inst
                .operands
                .iter()
                .any(|operand| matches!(operand, Operand::Func(_)))
        }
        _ => false,
    }
}
