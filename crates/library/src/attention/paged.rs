//! Decode attention over pages: keys and values of a sequence lie wherever its row of a table says.
//!
//! The pages of vLLM (Kwon et al., 2023): memory is given out as sequences grow, and sequences that begin alike share.

use super::{
    CacheType, Decode, History,
    decode::{Held, Lies, Work},
    reference::{random_cache, reference},
};
use crate::case::{AnyCase, Case, EPS_F32, Expected, Random, Updated};
use warpsmith_kernel::{Cta, Device, Kernel, LaunchError, args, require};

args! {
    /// Queries f32 `[rows, heads, head_dim]`; caches `[pages, kv_heads, page, head_dim]` of the kernel's type, as bytes.
    /// Row r sees the first `visible[r]` keys of sequence `slots[r]`; none gives zeros. The key at position t of sequence
    /// s is at place `t % page` of page `table[s, t / page]`. `partial` is scratch; `counters` start and end at zero.
    pub struct PagedDecodeArgs {
        q: In<f32>[rows, heads * head_dim], visible: In<u32>[rows], slots: In<u32>[rows], table: In<u32>[sequences, blocks],
        k: In<u8>[pages * kv_heads, page * row_bytes], v: In<u8>[pages * kv_heads, page * row_bytes],
        partial: InOut<f32>[rows * heads, splits * (head_dim + 2)], counters: InOut<u32>[rows, kv_heads],
        y: Out<f32>[rows, heads * head_dim],
        rows: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>, sequences: Scalar<u32>,
        blocks: Scalar<u32>, pages: Scalar<u32>, page: Scalar<u32>, row_bytes: Scalar<u32>, splits: Scalar<u32>,
        scale: Scalar<f32>,
    }
}

/// The kernel: [`Decode`] but for where it finds keys, and so the same bits from the same numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PagedDecode {
    /// Head size, 1 to 256.
    pub head_dim: u32,
    /// Query heads for each key head.
    pub group: u32,
    /// Element type of the cache.
    pub cache: CacheType,
    /// Positions of a page, a power of two up to 256.
    pub page: u32,
}

/// Pages that kernels take: a power of two up to 256, at least one page, at least one block of positions below 2^31.
pub(crate) fn require_pages(
    own: u32,
    [page, pages, blocks, sequences]: [u32; 4],
) -> Result<(), LaunchError> {
    require(
        page == own && page.is_power_of_two() && page <= 256,
        "page",
        page.into(),
        "the kernel's, a power of two up to 256",
    )?;
    require(pages > 0, "pages", 0, "at least 1")?;
    require(sequences > 0, "sequences", 0, "at least 1")?;
    require(
        blocks > 0 && u64::from(blocks) * u64::from(page) < 1 << 31,
        "blocks",
        blocks.into(),
        "at least 1, below 2^31 positions",
    )
}

impl PagedDecode {
    fn decode(&self) -> Decode {
        Decode {
            head_dim: self.head_dim,
            group: self.group,
            cache: self.cache,
            history: History::Shared,
        }
    }
}

impl Kernel for PagedDecode {
    type Args = PagedDecodeArgs;

    fn name(&self) -> String {
        format!("paged_{}_{}", self.page, self.decode().name())
    }

    fn threads(&self) -> u32 {
        self.decode().threads()
    }

    // Shares of keys are the same for any number of warps.
    fn resized(&self, _threads: u32) -> Option<Self> {
        Some(self.clone())
    }

    fn grid(&self, a: &PagedDecodeArgs) -> Result<u64, LaunchError> {
        require(
            (1..=256).contains(&a.head_dim) && a.head_dim == self.head_dim,
            "head_dim",
            a.head_dim.into(),
            "the kernel's, 1 to 256",
        )?;
        require(
            a.kv_heads > 0 && a.heads == a.kv_heads * self.group,
            "heads",
            a.heads.into(),
            "kv_heads times the kernel's group",
        )?;
        self.cache.require_row(a.row_bytes, self.head_dim)?;
        require(
            (1..=64).contains(&a.splits),
            "splits",
            a.splits.into(),
            "1 to 64",
        )?;
        require_pages(self.page, [a.page, a.pages, a.blocks, a.sequences])?;
        Ok(u64::from(a.rows) * u64::from(a.kv_heads) * u64::from(a.splits))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PagedDecodeArgs<Device<'k>>) {
        let row_bytes = self.head_dim * self.cache.bytes();
        let work = Work {
            q: a.q,
            visible: a.visible,
            partial: a.partial,
            counters: a.counters,
            y: a.y,
            heads: a.heads,
            kv_heads: a.kv_heads,
            most: a.blocks * self.page,
            splits: a.splits,
            scale: a.scale,
        };
        self.decode().attend(cta, &work, |row, kv_head| Held {
            keys: a.k.row(kv_head),
            values: a.v.row(kv_head),
            lies: Lies::Paged {
                table: a.table.row(a.slots.at(row)),
                stride: a.kv_heads.u64() * u64::from(self.page * row_bytes),
                page: self.page,
            },
        });
    }
}

