//! What `RUST_LOG` asks for: spans and events of loading, planning, building and launching, on standard error.

use anyhow::{Context, Result, anyhow};
use tracing_subscriber::{EnvFilter, fmt::format::FmtSpan};

/// The variable.
const NAME: &str = "RUST_LOG";

/// Begins to write down what the variable asks for; nothing where it is unset or empty.
pub(crate) fn listen() -> Result<()> {
    let Some(asked) = std::env::var_os(NAME).filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    let asked = asked
        .to_str()
        .with_context(|| format!("{NAME} is no UTF-8"))?;
    let filter = EnvFilter::try_new(asked).with_context(|| format!("{NAME}={asked}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        // A span says how long it took when it ends.
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .try_init()
        .map_err(|error| anyhow!("{NAME}: {error}"))
}
