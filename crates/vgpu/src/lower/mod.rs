//! Lowering: from a kernel of a verified module to micro-ops for one block shape.

mod alias;
mod cfg;
mod code;
mod deferred;
mod depends;
mod describe;
mod guess;
mod immediate;
mod instrument;
mod lost;
mod lowerer;
mod pieces;
mod preds;
mod presets;
mod reach;
pub(crate) mod roles;
mod slots;
mod uniform;
mod unit;
mod watch;

pub(crate) use cfg::{BarRed, BarrierTerm, Block, CallTerm, Term, class};
pub(crate) use code::{Code, End, Home};
pub(crate) use immediate::immediate;
pub(crate) use lowerer::{Dst, Lowerer, Src};
pub(crate) use pieces::Piece;
pub(crate) use presets::{Preset, Value};
pub(crate) use unit::{address_of, function_at, unit};

use crate::{
    Tier,
    check::{AccessInfo, Variables},
    error::Error,
    exec::{self, MicroOp, Note, Notes},
    native::{self, Native},
};
use slots::Need;
use std::sync::{Arc, OnceLock};
use warpsmith_ptx::{
    ir::{Function, Module, Name, Span, VarId},
    special::Special,
    types::{Space, Type},
};

/// The slot where masked writes are staged: the start of each frame.
pub(crate) const SCRATCH: u32 = 0;
const SCRATCH_BYTES: u32 = 256;

/// A kernel lowered for one block shape.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: Name,
    pub(crate) ops: Vec<MicroOp>,
    pub(crate) blocks: Vec<BlockInfo>,
    /// Further operands of ops.
    pub(crate) extra: Vec<u32>,
    spans: Vec<Span>,
    pub(crate) frame_bytes: u32,
    pub(crate) local_bytes: u32,
    /// Scalars that never change.
    pub(crate) consts: Vec<(u32, u64)>,
    /// Slots set for each launch.
    pub(crate) per_launch: Vec<Preset>,
    /// Slots set for each CTA.
    pub(crate) per_cta: Vec<Preset>,
    /// Addresses and sizes of the module's constants.
    pub(crate) constants: Vec<(u64, u64)>,
    /// Accesses that are checked.
    pub(crate) accesses: Vec<AccessInfo>,
    /// The slots of what is undefined of registers.
    pub(crate) shadows: Vec<u32>,
    /// The slots of what shuffles did not bring.
    pub(crate) lost: Vec<u32>,
    /// Shared variables.
    pub(crate) shared: Variables,
    /// Where dynamic shared memory starts.
    pub(crate) open_shared: Option<u64>,
    /// Local variables.
    pub(crate) local: Variables,
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
    watched: OnceLock<Arc<Program>>,
    /// The code of its compiled runs, whose first ops hold it instead of their own.
    pub(crate) native: Option<Arc<Native>>,
}

/// Where a block starts, and whether it runs with all live lanes only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockInfo {
    pub(crate) first: u32,
    pub(crate) convergent: bool,
}

