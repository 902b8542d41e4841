//! A kernel as ops, for one block shape.

use super::{MicroOp, Notes, Preset, Run, Slot, SpanId, Value, Words};
use crate::{analysis::Code, check::Subject, op::Note};
use std::{
    any::Any,
    sync::{Arc, OnceLock},
};
use warpsmith_ptx::{
    ir::{Name, Span},
    special::Special,
};

/// A kernel lowered for one block shape.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) subject: Arc<Subject>,
    pub(crate) ops: Vec<MicroOp>,
    pub(crate) blocks: Vec<BlockInfo>,
    /// Further operands of ops.
    pub(crate) extra: Vec<u32>,
    pub(crate) frame_bytes: u32,
    pub(crate) local_bytes: u32,
    /// Whether its CTAs have tensor memory.
    pub(crate) has_tensor: bool,
    /// Scalars that never change.
    pub(crate) consts: Vec<(Slot, u64)>,
    /// Slots set for each launch.
    pub(crate) per_launch: Vec<Preset>,
    /// Slots set for each CTA.
    pub(crate) per_cta: Vec<Preset>,
    /// Shadow slots: which bytes of each register are undefined.
    pub(crate) shadows: Vec<Slot>,
    /// The slots of what shuffles did not bring.
    pub(crate) lost: Vec<Slot>,
    /// The names of the module's functions.
    pub(crate) functions: Vec<Name>,
    /// What was lowered.
    pub(crate) code: Arc<Code>,
    /// Blocks whose lanes wait for lanes of their warp, and the ops that say for which.
    pub(crate) gates: Vec<(u32, u32)>,
    /// What ops do that others see, or by which they wait for others.
    pub(crate) marks: Vec<(u32, Note)>,
    /// The ops that are looked at, in a program that is watched.
    pub(crate) notes: Notes,
    pub(crate) watched: OnceLock<Arc<Program>>,
    /// Its compiled runs, whose first ops hold their code instead of their own.
    pub(crate) native: Option<Arc<Compiled>>,
}

/// Where a block starts, and whether it runs with all live lanes only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockInfo {
    pub(crate) first: u32,
    pub(crate) convergent: bool,
}

impl Program {
    /// Entries of the extra table.
    #[inline(always)]
    pub(crate) fn extra(&self, at: Words, len: usize) -> &[u32] {
        &self.extra[at.0 as usize..][..len]
    }

    /// Its twin that is watched; made so the first time.
    pub(crate) fn watched(&self, make: fn(&Program) -> Program) -> &Arc<Program> {
        self.watched.get_or_init(|| Arc::new(make(self)))
    }

    /// The op at which lanes wait before a block.
    pub(crate) fn gate(&self, block: u32) -> Option<&MicroOp> {
        let (_, op) = self.gates.iter().find(|(own, _)| *own == block)?;
        self.ops.get(*op as usize)
    }

    /// Whether it asks the driver where the workspace of its grid is.
    pub(crate) fn reads_environment(&self) -> bool {
        let asks = |preset: &Preset| {
            let special = [Special::Envreg1, Special::Envreg2];
            special.map(Value::Scalar).contains(&preset.value)
        };
        self.per_launch.iter().any(asks)
    }

    /// A program of nothing, for a context that has not run.
    pub(crate) fn empty() -> Program {
        Program {
            subject: Arc::default(),
            ops: Vec::new(),
            blocks: Vec::new(),
            extra: Vec::new(),
            frame_bytes: 0,
            local_bytes: 0,
            has_tensor: false,
            consts: Vec::new(),
            per_launch: Vec::new(),
            per_cta: Vec::new(),
            shadows: Vec::new(),
            lost: Vec::new(),
            functions: Vec::new(),
            code: Arc::default(),
            gates: Vec::new(),
            marks: Vec::new(),
            notes: Notes::default(),
            watched: OnceLock::new(),
            native: None,
        }
    }

    /// Puts compiled code in the place of ops.
    pub(crate) fn install(&mut self, native: Arc<Compiled>) {
        for (at, _, code) in &native.runs {
            self.ops[*at as usize].set_run(*code);
        }
        self.native = Some(native);
    }

    /// Gives all ops their own code again.
    pub(crate) fn interpret(&mut self) {
        if let Some(native) = self.native.take() {
            for (at, plain, _) in &native.runs {
                self.ops[*at as usize].set_run(*plain);
            }
        }
    }

    /// The place of an op.
    pub(crate) fn span(&self, at: SpanId) -> Span {
        self.subject.span(at)
    }
}

/// Runs of instructions as machine code.
pub(crate) struct Compiled {
    /// The ops where runs begin, with their own code and the code of the run.
    pub(crate) runs: Vec<(u32, Run, Run)>,
    /// Where the code is: it has to stay for as long as the ops do.
    _pages: Box<dyn Any + Send + Sync>,
}

impl Compiled {
    /// Runs, with what their code is in.
    pub(crate) fn new(runs: Vec<(u32, Run, Run)>, pages: impl Any + Send + Sync) -> Compiled {
        let _pages = Box::new(pages);
        Compiled { runs, _pages }
    }
}
