//! Operands of copies of tensors.

use super::{
    Check, constants, form_text,
    operands::{Place, Width},
};
use crate::{diag::Code, ir::Operand, types::Type};

impl<'m> Check<'m> {
    /// `[map, {coordinates}]`: an address of 64 bits and as many coordinates as the tensor has dimensions.
    pub(super) fn tensor(&mut self, place: Place<'m>, operand: &'m Operand) {
        let parts = match operand {
            Operand::List(items) => &items[..],
            _ => &[],
        };
        let [map, coordinates @ Operand::Vec(_)] = parts else {
            self.kind(place, "a tensor map and its coordinates", operand);
            return;
        };
        match map {
            Operand::Reg(id) => self.register(place, *id, Type::U64, Width::Equal),
            other => {
                self.exists(place, other);
                self.kind(place, "the address of a tensor map in a register", other);
            }
        }
        let Operand::Vec(items) = coordinates else {
            return;
        };
        let dims = constants::dimensions(&place.inst.quals);
        if dims != Some(items.len()) {
            let code = Code::VectorLength {
                form: form_text(place.inst),
                index: place.index,
                expected: dims.unwrap_or(1),
                found: items.len(),
            };
            self.report(place.function, code, place.span);
        }
        for item in items {
            self.value(place, item, Type::B32, Width::Equal);
        }
    }
}
