//! Which instructions are compiled, by what they do.

use super::{
    accesses::{Access, access, items, lands},
    more::{self, More},
    predicates::{of_floats, of_integers},
    products::{Product, product},
    rows::{CopyExtent, Matrices, copies, matrices, prefetches},
};
use crate::{
    exec::{Mode, mode_of},
    lower::{Lowerer, immediate, roles},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};
use warpsmith_x86::Cond;

/// Arithmetic of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int2 {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Min,
    Max,
}

/// Arithmetic of two f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float2 {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

/// Functions of one f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float1 {
    Sqrt,
    Rcp,
    Rsqrt,
    Neg,
    Abs,
    Exp2,
}

/// Conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convert {
    /// 32 to 64 bits.
    Widen {
        signed: bool,
    },
    /// 64 to 32 bits.
    Narrow,
    /// The low 8 or 16 bits, extended.
    Extend {
        bits: u32,
        signed: bool,
    },
    /// To f32.
    Float {
        signed: bool,
    },
    /// From f32: rounded, or toward zero.
    Int {
        signed: bool,
        zero: bool,
    },
    WidenHalf,
    NarrowHalf,
    WidenBrain,
}

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// For vectors, and for scalars.
    Int {
        imm: u8,
        cond: Cond,
        wide: bool,
        signed: bool,
    },
    Float(u8),
}

/// What a vote finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    Ballot,
    All,
    Any,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Move {
        wide: bool,
    },
    Unpack {
        parts: u32,
    },
    Pack {
        parts: u32,
    },
    Int2 {
        op: Int2,
        wide: bool,
        signed: bool,
    },
    Mad {
        wide: bool,
    },
    MulWide {
        signed: bool,
        add: bool,
    },
    Shift {
        left: bool,
        wide: bool,
        signed: bool,
    },
    Not {
        wide: bool,
    },
    Lop3 {
        table: u8,
    },
    Float2(Float2),
    Fma,
    Float1(Float1),
    Dot {
        signed: bool,
    },
    Compare(Relation),
    Select {
        wide: bool,
    },
    Convert(Convert),
    PackHalf,
    Logic(Op),
    /// By lane numbers that are known: mode, b and c.
    Shuffle {
        mode: Mode,
        by: Option<u32>,
        ends: u32,
    },
    Vote(Vote),
    /// By a selector that is known.
    Permute(u32),
    Load(Access),
    Store(Access),
    Product(Product),
    Matrices(Matrices),
    Copy(CopyExtent),
    Prefetch,
    /// What has no effect here.
    Nothing,
    /// One of the other families.
    More(More),
}

impl Kind {
    /// Whether lanes take part in what other lanes get.
    pub(super) fn is_exchange(self) -> bool {
        match self {
            Kind::Shuffle { .. }
            | Kind::Vote(_)
            | Kind::Product(_)
            | Kind::Matrices(_)
            | Kind::Copy(_) => true,
            Kind::More(more) => more.is_exchange(),
            _ => false,
        }
    }
}

/// Whether an operand is one that is read as `bits` wide.
pub(super) fn reads(l: &Lowerer<'_>, operand: Option<&Operand>, bits: u32) -> bool {
    match operand {
        Some(Operand::Reg(reg)) => {
            let own = l.type_of(*reg).bits();
            l.type_of(*reg) != Type::Pred && own <= 64 && (own > 32) == (bits > 32)
        }
        Some(Operand::Imm(_)) => true,
        Some(Operand::Special(special)) => {
            bits <= 32 && special.ty().bits() == 32 && l.special_home(*special).is_some()
        }
        Some(Operand::Var(var, _)) => l.layout().address(*var).is_some(),
        _ => false,
    }
}

/// Whether an operand is a register of that width, or none.
pub(super) fn writes(l: &Lowerer<'_>, operand: Option<&Operand>, bits: u32) -> bool {
    match operand {
        Some(Operand::Reg(reg)) => {
            let own = l.type_of(*reg).bits();
            l.type_of(*reg) != Type::Pred
                && own <= 64
                && (own > 32) == (bits > 32)
                && l.preset_at(l.dst_of(*reg).slot).is_none()
        }
        _ => false,
    }
}

/// Whether an operand is a predicate.
pub(super) fn is_pred(l: &Lowerer<'_>, operand: Option<&Operand>) -> bool {
    match operand {
        Some(Operand::Reg(reg) | Operand::NotReg(reg)) => l.type_of(*reg) == Type::Pred,
        _ => false,
    }
}

