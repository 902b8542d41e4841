//! Prefill attention over pages: the tokens of a prompt against the sequence that they belong to.

use super::{
    CacheType, Flash, Mask,
    flash::Asked,
    paged::require_pages,
    reference::{random_cache, reference},
};
use crate::case::{AnyCase, Case, EPS_F16, Expected, Random};
use half::f16;
use warpsmith_kernel::{BuildError, Cta, Device, Kernel, LaunchError, Val, args, require, uni};
use warpsmith_ptx::target::Target;

args! {
    /// Queries f32 `[tokens, heads, head_dim]` of tokens that follow each other in one sequence, the last row's slot; row t
    /// sees the keys up to its own, and the last row `visible[tokens - 1]`. Rows that would stand before the sequence's
    /// first position are nobody's and give zeros. Caches f16 `[pages, kv_heads, page, head_dim]`, as bytes: the key at
    /// position t is at place `t % page` of page `table[slot, t / page]`.
    pub struct PagedFlashArgs {
        q: In<f32>[tokens, heads * head_dim], visible: In<u32>[tokens], slots: In<u32>[tokens],
        table: In<u32>[sequences, blocks],
        k: In<u8>[pages * kv_heads, page * row_bytes], v: In<u8>[pages * kv_heads, page * row_bytes],
        y: Out<f32>[tokens, heads * head_dim],
        tokens: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>, sequences: Scalar<u32>,
        blocks: Scalar<u32>, pages: Scalar<u32>, page: Scalar<u32>, row_bytes: Scalar<u32>, scale: Scalar<f32>,
    }
}

/// The kernel: [`Flash`] but for where it finds keys and lengths, which are read on the device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PagedFlash {
    /// Head size, a multiple of 8 up to 256.
    pub head_dim: u32,
    /// As [`Flash::row_frags`].
    pub row_frags: u32,
    /// Positions of a page, a power of two up to 256.
    pub page: u32,
}

impl PagedFlash {
    fn flash(&self) -> Flash {
        Flash {
            head_dim: self.head_dim,
            mask: Mask::Causal,
            row_frags: self.row_frags,
        }
    }
}

impl Kernel for PagedFlash {
    type Args = PagedFlashArgs;

    fn name(&self) -> String {
        format!("paged_{}_{}", self.page, self.flash().name())
    }

    fn threads(&self) -> u32 {
        self.flash().threads()
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        self.flash().supports(target)
    }

    fn grid(&self, a: &PagedFlashArgs) -> Result<u64, LaunchError> {
        require(a.tokens > 0, "tokens", 0, "at least 1")?;
        CacheType::F16.require_row(a.row_bytes, self.head_dim)?;
        require_pages(self.page, [a.page, a.pages, a.blocks, a.sequences])?;
        self.flash()
            .ctas([a.tokens, a.heads, a.kv_heads, a.head_dim])
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PagedFlashArgs<Device<'k>>) {
        let last = a.tokens - 1;
        let len = a.visible.at(last).min(a.blocks * self.page);
        let asked = Asked {
            q: a.q,
            y: a.y,
            tokens: a.tokens,
            heads: a.heads,
            kv_heads: a.kv_heads,
            scale: a.scale,
            // The last of so many tokens is the last of so many keys.
            first: len,
            behind: Some(a.tokens),
            len,
        };
        let table = a.table.row(a.slots.at(last));
        self.flash().attend(cta, &asked, |kv_head| {
            move |key: Val<'k, u32>, column: Val<'k, u32, uni::Lane>| {
                let number = table.at(key >> self.page.trailing_zeros());
                let within = (key & (self.page - 1)) * self.head_dim + column;
                let row = number * a.kv_heads + kv_head;
                [a.k, a.v].map(|held| held.row(row).cast::<f16>().from(within))
            }
        });
    }
}

