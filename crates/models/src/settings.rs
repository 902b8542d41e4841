//! Settings of model files: which are read, which change nothing, and which must have the value that changes nothing.

use crate::Error;
use std::fmt;
use warpsmith_formats::gguf::Value;

/// A value of a setting, of GGUF or of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    Absent,
    Number(f64),
    Bool(bool),
    Text(String),
    /// A list or an object, as it is shown.
    Other(String),
}

impl Fact {
    /// A value of GGUF; an empty list is as good as none.
    pub(crate) fn of_gguf(value: &Value) -> Fact {
        match value {
            Value::Bool(truth) => Fact::Bool(*truth),
            Value::String(text) => Fact::Text(text.clone()),
            Value::F32(number) => Fact::Number(f64::from(*number)),
            Value::F64(number) => Fact::Number(*number),
            Value::Array(array) if array.is_empty() => Fact::Absent,
            Value::Array(array) => {
                Fact::Other(format!("{} of length {}", array.type_name(), array.len()))
            }
            Value::U8(_)
            | Value::I8(_)
            | Value::U16(_)
            | Value::I16(_)
            | Value::U32(_)
            | Value::I32(_)
            | Value::U64(_)
            | Value::I64(_) => {
                let number = value.integer().expect("these are integers");
                Fact::Number(number as f64)
            }
        }
    }

    /// A value of JSON; null is as good as none.
    pub(crate) fn of_json(value: &serde_json::Value) -> Fact {
        use serde_json::Value;
        match value {
            Value::Null => Fact::Absent,
            Value::Bool(truth) => Fact::Bool(*truth),
            Value::String(text) => Fact::Text(text.clone()),
            Value::Number(number) => match number.as_f64() {
                Some(number) => Fact::Number(number),
                None => Fact::Other(number.to_string()),
            },
            Value::Array(_) | Value::Object(_) => Fact::Other(shortened(&value.to_string())),
        }
    }
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", &text[..at]),
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Absent => f.write_str("absent"),
            Fact::Number(number) => write!(f, "{number}"),
            Fact::Bool(truth) => write!(f, "{truth}"),
            Fact::Text(text) => write!(f, "{text:?}"),
            Fact::Other(shown) => f.write_str(shown),
        }
    }
}

/// The values of a setting that are as if it were not there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Neutral {
    Absent,
    Numbers(Vec<f64>),
    Bool(bool),
    Texts(&'static [&'static str]),
}

impl Neutral {
    fn has(&self, fact: &Fact) -> bool {
        match (self, fact) {
            (_, Fact::Absent) => true,
            // Files have computed numbers, such as the root of a size, in single precision.
            (Neutral::Numbers(numbers), Fact::Number(found)) => numbers
                .iter()
                .any(|number| (number - found).abs() <= 1e-6 * number.abs()),
            (Neutral::Bool(truth), Fact::Bool(found)) => truth == found,
            (Neutral::Texts(texts), Fact::Text(found)) => texts.contains(&found.as_str()),
            (
                Neutral::Absent | Neutral::Numbers(_) | Neutral::Bool(_) | Neutral::Texts(_),
                Fact::Number(_) | Fact::Bool(_) | Fact::Text(_) | Fact::Other(_),
            ) => false,
        }
    }
}

impl fmt::Display for Neutral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |shown: Vec<String>| shown.join(" or ");
        match self {
            Neutral::Absent => f.write_str("no such setting"),
            Neutral::Numbers(numbers) => {
                f.write_str(&list(numbers.iter().map(f64::to_string).collect()))
            }
            Neutral::Bool(truth) => write!(f, "{truth}"),
            Neutral::Texts(texts) => {
                f.write_str(&list(texts.iter().map(|t| format!("{t:?}")).collect()))
            }
        }
    }
}

/// What is known of the settings of a kind of file.
pub(crate) struct Known<'a> {
    /// Those that the configuration is made from.
    pub(crate) read: &'a [&'a str],
    /// Those that say nothing about what a model computes.
    pub(crate) idle: &'a [&'a str],
    /// Those that are done only where they change nothing.
    pub(crate) neutral: Vec<(&'a str, Neutral)>,
}

impl Known<'_> {
    /// Whether a setting may be there with that value. `name` is how it is known, `key` how the file spells it.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value that would change the output, [`Error::UnknownSetting`] for a setting that is not
    /// known at all.
    pub(crate) fn check(&self, name: &str, key: &str, fact: &Fact) -> Result<(), Error> {
        if self.read.contains(&name) || self.idle.contains(&name) || *fact == Fact::Absent {
            return Ok(());
        }
        match self.neutral.iter().find(|(known, _)| *known == name) {
            Some((_, neutral)) if neutral.has(fact) => Ok(()),
            Some((_, neutral)) => Err(Error::Setting {
                key: key.to_owned(),
                found: fact.to_string(),
                want: neutral.to_string(),
            }),
            None => Err(Error::UnknownSetting {
                key: key.to_owned(),
                found: fact.to_string(),
            }),
        }
    }
}

/// One number, or any of several.
pub(crate) fn numbers(numbers: &[f64]) -> Neutral {
    Neutral::Numbers(numbers.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_neutral_or_not_known_is_refused_with_its_value() {
        let known = Known {
            read: &["width"],
            idle: &["finetuned"],
            neutral: vec![
                ("scale", numbers(&[0.0, 1.0 / 8.0_f64.sqrt()])),
                ("causal", Neutral::Bool(true)),
                ("act", Neutral::Texts(&["silu", "swish"])),
                ("quantisation", Neutral::Absent),
            ],
        };
        let check = |name: &str, fact: Fact| {
            let refused = known.check(name, &format!("llama.{name}"), &fact).err();
            refused.map(|error| error.to_string())
        };
        for (name, fact) in [
            ("width", Fact::Number(7.0)),
            ("finetuned", Fact::Bool(true)),
            ("scale", Fact::Number(0.0)),
            ("scale", Fact::Number(f64::from(1.0 / 8.0_f32.sqrt()))),
            ("causal", Fact::Bool(true)),
            ("act", Fact::Text("swish".into())),
            ("quantisation", Fact::Absent),
            ("never heard of", Fact::Absent),
        ] {
            assert_eq!(check(name, fact.clone()), None, "{name} {fact}");
        }
        for (name, fact, want) in [
            (
                "scale",
                Fact::Number(1.0),
                "llama.scale is 1, which is not supported: expected 0 or 0.35355339059327373",
            ),
            (
                "causal",
                Fact::Bool(false),
                "llama.causal is false, which is not supported: expected true",
            ),
            (
                "causal",
                Fact::Number(1.0),
                "llama.causal is 1, which is not supported: expected true",
            ),
            (
                "act",
                Fact::Text("gelu".into()),
                "llama.act is \"gelu\", which is not supported: expected \"silu\" or \"swish\"",
            ),
            (
                "quantisation",
                Fact::Other("{\"bits\":4}".into()),
                "llama.quantisation is {\"bits\":4}, which is not supported: expected no such setting",
            ),
            (
                "never heard of",
                Fact::Number(2.0),
                "llama.never heard of is 2, and it is not known here whether that changes the output: \
                 take it out of the file if it does not",
            ),
        ] {
            assert_eq!(
                check(name, fact.clone()).as_deref(),
                Some(want),
                "{name} {fact}"
            );
        }
    }
}
