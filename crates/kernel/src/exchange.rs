//! Values that go from lane to lane: shuffles of anything that a loop can carry, votes, matches, reductions in hardware.

use crate::{
    agreed::Agreed,
    build::{Rep, with},
    scope::{FULL, WARP, Warp},
    slot::Slot,
    state::{State, mapped},
    uni,
    val::{Num, Ty, Val},
};
use std::panic::Location;
use warpsmith_ptx::{ir::RegId, op::Op, qual::Qual, types::Type};

type At = &'static Location<'static>;

/// How a lane finds the lane it reads: `shfl`'s mode, its operand, and the clamp of its segment.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    mode: Qual,
    operand: Slot,
    clamp: i64,
}

impl Way {
    /// From lane `lane ^ mask`.
    pub(crate) fn xor(mask: u32) -> Way {
        Way {
            mode: Qual::Bfly,
            operand: Slot::int(i64::from(mask)),
            clamp: 31,
        }
    }

    /// From the lane that is named.
    pub(crate) fn index(operand: Slot) -> Way {
        Way {
            mode: Qual::Idx,
            operand,
            clamp: 31,
        }
    }

    /// From lane `lane - by`; lanes below `by` keep their own.
    pub(crate) fn up(by: u32) -> Way {
        Way {
            mode: Qual::Up,
            operand: Slot::int(i64::from(by)),
            clamp: 0,
        }
    }

    /// From lane `lane + by`; lanes from `32 - by` on keep their own.
    pub(crate) fn down(by: u32) -> Way {
        Way {
            mode: Qual::Down,
            operand: Slot::int(i64::from(by)),
            clamp: 31,
        }
    }

    /// A register of 32 bits of another lane.
    fn word(self, at: At, ty: Type, value: RegId) -> RegId {
        let quals = [Qual::Sync, self.mode, Qual::T(Type::B32)];
        let sources = [Slot::reg(value), self.operand, Slot::int(self.clamp), FULL];
        with(|b| b.def(at, Op::Shfl, &quals, ty, &sources))
    }

    /// A value of another lane: one exchange for each 32 bits. A constant is the same everywhere.
    fn value(self, at: At, ty: Type, rep: Rep) -> Rep {
        let Rep::Reg(reg) = rep else { return rep };
        let parts = |whole: Type, part: Type| -> [RegId; 2] {
            with(|b| b.defs(at, Op::Mov, &[Qual::T(whole)], part, &[Slot::reg(reg)]))
        };
        let join = |whole: Type, ty: Type, [low, high]: [RegId; 2]| {
            let pair = [Slot::group(2), Slot::reg(low), Slot::reg(high)];
            with(|b| b.def(at, Op::Mov, &[Qual::T(whole)], ty, &pair))
        };
        Rep::Reg(match (ty, ty.bits()) {
            (Type::Pred, _) => nonzero(at, self.word(at, Type::U32, one_or_zero(at, reg))),
            (_, 64) => join(
                Type::B64,
                ty,
                parts(Type::B64, Type::B32).map(|half| self.word(at, Type::B32, half)),
            ),
            (_, 32) => self.word(at, ty, reg),
            _ => {
                let word = self.word(at, Type::B32, join(Type::B32, Type::B32, [reg, reg]));
                let quals = [Qual::T(Type::B32)];
                let [low, _] = with(|b| b.defs(at, Op::Mov, &quals, Type::B16, &[Slot::reg(word)]));
                low
            }
        })
    }

    /// A state of another lane.
    pub(crate) fn state<'k, S: State<'k>>(self, at: At, state: &S) -> S {
        mapped(state, |ty, rep| self.value(at, ty, rep))
    }
}

/// A predicate as 1 or 0.
pub(crate) fn one_or_zero(at: At, predicate: RegId) -> RegId {
    let sources = [Slot::int(1), Slot::int(0), Slot::reg(predicate)];
    with(|b| b.def(at, Op::Selp, &[Qual::T(Type::B32)], Type::U32, &sources))
}

