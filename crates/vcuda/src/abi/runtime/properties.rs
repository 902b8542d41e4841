//! `cudaDeviceProp`: what a card says of itself all at once, in the order of either version's headers.

use crate::{card, settings::Settings};

/// Whose headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Twelve,
    Thirteen,
}

/// A structure of C that is being written.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn int(&mut self, value: i32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    fn ints<const N: usize>(&mut self, values: [i32; N]) {
        values.into_iter().for_each(|value| self.int(value));
    }

    fn size(&mut self, value: u64) {
        self.align(8);
        self.0.extend(value.to_le_bytes());
    }

    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }
}

/// What the properties of a card are, as bytes.
pub(super) fn properties(settings: &Settings, index: usize, shape: Shape) -> Vec<u8> {
    let attribute = |number: i32| card::attribute(settings, index, number).unwrap_or(0);
    let bytes = |number: i32| attribute(number) as u64;
    let twelve = shape == Shape::Twelve;
    let mut out = Writer::default();
    let name = &settings.name.as_bytes()[..settings.name.len().min(255)];
    out.0.extend(name);
    out.0.resize(256, 0);
    out.0.extend(super::super::device::uuid(index));
    // An identifier that only Windows has, and its mask.
    out.0.extend([0; 8]);
    out.int(0);
    out.size(settings.memory_of(index));
    out.size(bytes(8));
    // Registers of a block, threads of a warp.
    out.ints([12, 10].map(attribute));
    out.size(bytes(11));
    out.ints([1, 2, 3, 4, 5, 6, 7].map(attribute));
    if twelve {
        out.int(attribute(13));
    }
    out.size(bytes(9));
    out.ints([75, 76].map(attribute));
    out.size(bytes(14));
    out.size(bytes(51));
    if twelve {
        // Copies beside kernels.
        out.int(1);
    }
    out.int(attribute(16));
    if twelve {
        out.int(attribute(17));
    }
    out.ints([18, 19].map(attribute));
    if twelve {
        // The mode of computing.
        out.int(attribute(20));
    }
    images(&mut out, twelve, attribute);
    out.ints([31, 32, 33, 34, 50, 35].map(attribute));
    out.ints([40, 41].map(attribute));
    if twelve {
        out.int(attribute(36));
    }
    out.ints([37, 38, 108, 39].map(attribute));
    out.ints([78, 79, 80].map(attribute));
    out.size(bytes(81));
    out.ints([82, 83, 84, 85, 86].map(attribute));
    if twelve {
        out.int(attribute(87));
    }
    out.ints([88, 89, 90, 91, 95].map(attribute));
    if twelve {
        out.int(attribute(96));
    }
    out.size(bytes(97));
    out.ints([100, 101, 106, 109].map(attribute));
    out.size(bytes(111));
    out.ints(
        [
            99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120, 129,
        ]
        .map(attribute),
    );
    let reserved = if twelve {
        63
    } else {
        out.ints([0; 7]);
        56
    };
    (0..reserved).for_each(|_| out.int(0));
    out.align(8);
    out.0
}

/// Attributes with the limits of textures and surfaces, in the order in which they stand.
const IMAGES: [i32; 40] = [
    21, 77, 22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52, 42, 43, 27, 28, 29, 53,
    54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 30,
];

/// Limits of textures and surfaces; twelve has one more, of textures that are memory of one dimension.
fn images(out: &mut Writer, twelve: bool, attribute: impl Fn(i32) -> i32) {
    for (at, number) in IMAGES[..39].iter().enumerate() {
        if at == 2 && twelve {
            out.int(attribute(69));
        }
        out.int(attribute(*number));
    }
    out.size(attribute(IMAGES[39]) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_are_as_long_as_the_headers_have_them() {
        let settings = Settings::read(|_| None).expect("defaults");
        for (shape, len, multiprocessors) in
            [(Shape::Twelve, 1032, 388), (Shape::Thirteen, 1008, 384)]
        {
            let bytes = properties(&settings, 0, shape);
            assert_eq!(bytes.len(), len, "{shape:?}");
            let at = &bytes[multiprocessors..multiprocessors + 4];
            assert_eq!(at, settings.sms.to_le_bytes(), "{shape:?}");
        }
    }
}
