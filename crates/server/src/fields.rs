//! Fields of a JSON object: each is read by name and range, and what nobody read is refused by name.

use crate::error::ApiError;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// An object whose fields are taken out one by one.
#[derive(Debug)]
pub(crate) struct Fields {
    map: Map<String, Value>,
    /// Where it is: empty, or `messages[2].`.
    path: String,
}

/// The value as an error shows it, cut short.
pub(crate) fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

impl Fields {
    /// The object of a body.
    ///
    /// # Errors
    /// No UTF-8, no JSON, no object.
    pub(crate) fn parse(body: &[u8]) -> Result<Fields, ApiError> {
        let text = std::str::from_utf8(body)
            .map_err(|error| ApiError::malformed(format!("the body is not UTF-8: {error}")))?;
        let value = serde_json::from_str(text)
            .map_err(|error| ApiError::malformed(format!("the body is not JSON: {error}")))?;
        match value {
            Value::Object(map) => Ok(Fields {
                map,
                path: String::new(),
            }),
            other => Err(ApiError::malformed(format!(
                "the body is {}, expected an object",
                shown(&other)
            ))),
        }
    }

    /// An object within another one.
    pub(crate) fn within(path: impl Into<String>, value: Value) -> Result<Fields, ApiError> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Fields {
                map,
                path: path + ".",
            }),
            other => Err(wrong(&path, &other, "an object")),
        }
    }

    /// The whole name of a field.
    pub(crate) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    /// A value; null is as good as none.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// A value that must be there.
    pub(crate) fn need(&mut self, name: &str) -> Result<Value, ApiError> {
        self.take(name).ok_or_else(|| {
            let name = self.name(name);
            ApiError::field(name.clone(), format!("`{name}` is missing"))
        })
    }

    fn read<T>(
        &mut self,
        name: &str,
        want: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        match read(&value) {
            Some(value) => Ok(Some(value)),
            None => Err(wrong(&self.name(name), &value, want)),
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        self.read(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        self.read(name, "true or false", Value::as_bool)
    }

    pub(crate) fn whole(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ApiError> {
        let want = format!("a whole number from {} to {}", range.start(), range.end());
        // A number such as 5.0 is whole, too.
        let whole = |value: &Value| {
            let float = || {
                let float = value.as_f64()?;
                (float.fract() == 0.0 && (0.0..9e15).contains(&float)).then_some(float as u64)
            };
            value.as_u64().or_else(float)
        };
        self.read(name, &want, |value| {
            whole(value).filter(|number| range.contains(number))
        })
    }

    pub(crate) fn number(
        &mut self,
        name: &str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, ApiError> {
        let want = format!("a number from {} to {}", range.start(), range.end());
        self.read(name, &want, |value| {
            value.as_f64().filter(|number| range.contains(number))
        })
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, ApiError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        match value {
            Value::Array(list) => Ok(Some(list)),
            other => Err(wrong(&self.name(name), &other, "a list")),
        }
    }

    /// An object, to be read field by field.
    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Fields>, ApiError> {
        let path = self.name(name);
        let value = self.take(name);
        value.map(|value| Fields::within(path, value)).transpose()
    }

    /// Refuses a field unless its value changes nothing.
    pub(crate) fn refuse(
        &mut self,
        name: &str,
        neutral: &[Value],
        why: &str,
    ) -> Result<(), ApiError> {
        match self.take(name) {
            Some(value) if !neutral.contains(&value) => {
                Err(ApiError::unsupported(self.name(name), why))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Drops fields that change nothing of the answer.
    pub(crate) fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.map.remove(*name);
        }
    }

    /// Refuses what is left.
    ///
    /// # Errors
    /// The first field that nobody took, unless it is null.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        let path = self.path;
        let left = self.map.into_iter().find(|(_, value)| !value.is_null());
        match left {
            Some((name, _)) => Err(ApiError::unknown(format!("{path}{name}"))),
            None => Ok(()),
        }
    }
}

/// That a value is another one than expected.
pub(crate) fn wrong(name: &str, found: &Value, want: &str) -> ApiError {
    ApiError::field(
        name,
        format!("`{name}` is {}, expected {want}", shown(found)),
    )
}

#[cfg(test)]
mod tests {
    use super::Fields;
    use serde_json::json;

    #[test]
    fn fields_are_read_by_range_and_what_is_left_is_named() {
        let read = |value: serde_json::Value| Fields::parse(value.to_string().as_bytes());
        let mut fields = read(json!({"n": 3.0, "t": 2.5, "s": null, "x": 1})).expect("an object");
        assert_eq!(fields.whole("n", 1..=8), Ok(Some(3)));
        assert_eq!(fields.text("s"), Ok(None));
        let error = fields.number("t", 0.0..=2.0).expect_err("out of range");
        assert_eq!(
            error.to_string(),
            "`t` is 2.5, expected a number from 0 to 2"
        );
        let error = fields.finish().expect_err("one is left");
        assert_eq!(error.to_string(), "unknown field `x`");
        assert!(Fields::parse(b"{\"a\": \"\xff\"}").is_err());
        assert!(Fields::parse(b"[1]").is_err() && Fields::parse(b"{").is_err());
        let deep = "[".repeat(100_000);
        assert!(Fields::parse(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_neutral_value_is_not_refused() {
        let mut fields = Fields::within("a", json!({"p": 0, "q": 0.5})).expect("an object");
        assert_eq!(fields.refuse("p", &[json!(0), json!(0.0)], "why"), Ok(()));
        let error = fields.refuse("q", &[json!(0)], "there is none");
        let error = error.expect_err("not neutral");
        assert_eq!(error.to_string(), "`a.q` is not supported: there is none");
    }
}
