//! Diagnostics: what is wrong, in which function, where, and what would help.

use crate::{
    ir::{Name, Span},
    target::{PtxVersion, Target},
    types::{Space, Type},
};
use std::fmt;

/// Everything that the parser and the verifier refuse. The fields say what was expected and found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Code {
    // The parser's.
    #[error("expected {expected}, found `{found}`")]
    Syntax {
        expected: &'static str,
        found: String,
    },
    #[error("unknown opcode `{name}`")]
    UnknownOpcode { name: String },
    #[error("unknown qualifier `.{name}` of `{op}`")]
    UnknownQualifier { op: &'static str, name: String },
    #[error("unknown directive `{name}`")]
    UnknownDirective { name: String },
    #[error("unknown symbol `{name}`")]
    UnknownSymbol { name: String },
    #[error("`{name}` is declared twice")]
    DuplicateSymbol { name: String },
    #[error("number `{text}` does not fit 64 bits")]
    NumberOverflow { text: String },
    #[error("`{text}` is not a number")]
    BadNumber { text: String },
    #[error("division by zero in a constant expression")]
    DivisionByZero,
    #[error("comment is not closed")]
    UnterminatedComment,
    #[error("string is not closed")]
    UnterminatedString,
    #[error("`{{` is not closed")]
    UnterminatedBody,
    #[error("nested deeper than {limit}")]
    TooDeep { limit: u32 },
    #[error("more than {limit} {what}")]
    TooMany { what: &'static str, limit: u64 },
    #[error("unknown target `{name}`, expected one of {}", Target::names(0))]
    UnknownTarget { name: String },
    #[error("unknown option `{name}` of `.target`")]
    UnknownTargetOption { name: String },
    #[error("there is no PTX version {version}")]
    UnknownVersion { version: PtxVersion },
    #[error("`{name}` is missing")]
    MissingDirective { name: &'static str },
    #[error("`{name}` {rule}")]
    Head {
        name: &'static str,
        rule: &'static str,
    },
    #[error("`{found}` is not ASCII, names and strings must be")]
    NotAscii { found: char },
    #[error("file {index} is declared twice")]
    DuplicateFile { index: u32 },
    #[error("no `.loc {file} {line} {column}` stands before this, which was inlined there")]
    NoSuchLoc { file: u32, line: u32, column: u32 },
    #[error(
        "32-bit addresses, which NVIDIA's assembler takes no more: expected `.address_size 64`"
    )]
    ShortAddresses,
    #[error("unsupported: {what}")]
    Unsupported { what: String },

    // The verifier's.
    #[error("no instruction form `{form}`")]
    UnknownForm { form: String },
    #[error("`{form}` needs {}, the target is {target}", needs.or_later())]
    TooNewForTarget {
        form: String,
        needs: Target,
        target: Target,
    },
    #[error("`{form}` needs PTX {needs}, the module says {version}")]
    TooNewForVersion {
        form: String,
        needs: PtxVersion,
        version: PtxVersion,
    },
    #[error("target {target} needs PTX {needs}, the module says {version}")]
    TargetNeedsVersion {
        target: Target,
        needs: PtxVersion,
        version: PtxVersion,
    },
    #[error("`{form}` takes {least} to {most} operands, found {found}")]
    OperandCount {
        form: String,
        least: usize,
        most: usize,
        found: usize,
    },
    #[error("operand {index} of `{form}` must be {expected}, found {found}")]
    OperandKind {
        form: String,
        index: usize,
        expected: &'static str,
        found: &'static str,
    },
    #[error("operand {index} of `{form}` must fit {expected}, found {found}")]
    OperandType {
        form: String,
        index: usize,
        expected: Type,
        found: Type,
    },
    #[error("operand {index} of `{form}` must have {expected} elements, found {found}")]
    VectorLength {
        form: String,
        index: usize,
        expected: usize,
        found: usize,
    },
    #[error("operand {index} of `{form}` must be in .{expected}, `{name}` is in .{found}")]
    WrongSpace {
        form: String,
        index: usize,
        expected: &'static str,
        name: String,
        found: &'static str,
    },
    #[error("`{form}` takes a 32-bit address, addresses have 64 bits")]
    AddressSize { form: String },
    #[error("`{name}` has {found} bytes, the parameter that it is given for has {expected}")]
    ArgumentSize {
        name: String,
        found: u64,
        expected: u64,
    },
    #[error("`{form}` cannot write .{space} memory")]
    ReadOnlySpace { form: String, space: &'static str },
    #[error("constant {value} of `{form}` must be between {least} and {most}")]
    ConstantRange {
        form: String,
        value: i64,
        least: i64,
        most: i64,
    },
    #[error("constant {value} of `{form}` must be a multiple of {of}")]
    ConstantMultiple { form: String, value: i64, of: i64 },
    #[error("constant {value} of `{form}` must be a power of two")]
    ConstantPower { form: String, value: i64 },
    #[error("guard `{name}` is {found}, not a predicate")]
    GuardType { name: String, found: Type },
    #[error("label `{name}` is not placed")]
    UndefinedLabel { name: String },
    #[error("label `{name}` is placed twice")]
    DuplicateLabel { name: String },
    #[error("{what} {index} does not exist, the function has {count}")]
    DanglingId {
        what: &'static str,
        index: u32,
        count: usize,
    },
    #[error("{bytes} bytes of static shared memory, the limit is {limit}")]
    StaticShared { bytes: u64, limit: u64 },
    #[error("{bytes} bytes of parameters, the limit is {limit}")]
    ParamLimit { bytes: u64, limit: u64 },
    #[error("{bytes} bytes of constant memory, the limit is {limit}")]
    ConstLimit { bytes: u64, limit: u64 },
    #[error("`{name} {value}`, expected at least 1")]
    ZeroBound { name: &'static str, value: String },
    #[error("`{one}` and `{two}` exclude each other")]
    Conflict {
        one: &'static str,
        two: &'static str,
    },
    #[error("`{name}` needs `{needs}` beside it")]
    NeedsDirective {
        name: &'static str,
        needs: &'static str,
    },
    #[error("`{name}` is no directive of {kind}")]
    DirectivePlace { name: String, kind: &'static str },
    #[error("size of `{name}` overflows")]
    SizeOverflow { name: String },
    #[error("`{name}` cannot be declared in .{space}")]
    BadVariable { name: String, space: &'static str },
    #[error("alignment {align} of `{name}` is not a power of two")]
    BadAlignment { name: String, align: u32 },
    #[error("`{name}` has no size")]
    NoSize { name: String },
    #[error("initialiser of `{name}` has more values than the variable")]
    InitTooLong { name: String },
    #[error("initialiser of `{name}` must be {expected}, found {found}")]
    InitKind {
        name: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("`{name}` is in .{space}, which has no initial values")]
    InitSpace { name: String, space: &'static str },
    #[error("`{name}` is declared as something else before")]
    Redeclared { name: String },
    #[error("`{form}` runs in code that some threads of each warp never reach")]
    DivergentBarrier { form: String },
    #[error("register `{name}` is used where it may not be defined")]
    NotDominated { name: String },
}

impl Code {
    /// The space's name for messages: `generic` where PTX writes nothing.
    pub(crate) fn space(space: Space) -> &'static str {
        match space {
            Space::Generic => "generic",
            other => other.name(),
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What it is, with its values.
    pub code: Code,
    /// The function it is in.
    pub function: Option<Name>,
    /// Where.
    pub span: Span,
    /// A second place that takes part, such as the branch that diverges.
    pub other: Option<Span>,
    /// What would help.
    pub help: Option<Name>,
}

impl Diagnostic {
    /// A finding at a place.
    pub fn new(code: Code, span: Span) -> Diagnostic {
        Diagnostic {
            code,
            function: None,
            span,
            other: None,
            help: None,
        }
    }

    /// With the function it is in.
    #[must_use]
    pub fn in_function(mut self, name: &Name) -> Diagnostic {
        self.function = Some(name.clone());
        self
    }

    /// With a second place.
    #[must_use]
    pub fn with_other(mut self, span: Span) -> Diagnostic {
        self.other = Some(span);
        self
    }

    /// With advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Name>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.span, self.code)?;
        if let Some(function) = &self.function {
            write!(f, ", in `{function}`")?;
        }
        if let Some(other) = self.other {
            write!(f, ", see {other}")?;
        }
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
