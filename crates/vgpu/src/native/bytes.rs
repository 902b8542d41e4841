//! Code for bytes of words: dot products and permutations.

use super::{
    nodes::{Arg, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::VReg;
use warpsmith_ptx::ir::Inst;
use warpsmith_x86::vector;

impl Coder<'_, '_> {
    /// Four products of bytes, those of b signed, added to c.
    pub(super) fn dot(&mut self, signed: bool, a: VReg, b: VReg, c: VReg) -> VReg {
        let dot = |coder: &mut Self, a: VReg, c: VReg| {
            coder.vector(
                &vector::DOT_U8_I8,
                Vector {
                    tied: Some(c),
                    ..Vector::two(a, Arg::Reg(b))
                },
            )
        };
        if !signed {
            return dot(self, a, c);
        }
        // The instruction takes unsigned bytes of a: 128 more than they are, and 128 times those of b are taken off.
        let bias = self.whole(0x8080_8080);
        let zero = self.whole(0);
        let extra = dot(self, bias, zero);
        let more = self.plain(&vector::XOR, a, bias);
        let sum = dot(self, more, c);
        self.plain(&vector::SUB_I32, sum, extra)
    }

    /// Bytes of two words, by their numbers.
    pub(super) fn permute(&mut self, selector: u32, inst: &Inst) -> Result<ValueId, Skip> {
        let [a, b] = self.args(inst, 32)?;
        let select = |k: u32| (selector >> (4 * k)) & 7;
        // What is not of this word becomes 0.
        let control = |word: u32| {
            let mut bytes = [0u8; 64];
            for (i, byte) in bytes.iter_mut().enumerate() {
                let select = select(i as u32 & 3);
                *byte = if select >> 2 == word {
                    (i as u8 & 12) | (select as u8 & 3)
                } else {
                    0x80
                };
            }
            bytes
        };
        let uses = |word: u32| (0..4).any(|k| select(k) >> 2 == word);
        let pick = |coder: &mut Self, reg: VReg, word: u32| {
            let place = coder.nodes.constant(control(word));
            coder.vector(&vector::SHUFFLE_I8, Vector::two(reg, Arg::Mem(place)))
        };
        match (uses(0), uses(1)) {
            (true, true) => self.map([a, b], true, false, |coder, [a, b]| {
                let (a, b) = (pick(coder, a, 0), pick(coder, b, 1));
                coder.plain(&vector::OR, a, b)
            }),
            (true, false) => self.map([a], true, false, |coder, [a]| pick(coder, a, 0)),
            (false, _) => self.map([b], true, false, |coder, [b]| pick(coder, b, 1)),
        }
    }
}
