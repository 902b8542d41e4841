//! The intermediate representation: modules, functions, registers, variables, instructions.

use crate::{
    op::Op,
    qual::{Qual, Quals},
    special::Special,
    target::{PtxVersion, Target},
    types::{Space, Type},
};
use smallvec::SmallVec;
use std::{borrow::Cow, fmt, panic::Location};

/// Text that is usually a literal of ours and sometimes comes from a file.
pub type Name = Cow<'static, str>;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into its arena.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

ids! {
    /// A register of a function: `Function::regs`.
    RegId "reg";
    /// A label of a function: `Function::labels`.
    LabelId "label";
    /// A function of a module: `Module::functions`.
    FuncId "func";
}

/// A variable, by where it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarId {
    /// `Module::vars`.
    Module(u32),
    /// `Function::vars`.
    Function(u32),
    /// `Function::params`.
    Param(u32),
    /// `Function::returns`.
    Return(u32),
}

/// Where a statement came from. Takes no part in equality.
#[derive(Clone, Copy, Default)]
pub enum Span {
    /// Nothing is known.
    #[default]
    None,
    /// A place in PTX text, counted from 1.
    Ptx {
        /// Line.
        line: u32,
        /// Column in bytes.
        column: u32,
    },
    /// The Rust line that built it.
    Rust(&'static Location<'static>),
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::None => f.write_str("unknown place"),
            Span::Ptx { line, column } => write!(f, "line {line}:{column}"),
            Span::Rust(at) => write!(f, "{at}"),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A translation unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// `.version`.
    pub version: PtxVersion,
    /// `.target`.
    pub target: Target,
    /// Further words of `.target`, such as `debug` or `texmode_independent`.
    pub target_options: Vec<Name>,
    /// Module variables in order.
    pub vars: Vec<Var>,
    /// Kernels and functions in order.
    pub functions: Vec<Function>,
    /// `.file` directives: index and name.
    pub files: Vec<(u32, Name)>,
    /// Debug sections and hints outside of functions, each as its text.
    pub sections: Vec<Name>,
    /// Where the number of `.version` stands.
    pub version_span: Span,
    /// Where `.target` stands.
    pub span: Span,
}

/// Visibility of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Seen in this module.
    Local,
    /// `.visible`.
    Visible,
    /// `.extern`.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

/// Whether a function is launched or called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`.
    Entry,
    /// `.func`.
    Func,
}

/// Who made a function, which decides what the verifier may demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Any PTX.
    #[default]
    Text,
    /// Our kernel language: definitions dominate uses.
    Language,
}

/// A performance or resource directive of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `.maxntid x, y, z`.
    MaxNtid([u32; 3]),
    /// `.reqntid x, y, z`.
    ReqNtid([u32; 3]),
    /// `.minnctapersm n`.
    MinNctaPerSm(u32),
    /// `.maxnreg n`.
    MaxNreg(u32),
    /// `.noreturn`.
    NoReturn,
    /// `.pragma "text"`.
    Pragma(Name),
    /// Any other directive with its integer arguments (`.reqnctapercluster 2`).
    Other(Name, Vec<u32>),
}

/// A kernel or a device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Symbol.
    pub name: Name,
    /// Entry or function.
    pub kind: FunctionKind,
    /// Visibility.
    pub linkage: Linkage,
    /// Who made it. Takes no part in equality.
    pub origin: Origin,
    /// Return parameters of a `.func`.
    pub returns: Vec<Var>,
    /// Parameters.
    pub params: Vec<Var>,
    /// Directives between the header and the body.
    pub directives: Vec<Directive>,
    /// Registers.
    pub regs: Vec<Reg>,
    /// Variables declared in the body (`.shared`, `.local`, `.param` of calls).
    pub vars: Vec<Var>,
    /// Label names, in the order the body places them: the parser numbers them so, and the verifier
    /// brings others into this order.
    pub labels: Vec<Name>,
    /// Statements; `None` for a declaration without a body.
    pub body: Option<Vec<Stmt>>,
    /// The place of the header.
    pub span: Span,
}

