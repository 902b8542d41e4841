//! JSON schemas: what is refused before the parser's crate sees them, and how the rest is written.
//!
//! The crate refuses by name what it does not do. Here is refused what it would get wrong.

use serde_json::{Map, Value, json};

/// Whole numbers up to here are exact as f64, which bounds and constants are read as.
const EXACT: u64 = 1 << 53;
/// References to other schemas: each may be a level of the stack.
const MOST_REFS: usize = 10_000;
/// The field that the crate takes settings from.
const SETTINGS: &str = "x-guidance";
/// The dialects that it knows; it would take any other one for the last of them.
const DIALECTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

/// What was found on the way through a schema.
#[derive(Default)]
struct Found {
    refs: usize,
    /// The first schema within that begins a document of its own, and its name.
    inner: Option<String>,
}

/// A schema with the settings that it is read by.
///
/// # Errors
/// What the parser's crate would take for something else, by its keyword.
pub(super) fn checked(schema: Value) -> Result<Value, String> {
    let mut map = match schema {
        Value::Object(map) => map,
        Value::Bool(true) => Map::new(),
        Value::Bool(false) => return Err("it is false, which nothing satisfies".to_owned()),
        other => return Err(format!("it is {}, expected an object", short(&other))),
    };
    if map.contains_key(SETTINGS) {
        return Err(format!("`{SETTINGS}` is not supported"));
    }
    let mut found = Found::default();
    walk(&map, &mut found, true)?;
    if let Some(name) = found.inner
        && found.refs > 0
    {
        let why = "references into schemas with an id of their own are not supported";
        return Err(format!(
            "`$id` {name} inside of a schema with `$ref`: {why}"
        ));
    }
    if found.refs > MOST_REFS {
        let refs = found.refs;
        return Err(format!("{refs} times `$ref`, expected at most {MOST_REFS}"));
    }
    // With one way to write each value, much of a text is known beforehand, and none goes on with space for ever.
    let settings = json!({
        "item_separator": ", ",
        "key_separator": ": ",
        "whitespace_flexible": false,
    });
    map.insert(SETTINGS.to_owned(), settings);
    Ok(Value::Object(map))
}

fn walk(map: &Map<String, Value>, found: &mut Found, root: bool) -> Result<(), String> {
    for (name, value) in map {
        match (name.as_str(), value) {
            // Says nothing about what is valid.
            ("default" | "examples", _) => continue,
            ("$ref", Value::String(_)) => found.refs += 1,
            ("$schema", Value::String(dialect))
                if !DIALECTS.contains(&dialect.trim_end_matches('#')) =>
            {
                let dialect = short(value);
                return Err(format!("`$schema` {dialect} is not known"));
            }
            ("$id" | "id", Value::String(id)) if !root => {
                found.inner.get_or_insert_with(|| short(&json!(id)));
            }
            _ => {}
        }
        inside(name, value, found)?;
    }
    Ok(())
}

fn inside(name: &str, value: &Value, found: &mut Found) -> Result<(), String> {
    match value {
        Value::Object(map) => walk(map, found, false),
        Value::Array(list) => list.iter().try_for_each(|value| inside(name, value, found)),
        Value::Number(number) => {
            let exact = match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => number.unsigned_abs() <= EXACT,
                (None, Some(_)) => false,
                (None, None) => number.as_f64().is_some_and(f64::is_finite),
            };
            match exact {
                true => Ok(()),
                false => Err(format!(
                    "`{name}` has {number}, expected at most 2^53, beyond which numbers are not exact"
                )),
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// What the crate says, without what is of use to its authors only.
pub(super) fn said(message: &str) -> String {
    if message.contains("oneOf constraints are not supported") {
        return "`oneOf` of schemas that may hold at the same time is not supported: `anyOf` is"
            .to_owned();
    }
    let end = ["\n<state>", "\n<non-verbose", "\n<backtrace>"];
    let end = end.iter().filter_map(|mark| message.find(mark)).min();
    let message = &message[..end.unwrap_or(message.len())];
    // In one line, without the lines of a grammar that it shows.
    let lines = message.lines().map(str::trim).filter(|line| {
        let shown = line.trim_start_matches(|c: char| c.is_ascii_digit());
        !line.is_empty() && *line != "^" && !shown.starts_with(" |")
    });
    let message = lines.collect::<Vec<_>>().join("; ");
    message.replace("Unimplemented keys: ", "not supported: ")
}
