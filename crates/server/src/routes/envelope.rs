//! What stands around the choices in every piece of an answer of chat or completions.

use super::ask::usage;
use crate::{clock, error::ApiError, http::data, text::Text};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The fields that all pieces of one answer share.
pub(super) struct Envelope {
    pub(super) id: String,
    created: u64,
    pub(super) text: Arc<Text>,
    /// What pieces of a stream are called.
    piece: &'static str,
    /// Of a stream: whether tokens are counted at its end.
    pub(super) counts: bool,
    prompt: usize,
    /// Tokens made so far.
    pub(super) made: u64,
}

impl Envelope {
    /// For an answer to a prompt of so many tokens.
    pub(super) fn new(id: String, text: Arc<Text>, piece: &'static str, prompt: usize) -> Envelope {
        Envelope {
            id,
            created: clock::unix(),
            text,
            piece,
            counts: false,
            prompt,
            made: 0,
        }
    }

    fn object(&self, kind: &str, choices: Vec<Value>) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("id".to_owned(), json!(self.id));
        object.insert("object".to_owned(), json!(kind));
        object.insert("created".to_owned(), json!(self.created));
        object.insert("model".to_owned(), json!(self.text.name));
        object.insert("choices".to_owned(), Value::Array(choices));
        object
    }

    /// An answer that is complete, with the tokens that were made for it.
    pub(super) fn whole(&self, kind: &str, choices: Vec<Value>, made: u64) -> Value {
        let mut object = self.object(kind, choices);
        object.insert("usage".to_owned(), usage(self.prompt, made));
        Value::Object(object)
    }

    /// A piece of a stream.
    pub(super) fn event(&self, choices: Vec<Value>) -> String {
        let mut object = self.object(self.piece, choices);
        if self.counts {
            object.insert("usage".to_owned(), Value::Null);
        }
        data(&Value::Object(object))
    }

    /// The end of a stream that fails.
    pub(super) fn failed(error: &ApiError) -> String {
        data(&error.json())
    }

    /// The end of a stream.
    pub(super) fn end(&self) -> String {
        let counted = match self.counts {
            true => data(&self.whole(self.piece, Vec::new(), self.made)),
            false => String::new(),
        };
        counted + "data: [DONE]\n\n"
    }
}
