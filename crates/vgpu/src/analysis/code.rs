//! What a program keeps of its kernel's text: blocks, where they go, and what each instruction reads and writes.

use super::{
    cfg::{Block, Term},
    roles,
    uniform::insts,
};
use warpsmith_ptx::{
    ir::{Inst, Operand, Span, Stmt},
    op::Op,
    qual::Qual,
    special::Special,
};

/// Where a register lies in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Nowhere, or where nothing writes.
    Fixed,
    /// One value for the warp.
    Scalar(u32),
    /// The lanes of a predicate.
    Mask(u32),
    /// 32 cells of 32 bits.
    Narrow(u32),
    /// 32 cells of 64 bits.
    Wide(u32),
}

/// An instruction: its registers stand in the code's list, those that it writes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    at: u32,
    defs: u16,
    uses: u16,
    /// What it reads matters, whoever reads its result.
    pub(crate) root: bool,
    /// It may leave what it writes as it was.
    pub(crate) guarded: bool,
    /// Its result differs from time to time.
    pub(crate) timed: bool,
}

/// How a block ends, as far as threads wait there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A thread may leave the kernel.
    Exit,
    /// A barrier, or a wait for lanes of the warp.
    Sync,
    /// A call or a return that saves registers.
    Call,
    /// A thread may be stopped there.
    Trap,
    Plain,
}

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct CodeBlock {
    steps: (u32, u32),
    targets: (u32, u32),
    /// Registers that its end reads, and those that it writes.
    uses: (u32, u32),
    defs: (u32, u32),
    pub(crate) end: End,
    /// Where its end stands.
    pub(crate) span: Span,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) homes: Vec<Home>,
    pub(crate) parts: Vec<CodeBlock>,
    steps: Vec<Step>,
    words: Vec<u32>,
}

impl Code {
    pub(crate) fn new(body: &[Stmt], blocks: &[Block], homes: Vec<Home>) -> Code {
        let mut code = Code {
            homes,
            ..Code::default()
        };
        for block in blocks {
            let first = code.steps.len() as u32;
            for (_, inst) in insts(block, body) {
                code.step(inst);
            }
            let steps = (first, code.steps.len() as u32);
            let targets = code.list(|add| block.term.targets().into_iter().for_each(add));
            let uses = code.list(|add| block.term.each_use(&mut |reg| add(reg.0)));
            let defs = code.list(|add| block.term.each_def(&mut |reg| add(reg.0)));
            let end = match &block.term {
                Term::Exit | Term::ExitIf { .. } => End::Exit,
                Term::Gate { .. } | Term::Barrier(_) => End::Sync,
                Term::Call(call) if !call.saves.is_empty() => End::Call,
                Term::Call(_)
                | Term::Return { .. }
                | Term::Jump(_)
                | Term::Branch { .. }
                | Term::Switch { .. } => End::Plain,
                Term::Trap { .. } => End::Trap,
            };
            code.parts.push(CodeBlock {
                steps,
                targets,
                uses,
                defs,
                end,
                span: block.span,
            });
        }
        code
    }

    fn list(&mut self, fill: impl FnOnce(&mut dyn FnMut(u32))) -> (u32, u32) {
        let first = self.words.len() as u32;
        fill(&mut |word| self.words.push(word));
        (first, self.words.len() as u32)
    }

    fn step(&mut self, inst: &Inst) {
        let (at, middle) = self.list(|add| roles::each_def(inst, &mut |reg| add(reg.0)));
        let (_, end) = self.list(|add| roles::each_use(inst, &mut |reg| add(reg.0)));
        self.steps.push(Step {
            at,
            defs: (middle - at) as u16,
            uses: (end - middle) as u16,
            root: is_root(inst),
            guarded: inst.guard.is_some(),
            timed: is_timed(inst),
        });
    }

    fn words(&self, range: (u32, u32)) -> &[u32] {
        &self.words[range.0 as usize..range.1 as usize]
    }

    /// The instructions of a block.
    pub(crate) fn steps(&self, block: u32) -> &[Step] {
        let (from, to) = self.parts[block as usize].steps;
        &self.steps[from as usize..to as usize]
    }

    /// The registers that an instruction writes, and those that it reads.
    pub(crate) fn regs(&self, step: &Step) -> (&[u32], &[u32]) {
        let middle = step.at + u32::from(step.defs);
        let all = self.words((step.at, middle + u32::from(step.uses)));
        all.split_at(usize::from(step.defs))
    }

    /// Where a block goes.
    pub(crate) fn targets(&self, block: u32) -> &[u32] {
        self.words(self.parts[block as usize].targets)
    }

    /// The registers that the end of a block writes, and those that it reads.
    pub(crate) fn end_regs(&self, block: u32) -> (&[u32], &[u32]) {
        let part = &self.parts[block as usize];
        (self.words(part.defs), self.words(part.uses))
    }

    /// Where whoever begins with `block` waits first, if there is no way out without that.
    pub(crate) fn must_wait(&self, block: u32) -> Option<Span> {
        let mut seen = vec![false; self.parts.len()];
        let mut work = vec![block];
        let mut found = None;
        while let Some(at) = work.pop() {
            if std::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            let part = &self.parts[at as usize];
            match part.end {
                End::Exit => return None,
                End::Sync => {
                    found.get_or_insert(part.span);
                }
                End::Call | End::Plain | End::Trap => work.extend(self.targets(at)),
            }
        }
        found
    }
}

/// Whether what it reads matters though nobody reads its result.
fn is_root(inst: &Inst) -> bool {
    match inst.op {
        // These change when something is done, not what.
        Op::Nanosleep
        | Op::Prefetch
        | Op::Prefetchu
        | Op::Membar
        | Op::Fence
        | Op::Applypriority
        | Op::Discard
        | Op::Pmevent
        | Op::Griddepcontrol => false,
        Op::Atom
        | Op::Ld
        | Op::Ldu
        | Op::Ldmatrix
        | Op::Mbarrier
        | Op::Wmma
        | Op::Call
        | Op::Tex
        | Op::Tld4
        | Op::Suld => true,
        // The carry is in no register.
        _ => !roles::has_destination(inst) || inst.quals.has(Qual::Cc),
    }
}

/// Whether it reads a clock.
fn is_timed(inst: &Inst) -> bool {
    let clock = |operand: &Operand| match operand {
        Operand::Special(special) => matches!(
            special,
            Special::Clock
                | Special::ClockHi
                | Special::Clock64
                | Special::Globaltimer
                | Special::GlobaltimerLo
                | Special::GlobaltimerHi
        ),
        _ => false,
    };
    inst.operands.iter().any(clock)
}