impl Function {
    /// A declaration without parameters.
    pub fn new(name: impl Into<Name>, kind: FunctionKind) -> Function {
        Function {
            name: name.into(),
            kind,
            linkage: Linkage::Local,
            origin: Origin::Text,
            returns: Vec::new(),
            params: Vec::new(),
            directives: Vec::new(),
            regs: Vec::new(),
            vars: Vec::new(),
            labels: Vec::new(),
            body: None,
            span: Span::None,
        }
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        let Function {
            name,
            kind,
            linkage,
            origin: _,
            returns,
            params,
            directives,
            regs,
            vars,
            labels,
            body,
            span: _,
        } = self;
        *name == other.name
            && *kind == other.kind
            && *linkage == other.linkage
            && *returns == other.returns
            && *params == other.params
            && *directives == other.directives
            && *regs == other.regs
            && *vars == other.vars
            && *labels == other.labels
            && *body == other.body
    }
}

impl Eq for Function {}

/// A register: its type and its name, either `%r7` (prefix and number) or any identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reg {
    /// Declared type.
    pub ty: Type,
    /// Prefix or whole name, with `%` where it has one.
    pub prefix: Name,
    /// The number of a parameterised declaration (`%r<8>` declares 0 to 7).
    pub number: Option<u32>,
}

/// A variable or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Symbol.
    pub name: Name,
    /// State space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// `.v2` or `.v4` element count; 1 for scalars.
    pub vector: u8,
    /// Explicit `.align`.
    pub align: Option<u32>,
    /// Array dimensions; empty for a scalar; `None` is `[]` (size given elsewhere).
    pub dims: SmallVec<[Option<u64>; 1]>,
    /// `.ptr` attribute of a kernel parameter: the space and alignment it promises.
    pub ptr: Option<(Space, Option<u32>)>,
    /// Initialiser.
    pub init: Option<Init>,
    /// Visibility.
    pub linkage: Linkage,
    /// `.attribute(.managed)`: the host has it, too.
    pub managed: bool,
    /// Where it is declared.
    pub span: Span,
}

impl Var {
    /// A plain scalar or array without attributes.
    pub fn new(name: impl Into<Name>, space: Space, ty: Type) -> Var {
        Var {
            name: name.into(),
            space,
            ty,
            vector: 1,
            align: None,
            dims: SmallVec::new(),
            ptr: None,
            init: None,
            linkage: Linkage::Local,
            managed: false,
            span: Span::None,
        }
    }

    /// Size in bytes; 0 where a dimension is open; `None` if it overflows.
    pub fn bytes(&self) -> Option<u64> {
        let element = u64::from(self.ty.bytes()) * u64::from(self.vector);
        self.dims
            .iter()
            .try_fold(element, |size, dim| size.checked_mul(dim.unwrap_or(0)))
    }

    /// Whether another declares the same thing: an array without a size is like one that has it.
    pub fn is_like(&self, other: &Var) -> bool {
        let open = |dims: &[Option<u64>]| dims.first() == Some(&None);
        let rest = |dims: &[Option<u64>]| dims.get(1..).unwrap_or(&[]).to_vec();
        let (a, b) = (&self.dims[..], &other.dims[..]);
        self.space == other.space
            && self.ty == other.ty
            && self.vector == other.vector
            && self.alignment() == other.alignment()
            && a.len() == b.len()
            && (a == b || (open(a) || open(b)) && rest(a) == rest(b))
    }

    /// Alignment in bytes: the explicit one or the element's size.
    pub fn alignment(&self) -> u32 {
        self.align
            .unwrap_or(self.ty.bytes() * u32::from(self.vector))
            .max(1)
    }
}

/// A variable's initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Init {
    /// A number.
    Imm(Imm),
    /// The address of a symbol plus an offset; `generic` when written `generic(sym)`.
    Address {
        /// Symbol.
        symbol: InitSymbol,
        /// Bytes added.
        offset: i64,
        /// Whether the address is converted to generic.
        generic: bool,
    },
    /// `{ a, b, ... }`; what is missing at the end is zero.
    List(Vec<Init>),
}

/// What an initialiser may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitSymbol {
    /// A module variable.
    Var(u32),
    /// A function.
    Func(FuncId),
}

/// A statement with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it came from.
    pub span: Span,
}

