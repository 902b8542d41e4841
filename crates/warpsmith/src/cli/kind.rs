//! A model that is not there, or of the other kind, is named as such, with what helps.

use super::output::printable;
use anyhow::{Result, bail};
use std::path::Path;
use warpsmith::formats::Kind;

/// Refuses a model that is not there or clearly not of the kind that is wanted; what cannot be told is for the loader to say.
pub(crate) fn expect(path: &Path, want: Kind) -> Result<()> {
    let name = printable(&path.display().to_string());
    if let Ok(false) = path.try_exists() {
        bail!(
            "{name}: there is no such file or folder; hf:OWNER/NAME[:FILE] is a model of Hugging Face, which is fetched"
        );
    }
    match (want, Kind::of(path)) {
        (Kind::Text, Some(Kind::Speech)) => bail!(
            "{name} is a Whisper model, which turns speech into text: `warpsmith transcribe --model {name} SOUND` runs it"
        ),
        (Kind::Speech, Some(Kind::Text)) => bail!(
            "{name} is a language model, which goes on with text: `warpsmith generate --model {name} PROMPT` runs it"
        ),
        (Kind::Text | Kind::Speech, _) => Ok(()),
    }
}