/// Ragged rows, rows of one sequence, rows that see nothing; what no row sees is garbage.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    // heads, key heads, head size, page, blocks, splits, slots and what they see
    let shapes = [
        (
            9,
            3,
            64,
            16,
            5,
            3,
            vec![(1, 1u32), (0, 33), (3, 0), (2, 70)],
        ),
        (8, 1, 40, 32, 2, 2, vec![(1, 31), (1, 40), (1, 64)]),
        (2, 1, 128, 16, 4, 4, vec![(0, 64)]),
        (3, 3, 33, 32, 3, 1, vec![(1, 65), (0, 9)]),
    ];
    for (heads, kv_heads, head_dim, page, blocks, splits, seen) in shapes {
        for cache in [CacheType::F16, CacheType::F32] {
            let rows = seen.len() as u32;
            let (slots, visible): (Vec<u32>, Vec<u32>) = seen.iter().copied().unzip();
            let sequences = slots.iter().max().unwrap_or(&0) + 1;
            let pages = sequences * blocks + 2;
            let (k, k_values) = random_cache(rng, cache, pages * kv_heads, page, head_dim, page);
            let (v, v_values) = random_cache(rng, cache, pages * kv_heads, page, head_dim, page);
            // Pages in any order, some shared; where nobody looks the table is garbage.
            let mut table = vec![u32::MAX; (sequences * blocks) as usize];
            for (slot, visible) in &seen {
                let row = &mut table[(slot * blocks) as usize..][..blocks as usize];
                for entry in &mut row[..visible.div_ceil(page) as usize] {
                    if *entry == u32::MAX {
                        *entry = rng.range(0, pages - 1);
                    }
                }
            }
            // The same keys one behind the other, a sequence for each row.
            let max_len = (blocks * page) as usize;
            let (heads_of, size) = (kv_heads as usize, head_dim as usize);
            let gather = |values: &[f64]| {
                let mut all = vec![f64::NAN; seen.len() * heads_of * max_len * size];
                for (row, (slot, visible)) in seen.iter().enumerate() {
                    for head in 0..heads_of {
                        for t in 0..*visible as usize {
                            let entry = table[*slot as usize * blocks as usize + t / page as usize];
                            let from = (entry as usize * heads_of + head) * page as usize
                                + t % page as usize;
                            let to = (row * heads_of + head) * max_len + t;
                            all[to * size..][..size]
                                .copy_from_slice(&values[from * size..][..size]);
                        }
                    }
                }
                all
            };
            let q = rng.numbers((rows * heads * head_dim) as usize, 1.5);
            let scale = 1.0 / (head_dim as f32).sqrt();
            let (want, magnitude) = reference(
                &q,
                [&gather(&k_values), &gather(&v_values)],
                [heads as usize, heads_of, size, max_len],
                &visible,
                |row, _| row,
                scale.into(),
            );
            // As for contiguous keys.
            let score =
                f64::from(scale) * 2.25 * f64::from(head_dim) * f64::from(head_dim + 4) * EPS_F32;
            let relative = 2.0 * score + (f64::from(blocks * page) + 40.0) * EPS_F32;
            let tolerance = magnitude.iter().map(|sum| sum * relative + 1e-12).collect();
            let partial = (rows * heads * splits * (head_dim + 2)) as usize;
            let counters = (rows * kv_heads) as usize;
            cases.push(Box::new(Case {
                label: format!("heads {heads}/{kv_heads} of {head_dim}, pages of {page}, slots and keys {seen:?}, {splits} splits"),
                kernel: PagedDecode { head_dim, group: heads / kv_heads, cache, page },
                args: PagedDecodeArgs {
                    q: q.into(),
                    visible: visible.into(),
                    slots: slots.into(),
                    table: table.into(),
                    k: k.into(),
                    v: v.into(),
                    partial: Updated { before: vec![f32::NAN; partial].into(), after: Expected::scratch(partial) },
                    counters: Updated { before: vec![0; counters].into(), after: Expected::exact(vec![0.0; counters]) },
                    y: Expected::within(want, tolerance),
                    rows,
                    heads,
                    kv_heads,
                    head_dim,
                    sequences,
                    blocks,
                    pages,
                    page,
                    row_bytes: head_dim * cache.bytes(),
                    splits,
                    scale,
                },
            }));
        }
    }
    cases
}
