//! New keys and values go to their places in pages.

use super::{Shape, scatter};
use crate::{
    attention::{CacheType, paged::require_pages},
    case::{AnyCase, Case, Expected, Random, Updated},
};
use half::f16;
use warpsmith_kernel::{Cta, Device, Kernel, LaunchError, Scope, Val, args, require};

args! {
    /// New keys and values `[tokens, kv_heads, head_dim]` to caches `[pages, kv_heads, page, head_dim]` of the kernel's
    /// type, as bytes: token t to position `positions[t]` of sequence `slots[t]`, that is to place `position % page` of
    /// page `table[slot, position / page]`, or nowhere if the position is not below `blocks * page`.
    pub struct PagedScatterArgs {
        k: In<f32>[tokens, kv_heads * head_dim], v: In<f32>[tokens, kv_heads * head_dim],
        positions: In<u32>[tokens], slots: In<u32>[tokens], table: In<u32>[sequences, blocks],
        k_cache: InOut<u8>[pages * kv_heads, page, row_bytes], v_cache: InOut<u8>[pages * kv_heads, page, row_bytes],
        tokens: Scalar<u32>, sequences: Scalar<u32>, blocks: Scalar<u32>, pages: Scalar<u32>, page: Scalar<u32>,
        kv_heads: Scalar<u32>, head_dim: Scalar<u32>, row_bytes: Scalar<u32>,
    }
}

/// The kernel: a CTA for each token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PagedScatter {
    /// Element type of the cache; f16 is rounded to nearest even.
    pub cache: CacheType,
    /// Positions of a page, a power of two up to 256.
    pub page: u32,
}

impl Kernel for PagedScatter {
    type Args = PagedScatterArgs;

    fn name(&self) -> String {
        format!("paged_{}_kv_scatter_{}", self.page, self.cache.name())
    }

    fn threads(&self) -> u32 {
        128
    }

    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &PagedScatterArgs) -> Result<u64, LaunchError> {
        require(a.tokens < 1 << 31, "tokens", a.tokens.into(), "below 2^31")?;
        require(
            u64::from(a.kv_heads) * u64::from(a.head_dim) < 1 << 29,
            "head_dim",
            a.head_dim.into(),
            "below 2^29 / kv_heads",
        )?;
        self.cache.require_row(a.row_bytes, a.head_dim)?;
        require_pages(self.page, [a.page, a.pages, a.blocks, a.sequences])?;
        Ok(a.tokens.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PagedScatterArgs<Device<'k>>) {
        let position = a.positions.at(cta.id());
        let inside = position.lt(a.blocks * self.page);
        cta.if_all(inside, |cta| {
            let table = a.table.row(a.slots.at(cta.id()));
            let shape = Shape {
                kv_heads: a.kv_heads,
                head_dim: a.head_dim,
                max_len: Val::constant(self.page),
                sequence: table.at(position >> self.page.trailing_zeros()),
            };
            let from = [a.k.row(cta.id()), a.v.row(cta.id())];
            let place = position & (self.page - 1);
            match self.cache {
                CacheType::F32 => {
                    let to = [a.k_cache.cast::<f32>(), a.v_cache.cast::<f32>()];
                    scatter(cta, from, to, place, &shape);
                }
                CacheType::F16 => {
                    let to = [a.k_cache.cast::<f16>(), a.v_cache.cast::<f16>()];
                    scatter(cta, from, to, place, &shape);
                }
            }
        });
    }
}

/// Bytes of elements.
fn bytes_of(cache: CacheType, numbers: &[f32]) -> Vec<u8> {
    match cache {
        CacheType::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
        CacheType::F16 => numbers
            .iter()
            .flat_map(|x| f16::from_f32(*x).to_le_bytes())
            .collect(),
    }
}

/// Odd head sizes, several tokens of one sequence, positions outside.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    // key heads, head size, page, blocks, slots and positions
    let shapes = [
        (
            3,
            64,
            16,
            3,
            vec![(1, 0u32), (0, 17), (1, 47), (2, 48), (0, u32::MAX)],
        ),
        (1, 1, 32, 1, vec![(0, 31)]),
        (2, 33, 32, 2, vec![(0, 30), (0, 31), (0, 32)]),
        (2, 6, 16, 4, vec![(1, 5), (0, 63)]),
    ];
    for (kv_heads, head_dim, page, blocks, given) in shapes {
        for cache in [CacheType::F32, CacheType::F16] {
            let tokens = given.len() as u32;
            let (slots, positions): (Vec<u32>, Vec<u32>) = given.iter().copied().unzip();
            let sequences = slots.iter().max().unwrap_or(&0) + 1;
            let pages = sequences * blocks + 1;
            // No page twice, as nobody writes to a page that is shared.
            let table: Vec<u32> = (0..sequences * blocks).map(|at| pages - 1 - at).collect();
            let (width, size) = (kv_heads * head_dim, cache.bytes() as usize);
            let new = (tokens * width) as usize;
            let (k, v) = (rng.numbers(new, 3.0), rng.numbers(new, 3.0));
            let mut updated = |new: &[f32]| {
                let before = rng.numbers((pages * page * width) as usize, 3.0);
                let before = bytes_of(cache, &before);
                let mut after = before.clone();
                let inside = given.iter().enumerate();
                for (token, (slot, position)) in
                    inside.filter(|(_, (_, position))| *position < blocks * page)
                {
                    let number = table[(slot * blocks + position / page) as usize];
                    for head in 0..kv_heads {
                        let row = (number * kv_heads + head) * page + position % page;
                        let from = (token as u32 * width + head * head_dim) as usize;
                        let new = bytes_of(cache, &new[from..][..head_dim as usize]);
                        after[(row * head_dim) as usize * size..][..new.len()]
                            .copy_from_slice(&new);
                    }
                }
                Updated {
                    before: before.into(),
                    after: Expected::exact(after.into_iter().map(f64::from).collect()),
                }
            };
            cases.push(Box::new(Case {
                label: format!(
                    "{kv_heads} heads of {head_dim}, pages of {page}, slots and positions {given:?}"
                ),
                kernel: PagedScatter { cache, page },
                args: PagedScatterArgs {
                    k_cache: updated(&k),
                    v_cache: updated(&v),
                    k: k.into(),
                    v: v.into(),
                    positions: positions.into(),
                    slots: slots.into(),
                    table: table.into(),
                    tokens,
                    sequences,
                    blocks,
                    pages,
                    page,
                    kv_heads,
                    head_dim,
                    row_bytes: head_dim * cache.bytes(),
                },
            }));
        }
    }
    cases
}
