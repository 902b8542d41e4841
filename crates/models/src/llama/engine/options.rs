//! What an engine is asked, and what it says.

use super::{
    super::{generate::Ended, session::Run},
    passes::MOST_ROWS,
};
use crate::{Error, sampling::SamplerConfig};
use std::fmt;
use warpsmith_graph::Precision;

/// Most sequences that run at once.
pub(super) const MOST_SEQUENCES: u32 = 64;

/// Options of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Sequences that run at once, 1 to 64; more wait.
    pub sequences: u32,
    /// Positions of one sequence, which may end inside a page; 0 takes the model's context, at most 4096.
    pub context: u32,
    /// Positions of a page: 16 or 32.
    pub page: u32,
    /// Pages for all sequences together; 0 is as many as all need at their longest.
    pub pages: u32,
    /// Arithmetic.
    pub precision: Precision,
    /// Most tokens of prompts that a step evaluates while sequences run, which wait for it: 1 to 512. While none runs they
    /// are up to 512.
    pub prompt_tokens: u32,
    /// How steps run: eager or replayed.
    pub run: Run,
    /// What happens when a sequence needs a page and none is free.
    pub when_full: WhenFull,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            sequences: 16,
            context: 0,
            page: 16,
            pages: 0,
            prompt_tokens: 64,
            precision: Precision::default(),
            run: Run::default(),
            when_full: WhenFull::default(),
        }
    }
}

impl EngineOptions {
    pub(super) fn validate(&self) -> Result<(), Error> {
        let wrong = |field, want, got| Err(Error::EngineOption { field, want, got });
        if !(1..=MOST_SEQUENCES).contains(&self.sequences) {
            return wrong("sequences", "1 to 64", self.sequences);
        }
        if ![16, 32].contains(&self.page) {
            return wrong("page", "16 or 32 positions", self.page);
        }
        if !(1..=MOST_ROWS).contains(&self.prompt_tokens) {
            return wrong("prompt_tokens", "1 to 512", self.prompt_tokens);
        }
        if self.run == Run::Persistent {
            let what = "a persistent run of an engine: sequences join and leave between launches";
            return Err(Error::Unsupported { what: what.into() });
        }
        Ok(())
    }
}

/// What happens when a running sequence needs a page and none is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It fails, its pages are free, the others go on.
    #[default]
    Fail,
    /// The sequence that joined last makes room: it waits, and is evaluated again when there is room. Its tokens are the
    /// same as without. One that needs more pages than there are fails.
    Evict,
}

/// A sequence to be: a prompt and how it goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Token ids.
    pub prompt: Vec<u32>,
    /// How tokens are drawn.
    pub sampler: SamplerConfig,
    /// Most tokens to draw.
    pub max_tokens: u32,
    /// Tokens after which it ends.
    pub ends: Vec<u32>,
    /// What is added to the logits of some tokens before one is drawn; minus infinity forbids a token. Of a token that is
    /// named twice the last counts.
    pub bias: Vec<(u32, f32)>,
    /// What makes tokens that were drawn before less probable.
    pub penalties: Penalties,
    /// The tokens of which the first one is drawn, all if there is no mask; see [`Engine::mask`](super::Engine::mask).
    pub mask: Option<Vec<u32>>,
    /// Whether [`Engine::logits`](super::Engine::logits) has what each token was drawn from: all logits come back, 4 bytes
    /// for each token of the vocabulary.
    pub logits: bool,
}

/// What is taken from the logits of tokens that were drawn before in the same sequence; those of its prompt do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penalties {
    /// Once, however often.
    pub presence: f32,
    /// For each time.
    pub frequency: f32,
}

impl Penalties {
    /// Whether anything is taken.
    pub fn is_any(&self) -> bool {
        self.presence != 0.0 || self.frequency != 0.0
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        for (field, got) in [
            ("presence_penalty", self.presence),
            ("frequency_penalty", self.frequency),
        ] {
            if !got.is_finite() {
                let want = "a number";
                return Err(Error::Sampler { field, want, got });
            }
        }
        Ok(())
    }
}

/// The name of a sequence; an engine gives each one once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub(super) u64);

impl fmt::Display for SequenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What happened in a step.
#[derive(Debug)]
pub enum Event {
    /// A sequence has one more token.
    Token {
        /// Which.
        id: SequenceId,
        /// The token.
        token: u32,
    },
    /// A sequence has come to its end and left.
    Finished {
        /// Which.
        id: SequenceId,
        /// Why.
        ended: Ended,
    },
    /// A sequence could not go on and left.
    Failed {
        /// Which.
        id: SequenceId,
        /// Why.
        error: Error,
    },
}

/// What an engine has and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineReport {
    /// Plans made so far: at most one for each number of rows, for steps and for prompts.
    pub plans: u64,
    /// Passes of running sequences.
    pub steps: u64,
    /// Passes of prompts.
    pub prompt_passes: u64,
    /// Prompt tokens that were not evaluated because another sequence began with them.
    pub shared_tokens: u64,
    /// Pages copied because a sequence wrote where another one reads.
    pub copied_pages: u64,
    /// Sequences that had to wait after they had run.
    pub evicted: u64,
    /// Pages.
    pub pages: u32,
    /// Pages that nobody uses.
    pub free_pages: u32,
    /// Pages that several sequences use.
    pub shared_pages: u32,
    /// Bytes of the pages on the device.
    pub cache_bytes: u64,
}
