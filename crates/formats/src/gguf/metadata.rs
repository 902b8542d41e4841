//! The ordered keys and values of a file, with typed access.

use std::collections::HashMap;

use super::value::{Array, Value};
use crate::Error;

/// Keys and values in file order; no key comes twice.
///
/// Each type has a getter for a key that must be there, and one beginning with `opt_` for a key that
/// may be absent. Both refuse a value of another type by [`Error::WrongType`]; integers of any width
/// and sign are accepted where they fit, and refused by [`Error::OutOfRange`] where they do not.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    pairs: Vec<(String, Value)>,
    index: HashMap<String, usize>,
}

impl Metadata {
    /// Metadata of these keys and values.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if a key comes twice.
    pub fn from_pairs(pairs: Vec<(String, Value)>) -> Result<Metadata, Error> {
        let mut index = HashMap::with_capacity(pairs.len());
        for (at, (key, _)) in pairs.iter().enumerate() {
            if index.insert(key.clone(), at).is_some() {
                return Err(Error::DuplicateKey { key: key.clone() });
            }
        }
        Ok(Metadata { pairs, index })
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Every key and value, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of `key`, of whatever type.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.index.get(key).map(|&at| &self.pairs[at].1)
    }

    fn integer<T: TryFrom<i128>>(&self, key: &str, want: &'static str) -> Result<Option<T>, Error> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let found = value.integer().ok_or_else(|| wrong(key, want, value))?;
        match T::try_from(found) {
            Ok(fits) => Ok(Some(fits)),
            Err(_) => Err(Error::OutOfRange {
                key: key.to_owned(),
                want,
                found,
            }),
        }
    }
}

fn wrong(key: &str, want: &'static str, found: &Value) -> Error {
    Error::WrongType {
        key: key.to_owned(),
        want,
        found: found.type_name().to_owned(),
    }
}

macro_rules! integers {
    ($($name:ident $opt:ident $ty:ty;)*) => {
        impl Metadata {$(
            #[doc = concat!("The integer of `key`, which must be there and fit a `", stringify!($ty), "`.")]
            pub fn $name(&self, key: &str) -> Result<$ty, Error> {
                self.$opt(key)?.ok_or_else(|| Error::MissingKey {
                    key: key.to_owned(),
                    want: stringify!($ty),
                })
            }

            #[doc = concat!("The integer of `key`, if it is there; it must fit a `", stringify!($ty), "`.")]
            pub fn $opt(&self, key: &str) -> Result<Option<$ty>, Error> {
                self.integer(key, stringify!($ty))
            }
        )*}
    };
}

integers! {
    u32 opt_u32 u32;
    u64 opt_u64 u64;
}

macro_rules! typed {
    ($($name:ident $opt:ident $ty:ty, $want:literal, $pattern:pat => $value:expr;)*) => {
        impl Metadata {$(
            #[doc = concat!("The ", $want, " of `key`, which must be there.")]
            pub fn $name(&self, key: &str) -> Result<$ty, Error> {
                self.$opt(key)?.ok_or_else(|| Error::MissingKey {
                    key: key.to_owned(),
                    want: $want,
                })
            }

            #[doc = concat!("The ", $want, " of `key`, if it is there.")]
            pub fn $opt(&self, key: &str) -> Result<Option<$ty>, Error> {
                match self.value(key) {
                    None => Ok(None),
                    Some($pattern) => Ok(Some($value)),
                    Some(other) => Err(wrong(key, $want, other)),
                }
            }
        )*}
    };
}

typed! {
    f32 opt_f32 f32, "f32", Value::F32(v) => *v;
    bool opt_bool bool, "bool", Value::Bool(v) => *v;
    str opt_str &str, "string", Value::String(v) => v;
    strings opt_strings &[String], "array of string", Value::Array(Array::String(v)) => v;
    f32s opt_f32s &[f32], "array of f32", Value::Array(Array::F32(v)) => v;
    i32s opt_i32s &[i32], "array of i32", Value::Array(Array::I32(v)) => v;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        Metadata::from_pairs(vec![
            ("small".into(), Value::U8(7)),
            ("negative".into(), Value::I64(-1)),
            ("large".into(), Value::U64(1 << 40)),
            ("ratio".into(), Value::F32(0.5)),
            (
                "names".into(),
                Value::from(vec!["a".to_owned(), "b".to_owned()]),
            ),
        ])
        .expect("no key comes twice")
    }

    #[test]
    fn integers_of_any_width_are_accepted_where_they_fit() {
        let m = metadata();
        assert_eq!(m.u32("small").ok(), Some(7));
        assert_eq!(m.u64("large").ok(), Some(1 << 40));
        assert!(matches!(m.u32("large"), Err(Error::OutOfRange { found, .. }) if found == 1 << 40));
        assert!(matches!(
            m.u64("negative"),
            Err(Error::OutOfRange { found: -1, .. })
        ));
        assert!(matches!(m.opt_u32("absent"), Ok(None)));
    }

    #[test]
    fn absent_keys_and_other_types_are_named() {
        let m = metadata();
        assert_eq!(m.strings("names").expect("there"), ["a", "b"]);
        assert_eq!(
            m.bool("absent").expect_err("absent").to_string(),
            "metadata key absent is missing: expected a value of type bool"
        );
        assert_eq!(
            m.opt_str("names").expect_err("an array").to_string(),
            "metadata key names: expected string, found array of string"
        );
        assert_eq!(
            m.u32("ratio").expect_err("a float").to_string(),
            "metadata key ratio: expected u32, found f32"
        );
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        let twice = vec![("k".into(), Value::U8(1)), ("k".into(), Value::U8(2))];
        assert!(
            matches!(Metadata::from_pairs(twice), Err(Error::DuplicateKey { key }) if key == "k")
        );
    }
}
