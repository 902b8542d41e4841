//! The builder: instructions of the kernel that is being written on this thread.

use crate::{
    class::{CLASSES, class},
    draft::{Draft, Reuse},
    misuse::{self, Birth, Misuse},
    optimise,
    slot::Slot,
};
use std::{borrow::Cow, cell::RefCell, panic::Location, sync::LazyLock};
use warpsmith_ptx::{
    ir::{
        Directive, Function, FunctionKind, Guard, Imm, Inst, LabelId, Linkage, Module, Name,
        Operand, Origin, RegId, Span, Var,
    },
    op::Op,
    qual::Qual,
    target::{PtxVersion, Target},
    types::{Space, Type},
};

/// Bytes of shared memory that may be declared statically (CUDA C++ programming guide, "Shared memory").
pub const STATIC_SHARED: u32 = 48 << 10;

/// A value's representation: a register or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rep {
    Reg(RegId),
    Imm(Imm, Birth),
}

impl Rep {
    /// A constant of the program text.
    pub(crate) const fn imm(imm: Imm) -> Rep {
        Rep::Imm(imm, Birth::BODY)
    }

    /// The register, if it is one.
    pub(crate) fn reg(self) -> Option<RegId> {
        match self {
            Rep::Reg(reg) => Some(reg),
            Rep::Imm(..) => None,
        }
    }

    pub(crate) fn operand(self) -> Operand {
        match self {
            Rep::Reg(reg) => Operand::Reg(reg),
            Rep::Imm(imm, _) => Operand::Imm(imm),
        }
    }

    #[inline]
    pub(crate) fn slot(self) -> Slot {
        match self {
            Rep::Reg(reg) => Slot::reg(reg),
            Rep::Imm(imm, birth) => Slot::born(imm, birth),
        }
    }
}

/// The state of one kernel under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) function: Function,
    draft: Draft,
    pub(crate) target: Target,
    pub(crate) threads: u32,
    /// Bytes of shared memory that are taken.
    pub(crate) shared_bytes: u32,
    /// The most that were ever taken.
    shared_most: u32,
    pub(crate) loop_depth: u32,
    pub(crate) read_only_cache: bool,
    /// Tables and texts.
    pub(crate) module_vars: Vec<Var>,
    /// Bytes of constant memory among them.
    pub(crate) constant_bytes: usize,
    /// Functions of the system that are called.
    pub(crate) externs: Vec<Function>,
    /// Bytes of values that one `printf` takes, where there is one.
    printed: Option<u32>,
    /// Values computed once at the entry and shared by all who ask (thread index, lane index).
    entry: [Option<RegId>; EntryValue::COUNT],
}

/// Values that a builder computes at most once, at the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryValue {
    Thread,
    LaneId,
    WarpId,
    CtaId,
    CtaCount,
    SharedBase,
}

impl EntryValue {
    const COUNT: usize = EntryValue::SharedBase as usize + 1;
}

thread_local! {
    static CURRENT: RefCell<Option<Builder>> = const { RefCell::new(None) };
}

/// Runs `f` with the builder of this thread.
pub(crate) fn with<R>(f: impl FnOnce(&mut Builder) -> R) -> R {
    CURRENT.with(|current| {
        f(current
            .borrow_mut()
            .as_mut()
            .expect("a value lives only while its kernel is built"))
    })
}

/// Installs a builder, runs `f`, and takes the builder back; also when `f` unwinds.
pub(crate) fn record(builder: Builder, f: impl FnOnce()) -> Builder {
    struct Restore(Option<Builder>, u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            misuse::run(self.1);
            CURRENT.with(|current| *current.borrow_mut() = self.0.take());
        }
    }
    let around = CURRENT.with(|current| current.borrow_mut().replace(builder));
    let _restore = Restore(around, misuse::run(0));
    f();
    CURRENT
        .with(|current| current.borrow_mut().take())
        .expect("installed above")
}

/// The name of the one shared-memory arena of a kernel.
const SHARED_ARENA: &str = "smem";

/// The variable that values to be printed are written to, and its number while a body is recorded.
const PRINTED: &str = "printed";
const PRINTED_VAR: u32 = 1;

impl Builder {
    pub(crate) fn new(
        name: String,
        target: Target,
        threads: u32,
        read_only_cache: bool,
        reuse: Reuse,
    ) -> Builder {
        let function = Function {
            name: name.into(),
            kind: FunctionKind::Entry,
            linkage: Linkage::Visible,
            origin: Origin::Language,
            returns: Vec::new(),
            params: Vec::new(),
            directives: vec![Directive::ReqNtid([threads, 1, 1])],
            regs: Vec::new(),
            vars: Vec::new(),
            labels: Vec::new(),
            body: None,
            span: Span::None,
        };
        Builder {
            function,
            draft: Draft::new(reuse),
            target,
            threads,
            shared_bytes: 0,
            shared_most: 0,
            loop_depth: 0,
            read_only_cache,
            module_vars: Vec::new(),
            constant_bytes: 0,
            externs: Vec::new(),
            printed: None,
            entry: [None; EntryValue::COUNT],
        }
    }

