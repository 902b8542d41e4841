//! Grammars that answers follow: made ready where a request is read, so that the thread of an engine only goes on with them.

use super::{Asked, Text};
use crate::error::ApiError;
use warpsmith_models::{
    Error,
    grammar::{Grammar, Guide},
};

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
        let grammars = self.bundle.grammars();
        let grammars = grammars.map_err(|why| ApiError::unsupported(param, why.to_string()))?;
        let wrong = |error: Error| ApiError::field(param, format!("`{param}`: {error}"));
        let constraint = grammars.compile(grammar).map_err(wrong)?;
        let longest = asked.prompts.iter().map(|prompt| prompt.ids.len()).max();
        let rest = self.rest(longest.unwrap_or(0));
        let most = asked.max_tokens.map_or(rest, |most| most.min(rest));
        asked.guide = Some(Guide::begin(constraint, most, asked.logprobs).map_err(wrong)?);
        Ok(())
    }
}
