//! Runs a part in a process of its own.

use crate::{
    Failed,
    args::{Args, Part},
    host::{self, Busy},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::de::DeserializeOwned;
use std::{
    env,
    ffi::OsStr,
    io::{IsTerminal, stderr},
    process::{Command, Stdio},
};

/// What a part found, and what else ran meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Ran<T> {
    pub(crate) found: T,
    /// Cores that other processes used on average; `None` where the system does not say.
    pub(crate) others: Option<f64>,
}

/// A bar of `len` steps, on a terminal only.
pub(crate) fn bar(len: u64) -> ProgressBar {
    let bar = ProgressBar::new(len);
    if !stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Runs `part` and reads what it printed.
pub(crate) fn run<T: DeserializeOwned>(
    args: &Args,
    part: Part,
    bar: &ProgressBar,
) -> Result<Ran<T>, Failed> {
    bar.set_message(part.name());
    let before = Busy::now();
    let paths = [
        ("--whisper", &args.whisper),
        ("--clip", &args.clip),
        ("--warpsmith", &args.warpsmith),
        ("--python", &args.python),
    ];
    let paths = paths
        .into_iter()
        .filter_map(|(name, path)| Some([OsStr::new(name), path.as_ref()?.as_os_str()]));
    let output = Command::new(env::current_exe()?)
        .args(paths.flatten())
        .args(["--part", part.name()])
        .arg("--model")
        .arg(&args.model)
        .args(["--threads", &args.threads.to_string()])
        .args(["--prefill", &args.prefill.to_string()])
        .args(["--decode", &args.decode.to_string()])
        .args(["--runs", &args.runs.to_string()])
        .args(args.tier.iter().flat_map(|tier| ["--tier", tier.name()]))
        .args(args.programs.iter().flat_map(|name| ["--program", name]))
        .stderr(Stdio::inherit())
        .output()?;
    bar.inc(1);
    if !output.status.success() {
        return Err(format!("{} ended with {}", part.name(), output.status).into());
    }
    Ok(Ran {
        found: serde_json::from_slice(&output.stdout)?,
        others: host::others(before, Busy::now()),
    })
}