    /// A register that is written once.
    #[inline]
    pub(crate) fn reg(&mut self, ty: Type) -> RegId {
        self.draft.reg(ty)
    }

    /// A register that may be written again and again: what a loop or a branch carries.
    pub(crate) fn carried(&mut self, ty: Type) -> RegId {
        self.draft.carried(ty)
    }

    /// An instruction of `slots`, destination first.
    pub(crate) fn push(
        &mut self,
        at: &'static Location<'static>,
        op: Op,
        quals: &[Qual],
        slots: &[Slot],
    ) {
        self.line(at, op, quals, |own| own.extend_from_slice(slots));
    }

    /// An instruction of the slots that `slots` appends, destination first.
    #[inline]
    pub(crate) fn line(
        &mut self,
        at: &'static Location<'static>,
        op: Op,
        quals: &[Qual],
        slots: impl FnOnce(&mut Vec<Slot>),
    ) {
        self.draft.inst(Some(at), op, quals, slots);
    }

    /// An instruction of the raw layer.
    pub(crate) fn push_inst(&mut self, at: &'static Location<'static>, inst: &Inst) {
        self.line(at, inst.op, inst.quals.as_slice(), |slots| {
            for operand in &inst.operands {
                Slot::append(slots, operand);
            }
        });
    }

    /// An instruction with one result of type `ty`.
    #[inline]
    pub(crate) fn def(
        &mut self,
        at: &'static Location<'static>,
        op: Op,
        quals: &[Qual],
        ty: Type,
        sources: &[Slot],
    ) -> RegId {
        let [reg] = self.defs(at, op, quals, ty, sources);
        reg
    }

    /// An instruction whose result is `N` registers of type `ty`, a vector if there are several.
    #[inline]
    pub(crate) fn defs<const N: usize>(
        &mut self,
        at: &'static Location<'static>,
        op: Op,
        quals: &[Qual],
        ty: Type,
        sources: &[Slot],
    ) -> [RegId; N] {
        self.draft.def(Some(at), op, quals, ty, sources)
    }

    /// Copies into a carried register.
    pub(crate) fn mov(&mut self, at: &'static Location<'static>, ty: Type, dst: RegId, src: Rep) {
        let quals = [Qual::T(mov_type(ty))];
        self.draft.mov(Some(at), &quals, dst, src.slot());
    }

    /// A register holding `rep`.
    #[inline]
    pub(crate) fn to_reg(&mut self, at: &'static Location<'static>, ty: Type, rep: Rep) -> RegId {
        match rep {
            Rep::Reg(reg) => reg,
            Rep::Imm(imm, birth) => {
                let quals = [Qual::T(mov_type(ty))];
                self.def(at, Op::Mov, &quals, ty, &[Slot::born(imm, birth)])
            }
        }
    }

    /// Opens a region for the closure of `construct`, called at `at`.
    pub(crate) fn open(&mut self, construct: &'static str, at: &'static Location<'static>) {
        self.draft.open(construct, at);
    }

    /// Closes the region that was opened last.
    pub(crate) fn close(&mut self) {
        self.draft.close();
    }

    /// The variable for the values of a `printf`.
    pub(crate) fn printed(&mut self) -> u32 {
        self.printed.get_or_insert(0);
        PRINTED_VAR
    }

    /// Makes that variable `bytes` long at least.
    pub(crate) fn print_buffer(&mut self, bytes: u32) {
        self.printed = self.printed.max(Some(bytes));
    }

    /// Makes a register one of the whole body.
    pub(crate) fn keep(&mut self, reg: RegId) {
        self.draft.globally(reg);
    }

    /// A constant is used at `at`, without an instruction that would show it.
    pub(crate) fn seen(&mut self, at: &'static Location<'static>, rep: Rep) {
        if let Rep::Imm(_, birth) = rep {
            self.draft.constant(Some(at), birth);
        }
    }

    /// Notes what the body does wrong.
    pub(crate) fn misuse(&mut self, misuse: Misuse) {
        self.draft.misuses.push(misuse);
    }

    /// What the body did wrong.
    pub(crate) fn take_misuses(&mut self) -> Vec<Misuse> {
        std::mem::take(&mut self.draft.misuses)
    }

