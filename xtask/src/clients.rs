//! `cargo xtask clients`: the test of the server's clients with those that are too large for every run.

use crate::error::Result;
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
    let python = fetch::environment(house, "litellm", LITELLM, "LiteLLM (MIT)")?;
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