impl Stmt {
    /// The instruction, if it is one.
    pub fn inst(&self) -> Option<&Inst> {
        match &self.kind {
            StmtKind::Inst(inst) => Some(inst),
            StmtKind::Label(_)
            | StmtKind::Loc { .. }
            | StmtKind::BranchTargets { .. }
            | StmtKind::CallPrototype { .. }
            | StmtKind::CallTargets { .. }
            | StmtKind::Pragma(_) => None,
        }
    }
}

/// The kinds of statement in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// An instruction.
    Inst(Inst),
    /// A label: where branches go.
    Label(LabelId),
    /// `.loc file line column`, for the instructions behind it.
    Loc {
        /// Index of a `.file`.
        file: u32,
        /// Line.
        line: u32,
        /// Column.
        column: u32,
        /// What it was inlined into.
        inlined: Option<Box<Inlined>>,
    },
    /// `name: .branchtargets a, b, c;`.
    BranchTargets {
        /// The list's own label.
        name: LabelId,
        /// Its targets.
        targets: Vec<LabelId>,
    },
    /// `name: .callprototype (ret) _ (params);`.
    CallPrototype {
        /// The prototype's label.
        name: LabelId,
        /// Return parameters.
        returns: Vec<Var>,
        /// Parameters.
        params: Vec<Var>,
    },
    /// `name: .calltargets f, g;`.
    CallTargets {
        /// The list's own label.
        name: LabelId,
        /// Its targets.
        targets: Vec<FuncId>,
    },
    /// `.pragma "text";`.
    Pragma(Name),
}

/// `function_name label + offset, inlined_at file line column` of a `.loc`.
///
/// The place is that of a `.loc` before it, which may have been inlined itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// A label of a debug section, or `.debug_str`: where the name of the inlined function is.
    pub function: Name,
    /// Bytes behind the label.
    pub offset: u64,
    /// Index of a `.file`: where it was called.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A predicate in front of an instruction: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// A predicate register.
    pub reg: RegId,
    /// Whether `!` stands before it.
    pub negated: bool,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Opcode.
    pub op: Op,
    /// Qualifiers in order.
    pub quals: Quals,
    /// Operands in order, destinations first as PTX writes them.
    pub operands: SmallVec<[Operand; 4]>,
    /// Guard predicate.
    pub guard: Option<Guard>,
}

impl Inst {
    /// An unguarded instruction.
    pub fn new(op: Op, quals: &[Qual], operands: impl IntoIterator<Item = Operand>) -> Inst {
        Inst {
            op,
            quals: Quals::new(quals),
            operands: operands.into_iter().collect(),
            guard: None,
        }
    }
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Reg(RegId),
    /// A negated predicate, `!p`.
    NotReg(RegId),
    /// A constant.
    Imm(Imm),
    /// A special register.
    Special(Special),
    /// The address of a variable plus bytes, as a value: `mov.u64 %rd, name+16`.
    Var(VarId, i64),
    /// `[base+offset]`.
    Addr(Address),
    /// `{a, b, ...}`.
    Vec(Box<[Operand]>),
    /// `a|b`: two destinations.
    Pair(Box<(Operand, Operand)>),
    /// `(a, b)`, the arguments or results of a call; of other instructions `[a, b]`, such as a texture and
    /// its coordinates.
    List(Box<[Operand]>),
    /// A branch target, a branch-target list or a call prototype.
    Label(LabelId),
    /// A function.
    Func(FuncId),
    /// `_`: a result that is not wanted.
    Sink,
}

/// `[base+offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What is added to.
    pub base: Base,
    /// Bytes.
    pub offset: i64,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register.
    Reg(RegId),
    /// A variable.
    Var(VarId),
    /// Nothing: the offset is the address.
    Absolute,
}

/// A constant. Integers are `Int` where they fit and `Uint` above `i64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Imm {
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// The bits of an `f32`, written `0fXXXXXXXX`.
    F32(u32),
    /// The bits of an `f64`, written `0dXXXXXXXXXXXXXXXX`.
    F64(u64),
}

impl Imm {
    /// An unsigned integer in its canonical form.
    pub const fn uint(value: u64) -> Imm {
        if value <= i64::MAX as u64 {
            Imm::Int(value as i64)
        } else {
            Imm::Uint(value)
        }
    }
}
