//! What workers tell: one line of JSON for each result.

use serde::{Deserialize, Serialize};
use std::io::Write;

/// A result, or a sign of life.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum Line {
    /// Work on this begins.
    Begin {
        /// What.
        what: String,
    },
    /// A case of a kernel has run.
    Case(CaseLine),
    /// A row of the models.
    Model(ModelLine),
    /// A check.
    Check(CheckLine),
    /// A time.
    Time(TimeLine),
    /// A figure or fact for the report.
    Note {
        /// What it says.
        text: String,
    },
    /// The device is lost; this process cannot go on.
    Lost,
    /// The worker failed.
    Trouble {
        /// Why.
        text: String,
    },
    /// All was done.
    Done,
}

/// How a case ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CaseLine {
    /// Its number among the cases of its family.
    pub(super) index: usize,
    /// Kernel and what is special about the case.
    pub(super) label: String,
    /// Whether the target lacks what it needs.
    pub(super) unsupported: bool,
    /// What is wrong on the card.
    pub(super) failures: Vec<Wrong>,
    /// What is wrong on the interpreter.
    pub(super) interpreter: Vec<Wrong>,
    /// Elements whose results mean something.
    pub(super) elements: u64,
    /// Of these, elements whose bits differ between card and interpreter.
    pub(super) differ: u64,
    /// Seconds to compile and load the kernel on the card.
    pub(super) load: f64,
}

/// Something wrong with a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Wrong {
    /// The argument, where it is about one.
    pub(super) arg: Option<String>,
    /// The first element that differs.
    pub(super) index: Option<usize>,
    /// What it is; text, as JSON has no NaN.
    pub(super) got: Option<String>,
    /// What was wanted.
    pub(super) wanted: Option<String>,
    /// All of it in words.
    pub(super) text: String,
}

/// A comparison of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ModelLine {
    /// Model and prompt.
    pub(super) model: String,
    /// Precision and way of running.
    pub(super) how: String,
    /// What was found.
    pub(super) result: String,
    /// Whether it is within its bound.
    pub(super) well: bool,
}

/// A check of the device crate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CheckLine {
    /// What holds.
    pub(super) what: String,
    /// Figures, or what is wrong.
    pub(super) result: String,
    /// Whether it holds.
    pub(super) well: bool,
}

/// A time beside its floor and its peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TimeLine {
    /// Its group.
    pub(super) group: String,
    /// What was timed.
    pub(super) what: String,
    /// Median, in seconds.
    pub(super) seconds: f64,
    /// The rate with its unit.
    pub(super) rate: String,
    /// The least time that the measured copy bandwidth allows.
    pub(super) floor: Option<f64>,
    /// cuBLAS on the same shape, f16 weights.
    pub(super) cublas: Option<f64>,
}

/// Prints a line at once; a reader that is gone ends the process.
pub(super) fn emit(line: &Line) {
    let text = serde_json::to_string(line).expect("lines hold text and finite numbers");
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

/// Work on `what` begins.
pub(super) fn begin(what: impl Into<String>) {
    emit(&Line::Begin { what: what.into() });
}

/// From now on a panic is told to the parent before the process ends.
pub(super) fn tell_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        emit(&Line::Trouble {
            text: panic.to_string(),
        });
    }));
}
