//! The families of instructions: how each becomes ops, and the handlers of those.
//!
//! # How a family of instructions is added
//! In three places: a row of the table (`ptx/src/isa/`), a file here (the interpreter), and, if it is hot, a file in
//! `native/` (the compiler, whose own docs say how).
//!
//! - **The file** has `pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error>` and the handlers it emits;
//!   a line in [`lower`] sends the family's opcodes to it. Element-wise operations of one to three operands need no handler:
//!   implement [`shape::Un`], [`shape::Bin`] or [`shape::Tern`] for a zero-sized type and call `shape::un/bin/tern`, which
//!   pick among vector and scalar operands.
//! - **Operands**: `l.src(&operand, bits)?` is a [`Src`](crate::build::Src), a [`Slot`] with one value for the warp or 32
//!   lanes; `l.src32/l.src64` are always 32 lanes; `l.pred(&operand)?` is a [`Pred`]; `l.dst(&operand)?` a
//!   [`Dst`](crate::build::Dst), of `Operand::Sink` a slot that nobody reads.
//! - **A handler** is a zero-sized type with `impl Handler`. What an op says is its `Args`, a struct of its own that
//!   [`args!`] makes of named fields; choices are enums that [`choices!`] makes. Both print themselves in a dump. An op is made
//!   together with its arguments, `l.emit(l.op::<H>(args))`, and only `H` reads them, as fields of the `op` it is given.
//!   Slots that do not fit go to `l.extra(&[..])`, which gives [`Words`], read back with `ctx.extra(words, len)`.
//! - **Its code**: `l.op` takes the instance of the machine's tier, `l.cold` one that serves all. `run` is `#[inline(always)]`
//!   and so is all it calls, or that runs as baseline code: plain loops over 32 lanes. Same bits on every tier: only `mul_add`
//!   where PTX says fma, no reassociation that depends on the width.
//! - **Results** go through `ctx.put_cells(slot, [cell; 32])` (blends by `ctx.mask`), `ctx.put_mask(slot, bits)` or
//!   `ctx.set_scalar`. Lanes outside `ctx.mask` must not touch memory. A fault is noted with
//!   `ctx.fault(op.span(), kind, lane, address)`; handlers go on with zeros and the warp stops at its next terminator.
//! - **Runs**: an op that joins the one before it asks what that is with [`MicroOp::of`], which gives its arguments if it
//!   is of that handler, on whatever tier.
//! - Where the defaults are wrong, `analysis/roles.rs` says which operands an opcode defines, whether its result is the same for
//!   all lanes, and whether it waits for lanes of its warp (`roles::is_sync`): it then runs with all member lanes in
//!   `ctx.mask`.
//!
//! # The frame
//! A [`Slot`] is an offset in bytes from the warp's frame: scratch for masked writes, then scalars of 8 bytes (constants,
//! uniform registers, predicates as lane masks), then 32 x `u32` or 32 x `u64` for each varying register.
//! 8- and 16-bit values sit zero-extended or not in `u32` cells: the reader truncates.

mod approx;
mod atomic;
mod bits;
mod bulk;
mod chain;
pub(crate) mod checked;
mod cmp;
mod columns;
mod copy_async;
mod count;
mod cvt;
pub(crate) mod deferred;
mod descriptor;
mod dot;
mod float;
mod flow;
mod generic;
mod glance;
mod half;
mod halves;
mod int;
mod ldst;
pub(crate) mod lost;
mod matrix;
mod mma;
mod mov;
pub(crate) mod ordered;
mod rare;
pub(crate) mod shadows;
mod stored;
mod texture;
mod tmem;
pub(crate) mod unset;
mod warp;
mod warpgroup;
mod watch;
mod watched;

pub(crate) use bulk::{emit_stored, is_read_by_proxy};
pub(crate) use count::emit_count;
#[cfg(target_arch = "x86_64")]
pub(crate) use flow::part;
pub(crate) use flow::{FUEL, begin_guard, emit_flow, end_guard, gate};
pub(crate) use ldst::extend;
pub(crate) use ordered::emit_early;
pub(crate) use shadows::Reach;
pub(crate) use tmem::{BYTES as TENSOR_MEMORY, take_back};
pub(crate) use warp::{Mode, mode_of, source};
pub(crate) use watched::{awaited, mark, watched};
// What the compiler knows of the interpreter.
pub(crate) use crate::op::{Ctx, MicroOp, Run, Slot, Warp};

