//! What a generation took: as JSON, and as lines for people.

use super::{
    context::remedy,
    generation::{Generation, StopReason},
    logprobs::Chosen,
    output::bytes,
};
use serde::Serialize;
use std::time::Duration;
use warpsmith::{device::Snapshot, models::llama::LookupReport};

/// The object that `generate --json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) prompt_ids: &'a [u32],
    pub(crate) ids: &'a [u32],
    pub(crate) text: &'a str,
    pub(crate) stop_reason: StopReason,
    pub(crate) seed: u64,
    pub(crate) device: &'a str,
    pub(crate) timing: Timing,
    pub(crate) launches: Launches,
    pub(crate) transfers: Transfers,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lookup: Option<Guesses>,
    #[serde(skip_serializing_if = "<[Chosen]>::is_empty")]
    pub(crate) logprobs: &'a [Chosen],
    /// What is said of a full context.
    #[serde(skip)]
    full: String,
}

/// What guessing tokens from earlier text brought.
#[derive(Debug, Serialize)]
pub(crate) struct Guesses {
    /// Passes of the model after the first token.
    passes: u64,
    guessed: u64,
    accepted: u64,
}

/// Seconds and rates.
#[derive(Debug, Serialize)]
pub(crate) struct Timing {
    /// Opening the device and loading the weights.
    pub(crate) load_s: f64,
    /// From the loaded model to the first token.
    pub(crate) prefill_s: f64,
    /// From the start of the program to the first token; absent without one.
    pub(crate) first_token_s: Option<f64>,
    /// From the first token to the last.
    pub(crate) decode_s: f64,
    /// Prompt tokens a second.
    pub(crate) prompt_tok_s: f64,
    /// Tokens a second after the first.
    pub(crate) decode_tok_s: f64,
}

/// Kernels run.
#[derive(Debug, Serialize)]
pub(crate) struct Launches {
    /// By a decode step; less than 1 where one launch makes several tokens.
    pub(crate) per_token: f64,
    /// By the prompt and all steps.
    pub(crate) total: u64,
}

/// Bytes and calls between host and device, weights not counted.
#[derive(Debug, Serialize)]
pub(crate) struct Transfers {
    #[serde(flatten)]
    pub(crate) all: Crossed,
    /// The part of the decode steps.
    pub(crate) decode: Crossed,
}

/// What crossed.
#[derive(Debug, Serialize)]
pub(crate) struct Crossed {
    h2d_bytes: u64,
    d2h_bytes: u64,
    h2d_calls: u64,
    d2h_calls: u64,
}

impl From<Snapshot> for Crossed {
    fn from(counts: Snapshot) -> Crossed {
        Crossed {
            h2d_bytes: counts.h2d_bytes,
            d2h_bytes: counts.d2h_bytes,
            h2d_calls: counts.h2d_calls,
            d2h_calls: counts.d2h_calls,
        }
    }
}

/// Things a second; 0 for none.
pub(crate) fn rate(n: usize, time: Duration) -> f64 {
    if n == 0 || time.is_zero() {
        0.0
    } else {
        n as f64 / time.as_secs_f64()
    }
}

/// What surrounds a generation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) prompt: &'a [u32],
    pub(crate) seed: u64,
    pub(crate) device: &'a str,
    /// Seconds of loading.
    pub(crate) load_s: f64,
    /// Seconds from the start of the program to the prefill.
    pub(crate) before_s: f64,
    /// Of a session that guesses.
    pub(crate) lookup: Option<LookupReport>,
    /// Kernels of a decode step, where no step was run.
    pub(crate) launches_per_step: u64,
    /// Tokens that the context holds, and that the model was trained for.
    pub(crate) context: [u32; 2],
}

impl<'a> Report<'a> {
    /// The report of a generation.
    pub(crate) fn new(made: &'a Generation, setting: Setting<'a>) -> Report<'a> {
        let Setting {
            prompt,
            seed,
            device,
            load_s,
            before_s,
            lookup,
            launches_per_step,
            context: [context, trained],
        } = setting;
        let prefill_s = made.prefill.as_secs_f64();
        Report {
            prompt_ids: prompt,
            ids: &made.ids,
            text: &made.text,
            stop_reason: made.stop,
            seed,
            device,
            timing: Timing {
                load_s,
                prefill_s,
                first_token_s: (!made.ids.is_empty()).then_some(before_s + prefill_s),
                decode_s: made.decode.as_secs_f64(),
                prompt_tok_s: rate(made.prefilled, made.prefill),
                decode_tok_s: rate(made.steps as usize, made.decode),
            },
            launches: Launches {
                per_token: match made.steps {
                    0 => launches_per_step as f64,
                    steps => made.decoding.launches as f64 / steps as f64,
                },
                total: made.all.launches,
            },
            transfers: Transfers {
                all: made.all.into(),
                decode: made.decoding.into(),
            },
            lookup: lookup.map(|found| Guesses {
                passes: found.passes,
                guessed: found.guessed,
                accepted: found.accepted,
            }),
            logprobs: &made.logprobs,
            full: format!(
                "the context of {context} tokens is full; {}",
                remedy(context, trained)
            ),
        }
    }

    /// The summary for people.
    pub(crate) fn summary(&self) -> String {
        let Report {
            prompt_ids,
            ids,
            text: _,
            stop_reason,
            seed,
            device,
            timing,
            launches,
            transfers,
            lookup,
            logprobs: _,
            full,
        } = self;
        let first = match timing.first_token_s {
            Some(seconds) => format!(
                "first token after {seconds:.2} s ({:.2} s of it loading)",
                timing.load_s
            ),
            None => format!("no token ({:.2} s of loading)", timing.load_s),
        };
        let why = match stop_reason {
            StopReason::Stop => "a stop string came",
            StopReason::Length => "as many tokens as asked for",
            StopReason::Eog => "the model ended the text",
            StopReason::Context => full,
            StopReason::Interrupted => "interrupted",
        };
        let launched = if launches.per_token > 0.0 && launches.per_token < 1.0 {
            format!("one launch for {:.0} tokens", 1.0 / launches.per_token)
        } else {
            format!("{:.0} launches a token", launches.per_token)
        };
        let guesses = match lookup {
            Some(Guesses {
                passes,
                guessed,
                accepted,
            }) => format!(
                "; {accepted} of {guessed} guesses right ({:.0} %), {passes} passes",
                100.0 * *accepted as f64 / (*guessed).max(1) as f64
            ),
            None => String::new(),
        };
        format!(
            "[{device}] prompt: {} tokens, {:.1} tok/s; decode: {} tokens, {:.1} tok/s; {first}\n\
             [{device}] {launched}; {} to the device, {} back; seed {seed}; stopped: {why}{guesses}",
            prompt_ids.len(),
            timing.prompt_tok_s,
            ids.len(),
            timing.decode_tok_s,
            bytes(transfers.all.h2d_bytes),
            bytes(transfers.all.d2h_bytes),
        )
    }
}
