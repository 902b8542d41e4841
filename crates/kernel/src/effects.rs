//! What clean-up must know of an instruction: whether it defines something, does nothing else, and may be shared.

use warpsmith_ptx::{
    isa::{self, Access},
    op::Op,
    qual::{Qual, Quals},
};

/// How an instruction may be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It has no destination.
    Acts,
    /// It defines its first operand, and what else it does counts.
    Gives,
    /// It defines its first operand and does nothing else.
    Pure,
    /// It defines its first operand and does nothing else, and gives the same for the same sources during the whole launch.
    Same,
}

impl Effect {
    /// Of an instruction.
    #[inline]
    pub(crate) fn of(op: Op, quals: &[Qual]) -> Effect {
        match op {
            // The condition code is a result that operands do not show.
            Op::Add | Op::Sub | Op::Mad if quals.contains(&Qual::Cc) => Effect::Gives,
            Op::Abs | Op::Add | Op::And | Op::Bfe | Op::Bfi | Op::Bfind | Op::Bmsk | Op::Brev => {
                Effect::Same
            }
            Op::Clz | Op::Cnot | Op::Copysign | Op::Cos | Op::Cvt | Op::Cvta | Op::Div => {
                Effect::Same
            }
            Op::Dp2a | Op::Dp4a | Op::Ex2 | Op::Fma | Op::Fns | Op::Isspacep | Op::Lg2 => {
                Effect::Same
            }
            Op::Lop3 | Op::Mad | Op::Mad24 | Op::Max | Op::Min | Op::Mov | Op::Mul | Op::Mul24 => {
                Effect::Same
            }
            Op::Neg | Op::Not | Op::Or | Op::Popc | Op::Prmt | Op::Rcp | Op::Rem | Op::Rsqrt => {
                Effect::Same
            }
            Op::Sad | Op::Selp | Op::Set | Op::Setp | Op::Shf | Op::Shl | Op::Shr | Op::Sin => {
                Effect::Same
            }
            Op::Slct | Op::Sqrt | Op::Sub | Op::Szext | Op::Tanh | Op::Testp | Op::Xor => {
                Effect::Same
            }
            Op::Ld => Effect::of_load(quals),
            Op::Mma | Op::Ldmatrix => Effect::Pure,
            Op::St | Op::Red | Op::Bra | Op::Ret | Op::Exit | Op::Trap | Op::Cp | Op::Fence => {
                Effect::Acts
            }
            Op::Membar | Op::Nanosleep => Effect::Acts,
            Op::Atom | Op::Shfl | Op::Vote | Op::Redux | Op::Match | Op::Activemask => {
                Effect::Gives
            }
            _ => Effect::by_table(op, quals),
        }
    }

    fn of_load(quals: &[Qual]) -> Effect {
        let strong = |qual: &Qual| {
            matches!(
                qual,
                Qual::Volatile | Qual::Acquire | Qual::Relaxed | Qual::Mmio
            )
        };
        if quals.iter().any(strong) {
            Effect::Gives
        } else if quals.contains(&Qual::Nc) || quals.contains(&Qual::Param) {
            Effect::Same
        } else {
            Effect::Pure
        }
    }

    /// What the raw layer adds to those above.
    fn by_table(op: Op, quals: &[Qual]) -> Effect {
        let form = isa::form(op, &Quals::new(quals));
        let first = form.and_then(|form| form.row.slots.first());
        match first.map(|slot| slot.access) {
            Some(Access::Write) => Effect::Gives,
            Some(Access::Read) | None => Effect::Acts,
        }
    }

    pub(crate) fn has_destination(self) -> bool {
        self != Effect::Acts
    }

    pub(crate) fn is_pure(self) -> bool {
        matches!(self, Effect::Pure | Effect::Same)
    }
}
