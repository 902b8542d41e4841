//! Operand signatures.
//!
//! | text | an operand that is |
//! |---|---|
//! | `T`, `u32` | a value of that type; `=` before it: written; `_` behind it: may be the sink |
//! | `2T` | a value of twice the width |
//! | `T~` | a value whose register may be wider |
//! | `<T>` | as `T~`, or a vector of them with `.v2`, `.v4`, `.v8` |
//! | `<T>/pred` | the same alone, or `vector|predicate` |
//! | `{4 f32}`, `{* f32}` | a vector of that many, or any number |
//! | `@T` | a side of `mov`: a value, an address, or a vector packed into the width |
//! | `&T` | a value or the address of a variable |
//! | `T/pred`, `T+pred` | a value, or `value|predicate`; only the latter |
//! | `_` | the sink and nothing else |
//! | `!pred` | a predicate, possibly negated |
//! | `[]`, `[shared]` | an address in the instruction's space, or in that one |
//! | `[tmem]` | an address in tensor memory: 32 bits |
//! | `addr`, `#`, `label`, `call` | an address in a register, an integer constant, a label, a callee with its lists |
//! | `size`, `hint` | `cp.async`'s source size or ignore predicate; the cache policy that `.L2::cache_hint` asks for |
//! | `texture`, `tensor`, `wgmma` | `[texture, coordinates]`, `[map, coordinates]`, a descriptor or fragment |
//! | `tmma`, `enable` | a descriptor or `[tmem]`; of `tcgen05.mma` lanes that are left out, whether D is added to, and its scale |
//!
//! A `?` behind any of them: may be absent.

use crate::types::{Space, Type};

/// Whether an operand is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Written.
    Write,
}

/// Whether an operand must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always.
    Required,
    /// At will.
    Optional,
    /// Exactly with the qualifier `.L2::cache_hint`.
    WithHint,
}

/// A type in a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// Always this one.
    Fixed(Type),
    /// The one bound to `T` (0), `U` (1) or `V` (2).
    Var(u8),
    /// Twice as wide as the one bound.
    Wide(u8),
}

/// What an operand looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A register, constant or special register of the type.
    Value(Ty),
    /// As `Value`; the register may be wider.
    Relaxed(Ty),
    /// As `Relaxed`, or a vector with `.v2`, `.v4`, `.v8`.
    Vector(Ty),
    /// A vector of so many registers; any number if `None`.
    Fragment(Option<u8>, Ty),
    /// A side of `mov`.
    Move(Ty),
    /// A value or the address of a variable.
    AddressValue(Ty),
    /// A value alone, or with a predicate: `d|p`.
    Pair(Ty),
    /// As `Vector`, alone or with a predicate.
    VectorPair(Ty),
    /// A value and a predicate: `d|p`.
    Both(Ty),
    /// `_` and nothing else.
    Sink,
    /// A predicate, possibly negated.
    Predicate,
    /// `[address]` in the space given, or in the instruction's.
    Address(Option<Space>),
    /// `[address]` in tensor memory, lane and column of 16 bits each.
    TensorMemory,
    /// An address in a register, 32 or 64 bits.
    Pointer,
    /// An integer constant.
    Immediate,
    /// A label of code, of branch targets or of a prototype.
    Label,
    /// Callee, results, arguments and prototype of a `call`.
    Call,
    /// `cp.async`: source size or ignore-source predicate.
    Size,
    /// `[texture, coordinates]` or `[texture, sampler, coordinates]`.
    Texture,
    /// `[tensor map, coordinates]`.
    Tensor,
    /// `wgmma`'s first matrix: a descriptor or four registers.
    Wgmma,
    /// `tcgen05.mma`'s first matrix: a descriptor or an address in tensor memory.
    TensorMatrix,
    /// `tcgen05.mma`: four words of lanes that are left out, if any, a predicate, and D's scale, if any.
    Enable,
}

/// The signature of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Read or written.
    pub access: Access,
    /// Whether it must be there.
    pub presence: Presence,
    /// Whether `_` may stand for it.
    pub sink: bool,
    /// What it looks like.
    pub shape: Shape,
}

impl Slot {
    /// From the table's text.
    pub(super) fn parse(text: &str) -> Option<Slot> {
        let (text, access) = match text.strip_prefix('=') {
            Some(rest) => (rest, Access::Write),
            None => (text, Access::Read),
        };
        let (text, presence) = match text.strip_suffix('?') {
            Some(rest) => (rest, Presence::Optional),
            None => (text, Presence::Required),
        };
        let (text, pair) = match text.strip_suffix("/pred") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (text, both) = match text.strip_suffix("+pred") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        if text == "_" {
            return Some(Slot {
                access: Access::Write,
                presence,
                sink: true,
                shape: Shape::Sink,
            });
        }
        let (text, sink) = match text.strip_suffix('_') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let mut slot = Slot {
            access,
            presence,
            sink,
            shape: match (pair, both) {
                (true, _) => match text.strip_prefix('<') {
                    Some(rest) => Shape::VectorPair(ty(rest.strip_suffix('>')?)?),
                    None => Shape::Pair(ty(text)?),
                },
                (_, true) => Shape::Both(ty(text)?),
                _ => shape(text)?,
            },
        };
        if text == "hint" {
            slot.presence = Presence::WithHint;
        }
        Some(slot)
    }
}

fn ty(text: &str) -> Option<Ty> {
    Some(match text {
        "T" => Ty::Var(0),
        "U" => Ty::Var(1),
        "V" => Ty::Var(2),
        "2T" => Ty::Wide(0),
        name => Ty::Fixed(Type::from_name(name)?),
    })
}

fn shape(text: &str) -> Option<Shape> {
    let inside = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(inner) = inside('<', '>') {
        return Some(Shape::Vector(ty(inner)?));
    }
    if let Some(inner) = inside('{', '}') {
        let (count, element) = inner.split_once(' ')?;
        let count = match count {
            "*" => None,
            digits => Some(digits.parse().ok()?),
        };
        return Some(Shape::Fragment(count, ty(element)?));
    }
    if let Some(rest) = text.strip_suffix('~') {
        return Some(Shape::Relaxed(ty(rest)?));
    }
    if let Some(rest) = text.strip_prefix('@') {
        return Some(Shape::Move(ty(rest)?));
    }
    if let Some(rest) = text.strip_prefix('&') {
        return Some(Shape::AddressValue(ty(rest)?));
    }
    Some(match text {
        "!pred" => Shape::Predicate,
        "[]" => Shape::Address(None),
        "[global]" => Shape::Address(Some(Space::Global)),
        "[shared]" => Shape::Address(Some(Space::Shared)),
        "[tmem]" => Shape::TensorMemory,
        "addr" => Shape::Pointer,
        "#" => Shape::Immediate,
        "label" => Shape::Label,
        "call" => Shape::Call,
        "size" => Shape::Size,
        "hint" => Shape::Value(Ty::Fixed(Type::B64)),
        "texture" => Shape::Texture,
        "tensor" => Shape::Tensor,
        "wgmma" => Shape::Wgmma,
        "tmma" => Shape::TensorMatrix,
        "enable" => Shape::Enable,
        other => Shape::Value(ty(other)?),
    })
}
