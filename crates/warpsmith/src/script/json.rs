//! A value of a JSON file with its path, so that an error can say where it is.

use super::Error;
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
            expected: what.into(),
            found: shown(self.value),
        }
    }

    /// A member that may be missing; `null` is as good as missing.
    pub(super) fn key(&self, name: &str) -> Result<Option<Node<'v>>, Error> {
        let Some(members) = self.value.as_object() else {
            return Err(self.expected("an object"));
        };
        let value = members.get(name).filter(|value| !value.is_null());
        Ok(value.map(|value| Node {
            value,
            at: format!("{}.{name}", self.at),
        }))
    }

    /// A member that must be there.
    pub(super) fn need(&self, name: &str, what: &str) -> Result<Node<'v>, Error> {
        self.key(name)?.ok_or_else(|| Error::Script {
            at: format!("{}.{name}", self.at),
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
            let at = format!("{}.{name}", self.at);
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
            at: format!("{}[{i}]", self.at),
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

    pub(super) fn number(&self) -> Result<f64, Error> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    /// The text of a number or of a string that holds one.
    pub(super) fn literal(&self) -> Result<String, Error> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(u8::from(*flag).to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => Err(self.expected("a number")),
        }
    }
}

/// A value as errors show it: its beginning.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let text = value.to_string();
            match text.char_indices().nth(60) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        }
    }
}