/// Whether a word is not 0.
pub(crate) fn nonzero(at: At, word: RegId) -> RegId {
    let quals = [Qual::Ne, Qual::T(Type::U32)];
    let sources = [Slot::reg(word), Slot::int(0)];
    with(|b| b.def(at, Op::Setp, &quals, Type::Pred, &sources))
}

/// `yes` where `condition` holds, else `no`, register by register.
pub(crate) fn chosen<'k, S: State<'k>>(at: At, condition: RegId, yes: &S, no: &S) -> S {
    let mut others = Vec::new();
    mapped(no, |_, rep| {
        others.push(rep);
        rep
    });
    let mut others = others.into_iter();
    mapped(yes, |ty, rep| {
        let other = others.next().unwrap_or(rep);
        if rep == other {
            return rep;
        }
        with(|b| {
            let bits = match (ty, ty.bits()) {
                (Type::F32 | Type::F64, _) => ty,
                (Type::Pred, _) => {
                    // There is no choice of predicates: (c and a) or (b and not c).
                    let (a, c) = (b.to_reg(at, ty, rep), condition);
                    let other = b.to_reg(at, ty, other);
                    let quals = [Qual::T(Type::Pred)];
                    let mut two =
                        |op, x, y| b.def(at, op, &quals, Type::Pred, &[Slot::reg(x), Slot::reg(y)]);
                    let first = two(Op::And, c, a);
                    let both = two(Op::And, c, other);
                    let second = two(Op::Xor, other, both);
                    return Rep::Reg(two(Op::Or, first, second));
                }
                (_, 64) => Type::B64,
                (_, 32) => Type::B32,
                _ => Type::B16,
            };
            let (yes, no) = (b.to_reg(at, ty, rep), b.to_reg(at, ty, other));
            let sources = [Slot::reg(yes), Slot::reg(no), Slot::reg(condition)];
            Rep::Reg(b.def(at, Op::Selp, &[Qual::T(bits)], ty, &sources))
        })
    })
}

/// What `redux.sync` computes over the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redux {
    /// The sum, modulo 2^32.
    Add,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The bits set in all.
    And,
    /// The bits set in any.
    Or,
    /// The bits set in an odd number.
    Xor,
}

/// An integer that `redux.sync` takes: u32 or i32.
pub trait Reduced: Num {}
impl Reduced for u32 {}
impl Reduced for i32 {}

/// A type whose equals `match.sync` finds: of 32 or 64 bits, compared bit by bit.
pub trait Matched: Ty {}
impl Matched for u32 {}
impl Matched for i32 {}
impl Matched for u64 {}
impl Matched for i64 {}
impl Matched for f32 {}
impl Matched for f64 {}

