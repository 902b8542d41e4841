//! `cargo xtask clients`: the test of the server's clients with those that are too large for every run.

use std::fs;

use crate::error::{Error, Result};
use crate::fetch::{self, Place, What};
use crate::house::House;

/// What is installed.
const LITELLM: &str = "crates/warpsmith/tests/clients/litellm.txt";

/// Installs LiteLLM (290 MB) and runs the test with it.
pub(crate) fn clients(house: &House) -> Result<()> {
    fetch::fetch(house, What::Clients)?;
    fetch::fetch(house, What::Whisper)?;
    let model = Place::smollm2()?;
    let path = model.ensure(house)?;
    let wanted = house.root().join(LITELLM);
    let list = fs::read_to_string(&wanted).map_err(Error::io(&wanted))?;
    let python = fetch::environment(house, "litellm", &list)?;
    house
        .cargo([
            "test",
            "--workspace",
            "--test",
            "serving",
            "langchains_clients",
        ])
        .env(model.variable, path)
        .env("WARPSMITH_LITELLM", python.program())
        .show()
}
