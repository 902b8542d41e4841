//! `--trace-stats` and `--timeline`: files that say what a run computed, and when.

use super::files::{Draft, Files};
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use std::{
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use warpsmith::{
    device::{Device, Timeline},
    graph::{Observed, Observer, Origin, SharedObserver, Statistics},
    models::llama::Run,
};

/// What is written down about a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
pub(crate) struct TraceArgs {
    /// Writes what every parameter and every value was, a JSON object a line: name, rows, columns, mean, std, min, max,
    /// non_finite. Nothing of it counts as a transfer; passes run launch by launch.
    #[arg(long, value_name = "FILE")]
    trace_stats: Option<PathBuf>,
    /// Writes when each kernel and each transfer ran, for ui.perfetto.dev or chrome://tracing; passes run launch by
    /// launch instead of as replays.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
}

/// The files, begun before anything is computed; they take their places at the end.
pub(crate) struct Traces {
    stats: Option<Arc<Mutex<StatsFile>>>,
    timeline: Option<Draft>,
    recording: Option<Timeline>,
}

impl TraceArgs {
    /// How passes run that were asked to run so: in a replay no kernel can be seen, and values only between launches.
    pub(crate) fn run(&self, asked: Run) -> Run {
        match (asked, &self.trace_stats, &self.timeline) {
            (_, Some(_), _) | (Run::Replay, None, Some(_)) => Run::Eager,
            (asked, None, _) => asked,
        }
    }

    /// Whether anything is written down.
    pub(crate) fn is_asked(&self) -> bool {
        self.trace_stats.is_some() || self.timeline.is_some()
    }

    /// Begins the files.
    ///
    /// # Errors
    /// A file that is read, or written besides; what cannot be written.
    pub(crate) fn open(&self, files: &mut Files) -> Result<Traces> {
        let stats = files.draft("--trace-stats", self.trace_stats.as_deref())?;
        let timeline = files.draft("--timeline", self.timeline.as_deref())?;
        let stats = stats.map(|out| {
            Arc::new(Mutex::new(StatsFile {
                out: Some(out),
                runs: 0,
                pass: String::new(),
                result: Ok(()),
            }))
        });
        Ok(Traces {
            stats,
            timeline,
            recording: None,
        })
    }
}

impl Traces {
    /// Who looks at the values, if anybody.
    pub(crate) fn observer(&self) -> Option<SharedObserver> {
        let file = self.stats.as_ref()?;
        Some(Arc::clone(file) as SharedObserver)
    }

    /// Begins the timeline: it has what the summary counts.
    pub(crate) fn begin(&mut self, device: &Device) -> Result<()> {
        if self.timeline.is_some() {
            self.recording = Some(device.timeline()?);
        }
        Ok(())
    }

    /// Writes the files.
    pub(crate) fn finish(self, device: &Device) -> Result<()> {
        let Traces {
            stats,
            timeline,
            recording,
        } = self;
        if let Some(file) = stats {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let written = std::mem::replace(&mut file.result, Ok(()));
            if let Some(out) = file.out.take() {
                out.named(written)?;
                out.commit()?;
            }
        }
        if let (Some(file), Some(recording)) = (timeline, recording) {
            let trace = warpsmith::timeline::trace(&recording.finish()?, &device.info().name);
            file.complete(&trace)?;
        }
        Ok(())
    }
}

/// Statistics of values, as they come.
struct StatsFile {
    /// Until it is complete.
    out: Option<Draft>,
    runs: u64,
    pass: String,
    result: io::Result<()>,
}

/// A line of the file.
#[derive(Serialize)]
struct Line<'a> {
    /// `parameter` or `value`.
    kind: &'a str,
    name: &'a str,
    /// Which pass computed it, and the how-manieth pass of all that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<&'a str>,
    /// The tensor of the file that a matrix is.
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<&'a str>,
    rows: u32,
    columns: u32,
    mean: f64,
    std: f64,
    min: f32,
    max: f32,
    non_finite: u64,
}

impl StatsFile {
    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        serde_json::to_writer(&mut *out, line)?;
        out.write_all(b"\n")
    }
}

impl Observer for StatsFile {
    fn pass(&mut self, name: &str) {
        self.runs += 1;
        name.clone_into(&mut self.pass);
    }

    fn value(&mut self, value: Observed<'_>) {
        if self.result.is_err() {
            return;
        }
        let Observed {
            name,
            origin,
            shape: [rows, columns],
            values,
        } = value;
        let Statistics {
            count: _,
            non_finite,
            mean,
            deviation,
            min,
            max,
        } = Statistics::of(values);
        let pass = self.pass.clone();
        let (kind, op, tensor) = match origin {
            Origin::Operation(op) => ("value", Some(op), None),
            Origin::Parameter(tensor) => ("parameter", None, Some(tensor)),
        };
        let of_pass = op.is_some();
        let line = Line {
            kind,
            name,
            pass: of_pass.then_some(pass.as_str()),
            run: of_pass.then_some(self.runs),
            op,
            tensor: tensor.filter(|tensor| !tensor.is_empty()),
            rows,
            columns,
            mean,
            std: deviation,
            min,
            max,
            non_finite,
        };
        self.result = self.write(&line);
    }
}
