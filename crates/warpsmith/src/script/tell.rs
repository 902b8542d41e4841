//! Findings as they come, while a script still runs.

use crate::report::{Issue, Source};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use warpsmith_vgpu::{
    Observer,
    check::{Finding, Kind},
};

/// Who is told of findings.
#[derive(Clone)]
pub struct Tell(Arc<dyn Fn(&Source, Issue) + Send + Sync>);

impl Tell {
    /// Calls `tell` with each finding when a run first sees it, from the thread that runs it. Counts are still those of
    /// the first sight.
    pub fn new(tell: impl Fn(&Source, Issue) + Send + Sync + 'static) -> Tell {
        Tell(Arc::new(tell))
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}

/// What one run needs to tell.
#[derive(Clone)]
pub(super) struct Telling {
    tell: Tell,
    source: Arc<Source>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Where buffers start.
    names: Vec<(u64, String)>,
    /// Lines at which an address of the wrong space was told: what follows from that is not.
    bad_space: Vec<Option<u32>>,
}

impl Telling {
    pub(super) fn new(tell: Tell, source: &Source) -> Telling {
        Telling {
            tell,
            source: Arc::new(source.clone()),
            state: Arc::default(),
        }
    }

    /// A buffer starts there.
    pub(super) fn name(&self, address: u64, name: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.names.push((address, name.to_owned()));
    }

    /// What a machine tells.
    pub(super) fn observer(&self) -> Observer {
        let own = self.clone();
        Observer::new(move |finding| own.found(finding))
    }

    fn found(&self, finding: &Finding) {
        // A host that only compares is no finding, and the host tells of the rest itself.
        if matches!(finding.kind, Kind::UnwrittenOutput | Kind::Leak) {
            return;
        }
        let mut issue = self.source.issue(finding.clone());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if finding.kind == Kind::BadSpace {
            state.bad_space.push(issue.place.line);
        } else if issue.kind.starts_with("oob_") && state.bad_space.contains(&issue.place.line) {
            return;
        }
        if let Some(allocation) = issue.allocation.as_mut().filter(|a| a.name.is_none()) {
            let mut names = state.names.iter();
            let own = names.find(|(start, _)| *start == allocation.start);
            allocation.name = own.map(|(_, name)| name.clone().into());
        }
        drop(state);
        (self.tell.0)(&self.source, issue);
    }
}
