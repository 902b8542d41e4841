//! `cargo xtask test`: the steps that CI runs, in order, up to the first failure.

use std::time::{Duration, Instant};

use crate::cuda_clients;
use crate::demo::{self, Profile};
use crate::error::{Error, Result};
use crate::fetch::{self, Place, What};
use crate::house::House;
use crate::python;
use crate::run::Run;
use crate::tidy;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Step {
    Ptxas,
    Models,
    CudaClients,
    Python,
    Fmt,
    Clippy,
    Tidy,
    Test,
    Doc,
    Smoke,
}

impl Step {
    pub(crate) const ALL: [Step; 10] = [
        Step::Ptxas,
        Step::Models,
        Step::CudaClients,
        Step::Python,
        Step::Fmt,
        Step::Clippy,
        Step::Tidy,
        Step::Test,
        Step::Doc,
        Step::Smoke,
    ];

    fn name(self) -> &'static str {
        match self {
            Step::Ptxas => "ptxas",
            Step::Models => "models",
            Step::CudaClients => "cuda-clients",
            Step::Python => "python",
            Step::Fmt => "fmt",
            Step::Clippy => "clippy",
            Step::Tidy => "tidy",
            Step::Test => "test",
            Step::Doc => "doc",
            Step::Smoke => "smoke",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Step::Ptxas => "install NVIDIA's assemblers into .tools/",
            Step::Models => {
                "fetch the models into the user's cache, clients of the server into .tools/"
            }
            Step::CudaClients => "install programs that use CUDA into .tools/cuda-clients",
            Step::Python => "install what the tests of the Python package need into .tools/pytest",
            Step::Fmt => "cargo fmt --all --check",
            Step::Clippy => "cargo clippy --workspace --all-targets -- -D warnings",
            Step::Tidy => "cargo xtask tidy",
            Step::Test => "cargo test --workspace",
            Step::Doc => "cargo doc --workspace --no-deps",
            Step::Smoke => "build the command line and generate with the real model",
        }
    }
}

/// The steps of `--quick`.
pub(crate) const QUICK: [Step; 4] = [Step::Ptxas, Step::Fmt, Step::Tidy, Step::Test];

/// Packages whose tests run models, all kernels of the library or many mutants: most of the time of all tests.
const SLOW: [&str; 2] = ["warpsmith-suite", "warpsmith-fuzz"];

/// Tests of the suite that are quick nevertheless.
const QUICK_OF_SUITE: [&str; 2] = ["findings", "shapes"];

/// Which tests the step `test` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tests {
    All,
    Quick,
}

/// Runs the steps in order; the summary comes last.
pub(crate) fn test(house: &House, steps: &[Step], tests: Tests) -> Result<()> {
    let mut times = Vec::new();
    let mut results = Vec::new();
    let mut failure = None;
    for (index, &step) in steps.iter().enumerate() {
        println!(
            "\n==> [{}/{}] {}: {}",
            index + 1,
            steps.len(),
            step.name(),
            step.title()
        );
        let start = Instant::now();
        let result = run(house, step, tests, &mut results);
        times.push((step, start.elapsed()));
        if let Err(error) = result {
            println!(
                "\n==> FAILED at [{}/{}] {}",
                index + 1,
                steps.len(),
                step.name()
            );
            failure = Some(Error::Step {
                step: step.name(),
                source: Box::new(error),
            });
            break;
        }
    }
    summary(&times, &results);
    failure.map_or(Ok(()), Err)
}

impl Tests {
    /// The commands that run them.
    fn commands(self, house: &House) -> Vec<Run> {
        let all = house.cargo(["test", "--workspace"]);
        match self {
            Tests::All => vec![all],
            Tests::Quick => {
                let most = SLOW
                    .iter()
                    .fold(all, |run, slow| run.args(["--exclude", slow]));
                let suite = house.cargo(["test", "--package", "warpsmith-suite"]);
                let suite = QUICK_OF_SUITE
                    .iter()
                    .fold(suite, |run, name| run.args(["--test", name]));
                vec![most, suite]
            }
        }
    }
}

fn summary(times: &[(Step, Duration)], results: &[String]) {
    println!("\n==> time by step");
    for (step, time) in times {
        println!("{:>9.1} s  {}", time.as_secs_f64(), step.name());
    }
    if !results.is_empty() {
        println!("\n==> results of cargo test");
        for line in results {
            println!("{line}");
        }
    }
}

fn run(house: &House, step: Step, tests: Tests, results: &mut Vec<String>) -> Result<()> {
    match step {
        Step::Ptxas => Place::assemblers(house)
            .iter()
            .try_for_each(|place| place.ensure(house).map(drop)),
        Step::Models => {
            fetch::fetch(house, What::Smollm2)?;
            fetch::fetch(house, What::Clients)?;
            fetch::fetch(house, What::Whisper)
        }
        Step::CudaClients => cuda_clients::install(house),
        Step::Python => python::install(house),
        Step::Fmt => house.cargo(["fmt", "--all", "--check"]).show(),
        Step::Clippy => house
            .cargo([
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])
            .show(),
        Step::Tidy => tidy::tidy(house),
        Step::Test => tests.commands(house).into_iter().try_for_each(|command| {
            with_places(house, command)?.tee(|line| {
                if line.starts_with("test result:") {
                    results.push(line.to_owned());
                }
            })
        }),
        Step::Doc => house
            .cargo(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .show(),
        Step::Smoke => smoke(house),
    }
}

/// Tells tests where the downloaded files are.
fn with_places(house: &House, mut run: Run) -> Result<Run> {
    for place in Place::assemblers(house)
        .into_iter()
        .chain([Place::smollm2()?])
    {
        run = run.env(place.variable, place.path());
    }
    Ok(run)
}

/// One real answer from the command line, on the virtual GPU. The build is that of the tests: one in release would take as
/// long as all tests of models.
fn smoke(house: &House) -> Result<()> {
    if !house.has_program("warpsmith")? {
        println!("skipped: the workspace has no program `warpsmith` yet");
        return Ok(());
    }
    let model = Place::smollm2()?.ensure(house)?;
    let run = Run::new(demo::build(house, Profile::Dev)?)
        .args([
            "generate",
            "--device",
            "virtual",
            "--temperature",
            "0",
            "--max-tokens",
            "16",
            "--json",
        ])
        .arg("--model")
        .arg(model)
        .arg("Explain warps in one line");
    let command = run.line();
    let text = run.read_stdout()?;
    let answer: serde_json::Value = serde_json::from_str(&text).map_err(|error| Error::Output {
        command: command.clone(),
        expected: "one JSON object",
        found: error.to_string(),
    })?;
    let ids = answer["ids"].as_array().map_or(0, Vec::len);
    match answer["text"].as_str().map(str::trim) {
        Some(said) if !said.is_empty() && ids > 0 => {
            println!("{ids} tokens: {said}");
            Ok(())
        }
        _ => Err(Error::Output {
            command,
            expected: "a `text` and its `ids`",
            found: text,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_step_is_run_once_and_answers_to_the_name_it_prints() {
        assert_eq!(Step::ALL, Step::value_variants());
        for step in Step::ALL {
            assert_eq!(Step::from_str(step.name(), false), Ok(step));
        }
    }
}
