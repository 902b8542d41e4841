//! f32 rows to signed bytes in groups of 32, laid out as the right operands of `mma`: a warp loads what it multiplies by as
//! it lies.

use super::{
    Columns,
    q8::{factors, pack_bytes, quantize_q8_reference},
};
use crate::{team::rounds, weights::GROUP};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, Val, Warp, args, require};

/// Rows of a fragment.
pub const EIGHT: u32 = 8;
/// Words of a group of eight rows: two of each lane, and four for each row.
pub(crate) const FRAGMENT: u32 = 96;

args! {
    /// `fragments` has tiles of `8 eights` rows, of these each group of 32 columns, of that each eight rows. What those have
    /// of a group are 96 words:
    /// - word `4 g + t`: columns `4 t ..` of row `g`, four q;
    /// - word `32 + 4 g + t`: columns `16 + 4 t ..` of row `g`;
    /// - words `64 + g`, `72 + g`, `80 + g`: `d` of row `g`, and `d` times the sums of its first 16 q and of its last 16, f32;
    /// - word `88 + g`: the sum of its 32 q, an integer.
    ///
    /// Rows are padded to whole tiles, columns to whole groups, with zeros.
    pub struct QuantizeTilesArgs {
        x: In<f32>[rows, columns], fragments: Out<u32>[tiles, tile_words],
        rows: Scalar<u32>, columns: Scalar<u32>, tiles: Scalar<u32>, tile_words: Scalar<u32>,
    }
}

/// The kernel: the numbers of [`QuantizeQ8`](super::QuantizeQ8), eight rows of a group by each warp.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuantizeTiles {
    /// How rows are read.
    pub columns: Columns,
    /// Eights of rows of a tile.
    pub eights: u32,
}

/// Words of a tile of `eights` eights of rows of `columns`.
pub fn tile_words(eights: u32, columns: u32) -> u32 {
    columns.div_ceil(GROUP) * eights * FRAGMENT
}

/// Groups of a CTA, each by a warp.
const GROUPS: u32 = 4;

impl Kernel for QuantizeTiles {
    type Args = QuantizeTilesArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("quantize_tiles_{}{}", self.eights, self.columns.suffix())
    }

    fn threads(&self) -> u32 {
        GROUPS * 32
    }

    fn grid(&self, a: &QuantizeTilesArgs) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        let columns = u64::from(a.columns);
        require(a.columns < 1 << 24, "columns", columns, "below 2^24")?;
        let rows = u64::from(a.rows);
        require(a.rows < 1 << 31, "rows", rows, "below 2^31")?;
        let tiles = a.tiles == a.rows.div_ceil(EIGHT * self.eights);
        let expected = "the rows in whole tiles";
        require(tiles, "tiles", a.tiles.into(), expected)?;
        let words = a.tile_words == tile_words(self.eights, a.columns);
        let expected = "96 for each eight rows of a group of 32";
        require(words, "tile_words", a.tile_words.into(), expected)?;
        let chunks = a.columns.div_ceil(GROUP).div_ceil(GROUPS);
        Ok(u64::from(a.tiles * self.eights) * u64::from(chunks))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: QuantizeTilesArgs<InKernel<'k>>) {
        let groups = a.columns.div_ceil(GROUP);
        let chunks = groups.div_ceil(GROUPS);
        let (eight, chunk) = (cta.id() / chunks, cta.id() % chunks);
        let (tile, within) = (eight / self.eights, eight % self.eights);
        rounds(cta, GROUPS, |warp, round| {
            let group = chunk * GROUPS + round;
            warp.if_all(group.lt(groups), |warp| {
                let (g, t) = (warp.lane() >> 2, warp.lane() & 3);
                let row = eight * EIGHT + g;
                // Of rows behind the last, columns behind the last are read, which are zeros.
                let first = group * GROUP + (t << 2);
                let first = row.lt(a.rows).select(first, a.columns);
                let x = [first, first + 16].map(|at| {
                    let row = a.x.row(row);
                    self.columns.read(warp, row, a.columns, at)
                });
                let Fragment { words, planes } = quantize_fragment(warp, x);
                let at = (group * self.eights + within) * FRAGMENT;
                let out = a.fragments.row(tile).from(at).from(warp.lane());
                out.set(0u32, words[0]);
                out.set(32u32, words[1]);
                out.set(64u32, planes);
            });
        });
    }
}

/// What a lane has of eight quantised rows of a group.
struct Fragment<'k> {
    words: [Val<'k, u32>; 2],
    planes: Val<'k, u32>,
}

/// Quantises eight columns a lane; four lanes side by side have a row.
fn quantize_fragment<'k>(warp: &mut Warp<'k>, x: [[Val<'k, f32>; 4]; 2]) -> Fragment<'k> {
    let bits = x.map(|x| x.map(|x| x.to_bits() & 0x7fff_ffff));
    let largest = |bits: [Val<'k, u32>; 4]| bits[0].max(bits[1]).max(bits[2].max(bits[3]));
    let own = largest(bits[0]).max(largest(bits[1]));
    let most = warp.reduce_within(4, own, |a, b| a.max(b)).as_f32();
    let [d, up] = factors(most);
    let words = x.map(|x| pack_bytes(x, up));
    let sums = words.map(|word| {
        let own = Val::<u32>::constant(0x0101_0101).dot4(word, 0);
        warp.reduce_within(4, own, |a, b| a + b)
    });
    // Lane t of a row has what goes to plane t; lane `8 plane + row` writes it.
    let t = warp.lane() & 3;
    let [first, second] = sums.map(|sum| (d * sum.f32()).to_bits());
    let all = (sums[0] + sums[1]).as_u32();
    let own = t.equals(0).select(d.to_bits(), first);
    let own = t.lt(2).select(own, t.equals(2).select(second, all));
    let from = ((warp.lane() & 7) << 2) + (warp.lane() >> 3);
    Fragment {
        words,
        planes: warp.shuffle(own, from),
    }
}

/// Makes the tiles on the host: rows of [`quantize_q8_reference`] in the order of fragments. A NaN is that of PTX.
pub fn quantize_tiles_reference(x: &[f32], columns: usize, eights: u32) -> Vec<u32> {
    let rows = quantize_q8_reference(x, columns);
    let count = x.len() / columns.max(1);
    let bits = |number: f32| {
        if number.is_nan() {
            0x7fff_ffff
        } else {
            number.to_bits()
        }
    };
    let (words, eight) = (rows.words(), EIGHT as usize);
    let mut fragments = Vec::new();
    for tile in 0..count.div_ceil(eight * eights as usize) {
        for group in 0..rows.groups {
            for within in 0..eights as usize {
                let first = (tile * eights as usize + within) * eight;
                let mut fragment = [0; FRAGMENT as usize];
                for (g, row) in (first..count.min(first + eight)).enumerate() {
                    let at = row * rows.groups + group;
                    for t in 0..4 {
                        fragment[4 * g + t] = words[8 * at + t];
                        fragment[32 + 4 * g + t] = words[8 * at + 4 + t];
                    }
                    for plane in 0..3 {
                        fragment[64 + 8 * plane + g] = bits(rows.scales[4 * at + plane]);
                    }
                    let q = rows.q[32 * at..32 * (at + 1)].iter();
                    fragment[88 + g] = q.map(|q| i32::from(*q)).sum::<i32>().cast_unsigned();
                }
                fragments.extend(fragment);
            }
        }
    }
    fragments
}
