//! What calls of functions look like in the text of an answer: the marks before them, and grammars that hold them to the
//! schemas of their arguments.

use crate::{error::ApiError, fields::wrong};
use serde_json::{Value, json};
use std::fmt::Write as _;
use warpsmith_models::{
    Error,
    grammar::{self, Grammar},
    tokenizer::{Special, Tokenizer},
};

/// What begins calls, beside text that is JSON from its first character: Hermes and Qwen, Mistral, Llama 3.
pub(super) const MARKS: [&str; 3] = ["<tool_call>", "[TOOL_CALLS]", "<|python_tag|>"];

/// A function that may be called.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Value,
    /// Whether its arguments follow their schema where the model decides.
    pub(super) strict: bool,
}

/// How many calls an answer may have where the model decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    Any,
}

/// A grammar of calls, and the schemas in it, each with the field that has it.
pub(super) struct Calls {
    pub(super) grammar: Grammar,
    pub(super) schemas: Vec<(String, Value)>,
}

/// What begins a call that is forced, up to its arguments.
pub(super) fn beginning(name: &str) -> String {
    let name = Value::from(name);
    format!("{{\"name\": {name}, \"arguments\": ")
}

/// One call of one of these functions and nothing else, with arguments of its schema.
pub(super) fn forced(known: &[(String, Function)]) -> Result<Calls, ApiError> {
    let mut rules = String::new();
    let (mut names, mut schemas) = (Vec::new(), Vec::new());
    for (at, (path, function)) in known.iter().enumerate() {
        let schema = arguments(path, function)?;
        let embedded = grammar::embedded(&schema).map_err(|error| refused(path, &error))?;
        let begin = Value::from(beginning(&function.name));
        let _ = writeln!(rules, "call_{at}: {begin} {embedded} \"}}\"");
        names.push(format!("call_{at}"));
        schemas.push((format!("{path}.parameters"), schema));
    }
    let text = format!("start: {}\n{rules}", names.join(" | "));
    Ok(Calls {
        grammar: Grammar::Lark(text),
        schemas,
    })
}

/// Text, or calls in any of the forms that are heard, text before them: arguments of functions that are strict follow their
/// schemas, of others they are any object. A bracket at the beginning of an answer begins a call, as JSON there is heard as
/// one.
///
/// ```text
/// It is <3              text
/// Let me see.<tool_call>{"name": "f", "arguments": {}}</tool_call>
/// [TOOL_CALLS][{"name": "f", "arguments": {}}]
/// {"name": "f", "parameters": {}}
/// ```
pub(super) fn free(
    known: &[(String, Function)],
    count: Count,
    tokenizer: &Tokenizer,
) -> Result<Calls, ApiError> {
    let own = MARKS.iter().filter_map(|mark| silent(mark, tokenizer));
    held(known, count, &own.collect::<Vec<_>>())
}

/// The grammar of such answers, with the tokens that are marks without being text.
fn held(known: &[(String, Function)], count: Count, own: &[u32]) -> Result<Calls, ApiError> {
    let (mut rules, mut schemas) = (String::new(), Vec::new());
    for (at, (path, function)) in known.iter().enumerate() {
        let schema = match function.strict {
            true => arguments(path, function)?,
            false => json!({"type": "object"}),
        };
        let embedded = grammar::embedded(&schema).map_err(|error| refused(path, &error))?;
        let name = Value::from(Value::from(function.name.as_str()).to_string());
        let _ = writeln!(rules, "call_{at}: BEGIN_{at} {embedded} END");
        let _ = writeln!(rules, "BEGIN_{at}: NAME {name} ARGUMENTS");
        schemas.push((format!("{path}.parameters"), schema));
    }
    let names: Vec<String> = (0..known.len()).map(|at| format!("call_{at}")).collect();
    let (more, again) = match count {
        Count::One => ("", ""),
        Count::Any => (" (\",\" call)*", " (\"<tool_call>\" call CLOSE)*"),
    };
    let own = own.iter().map(|id| format!(" | <[{id}]> json"));
    let own: String = own.collect();
    let marks = r"(<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>)";
    let text = format!(
        r#"start: TEXT | json | TAG call CLOSE{again} | LIST json | PYTHON json{own}
json: call | OPEN call{more} SHUT
call: {calls}
{rules}NAME: SPACE "{{" SPACE "\"name\"" SPACE ":" SPACE
ARGUMENTS: SPACE "," SPACE ("\"arguments\"" | "\"parameters\"") SPACE ":" SPACE
END: SPACE "}}" SPACE
CLOSE: "</tool_call>" SPACE
OPEN: SPACE "["
SHUT: "]" SPACE
TEXT: ALL & ~/(?s:.*){marks}(?s:.*)/ & ~BRACKET
TAG: /(?s:.*)<tool_call>/ & FIRST & ~BRACKET
LIST: /\s*\[TOOL_CALLS\]/ | (/(?s:.*)\[TOOL_CALLS\]/ & FIRST & ~BRACKET)
PYTHON: /(?s:.*)<\|python_tag\|>/ & FIRST & ~BRACKET
FIRST: ALL & ~/(?s:.*){marks}(?s:.+)/
BRACKET: /\s*[\[{{](?s:.*)/
ALL: /(?s:.*)/
SPACE: /[ \n\r\t]{{0,16}}/
"#,
        calls = names.join(" | ")
    );
    Ok(Calls {
        grammar: Grammar::Lark(text),
        schemas,
    })
}

/// The token that is a mark without being text: what follows it is JSON from the first character of the answer.
fn silent(mark: &str, tokenizer: &Tokenizer) -> Option<u32> {
    let ids = tokenizer.encode(mark, Special::Parse).ok()?;
    let own = |id: &u32| tokenizer.piece(*id) == Some(mark);
    let id = ids.into_iter().find(own)?;
    let bytes = tokenizer.bytes(id).unwrap_or_default();
    bytes.is_empty().then_some(id)
}

/// The schema of a function's arguments: they are an object, whether it says so or not.
fn arguments(path: &str, function: &Function) -> Result<Value, ApiError> {
    let mut schema = function.parameters.clone();
    match schema.get("type").map(|kind| kind == "object") {
        None => schema["type"] = json!("object"),
        Some(true) => {}
        Some(false) => {
            let param = format!("{path}.parameters.type");
            return Err(wrong(&param, &schema["type"], "\"object\""));
        }
    }
    Ok(schema)
}

fn refused(path: &str, error: &Error) -> ApiError {
    let param = format!("{path}.parameters");
    ApiError::field(param.clone(), format!("`{param}`: {error}"))
}
