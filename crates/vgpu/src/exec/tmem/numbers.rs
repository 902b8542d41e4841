//! The numbers of a product's matrices, as their 32 bytes of k lie in shared memory or a lane of tensor memory.

use crate::exec::{
    choices,
    half::F16,
    mma::small::{Format, e2m1},
};

choices! {
    /// What the elements of a matrix are.
    pub(super) enum Element {
        F16,
        Bf16,
        Tf32,
        E4m3,
        E5m2,
        /// 16 numbers of six bits to 16 bytes, of which the last four are empty.
        E2m3,
        E3m2,
        /// 16 numbers of four bits to 16 bytes, of which the last eight are empty.
        E2m1,
        /// 32 of them to 16 bytes.
        Packed,
        U8,
        S8,
    }
}

impl Element {
    /// Elements of 16 bytes.
    pub(super) fn each(self) -> usize {
        match self {
            Element::F16 | Element::Bf16 => 8,
            Element::Tf32 => 4,
            Element::Packed => 32,
            _ => 16,
        }
    }

    /// Whether each is of whole bytes.
    pub(super) fn is_whole(self) -> bool {
        !matches!(
            self,
            Element::E2m3 | Element::E3m2 | Element::E2m1 | Element::Packed
        )
    }

    /// The numbers of 16 bytes, in order. Those of 19 bits are cut to them.
    pub(super) fn numbers(self, bytes: [u8; 16], mut to: impl FnMut(f32)) {
        let words = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        let halves = bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|half| u16::from_le_bytes(*half));
        let all = u128::from_le_bytes(bytes);
        let bits = |count: u32, each: u32| {
            let mask = (1u128 << each) - 1;
            (0..count).map(move |at| (all >> (at * each) & mask) as u8)
        };
        match self {
            Element::F16 => halves.for_each(|half| to(F16(half).to_f32())),
            Element::Bf16 => halves.for_each(|half| to(f32::from_bits(u32::from(half) << 16))),
            Element::Tf32 => words.for_each(|word| to(f32::from_bits(word & 0xFFFF_E000))),
            Element::E4m3 => bytes
                .iter()
                .for_each(|byte| to(Format::E4m3.of_byte(*byte))),
            Element::E5m2 => bytes
                .iter()
                .for_each(|byte| to(Format::E5m2.of_byte(*byte))),
            Element::E2m3 => bits(16, 6).for_each(|six| to(Format::E2m3.of_byte(six))),
            Element::E3m2 => bits(16, 6).for_each(|six| to(Format::E3m2.of_byte(six))),
            Element::E2m1 => bits(16, 4).for_each(|four| to(e2m1(four))),
            Element::Packed => bits(32, 4).for_each(|four| to(e2m1(four))),
            Element::U8 => bytes.iter().for_each(|byte| to(f32::from(*byte))),
            Element::S8 => bytes.iter().for_each(|byte| to(f32::from(*byte as i8))),
        }
    }
}
