//! Grammars: which tokens may come next, so that a text is what a JSON schema, a grammar or a regular expression describes.
//!
//! The [`llguidance`] crate follows the grammar (Earley, and derivatives of regular expressions); here is what stands
//! between it and an engine: the vocabulary as bytes, what of a schema is refused, and the order of steps.
//!
//! ```text
//! Grammar ─ Grammars::compile ─► Constraint ─ mask ─► Request::mask
//!                                    ▲ advance(token drawn) ─► tokens that are forced, and the next mask or the end
//! ```

mod schema;
mod words;

use crate::{
    Error, quiet,
    sandbox::{self, Stopped},
    tokenizer::Tokenizer,
};
use llguidance::{
    Matcher, ParserFactory,
    api::{StopReason, TopLevelGrammar},
    earley::SlicedBiasComputer,
    toktrie::InferenceCapabilities,
};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::{fmt, sync::Arc};
use words::Words;

/// Bytes of a grammar in Lark's form, or of a regular expression.
const MOST_TEXT: usize = 64 << 10;
/// Seconds that making a parser of a grammar may take; its own limits end it earlier.
const MOST_SECONDS: u64 = 20;
/// Tokens that are forced from which on they are evaluated together: one or two cost no less than the steps do.
const WORTH: usize = 3;

/// What a text is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Grammar {
    /// An object of JSON.
    Object,
    /// JSON that a schema describes, in one line, with a space behind each comma and colon. Properties come in the order in
    /// which the schema has them.
    Schema(Value),
    /// What the rule `start` of a grammar describes, in the form that llguidance has of Lark's.
    Lark(String),
    /// What a regular expression matches as a whole.
    Regex(String),
}

impl Grammar {
    fn what(&self) -> &'static str {
        match self {
            Grammar::Object | Grammar::Schema(_) => "the schema",
            Grammar::Lark(_) => "the grammar",
            Grammar::Regex(_) => "the regular expression",
        }
    }

    /// As the parser's crate has it.
    fn of_crate(&self) -> Result<TopLevelGrammar, String> {
        let bounded = |text: &str| match text.len() {
            0..=MOST_TEXT => Ok(()),
            found => Err(format!("{found} bytes, expected at most {MOST_TEXT}")),
        };
        Ok(match self {
            Grammar::Object => {
                TopLevelGrammar::from_json_schema(schema::checked(json!({"type": "object"}))?)
            }
            Grammar::Schema(schema) => {
                TopLevelGrammar::from_json_schema(schema::checked(schema.clone())?)
            }
            Grammar::Lark(text) => {
                bounded(text)?;
                TopLevelGrammar::from_lark(text.clone())
            }
            Grammar::Regex(text) => {
                bounded(text)?;
                TopLevelGrammar::from_regex(text)
            }
        })
    }
}

/// A schema inside of a grammar in Lark's form: `%json` with the schema behind it, as a part of a rule.
///
/// # Errors
/// What of the schema cannot be done.
pub fn embedded(schema: &Value) -> Result<String, Error> {
    let checked = schema::checked(schema.clone()).map_err(|message| Error::Grammar {
        what: "the schema",
        message,
    })?;
    Ok(format!("%json {checked}"))
}

/// Makes constraints for the texts of one tokenizer.
pub struct Grammars {
    factory: Arc<ParserFactory>,
}

impl fmt::Debug for Grammars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammars").finish_non_exhaustive()
    }
}

impl Grammars {
    /// For a tokenizer: sorts its vocabulary, a tenth of a second for 150,000 tokens.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a `tokenizer.json` that does not say which bytes its tokens are.
    pub fn new(tokenizer: &Arc<Tokenizer>) -> Result<Grammars, Error> {
        let words = Words::new(tokenizer)?.env();
        let made = quiet::catch(|| {
            let slices = SlicedBiasComputer::general_slices();
            let capabilities = InferenceCapabilities {
                ff_tokens: false,
                ..InferenceCapabilities::default()
            };
            ParserFactory::new(&words, capabilities, &slices)
        });
        let made = made.map(|made| made.map_err(|error| format!("{error:#}")));
        let mut factory = made.flatten().map_err(|message| Error::Unsupported {
            what: format!("grammars over this vocabulary: {message}"),
        })?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Grammars {
            factory: Arc::new(factory),
        })
    }

    /// The beginning of texts that a grammar describes.
    ///
    /// # Errors
    /// [`Error::Grammar`] with what cannot be done, by its keyword; what is too large.
    pub fn compile(&self, grammar: &Grammar) -> Result<Constraint, Error> {
        let what = grammar.what();
        let wrong = |message: String| Error::Grammar { what, message };
        let grammar = grammar.of_crate().map_err(wrong)?;
        let factory = Arc::clone(&self.factory);
        let made = sandbox::run("grammar", MOST_SECONDS, move || {
            let parser = factory.create_parser(grammar);
            parser.map_err(|error| format!("{error:#}"))
        });
        let parser = made
            .map_err(|stopped| match stopped {
                Stopped::Panicked(reason) => format!("the parser panicked: {reason}"),
                Stopped::Late(seconds) => {
                    format!("no parser of it could be made in {seconds} seconds")
                }
                Stopped::NoThread(error) => format!("no thread to read it on: {error}"),
            })
            .flatten()
            .map_err(|message| wrong(schema::said(&message)))?;
        Ok(Constraint {
            matcher: Matcher::new(Ok(parser)),
        })
    }
}

