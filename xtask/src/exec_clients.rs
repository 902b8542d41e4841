//! `cargo xtask exec-clients`: programs of others under `warpsmith exec`, those that are too large or too slow for every run.

use std::path::Path;

use crate::cuda_clients::CLIENTS;
use crate::demo::{self, Profile};
use crate::error::{Error, Result};
use crate::fetch::{self, environment};
use crate::house::House;
use crate::run::Run;

/// Triton, which needs no torch here, in the versions that docs/exec.md names.
const TRITON: [&str; 3] = ["triton==3.9.0", "numpy==2.4.6", "setuptools==80.9.0"];

const SCRIPTS: &str = "suite/cases/clients";

/// A script, where it runs, and with what.
struct Client {
    script: &'static str,
    environment: &'static str,
    packages: &'static [&'static str],
    /// The variable that chooses how a program compiles, with its values.
    choice: Option<(&'static str, &'static [&'static str])>,
    targets: &'static [&'static str],
}

const ALL: [Client; 4] = [
    Client {
        script: "triton_rows",
        environment: "cuda-triton",
        packages: &TRITON,
        choice: None,
        targets: &["80", "90", "100"],
    },
    Client {
        script: "triton_products",
        environment: "cuda-triton",
        packages: &TRITON,
        choice: None,
        targets: &["80", "90", "100"],
    },
    Client {
        script: "tinygrad_operations",
        environment: "cuda-clients",
        packages: &CLIENTS,
        choice: Some(("DEV", &["CUDA", "CUDA:PTX"])),
        targets: &["80"],
    },
    Client {
        script: "cuda_core_steps",
        environment: "cuda-clients",
        packages: &CLIENTS,
        choice: None,
        targets: &["80"],
    },
];

/// One run of a script.
struct Row {
    name: String,
    target: &'static str,
    check: &'static str,
    ok: usize,
    failed: usize,
    /// How it ended, if not well.
    end: Option<String>,
}

impl Row {
    fn is_well(&self) -> bool {
        self.failed == 0 && self.ok > 0 && self.end.is_none()
    }
}

/// Installs what they need, runs all of them plainly and checked, and prints a table.
pub(crate) fn exec_clients(house: &House) -> Result<()> {
    let program = demo::build(house, Profile::Release)?;
    let mut rows = Vec::new();
    for client in &ALL {
        let python = environment(house, client.environment, &client.packages.join("\n"))?;
        let (variable, values) = client.choice.unwrap_or(("DEV", &[""]));
        for value in values {
            for target in client.targets {
                for check in ["", "--check"] {
                    let run = exec(house, &program, &python, client, target, check);
                    let name = format!("{} {value}", client.script).trim_end().to_owned();
                    rows.push(row(run.env(variable, value), name, target, check));
                }
            }
        }
    }
    println!("\n| client | target | check | right | wrong |\n|---|---|---|---|---|");
    for Row {
        name,
        target,
        check,
        ok,
        failed,
        end,
    } in &rows
    {
        let end = end
            .as_deref()
            .map(|end| format!(" ({end})"))
            .unwrap_or_default();
        println!("| {name} | sm_{target} | {check} | {ok} | {failed}{end} |");
    }
    let bad = rows.iter().filter(|row| !row.is_well()).count();
    if bad > 0 {
        let command = "cargo xtask exec-clients".to_owned();
        let found = format!("{bad} rows that are not well");
        return Err(Error::Output {
            command,
            expected: "none",
            found,
        });
    }
    Ok(())
}

/// `warpsmith exec` of a script. What is not given back when an interpreter ends is not looked at.
fn exec(
    house: &House,
    program: &Path,
    python: &fetch::Python,
    client: &Client,
    target: &str,
    check: &str,
) -> Run {
    let script = house
        .root()
        .join(SCRIPTS)
        .join(client.script)
        .with_extension("py");
    Run::new(program)
        .args(["exec", "--sm", target])
        .args(Some(check).filter(|check| !check.is_empty()))
        .arg("--")
        .arg(python.program())
        .args(["-B", "-W", "ignore"])
        .arg(script)
}

/// Runs it and counts its lines.
fn row(run: Run, name: String, target: &'static str, check: &'static str) -> Row {
    let mut row = Row {
        name,
        target,
        check,
        ok: 0,
        failed: 0,
        end: None,
    };
    let ended = run.tee(|line| match line.split(' ').next() {
        Some("ok") => row.ok += 1,
        Some("FAIL") => row.failed += 1,
        Some(_) | None => {}
    });
    row.end = ended.err().map(|error| {
        error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    row
}
