//! Functions that a model may call, or has to, as requests describe them.

use super::{
    calls::{self, Calls, Count, Function},
    tools::Heard,
};
use crate::{
    error::ApiError,
    fields::{Fields, shown, wrong},
    text::Text,
};
use serde_json::{Map, Value, json};
use warpsmith_models::grammar;

/// How a function lies in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// In an object `function`, as of chat.
    Nested,
    /// Beside the type, as of responses.
    Flat,
}

/// The functions of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions {
    /// What the template is told.
    pub(crate) told: Vec<Value>,
    /// Names that may be called.
    pub(crate) names: Vec<String>,
    /// What calls look like, if the answer has to be one, or if they are held to something.
    pub(crate) grammar: Option<grammar::Grammar>,
    /// Whether the answer has to be one.
    forced: bool,
    /// The schemas in it, each with the field that has it.
    pub(crate) schemas: Vec<(String, Value)>,
    /// Fields that an answer of responses repeats.
    pub(crate) given: Value,
}

impl Functions {
    /// What hears calls in an answer.
    pub(crate) fn listener(&self) -> Heard {
        match self.forced {
            false => Heard::free(self.names.clone()),
            true => Heard::forced(&self.names),
        }
    }
}

/// Who decides what is called.
enum Choice {
    Nobody,
    Model,
    /// Any of them, but one is.
    Any,
    Named(String),
}

/// The functions of a request, from `tools` and `tool_choice`.
pub(crate) fn functions(
    fields: &mut Fields,
    text: &Text,
    shape: Shape,
) -> Result<Functions, ApiError> {
    let all = fields.list("tools")?.unwrap_or_default();
    let choice = fields.take("tool_choice");
    let parallel = fields.flag("parallel_tool_calls")?.unwrap_or(true);
    let chosen = match &choice {
        None => Choice::Model,
        Some(choice) => chosen(choice, shape)?,
    };
    let given = json!({
        "tools": all,
        "tool_choice": choice.unwrap_or(json!("auto")),
        "parallel_tool_calls": parallel,
    });
    let forced = matches!(chosen, Choice::Any | Choice::Named(_));
    if all.is_empty() && forced {
        let message = "`tool_choice` wants a call, and `tools` has no function";
        return Err(ApiError::field("tool_choice", message));
    }
    if all.is_empty() || matches!(chosen, Choice::Nobody) {
        return Ok(Functions {
            given,
            ..Functions::default()
        });
    }
    if !text.bundle.template.knows_tools() {
        let name = &text.name;
        let why = format!("the chat template of model `{name}` says nothing of tools");
        return Err(ApiError::unsupported("tools", why));
    }
    let (mut told, mut known) = (Vec::new(), Vec::new());
    for (at, tool) in all.into_iter().enumerate() {
        let path = format!("tools[{at}]");
        let (tool, function) = read(&path, tool, shape)?;
        told.push(tool);
        known.push((path, function));
    }
    if let Choice::Named(name) = &chosen {
        known.retain(|(_, function)| function.name == *name);
        if known.is_empty() {
            let name = shown(&json!(name));
            let message = format!("`tool_choice` names {name}, which `tools` does not have");
            return Err(ApiError::field("tool_choice", message));
        }
    }
    let count = match parallel {
        true => Count::Any,
        false => Count::One,
    };
    let strict = known.iter().any(|(_, function)| function.strict);
    let found = match forced {
        true => Some(calls::forced(&known)?),
        false if strict || count == Count::One => {
            Some(calls::free(&known, count, &text.bundle.tokenizer)?)
        }
        false => None,
    };
    let (grammar, schemas) = match found {
        Some(Calls { grammar, schemas }) => (Some(grammar), schemas),
        None => (None, Vec::new()),
    };
    let names = known.into_iter().map(|(_, function)| function.name);
    Ok(Functions {
        told,
        names: names.collect(),
        grammar,
        forced,
        schemas,
        given,
    })
}

fn chosen(choice: &Value, shape: Shape) -> Result<Choice, ApiError> {
    match choice {
        Value::String(word) => match word.as_str() {
            "auto" => return Ok(Choice::Model),
            "none" => return Ok(Choice::Nobody),
            "required" => return Ok(Choice::Any),
            _ => {}
        },
        Value::Object(_) => {
            let mut fields = Fields::within("tool_choice", choice.clone())?;
            if fields.text("type")?.as_deref() != Some("function") {
                let why = "functions are called, and nothing else (expected \"function\")";
                return Err(ApiError::unsupported("tool_choice.type", why));
            }
            let name = match shape {
                Shape::Flat => fields.need("name")?,
                Shape::Nested => {
                    let mut function =
                        Fields::within("tool_choice.function", fields.need("function")?)?;
                    let name = function.need("name")?;
                    function.finish()?;
                    name
                }
            };
            fields.finish()?;
            if let Value::String(name) = name {
                return Ok(Choice::Named(name));
            }
        }
        _ => {}
    }
    let want = "\"auto\", \"none\", \"required\" or a function";
    Err(wrong("tool_choice", choice, want))
}

/// A function, and what templates are told of it.
fn read(path: &str, tool: Value, shape: Shape) -> Result<(Value, Function), ApiError> {
    let mut fields = Fields::within(path, tool.clone())?;
    match fields.text("type")?.as_deref() {
        Some("function") => {}
        other => {
            let found = shown(&json!(other));
            let why = format!("a tool of type {found} (expected \"function\")");
            return Err(ApiError::unsupported(fields.name("type"), why));
        }
    }
    let (told, mut function) = match shape {
        Shape::Nested => {
            let function = fields.object("function")?;
            let function = function.ok_or_else(|| {
                let name = fields.name("function");
                ApiError::field(name.clone(), format!("`{name}` is missing"))
            })?;
            fields.finish()?;
            (tool, function)
        }
        // Templates know the other shape.
        Shape::Flat => {
            let mut inner = tool.as_object().cloned().unwrap_or_else(Map::new);
            inner.remove("type");
            let told = json!({"type": "function", "function": inner});
            (told, fields)
        }
    };
    let name = match function.need("name")? {
        Value::String(name) => name,
        other => return Err(wrong(&function.name("name"), &other, "a string")),
    };
    function.text("description")?;
    let strict = function.flag("strict")?.unwrap_or(false);
    let parameters = function.take("parameters").unwrap_or(json!({}));
    if !parameters.is_object() {
        let name = function.name("parameters");
        return Err(wrong(&name, &parameters, "a JSON schema"));
    }
    function.finish()?;
    let function = Function {
        name,
        parameters,
        strict,
    };
    Ok((told, function))
}