/// What an instruction does, if that is compiled.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Kind> {
    let is_rare = match inst.op {
        // Products of sparse and of scaled matrices.
        Op::Mma => inst.operands.len() > 4,
        // Sums of mixed types.
        Op::Add | Op::Sub | Op::Fma => inst.quals.types().nth(1).is_some(),
        _ => false,
    };
    if is_rare {
        return None;
    }
    common(l, inst).or_else(|| more::kind(l, inst).map(Kind::More))
}

/// The instructions of most kernels.
fn common(l: &Lowerer<'_>, inst: &Inst) -> Option<Kind> {
    let q = &inst.quals;
    let has = |word| q.has(word);
    let o = |at: usize| inst.operands.get(at);
    match inst.op {
        Op::Mma if !has(Qual::Satfinite) => return product(l, inst).map(Kind::Product),
        Op::Ldmatrix => return matrices(l, inst).map(Kind::Matrices),
        Op::Prefetch if prefetches(l, inst) => return Some(Kind::Prefetch),
        Op::Prefetch | Op::Prefetchu => return Some(Kind::Nothing),
        Op::Cp => return copies(l, inst).map(|copy| copy.map_or(Kind::Nothing, Kind::Copy)),
        _ => {}
    }
    let ty = q.types().next()?;
    let bits = ty.bits();
    let wide = bits > 32;
    let word = bits == 32 || bits == 64;
    let all = |count: usize, bits: u32| {
        inst.operands.len() == count + 1
            && writes(l, o(0), bits)
            && (1..=count).all(|at| reads(l, o(at), bits))
    };
    let odd = [
        Qual::Sat,
        Qual::Ftz,
        Qual::Cc,
        Qual::Hi,
        Qual::Rz,
        Qual::Rm,
        Qual::Rp,
        Qual::NaN,
        Qual::Xorsign,
        Qual::Relu,
        Qual::Satfinite,
    ]
    .iter()
    .any(|word| has(*word));
    if odd {
        return None;
    }
    match inst.op {
        Op::Mov => moves(l, inst, ty),
        Op::Cvta if matches!(roles::space(inst), Space::Global | Space::Const) && all(1, 64) => {
            Some(Kind::Move { wide: true })
        }
        Op::Add | Op::Sub | Op::Min | Op::Max | Op::Mul if ty.is_int() => {
            if inst.op == Op::Mul && has(Qual::Wide) {
                let fits = bits == 32
                    && writes(l, o(0), 64)
                    && reads(l, o(1), 32)
                    && reads(l, o(2), 32)
                    && inst.operands.len() == 3;
                return fits.then_some(Kind::MulWide {
                    signed: ty.is_signed(),
                    add: false,
                });
            }
            let op = match inst.op {
                Op::Add => Int2::Add,
                Op::Sub => Int2::Sub,
                Op::Mul => Int2::Mul,
                Op::Min => Int2::Min,
                _ => Int2::Max,
            };
            (word && all(2, bits)).then_some(Kind::Int2 {
                op,
                wide,
                signed: ty.is_signed(),
            })
        }
        Op::Mad if ty.is_int() && has(Qual::Wide) => {
            let fits = bits == 32
                && writes(l, o(0), 64)
                && reads(l, o(1), 32)
                && reads(l, o(2), 32)
                && reads(l, o(3), 64);
            fits.then_some(Kind::MulWide {
                signed: ty.is_signed(),
                add: true,
            })
        }
        Op::Mad if ty.is_int() => (word && all(3, bits)).then_some(Kind::Mad { wide }),
        Op::And | Op::Or | Op::Xor if ty == Type::Pred => {
            let fits = is_pred(l, o(0)) && is_pred(l, o(1)) && is_pred(l, o(2));
            fits.then_some(Kind::Logic(inst.op))
        }
        Op::And | Op::Or | Op::Xor => {
            let op = match inst.op {
                Op::And => Int2::And,
                Op::Or => Int2::Or,
                _ => Int2::Xor,
            };
            (word && all(2, bits)).then_some(Kind::Int2 {
                op,
                wide,
                signed: false,
            })
        }
        Op::Not if word => all(1, bits).then_some(Kind::Not { wide }),
        Op::Shl | Op::Shr if word => {
            let fits = writes(l, o(0), bits) && reads(l, o(1), bits) && reads(l, o(2), 32);
            let left = inst.op == Op::Shl;
            fits.then_some(Kind::Shift {
                left,
                wide,
                signed: !left && ty.is_signed(),
            })
        }
        Op::Lop3 => {
            let fits = inst.operands.len() == 5
                && writes(l, o(0), 32)
                && (1..4).all(|at| reads(l, o(at), 32));
            match o(4) {
                Some(Operand::Imm(warpsmith_ptx::ir::Imm::Int(table))) if fits => {
                    Some(Kind::Lop3 {
                        table: *table as u8,
                    })
                }
                _ => None,
            }
        }
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max if ty == Type::F32 => {
            let op = match inst.op {
                Op::Add => Float2::Add,
                Op::Sub => Float2::Sub,
                Op::Mul => Float2::Mul,
                Op::Div => Float2::Div,
                Op::Min => Float2::Min,
                _ => Float2::Max,
            };
            all(2, 32).then_some(Kind::Float2(op))
        }
        Op::Fma | Op::Mad if ty == Type::F32 => all(3, 32).then_some(Kind::Fma),
        Op::Sqrt | Op::Rcp | Op::Rsqrt | Op::Neg | Op::Abs | Op::Ex2 if ty == Type::F32 => {
            let op = match inst.op {
                Op::Sqrt => Float1::Sqrt,
                Op::Rcp => Float1::Rcp,
                Op::Rsqrt => Float1::Rsqrt,
                Op::Neg => Float1::Neg,
                Op::Abs => Float1::Abs,
                _ => Float1::Exp2,
            };
            all(1, 32).then_some(Kind::Float1(op))
        }
        Op::Dp4a => {
            let mut types = q.types().map(Type::is_signed);
            let (a, b) = (types.next()?, types.next()?);
            (b && all(3, 32)).then_some(Kind::Dot { signed: a })
        }
        Op::Shfl => shuffles(l, inst),
        Op::Vote if has(Qual::Sync) && whole(o(2)) && is_pred(l, o(1)) => {
            if has(Qual::Ballot) {
                return writes(l, o(0), 32).then_some(Kind::Vote(Vote::Ballot));
            }
            let vote = if has(Qual::All) {
                Vote::All
            } else if has(Qual::Any) {
                Vote::Any
            } else {
                return None;
            };
            is_pred(l, o(0)).then_some(Kind::Vote(vote))
        }
        Op::Prmt => {
            let Some(Operand::Imm(selector)) = o(3) else {
                return None;
            };
            let selector = immediate(*selector, 32) as u32;
            let modes = [
                Qual::F4e,
                Qual::B4e,
                Qual::Rc8,
                Qual::Ecl,
                Qual::Ecr,
                Qual::Rc16,
            ];
            let plain = !modes.iter().any(|mode| has(*mode)) && selector & 0x8888 == 0;
            let fits = plain && writes(l, o(0), 32) && reads(l, o(1), 32) && reads(l, o(2), 32);
            fits.then_some(Kind::Permute(selector))
        }
        Op::Setp => compares(l, inst),
        Op::Selp if wide || bits == 32 => {
            let fits = inst.operands.len() == 4
                && writes(l, o(0), bits)
                && reads(l, o(1), bits)
                && reads(l, o(2), bits)
                && is_pred(l, o(3));
            fits.then_some(Kind::Select { wide })
        }
        Op::Cvt => converts(l, inst),
        Op::Ld => {
            let access = access(l, inst, o(1)?)?;
            let items = items(o(0)?);
            let fits = items.len() == access.count as usize
                && items.iter().all(|item| lands(l, item, access));
            fits.then_some(Kind::Load(access))
        }
        Op::St => {
            let access = access(l, inst, o(0)?)?;
            let items = items(o(1)?);
            let fits = items.len() == access.count as usize
                && items
                    .iter()
                    .all(|item| reads(l, Some(item), 8 * access.bytes));
            fits.then_some(Kind::Store(access))
        }
        _ => None,
    }
}