impl Program {
    /// Its twin that is watched; made the first time.
    pub(crate) fn watched(&self) -> &Arc<Program> {
        self.watched.get_or_init(|| Arc::new(exec::watched(self)))
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
            name: Name::Borrowed(""),
            ops: Vec::new(),
            blocks: Vec::new(),
            extra: Vec::new(),
            spans: Vec::new(),
            frame_bytes: 0,
            local_bytes: 0,
            consts: Vec::new(),
            per_launch: Vec::new(),
            per_cta: Vec::new(),
            constants: Vec::new(),
            accesses: Vec::new(),
            shadows: Vec::new(),
            lost: Vec::new(),
            shared: Variables::default(),
            open_shared: None,
            local: Variables::default(),
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
    fn install(&mut self, native: Arc<Native>) {
        for (at, _, code) in &native.runs {
            self.ops[*at as usize].run = *code;
        }
        self.native = Some(native);
    }

    /// Gives all ops their own code again.
    pub(crate) fn interpret(&mut self) {
        if let Some(native) = self.native.take() {
            for (at, plain, _) in &native.runs {
                self.ops[*at as usize].run = *plain;
            }
        }
    }

    /// Whether all of a range is one of the module's constants.
    pub(crate) fn is_constant(&self, from: u64, len: u64) -> bool {
        self.constants.iter().any(|(start, bytes)| {
            let inside = from.checked_sub(*start);
            inside.is_some_and(|at| at.checked_add(len).is_some_and(|end| end <= *bytes))
        })
    }

    /// Whether some of a range is in one of the module's constants.
    pub(crate) fn touches_constant(&self, from: u64, len: u64) -> bool {
        let end = from.saturating_add(len);
        let touches = |(start, bytes): &(u64, u64)| *start < end && from < start + bytes;
        self.constants.iter().any(touches)
    }

    /// The place of an op.
    pub(crate) fn span(&self, index: u32) -> Span {
        self.spans.get(index as usize).copied().unwrap_or_default()
    }
}

/// Where a kernel's variables are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Address of each module variable in its space.
    pub(crate) module: Vec<u64>,
    /// Address of each function variable in its space.
    pub(crate) function: Vec<u64>,
    /// Offset of each parameter.
    pub(crate) params: Vec<u64>,
    /// Bytes of all parameters.
    pub(crate) param_bytes: u32,
    /// Bytes of static shared memory.
    pub(crate) shared_bytes: u32,
    /// Bytes of local memory per thread.
    pub(crate) local_bytes: u32,
    /// Shared variables but open ones.
    pub(crate) shared: Variables,
    /// Where dynamic shared memory starts.
    pub(crate) open_shared: Option<u64>,
    /// Local variables.
    pub(crate) local: Variables,
}

impl Layout {
    /// Lays out a kernel, given the arena addresses of module variables (0 for shared ones), with `gap` bytes of
    /// nothing behind each variable, and before those in shared memory.
    pub(crate) fn new(
        module: &Module,
        function: &Function,
        arena: &[u64],
        gap: u32,
    ) -> Result<Layout, Error> {
        let fail = |name: &Name| Error::Unsupported {
            kernel: function.name.clone(),
            span: function.span,
            what: format!("the size of variable {name}"),
        };
        let mut layout = Layout {
            module: arena.to_vec(),
            function: vec![0; function.vars.len()],
            params: Vec::with_capacity(function.params.len()),
            param_bytes: 0,
            shared_bytes: 0,
            local_bytes: 0,
            shared: Variables::default(),
            open_shared: None,
            local: Variables::default(),
        };
        let place = |end: &mut u32, var: &warpsmith_ptx::ir::Var| -> Option<u64> {
            let at = end.checked_next_multiple_of(var.alignment())?;
            *end = at.checked_add(u32::try_from(var.bytes()?).ok()?)?;
            (*end <= 1 << 28).then_some(u64::from(at))
        };
        for param in &function.params {
            let at = place(&mut layout.param_bytes, param).ok_or_else(|| fail(&param.name))?;
            layout.params.push(at);
        }
        let mut open = Vec::new();
        let vars = module
            .vars
            .iter()
            .enumerate()
            .map(|(i, var)| (VarId::Module(i as u32), var));
        let own = function
            .vars
            .iter()
            .enumerate()
            .map(|(i, var)| (VarId::Function(i as u32), var));
        for (id, var) in vars.chain(own) {
            let end = match var.space {
                // An address that starts from 0 and not from a variable meets none.
                Space::Shared if layout.shared_bytes == 0 && var.bytes() != Some(0) => {
                    layout.shared_bytes = gap;
                    &mut layout.shared_bytes
                }
                Space::Shared => &mut layout.shared_bytes,
                Space::Local => &mut layout.local_bytes,
                Space::Generic | Space::Global | Space::Const | Space::Param => continue,
            };
            if var.space == Space::Shared && var.bytes() == Some(0) {
                open.push((id, var));
                continue;
            }
            let at = place(end, var).ok_or_else(|| fail(&var.name))?;
            *end = end.checked_add(gap).ok_or_else(|| fail(&var.name))?;
            let (bytes, name) = (var.bytes().unwrap_or(0), &var.name);
            if var.space == Space::Shared {
                layout.shared.push(name, at, bytes);
            } else {
                layout.local.push(name, at, bytes);
            }
            layout.set(id, at);
        }
        // Dynamic shared memory: every open array starts at the end of the static part.
        let align = open
            .iter()
            .map(|(_, var)| var.alignment())
            .max()
            .unwrap_or(1);
        if !open.is_empty() {
            let start = layout.shared_bytes.next_multiple_of(align.max(16));
            layout.open_shared = Some(u64::from(start));
            layout.shared_bytes = start;
            for (id, _) in open {
                layout.set(id, u64::from(start));
            }
        }
        layout.local_bytes = layout.local_bytes.next_multiple_of(16);
        Ok(layout)
    }

