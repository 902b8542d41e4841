//! The forward pass as a graph.

use super::model::{Linear, Model};
use std::sync::Arc;
use warpsmith_graph::{
    At, Attention, Cache, Error, Graph, MatMul, Node, PagedAppend, PagedAttention, PagedRows,
    Pages, Rotation, Seen,
};
use warpsmith_library::{epilogue::Activation, pointwise::Curve};

/// What a pass reads besides the weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    pub(super) ids: Node,
    pub(super) positions: Node,
    /// Keys that each row sees.
    pub(super) visible: Node,
    /// The first position, where it is known while planning (prefill).
    pub(super) start: Option<u32>,
}

impl Inputs {
    /// Calls them what they are, for pictures.
    pub(super) fn name(self, graph: &mut Graph) -> Result<(), Error> {
        graph.name(self.ids, "token")?;
        graph.name(self.positions, "position")?;
        graph.name(self.visible, "length")?;
        Ok(())
    }
}

/// Where keys and values of earlier tokens are, layer by layer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Memory<'a> {
    /// One sequence in caches of its own.
    Own(&'a [Arc<Cache>]),
    /// Sequences in pages.
    Paged {
        layers: &'a [Arc<Pages>],
        /// The sequence of each row.
        slots: Node,
        /// How rows hang together.
        rows: PagedRows,
    },
}

fn linear(
    graph: &mut Graph,
    x: Node,
    layer: &Linear,
    residual: Option<Node>,
) -> Result<Node, Error> {
    graph.matmul(MatMul {
        x,
        weights: Arc::clone(&layer.weights),
        bias: layer.bias.clone(),
        activation: Activation::None,
        residual,
    })
}

/// A node of layer `at` with its name.
fn named(graph: &mut Graph, at: usize, name: &str, node: Node) -> Result<Node, Error> {
    graph.name(node, format_args!("layer.{at}.{name}"))
}

/// Attention over the one sequence, which the rows' keys and values now belong to.
fn attend(
    graph: &mut Graph,
    model: &Model,
    cache: &Arc<Cache>,
    inputs: Inputs,
    [q, k, v]: [Node; 3],
) -> Result<Node, Error> {
    graph.append([k, v], At::Positions(inputs.positions), cache)?;
    graph.attend(Attention {
        q,
        visible: inputs.visible,
        cache: Arc::clone(cache),
        heads: model.config().heads,
        scale: scale(model),
        seen: inputs.start.map(|start| Seen::UpTo { start }),
        sources: None,
    })
}

/// Attention where each row belongs to a sequence in pages.
fn attend_paged(
    graph: &mut Graph,
    model: &Model,
    pages: &Arc<Pages>,
    (slots, rows): (Node, PagedRows),
    inputs: Inputs,
    [q, k, v]: [Node; 3],
) -> Result<Node, Error> {
    graph.append_paged(PagedAppend {
        k,
        v,
        positions: inputs.positions,
        slots,
        pages: Arc::clone(pages),
    })?;
    graph.attend_paged(PagedAttention {
        q,
        visible: inputs.visible,
        slots,
        pages: Arc::clone(pages),
        heads: model.config().heads,
        scale: scale(model),
        rows,
    })
}

fn scale(model: &Model) -> f32 {
    1.0 / (model.config().head_dim as f32).sqrt()
}

/// The normed hidden states after the last layer, `[rows, width]`; keys and values go to the memory.
pub(super) fn hidden(
    graph: &mut Graph,
    model: &Model,
    memory: Memory<'_>,
    inputs: Inputs,
) -> Result<Node, Error> {
    let config = model.config();
    let eps = config.eps;
    let mut x = graph.embed(&model.embedding, inputs.ids)?;
    graph.name(x, "embed")?;
    for (at, layer) in model.layers.iter().enumerate() {
        let normed = graph.rms_norm(x, &layer.attention_norm, eps, 1)?;
        named(graph, at, "attn_norm", normed)?;
        let mut q = linear(graph, normed, &layer.query, None)?;
        let mut k = linear(graph, normed, &layer.key, None)?;
        let v = linear(graph, normed, &layer.value, None)?;
        for (name, node) in [("attn.q", q), ("attn.k", k), ("attn.v", v)] {
            named(graph, at, name, node)?;
        }
        if let Some(gain) = &layer.query_norm {
            q = graph.rms_norm(q, gain, eps, config.heads)?;
            named(graph, at, "attn.q_norm", q)?;
        }
        if let Some(gain) = &layer.key_norm {
            k = graph.rms_norm(k, gain, eps, config.kv_heads)?;
            named(graph, at, "attn.k_norm", k)?;
        }
        if config.rope_dims > 0 {
            let table = Arc::clone(&model.rotation);
            let positions = inputs.positions;
            (q, k) = graph.rotate(Rotation {
                q,
                k,
                positions,
                head_dim: config.head_dim,
                table,
                pairing: config.pairing,
            })?;
            named(graph, at, "attn.q_rotated", q)?;
            named(graph, at, "attn.k_rotated", k)?;
        }
        let attended = match memory {
            Memory::Own(caches) => attend(graph, model, &caches[at], inputs, [q, k, v])?,
            Memory::Paged {
                layers,
                slots,
                rows,
            } => attend_paged(graph, model, &layers[at], (slots, rows), inputs, [q, k, v])?,
        };
        named(graph, at, "attn.heads", attended)?;
        x = linear(graph, attended, &layer.output, Some(x))?;
        named(graph, at, "attn.out", x)?;
        let normed = graph.rms_norm(x, &layer.feed_forward_norm, eps, 1)?;
        let gate = linear(graph, normed, &layer.gate, None)?;
        let up = linear(graph, normed, &layer.up, None)?;
        let inner = graph.gated(gate, up, Curve::Silu)?;
        x = linear(graph, inner, &layer.down, Some(x))?;
        for (name, node) in [
            ("mlp_norm", normed),
            ("mlp.gate", gate),
            ("mlp.up", up),
            ("mlp.inner", inner),
            ("mlp.down", x),
        ] {
            named(graph, at, name, node)?;
        }
    }
    let normed = graph.rms_norm(x, &model.final_norm, eps, 1)?;
    graph.name(normed, "norm")
}

/// Logits of each row of `hidden`.
pub(super) fn logits(graph: &mut Graph, model: &Model, hidden: Node) -> Result<Node, Error> {
    let logits = graph.matmul(MatMul {
        x: hidden,
        weights: Arc::clone(&model.head),
        bias: None,
        activation: Activation::None,
        residual: None,
    })?;
    graph.name(logits, "logits")
}
