//! A value of a JSON file with its path, so that an error can say where it is.

use super::{Error, place};
use serde_json::Value;

/// A value and where it stands, such as `$.launches[0].grid`.
#[derive(Clone, Debug)]
pub(super) struct Node<'v> {
    value: &'v Value,
    at: String,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v Value) -> Node<'v> {
        Node {
            value,
            at: "$".to_owned(),
        }
    }

    /// Where it stands.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// The error that says what should stand here.
    pub(super) fn expected(&self, what: impl Into<String>) -> Error {
        Error::Script {
            at: self.at.clone(),
            line: None,
            expected: what.into(),
            found: shown(self.value),
        }
    }

    /// Refuses members with other names.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Error> {
        let Some(members) = self.value.as_object() else {
            return Err(self.expected("an object"));
        };
        let Some(name) = members.keys().find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let near = known.iter().map(|word| (distance(name, word), *word)).min();
        let expected = match near {
            Some((far, word)) if far <= 2 && far < word.len() => {
                format!("another key, did you mean `{word}`?")
            }
            _ => format!("one of the keys {}", known.join(", ")),
        };
        Err(Error::Script {
            at: place::member(&self.at, name),
            line: None,
            expected,
            found: format!("the key `{}`", shortened(name)),
        })
    }

    /// A member that may be missing; `null` is as good as missing.
    pub(super) fn key(&self, name: &str) -> Result<Option<Node<'v>>, Error> {
        let Some(members) = self.value.as_object() else {
            return Err(self.expected("an object"));
        };
        let value = members.get(name).filter(|value| !value.is_null());
        Ok(value.map(|value| Node {
            value,
            at: place::member(&self.at, name),
        }))
    }

    /// A member that must be there.
    pub(super) fn need(&self, name: &str, what: &str) -> Result<Node<'v>, Error> {
        self.key(name)?.ok_or_else(|| Error::Script {
            at: place::member(&self.at, name),
            line: None,
            expected: what.to_owned(),
            found: "nothing".to_owned(),
        })
    }

    /// The members of an object, by name.
    pub(super) fn members(&self) -> Result<Vec<(&'v str, Node<'v>)>, Error> {
        let Some(members) = self.value.as_object() else {
            return Err(self.expected("an object"));
        };
        let each = members.iter().map(|(name, value)| {
            let at = place::member(&self.at, name);
            (name.as_str(), Node { value, at })
        });
        Ok(each.collect())
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<Vec<Node<'v>>, Error> {
        let Some(items) = self.value.as_array() else {
            return Err(self.expected("a list"));
        };
        let each = items.iter().enumerate().map(|(i, value)| Node {
            value,
            at: place::item(&self.at, i),
        });
        Ok(each.collect())
    }

    pub(super) fn text(&self) -> Result<&'v str, Error> {
        self.value.as_str().ok_or_else(|| self.expected("text"))
    }

    pub(super) fn flag(&self) -> Result<bool, Error> {
        let flag = self.value.as_bool();
        flag.ok_or_else(|| self.expected("true or false"))
    }

    /// A whole number from 0 to `most`.
    pub(super) fn whole(&self, most: u64) -> Result<u64, Error> {
        let number = self.value.as_u64().filter(|number| *number <= most);
        number.ok_or_else(|| self.expected(format!("a whole number from 0 to {most}")))
    }

    /// A whole number from 1 to `most`.
    pub(super) fn count(&self, most: u64) -> Result<u64, Error> {
        let number = self
            .value
            .as_u64()
            .filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| self.expected(format!("a whole number from 1 to {most}")))
    }

    pub(super) fn number(&self) -> Result<f64, Error> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    /// The text of a number or of a string that holds one.
    pub(super) fn literal(&self) -> Result<String, Error> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                Err(self.expected("a number"))
            }
        }
    }
}

/// A value as errors show it: its beginning.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => shortened(&value.to_string()),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// How many letters are to be changed, added or taken away (Levenshtein), of names that are not long.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}
