//! f32 rows to signed bytes in groups of 32: `x = d q`, `d = max |x| / 127`, with the sums that offset weights need.

use super::Columns;
use crate::{team::rounds, weights::GROUP};
use warpsmith_kernel::{
    Cta, InKernel, Kernel, LaunchError, Scope, Val, WARP, Warp, args, limits, require,
};

args! {
    /// `words` has four q to a word; `scales` has `d`, `d` times the sum of the first 16 q, of the last 16, and of all 32
    /// for each group. Columns are padded to whole groups with zeros.
    pub struct QuantizeQ8Args {
        x: In<f32>[rows, columns], words: Out<u32>[rows, row_words], scales: Out<f32>[rows, row_scales],
        rows: Scalar<u32>, columns: Scalar<u32>, row_words: Scalar<u32>, row_scales: Scalar<u32>,
    }
}

/// The kernel: a lane for each word, eight lanes for each group.
///
/// A group with a NaN gets `d` NaN, one with an infinity `d` infinite and products NaN: neither becomes a number. A group
/// below `2^-100` becomes zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuantizeQ8 {
    /// How rows are read.
    pub columns: Columns,
}

const THREADS: u32 = 64;
/// Groups whose largest magnitude is below this are zero: 127 over it must not overflow.
const TINY: f32 = f32::from_bits((127 - 100) << 23);

impl Kernel for QuantizeQ8 {
    type Args = QuantizeQ8Args;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("quantize_q8{}", self.columns.suffix())
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn grid(&self, a: &QuantizeQ8Args) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        let groups = a.columns.div_ceil(GROUP);
        let (words, scales) = (a.row_words, a.row_scales);
        limits! {
            a.columns: a.columns < 1 << 24, "below 2^24";
        }
        require(
            words == groups * 8,
            "row_words",
            words.into(),
            "8 for each group of 32",
        )?;
        require(
            scales == groups * 4,
            "row_scales",
            scales.into(),
            "4 for each group of 32",
        )?;
        Ok(u64::from(a.rows) * u64::from(words.div_ceil(THREADS)))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: QuantizeQ8Args<InKernel<'k>>) {
        let chunks = a.row_words.div_ceil(THREADS);
        let (row, chunk) = (cta.id() / chunks, cta.id() % chunks);
        rounds(cta, THREADS / WARP, |warp, round| {
            let word = chunk * THREADS + round * WARP + warp.lane();
            let x = self.columns.read(warp, a.x.row(row), a.columns, word * 4);
            let Quad { packed, group } = quantize_quad(warp, x);
            warp.if_(word.lt(a.row_words), |lane| {
                a.words.row(row).set(word, packed);
                lane.if_((word % 8).equals(0), |_| {
                    a.scales.row(row).set_vector((word / 8) * 4, group);
                });
            });
        });
    }
}

/// Four quantised columns, and what belongs to their group.
pub(crate) struct Quad<'k> {
    /// Four q.
    pub(crate) packed: Val<'k, u32>,
    /// `d`, and `d` times the sums of the group's halves and of all of it; of the first half in its own lanes.
    pub(crate) group: [Val<'k, f32>; 4],
}

/// Quantises four columns a lane; eight lanes side by side have a group.
pub(crate) fn quantize_quad<'k>(warp: &mut Warp<'k>, x: [Val<'k, f32>; 4]) -> Quad<'k> {
    // As integers, magnitudes are ordered with NaN above infinity: a maximum that keeps both.
    let bits = x.map(|x| x.to_bits() & 0x7fff_ffff);
    let own = bits[0].max(bits[1]).max(bits[2].max(bits[3]));
    let most = warp.reduce_within(8, own, |a, b| a.max(b)).as_f32();
    let [d, up] = factors(most);
    let packed = pack_bytes(x, up);
    let own = Val::<u32>::constant(0x0101_0101).dot4(packed, 0);
    let half = warp.reduce_within(4, own, |a, b| a + b);
    let other = warp.shuffle_xor(half, 4);
    let sums = [half, other, half + other].map(|sum| d * sum.f32());
    Quad {
        packed,
        group: [d, sums[0], sums[1], sums[2]],
    }
}

/// `d` of a group whose largest magnitude is `most`, and what its values are multiplied by.
pub(super) fn factors<'k>(most: Val<'k, f32>) -> [Val<'k, f32>; 2] {
    let tiny = most.lt(TINY);
    let d = tiny.select(0.0, most / 127.0);
    let up: Val<'k, f32> = Val::constant(127.0);
    [d, tiny.select(0.0, up / most)]
}

/// Four q.
pub(super) fn pack_bytes<'k>(x: [Val<'k, f32>; 4], up: Val<'k, f32>) -> Val<'k, u32> {
    let q = x.map(|x| (x * up).round_i32().as_u32());
    // Byte 0 of each of two words, then the low halves of two pairs.
    let pair = |low: Val<'k, u32>, high: Val<'k, u32>| low.permute(high, 0x0040u32);
    pair(q[0], q[1]).permute(pair(q[2], q[3]), 0x5410u32)
}

/// Rows in the form of [`QuantizeQ8`], on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Q8Rows {
    /// Groups of a row.
    pub groups: usize,
    /// Quantised values, `[rows, groups * 32]`.
    pub q: Vec<i8>,
    /// `[rows, groups * 4]`.
    pub scales: Vec<f32>,
}

impl Q8Rows {
    /// Four values to a word.
    pub fn words(&self) -> Vec<u32> {
        let bytes = |quad: &[i8; 4]| u32::from_le_bytes(quad.map(i8::cast_unsigned));
        self.q.as_chunks::<4>().0.iter().map(bytes).collect()
    }
}

/// Quantises on the host as the kernel does, step by step in f32: each step is correctly rounded, so the kernel gives these bits.
pub fn quantize_q8_reference(x: &[f32], columns: usize) -> Q8Rows {
    let groups = columns.div_ceil(GROUP as usize);
    let mut rows = Q8Rows {
        groups,
        q: Vec::new(),
        scales: Vec::new(),
    };
    for row in x.chunks(columns.max(1)) {
        for at in 0..groups {
            let mut group = [0.0f32; 32];
            let part = &row[32 * at..row.len().min(32 * (at + 1))];
            group[..part.len()].copy_from_slice(part);
            let most = group.iter().fold(0, |most, x| x.abs().to_bits().max(most));
            let most = f32::from_bits(most);
            let (d, up) = if most < TINY {
                (0.0, 0.0)
            } else {
                (most / 127.0, 127.0 / most)
            };
            let q = group.map(|x| (x * up).round_ties_even() as i32);
            let sum = |part: &[i32]| d * part.iter().sum::<i32>() as f32;
            rows.scales
                .extend([d, sum(&q[..16]), sum(&q[16..]), sum(&q)]);
            rows.q.extend(q.map(|q| q as i8));
        }
    }
    rows
}
