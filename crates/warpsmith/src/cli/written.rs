//! Tokens of one continuation to the text that is certain.

use anyhow::Result;
use warpsmith::models::{
    text::{StopMatcher, Streamed},
    tokenizer::{Decoder, Tokenizer},
};

/// What turns tokens into text, up to a stop string.
pub(crate) struct Written<'a> {
    tokenizer: &'a Tokenizer,
    decoder: Decoder<'a>,
    stops: StopMatcher,
}

impl<'a> Written<'a> {
    /// Of tokens that follow `prompt`.
    pub(crate) fn after(
        prompt: &[u32],
        tokenizer: &'a Tokenizer,
        stops: StopMatcher,
    ) -> Written<'a> {
        Written {
            tokenizer,
            decoder: tokenizer.decoder_after(prompt),
            stops,
        }
    }

    /// The text that is certain with the next token. One that ends the text has none, and neither has an id that the model
    /// knows and the tokenizer does not.
    pub(crate) fn push(&mut self, token: u32) -> Result<Streamed> {
        let known = (token as usize) < self.tokenizer.vocab_len();
        if self.tokenizer.is_end_of_generation(token) || !known {
            return Ok(Streamed::Text(String::new()));
        }
        Ok(self.stops.push(&self.decoder.push(token)?))
    }

    /// The text that was held back, where no stop string came.
    pub(crate) fn finish(mut self) -> Result<String> {
        Ok(match self.stops.push(&self.decoder.finish()?) {
            Streamed::Text(text) => text + &self.stops.finish(),
            Streamed::Stopped { text, stop: _ } => text,
        })
    }
}
