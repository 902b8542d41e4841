//! The registers of a body, gathered once: what the clean-up passes read and rename instead of instructions.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand, RegId, Stmt},
    op::Op,
    qual::Qual,
};

/// Statements as passes see them: the registers of each, and what may be done with it.
pub(crate) struct Flat {
    /// Those of one statement after those of another: the written ones, the guard, the read ones.
    regs: Vec<RegId>,
    facts: Vec<Facts>,
    /// Instructions that define each register.
    pub(crate) definitions: Vec<u32>,
    /// Whether there is a [`Kind::Copy`].
    pub(crate) copies: bool,
}

/// What passes ask of a statement.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    start: u32,
    reads: u32,
    end: u32,
    pub(crate) kind: Kind,
    /// Nothing but its results depends on whether it runs.
    pub(crate) pure: bool,
    pub(crate) guarded: bool,
    /// What it computes, but for its registers: `None` where it may not be taken from an earlier one.
    pub(crate) computes: Option<u64>,
}

/// What a statement is to the flow of control and to copies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No instruction: a label, and with it the end of a block.
    Label,
    Branch,
    /// `mov` from a register to a register, without a guard.
    Copy,
    Other,
}

impl Flat {
    /// Of a body whose function has `count` registers.
    pub(crate) fn new(body: &[Stmt], count: usize) -> Flat {
        let mut flat = Flat {
            regs: Vec::with_capacity(4 * body.len()),
            facts: Vec::with_capacity(body.len()),
            definitions: vec![0; count],
            copies: false,
        };
        for stmt in body {
            let facts = match stmt.inst() {
                Some(inst) => flat.inst(inst),
                None => {
                    let at = flat.regs.len() as u32;
                    Facts {
                        start: at,
                        reads: at,
                        end: at,
                        kind: Kind::Label,
                        pure: false,
                        guarded: false,
                        computes: None,
                    }
                }
            };
            flat.copies |= facts.kind == Kind::Copy;
            flat.facts.push(facts);
        }
        flat
    }

    fn inst(&mut self, inst: &Inst) -> Facts {
        let start = self.regs.len();
        let writes = has_destination(inst);
        let (results, sources) = inst
            .operands
            .split_at(usize::from(writes).min(inst.operands.len()));
        for operand in results {
            visit(operand, &mut |reg| self.regs.push(reg));
        }
        let reads = self.regs.len();
        for reg in &self.regs[start..reads] {
            self.definitions[reg.index()] += 1;
        }
        self.regs.extend(inst.guard.map(|guard| guard.reg));
        for operand in sources {
            visit(operand, &mut |reg| self.regs.push(reg));
        }
        let guarded = inst.guard.is_some();
        let pure = writes && is_pure(inst);
        let kind = match (inst.op, inst.operands.as_slice()) {
            (Op::Bra, _) => Kind::Branch,
            (Op::Mov, [Operand::Reg(_), Operand::Reg(_)]) if !guarded => Kind::Copy,
            _ => Kind::Other,
        };
        Facts {
            start: start as u32,
            reads: reads as u32,
            end: self.regs.len() as u32,
            kind,
            pure,
            guarded,
            computes: if pure && !guarded && may_repeat(inst) {
                computes(inst, sources)
            } else {
                None
            },
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.facts.len()
    }

    pub(crate) fn registers(&self) -> usize {
        self.definitions.len()
    }

    pub(crate) fn facts(&self, at: usize) -> &Facts {
        &self.facts[at]
    }

    /// All registers of a statement, in the order in which [`visit_all`] comes to them.
    #[inline]
    pub(crate) fn of(&self, at: usize) -> &[RegId] {
        let Facts { start, end, .. } = self.facts[at];
        &self.regs[start as usize..end as usize]
    }

    #[inline]
    pub(crate) fn writes(&self, at: usize) -> &[RegId] {
        let Facts { start, reads, .. } = self.facts[at];
        &self.regs[start as usize..reads as usize]
    }

    #[inline]
    pub(crate) fn writes_mut(&mut self, at: usize) -> &mut [RegId] {
        let Facts { start, reads, .. } = self.facts[at];
        &mut self.regs[start as usize..reads as usize]
    }

    /// The guard first.
    #[inline]
    pub(crate) fn reads(&self, at: usize) -> &[RegId] {
        let Facts { reads, end, .. } = self.facts[at];
        &self.regs[reads as usize..end as usize]
    }

    #[inline]
    pub(crate) fn reads_mut(&mut self, at: usize) -> &mut [RegId] {
        let Facts { reads, end, .. } = self.facts[at];
        &mut self.regs[reads as usize..end as usize]
    }
}

/// Calls `f` with each register of an instruction, in the order of [`Flat::of`].
pub(crate) fn visit_all(inst: &mut Inst, mut f: impl FnMut(&mut RegId)) {
    let skip = usize::from(has_destination(inst)).min(inst.operands.len());
    let (results, sources) = inst.operands.split_at_mut(skip);
    for operand in results {
        visit_mut(operand, &mut f);
    }
    if let Some(guard) = &mut inst.guard {
        f(&mut guard.reg);
    }
    for operand in sources {
        visit_mut(operand, &mut f);
    }
}

/// Whether two instructions compute the same, if their registers are the same.
pub(crate) fn alike(a: &Inst, b: &Inst) -> bool {
    let same = |(a, b): (&Operand, &Operand)| match (a, b) {
        (Operand::Reg(_), Operand::Reg(_)) | (Operand::NotReg(_), Operand::NotReg(_)) => true,
        (Operand::Addr(a), Operand::Addr(b)) => {
            let bases = match (a.base, b.base) {
                (Base::Reg(_), Base::Reg(_)) => true,
                (a, b) => a == b,
            };
            bases && a.offset == b.offset
        }
        _ => a == b,
    };
    a.op == b.op
        && a.operands.len() == b.operands.len()
        && a.operands[1..].iter().zip(&b.operands[1..]).all(same)
        && a.quals == b.quals
}

/// A hash of what an instruction computes, but for its registers; `None` where an operand is not a plain one.
fn computes(inst: &Inst, sources: &[Operand]) -> Option<u64> {
    let mut hasher = FxHasher::default();
    hasher.write_u64(inst.op as u64);
    inst.quals.hash(&mut hasher);
    for operand in sources {
        match operand {
            Operand::Reg(_) => hasher.write_u64(1),
            Operand::NotReg(_) => hasher.write_u64(2),
            Operand::Imm(imm) => imm.hash(&mut hasher),
            Operand::Special(special) => special.hash(&mut hasher),
            Operand::Var(var, offset) => (var, offset).hash(&mut hasher),
            Operand::Addr(Address { base, offset }) => {
                hasher.write_i64(*offset);
                if let Base::Var(var) = base {
                    var.hash(&mut hasher);
                }
            }
            Operand::Vec(_) | Operand::Pair(_) | Operand::List(_) => return None,
            Operand::Label(_) | Operand::Func(_) | Operand::Sink => return None,
        }
    }
    Some(hasher.finish())
}

/// Arithmetic, and loads whose value cannot change during the launch.
fn may_repeat(inst: &Inst) -> bool {
    match inst.op {
        Op::Ld => inst.quals.has(Qual::Nc) || inst.quals.has(Qual::Param),
        Op::Mma | Op::Ldmatrix => false,
        _ => true,
    }
}

fn visit(operand: &Operand, f: &mut impl FnMut(RegId)) {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => f(*reg),
        Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        }) => f(*reg),
        Operand::Vec(items) | Operand::List(items) => items.iter().for_each(|item| visit(item, f)),
        Operand::Pair(pair) => {
            visit(&pair.0, f);
            visit(&pair.1, f);
        }
        Operand::Imm(_) | Operand::Special(_) | Operand::Var(..) | Operand::Addr(_) => {}
        Operand::Label(_) | Operand::Func(_) | Operand::Sink => {}
    }
}

