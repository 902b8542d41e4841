//! Where the decoder looked while it wrote a text, and how sure it was of each token.

use super::{
    decoder::Inputs,
    session::{Session, Shared},
    tokenizer::{Special, Tokenizer},
    words::{Scores, Timing, matrix, path, timings},
};
use crate::Error;
use std::sync::Arc;
use warpsmith_graph::{At, Graph, Looks, Plan};

/// A text of the window that was encoded last.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// What stands before it: the start, the language, the task.
    pub start: &'a [u32],
    /// Its tokens, without timestamps.
    pub tokens: &'a [u32],
    /// The code of its language.
    pub language: &'a str,
    /// Frames of the mel window that are sound.
    pub frames: u32,
}

/// Frames of the mel window for one of the encoder.
const STRIDE: u32 = 2;

impl Session {
    /// The times of the words of a text: one pass over all of it. `heads` are those that follow the audio, each
    /// `[layer, head]`.
    ///
    /// # Errors
    /// [`Error::ContextFull`] for a text that the decoder does not hold; a head that there is not; device errors.
    pub fn align(
        &mut self,
        tokenizer: &Tokenizer,
        heads: &[[u32; 2]],
        text: Text<'_>,
    ) -> Result<Vec<Timing>, Error> {
        let Special {
            no_timestamps, end, ..
        } = *tokenizer.special();
        let mut ids = text.start.to_vec();
        ids.push(no_timestamps);
        ids.extend(text.tokens);
        ids.push(end);
        if ids.len() as u64 > u64::from(self.cache().capacity()) {
            return Err(Error::ContextFull {
                context: self.cache().capacity(),
                have: 0,
                more: ids.len(),
            });
        }
        let frames = (text.frames / STRIDE).min(self.model().dims().n_audio_ctx);
        if frames == 0 || text.tokens.is_empty() {
            return Ok(Vec::new());
        }
        let begin = text.start.len();
        let (scores, probabilities) =
            self.looks(&ids, begin..begin + text.tokens.len(), heads, frames, end)?;
        let cost = matrix(Scores {
            values: &scores,
            tokens: ids.len(),
            frames: frames as usize,
        });
        // The rows that predict the text and the end.
        let width = frames as usize;
        let cost = &cost[begin * width..(ids.len() - 1) * width];
        let mut written = text.tokens.to_vec();
        written.push(end);
        let words = tokenizer.split_words(&written, text.language);
        Ok(timings(&words, &path(cost, width), &probabilities))
    }

    /// Scores `[heads, ids, frames]`, and the probabilities of the ids after `predicted`, among text alone.
    fn looks(
        &mut self,
        ids: &[u32],
        predicted: std::ops::Range<usize>,
        heads: &[[u32; 2]],
        frames: u32,
        text: u32,
    ) -> Result<(Vec<f32>, Vec<f32>), Error> {
        let (shared, cache) = self.parts();
        let Shared {
            model,
            stream,
            options,
            audio,
            ..
        } = shared;
        let dims = model.dims();
        let known =
            |[layer, head]: &&[u32; 2]| *layer >= dims.n_text_layer || *head >= dims.n_text_head;
        if let Some([layer, head]) = heads.iter().find(known) {
            return Err(Error::Unsupported {
                what: format!("alignment by head {head} of layer {layer}"),
            });
        }
        let count = ids.len() as u32;
        let upload = |values: &[u32]| stream.upload_new(values);
        let (tokens, places, visible) = (
            upload(ids)?,
            upload(&(0..count).collect::<Vec<_>>())?,
            upload(&(1..=count).collect::<Vec<_>>())?,
        );
        let all = shared.frames(count)?;
        let wanted = upload(&ids[predicted.start + 1..predicted.end + 1])?;
        let mut graph = Graph::new();
        let inputs = Inputs {
            ids: graph.ids(&tokens),
            places: graph.ids(&places),
            to: At::From(0),
            visible: graph.ids(&visible),
            sources: None,
            frames: graph.ids(&all),
            own: cache,
            audio,
        };
        let decoder = model.decoder();
        let hidden = decoder.hidden(&mut graph, inputs)?;
        let rows = predicted.len() as u32;
        let last = graph.rows(hidden.output, predicted.start as u32, rows)?;
        let logits = decoder.logits(&mut graph, last)?;
        let wanted = graph.ids(&wanted);
        let sure = graph.log_probability(logits, wanted, text)?;
        graph.keep(sure)?;
        let mut looks = Vec::new();
        for [layer, head] in heads {
            let chosen = upload(&[*head])?;
            let chosen = graph.ids(&chosen);
            let scores = graph.look(Looks {
                q: hidden.cross_queries[*layer as usize],
                chosen,
                cache: Arc::clone(&audio[*layer as usize]),
                len: frames,
                scale: 1.0 / (decoder.head_dim as f32).sqrt(),
            })?;
            graph.keep(scores)?;
            looks.push(scores);
        }
        let plan = Plan::new(stream, &graph, options.precision)?;
        plan.run(stream)?;
        let mut scores = Vec::new();
        for node in looks {
            scores.extend(stream.download(plan.floats(node)?)?.wait()?);
        }
        let sure = stream.download(plan.floats(sure)?)?.wait()?;
        Ok((scores, sure.into_iter().map(f32::exp).collect()))
    }
}
