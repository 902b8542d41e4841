//! Ctrl-C: ends the program, or the generation that watches for it.

use anyhow::{Context, Result};
use std::{
    process::ExitCode,
    sync::atomic::{AtomicU8, Ordering::SeqCst},
};

/// The status of a program that Ctrl-C ended: 128 + SIGINT.
const STATUS: u8 = 130;

const UNWATCHED: u8 = 0;
const WATCHED: u8 = 1;
const RAISED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNWATCHED);

/// Takes over Ctrl-C.
pub(crate) fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        // a second Ctrl-C, or one that nobody watches for, ends the program at once
        if STATE
            .compare_exchange(WATCHED, RAISED, SeqCst, SeqCst)
            .is_err()
        {
            std::process::exit(STATUS.into());
        }
    })
    .context("cannot handle Ctrl-C")
}

/// While it lives, the first Ctrl-C only raises it.
#[derive(Debug)]
pub(crate) struct Watch(());

impl Watch {
    /// Begins to watch.
    pub(crate) fn begin() -> Watch {
        STATE.store(WATCHED, SeqCst);
        Watch(())
    }

    /// Whether there was a Ctrl-C.
    pub(crate) fn raised(&self) -> bool {
        STATE.load(SeqCst) == RAISED
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        STATE.store(UNWATCHED, SeqCst);
    }
}

/// The exit code after Ctrl-C.
pub(crate) fn exit_code() -> ExitCode {
    STATUS.into()
}
