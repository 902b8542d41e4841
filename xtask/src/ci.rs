//! `cargo xtask test`: the steps that CI runs, in order, up to the first failure.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cuda_clients;
use crate::demo::{self, Profile};
use crate::error::{Error, Result};
use crate::fetch::{self, Place, What};
use crate::house::House;
use crate::programs;
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

/// What has to be there before the tests are built, and not for anything before that: installed beside the other steps,
/// since most of it waits for the network and for one core.
const INSTALLS: [Step; 4] = [Step::Ptxas, Step::Models, Step::CudaClients, Step::Python];

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

/// Runs the steps in order, installs beside those before the tests; the summary comes last.
pub(crate) fn test(house: &House, steps: &[Step], tests: Tests) -> Result<()> {
    let mut report = Report::default();
    let mut installs = match steps {
        [_] => None,
        _ => Some(Installs::start(steps)?),
    };
    let mut result = Ok(());
    for (index, &step) in steps.iter().enumerate() {
        if installs.is_some() && INSTALLS.contains(&step) {
            continue;
        }
        if step == Step::Test
            && let Some(installs) = installs.take()
        {
            result = installs.finish(steps, &mut report);
        }
        if result.is_ok() {
            heading(steps, index);
            let start = Instant::now();
            result = run(house, step, tests, &mut report.results)
                .map_err(|error| failed(steps, step, error));
            report.times.push((step, start.elapsed()));
        }
        if result.is_err() {
            break;
        }
    }
    // None is cut off in its middle.
    if let Some(installs) = installs {
        let _ = installs.0.join();
    }
    report.print();
    result
}

fn heading(steps: &[Step], index: usize) {
    let (name, title) = (steps[index].name(), steps[index].title());
    println!("\n==> [{}/{}] {name}: {title}", index + 1, steps.len());
}

fn failed(steps: &[Step], step: Step, error: Error) -> Error {
    let place = steps.iter().position(|&other| other == step);
    let place = place.map_or(0, |index| index + 1);
    println!("\n==> FAILED at [{place}/{}] {}", steps.len(), step.name());
    Error::Step {
        step: step.name(),
        source: Box::new(error),
    }
}

/// Installs under way: each a process of this program, so that what it prints can be held back until it is over.
struct Installs(JoinHandle<Vec<(Step, Duration, std::io::Result<Output>)>>);

impl Installs {
    fn start(steps: &[Step]) -> Result<Installs> {
        let program = std::env::current_exe().map_err(|source| Error::Start {
            program: "xtask".to_owned(),
            source,
        })?;
        let wanted: Vec<Step> = steps
            .iter()
            .copied()
            .filter(|step| INSTALLS.contains(step))
            .collect();
        let names: Vec<&str> = wanted.iter().map(|step| step.name()).collect();
        println!("beside the first steps: {}", names.join(", "));
        Ok(Installs(std::thread::spawn(move || {
            let one = |step: Step| {
                let start = Instant::now();
                let output = Command::new(&program)
                    .args(["test", "--only", step.name()])
                    .output();
                (step, start.elapsed(), output)
            };
            wanted.into_iter().map(one).collect()
        })))
    }

    /// Waits for them and prints what they said.
    fn finish(self, steps: &[Step], report: &mut Report) -> Result<()> {
        let done = self.0.join().expect("an install does not panic");
        for (step, time, output) in done {
            report.times.push((step, time));
            let index = steps.iter().position(|&other| other == step);
            heading(steps, index.expect("a step of these"));
            let output = output.map_err(|source| Error::Start {
                program: "xtask".to_owned(),
                source,
            });
            let output = output.map_err(|error| failed(steps, step, error))?;
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                let error = Error::Failed {
                    command: format!("cargo xtask test --only {}", step.name()),
                    status: output.status,
                    output: String::new(),
                };
                return Err(failed(steps, step, error));
            }
        }
        Ok(())
    }
}

/// What the summary says.
#[derive(Default)]
struct Report {
    times: Vec<(Step, Duration)>,
    /// Lines of `cargo test`.
    results: Vec<String>,
}

impl Report {
    fn print(&self) {
        // One alone is a part of a longer list, or somebody is there and looks on.
        if self.times.len() > 1 {
            println!("\n==> time by step");
            for (step, time) in &self.times {
                println!("{:>9.1} s  {}", time.as_secs_f64(), step.name());
            }
        }
        if !self.results.is_empty() {
            println!("\n==> results of cargo test");
            for line in &self.results {
                println!("{line}");
            }
        }
    }
}

impl Tests {
    /// The commands that build them.
    fn commands(self, house: &House) -> Vec<Run> {
        let all = self.most(house.cargo(["test", "--workspace"]));
        match self {
            Tests::All => vec![all],
            Tests::Quick => {
                let suite = house.cargo(["test", "--package", "warpsmith-suite"]);
                let suite = QUICK_OF_SUITE
                    .iter()
                    .fold(suite, |run, name| run.args(["--test", name]));
                vec![all, suite]
            }
        }
    }

    /// The command that runs the examples in documentation.
    fn examples(self, house: &House) -> Run {
        self.most(house.cargo(["test", "--workspace", "--doc"]))
    }

    /// Without what is slow, if quick.
    fn most(self, run: Run) -> Run {
        match self {
            Tests::All => run,
            Tests::Quick => SLOW
                .iter()
                .fold(run, |run, slow| run.args(["--exclude", slow])),
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
        Step::Test => {
            let places = places(house)?;
            let mut keep = |line: &str| {
                if line.starts_with("test result:") {
                    results.push(line.to_owned());
                }
            };
            for command in tests.commands(house) {
                programs::test(command, &places, &mut keep)?;
            }
            let examples = tests.examples(house);
            with(&places, examples).tee(keep)
        }
        Step::Doc => house
            .cargo(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .show(),
        Step::Smoke => smoke(house),
    }
}

/// Where the downloaded files are, by the variables that tests look at.
fn places(house: &House) -> Result<Vec<(&'static str, PathBuf)>> {
    let places = Place::assemblers(house)
        .into_iter()
        .chain([Place::smollm2()?]);
    Ok(places.map(|place| (place.variable, place.path())).collect())
}

fn with(places: &[(&'static str, PathBuf)], run: Run) -> Run {
    places
        .iter()
        .fold(run, |run, (variable, path)| run.env(variable, path))
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
