//! The builder: instructions of the kernel that is being written on this thread.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::{cell::RefCell, panic::Location};
use warpsmith_ptx::{
    ir::{
        Directive, Function, FunctionKind, Guard, Imm, Inst, LabelId, Linkage, Module, Operand,
        Origin, Reg, RegId, Span, Stmt, StmtKind, Var, VarId,
    },
    op::Op,
    qual::{Qual, Quals},
    target::{PtxVersion, Target},
    types::{Space, Type},
};

/// Bytes of shared memory that may be declared statically (CUDA C++ programming guide, "Shared memory").
pub const STATIC_SHARED: u32 = 48 << 10;

/// A value's representation: a register or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rep {
    Reg(RegId),
    Imm(Imm),
}

impl Rep {
    pub(crate) fn operand(self) -> Operand {
        match self {
            Rep::Reg(reg) => Operand::Reg(reg),
            Rep::Imm(imm) => Operand::Imm(imm),
        }
    }
}

/// The state of one kernel under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) function: Function,
    pub(crate) target: Target,
    pub(crate) threads: u32,
    /// Bytes of shared memory that are taken.
    pub(crate) shared_bytes: u32,
    /// The most that were ever taken.
    shared_most: u32,
    pub(crate) loop_depth: u32,
    pub(crate) read_only_cache: bool,
    /// Values computed once at the entry and shared by all who ask (thread index, lane index).
    pub(crate) entry: FxHashMap<EntryValue, RegId>,
    /// Where entry values are inserted.
    entry_end: usize,
    counts: [u32; 6],
}

/// Values that a builder computes at most once, at the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EntryValue {
    Thread,
    LaneId,
    WarpId,
    CtaId,
    CtaCount,
    SharedBase,
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
    struct Restore(Option<Builder>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.with(|current| *current.borrow_mut() = self.0.take());
        }
    }
    let _restore = Restore(CURRENT.with(|current| current.borrow_mut().replace(builder)));
    f();
    CURRENT
        .with(|current| current.borrow_mut().take())
        .expect("installed above")
}

/// The place of a register's class in [`CLASSES`].
pub(crate) fn class(ty: Type) -> usize {
    match ty {
        Type::Pred => 0,
        Type::F32 => 3,
        Type::F64 => 5,
        _ => match ty.bits() {
            64 => 4,
            32 => 2,
            _ => 1,
        },
    }
}

pub(crate) const CLASSES: [(Type, &str); 6] = [
    (Type::Pred, "%p"),
    (Type::B16, "%h"),
    (Type::B32, "%r"),
    (Type::F32, "%f"),
    (Type::B64, "%rd"),
    (Type::F64, "%fd"),
];

/// The place of a class in the order of the prefixes' text.
pub(crate) fn class_order(class: usize) -> u8 {
    [3, 2, 4, 0, 5, 1][class]
}

/// The name of the one shared-memory arena of a kernel.
const SHARED_ARENA: &str = "smem";

impl Builder {
    pub(crate) fn new(
        name: String,
        target: Target,
        threads: u32,
        read_only_cache: bool,
    ) -> Builder {
        let function = Function {
            name: name.into(),
            kind: FunctionKind::Entry,
            linkage: Linkage::Visible,
            origin: Origin::Language,
            returns: Vec::new(),
            params: Vec::new(),
            directives: vec![Directive::ReqNtid([threads, 1, 1])],
            regs: Vec::with_capacity(256),
            vars: Vec::new(),
            labels: Vec::new(),
            body: Some(Vec::with_capacity(512)),
            span: Span::None,
        };
        Builder {
            function,
            target,
            threads,
            shared_bytes: 0,
            shared_most: 0,
            loop_depth: 0,
            read_only_cache,
            entry: FxHashMap::default(),
            entry_end: 0,
            counts: [0; 6],
        }
    }

    pub(crate) fn body(&mut self) -> &mut Vec<Stmt> {
        self.function.body.as_mut().expect("a kernel has a body")
    }

    pub(crate) fn reg(&mut self, ty: Type) -> RegId {
        let class = class(ty);
        let (ty, prefix) = CLASSES[class];
        let number = self.counts[class];
        self.counts[class] += 1;
        self.function.regs.push(Reg {
            ty,
            prefix: prefix.into(),
            number: Some(number),
        });
        RegId(self.function.regs.len() as u32 - 1)
    }

    #[inline]
    pub(crate) fn push(&mut self, at: &'static Location<'static>, inst: Inst) {
        self.body().push(Stmt {
            kind: StmtKind::Inst(inst),
            span: Span::Rust(at),
        });
    }

