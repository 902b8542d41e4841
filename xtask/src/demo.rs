//! `cargo xtask demo`: from nothing to a model that answers, and one that listens.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fetch::{Place, whisper_base};
use crate::house::House;
use crate::run::Run;

/// A clip of eleven seconds.
pub(crate) const CLIP: &str = "suite/reference/audio/jfk.wav";

/// Fetches the models, builds the command line in release, asks it `prompt`, and has it write down a clip.
pub(crate) fn demo(house: &House, prompt: &str) -> Result<()> {
    let model = Place::smollm2()?.ensure(house)?;
    let listener = whisper_base(house)?;
    let program = build(house, Profile::Release)?;
    Run::new(&program)
        .arg("generate")
        .arg("--model")
        .arg(model)
        .arg(prompt)
        .show()?;
    Run::new(program)
        .args(["transcribe", "--format", "srt", "--model"])
        .arg(listener)
        .arg(house.root().join(CLIP))
        .show()
}

/// How the command line is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As tests build it, so that nothing is compiled again behind them.
    Dev,
    Release,
}

/// Builds the command line and says where it is.
pub(crate) fn build(house: &House, profile: Profile) -> Result<PathBuf> {
    if !house.has_program("warpsmith")? {
        return Err(Error::NoProgram {
            name: "warpsmith",
            note: String::new(),
        });
    }
    let build = match profile {
        // The program is built for its tests, with the features that shared dependencies have then.
        Profile::Dev => house.cargo(["test", "--workspace", "--no-run", "--test", "commands"]),
        Profile::Release => house.cargo([
            "build",
            "--release",
            "--package",
            "warpsmith",
            "--bin",
            "warpsmith",
        ]),
    };
    build.show()?;
    house.program(profile.folder(), "warpsmith")
}

impl Profile {
    /// Where cargo puts what it builds so.
    fn folder(self) -> &'static str {
        match self {
            Profile::Dev => "debug",
            Profile::Release => "release",
        }
    }
}