impl<'k> Warp<'k> {
    /// The value of lane `lane ^ mask` (`shfl.sync.bfly`).
    #[track_caller]
    pub fn shuffle_xor<S: State<'k>>(&mut self, value: S, mask: u32) -> S {
        Way::xor(mask).state(Location::caller(), &value)
    }

    /// The value of lane `lane - by`; lanes below `by` get their own (`shfl.sync.up`).
    #[track_caller]
    pub fn shuffle_up<S: State<'k>>(&mut self, value: S, by: u32) -> S {
        Way::up(by).state(Location::caller(), &value)
    }

    /// The value of lane `lane + by`; lanes from `32 - by` on get their own (`shfl.sync.down`).
    #[track_caller]
    pub fn shuffle_down<S: State<'k>>(&mut self, value: S, by: u32) -> S {
        Way::down(by).state(Location::caller(), &value)
    }

    /// The value of lane `source`, which may differ in each lane and is taken modulo 32 (`shfl.sync.idx`).
    #[track_caller]
    pub fn shuffle<S: State<'k>>(&mut self, value: S, source: Val<'k, u32, uni::Lane>) -> S {
        Way::index(source.slot()).state(Location::caller(), &value)
    }

    /// The value of lane `source` in every lane (`shfl.sync.idx`).
    #[track_caller]
    pub fn broadcast<T: Ty>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        source: impl Agreed<'k, u32, uni::Warp>,
    ) -> Val<'k, T, uni::Warp> {
        let way = Way::index(source.agreed().slot());
        way.state(Location::caller(), &value).same()
    }

    /// A mask of the lanes where `predicate` holds: bit l for lane l.
    #[track_caller]
    pub fn ballot(&mut self, predicate: Val<'k, bool, uni::Lane>) -> Val<'k, u32, uni::Warp> {
        self.vote(
            Location::caller(),
            [Qual::Ballot, Qual::T(Type::B32)],
            Type::B32,
            predicate,
        )
    }

    /// Whether `predicate` holds in every lane (`vote.sync.all`).
    #[track_caller]
    pub fn all(&mut self, predicate: Val<'k, bool, uni::Lane>) -> Val<'k, bool, uni::Warp> {
        self.vote(
            Location::caller(),
            [Qual::All, Qual::T(Type::Pred)],
            Type::Pred,
            predicate,
        )
    }

    /// Whether `predicate` holds in some lane (`vote.sync.any`).
    #[track_caller]
    pub fn any(&mut self, predicate: Val<'k, bool, uni::Lane>) -> Val<'k, bool, uni::Warp> {
        self.vote(
            Location::caller(),
            [Qual::Any, Qual::T(Type::Pred)],
            Type::Pred,
            predicate,
        )
    }

    fn vote<T: Ty>(
        &mut self,
        at: At,
        [how, ty]: [Qual; 2],
        register: Type,
        predicate: Val<'k, bool, uni::Lane>,
    ) -> Val<'k, T, uni::Warp> {
        let predicate = Slot::reg(predicate.reg());
        let quals = [Qual::Sync, how, ty];
        Val::from_reg(with(|b| {
            b.def(at, Op::Vote, &quals, register, &[predicate, FULL])
        }))
    }

    /// A mask of the lanes that have the same value as this one (`match.any.sync`).
    #[track_caller]
    pub fn match_any<T: Matched>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
    ) -> Val<'k, u32, uni::Lane> {
        let at = Location::caller();
        let bits = if T::TYPE.bits() == 64 {
            Type::B64
        } else {
            Type::B32
        };
        let value = Slot::reg(value.reg());
        let quals = [Qual::Any, Qual::Sync, Qual::T(bits)];
        Val::from_reg(with(|b| {
            b.def(at, Op::Match, &quals, Type::B32, &[value, FULL])
        }))
    }

    /// Whether all lanes have the same value.
    #[track_caller]
    pub fn match_all<T: Matched>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
    ) -> Val<'k, bool, uni::Warp> {
        let equals = self.match_any(value).equals(u32::MAX);
        self.all(equals)
    }

    /// One operation over all lanes: `redux.sync` from sm_80 on, five exchanges below.
    #[track_caller]
    pub fn redux<T: Reduced>(
        &mut self,
        how: Redux,
        value: Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Warp> {
        let at = Location::caller();
        let (op, qual, ty) = match how {
            Redux::Add => (Op::Add, Qual::Add, T::TYPE),
            Redux::Min => (Op::Min, Qual::Min, T::TYPE),
            Redux::Max => (Op::Max, Qual::Max, T::TYPE),
            Redux::And => (Op::And, Qual::And, Type::B32),
            Redux::Or => (Op::Or, Qual::Or, Type::B32),
            Redux::Xor => (Op::Xor, Qual::Xor, Type::B32),
        };
        if with(|b| b.target.sm >= 80) {
            let value = Slot::reg(value.reg());
            let quals = [Qual::Sync, qual, Qual::T(ty)];
            return Val::from_reg(with(|b| {
                b.def(at, Op::Redux, &quals, T::TYPE, &[value, FULL])
            }));
        }
        let mut value = value;
        for distance in [16, 8, 4, 2, 1] {
            let [x, y] = [value, Way::xor(distance).state(at, &value)].map(|v| Slot::reg(v.reg()));
            value = Val::from_reg(with(|b| b.def(at, op, &[Qual::T(ty)], T::TYPE, &[x, y])));
        }
        value.same()
    }
}

/// The distances of a tree over the lanes of a warp, or of a group of `size` lanes, the largest first.
pub(crate) fn distances(size: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(size.min(WARP) / 2), |at| Some(at / 2)).take_while(|at| *at > 0)
}
