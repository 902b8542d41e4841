//! Grammars that answers follow: made ready where a request is read, so that the thread of an engine only goes on with them.

use super::{Asked, Text};
use crate::error::ApiError;
use std::sync::OnceLock;
use warpsmith_models::{
    Error,
    grammar::{Grammar, Grammars, Guide},
};

/// What makes them, from the first request on that has one.
#[derive(Debug, Default)]
pub(super) struct Guides(OnceLock<Result<Grammars, String>>);

impl Text {
    /// Has what is asked follow a grammar, which the field `param` describes.
    ///
    /// # Errors
    /// What of the grammar cannot be done; a model whose tokens are not known as bytes.
    pub(crate) fn guide(
        &self,
        asked: &mut Asked,
        param: &str,
        grammar: &Grammar,
    ) -> Result<(), ApiError> {
        let grammars = self.guides.0.get_or_init(|| {
            Grammars::new(&self.bundle.tokenizer).map_err(|error| error.to_string())
        });
        let grammars = grammars
            .as_ref()
            .map_err(|why| ApiError::unsupported(param, why))?;
        let wrong = |error: Error| ApiError::field(param, format!("`{param}`: {error}"));
        let constraint = grammars.compile(grammar).map_err(wrong)?;
        let longest = asked.prompts.iter().map(|prompt| prompt.ids.len()).max();
        let rest = self.rest(longest.unwrap_or(0));
        let most = asked.max_tokens.map_or(rest, |most| most.min(rest));
        // One is left to be drawn, and probabilities are told of tokens that were drawn.
        let room = match asked.logprobs {
            None => most.saturating_sub(1) as usize,
            Some(_) => 0,
        };
        asked.guide = Some(Guide::begin(constraint, room).map_err(wrong)?);
        Ok(())
    }
}
