//! The part of JSON Schema that the schema of run scripts uses; what it does not know is a panic.

use serde_json::{Map, Value};

/// Why a value does not fit a schema, with the path of the place; `None` if it does.
pub(crate) fn misfit(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(name) => {
            let pointer = name.strip_prefix('#').expect("a local reference");
            root.pointer(pointer).expect("what is referred to")
        }
        None => schema,
    };
    let words = schema.as_object().expect("a schema is an object");
    words
        .iter()
        .find_map(|(word, limit)| breaks(root, words, word, limit, value, at))
}

fn breaks(
    root: &Value,
    words: &Map<String, Value>,
    word: &str,
    limit: &Value,
    value: &Value,
    at: &str,
) -> Option<String> {
    let fits = |schema: &Value| misfit(root, schema, value, at).is_none();
    let list = || limit.as_array().expect("a list");
    let object = value.as_object();
    let has = |name: &Value| object.is_some_and(|o| o.contains_key(name.as_str().unwrap_or("")));
    let text = |what: &str| Some(format!("{at}: {what}: {limit}, found {value}"));
    let holds = match word {
        "$schema" | "$id" | "$defs" | "title" | "description" => true,
        "type" => match limit {
            Value::Array(kinds) => kinds.iter().any(|kind| is(kind, value)),
            kind => is(kind, value),
        },
        "const" => value == limit,
        "enum" => list().contains(value),
        "minimum" => value
            .as_f64()
            .is_none_or(|n| n >= limit.as_f64().expect("a number")),
        "maximum" => value
            .as_f64()
            .is_none_or(|n| n <= limit.as_f64().expect("a number")),
        "pattern" => value.as_str().is_none_or(|text| matches(limit, text)),
        "required" => object.is_none() || list().iter().all(has),
        "minProperties" => object.is_none_or(|o| o.len() as u64 >= limit.as_u64().expect("n")),
        "dependentRequired" => {
            let mut pairs = limit.as_object().expect("an object").iter();
            object.is_none()
                || pairs.all(|(name, needs)| {
                    let there = has(&Value::from(name.as_str()));
                    !there || needs.as_array().expect("names").iter().all(has)
                })
        }
        "properties" => {
            let mut each = object.into_iter().flatten();
            return each.find_map(|(name, member)| {
                let schema = limit.get(name)?;
                misfit(root, schema, member, &format!("{at}.{name}"))
            });
        }
        "additionalProperties" => {
            let known = words.get("properties").and_then(Value::as_object);
            let mut others = object.into_iter().flatten();
            return others.find_map(|(name, member)| {
                let known = known.is_some_and(|known| known.contains_key(name));
                match limit {
                    _ if known => None,
                    Value::Bool(false) => Some(format!("{at}: unknown key {name}")),
                    schema => misfit(root, schema, member, &format!("{at}.{name}")),
                }
            });
        }
        "items" => {
            let items = value.as_array().into_iter().flatten().enumerate();
            let mut items = items;
            return items.find_map(|(i, item)| misfit(root, limit, item, &format!("{at}[{i}]")));
        }
        "minItems" => value
            .as_array()
            .is_none_or(|l| l.len() as u64 >= limit.as_u64().expect("n")),
        "maxItems" => value
            .as_array()
            .is_none_or(|l| l.len() as u64 <= limit.as_u64().expect("n")),
        "uniqueItems" => value.as_array().is_none_or(|items| {
            let twice = |(i, item): (usize, &Value)| items[..i].contains(item);
            !items.iter().enumerate().any(twice)
        }),
        "anyOf" => list().iter().any(fits),
        "oneOf" => list().iter().filter(|schema| fits(schema)).count() == 1,
        "not" => !fits(limit),
        other => panic!("keyword {other}"),
    };
    if holds { None } else { text(word) }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("type {other}"),
    }
}

/// The two patterns of the schema.
fn matches(pattern: &Value, text: &str) -> bool {
    match pattern.as_str().expect("a pattern") {
        "^([0-9a-fA-F]{2})+$" => {
            let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            hex && !text.is_empty() && text.len().is_multiple_of(2)
        }
        "^(sm_|compute_|sm)?[1-9][0-9]*[af]?$" => {
            text.parse::<warpsmith::ptx::target::Target>().is_ok()
        }
        other => panic!("pattern {other}"),
    }
}
