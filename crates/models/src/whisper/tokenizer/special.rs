//! The tokens that steer the decoder; their places follow from the number of tokens.

use std::ops::Range;

use super::languages::{LANGUAGES, language_code};
use crate::Error;

/// Ordinary tokens of the English models.
const ENGLISH: u32 = 50_256;
/// Ordinary tokens of the multilingual models.
const MULTILINGUAL: u32 = 50_257;
/// Timestamps from 0.00 to 30.00 in steps of 0.02 s.
const TIMESTAMPS: u32 = 1501;
/// Special tokens that are neither languages nor timestamps.
const OTHERS: u32 = 8;

/// What to do with speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Task {
    /// Write it down in its language.
    #[default]
    Transcribe,
    /// Write it down in English.
    Translate,
}

/// How a sequence starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Text with timestamps.
    Timestamps,
    /// Text alone.
    NoTimestamps,
}

/// Ids of the tokens that steer the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// The number of tokens in all.
    pub n_vocab: u32,
    /// The number of languages: 99 or 100, the first so many of [`LANGUAGES`].
    pub languages: u32,
    /// `<|endoftext|>`, the first that is not text.
    pub end: u32,
    /// `<|startoftranscript|>`; the languages follow.
    pub start: u32,
    /// `<|translate|>`
    pub translate: u32,
    /// `<|transcribe|>`
    pub transcribe: u32,
    /// `<|startoflm|>`
    pub start_of_lm: u32,
    /// `<|startofprev|>`: what was said before follows.
    pub previous: u32,
    /// `<|nospeech|>`
    pub no_speech: u32,
    /// `<|notimestamps|>`
    pub no_timestamps: u32,
    /// `<|0.00|>`, the first of 1501.
    pub timestamps: u32,
}

impl Special {
    /// The tokens of a model with `n_vocab` of them.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a number that no Whisper model has.
    pub fn new(n_vocab: u32) -> Result<Special, Error> {
        let multilingual = n_vocab > ENGLISH + OTHERS + 99 + TIMESTAMPS;
        let end = if multilingual { MULTILINGUAL } else { ENGLISH };
        let languages = n_vocab.checked_sub(end + OTHERS + TIMESTAMPS);
        let Some(languages @ (99 | 100)) = languages else {
            return Err(Error::Unsupported {
                what: format!("a Whisper vocabulary of {n_vocab} tokens"),
            });
        };
        let translate = end + 2 + languages;
        Ok(Special {
            n_vocab,
            languages,
            end,
            start: end + 1,
            translate,
            transcribe: translate + 1,
            start_of_lm: translate + 2,
            previous: translate + 3,
            no_speech: translate + 4,
            no_timestamps: translate + 5,
            timestamps: translate + 6,
        })
    }

    /// Compares the places of special tokens with those that `find` knows: the three that every tokenizer has must be
    /// there, the others may be.
    ///
    /// # Errors
    /// [`Error::WhisperToken`] for the first that is missing or elsewhere.
    pub(super) fn check(&self, find: impl Fn(&str) -> Option<u32>) -> Result<(), Error> {
        let needed = [self.end, self.start, self.no_timestamps];
        for id in self.end..self.timestamps {
            let texts = self.texts(id);
            let found = texts.iter().find_map(|text| find(text));
            let missing = found.is_none() && needed.contains(&id);
            if missing || found.is_some_and(|found| found != id) {
                return Err(self.elsewhere(texts[0].clone(), found, id));
            }
        }
        Ok(())
    }

    /// Compares the text of a special token with what a list has in its place.
    ///
    /// # Errors
    /// [`Error::WhisperToken`] if it is another one.
    pub(super) fn check_at(&self, id: u32, token: &[u8]) -> Result<(), Error> {
        let texts = self.texts(id);
        let same = texts.iter().any(|text| text.as_bytes() == token);
        match same {
            true => Ok(()),
            false => Err(self.elsewhere(texts[0].clone(), None, id)),
        }
    }

    fn elsewhere(&self, token: String, found: Option<u32>, want: u32) -> Error {
        Error::WhisperToken {
            token,
            found,
            want,
            vocab: self.n_vocab,
        }
    }

