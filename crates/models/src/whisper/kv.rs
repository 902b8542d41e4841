//! The resident key-value cache of a decoder: capacity, length, append, reset, truncate.

use super::block::cache_type;
use crate::Error;
use std::{ops::Range, sync::Arc};
use warpsmith_device::{Buffer, Stream};
use warpsmith_graph::{At, Cache, Graph, Plan, Precision};

/// Keys and values of every layer of one sequence (or of several that are forked from each other), on the device.
///
/// Only the length lives on the host: to create, reset or shorten a cache moves nothing.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<Arc<Cache>>,
    capacity: u32,
    len: u32,
    width: u32,
    precision: Precision,
}

/// The sizes of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvSizes {
    /// Layers.
    pub layers: u32,
    /// Sequences that are decoded together.
    pub sequences: u32,
    /// Heads.
    pub heads: u32,
    /// Positions.
    pub capacity: u32,
    /// Dimensions of a head.
    pub head_dim: u32,
}

impl KvCache {
    /// An empty cache: allocations, no transfer.
    ///
    /// # Errors
    /// Out of memory; sizes that are zero.
    pub fn new(stream: &Stream, sizes: KvSizes, precision: Precision) -> Result<KvCache, Error> {
        let KvSizes {
            layers,
            sequences,
            heads,
            capacity,
            head_dim,
        } = sizes;
        let shape = [heads, capacity, head_dim];
        let ty = cache_type(precision);
        let layer = |_| Cache::of_sequences(stream, ty, sequences, shape).map(Arc::new);
        Ok(KvCache {
            layers: (0..layers).map(layer).collect::<Result<_, _>>()?,
            capacity,
            len: 0,
            width: heads * head_dim,
            precision,
        })
    }

    /// Positions it holds.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Positions in use.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether none is in use.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets everything. No transfer.
    pub fn reset(&mut self) {
        self.len = 0;
    }

    /// Forgets all but the first `len` positions. No transfer.
    pub fn truncate(&mut self, len: u32) {
        self.len = self.len.min(len);
    }

    /// Takes the next `more` positions into use, for a pass that writes them.
    ///
    /// # Errors
    /// [`Error::ContextFull`], and then nothing has changed.
    pub fn extend(&mut self, more: u32) -> Result<Range<u32>, Error> {
        if more > self.capacity - self.len {
            return Err(Error::ContextFull {
                context: self.capacity,
                have: self.len,
                more: more as usize,
            });
        }
        let from = self.len;
        self.len += more;
        Ok(from..self.len)
    }

    /// Appends keys and values `[rows, heads * head_dim]`, one pair for each layer: launches, no transfer.
    ///
    /// # Errors
    /// [`Error::ContextFull`]; another number of pairs or of elements. Nothing has changed then.
    pub fn append(
        &mut self,
        stream: &Stream,
        rows: u32,
        layers: &[[&Buffer<f32>; 2]],
    ) -> Result<(), Error> {
        super::parts::same("layers of keys and values", self.layers.len(), layers.len())?;
        let mut graph = Graph::new();
        let start = self.len;
        let room = self.capacity - start;
        if rows > room {
            return Err(Error::ContextFull {
                context: self.capacity,
                have: start,
                more: rows as usize,
            });
        }
        for (cache, [k, v]) in self.layers.iter().zip(layers) {
            let k = graph.floats(k, rows, self.width)?;
            let v = graph.floats(v, rows, self.width)?;
            graph.append([k, v], At::From(start), cache)?;
        }
        Plan::new(stream, &graph, self.precision)?.run(stream)?;
        self.extend(rows).map(drop)
    }

    /// The cache of a layer, as an operand.
    pub fn layer(&self, at: usize) -> &Arc<Cache> {
        &self.layers[at]
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|cache| cache.bytes()).sum()
    }
}
