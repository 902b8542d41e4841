//! Reports: what was found in kernels, as data, and drawn as text, JSON and SARIF.

mod check;
mod collect;
mod folders;
mod json;
mod sarif;
mod source;
mod suppress;
mod text;

pub use check::{check_file, check_text};
pub use folders::Folders;
pub use json::json;
pub use sarif::sarif;
pub use source::Source;
pub use suppress::{Suppressions, UnknownRule};
pub use text::Paint;

use crate::script::{Difference, Error};
use std::sync::Arc;
use warpsmith_vgpu::check::{Access, Allocation, Verdict};

/// How sure, and how bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing; no finding.
    Note,
    /// Wrong on some path, if that path is taken.
    Warning,
    /// Wrong.
    Error,
}

/// A place in the text that PTX was compiled from, or that built it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, as its compiler calls it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 is not known.
    pub column: u32,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Origin {
            file,
            line,
            column: _,
        } = self;
        write!(f, "{file}:{line}")
    }
}

/// A place in a PTX file and who was there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in bytes, from 1.
    pub column: Option<u32>,
    /// The file and line that the PTX was compiled from, or that built it: of code that was inlined the innermost place
    /// that lies in the user's own files.
    pub origin: Option<Origin>,
    /// All places that it was compiled from: that of the code, then where it was inlined, then where that was.
    pub chain: Arc<[Origin]>,
    /// The CTA.
    pub block: Option<[u32; 3]>,
    /// The thread in its CTA.
    pub thread: Option<[u32; 3]>,
    /// What it did.
    pub access: Option<Access>,
    /// The kernel or host function, where it is another than the issue's.
    pub kernel: Option<String>,
}

impl Spot {
    /// Chooses the place of the source: the innermost one in these folders, or by its name alone if they are not known;
    /// if there is none, where the code stands.
    pub(crate) fn settle(&mut self, folders: Option<&Folders>) {
        let own = |origin: &&Origin| match folders {
            Some(folders) => folders.inside(&origin.file).is_some(),
            None => !origin.file.starts_with(['/', '\\']) && !origin.file.starts_with(".."),
        };
        if let Some(origin) = self.chain.iter().find(own).or(self.chain.first()) {
            self.origin = Some(origin.clone());
        }
    }

    /// Where the code stands, wherever it was inlined.
    fn code(&self) -> Option<&Origin> {
        self.chain.first().or(self.origin.as_ref())
    }

    /// The places inside the one that was chosen, and those that it was inlined into.
    fn around(&self) -> (&[Origin], &[Origin]) {
        let chosen = self
            .chain
            .iter()
            .position(|one| Some(one) == self.origin.as_ref());
        match chosen {
            Some(at) => (&self.chain[..at], &self.chain[at + 1..]),
            None => (&[], &[]),
        }
    }
}

/// One thing that is wrong at one place, or pair of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Its kind, as reports name it.
    pub kind: &'static str,
    /// How sure and how bad.
    pub level: Level,
    /// The kernel.
    pub kernel: String,
    /// The line of the kernel's header.
    pub entry_line: Option<u32>,
    /// Where.
    pub place: Spot,
    /// The other place that takes part.
    pub other: Option<Spot>,
    /// The first address.
    pub address: Option<u64>,
    /// The nearest allocation.
    pub allocation: Option<Allocation>,
    /// How often.
    pub count: u64,
    /// What happened.
    pub message: String,
    /// What would help.
    pub help: String,
    /// Whose fault it is.
    pub verdict: Verdict,
}

impl Issue {
    /// Whether another is of the same kind at the same places.
    pub fn is_same(&self, other: &Issue) -> bool {
        let place = |spot: &Spot| (spot.line, spot.column, spot.code().cloned());
        let (a, b) = (place(&self.place), self.other.as_ref().map(place));
        let (c, d) = (place(&other.place), other.other.as_ref().map(place));
        // Who comes second differs from thread to thread: two places are a pair without an order.
        let swapped = b.as_ref() == Some(&c) && d.as_ref() == Some(&a);
        self.kind == other.kind && self.kernel == other.kernel && (a == c && b == d || swapped)
    }
}

impl Issue {
    /// Chooses its places of the source, as [`Report::settle`] does.
    pub fn settle(&mut self, folders: &Folders) {
        self.place.settle(Some(folders));
        if let Some(other) = &mut self.other {
            other.settle(Some(folders));
        }
    }
}

/// A host buffer that was compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub buffer: String,
    /// The first element that differs.
    pub difference: Option<Difference>,
}

/// How it ended, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing is wrong.
    Clean,
    /// Something was found, or an output differs.
    Findings,
    /// It needs what the virtual GPU does not do.
    Unsupported,
    /// It could not run.
    Error,
}

impl Status {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Clean => "clean",
            Status::Findings => "findings",
            Status::Unsupported => "unsupported",
            Status::Error => "error",
        }
    }

    /// The exit status of a command that ends so.
    pub fn exit_code(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Findings => 1,
            Status::Unsupported | Status::Error => 2,
        }
    }
}

/// What a file's kernels have, or did.
#[derive(Debug, Default)]
pub struct Report {
    /// The PTX text.
    pub source: Source,
    /// What was found.
    pub issues: Vec<Issue>,
    /// What was compared.
    pub outputs: Vec<Output>,
    /// What kernels printed.
    pub printed: String,
    /// Why it did not run, or not to its end.
    pub failure: Option<Error>,
}

impl Report {
    /// How it ended.
    pub fn status(&self) -> Status {
        match &self.failure {
            Some(Error::Ptx { found, .. }) if found.iter().all(check::is_unsupported) => {
                return Status::Unsupported;
            }
            Some(Error::Unsupported { .. })
            | Some(Error::Device(warpsmith_vgpu::Error::Unsupported { .. })) => {
                return Status::Unsupported;
            }
            Some(_) => return Status::Error,
            None => {}
        }
        let wrong = self.issues.iter().any(|issue| issue.level > Level::Note)
            || self
                .outputs
                .iter()
                .any(|output| output.difference.is_some());
        if wrong {
            Status::Findings
        } else {
            Status::Clean
        }
    }

    /// Adds an issue, or counts it with one of the same kind at the same places.
    pub fn add(&mut self, issue: Issue) {
        match self.issues.iter_mut().find(|known| known.is_same(&issue)) {
            Some(known) => known.count = known.count.saturating_add(issue.count),
            None => self.issues.push(issue),
        }
    }

    /// Lets each finding in inlined code be at the innermost place that lies in these folders' repository.
    pub fn settle(&mut self, folders: &Folders) {
        self.source.folders = Some(folders.clone());
        for issue in &mut self.issues {
            issue.settle(folders);
        }
    }

    /// Leaves out what is suppressed.
    pub fn suppress(&mut self, suppressions: &Suppressions) {
        self.issues.retain(|issue| !suppressions.cover(issue));
    }
}
