//! Attention and what feeds it: rotation, the cache.

use super::Lowering;
use crate::{
    error::Error,
    memory::Place,
    node::{Extent, Node},
    op::{At, Attention, Seen},
    resource::Cache,
};
use half::f16;
use std::sync::Arc;
use warpsmith_kernel::{Half, Kernel};
use warpsmith_library::{
    attention::{CacheType, Cached, Decode, DecodeArgs, Flash, FlashArgs, History, Mask, Paging},
    gemm::Precision,
    kv::{KvScatter, KvScatterArgs, Places, Scatter},
};

/// Rows up to which each is taken alone.
const FEW: u32 = 4;

impl Lowering<'_> {
    pub(super) fn append(&mut self, from: [Node; 2], to: At, cache: &Arc<Cache>) -> Place {
        match cache.ty {
            CacheType::F32 => self.append_to::<f32>(from, to, cache),
            CacheType::F16 => self.append_to::<f16>(from, to, cache),
        }
    }

    /// To a cache of `T`.
    fn append_to<T: Cached>(&mut self, [k, v]: [Node; 2], to: At, cache: &Arc<Cache>) -> Place {
        let tokens = self.graph.entries[k.index as usize].extent.rows;
        let (kv_heads, head_dim, max_len) = (cache.kv_heads, cache.head_dim, cache.max_len);
        let len = u64::from(tokens) * u64::from(kv_heads) * u64::from(head_dim);
        let (k, v) = (self.place(k), self.place(v));
        let (positions, history, start) = match to {
            At::Positions(at) => (Some(self.place(at)), History::Shared, 0),
            At::Rows(at) => (Some(self.place(at)), History::Forked, 0),
            At::From(start) => (None, History::Shared, start),
        };
        let places = match positions {
            Some(_) => Places::Given,
            None => Places::InOrder,
        };
        let (from, at) = ([k.clone(), v.clone()], positions.clone());
        let cache = Arc::clone(cache);
        let sequences = cache.sequences;
        let mut used = vec![&k, &v];
        used.extend(&positions);
        let kernel = KvScatter::<T>::new(Scatter { history, places });
        self.push(&used, kernel, move |memory| KvScatterArgs {
            k: memory.span(&from[0], len),
            v: memory.span(&from[1], len),
            positions: at.map(|at| memory.span(&at, tokens.into())),
            paging: Paging::none(),
            k_cache: cache.keys.cast(),
            v_cache: cache.values.cast(),
            tokens,
            sequences,
            kv_heads,
            head_dim,
            max_len,
            start,
        });
        k
    }

    pub(super) fn attend(&mut self, at: usize, attention: &Attention) -> Result<Place, Error> {
        let rows = self.graph.entries[at].extent.rows;
        let flash = attention.seen.and_then(|seen| {
            let (start, len, mask) = match seen {
                Seen::UpTo { start } => (start, start + rows, Mask::Causal),
                Seen::First { len } => (0, len, Mask::Full),
            };
            let kernel = Flash {
                head_dim: attention.cache.head_dim,
                mask,
                row_frags: Flash::row_frags_for(mask, rows, self.hardware),
            };
            // A tile has 64 queries; where all keys are seen, a few alone cost less.
            let fits = self.precision == Precision::Fast
                && attention.sources.is_none()
                && (mask == Mask::Causal || rows > FEW)
                && attention.cache.ty == CacheType::F16
                && kernel.head_dim.is_multiple_of(8)
                && self.hardware.target.sm >= half::f16::FIRST_SM
                && kernel.supports(self.hardware.target).is_ok();
            fits.then_some((kernel, [start, len]))
        });
        match flash {
            Some((kernel, keys)) => self.flash(at, attention, kernel, keys),
            None => self.decode(at, attention),
        }
    }

    fn flash(
        &mut self,
        at: usize,
        attention: &Attention,
        kernel: Flash,
        [start, len]: [u32; 2],
    ) -> Result<Place, Error> {
        let Extent {
            rows: tokens,
            columns,
        } = self.graph.entries[at].extent;
        let (q, y) = (self.place(attention.q), self.value(at));
        let (from, to) = (q.clone(), y.clone());
        let cache = Arc::clone(&attention.cache);
        let (heads, scale) = (attention.heads, attention.scale);
        self.push(&[&q, &y], kernel, move |memory| {
            let elements = u64::from(tokens) * u64::from(columns);
            FlashArgs {
                q: memory.span(&from, elements),
                k: cache.keys.cast(),
                v: cache.values.cast(),
                y: memory.span(&to, elements),
                tokens,
                heads,
                kv_heads: cache.kv_heads,
                head_dim: cache.head_dim,
                max_len: cache.max_len,
                start,
                len,
                scale,
            }
        });
        Ok(y)
    }

    /// Splits of the sequence: fixed for a plan, so that replay and eager runs agree.
    pub(super) fn splits(&self, pairs: u32, max_len: u32) -> u32 {
        // Enough CTAs for two on each multiprocessor, but no split below 256 keys.
        let wanted = (2 * self.hardware.sms).div_ceil(pairs.max(1));
        wanted.clamp(1, max_len.div_ceil(256).clamp(1, 64))
    }

    fn decode(&mut self, at: usize, attention: &Attention) -> Result<Place, Error> {
        let Extent { rows, columns } = self.graph.entries[at].extent;
        let cache = Arc::clone(&attention.cache);
        let splits = self.splits(rows * cache.kv_heads, cache.max_len);
        let (q, visible, y) = (
            self.place(attention.q),
            self.place(attention.visible),
            self.value(at),
        );
        let part = u64::from(splits) * u64::from(cache.head_dim + 2);
        let partial_len = u64::from(rows) * u64::from(attention.heads) * part;
        let partial = self.piece::<f32>(partial_len);
        let counter_len = u64::from(rows) * u64::from(cache.kv_heads);
        let counters = self.counters(counter_len)?;
        let kernel = Decode {
            head_dim: cache.head_dim,
            group: attention.heads / cache.kv_heads,
            cache: cache.ty,
            history: match attention.sources {
                Some(_) => History::Forked,
                None => History::Shared,
            },
        };
        let sources = attention.sources.map(|sources| self.place(sources));
        let (heads, scale) = (attention.heads, attention.scale);
        let places = [
            q.clone(),
            visible.clone(),
            partial.clone(),
            y.clone(),
            counters,
        ];
        self.push(&[&q, &visible, &partial, &y], kernel, move |memory| {
            let [q, visible, partial, y, counters] = &places;
            let len = u64::from(rows) * u64::from(columns);
            DecodeArgs {
                q: memory.span(q, len),
                visible: memory.span(visible, rows.into()),
                sources: sources.map(|sources| {
                    memory.span(&sources, u64::from(rows) * u64::from(cache.max_len))
                }),
                paging: Paging::none(),
                k: cache.keys.clone(),
                v: cache.values.clone(),
                partial: memory.span(partial, partial_len),
                counters: memory.span(counters, counter_len),
                y: memory.span(y, len),
                rows,
                heads,
                kv_heads: cache.kv_heads,
                head_dim: cache.head_dim,
                sequences: cache.sequences,
                max_len: cache.max_len,
                row_bytes: cache.head_dim * cache.ty.bytes(),
                splits,
                scale,
            }
        });
        Ok(y)
    }
}