    fn set(&mut self, id: VarId, at: u64) {
        match id {
            VarId::Module(i) => self.module[i as usize] = at,
            VarId::Function(i) => self.function[i as usize] = at,
            VarId::Param(_) | VarId::Return(_) => {}
        }
    }

    /// The address of a variable in its space.
    pub(crate) fn address(&self, id: VarId) -> Option<u64> {
        match id {
            VarId::Module(i) => self.module.get(i as usize).copied(),
            VarId::Function(i) => self.function.get(i as usize).copied(),
            VarId::Param(i) => self.params.get(i as usize).copied(),
            VarId::Return(_) => None,
        }
    }
}

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
    /// Whether runs of instructions are compiled.
    pub(crate) native: bool,
}

/// Lowers a kernel.
pub(crate) fn lower(input: &Input<'_>) -> Result<Program, Error> {
    let function = input.function;
    let body = function.body.as_deref().unwrap_or(&[]);
    let blocks = cfg::blocks(function, body, input.apart)?;
    let shape = uniform::Shape {
        dims: input.block,
        has_local: input.layout.local_bytes != 0,
        apart: input.apart,
    };
    let uniformity = uniform::analyze(function, body, &blocks, shape);
    let mut l = Lowerer::new(input, SCRATCH + SCRATCH_BYTES);
    l.find_aliases(body, &blocks, &uniformity);
    let needs: Vec<Need> = function
        .regs
        .iter()
        .enumerate()
        .map(|(i, reg)| match reg.ty {
            Type::Pred => Need::Nothing,
            _ if uniformity.regs[i] || l.is_alias(i) => Need::Nothing,
            ty if ty.bits() <= 32 => Need::Narrow,
            ty if ty.bits() == 64 => Need::Wide,
            _ => Need::Nothing,
        })
        .collect();
    let (slots, end) = slots::allocate(&needs, body, &blocks, l.next);
    l.next = end;
    l.place(&needs, &slots);
    let mut shadows = input
        .checked
        .then(|| instrument::Shadows::new(&mut l, function, body, &blocks));
    let mut lost = if input.checked {
        lost::Lost::new(&mut l, function, body, &blocks)
    } else {
        None
    };
    let mut infos = Vec::with_capacity(blocks.len());
    let mut ends = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        infos.push(BlockInfo {
            first: l.ops.len() as u32,
            convergent: uniformity.convergent[at],
        });
        if input.counted {
            l.at(block.span);
            exec::emit_count(&mut l, block.stmts.len() + 1);
        }
        if let Some(shadows) = &mut shadows {
            if at == 0 {
                instrument::enter(&mut l, shadows);
            }
            instrument::enter_block(shadows, at);
        }
        ends.push(lower_block(&mut l, body, block, (&mut shadows, &mut lost))?);
    }
    let code = Code::new(body, &blocks, l.homes());
    let native = input
        .native
        .then(|| {
            let firsts = infos.iter().map(|info| info.first).collect();
            let [x, y, z] = input.block;
            // Where the last warp is not whole, no block is run by all lanes of it.
            let whole = (u64::from(x) * u64::from(y) * u64::from(z)).is_multiple_of(32);
            let convergent: Vec<bool> = uniformity
                .convergent
                .iter()
                .map(|convergent| *convergent && whole)
                .collect();
            let places = (&l.pieces[..], firsts, ends);
            native::compile(&l, body, &blocks, places, &convergent, &l.ops)
        })
        .flatten();
    let mut program = l.finish(infos, code);
    if let Some(native) = native {
        program.install(native);
    }
    Ok(program)
}

