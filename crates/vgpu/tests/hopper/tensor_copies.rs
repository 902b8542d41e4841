//! Where matrices of `tcgen05` lie in shared memory, and copies of them to tensor memory.

use crate::harness::{Case, bytes, plain};
use crate::tensor_memory::{Work, committed, misuse, place, words};
use warpsmith_vgpu::{Compile, Config, Error, FaultKind, Misuse, check::Kind};

/// How a matrix lies in shared memory, as units of 16 bytes: `along` the elements that are behind each other, and across.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    /// Of the swizzle: none, 32, 64 and 128 bytes from 0 to 3.
    pub(crate) pattern: usize,
    /// Whether rows lie together, and not steps of k.
    pub(crate) transposed: bool,
    /// Bytes.
    pub(crate) leading: usize,
    pub(crate) stride: usize,
}

const MANY: usize = 1 << 20;

impl Tile {
    /// The offset of a unit without the swizzle, as CUTLASS's canonical layouts have it (`mma_sm100_desc.hpp`).
    pub(crate) fn plain(&self, along: usize, across: usize) -> usize {
        let (leading, stride) = (self.leading / 16, self.stride / 16);
        let row = 1 << self.pattern;
        let units = match (self.transposed, self.pattern) {
            (false, 0) => place(&[(2, leading)], along) + place(&[(8, 1), (MANY, stride)], across),
            (false, _) => place(&[(row, 1)], along) + place(&[(8, row), (MANY, stride)], across),
            (true, 0) => {
                place(&[(MANY, stride)], along) + place(&[(8, 1), (MANY, leading)], across)
            }
            (true, _) => {
                let along = place(&[(row, 1), (MANY, leading)], along);
                along + place(&[(8, row), (MANY, stride)], across)
            }
        };
        16 * units
    }

    /// The address of a unit of a matrix that starts at a multiple of 1024: the bits from 7 on change those from 4 on.
    pub(crate) fn unit(&self, start: usize, along: usize, across: usize) -> usize {
        let at = start + self.plain(along, across);
        at ^ (at >> 7 & ((1 << self.pattern) - 1)) << 4
    }

    pub(crate) fn descriptor(&self, start: usize) -> u64 {
        let mode = [0, 6, 4, 2][self.pattern];
        let fields = [
            (start >> 4, 0),
            (self.leading >> 4, 16),
            (self.stride >> 4, 32),
            (1, 46),
        ];
        let fields = fields.map(|(value, at)| (value as u64) << at);
        fields.into_iter().sum::<u64>() | mode << 61
    }
}

/// A copy by the first thread from a descriptor that is to be moved to where shared memory is.
fn copy(form: &str, column: usize, descriptor: u64) -> String {
    format!(
        "  mov.b64 %d10, {descriptor}; add.u64 %d10, %d10, %d9;\n  \
         @%p1 tcgen05.cp.cta_group::1.{form} [%r14+{column}], %d10;\n"
    )
}

/// Lanes of rows, as CUTLASS's `ValID` of `SM100_UTCCP_...` have them, with what is said of each more than once.
#[track_caller]
fn check_copy(form: &str, bytes_of_row: usize, lanes: impl Fn(usize) -> Vec<usize>, tile: Tile) {
    const COLUMN: usize = 7;
    const START: usize = 2048;
    let body = copy(form, COLUMN, tile.descriptor(START)) + &committed(0);
    let mut work = Work::new(32, body);
    work.shared = bytes(&words(4, 32768 / 4));
    let (found, _) = work.run();
    let mut expected = work.image.clone();
    let rows = (0..128).filter(|row| !lanes(*row).is_empty());
    for row in rows {
        for word in 0..bytes_of_row / 4 {
            let at = tile.unit(START, word / 4, row) + word % 4 * 4;
            let value = u32::from_le_bytes(work.shared[at..at + 4].try_into().expect("4 bytes"));
            for lane in lanes(row) {
                expected[32 * lane + COLUMN + word] = value;
            }
        }
    }
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let [lane, column] = [at / 32, at % 32];
        assert_eq!(
            *found, expected,
            "{form}, {tile:?}: lane {lane}, column {column}"
        );
    }
}

fn tiles() -> [Tile; 5] {
    let tile = |pattern, leading, stride| Tile {
        pattern,
        transposed: false,
        leading,
        stride,
    };
    [
        tile(0, 128, 256),
        tile(0, 16 * 129, 128 + 16),
        tile(1, 0, 256),
        tile(2, 16, 512),
        tile(3, 16, 1024),
    ]
}

#[test]
fn rows_are_copied_to_lanes() {
    let all = |row| vec![row];
    let first = |rows: usize, to: fn(usize) -> Vec<usize>| {
        move |row| if row < rows { to(row) } else { Vec::new() }
    };
    for tile in tiles() {
        check_copy("128x256b", 32, all, tile);
        check_copy("128x128b", 16, all, tile);
        let four = first(32, |row| vec![row, row + 32, row + 64, row + 96]);
        check_copy("32x128b.warpx4", 16, four, tile);
        let two = first(64, |row| vec![row, row + 64]);
        check_copy("64x128b.warpx2::02_13", 16, two, tile);
        let two = first(64, |row| {
            let lane = row / 32 * 64 + row % 32;
            vec![lane, lane + 32]
        });
        check_copy("64x128b.warpx2::01_23", 16, two, tile);
    }
}

#[test]
fn copies_keep_to_what_there_is() {
    let tile = tiles()[0];
    let of = |body: String| Work::new(32, body).case();
    let past = copy("128x256b", 25, tile.descriptor(0));
    assert_eq!(misuse(&of(past)), Misuse::TensorMemory);
    let other = tile.descriptor(0) | 1 << 61;
    assert_eq!(
        misuse(&of(copy("128x128b", 0, other))),
        Misuse::TensorDescriptor
    );
    let absolute = tile.descriptor(0) | 1 << 52;
    assert_eq!(
        misuse(&of(copy("128x128b", 0, absolute))),
        Misuse::TensorDescriptor
    );
    // 2048 bytes of shared memory do not hold 128 rows that are 256 bytes apart by eights.
    let outside = of(copy("128x128b", 0, tile.descriptor(0)));
    assert_eq!(outside_of_shared(&outside), Kind::OobShared);
}

/// What is found of an access outside of shared memory, which is a fault where nothing is checked.
#[track_caller]
pub(crate) fn outside_of_shared(case: &Case) -> Kind {
    for compile in [Compile::Never, Compile::Always] {
        match case.run_on(Config { compile, ..plain() }).0 {
            Err(Error::Fault(fault)) => {
                assert!(
                    matches!(fault.kind, FaultKind::OutOfBounds { .. }),
                    "{fault}"
                );
            }
            other => panic!("{:?}", other.map(|words| words.len())),
        }
    }
    let found = case.finds();
    assert!(found.iter().all(|one| one.0 == found[0].0), "{found:?}");
    found[0].0
}
