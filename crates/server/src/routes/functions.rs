//! Functions that a model may call, or has to, as requests describe them.

use super::tools::Heard;
use crate::{
    error::ApiError,
    fields::{Fields, shown, wrong},
    text::Text,
};
use serde_json::{Map, Value, json};
use warpsmith_models::{Error, grammar};

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
    /// What a call looks like, if the answer has to be one.
    pub(crate) grammar: Option<grammar::Grammar>,
    /// The schemas in it, each with the field that has it.
    pub(crate) schemas: Vec<(String, Value)>,
    /// Fields that an answer of responses repeats.
    pub(crate) given: Value,
}

impl Functions {
    /// What hears calls in an answer.
    pub(crate) fn listener(&self) -> Heard {
        match self.grammar {
            None => Heard::free(self.names.clone()),
            Some(_) => Heard::forced(&self.names),
        }
    }
}

/// One function.
struct Function {
    name: String,
    parameters: Value,
}

/// Who decides what is called.
enum Choice {
    Nobody,
    Model,
    /// Any of them, but one is.
    Any,
    Named(String),
}

/// What begins a call that is forced, up to its arguments.
pub(super) fn beginning(name: &str) -> String {
    let name = Value::from(name);
    format!("{{\"name\": {name}, \"arguments\": ")
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
    if !parallel && matches!(chosen, Choice::Model) && !all.is_empty() {
        let why = "several calls cannot be ruled out where a model decides by itself";
        return Err(ApiError::unsupported("parallel_tool_calls", why));
    }
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
        let (tool, function) = read(&path, tool, shape, forced)?;
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
    let (mut grammar, mut schemas) = (None, Vec::new());
    if forced {
        grammar = Some(calls(&known, &mut schemas)?);
    }
    let names = known.into_iter().map(|(_, function)| function.name);
    Ok(Functions {
        told,
        names: names.collect(),
        grammar,
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
fn read(
    path: &str,
    tool: Value,
    shape: Shape,
    forced: bool,
) -> Result<(Value, Function), ApiError> {
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
    if strict && !forced {
        let why = "arguments follow their schema where `tool_choice` forces a call";
        return Err(ApiError::unsupported(function.name("strict"), why));
    }
    let parameters = function.take("parameters").unwrap_or(json!({}));
    if !parameters.is_object() {
        let name = function.name("parameters");
        return Err(wrong(&name, &parameters, "a JSON schema"));
    }
    function.finish()?;
    Ok((told, Function { name, parameters }))
}

/// One call of one of these functions, with arguments of its schema.
fn calls(
    known: &[(String, Function)],
    schemas: &mut Vec<(String, Value)>,
) -> Result<grammar::Grammar, ApiError> {
    let mut rules = String::new();
    let mut names = Vec::new();
    for (at, (path, Function { name, parameters })) in known.iter().enumerate() {
        let mut schema = parameters.clone();
        // Arguments are an object, whether the schema says so or not.
        match schema.get("type").map(|kind| kind == "object") {
            None => schema["type"] = json!("object"),
            Some(true) => {}
            Some(false) => {
                let param = format!("{path}.parameters.type");
                return Err(wrong(&param, &parameters["type"], "\"object\""));
            }
        }
        let embedded = grammar::embedded(&schema).map_err(|error| refused(path, &error))?;
        let begin = Value::from(beginning(name));
        rules += &format!("call_{at}: {begin} {embedded} \"}}\"\n");
        names.push(format!("call_{at}"));
        schemas.push((format!("{path}.parameters"), schema));
    }
    Ok(grammar::Grammar::Lark(format!(
        "start: {}\n{rules}",
        names.join(" | ")
    )))
}

fn refused(path: &str, error: &Error) -> ApiError {
    let param = format!("{path}.parameters");
    ApiError::field(param.clone(), format!("`{param}`: {error}"))
}