/// Whether a member mask names all lanes.
fn whole(operand: Option<&Operand>) -> bool {
    matches!(operand, Some(Operand::Imm(imm)) if immediate(*imm, 32) as u32 == u32::MAX)
}

fn shuffles(l: &Lowerer<'_>, inst: &Inst) -> Option<Kind> {
    let o = |at: usize| inst.operands.get(at);
    let (to, pred) = match o(0)? {
        Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
        to => (to, None),
    };
    let known = |operand: Option<&Operand>| match operand {
        Some(Operand::Imm(imm)) => Some(immediate(*imm, 32) as u32),
        _ => None,
    };
    let fits = inst.quals.has(Qual::Sync)
        && inst.operands.len() == 5
        && writes(l, Some(to), 32)
        && reads(l, o(1), 32)
        && whole(o(4))
        && pred.is_none_or(|pred| matches!(pred, Operand::Sink) || is_pred(l, Some(pred)));
    let (mode, by, ends) = (mode_of(inst), known(o(2)), known(o(3))?);
    // Lanes that are not known are those of `idx` in the whole warp.
    let free = mode == Mode::Idx && ends == 31 && reads(l, o(2), 32) && pred.is_none();
    (fits && (by.is_some() || free)).then_some(Kind::Shuffle { mode, by, ends })
}

