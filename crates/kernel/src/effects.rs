//! What clean-up must know of an instruction: whether it defines something, does nothing else, and may be shared.

use warpsmith_ptx::{
    isa,
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
    /// Where the opcode tells.
    #[inline]
    fn of_opcode(op: Op, quals: &[Qual]) -> Option<Effect> {
        // The condition code is a result that operands do not show; where it is not asked for, as nearly always, these need
        // no search for their form.
        if matches!(op, Op::Add | Op::Sub | Op::Mad) && !quals.contains(&Qual::Cc) {
            return Some(Effect::Same);
        }
        isa::agreed(op).map(|(gives, facts)| Effect::told(gives, facts.effect))
    }

    fn of_form(op: Op, quals: &[Qual]) -> Effect {
        let facts = isa::has_result(op, quals).zip(isa::facts(op, quals));
        facts.map_or(Effect::Acts, |(gives, facts)| {
            Effect::told(gives, facts.effect)
        })
    }

    #[inline]
    fn told(gives: bool, effect: isa::Effect) -> Effect {
        match effect {
            _ if !gives => Effect::Acts,
            isa::Effect::Same => Effect::Same,
            isa::Effect::Pure => Effect::Pure,
            isa::Effect::Acts => Effect::Gives,
        }
    }

    pub(crate) fn has_destination(self) -> bool {
        self != Effect::Acts
    }

    pub(crate) fn is_pure(self) -> bool {
        matches!(self, Effect::Pure | Effect::Same)
    }
}

/// Effects of the forms that were asked for last: a kernel has few kinds of loads, and many loads.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    last: [Option<(Op, Quals, Effect)>; 4],
    /// The place of the next.
    next: usize,
}

impl Effects {
    /// Of an instruction, by the table of forms.
    #[inline]
    pub(crate) fn of(&mut self, op: Op, quals: &[Qual]) -> Effect {
        Effect::of_opcode(op, quals).unwrap_or_else(|| self.of_form(op, quals))
    }

    fn of_form(&mut self, op: Op, quals: &[Qual]) -> Effect {
        let known = self.last.iter().flatten();
        for (known, of, effect) in known {
            if *known == op && of.as_slice() == quals {
                return *effect;
            }
        }
        let effect = Effect::of_form(op, quals);
        self.last[self.next] = Some((op, Quals::new(quals), effect));
        self.next = (self.next + 1) % self.last.len();
        effect
    }
}
