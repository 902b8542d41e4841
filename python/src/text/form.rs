//! What texts are held to: a JSON schema, a grammar, a regular expression.

use crate::errors::{self, UnsupportedError};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};
use warpsmith::models::{
    grammar::{Constraint, Grammar, Grammars, Guide},
    tokenizer::Tokenizer,
};

/// Makes constraints; sorts the vocabulary for the first.
#[derive(Default)]
pub(super) struct Forms(OnceLock<Result<Grammars, String>>);

impl Forms {
    /// The form that an argument of Python asks for: `kind` is its name.
    ///
    /// # Errors
    /// `InputError` with what of it cannot be done, `UnsupportedError` for a vocabulary that is not known as bytes.
    pub(super) fn read(
        &self,
        tokenizer: &Arc<Tokenizer>,
        kind: &str,
        text: &str,
    ) -> PyResult<Constraint> {
        let grammar = match kind {
            "json_schema" => {
                let schema = serde_json::from_str(text);
                Grammar::Schema(
                    schema.map_err(|error| errors::input(kind, "a JSON schema", error))?,
                )
            }
            "grammar" => Grammar::Lark(text.to_owned()),
            "regex" => Grammar::Regex(text.to_owned()),
            other => return Err(errors::input("form", "a kind of form", other)),
        };
        let made = || Grammars::new(tokenizer).map_err(|error| error.to_string());
        let grammars = self.0.get_or_init(made).as_ref();
        let grammars =
            grammars.map_err(|why| UnsupportedError::new_err(format!("{kind}: {why}")))?;
        grammars.compile(&grammar).map_err(errors::model)
    }
}

/// The form at the beginning of a text of at most `most` tokens.
///
/// # Errors
/// `InputError` for a grammar beyond the limits of its parser.
pub(super) fn guide(form: &Constraint, most: u32, logprobs: Option<usize>) -> PyResult<Guide> {
    // One is left to be drawn, and probabilities are told of tokens that were drawn.
    let room = match logprobs {
        None => most.saturating_sub(1) as usize,
        Some(_) => 0,
    };
    Guide::begin(form.clone(), room).map_err(errors::model)
}