fn moves(l: &Lowerer<'_>, inst: &Inst, ty: Type) -> Option<Kind> {
    let (to, from) = (inst.operands.first(), inst.operands.get(1));
    let bits = ty.bits();
    match (to, from) {
        _ if ty == Type::Pred || bits > 64 || inst.operands.len() != 2 => None,
        (Some(Operand::Vec(parts)), from) => {
            let count = parts.len() as u32;
            let each = bits / count.max(1);
            let known = matches!((bits, count), (32 | 64, 2));
            let fits = known
                && reads(l, from, bits)
                && parts
                    .iter()
                    .all(|part| matches!(part, Operand::Sink) || writes(l, Some(part), each));
            fits.then_some(Kind::Unpack { parts: each })
        }
        (to, Some(Operand::Vec(parts))) => {
            let each = bits / (parts.len() as u32).max(1);
            let known = matches!((bits, parts.len()), (32 | 64, 2));
            let fits =
                known && writes(l, to, bits) && parts.iter().all(|part| reads(l, Some(part), each));
            fits.then_some(Kind::Pack { parts: each })
        }
        (to, from) => (bits >= 16 && writes(l, to, bits) && reads(l, from, bits))
            .then_some(Kind::Move { wide: bits > 32 }),
    }
}

fn compares(l: &Lowerer<'_>, inst: &Inst) -> Option<Kind> {
    let how = *inst.quals.as_slice().first()?;
    let types: Vec<Type> = inst.quals.types().collect();
    let [ty] = types[..] else { return None };
    let Some(Operand::Reg(to)) = inst.operands.first() else {
        return None;
    };
    let bits = ty.bits();
    let fits = inst.operands.len() == 3
        && inst.quals.as_slice().len() == 2
        && l.type_of(*to) == Type::Pred
        && reads(l, inst.operands.get(1), bits)
        && reads(l, inst.operands.get(2), bits);
    if !fits {
        return None;
    }
    let relation = match ty {
        Type::F32 => Relation::Float(of_floats(how)?),
        Type::U32 | Type::S32 | Type::B32 | Type::U64 | Type::S64 | Type::B64 => {
            of_integers(how, ty.is_signed(), bits > 32)?
        }
        _ => return None,
    };
    Some(Kind::Compare(relation))
}

fn converts(l: &Lowerer<'_>, inst: &Inst) -> Option<Kind> {
    let q = &inst.quals;
    let types: Vec<Type> = q.types().collect();
    let [to, from] = types[..] else { return None };
    let (dst, src) = (inst.operands.first(), inst.operands.get(1));
    if to == Type::F16x2 && from == Type::F32 {
        let fits = inst.operands.len() == 3
            && writes(l, dst, 32)
            && reads(l, src, 32)
            && reads(l, inst.operands.get(2), 32);
        return fits.then_some(Kind::PackHalf);
    }
    let plain = inst.operands.len() == 2
        && writes(l, dst, to.bits())
        && reads(l, src, from.bits())
        && !matches!(src, Some(Operand::Imm(_)));
    if !plain {
        return None;
    }
    // A destination wider than the type would be extended once more.
    let exact = match dst {
        Some(Operand::Reg(reg)) => l.type_of(*reg).bits() == to.bits(),
        _ => false,
    };
    let integral = [Qual::Rni, Qual::Rzi].map(|word| q.has(word));
    let other = [Qual::Rmi, Qual::Rpi].iter().any(|word| q.has(*word));
    if !exact || other {
        return None;
    }
    let convert = match (to, from) {
        _ if to.is_int() && from.is_int() => match (to.bits(), from.bits()) {
            (64, 32) => Convert::Widen {
                signed: from.is_signed(),
            },
            (32, 64) => Convert::Narrow,
            (32, 32) | (64, 64) | (16, 32) | (16, 16) => {
                return Some(Kind::Move {
                    wide: to.bits() > 32,
                });
            }
            (32, bits @ (8 | 16)) => Convert::Extend {
                bits,
                signed: from.is_signed(),
            },
            _ => return None,
        },
        (Type::F32, Type::S32) => Convert::Float { signed: true },
        (Type::F32, Type::U32) => Convert::Float { signed: false },
        (Type::S32 | Type::U32, Type::F32) if integral != [false, false] => Convert::Int {
            signed: to.is_signed(),
            zero: integral[1],
        },
        (Type::F32, Type::F16) => Convert::WidenHalf,
        (Type::F32, Type::BF16) => Convert::WidenBrain,
        (Type::F16, Type::F32) => Convert::NarrowHalf,
        _ => return None,
    };
    Some(Kind::Convert(convert))
}
