//! Operands of textures and surfaces.

use super::{
    Check, constants, form_text,
    operands::{Place, Width},
};
use crate::{diag::Code, ir::Operand, types::Type};

impl<'m> Check<'m> {
    /// `[texture, {coordinates}]` or `[texture, sampler, {coordinates}]`: handles of 64 bits, and as many coordinates as the
    /// geometry has.
    pub(super) fn texture(&mut self, place: Place<'m>, operand: &'m Operand) {
        let parts = match operand {
            Operand::List(items) => &items[..],
            _ => &[],
        };
        let Some((coordinates, objects @ ([_] | [_, _]))) = parts.split_last() else {
            self.kind(place, "a texture and its coordinates", operand);
            return;
        };
        for object in objects {
            match object {
                Operand::Reg(id) => self.register(place, *id, Type::U64, Width::Equal),
                other => {
                    self.exists(place, other);
                    self.kind(
                        place,
                        "the handle of a texture or surface in a register",
                        other,
                    );
                }
            }
        }
        let items = match coordinates {
            Operand::Vec(items) => &items[..],
            // One may stand without braces.
            one => std::slice::from_ref(one),
        };
        let expected = constants::coordinates(&place.inst.quals);
        if expected != Some(items.len()) {
            let code = Code::VectorLength {
                form: form_text(place.inst),
                index: place.index,
                expected: expected.unwrap_or(1),
                found: items.len(),
            };
            self.report(place.function, code, place.span);
        }
        for item in items {
            self.value(place, item, Type::B32, Width::Equal);
        }
    }

    /// A vector, alone or with a predicate.
    pub(super) fn vector_pair(&mut self, place: Place<'m>, operand: &'m Operand, ty: Type) {
        let vector = match operand {
            Operand::Pair(pair) => {
                self.value(place, &pair.1, Type::Pred, Width::Equal);
                &pair.0
            }
            other => other,
        };
        let count = Some(place.form.vector());
        self.vector(place, vector, count, ty, Width::OrWider);
    }
}