fn visit_mut(operand: &mut Operand, f: &mut impl FnMut(&mut RegId)) {
    match operand {
        Operand::Reg(reg) | Operand::NotReg(reg) => f(reg),
        Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        }) => f(reg),
        Operand::Vec(items) | Operand::List(items) => {
            items.iter_mut().for_each(|item| visit_mut(item, f))
        }
        Operand::Pair(pair) => {
            visit_mut(&mut pair.0, f);
            visit_mut(&mut pair.1, f);
        }
        Operand::Imm(_) | Operand::Special(_) | Operand::Var(..) | Operand::Addr(_) => {}
        Operand::Label(_) | Operand::Func(_) | Operand::Sink => {}
    }
}

/// Whether the first operand is a destination.
fn has_destination(inst: &Inst) -> bool {
    match inst.op {
        Op::St
        | Op::Red
        | Op::Bra
        | Op::Ret
        | Op::Exit
        | Op::Trap
        | Op::Cp
        | Op::Fence
        | Op::Membar
        | Op::Nanosleep => false,
        Op::Bar | Op::Barrier => inst.quals.has(Qual::Red),
        Op::Prefetch
        | Op::Prefetchu
        | Op::Stmatrix
        | Op::Mbarrier
        | Op::Wgmma
        | Op::Brx
        | Op::Brkpt
        | Op::Pmevent => false,
        Op::Griddepcontrol
        | Op::Setmaxnreg
        | Op::Discard
        | Op::Applypriority
        | Op::Call
        | Op::Tcgen05 => false,
        _ => true,
    }
}

/// Whether an instruction with a destination does nothing but define it.
fn is_pure(inst: &Inst) -> bool {
    match inst.op {
        Op::Ld => !inst.quals.as_slice().iter().any(|q| {
            matches!(
                q,
                Qual::Volatile | Qual::Acquire | Qual::Relaxed | Qual::Mmio
            )
        }),
        Op::Atom
        | Op::Shfl
        | Op::Vote
        | Op::Redux
        | Op::Match
        | Op::Activemask
        | Op::Bar
        | Op::Barrier
        | Op::Elect
        | Op::Call
        | Op::Alloca
        | Op::Mapa => false,
        _ => true,
    }
}
