//! Attention and appends over pages.

use super::Lowering;
use crate::{
    error::Error,
    memory::Place,
    node::Extent,
    op::{PagedAppend, PagedAttention, PagedRows},
};
use half::f16;
use std::sync::Arc;
use warpsmith_kernel::Kernel;
use warpsmith_library::{
    attention::{CacheType, Cached, Decode, DecodeArgs, Flash, Mask, PagedFlash, PagedFlashArgs},
    gemm::Precision,
    kv::{KvScatter, KvScatterArgs, Places, Scatter},
};

/// Rows of a prompt from which on a tile of 64 costs less than a row at a time.
const PROMPT: u32 = 16;

impl Lowering<'_> {
    pub(super) fn append_paged(&mut self, append: &PagedAppend) -> Place {
        match append.pages.sizes.ty {
            CacheType::F32 => self.append_paged_to::<f32>(append),
            CacheType::F16 => self.append_paged_to::<f16>(append),
        }
    }

    /// To pages of `T`.
    fn append_paged_to<T: Cached>(&mut self, append: &PagedAppend) -> Place {
        let tokens = self.graph.entries[append.k.index as usize].extent.rows;
        let all = [append.k, append.v, append.positions, append.slots].map(|node| self.place(node));
        let keys = all[0].clone();
        let pages = Arc::clone(&append.pages);
        let sizes = pages.sizes;
        let kernel = KvScatter::<T>::new(Scatter {
            history: sizes.history(),
            places: Places::Given,
        });
        let used = all.clone();
        self.push(&used.each_ref(), kernel, move |memory| {
            let [k, v, positions, slots] = &all;
            let len = u64::from(tokens) * u64::from(sizes.kv_heads) * u64::from(sizes.head_dim);
            KvScatterArgs {
                k: memory.span(k, len),
                v: memory.span(v, len),
                positions: Some(memory.span(positions, tokens.into())),
                paging: pages.paging(memory.span(slots, tokens.into()), tokens),
                k_cache: pages.keys.cast(),
                v_cache: pages.values.cast(),
                tokens,
                sequences: sizes.pages,
                kv_heads: sizes.kv_heads,
                head_dim: sizes.head_dim,
                max_len: sizes.page,
                start: 0,
            }
        });
        keys
    }

    pub(super) fn attend_paged(
        &mut self,
        at: usize,
        attention: &PagedAttention,
    ) -> Result<Place, Error> {
        if let Some(kernel) = self.paged_flash(at, attention) {
            return Ok(self.attend_prompt(at, attention, kernel));
        }
        let Extent { rows, columns } = self.graph.entries[at].extent;
        let pages = Arc::clone(&attention.pages);
        let sizes = pages.sizes;
        let splits = self.splits(rows * sizes.kv_heads, pages.blocks * sizes.page);
        let part = u64::from(splits) * u64::from(sizes.head_dim + 2);
        let partial_len = u64::from(rows) * u64::from(attention.heads) * part;
        let counter_len = u64::from(rows) * u64::from(sizes.kv_heads);
        let all = [
            self.place(attention.q),
            self.place(attention.visible),
            self.place(attention.slots),
            self.piece::<f32>(partial_len),
            self.counters(counter_len)?,
            self.value(at),
        ];
        let y = all[5].clone();
        let kernel = Decode {
            head_dim: sizes.head_dim,
            group: attention.heads / sizes.kv_heads,
            cache: sizes.ty,
            history: sizes.history(),
        };
        let (heads, scale) = (attention.heads, attention.scale);
        let used = all.clone();
        self.push(&used.each_ref(), kernel, move |memory| {
            let [q, visible, slots, partial, counters, y] = &all;
            let len = u64::from(rows) * u64::from(columns);
            DecodeArgs {
                q: memory.span(q, len),
                visible: memory.span(visible, rows.into()),
                sources: None,
                paging: pages.paging(memory.span(slots, rows.into()), rows),
                k: pages.keys.clone(),
                v: pages.values.clone(),
                partial: memory.span(partial, partial_len),
                counters: memory.span(counters, counter_len),
                y: memory.span(y, len),
                rows,
                heads,
                kv_heads: sizes.kv_heads,
                head_dim: sizes.head_dim,
                sequences: sizes.pages,
                max_len: sizes.page,
                row_bytes: sizes.head_dim * sizes.ty.bytes(),
                splits,
                scale,
            }
        });
        Ok(y)
    }

    /// The kernel that takes rows of one sequence together, where there are enough to make up for the rest of its tile.
    fn paged_flash(&self, at: usize, attention: &PagedAttention) -> Option<PagedFlash> {
        let rows = self.graph.entries[at].extent.rows;
        let sizes = attention.pages.sizes;
        let kernel = PagedFlash {
            head_dim: sizes.head_dim,
            row_frags: Flash::row_frags_for(Mask::Causal, rows, self.hardware),
            page: sizes.page,
        };
        let fits = attention.rows == PagedRows::Prompt
            && rows >= PROMPT
            && self.precision == Precision::Fast
            && sizes.ty == CacheType::F16
            && kernel.head_dim.is_multiple_of(8)
            && kernel.supports(self.hardware.target).is_ok();
        fits.then_some(kernel)
    }

    fn attend_prompt(
        &mut self,
        at: usize,
        attention: &PagedAttention,
        kernel: PagedFlash,
    ) -> Place {
        let Extent { rows, columns } = self.graph.entries[at].extent;
        let pages = Arc::clone(&attention.pages);
        let sizes = pages.sizes;
        let all = [
            self.place(attention.q),
            self.place(attention.visible),
            self.place(attention.slots),
            self.value(at),
        ];
        let y = all[3].clone();
        let (heads, scale) = (attention.heads, attention.scale);
        let used = all.clone();
        self.push(&used.each_ref(), kernel, move |memory| {
            let [q, visible, slots, y] = &all;
            let len = u64::from(rows) * u64::from(columns);
            PagedFlashArgs {
                q: memory.span(q, len),
                visible: memory.span(visible, rows.into()),
                paging: pages.paging(memory.span(slots, rows.into()), rows),
                k: pages.keys.clone(),
                v: pages.values.clone(),
                y: memory.span(y, len),
                tokens: rows,
                heads,
                kv_heads: sizes.kv_heads,
                head_dim: sizes.head_dim,
                sequences: sizes.pages,
                max_len: sizes.page,
                row_bytes: sizes.head_dim * sizes.ty.bytes(),
                scale,
            }
        });
        y
    }
}
