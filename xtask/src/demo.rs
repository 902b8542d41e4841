//! `cargo xtask demo`: from nothing to a model that answers.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fetch::Place;
use crate::house::House;
use crate::run::Run;

/// Fetches the model, builds the command line in release, and asks it `prompt`.
pub(crate) fn demo(house: &House, prompt: &str) -> Result<()> {
    let model = Place::smollm2()?.ensure(house)?;
    let program = build(house)?;
    Run::new(program)
        .arg("generate")
        .arg("--model")
        .arg(model)
        .arg(prompt)
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
