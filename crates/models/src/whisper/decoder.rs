//! The decoder: tokens and positions, blocks with self- and cross-attention, logits by the token embedding.

use super::{
    kv::KvCache,
    parts::{Attention, Linear, Mlp, Norm},
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
        for (at, (block, cache)) in self.blocks.iter().zip(caches).enumerate() {
            let mut linear = |layer: &Linear, name: &str| {
                let y = layer.forward(graph, encoded, Activation::None, None)?;
                Ok::<_, Error>(graph.name(y, format_args!("decoder.{at}.cross.{name}"))?)
            };
            let kv = [
                linear(&block.cross.key, "k")?,
                linear(&block.cross.value, "v")?,
            ];
            graph.append(kv, At::From(0), cache)?;
        }
        Ok(())
    }

    /// The hidden states of every row; keys and values go to the caches.
    pub(crate) fn hidden(&self, graph: &mut Graph, inputs: Inputs<'_>) -> Result<Hidden, Error> {
        let tokens = graph.embed(&self.embedding, inputs.ids)?;
        graph.name(tokens, "decoder.tokens")?;
        let places = graph.embed(&self.positions, inputs.places)?;
        graph.name(places, "decoder.positions")?;
        let mut x = graph.add(tokens, places)?;
        graph.name(x, "decoder.input")?;
        let mut cross_queries = Vec::new();
        for at in 0..self.blocks.len() {
            let name = format_args!("decoder.{at}");
            let [y, q] = graph.within(name, |graph| self.block(graph, at, x, inputs))?;
            x = y;
            cross_queries.push(q);
        }
        let output = self.norm.forward(graph, x)?;
        graph.name(output, "decoder.norm")?;
        Ok(Hidden {
            output,
            cross_queries,
        })
    }

    /// Block `at`: its output, and the queries of its cross-attention.
    fn block(
        &self,
        graph: &mut Graph,
        at: usize,
        x: Node,
        inputs: Inputs<'_>,
    ) -> Result<[Node; 2], Error> {
        let scale = 1.0 / (self.head_dim as f32).sqrt();
        let DecoderBlock {
            attention_norm,
            attention,
            cross_norm,
            cross,
            mlp_norm,
            mlp,
        } = &self.blocks[at];
        let normed = attention_norm.forward(graph, x)?;
        graph.name(normed, "attn_norm")?;
        let [q, k, v] = attention.project(graph, normed)?;
        let cache = inputs.own.layer(at);
        graph.append([k, v], inputs.to, cache)?;
        let attended = graph.attend(Attend {
            q,
            visible: inputs.visible,
            cache: Arc::clone(cache),
            heads: self.heads,
            scale,
            seen: None,
            sources: inputs.sources,
        })?;
        let x = attention.join(graph, "attn", attended, x)?;
        let normed = cross_norm.forward(graph, x)?;
        graph.name(normed, "cross_norm")?;
        let q = cross.query.forward(graph, normed, Activation::None, None)?;
        graph.name(q, "cross.q")?;
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
        let x = cross.join(graph, "cross", attended, x)?;
        let normed = mlp_norm.forward(graph, x)?;
        graph.name(normed, "mlp_norm")?;
        Ok([mlp.forward(graph, normed, x)?, q])
    }

    /// Logits of each row of `hidden`.
    pub(crate) fn logits(&self, graph: &mut Graph, hidden: Node) -> Result<Node, Error> {
        let logits = graph.matmul(MatMul {
            x: hidden,
            weights: Arc::clone(&self.embedding),
            bias: None,
            activation: Activation::None,
            residual: None,
        })?;
        Ok(graph.name(logits, "logits")?)
    }
}
