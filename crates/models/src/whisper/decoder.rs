//! The decoder: tokens and positions, blocks with self- and cross-attention, logits by the token embedding.

use super::{
    kv::KvCache,
    parts::{Attention, Mlp, Norm},
};
use crate::Error;
use std::sync::Arc;
use warpsmith_graph::{At, Attention as Attend, Cache, Graph, MatMul, Node, Seen, Weights};
use warpsmith_library::epilogue::Activation;

/// The weights of a decoder block.
#[derive(Debug)]
pub struct DecoderBlock {
    /// In front of the self-attention.
    pub attention_norm: Norm,
    /// Over the tokens so far.
    pub attention: Attention,
    /// In front of the cross-attention.
    pub cross_norm: Norm,
    /// Over the audio.
    pub cross: Attention,
    /// In front of the feed-forward part.
    pub mlp_norm: Norm,
    /// Feed-forward part.
    pub mlp: Mlp,
}

/// The decoder.
#[derive(Debug)]
pub struct Decoder {
    /// `[vocab, width]`, also the output head.
    pub embedding: Arc<Weights>,
    /// `[context, width]`.
    pub positions: Arc<Weights>,
    /// Blocks.
    pub blocks: Vec<DecoderBlock>,
    /// The last norm.
    pub norm: Norm,
    /// Heads.
    pub heads: u32,
    /// Dimensions of a head.
    pub head_dim: u32,
}

/// What a decoder pass reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) ids: Node,
    /// Rows of the position table.
    pub(crate) places: Node,
    /// Where keys and values go.
    pub(crate) to: At,
    /// Keys that each row sees of its sequence.
    pub(crate) visible: Node,
    /// Of forked rows.
    pub(crate) sources: Option<Node>,
    /// How many frames each row sees: all.
    pub(crate) frames: Node,
    /// Self-attention.
    pub(crate) own: &'a KvCache,
    /// Cross-attention.
    pub(crate) audio: &'a [Arc<Cache>],
}

/// The normed hidden states, and the queries of each layer's cross-attention.
pub(crate) struct Hidden {
    pub(crate) output: Node,
    pub(crate) cross_queries: Vec<Node>,
}

impl Decoder {
    /// Keys and values of the audio, once for all tokens.
    pub(crate) fn audio(
        &self,
        graph: &mut Graph,
        encoded: Node,
        caches: &[Arc<Cache>],
    ) -> Result<(), Error> {
        for (block, cache) in self.blocks.iter().zip(caches) {
            let [k, v] = [&block.cross.key, &block.cross.value]
                .map(|layer| layer.forward(graph, encoded, Activation::None, None));
            graph.append([k?, v?], At::From(0), cache)?;
        }
        Ok(())
    }

    /// The hidden states of every row; keys and values go to the caches.
    pub(crate) fn hidden(&self, graph: &mut Graph, inputs: Inputs<'_>) -> Result<Hidden, Error> {
        let scale = 1.0 / (self.head_dim as f32).sqrt();
        let tokens = graph.embed(&self.embedding, inputs.ids)?;
        let places = graph.embed(&self.positions, inputs.places)?;
        let mut x = graph.add(tokens, places)?;
        let mut cross_queries = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let normed = block.attention_norm.forward(graph, x)?;
            let own = &block.attention;
            let [q, k, v] = [&own.query, &own.key, &own.value]
                .map(|layer| layer.forward(graph, normed, Activation::None, None));
            let cache = inputs.own.layer(at);
            graph.append([k?, v?], inputs.to, cache)?;
            let attended = graph.attend(Attend {
                q: q?,
                visible: inputs.visible,
                cache: Arc::clone(cache),
                heads: self.heads,
                scale,
                seen: None,
                sources: inputs.sources,
            })?;
            x = own
                .out
                .forward(graph, attended, Activation::None, Some(x))?;
            let normed = block.cross_norm.forward(graph, x)?;
            let q = block
                .cross
                .query
                .forward(graph, normed, Activation::None, None)?;
            cross_queries.push(q);
            let cache = &inputs.audio[at];
            let attended = graph.attend(Attend {
                q,
                visible: inputs.frames,
                cache: Arc::clone(cache),
                heads: self.heads,
                scale,
                seen: Some(Seen::First {
                    len: cache.max_len(),
                }),
                sources: None,
            })?;
            x = block
                .cross
                .out
                .forward(graph, attended, Activation::None, Some(x))?;
            let normed = block.mlp_norm.forward(graph, x)?;
            x = block.mlp.forward(graph, normed, x)?;
        }
        Ok(Hidden {
            output: self.norm.forward(graph, x)?,
            cross_queries,
        })
    }

    /// Logits of each row of `hidden`.
    pub(crate) fn logits(&self, graph: &mut Graph, hidden: Node) -> Result<Node, Error> {
        Ok(graph.matmul(MatMul {
            x: hidden,
            weights: Arc::clone(&self.embedding),
            bias: None,
            activation: Activation::None,
            residual: None,
        })?)
    }
}
