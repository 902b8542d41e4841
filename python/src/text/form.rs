//! What texts are held to: a JSON schema, a grammar, a regular expression.

use crate::errors::{self, UnsupportedError};
use pyo3::prelude::*;
use warpsmith::models::{
    grammar::{Constraint, Grammar},
    llama::Bundle,
};

/// The form that an argument of Python asks for: `kind` is its name.
///
/// # Errors
/// `InputError` with what of it cannot be done, `UnsupportedError` for a vocabulary that is not known as bytes.
pub(super) fn read(bundle: &Bundle, kind: &str, text: &str) -> PyResult<Constraint> {
    let grammar = match kind {
        "json_schema" => {
            let schema = serde_json::from_str(text);
            Grammar::Schema(schema.map_err(|error| errors::input(kind, "a JSON schema", error))?)
        }
        "grammar" => Grammar::Lark(text.to_owned()),
        "regex" => Grammar::Regex(text.to_owned()),
        other => return Err(errors::input("form", "a kind of form", other)),
    };
    let grammars = bundle.grammars();
    let grammars = grammars.map_err(|why| UnsupportedError::new_err(format!("{kind}: {why}")))?;
    grammars.compile(&grammar).map_err(errors::model)
}