/// Lowers a block; the first of the ops that end it.
fn lower_block(
    l: &mut Lowerer<'_>,
    body: &[warpsmith_ptx::ir::Stmt],
    block: &cfg::Block,
    (shadows, lost): (&mut Option<instrument::Shadows>, &mut Option<lost::Lost>),
) -> Result<u32, Error> {
    let flush = |l: &mut Lowerer<'_>, lost: &mut Option<lost::Lost>| {
        l.flush();
        if let Some(lost) = lost {
            lost.flush(l);
        }
    };
    let mut guard = None;
    l.pieces.push(Vec::new());
    for (i, inst) in uniform::insts(block, body) {
        l.at(body[block.stmts.start + i].span);
        let aliased = l.is_aliased(inst);
        if aliased && shadows.is_none() {
            continue;
        }
        if let Some(shadows) = shadows {
            instrument::enter_stmt(shadows, block.stmts.start + i);
        }
        let wanted = inst.guard;
        if guard.map(|(g, _)| g) != wanted
            && let Some((_, start)) = guard.take()
        {
            flush(l, lost);
            exec::end_guard(l, start);
        }
        if let Some(g) = wanted
            && guard.is_none()
        {
            flush(l, lost);
            if let Some(shadows) = shadows {
                instrument::guard(l, shadows, g);
                l.flush();
            }
            let negated = if g.negated { !0 } else { 0 };
            let slot = l.slot_of(g.reg);
            guard = Some((g, exec::begin_guard(l, slot, negated)));
        }
        if let Some(shadows) = shadows {
            instrument::before_all(l, shadows)?;
        }
        if let Some(lost) = lost {
            lost.before(l, inst)?;
        }
        match shadows {
            // From here on, though not before, the register counts as written.
            Some(shadows) if aliased => instrument::after(l, shadows, inst, None)?,
            Some(shadows) => {
                let access = instrument::before(l, shadows, inst)?;
                exec::lower(l, inst)?;
                exec::mark(l, inst);
                instrument::after(l, shadows, inst, access)?;
            }
            None => {
                let first = l.ops.len() as u32;
                exec::lower(l, inst)?;
                exec::mark(l, inst);
                l.piece(block.stmts.start + i, first);
            }
        }
        if let Some(lost) = lost {
            lost.after(l, inst)?;
        }
        // A guard that its own instruction changed no longer covers the next one.
        let mut changed = false;
        roles::each_def(inst, &mut |reg| {
            changed |= wanted.is_some_and(|g| g.reg == reg)
        });
        if changed && let Some((_, start)) = guard.take() {
            flush(l, lost);
            exec::end_guard(l, start);
        }
    }
    flush(l, lost);
    if let Some((_, start)) = guard {
        exec::end_guard(l, start);
    }
    l.at(block.span);
    if let Some(shadows) = shadows {
        instrument::end_block(l, shadows, &block.term);
        l.flush();
    }
    if let Some(lost) = lost {
        lost.end_block(l, &block.term);
    }
    let end = l.ops.len() as u32;
    exec::emit_flow(l, &block.term)?;
    Ok(end)
}
