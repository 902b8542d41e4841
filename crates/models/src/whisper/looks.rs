//! The pass over a whole text that shows where the decoder looks: planned once for each size that texts are padded to.

use super::{
    decoder::Inputs,
    kv::KvCache,
    session::{Pass, Shared},
};
use crate::Error;
use std::{ops::Range, sync::Arc};
use warpsmith_device::Buffer;
use warpsmith_graph::{At, Graph, Looks, Node};

/// Sizes below the decoder's context; most windows have some 100 tokens.
const SIZES: [u32; 4] = [32, 64, 128, 256];

/// What a pass is planned for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LookSizes {
    /// Tokens.
    pub(crate) size: u32,
    /// Heads, each `[layer, head]`.
    pub(crate) heads: Vec<[u32; 2]>,
    /// Tokens that are text.
    pub(crate) text: u32,
}

impl LookSizes {
    /// For texts of `count` tokens with their start and end.
    pub(crate) fn of(count: u32, context: u32, heads: &[[u32; 2]], text: u32) -> LookSizes {
        let size = SIZES.into_iter().find(|size| *size >= count);
        LookSizes {
            size: size.unwrap_or(context).min(context),
            heads: heads.to_vec(),
            text,
        }
    }
}

/// A planned pass.
pub(crate) struct LookPass {
    sizes: LookSizes,
    ids: Buffer<u32>,
    places: Buffer<u32>,
    positions: Buffer<u32>,
    visible: Buffer<u32>,
    wanted: Buffer<u32>,
    pass: Pass,
    scores: Vec<Node>,
    sure: Node,
}

/// What was seen: scores `[heads, ids, frames]`, and the probabilities of tokens.
pub(crate) type Seen = (Vec<f32>, Vec<f32>);

impl LookPass {
    pub(crate) fn new(
        shared: &Shared,
        cache: &KvCache,
        sizes: LookSizes,
    ) -> Result<LookPass, Error> {
        let (stream, dims) = (&shared.stream, shared.model.dims());
        let foreign =
            |[layer, head]: &&[u32; 2]| *layer >= dims.n_text_layer || *head >= dims.n_text_head;
        if let Some([layer, head]) = sizes.heads.iter().find(foreign) {
            return Err(Error::Unsupported {
                what: format!("alignment by head {head} of layer {layer}"),
            });
        }
        let size = sizes.size;
        let buffer = || stream.alloc::<u32>(size as usize);
        let (ids, places, positions) = (buffer()?, buffer()?, buffer()?);
        let (visible, wanted, frames) = (buffer()?, buffer()?, shared.frames(size)?);
        let mut graph = Graph::new();
        let inputs = Inputs {
            ids: graph.ids(&ids),
            places: graph.ids(&places),
            to: At::Positions(graph.ids(&positions)),
            visible: graph.ids(&visible),
            sources: None,
            frames: graph.ids(&frames),
            own: cache,
            audio: &shared.audio,
        };
        let decoder = shared.model.decoder();
        let hidden = decoder.hidden(&mut graph, inputs)?;
        let logits = decoder.logits(&mut graph, hidden.output)?;
        let tokens = graph.ids(&wanted);
        let sure = graph.log_probability(logits, tokens, sizes.text)?;
        graph.name(sure, "log_probability")?;
        graph.keep(sure)?;
        let mut scores = Vec::new();
        for [layer, head] in &sizes.heads {
            let chosen = stream.upload_new(&[*head])?;
            let chosen = graph.ids(&chosen);
            let node = graph.look(Looks {
                q: hidden.cross_queries[*layer as usize],
                chosen,
                cache: Arc::clone(&shared.audio[*layer as usize]),
                len: dims.n_audio_ctx,
                scale: 1.0 / (decoder.head_dim as f32).sqrt(),
            })?;
            graph.name(node, format_args!("decoder.{layer}.cross.scores.{head}"))?;
            graph.keep(node)?;
            scores.push(node);
        }
        Ok(LookPass {
            pass: shared.pass(&graph)?,
            sizes,
            ids,
            places,
            positions,
            visible,
            wanted,
            scores,
            sure,
        })
    }

    pub(crate) fn sizes(&self) -> &LookSizes {
        &self.sizes
    }

    /// Looks at `ids` over the first `frames`; the probabilities are those of the ids after `predicted`.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        ids: &[u32],
        predicted: Range<usize>,
        frames: usize,
    ) -> Result<Seen, Error> {
        let stream = &shared.stream;
        let padding = self.sizes.size as usize - ids.len();
        let padded = |filler: u32, values: &mut dyn Iterator<Item = u32>| -> Vec<u32> {
            let mut all = vec![filler; padding];
            all.extend(values);
            all
        };
        let count = 0..ids.len() as u32;
        // Padding stands in front, goes nowhere and sees nothing. After each id the next is wanted.
        stream.upload(&mut self.ids, &padded(0, &mut ids.iter().copied()))?;
        stream.upload(&mut self.places, &padded(0, &mut count.clone()))?;
        stream.upload(&mut self.positions, &padded(u32::MAX, &mut count.clone()))?;
        stream.upload(&mut self.visible, &padded(0, &mut count.map(|at| at + 1)))?;
        let next = ids[1..].iter().copied().chain([0]);
        let next = next.map(|id| id.min(self.sizes.text - 1));
        stream.upload(&mut self.wanted, &padded(0, &mut next.into_iter()))?;
        shared.run("align", &self.pass)?;
        let plan = &self.pass.plan;
        let mut scores = Vec::new();
        for node in &self.scores {
            let all = plan.floats(*node)?;
            let width = all.len() / self.sizes.size as usize;
            let rows = stream
                .download(all.range(padding * width..all.len())?)?
                .wait()?;
            scores.extend(rows.chunks_exact(width).flat_map(|row| &row[..frames]));
        }
        let sure = stream.download(plan.floats(self.sure)?)?.wait()?;
        let first = predicted.start;
        let sure = &sure[padding..][predicted];
        if let Some(at) = sure.iter().position(|sure| sure.is_nan()) {
            return Err(Error::NotFinite {
                sequence: None,
                position: (first + at) as u32,
                found: None,
            });
        }
        Ok((scores, sure.iter().map(|sure| sure.exp()).collect()))
    }
}