use crate::{
    build::{
        Lowerer,
        shape::{self, operand},
    },
    error::Error,
    op::{
        AccessId, Base, BlockId, Flow, Handler, Micro, Note, Offset, Ops, OptPred, OptSlot, Pred,
        Reaches, SpanId, Words, args, choices, lane, show,
    },
};
use warpsmith_ptx::{ir::Inst, op::Op};

/// Lowers one instruction that is not control flow.
pub(crate) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    if rare::takes(inst) {
        return rare::lower(l, inst).unwrap_or_else(|| Err(l.unsupported(inst)));
    }
    match common(l, inst) {
        Err(found @ Error::Unsupported { .. }) => rare::lower(l, inst).unwrap_or(Err(found)),
        done => done,
    }
}

/// The instructions of ordinary programs.
fn common(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    match inst.op {
        Op::Mov | Op::Selp | Op::Slct => mov::lower(l, inst),
        Op::Cvta => generic::lower(l, inst),
        Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Mad
        | Op::Fma
        | Op::Div
        | Op::Rem
        | Op::Neg
        | Op::Abs
        | Op::Min
        | Op::Max => match inst.quals.types().next() {
            Some(ty) if half::takes(ty) => half::lower(l, inst),
            Some(ty) if ty.is_float() => float::lower(l, inst),
            Some(_) | None => int::lower(l, inst),
        },
        Op::Dp4a => dot::lower(l, inst),
        Op::Mul24 | Op::Mad24 | Op::Sad | Op::Dp2a => int::lower(l, inst),
        Op::Rcp | Op::Sqrt | Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Tanh => {
            approx::lower(l, inst)
        }
        Op::Copysign => float::lower(l, inst),
        Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Cnot
        | Op::Shl
        | Op::Shr
        | Op::Shf
        | Op::Lop3
        | Op::Prmt
        | Op::Bfe
        | Op::Bfi
        | Op::Bfind
        | Op::Bmsk
        | Op::Brev
        | Op::Clz
        | Op::Popc
        | Op::Fns
        | Op::Szext => bits::lower(l, inst),
        Op::Set | Op::Setp => cmp::lower(l, inst),
        Op::Cvt => cvt::lower(l, inst),
        Op::Ld | Op::St | Op::Ldu => ldst::lower(l, inst),
        Op::Atom | Op::Red => atomic::lower(l, inst),
        Op::Cp => copy_async::lower(l, inst),
        Op::Ldmatrix | Op::Stmatrix | Op::Movmatrix => matrix::lower(l, inst),
        Op::Mma => mma::lower(l, inst),
        Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::Activemask | Op::Elect => {
            warp::lower(l, inst)
        }
        Op::Membar
        | Op::Fence
        | Op::Prefetch
        | Op::Prefetchu
        | Op::Nanosleep
        | Op::Pmevent
        | Op::Applypriority
        | Op::Discard
        | Op::Brkpt
        | Op::Griddepcontrol
        | Op::Setmaxnreg => flow::lower_hint(l, inst),
        Op::Tex | Op::Tld4 | Op::Txq | Op::Suld | Op::Sust | Op::Sured | Op::Suq => {
            texture::lower(l, inst)
        }
        Op::Tcgen05 => tmem::lower(l, inst),
        Op::Call => rare::print::lower(l, inst),
        Op::Addc
        | Op::Alloca
        | Op::Bar
        | Op::Barrier
        | Op::Bra
        | Op::Brx
        | Op::Clusterlaunchcontrol
        | Op::Createpolicy
        | Op::Exit
        | Op::Getctarank
        | Op::Isspacep
        | Op::Istypep
        | Op::Madc
        | Op::Mapa
        | Op::Mbarrier
        | Op::Multimem
        | Op::Ret
        | Op::Stackrestore
        | Op::Stacksave
        | Op::Subc
        | Op::Tensormap
        | Op::Testp
        | Op::Trap
        | Op::Vabsdiff
        | Op::Vabsdiff2
        | Op::Vabsdiff4
        | Op::Vadd
        | Op::Vadd2
        | Op::Vadd4
        | Op::Vavrg2
        | Op::Vavrg4
        | Op::Vmad
        | Op::Vmax
        | Op::Vmax2
        | Op::Vmax4
        | Op::Vmin
        | Op::Vmin2
        | Op::Vmin4
        | Op::Vset
        | Op::Vset2
        | Op::Vset4
        | Op::Vshl
        | Op::Vshr
        | Op::Vsub
        | Op::Vsub2
        | Op::Vsub4
        | Op::Wgmma
        | Op::Wmma => Err(l.unsupported(inst)),
    }
}
