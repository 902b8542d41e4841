//! What each operand of an instruction does: destination or source, and what its result is like.

use warpsmith_ptx::{
    ir::{Base, Imm, Inst, Operand, RegId},
    isa::{self, Lanes, Meeting},
    op::Op,
    qual::Qual,
    special::Special,
    types::Space,
    uniform::broadcasts,
};

/// How lanes' results relate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The same for all lanes if all sources are.
    Sources,
    /// Different for each lane.
    Varying,
    /// The same for all lanes that run it together.
    Together,
}

/// Whether operand 0 is a destination.
pub(crate) fn has_destination(inst: &Inst) -> bool {
    // An address is read, whatever the instruction.
    if let Some(Operand::Addr(_)) = inst.operands.first() {
        return false;
    }
    match inst.op {
        // Loads of fragments and products of bits are made of `wgmma.mma_async` (`warpgroup.rs`).
        Op::Wgmma => [Qual::MmaAsync, Qual::Load, Qual::Popc]
            .iter()
            .any(|word| inst.quals.has(*word)),
        // Units give calls and returns operands of their own.
        Op::Call | Op::Ret | Op::Trap => false,
        op => isa::has_result(op, inst.quals.as_slice()).unwrap_or(false),
    }
}

/// Whether the destination is also read.
pub(crate) fn reads_destination(inst: &Inst) -> bool {
    inst.guard.is_some() || inst.op == Op::Wgmma && !inst.quals.has(Qual::Load)
}

/// How the results of lanes relate, given whether the kernel has local memory.
pub(crate) fn outcome(inst: &Inst, has_local: bool) -> Outcome {
    match inst.op {
        // A generic address may be one of a thread's own memory.
        Op::Ld | Op::Ldu
            if space(inst) == Space::Local || has_local && space(inst) == Space::Generic =>
        {
            Outcome::Varying
        }
        Op::Shfl if broadcasts(inst) => Outcome::Together,
        // Handlers give lanes results of their own, though they are the same.
        Op::Match | Op::Bar | Op::Barrier => Outcome::Varying,
        // Lanes that name different members have different results.
        Op::Vote | Op::Redux if !matches!(inst.operands.last(), Some(Operand::Imm(_))) => {
            Outcome::Varying
        }
        op => match isa::facts(op, inst.quals.as_slice()).map(|facts| facts.lanes) {
            Some(Lanes::Sources) => Outcome::Sources,
            Some(Lanes::Together) => Outcome::Together,
            Some(Lanes::Own) | None => Outcome::Varying,
        },
    }
}

/// The state space an instruction names; generic if none.
pub(crate) fn space(inst: &Inst) -> Space {
    for qual in inst.quals.as_slice() {
        match qual {
            Qual::Global => return Space::Global,
            Qual::Shared | Qual::SharedCta | Qual::SharedCluster => return Space::Shared,
            Qual::Local => return Space::Local,
            Qual::Const => return Space::Const,
            Qual::Param => return Space::Param,
            _ => {}
        }
    }
    Space::Generic
}

/// The lanes that must come together before a `.sync` op: its mask operand, or all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Members {
    /// As this operand says.
    Mask(Operand),
    /// All live lanes.
    All,
}

impl Members {
    /// Whether no live lane can be missing.
    pub(crate) fn are_all(&self) -> bool {
        match self {
            Members::All => true,
            Members::Mask(Operand::Imm(Imm::Int(mask))) => *mask as u32 == u32::MAX,
            Members::Mask(_) => false,
        }
    }
}

/// Whether lanes must come together before the instruction, and which.
pub(crate) fn is_sync(inst: &Inst) -> Option<Members> {
    let facts = isa::facts(inst.op, inst.quals.as_slice());
    match facts.map_or(Meeting::None, |facts| facts.meeting) {
        Meeting::Mask => inst.operands.last().cloned().map(Members::Mask),
        Meeting::Warp => Some(Members::All),
        // Parts of `wgmma.mma_async` are no forms of the table.
        Meeting::None => (inst.op == Op::Wgmma).then_some(Members::All),
    }
}

/// Whether it accesses memory that lanes share.
pub(crate) fn is_shared_access(inst: &Inst) -> bool {
    let shared = matches!(space(inst), Space::Global | Space::Shared | Space::Generic);
    match inst.op {
        Op::Ld | Op::Ldu | Op::St | Op::Atom | Op::Red => shared,
        Op::Cp => inst.operands.len() >= 2,
        Op::Mbarrier | Op::Suld | Op::Sust | Op::Sured => true,
        _ => false,
    }
}

/// Whether lanes of one warp may wait for each other with it.
pub(crate) fn may_lock(inst: &Inst) -> bool {
    let has = |word| inst.quals.has(word);
    match inst.op {
        Op::Atom => has(Qual::Cas) || has(Qual::Exch),
        Op::Ld => has(Qual::Volatile) || has(Qual::Acquire) || has(Qual::Relaxed),
        Op::Mbarrier => has(Qual::TestWait) || has(Qual::TryWait),
        _ => false,
    }
}

/// Whether a special register is the same for the whole warp, given the block's shape.
pub(crate) fn is_uniform_special(special: Special, block: [u32; 3]) -> bool {
    match special {
        Special::TidX => block[0] == 1,
        Special::TidY => block[1] == 1 || block[0].is_multiple_of(32),
        Special::TidZ => block[2] == 1 || block[0].wrapping_mul(block[1]).is_multiple_of(32),
        Special::Laneid
        | Special::LanemaskEq
        | Special::LanemaskLe
        | Special::LanemaskLt
        | Special::LanemaskGe
        | Special::LanemaskGt => false,
        Special::Clock
        | Special::ClockHi
        | Special::Clock64
        | Special::Globaltimer
        | Special::GlobaltimerLo
        | Special::GlobaltimerHi => false,
        _ => true,
    }
}

/// Calls `f` with each register that the operand names.
pub(crate) fn each_reg(operand: &Operand, f: &mut impl FnMut(RegId)) {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => f(*reg),
        Operand::Addr(address) => match address.base {
            Base::Reg(reg) => f(reg),
            Base::Var(_) | Base::Absolute => {}
        },
        Operand::Vec(items) | Operand::List(items) => {
            for item in items {
                each_reg(item, f);
            }
        }
        Operand::Pair(pair) => {
            each_reg(&pair.0, f);
            each_reg(&pair.1, f);
        }
        Operand::Imm(_)
        | Operand::Special(_)
        | Operand::Var(..)
        | Operand::Label(_)
        | Operand::Func(_)
        | Operand::Sink => {}
    }
}

/// Calls `f` with each register the instruction defines.
pub(crate) fn each_def(inst: &Inst, f: &mut impl FnMut(RegId)) {
    if has_destination(inst)
        && let Some(first) = inst.operands.first()
    {
        each_reg(first, f);
    }
}

/// Calls `f` with each register the instruction reads.
pub(crate) fn each_use(inst: &Inst, f: &mut impl FnMut(RegId)) {
    let skip = usize::from(has_destination(inst) && !reads_destination(inst));
    for operand in inst.operands.iter().skip(skip) {
        each_reg(operand, f);
    }
    if let Some(guard) = inst.guard {
        f(guard.reg);
    }
}
