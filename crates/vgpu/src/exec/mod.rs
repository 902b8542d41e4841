//! Micro-ops and their handlers: what a warp executes.
//!
//! # How a family of instructions is added
//! 1. One file here per family, with `pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error>`,
//!    and one line in [`lower`] that sends the family's opcodes to it.
//! 2. `lower` reads operands with `l.src(&operand, ty)?` (a [`Src`]: frame slot plus whether it holds one
//!    scalar for the warp or 32 lanes), `l.src32/l.src64` (always 32 lanes; splats where needed),
//!    `l.pred(&operand)?` (a lane-mask slot plus negation), `l.dst(&operand)?` (a [`Dst`]; `Operand::Sink`
//!    gives a scratch slot), and emits `l.emit(MicroOp { dst, a, b, .., ..l.op::<H>() })`.
//!    Element-wise operations of one to three operands need no handler of their own: implement
//!    [`shape::Un`], [`shape::Bin`] or [`shape::Tern`] for a zero-sized type and call `shape::un/bin/tern`,
//!    which pick among vector and scalar operand shapes and scalar execution.
//! 3. A handler is a zero-sized type with `impl Handler`, its `run` marked `#[inline(always)]` and written
//!    as plain loops over 32 lanes; `l.op::<H>()` takes the instance of the machine's tier. All bodies it
//!    calls must be `#[inline(always)]` too, or they run as baseline code. Same bits on every tier: only
//!    `mul_add` where PTX says fma, no reassociation that depends on the width.
//! 4. Results go through `ctx.put_cells(slot, [cell; 32])` (blends by `ctx.mask`) or `ctx.put_mask(slot, bits)`;
//!    scalar destinations through `ctx.set_scalar`. Lanes outside `ctx.mask` must not touch memory.
//! 5. A fault is noted with `ctx.fault(op, kind, lane, address)`; handlers go on with zeros and the warp stops
//!    at its next terminator.
//! 6. Instructions with `.sync` (shfl, vote, match, redux, bar.warp.sync, mma.sync, ldmatrix...) begin a
//!    block: `lower/cfg.rs` puts a gate before each op that `roles::is_sync` names, so that the handler runs
//!    with all member lanes in `ctx.mask`. More than eight operand slots go to `l.extra(&[..])`, read back
//!    with `ctx.extra(at, len)`.
//! 7. `lower/roles.rs` knows which operands an opcode defines and whether its result is the same for all
//!    lanes; add the new opcodes there when the default (operand 0 is the destination, result uniform if all
//!    sources are) is wrong.
//!
//! # The frame
//! Offsets in bytes from the warp's frame: scratch for masked writes, then scalars of 8 bytes (constants,
//! uniform registers, predicates as lane masks), then 32 x `u32` or 32 x `u64` for each varying register.
//! 8- and 16-bit values sit zero-extended or not in `u32` cells: the reader truncates.

mod approx;
mod atomic;
mod bits;
mod chain;
pub(crate) mod checked;
mod cmp;
mod columns;
mod copy_async;
mod count;
mod cvt;
pub(crate) mod deferred;
mod dot;
mod float;
mod flow;
mod frame;
mod generic;
mod glance;
mod half;
mod halves;
mod int;
mod lane;
mod ldst;
pub(crate) mod lost;
mod matrix;
mod mma;
pub(crate) mod mov;
pub(crate) mod ordered;
pub(crate) mod rare;
pub(crate) mod shadows;
pub(crate) mod shape;
mod stored;
pub(crate) mod unset;
mod warp;
mod watched;

pub(crate) use chain::Chain;
pub(crate) use count::emit_count;
pub(crate) use flow::{
    Calls, FUEL, How, LaneOrder, Parked, Reduce, Stay, Stop, Warp, begin_guard, emit_flow,
    end_guard,
};
pub(crate) use frame::{Ctx, LaunchView};
pub(crate) use halves::Halves;
pub(crate) use lane::Cell;
pub(crate) use ldst::extend;
pub(crate) use shadows::Reach;
pub(crate) use warp::{mode_of, source};
pub(crate) use watched::{Note, Notes, Reaches, Trace, mark, watched};

use crate::{error::Error, lower::Lowerer};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
};

pub(crate) use crate::tier::Run;

/// One step of a warp. Slots are byte offsets into the frame.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MicroOp {
    /// Its code.
    pub(crate) run: Run,
    /// Destination.
    pub(crate) dst: u32,
    /// Sources.
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    /// Further slots.
    pub(crate) more: [u32; 4],
    /// A constant of the handler's own.
    pub(crate) imm: u64,
    /// A second constant, or an index into the program's extra table.
    pub(crate) aux: u32,
    /// Index of its place in the program's spans.
    pub(crate) span: u32,
}

/// Straight code. `run` is `#[inline(always)]`.
pub(crate) trait Handler: 'static {
    /// Runs the op for the lanes of `ctx.mask`.
    fn run(ctx: &mut Ctx, op: &MicroOp);
}

/// Code that says what comes next.
pub(crate) trait Flow: 'static {
    /// The next op, or null.
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp;
}

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
        | Op::Griddepcontrol => flow::lower_hint(l, inst),
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
        | Op::Setmaxnreg
        | Op::Stackrestore
        | Op::Stacksave
        | Op::Subc
        | Op::Suld
        | Op::Suq
        | Op::Sured
        | Op::Sust
        | Op::Tcgen05
        | Op::Tensormap
        | Op::Testp
        | Op::Tex
        | Op::Tld4
        | Op::Trap
        | Op::Txq
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

/// The operand at `index`, which the verifier knows to be there.
pub(crate) fn operand<'a>(l: &Lowerer, inst: &'a Inst, index: usize) -> Result<&'a Operand, Error> {
    inst.operands.get(index).ok_or_else(|| l.unsupported(inst))
}
