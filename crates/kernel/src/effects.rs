//! What clean-up must know of an instruction: whether it defines something, does nothing else, and may be shared.

use warpsmith_ptx::{isa, op::Op, qual::Qual};

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
    /// Of an instruction, by the table of forms.
    #[inline]
    pub(crate) fn of(op: Op, quals: &[Qual]) -> Effect {
        // The condition code is a result that operands do not show; where it is not asked for, as nearly always, these need
        // no search for their form.
        if matches!(op, Op::Add | Op::Sub | Op::Mad) && !quals.contains(&Qual::Cc) {
            return Effect::Same;
        }
        if isa::has_result(op, quals) != Some(true) {
            return Effect::Acts;
        }
        match isa::facts(op, quals).map(|facts| facts.effect) {
            Some(isa::Effect::Same) => Effect::Same,
            Some(isa::Effect::Pure) => Effect::Pure,
            Some(isa::Effect::Acts) | None => Effect::Gives,
        }
    }

    pub(crate) fn has_destination(self) -> bool {
        self != Effect::Acts
    }

    pub(crate) fn is_pure(self) -> bool {
        matches!(self, Effect::Pure | Effect::Same)
    }
}
