//! What products of matrices, and tensor memory, ask of their operands beside types.

use super::{
    Check, form_text,
    operands::{Place, Width},
};
use crate::{
    diag::Code,
    ir::{Address, Base, Imm, Operand},
    isa::Shape,
    op::Op,
    qual::Qual,
    types::Type,
};

impl<'m> Check<'m> {
    /// The rules of an instruction as a whole; `second` is its second operand where that is a constant.
    pub(super) fn matrices(&mut self, place: Place<'_>, second: Option<i64>) {
        let has = |qual| place.inst.quals.has(qual);
        match place.inst.op {
            Op::Mma => self.companions(place),
            Op::Wgmma if has(Qual::MmaAsync) => self.product(place),
            Op::Tcgen05 if has(Qual::Mma) && !has(Qual::BlockScale) => self.enabled(place),
            Op::Tcgen05 if has(Qual::Alloc) || has(Qual::Dealloc) => {
                if let Some(value) = second {
                    self.columns(place, value);
                }
            }
            _ => {}
        }
    }

    /// An operand of `tcgen05`.
    pub(super) fn of_tensor_memory(
        &mut self,
        place: Place<'m>,
        operand: &'m Operand,
        shape: Shape,
    ) {
        match (shape, operand) {
            (Shape::Enable, Operand::Vec(_)) => {
                self.vector(place, operand, Some(4), Type::B32, Width::Equal);
            }
            (Shape::Enable, Operand::Imm(_)) => {}
            (Shape::Enable, other) => self.value(place, other, Type::Pred, Width::Equal),
            (
                _,
                Operand::Addr(Address {
                    base: Base::Reg(id),
                    ..
                }),
            ) => self.register(place, *id, Type::B32, Width::Equal),
            (Shape::TensorMatrix, other) if !matches!(other, Operand::Addr(_)) => {
                self.value(place, other, Type::B64, Width::Equal);
            }
            (_, other) => self.kind(place, "an address in a register of 32 bits", other),
        }
    }

    /// A register takes one word of tensor memory at most.
    pub(super) fn distinct(&mut self, place: Place<'_>, operand: &Operand, items: &[Operand]) {
        let twice = |at: usize| items[..at].contains(&items[at]);
        if (1..items.len()).any(twice) {
            self.kind(place, "a vector of different registers", operand);
        }
    }

    /// What says where elements of a sparse product are, and scales, are in registers.
    fn companions(&mut self, place: Place<'_>) {
        for operand in place.inst.operands.iter().skip(4).step_by(2) {
            if !matches!(operand, Operand::Reg(_)) {
                self.kind(place, "a register", operand);
            }
        }
    }

    /// Columns of tensor memory: a power of two from 32 to 512.
    fn columns(&mut self, place: Place<'_>, value: i64) {
        let form = form_text(place.inst);
        let code = match value {
            32 | 64 | 128 | 256 | 512 => return,
            33..=511 => Code::ConstantPower { form, value },
            _ => Code::ConstantRange {
                form,
                value,
                least: 32,
                most: 512,
            },
        };
        self.report(place.function, code, place.span);
    }

    /// What follows the descriptors of `tcgen05.mma`: lanes that are left out, a predicate, and D's scale, each in its place.
    fn enabled(&mut self, place: Place<'_>) {
        let inst = place.inst;
        let rest = inst.operands.get(4..).unwrap_or_default();
        let lanes = usize::from(matches!(rest.first(), Some(Operand::Vec(_))));
        let scales = [Qual::KindF16, Qual::KindTf32];
        let most = 1 + usize::from(scales.iter().any(|kind| inst.quals.has(*kind)));
        let rest = &rest[lanes..];
        if !(1..=most).contains(&rest.len()) {
            let code = Code::OperandCount {
                form: form_text(inst),
                least: 5 + lanes,
                most: 4 + lanes + most,
                found: inst.operands.len(),
            };
            self.report(place.function, code, place.span);
            return;
        }
        if matches!(rest[0], Operand::Vec(_)) {
            self.kind(place, "a predicate", &rest[0]);
        }
        match rest.get(1) {
            Some(Operand::Imm(Imm::Int(value))) if !(0..=15).contains(value) => {
                let code = Code::ConstantRange {
                    form: form_text(inst),
                    value: *value,
                    least: 0,
                    most: 15,
                };
                self.report(place.function, code, place.span);
            }
            None | Some(Operand::Imm(Imm::Int(_))) => {}
            Some(other) => self.kind(place, "an integer constant", other),
        }
    }

    /// Signs of `wgmma`, and which of its matrices may be transposed: A in registers may not.
    fn product(&mut self, place: Place<'_>) {
        let inst = place.inst;
        for at in [4, 5] {
            if let Some(Operand::Imm(Imm::Int(value))) = inst.operands.get(at)
                && !matches!(value, -1 | 1)
            {
                let code = Code::ConstantRange {
                    form: form_text(inst),
                    value: *value,
                    least: -1,
                    most: 1,
                };
                self.report(place.function, code, place.span);
            }
        }
        let halves = [Type::F16, Type::BF16].map(Qual::T);
        let transposes = inst
            .quals
            .as_slice()
            .last()
            .is_some_and(|ty| halves.contains(ty));
        let registers = matches!(inst.operands.get(1), Some(Operand::Vec(_)));
        let wanted = match (transposes, registers) {
            (true, true) => 7,
            (true, false) => 8,
            (false, _) => return,
        };
        if inst.operands.len() != wanted {
            let code = Code::OperandCount {
                form: form_text(inst),
                least: wanted,
                most: wanted,
                found: inst.operands.len(),
            };
            self.report(place.function, code, place.span);
        }
    }
}
