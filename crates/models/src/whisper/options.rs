//! How a transcriber listens.

use super::{
    fallback::TEMPERATURES,
    tokenizer::{Start, Task, Tokenizer},
    transcript::{Options, Pieces},
};
use crate::{Error, llama::Run};
use warpsmith_graph::{PersistentShape, Precision};

/// How a transcriber listens.
#[derive(Clone, Debug, PartialEq)]
pub struct ListenOptions {
    /// Arithmetic.
    pub precision: Precision,
    /// How passes run.
    pub run: Run,
    /// The form of a persistent kernel.
    pub shape: PersistentShape,
    /// What to do with speech.
    pub task: Task,
    /// The language's code or name; `None` hears which it is, from the first window of each sound.
    pub language: Option<String>,
    /// Whether the text has timestamps; without, each window is one segment, decoded with timestamps all the same.
    pub start: Start,
    /// Temperatures that are tried one after the other.
    pub temperatures: Vec<f32>,
    /// Beams at temperature 0; 1 is greedy.
    pub beams: u32,
    /// Beams stop when this many times as many have ended as there are.
    pub patience: f32,
    /// Samples of which the best is taken at temperatures above 0.
    pub best_of: u32,
    /// As in [`DecodeOptions`](super::DecodeOptions).
    pub length_penalty: Option<f32>,
    /// Seed of draws.
    pub seed: u64,
    /// Prompts, thresholds, times of words.
    pub transcript: Options,
}

impl Default for ListenOptions {
    fn default() -> Self {
        ListenOptions {
            precision: Precision::Fast,
            run: Run::Replay,
            shape: PersistentShape::default(),
            task: Task::Transcribe,
            language: None,
            start: Start::Timestamps,
            temperatures: TEMPERATURES.to_vec(),
            beams: 1,
            patience: 1.0,
            best_of: 5,
            length_penalty: None,
            seed: 0,
            transcript: Options::default(),
        }
    }
}

impl ListenOptions {
    /// Has them be those of a model: its code of the language, whole windows as pieces where there are no timestamps.
    ///
    /// # Errors
    /// A language that the model does not know; a translation by an English model.
    pub(super) fn settle(&mut self, tokenizer: &Tokenizer) -> Result<(), Error> {
        let special = *tokenizer.special();
        if let Some(language) = &mut self.language {
            special.code(language)?.clone_into(language);
        }
        if self.task == Task::Translate && !special.is_multilingual() {
            return Err(Error::Unsupported {
                what: "translating with an English model (expected a multilingual one)".to_owned(),
            });
        }
        if self.start == Start::NoTimestamps {
            self.transcript.pieces = Pieces::Windows;
        }
        Ok(())
    }

    /// Whether what was planned for these does for others.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the first option that needs other plans.
    pub(super) fn plans_for(&self, other: &ListenOptions) -> Result<(), Error> {
        let same = [
            ("precision", self.precision == other.precision),
            ("run", self.run == other.run),
            ("shape", self.shape == other.shape),
            ("beams", self.beams == other.beams),
            ("best_of", self.best_of == other.best_of),
        ];
        match same.into_iter().find(|(_, same)| !same) {
            Some((what, _)) => Err(Error::Unsupported {
                what: format!(
                    "another {what} with the plans of a transcriber (expected a new one)"
                ),
            }),
            None => Ok(()),
        }
    }
}