    pub(crate) fn label(&mut self) -> LabelId {
        let id = LabelId(self.function.labels.len() as u32);
        self.function.labels.push(label_name(id));
        id
    }

    pub(crate) fn place(&mut self, at: &'static Location<'static>, label: LabelId) {
        self.draft.place(Some(at), label);
    }

    pub(crate) fn branch(
        &mut self,
        at: &'static Location<'static>,
        guard: Option<(RegId, Negated)>,
        label: LabelId,
    ) {
        let guard = guard.map(|(reg, negated)| Guard {
            reg,
            negated: negated == Negated::Yes,
        });
        self.draft.branch(Some(at), guard, label);
    }

    /// The value computed once at the entry, before all else, by what `make` appends to the entry.
    pub(crate) fn at_entry(
        &mut self,
        key: EntryValue,
        ty: Type,
        make: impl FnOnce(&mut Draft, RegId),
    ) -> RegId {
        if let Some(reg) = self.entry[key as usize] {
            return reg;
        }
        let before = self.draft.regs.len();
        let dst = self.draft.reg(ty);
        make(&mut self.draft, dst);
        (before..self.draft.regs.len()).for_each(|reg| self.draft.globally(RegId(reg as u32)));
        self.entry[key as usize] = Some(dst);
        dst
    }

    /// Reserves `bytes` of shared memory aligned to `align`; returns its offset in the arena.
    pub(crate) fn shared(&mut self, bytes: u32, align: u32) -> u32 {
        let offset = self.shared_bytes.next_multiple_of(align);
        self.shared_bytes = offset + bytes;
        self.shared_most = self.shared_most.max(self.shared_bytes);
        offset
    }

    /// Gives back the shared memory that was taken since `mark` bytes were; whether there was any.
    pub(crate) fn release_shared(&mut self, mark: u32) -> bool {
        std::mem::replace(&mut self.shared_bytes, mark) != mark
    }

    /// The 32-bit shared address of the arena's start.
    pub(crate) fn shared_base(&mut self) -> RegId {
        self.at_entry(EntryValue::SharedBase, Type::B32, |draft, dst| {
            let slots = [Slot::reg(dst), Slot::var(0)];
            draft.at_entry(Op::Mov, &[Qual::T(Type::U32)], &slots);
        })
    }

    /// Whether a register that stood for a value was written again: the body must be recorded without reuse.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.draft.rewritten
    }

    /// Ends the kernel: shared memory declared, dead code and copies removed, registers in canonical order.
    pub(crate) fn finish(mut self) -> (Module, u32) {
        self.push(Location::caller(), Op::Ret, &[], &[]);
        let mut dynamic = 0;
        if self.entry[EntryValue::SharedBase as usize].is_some() {
            let mut arena = Var::new(SHARED_ARENA, Space::Shared, Type::B8);
            arena.align = Some(16);
            if self.shared_most <= STATIC_SHARED {
                arena.dims.push(Some(u64::from(self.shared_most)));
                self.function.vars.push(arena);
            } else {
                dynamic = self.shared_most;
                arena.dims.push(None);
                arena.linkage = Linkage::Extern;
                let at = self.module_vars.len() as u32;
                self.draft
                    .slots
                    .iter_mut()
                    .for_each(|slot| slot.promote(at));
                self.module_vars.push(arena);
            }
        }
        if let Some(bytes) = self.printed {
            let mut values = Var::new(PRINTED, Space::Local, Type::B8);
            values.align = Some(8);
            values.dims.push(Some(u64::from(bytes.max(8))));
            let at = self.function.vars.len() as u32;
            self.draft
                .slots
                .iter_mut()
                .for_each(|slot| slot.renumber(PRINTED_VAR, at));
            self.function.vars.push(values);
        }
        let (regs, body) = optimise::finish(self.draft);
        self.function.regs = regs;
        self.function.body = Some(body);
        let mut functions = self.externs;
        functions.push(self.function);
        let module = Module {
            version: PtxVersion::new(6, 0),
            target: self.target,
            target_options: Vec::new(),
            vars: self.module_vars,
            functions,
            files: Vec::new(),
            sections: Vec::new(),
            version_span: Span::None,
            span: Span::None,
        };
        (module, dynamic)
    }
}

/// The name of a label; most kernels have few, whose names are made once.
fn label_name(id: LabelId) -> Name {
    static NAMES: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..256).map(|at| format!("$L{at}")).collect());
    match NAMES.get(id.index()) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("$L{}", id.0)),
    }
}

/// Whether a guard is `@!p`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Negated {
    No,
    Yes,
}

/// The type that `mov` names for a register of this class.
pub(crate) fn mov_type(ty: Type) -> Type {
    CLASSES[class(ty)].0
}
