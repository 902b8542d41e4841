//! Ctrl-C: ends the program, or the work that watches for it, and leaves nothing half done.

use super::output;
use anyhow::{Context, Result};
use std::{
    collections::BTreeSet,
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

/// The status of a program that Ctrl-C ended: 128 + SIGINT.
const STATUS: u8 = 130;

const UNWATCHED: u8 = 0;
const WATCHED: u8 = 1;
const RAISED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNWATCHED);
/// Held while something is written that is of use only when it is whole.
static WRITING: Mutex<()> = Mutex::new(());
/// Files that are not complete.
static DRAFTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How often a writer is waited for that does not come to an end, and how long each time.
const PATIENCE: u32 = 100;
const MOMENT: Duration = Duration::from_millis(10);

/// Takes over Ctrl-C.
pub(crate) fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        // a second Ctrl-C, or one that nobody watches for, ends the program at once
        if STATE
            .compare_exchange(WATCHED, RAISED, SeqCst, SeqCst)
            .is_err()
        {
            end();
        }
    })
    .context("cannot handle Ctrl-C")
}

/// Ends the program after what is being written, without drafts.
fn end() -> ! {
    let _writer = (0..PATIENCE).find_map(|_| {
        let writer = WRITING.try_lock().ok();
        if writer.is_none() {
            thread::sleep(MOMENT);
        }
        writer
    });
    for draft in drafts().iter() {
        let _ = fs::remove_file(draft);
    }
    new_line();
    std::process::exit(STATUS.into());
}

/// Ends the line in which a terminal shows `^C`.
pub(crate) fn new_line() {
    if io::stderr().is_terminal() {
        output::warn("");
    }
}

fn drafts() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, Ctrl-C does not end the program.
pub(crate) fn hold() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, Ctrl-C removes a file.
#[derive(Debug)]
pub(crate) struct Removed(PathBuf);

impl Removed {
    /// Of a file that is not complete.
    pub(crate) fn new(draft: &Path) -> Removed {
        drafts().insert(draft.to_owned());
        Removed(draft.to_owned())
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        drafts().remove(&self.0);
    }
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
        raised()
    }
}

/// Whether there was a Ctrl-C that a watch saw.
pub(crate) fn raised() -> bool {
    STATE.load(SeqCst) == RAISED
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
