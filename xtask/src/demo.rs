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
    let program = build(house)?;
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

/// Builds the command line in release and says where it is.
pub(crate) fn build(house: &House) -> Result<PathBuf> {
    if !house.has_program("warpsmith")? {
        return Err(Error::NoProgram {
            name: "warpsmith",
            note: String::new(),
        });
    }
    house
        .cargo([
            "build",
            "--release",
            "--package",
            "warpsmith",
            "--bin",
            "warpsmith",
        ])
        .show()?;
    house.release_program("warpsmith")
}