/// A text that follows a grammar, as far as it is written.
pub struct Constraint {
    matcher: Matcher,
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint").finish_non_exhaustive()
    }
}

impl Clone for Constraint {
    /// One that goes on by itself.
    fn clone(&self) -> Constraint {
        Constraint {
            matcher: self.matcher.deep_clone(),
        }
    }
}

/// How a text goes on behind a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Tokens that follow whatever is drawn.
    pub forced: Vec<u32>,
    /// What comes behind them.
    pub then: Then,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// One of these tokens, as [`Engine::mask`](crate::llama::Engine::mask) takes them.
    Draw(Vec<u32>),
    /// Nothing: the text is complete.
    Done,
}

/// A grammar as a text follows it: says how many tokens need not be drawn.
#[derive(Clone, Debug)]
pub struct Guide {
    constraint: Constraint,
    /// Tokens that every text begins with.
    pub known: Vec<u32>,
    /// What comes behind them.
    pub then: Then,
    draws: Draws,
}

/// Which tokens of a text are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draws {
    /// Those that the grammar does not force.
    Open,
    /// Each: probabilities are told of tokens that were drawn.
    All,
}

impl Draws {
    /// How many tokens may be known, where there is room for so many.
    fn known(self, room: usize) -> usize {
        match self {
            Draws::Open => room,
            Draws::All => 0,
        }
    }
}

impl Guide {
    /// At the beginning of a text of at most `most` tokens, of which one is left to be drawn. Where the most probable tokens
    /// are told of each (`logprobs`), none is known.
    ///
    /// # Errors
    /// As [`Constraint::begin`].
    pub fn begin(
        mut constraint: Constraint,
        most: u32,
        logprobs: Option<usize>,
    ) -> Result<Guide, Error> {
        let draws = match logprobs {
            None => Draws::Open,
            Some(_) => Draws::All,
        };
        let room = draws.known(most.saturating_sub(1) as usize);
        let Advance { forced, then } = constraint.begin(room)?;
        Ok(Guide {
            constraint,
            known: forced,
            then,
            draws,
        })
    }

    /// As [`Constraint::advance`]: behind a token that was drawn, where an engine has [room](crate::llama::Engine::room).
    ///
    /// # Errors
    /// As [`Constraint::advance`].
    pub fn advance(&mut self, token: u32, room: usize) -> Result<Advance, Error> {
        let room = self.draws.known(room);
        self.constraint.advance(token, room)
    }
}

impl Constraint {
    /// The beginning of the text: up to `room` tokens that are forced, and what comes behind them.
    ///
    /// # Errors
    /// A grammar that goes beyond the limits of its parser.
    pub fn begin(&mut self, room: usize) -> Result<Advance, Error> {
        let forced = self.forced(room, 1)?;
        self.then(forced)
    }

    /// The tokens that may come next.
    fn mask(&mut self) -> Result<Vec<u32>, Error> {
        let mask = self.matcher.compute_mask().map_err(failed)?;
        Ok(mask.as_slice().to_vec())
    }

    /// Takes a token that was drawn, and up to `room` tokens that are then forced, if they are worth it.
    ///
    /// # Errors
    /// A token that the mask did not have; a grammar that goes beyond the limits of its parser.
    pub fn advance(&mut self, token: u32, room: usize) -> Result<Advance, Error> {
        self.matcher.consume_token(token).map_err(failed)?;
        let forced = self.forced(room, WORTH)?;
        self.then(forced)
    }

    /// Takes the tokens that are forced, no more than `room`, and none of fewer than `least`.
    fn forced(&mut self, room: usize, least: usize) -> Result<Vec<u32>, Error> {
        if room < least || self.is_done()? {
            return Ok(Vec::new());
        }
        let mut tokens = self.matcher.compute_ff_tokens();
        tokens.truncate(room);
        if tokens.len() < least {
            return Ok(Vec::new());
        }
        self.matcher.consume_tokens(&tokens).map_err(failed)?;
        Ok(tokens)
    }

    fn then(&mut self, forced: Vec<u32>) -> Result<Advance, Error> {
        let then = match self.is_done()? {
            true => Then::Done,
            false => Then::Draw(self.mask()?),
        };
        Ok(Advance { forced, then })
    }

    /// Whether the text is complete and cannot go on.
    fn is_done(&self) -> Result<bool, Error> {
        match self.matcher.stop_reason() {
            StopReason::NotStopped => Ok(false),
            StopReason::NoExtension | StopReason::NoExtensionBias | StopReason::EndOfSentence => {
                Ok(true)
            }
            reason @ (StopReason::MaxTokensTotal
            | StopReason::MaxTokensParser
            | StopReason::InternalError
            | StopReason::LexerTooComplex
            | StopReason::ParserTooComplex
            | StopReason::Cancelled) => {
                let said = self.matcher.get_error();
                Err(failed(said.unwrap_or_else(|| reason.to_string())))
            }
        }
    }
}

fn failed(error: impl fmt::Display) -> Error {
    Error::Grammar {
        what: "following the grammar",
        message: schema::said(&error.to_string()),
    }
}

/// Advances several texts at once, each with its token and its room, on as many threads as there are for it.
pub fn advance_all(texts: &mut [(&mut Guide, u32, usize)]) -> Vec<Result<Advance, Error>> {
    match texts {
        [] => Vec::new(),
        [(guide, token, room)] => vec![guide.advance(*token, *room)],
        several => several
            .par_iter_mut()
            .map(|(guide, token, room)| guide.advance(*token, *room))
            .collect(),
    }
}
