//! A run that lasts: shows findings as they come, and is stopped by Ctrl-C or when its time is over.

use crate::cli::{interrupt::Watch, output::print, show::Show};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use warpsmith::{
    report::{Issue, Source, Suppressions},
    script::{Stop, Tell},
};

/// How long a run may take before its findings are shown one by one: those of a short one are shown together.
const SHORT: Duration = Duration::from_millis(500);
/// How often it is looked whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// What was found so far.
#[derive(Default)]
struct Found {
    /// Issues that are not shown, as text.
    waiting: String,
    /// Issues that are shown, or wait to be.
    known: Vec<Issue>,
    /// Whether they are shown as they come.
    at_once: bool,
}

impl Found {
    fn show(&mut self) {
        if self.at_once && !self.waiting.is_empty() {
            // A reader that went away is noticed at the end.
            let _gone = print(&std::mem::take(&mut self.waiting));
        }
    }
}

/// A run while it lasts.
pub(super) struct Live {
    found: Arc<Mutex<Found>>,
    stop: Stop,
    end: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Live {
    /// Begins to look.
    pub(super) fn begin(limit: Option<Duration>) -> Live {
        let found: Arc<Mutex<Found>> = Arc::default();
        let stop = Stop::default();
        let (end, ended) = mpsc::channel();
        let (own, stops) = (Arc::clone(&found), stop.clone());
        let start = Instant::now();
        let thread = std::thread::spawn(move || {
            let watch = Watch::begin();
            let mut raised = false;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                raised |= watch.raised();
                if raised || limit.is_some_and(|limit| start.elapsed() >= limit) {
                    stops.stop();
                }
                if start.elapsed() >= SHORT {
                    let mut found = own.lock().unwrap_or_else(PoisonError::into_inner);
                    found.at_once = true;
                    found.show();
                }
            }
            raised
        });
        Live {
            found,
            stop,
            end,
            thread,
        }
    }

    /// What stops the run.
    pub(super) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Who is told of what it finds, but of what is suppressed.
    pub(super) fn tell(&self, suppressions: &Suppressions) -> Tell {
        let (found, suppressions) = (Arc::clone(&self.found), suppressions.clone());
        Tell::new(move |source: &Source, issue: Issue| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            let known = found.known.iter().any(|known| known.is_same(&issue));
            if known || suppressions.cover(&issue) {
                return;
            }
            found.waiting += &Show::issue(source, &issue);
            found.known.push(issue);
            found.show();
        })
    }

    /// Ends it: the issues that are shown, and whether there was a Ctrl-C.
    pub(super) fn end(self) -> (Vec<Issue>, bool) {
        // Its receiver lives as long as the thread.
        drop(self.end);
        let raised = self.thread.join().unwrap_or(false);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = if found.at_once {
            std::mem::take(&mut found.known)
        } else {
            Vec::new()
        };
        (shown, raised)
    }
}
