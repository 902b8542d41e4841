//! `warpsmith-fuzz`: fuzzes every registered target, each in a process of its own.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser;
use warpsmith_fuzz::{Budget, DEFAULT_LIMIT, Target, fuzz_with, run_once, targets};

/// Fuzzes the parsers; exits with 1 if a target fails.
#[derive(Parser)]
struct Args {
    /// Time for each target.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Only this target.
    #[arg(long)]
    target: Option<String>,
    /// The seed: the same one gives the same inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run one input from a file instead (with --target).
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
    /// Write each input here before it is run.
    #[arg(long, hide = true)]
    trace: Option<PathBuf>,
    /// Run the target in this process.
    #[arg(long, hide = true, requires = "target")]
    inner: Option<Inner>,
}

/// The one way to run inside; a value and not a switch, so that it reads at the call.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Inner {
    Here,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut chosen = targets();
    let known: Vec<_> = chosen.iter().map(|target| target.name()).collect();
    if let Some(name) = &args.target {
        chosen.retain(|target| target.name() == name);
        if chosen.is_empty() {
            eprintln!("no target '{name}', known: {}", known.join(", "));
            return ExitCode::from(2);
        }
    }
    let mut failed = false;
    for target in chosen {
        let ok = match (&args.input, args.inner) {
            (Some(path), _) => replay(target, path),
            (None, Some(Inner::Here)) => fuzz_here(target, &args),
            (None, None) => fuzz_in_child(target.name(), &args),
        };
        failed |= !ok;
    }
    ExitCode::from(u8::from(failed))
}

/// Runs the input in `path`; true if the target took it.
fn replay(target: Box<dyn Target>, path: &PathBuf) -> bool {
    let name = target.name();
    let input = match std::fs::read(path) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            return false;
        }
    };
    match run_once(target, &input, DEFAULT_LIMIT) {
        Ok(time) => println!("{name}: took {} bytes in {time:?}", input.len()),
        Err(fault) => {
            println!("{name}: {fault}");
            return false;
        }
    }
    true
}

/// Fuzzes `target` in this process; true if nothing was found.
fn fuzz_here(target: Box<dyn Target>, args: &Args) -> bool {
    let name = target.name();
    let budget = Budget::Time(Duration::from_secs(args.seconds));
    let observe = |input: &[u8]| {
        if let Some(path) = &args.trace {
            std::fs::write(path, input).expect("the trace file can be written");
        }
    };
    match fuzz_with(target, budget, args.seed, DEFAULT_LIMIT, observe) {
        Ok(stats) => {
            println!(
                "{name}: {} inputs, {} MiB, slowest {:?}, nothing found",
                stats.iterations,
                stats.bytes >> 20,
                stats.slowest
            );
            true
        }
        Err(finding) => {
            println!("{finding}");
            false
        }
    }
}

/// Fuzzes the target called `name` in a child. A child that dies is run again with a trace, to have its last input.
fn fuzz_in_child(name: &str, args: &Args) -> bool {
    let run = |trace: Option<&PathBuf>| {
        let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
        command.args([
            "--inner",
            "here",
            "--target",
            name,
            "--seed",
            &args.seed.to_string(),
        ]);
        // A trace is slower, so the second run has more time to come as far as the first.
        let seconds = if trace.is_some() {
            args.seconds.saturating_mul(20)
        } else {
            args.seconds
        };
        command.args(["--seconds", &seconds.to_string()]);
        if let Some(path) = trace {
            command.arg("--trace").arg(path);
        }
        command
            .status()
            .expect("this program can be started again")
            .code()
    };
    match run(None) {
        Some(0) => true,
        Some(1) => false,
        died => {
            let path = std::env::temp_dir().join(format!("warpsmith-fuzz-{name}-{}", args.seed));
            let again = run(Some(&path));
            println!(
                "{name}: the process died ({died:?}, again {again:?}); its last input is {}",
                path.display()
            );
            false
        }
    }
}
