//! JSON objects read field by field: serde would also take a list of the fields' values, in their order.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A `T` whose JSON is an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Pair {
        a: u32,
        b: Option<String>,
    }

    #[test]
    fn a_list_in_the_place_of_an_object_is_refused() {
        let read = serde_json::from_str::<Object<Pair>>;
        let pair = Pair { a: 7, b: None };
        assert_eq!(
            read(r#"{"a": 7, "c": []}"#).expect("an object"),
            Object(pair)
        );
        assert!(serde_json::from_str::<Pair>(r#"[7, "b"]"#).is_ok());
        for json in [r#"[7, "b"]"#, "[]", "null", "7", "\"a\"", "{", "{}"] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
