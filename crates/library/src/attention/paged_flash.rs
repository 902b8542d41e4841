//! Prefill attention over pages: the tokens of a prompt against the sequence that they belong to.

use super::{
    CacheType, Flash, History, Mask, Paging,
    flash::Asked,
    history::Caches,
    reference::{random_cache, reference},
};
use crate::case::{AnyCase, Case, EPS_F16, Expected, Random};
use warpsmith_kernel::{BuildError, Cta, InKernel, Kernel, LaunchError, Val, args, limits};
use warpsmith_ptx::target::Target;

args! {
    /// Queries f32 `[tokens, heads, head_dim]` of tokens that follow each other in one sequence, the last row's slot; row t
    /// sees the keys up to its own, and the last row `visible[tokens - 1]`. Rows that would stand before the sequence's
    /// first position are nobody's and give zeros. Caches f16 `[sequences, kv_heads, max_len, head_dim]`, as bytes, each
    /// page a sequence.
    pub struct PagedFlashArgs {
        q: In<f32>[tokens, heads * head_dim], visible: In<u32>[tokens], paging: Group<Paging>,
        k: In<u8>[sequences * kv_heads, max_len * row_bytes], v: In<u8>[sequences * kv_heads, max_len * row_bytes],
        y: Out<f32>[tokens, heads * head_dim],
        tokens: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>, sequences: Scalar<u32>,
        max_len: Scalar<u32>, row_bytes: Scalar<u32>, scale: Scalar<f32>,
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
    fn history(&self) -> History {
        History::Paged { page: self.page }
    }

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
        limits! {
            a.tokens: a.tokens > 0, "at least 1";
        }
        CacheType::F16.require_row(a.row_bytes, self.head_dim)?;
        let caches = Caches {
            sequences: a.sequences,
            least: 1,
            max_len: a.max_len,
            rows: a.tokens,
        };
        self.history().check(caches, &a.paging)?;
        self.flash()
            .ctas([a.tokens, a.heads, a.kv_heads, a.head_dim])
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PagedFlashArgs<InKernel<'k>>) {
        let last = a.tokens - 1;
        let room = self.history().room(a.max_len, &a.paging);
        let len = a.visible.at(last).min(room);
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
            caches: [a.k.cast(), a.v.cast()],
            lies: self.history().written(last, &a.paging),
            of_head: Val::constant(self.page * self.head_dim),
        };
        self.flash().attend(cta, &asked);
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
                k: k.into(),
                v: v.into(),
                y: Expected::within(want, tolerance),
                tokens,
                heads,
                kv_heads,
                head_dim,
                paging: Paging { slots: Some(vec![slot; tokens as usize].into()), table: Some(table.into()), rows: tokens, sequences, blocks },
                sequences: pages,
                max_len: page,
                row_bytes: head_dim * cache.bytes(),
                scale,
            },
        }));
    }
    cases
}
