//! `models`: what was fetched by name, and taking it away.

use super::{
    hub::{Name, cache::Cache},
    output,
};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// Models that were fetched by name, as in `--model hf:OWNER/NAME`.
///
/// They are in the cache of Hugging Face's programs: HF_HUB_CACHE, or hub in HF_HOME, or ~/.cache/huggingface/hub.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith models list
  warpsmith models rm bartowski/SmolLM2-135M-Instruct-GGUF")]
pub(crate) struct Models {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists them with their sizes, when they were fetched, and their files.
    List {
        /// Prints a JSON list instead: name, bytes, fetched (seconds since 1970), files.
        #[arg(long)]
        json: bool,
    },
    /// Takes models out of the cache, with all their versions. Asks first.
    Rm {
        /// Their names, OWNER/NAME.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// Does not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

/// A model of the list.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    bytes: u64,
    fetched: u64,
    files: &'a [String],
}

impl Models {
    pub(crate) fn run(self) -> Result<()> {
        let cache = Cache::of_environment()?;
        match self.what {
            What::List { json } => list(&cache, json),
            What::Rm { names, yes } => remove(&cache, &names, yes),
        }
    }
}

fn list(cache: &Cache, json: bool) -> Result<()> {
    let all = cache.list()?;
    if json {
        let lines = all.iter().map(|held| Line {
            name: &held.name,
            bytes: held.bytes,
            fetched: seconds(held.changed),
            files: &held.files,
        });
        return output::print_json(&lines.collect::<Vec<_>>());
    }
    let width = all.iter().map(|held| held.name.len()).max().unwrap_or(0);
    for held in &all {
        let (name, size) = (output::printable(&held.name), output::bytes(held.bytes));
        let files = output::printable(&held.files.join(", "));
        output::print(&format!(
            "{name:width$}  {size:>10}  {}  {files}\n",
            day(held.changed)
        ))?;
    }
    if all.is_empty() {
        output::note("no models were fetched by name yet");
    }
    Ok(())
}

fn remove(cache: &Cache, names: &[String], yes: bool) -> Result<()> {
    let all = cache.list()?;
    let mut chosen = Vec::new();
    for name in names {
        let name = name.strip_prefix("hf:").unwrap_or(name);
        // What is no name of a repository is no folder to be taken away either.
        Name::of(Path::new(&format!("hf:{name}")))?;
        let held = all.iter().find(|held| held.name == name);
        let held =
            held.with_context(|| format!("{} is not in the cache", output::printable(name)))?;
        chosen.push(held);
    }
    for held in chosen {
        let size = output::bytes(held.bytes);
        if !yes {
            if !io::stdin().is_terminal() {
                bail!("{}, {size}: --yes takes it away without asking", held.name);
            }
            output::print(&format!("Take {} away, {size}? [y/N] ", held.name))?;
            io::stdout().flush().context("cannot ask")?;
            let mut answer = String::new();
            io::stdin().read_line(&mut answer).context("no answer")?;
            if !matches!(answer.trim(), "y" | "Y" | "yes") {
                continue;
            }
        }
        cache.remove(&held.name)?;
        output::note(&format!("{}: {size} are free", held.name));
    }
    Ok(())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// A day as in 2026-11-29 (Hinnant, days of the civil calendar), in UTC.
fn day(time: SystemTime) -> String {
    let z = (seconds(time) / 86_400) as i64 + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (
        of_year - (153 * shifted + 2) / 5 + 1,
        (shifted + 2) % 12 + 1,
    );
    let year = era * 400 + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::day;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, want) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_735_689_599, "2024-12-31"),
            (1_795_996_800, "2026-11-30"),
        ] {
            assert_eq!(day(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }
}
