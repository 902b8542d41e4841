//! Where the decoder looked while it wrote a text, and how sure it was of each token.

use super::{
    looks::{LookPass, LookSizes, Seen},
    session::Session,
    tokenizer::{Special, Tokenizer},
    words::{Scores, Timing, matrix, path, timings},
};
use crate::Error;
use std::ops::Range;

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
            self.looks(&ids, begin..begin + text.tokens.len(), heads, [frames, end])?;
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

    /// One pass over all of `ids`, by the plan for their number: made the first time, and kept.
    fn looks(
        &mut self,
        ids: &[u32],
        predicted: Range<usize>,
        heads: &[[u32; 2]],
        [frames, text]: [u32; 2],
    ) -> Result<Seen, Error> {
        let (shared, cache, passes) = self.parts();
        let sizes = LookSizes::of(ids.len() as u32, cache.capacity(), heads, text);
        let at = match passes.iter().position(|pass| *pass.sizes() == sizes) {
            Some(at) => at,
            None => {
                passes.push(LookPass::new(shared, cache, sizes)?);
                passes.len() - 1
            }
        };
        passes[at].run(shared, ids, predicted, frames as usize)
    }
}
