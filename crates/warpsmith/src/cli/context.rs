//! How many tokens a context holds: what is asked for, what the model was trained for, and what to do where it is full.

use super::{options::ModelArgs, output::warn};
use anyhow::{Error, anyhow};
use warpsmith::models;

/// The context of a session for `need` tokens where nothing asks for another one.
const USUAL: u64 = 4096;

/// Positions of a session for `need` tokens of a model trained for `trained`. More than these are warned of.
pub(crate) fn of_session(args: &ModelArgs, trained: u32, need: u64) -> u32 {
    of(args, trained, need.max(USUAL))
}

/// Positions of each sequence of an engine.
pub(crate) fn of_sequences(args: &ModelArgs, trained: u32, need: u64) -> u32 {
    of(args, trained, need)
}

fn of(args: &ModelArgs, trained: u32, usual: u64) -> u32 {
    let Some(asked) = args.ctx_size else {
        return trained.min(usual.try_into().unwrap_or(u32::MAX));
    };
    if asked > trained {
        warn(&format!(
            "warning: --ctx-size {asked} is more than the {trained} tokens that the model was trained for: what it says of \
             later positions is worth little"
        ));
    }
    asked
}

/// What makes a full context larger.
pub(crate) fn remedy(context: u32, trained: u32) -> String {
    if context < trained {
        format!(
            "--ctx-size makes it larger, up to the {trained} tokens that the model was trained for"
        )
    } else {
        format!("the model was trained for {trained} tokens")
    }
}

/// The error of a full context with the option that makes it larger, and any other error as it is.
pub(crate) fn named(error: Error, trained: u32) -> Error {
    match error.downcast_ref::<models::Error>() {
        Some(models::Error::ContextFull { context, .. }) => {
            let remedy = remedy(*context, trained);
            match error.downcast::<models::Error>() {
                Ok(full) => anyhow!("{full}; {remedy}"),
                Err(error) => error,
            }
        }
        Some(_) | None => error,
    }
}
