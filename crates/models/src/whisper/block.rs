//! The encoder block: `x + Attn(LN(x))`, then `+ FFN(LN(.))`, callable alone with its weights and configuration.

use super::parts::{Attention, Mlp, Norm, check_norm};
use crate::Error;
use std::sync::Arc;
use warpsmith_device::{Buffer, Stream};
use warpsmith_graph::{At, Attention as Attend, Cache, Graph, Node, Plan, Precision, Seen};
use warpsmith_library::attention::CacheType;

/// The shape of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockConfig {
    /// Width of the residual stream.
    pub width: u32,
    /// Heads; a divisor of the width.
    pub heads: u32,
}

impl BlockConfig {
    /// Dimensions of a head.
    ///
    /// # Errors
    /// No heads, heads that do not divide the width, heads of more than 256 dimensions.
    pub fn head_dim(self) -> Result<u32, Error> {
        let BlockConfig { width, heads } = self;
        let whole = heads > 0 && width > 0 && width.is_multiple_of(heads);
        if !whole || width / heads > 256 {
            return Err(Error::Heads { width, heads });
        }
        Ok(width / heads)
    }
}

/// The weights of a block.
#[derive(Clone, Debug)]
pub struct BlockWeights {
    /// In front of the attention.
    pub attention_norm: Norm,
    /// All frames to all frames.
    pub attention: Attention,
    /// In front of the feed-forward part.
    pub mlp_norm: Norm,
    /// Feed-forward part.
    pub mlp: Mlp,
}

/// A block whose weights have the sizes of its configuration.
#[derive(Clone, Debug)]
pub struct EncoderBlock {
    config: BlockConfig,
    head_dim: u32,
    weights: BlockWeights,
}

/// Keys and values of one attention at a time, for sequences of one length: blocks that run one after the other share it.
#[derive(Clone, Debug)]
pub struct Scratch {
    cache: Arc<Cache>,
    visible: Arc<Buffer<u32>>,
    rows: u32,
}

/// The element type of caches.
pub(crate) fn cache_type(precision: Precision) -> CacheType {
    match precision {
        Precision::Exact => CacheType::F32,
        Precision::Fast => CacheType::F16,
    }
}

impl Scratch {
    /// For sequences of `rows`: one small transfer.
    ///
    /// # Errors
    /// As [`BlockConfig::head_dim`]; no rows; out of memory.
    pub fn new(
        stream: &Stream,
        config: BlockConfig,
        rows: u32,
        precision: Precision,
    ) -> Result<Scratch, Error> {
        let shape = [config.heads, rows, config.head_dim()?];
        let cache = Cache::new(stream, cache_type(precision), shape)?;
        Ok(Scratch {
            cache: Arc::new(cache),
            visible: Arc::new(stream.upload_new(&vec![rows; rows as usize])?),
            rows,
        })
    }
}

impl EncoderBlock {
    /// Checks every size.
    ///
    /// # Errors
    /// As [`BlockConfig::head_dim`]; a weight of another size, by name.
    pub fn new(config: BlockConfig, weights: BlockWeights) -> Result<EncoderBlock, Error> {
        let head_dim = config.head_dim()?;
        let width = config.width;
        check_norm(&weights.attention_norm, "norm of the attention", width)?;
        check_norm(&weights.mlp_norm, "norm of the feed-forward part", width)?;
        weights.attention.check(width)?;
        weights.mlp.check(width)?;
        Ok(EncoderBlock {
            config,
            head_dim,
            weights,
        })
    }

    /// The shape.
    pub fn config(&self) -> BlockConfig {
        self.config
    }

    /// The weights.
    pub fn weights(&self) -> &BlockWeights {
        &self.weights
    }

    /// Adds the block to a graph. All heads of the attention are one launch over `[rows, width]`.
    ///
    /// # Errors
    /// An `x` of another size than block or scratch.
    pub fn forward(&self, graph: &mut Graph, x: Node, scratch: &Scratch) -> Result<Node, Error> {
        let BlockWeights {
            attention_norm,
            attention,
            mlp_norm,
            mlp,
        } = &self.weights;
        let normed = attention_norm.forward(graph, x)?;
        graph.name(normed, "attn_norm")?;
        let [q, k, v] = attention.project(graph, normed)?;
        graph.append([k, v], At::From(0), &scratch.cache)?;
        let visible = graph.ids(&scratch.visible);
        let attended = graph.attend(Attend {
            q,
            visible,
            cache: Arc::clone(&scratch.cache),
            heads: self.config.heads,
            scale: 1.0 / (self.head_dim as f32).sqrt(),
            seen: Some(Seen::First { len: scratch.rows }),
            sources: None,
        })?;
        let x = attention.join(graph, "attn", attended, x)?;
        let normed = mlp_norm.forward(graph, x)?;
        graph.name(normed, "mlp_norm")?;
        mlp.forward(graph, normed, x)
    }

    /// The block alone: `y` of the `x` in a buffer, `[rows, width]`. The plan can be run any number of times; a run makes
    /// no transfer.
    ///
    /// # Errors
    /// As [`EncoderBlock::forward`]; out of memory.
    pub fn plan(
        &self,
        stream: &Stream,
        x: &Buffer<f32>,
        rows: u32,
        precision: Precision,
    ) -> Result<(Plan, Node), Error> {
        let scratch = Scratch::new(stream, self.config, rows, precision)?;
        let mut graph = Graph::new();
        let x = graph.floats(x, rows, self.config.width)?;
        let y = self.forward(&mut graph, x, &scratch)?;
        graph.keep(y)?;
        Ok((Plan::new(stream, &graph, precision)?, y))
    }

    /// Bytes of the matrices on the device.
    pub fn bytes(&self) -> u64 {
        self.weights.attention.bytes() + self.weights.mlp.bytes()
    }
}
