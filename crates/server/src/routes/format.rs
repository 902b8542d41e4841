//! What form an answer is to have: text, an object of JSON, or JSON of a schema.

use crate::{
    error::ApiError,
    fields::{Fields, wrong},
};
use serde_json::{Value, json};
use warpsmith_models::grammar::Grammar;

/// A form that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    /// None for text.
    pub(crate) grammar: Option<Grammar>,
    /// The field with the grammar.
    pub(crate) param: String,
    /// As it was asked for.
    pub(crate) value: Value,
}

/// How the fields of a schema lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In an object `json_schema`, as of chat and completions.
    Nested,
    /// Beside the type, as of responses.
    Flat,
}

/// The form in a field, text if there is none.
pub(crate) fn format(fields: &mut Fields, name: &str, layout: Layout) -> Result<Format, ApiError> {
    let param = fields.name(name);
    let Some(value) = fields.take(name) else {
        return Ok(Format {
            grammar: None,
            param,
            value: json!({"type": "text"}),
        });
    };
    let mut all = Fields::within(param.as_str(), value.clone())?;
    let kind = all.need("type")?;
    let (grammar, param) = match kind.as_str() {
        Some("text") => (None, param),
        Some("json_object") => (Some(Grammar::Object), param),
        Some("json_schema") => match layout {
            Layout::Flat => schema(&mut all)?,
            Layout::Nested => {
                let name = all.name("json_schema");
                let inner = all.object("json_schema")?;
                let mut inner = inner
                    .ok_or_else(|| ApiError::field(name.clone(), format!("`{name}` is missing")))?;
                let found = schema(&mut inner)?;
                inner.finish()?;
                found
            }
        },
        Some(_) | None => {
            let want = "\"text\", \"json_object\" or \"json_schema\"";
            return Err(wrong(&all.name("type"), &kind, want));
        }
    };
    all.finish()?;
    Ok(Format {
        grammar,
        param,
        value,
    })
}

/// A schema with its name, and the field that has it. Whether it is meant strictly makes no difference: it always holds.
fn schema(fields: &mut Fields) -> Result<(Option<Grammar>, String), ApiError> {
    fields.text("name")?;
    fields.text("description")?;
    fields.flag("strict")?;
    let schema = fields.need("schema")?;
    Ok((Some(Grammar::Schema(schema)), fields.name("schema")))
}