    /// A word with its token, which tells English vocabularies from multilingual ones.
    pub(super) fn telling(&self) -> (&'static str, u32) {
        match self.is_multilingual() {
            true => (" the", 264),
            false => (" the", 262),
        }
    }

    /// How a special token may be spelled.
    fn texts(&self, id: u32) -> Vec<String> {
        let mut texts = vec![self.text(id)];
        // Older codes of languages, which the files of English models still have.
        let older = match texts[0].as_str() {
            "<|he|>" => Some("<|iw|>"),
            "<|jw|>" => Some("<|jv|>"),
            _ if id == self.no_speech => Some("<|nocaptions|>"),
            _ => None,
        };
        texts.extend(older.map(str::to_owned));
        texts
    }

    /// Whether the model knows languages and tasks.
    pub fn is_multilingual(&self) -> bool {
        self.end == MULTILINGUAL
    }

    /// The tokens of all languages.
    pub fn language_tokens(&self) -> Range<u32> {
        self.start + 1..self.start + 1 + self.languages
    }

    /// The code of a language, by code or name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a language that the model does not know: an English model knows one.
    pub fn code(&self, name: &str) -> Result<&'static str, Error> {
        let known = match self.is_multilingual() {
            true => self.languages as usize,
            false => 1,
        };
        let code = language_code(name);
        let mut known = LANGUAGES[..known].iter();
        let found = known.find(|(c, _)| Some(*c) == code).map(|(c, _)| *c);
        found.ok_or_else(|| Error::Unsupported {
            what: match self.is_multilingual() {
                true => format!("language {name:?}"),
                false => format!("language {name:?} in an English model"),
            },
        })
    }

    /// The token of a language, by code or name.
    ///
    /// # Errors
    /// As [`Special::code`].
    pub fn language(&self, name: &str) -> Result<u32, Error> {
        let code = self.code(name)?;
        let mut known = LANGUAGES.iter().zip(self.language_tokens());
        let token = known.find(|((c, _), _)| *c == code).map(|(_, token)| token);
        token.ok_or_else(|| Error::Unsupported {
            what: format!("language {name:?}"),
        })
    }

    /// The code of the language that `token` stands for.
    pub fn language_of(&self, token: u32) -> Option<&'static str> {
        let at = token.checked_sub(self.start + 1)?;
        (at < self.languages).then(|| LANGUAGES[at as usize].0)
    }

    /// What begins a sequence: the start, and of a multilingual model the language and task.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a language that the model does not know.
    pub fn sequence(&self, language: &str, task: Task, start: Start) -> Result<Vec<u32>, Error> {
        let mut ids = vec![self.start];
        if self.is_multilingual() {
            ids.push(self.language(language)?);
            ids.push(match task {
                Task::Transcribe => self.transcribe,
                Task::Translate => self.translate,
            });
        }
        match start {
            Start::Timestamps => {}
            Start::NoTimestamps => ids.push(self.no_timestamps),
        }
        Ok(ids)
    }

    /// Whether a token stands for a time.
    pub fn is_timestamp(&self, id: u32) -> bool {
        id >= self.timestamps
    }

    /// Special tokens that only begin a sequence.
    pub(crate) fn never_sampled(&self) -> [u32; 6] {
        [
            self.transcribe,
            self.translate,
            self.start,
            self.previous,
            self.start_of_lm,
            self.no_speech,
        ]
    }

    /// The text of a special token; nothing for ids that are none.
    pub(super) fn text(&self, id: u32) -> String {
        if let Some(code) = self.language_of(id) {
            return format!("<|{code}|>");
        }
        if self.is_timestamp(id) && id < self.n_vocab {
            return format!("<|{:.2}|>", f64::from(id - self.timestamps) * 0.02);
        }
        let names = [
            (self.end, "endoftext"),
            (self.start, "startoftranscript"),
            (self.translate, "translate"),
            (self.transcribe, "transcribe"),
            (self.start_of_lm, "startoflm"),
            (self.previous, "startofprev"),
            (self.no_speech, "nospeech"),
            (self.no_timestamps, "notimestamps"),
        ];
        let named = names.iter().find(|(token, _)| *token == id);
        named.map_or_else(String::new, |(_, name)| format!("<|{name}|>"))
    }
}