/// Prompts from their beginning, with rows of nobody in front, and further on; several tiles, fragments and head sizes.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    // heads, key heads, head size, page, blocks, rows of nobody, first position, tokens, fragments
    let shapes: [[u32; 9]; 7] = [
        [9, 3, 64, 16, 5, 24, 0, 40, 1],
        [4, 2, 64, 32, 4, 0, 37, 64, 1],
        [2, 2, 40, 16, 3, 3, 20, 13, 1],
        [2, 1, 64, 16, 12, 90, 0, 60, 2],
        [3, 1, 16, 32, 5, 1, 100, 31, 1],
        [1, 1, 8, 16, 1, 0, 0, 1, 1],
        [2, 1, 128, 16, 8, 100, 2, 100, 1],
    ];
    for [
        heads,
        kv_heads,
        head_dim,
        page,
        blocks,
        pad,
        start,
        count,
        row_frags,
    ] in shapes
    {
        let (tokens, len, slot) = (pad + count, start + count, 1);
        let (sequences, pages) = (3, blocks + 2);
        let cache = CacheType::F16;
        let (k, k_values) = random_cache(rng, cache, pages * kv_heads, page, head_dim, page);
        let (v, v_values) = random_cache(rng, cache, pages * kv_heads, page, head_dim, page);
        // Other sequences' rows of the table are garbage, and so is what is behind the last key.
        let mut table = vec![u32::MAX; (sequences * blocks) as usize];
        let own = (slot * blocks) as usize;
        for (at, entry) in table[own..].iter_mut().enumerate() {
            if (at as u32) < len.div_ceil(page) {
                *entry = (at as u32 * 5 + 1) % pages;
            }
        }
        let (size, max_len) = (head_dim as usize, (blocks * page) as usize);
        let gather = |values: &[f64]| {
            let mut all = vec![f64::NAN; kv_heads as usize * max_len * size];
            for head in 0..kv_heads {
                for t in 0..len {
                    let entry = table[own + (t / page) as usize];
                    let from = ((entry * kv_heads + head) * page + t % page) as usize;
                    let to = head as usize * max_len + t as usize;
                    all[to * size..][..size].copy_from_slice(&values[from * size..][..size]);
                }
            }
            all
        };
        let q = rng.numbers((tokens * heads * head_dim) as usize, 1.5);
        let scale = 1.0 / (head_dim as f32).sqrt();
        let visible: Vec<u32> = (0..tokens)
            .map(|t| if t < pad { 0 } else { start + t - pad + 1 })
            .collect();
        // What stands before the tokens are the positions before them, if there are any.
        let seen: Vec<u32> = (0..tokens)
            .map(|t| (len + t + 1).saturating_sub(tokens))
            .collect();
        let (want, magnitude) = reference(
            &q,
            [&gather(&k_values), &gather(&v_values)],
            [heads as usize, kv_heads as usize, size, max_len],
            &seen,
            |_, _| 0,
            scale.into(),
        );
        // As for contiguous keys.
        let score = f64::from(scale) * 2.25 * f64::from(head_dim) * EPS_F16;
        let relative = 2.0 * score + 3.0 * EPS_F16;
        let tolerance = magnitude.iter().map(|sum| sum * relative + 1e-7).collect();
        cases.push(Box::new(Case {
            label: format!(
                "{pad} and {count} tokens at {start}, heads {heads}/{kv_heads} of {head_dim}, pages of {page}"
            ),
            kernel: PagedFlash {
                head_dim,
                row_frags,
                page,
            },
            args: PagedFlashArgs {
                q: q.into(),
                visible: visible.into(),
                slots: vec![slot; tokens as usize].into(),
                table: table.into(),
                k: k.into(),
                v: v.into(),
                y: Expected::within(want, tolerance),
                tokens,
                heads,
                kv_heads,
                head_dim,
                sequences,
                blocks,
                pages,
                page,
                row_bytes: head_dim * cache.bytes(),
                scale,
            },
        }));
    }
    cases
}
