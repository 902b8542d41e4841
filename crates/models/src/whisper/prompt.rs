//! Prompts: several tokens read at once, padded in front to a size that was planned.

use super::{
    decoder::Inputs,
    kv::KvCache,
    session::{Pass, Shared},
};
use crate::Error;
use warpsmith_device::{Buffer, Slice, Stream};
use warpsmith_graph::{At, Graph, Node, Plan};

/// The pass for prompts up to a size.
pub(crate) struct Prompt {
    size: u32,
    ids: Buffer<u32>,
    places: Buffer<u32>,
    positions: Buffer<u32>,
    visible: Buffer<u32>,
    pass: Pass,
    logits: Node,
    no_speech: Node,
}

/// The last tokens whose logits are computed: a task is told in up to four.
const LAST: u32 = 4;

impl Prompt {
    pub(crate) fn new(shared: &Shared, cache: &KvCache, size: u32) -> Result<Prompt, Error> {
        let stream = &shared.stream;
        let buffer = || stream.alloc::<u32>(size as usize);
        let (ids, places, positions, visible) = (buffer()?, buffer()?, buffer()?, buffer()?);
        let silence = stream.upload_new(&[shared.options.rules.no_speech; LAST as usize])?;
        let frames = shared.frames(size)?;
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
        let logits = shared.logits_of(&mut graph, inputs, Some(LAST))?;
        let silence = graph.ids(&silence);
        let vocab = shared.model.dims().n_vocab;
        let no_speech = graph.log_probability(logits, silence, vocab)?;
        graph.name(no_speech, "no_speech")?;
        graph.keep(logits)?;
        graph.keep(no_speech)?;
        Ok(Prompt {
            size,
            pass: shared.pass(&graph)?,
            ids,
            places,
            positions,
            visible,
            logits,
            no_speech,
        })
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.pass.plan
    }

    /// Reads `ids`, at most as many as it is planned for.
    pub(crate) fn run(&mut self, shared: &Shared, ids: &[u32]) -> Result<(), Error> {
        let stream = &shared.stream;
        let padding = self.size as usize - ids.len();
        let padded = |filler: u32, values: &mut dyn Iterator<Item = u32>| -> Vec<u32> {
            let mut all = vec![filler; padding];
            all.extend(values);
            all
        };
        let count = 0..ids.len() as u32;
        // Padding stands in front, goes nowhere and sees nothing.
        stream.upload(&mut self.ids, &padded(0, &mut ids.iter().copied()))?;
        stream.upload(&mut self.places, &padded(0, &mut count.clone()))?;
        stream.upload(&mut self.positions, &padded(u32::MAX, &mut count.clone()))?;
        stream.upload(&mut self.visible, &padded(0, &mut count.map(|at| at + 1)))?;
        shared.run("prompt", &self.pass)
    }

    /// The logits of the last token.
    pub(crate) fn last_logits(&self) -> Result<Slice<'_, f32>, Error> {
        let rows = self.pass.plan.floats(self.logits)?;
        let vocab = rows.len() / LAST as usize;
        Ok(rows.range(rows.len() - vocab..rows.len())?)
    }

    /// The probability of the no-speech token after the token `back` places from the end of `len`.
    pub(crate) fn no_speech(&self, stream: &Stream, len: u32, back: usize) -> Result<f32, Error> {
        let rows = stream
            .download(self.pass.plan.floats(self.no_speech)?)?
            .wait()?;
        let at = rows.len().checked_sub(back + 1).ok_or(Error::NoLogits)?;
        if rows[at].is_nan() {
            return Err(Error::NotFinite {
                sequence: None,
                position: len - 1 - back as u32,
                found: None,
            });
        }
        Ok(rows[at].exp())
    }
}