    /// An instruction with one result of type `ty`.
    pub(crate) fn def(
        &mut self,
        at: &'static Location<'static>,
        op: Op,
        quals: &[Qual],
        ty: Type,
        sources: impl IntoIterator<Item = Operand>,
    ) -> RegId {
        let dst = self.reg(ty);
        let mut operands = SmallVec::new();
        operands.push(Operand::Reg(dst));
        for source in sources {
            operands.push(source);
        }
        self.push(
            at,
            Inst {
                op,
                quals: Quals::new(quals),
                operands,
                guard: None,
            },
        );
        dst
    }

    pub(crate) fn mov(&mut self, at: &'static Location<'static>, ty: Type, dst: RegId, src: Rep) {
        self.push(
            at,
            Inst::new(
                Op::Mov,
                &[Qual::T(mov_type(ty))],
                [Operand::Reg(dst), src.operand()],
            ),
        );
    }

    /// A register holding `rep`.
    pub(crate) fn to_reg(&mut self, at: &'static Location<'static>, ty: Type, rep: Rep) -> RegId {
        match rep {
            Rep::Reg(reg) => reg,
            Rep::Imm(_) => {
                let dst = self.reg(ty);
                self.mov(at, ty, dst, rep);
                dst
            }
        }
    }

    pub(crate) fn label(&mut self) -> LabelId {
        let id = LabelId(self.function.labels.len() as u32);
        self.function.labels.push(format!("$L{}", id.0).into());
        id
    }

    pub(crate) fn place(&mut self, at: &'static Location<'static>, label: LabelId) {
        self.body().push(Stmt {
            kind: StmtKind::Label(label),
            span: Span::Rust(at),
        });
    }

    pub(crate) fn branch(
        &mut self,
        at: &'static Location<'static>,
        guard: Option<(RegId, Negated)>,
        label: LabelId,
    ) {
        let mut inst = Inst::new(Op::Bra, &[], [Operand::Label(label)]);
        inst.guard = guard.map(|(reg, negated)| Guard {
            reg,
            negated: negated == Negated::Yes,
        });
        self.push(at, inst);
    }

    /// The value computed once at the entry by `make`.
    pub(crate) fn at_entry(
        &mut self,
        key: EntryValue,
        ty: Type,
        inst: impl FnOnce(&mut Builder, RegId) -> Vec<Inst>,
    ) -> RegId {
        if let Some(reg) = self.entry.get(&key) {
            return *reg;
        }
        let dst = self.reg(ty);
        let stmts: Vec<Stmt> = inst(self, dst)
            .into_iter()
            .map(|inst| Stmt {
                kind: StmtKind::Inst(inst),
                span: Span::None,
            })
            .collect();
        let at = self.entry_end;
        self.entry_end += stmts.len();
        self.body().splice(at..at, stmts);
        self.entry.insert(key, dst);
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
        self.at_entry(EntryValue::SharedBase, Type::B32, |_, dst| {
            vec![Inst::new(
                Op::Mov,
                &[Qual::T(Type::U32)],
                [Operand::Reg(dst), Operand::Var(VarId::Function(0), 0)],
            )]
        })
    }

    /// Ends the kernel: shared memory declared, dead code and copies removed, registers in canonical order.
    pub(crate) fn finish(mut self) -> (Module, u32) {
        self.push(Location::caller(), Inst::new(Op::Ret, &[], []));
        crate::optimise::run(&mut self.function);
        let mut module_vars = Vec::new();
        let mut dynamic = 0;
        if self.entry.contains_key(&EntryValue::SharedBase) {
            let mut arena = Var::new(SHARED_ARENA, Space::Shared, Type::B8);
            arena.align = Some(16);
            if self.shared_most <= STATIC_SHARED {
                arena.dims.push(Some(u64::from(self.shared_most)));
                self.function.vars.push(arena);
            } else {
                dynamic = self.shared_most;
                arena.dims.push(None);
                arena.linkage = Linkage::Extern;
                module_vars.push(arena);
                for stmt in self.body() {
                    let StmtKind::Inst(inst) = &mut stmt.kind else {
                        continue;
                    };
                    for operand in &mut inst.operands {
                        if let Operand::Var(id @ VarId::Function(0), _) = operand {
                            *id = VarId::Module(0);
                        }
                    }
                }
            }
        }
        let module = Module {
            version: PtxVersion::new(6, 0),
            target: self.target,
            target_options: Vec::new(),
            address_size: 64,
            vars: module_vars,
            functions: vec![self.function],
            files: Vec::new(),
            sections: Vec::new(),
        };
        (module, dynamic)
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
