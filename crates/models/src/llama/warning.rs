//! Where a model's files do not agree with each other, and one of them is followed.

use super::{
    config::{Config, Head},
    folder,
    source::{Part, Source},
};
use crate::Error;
use std::{fmt, path::Path};

/// What a file says in two ways that do not agree, where one of them is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The configuration takes the token embedding for the output head, and the file has another head.
    HeadUnused {
        /// The head that is not used.
        head: String,
        /// The embedding that is.
        embedding: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::HeadUnused { head, embedding } => write!(
                f,
                "`{head}` is not used: it differs from `{embedding}`, which is the output head too by \
                 `tie_word_embeddings` in config.json"
            ),
        }
    }
}

/// The warnings that [`Model::warnings`](super::Model::warnings) has once the model at `path` is loaded, without loading it;
/// none of a model that is not run here. Costs the headers, and where a head is not used the bytes of both up to the first
/// difference.
///
/// # Errors
/// What cannot be read.
pub fn warnings(path: &Path) -> Result<Vec<Warning>, Error> {
    let source = Source::open(path)?;
    let config = match &source {
        Source::Gguf(gguf) => Config::of_gguf(gguf),
        Source::Safetensors(_) => folder::config(path),
    };
    // Of two things that do not agree none is followed where none is run.
    match config {
        Ok(config) => of(&source, &config),
        Err(_) => Ok(Vec::new()),
    }
}

/// Where the tensors of a file do not agree with a configuration, which is followed.
pub(super) fn of(source: &Source, config: &Config) -> Result<Vec<Warning>, Error> {
    let both = (source.tensor(Part::Head), source.tensor(Part::Embedding));
    let (Head::Embedding, (Some(head), Some(embedding))) = (config.head, both) else {
        return Ok(Vec::new());
    };
    Ok(match head.is_same(&embedding)? {
        true => Vec::new(),
        false => vec![Warning::HeadUnused {
            head: head.name,
            embedding: embedding.name,
        }],
    })
}
