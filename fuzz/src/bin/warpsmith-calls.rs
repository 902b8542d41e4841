//! `warpsmith-calls`: random sequences of calls of the driver library, in processes of their own.

use clap::Parser;
use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};
use warpsmith_fuzz::calls::Caller;

/// Runs sequences; exits with 1 if a process of them crashes, does not end, or touches memory that is not its own.
#[derive(Parser)]
struct Args {
    /// The driver library; that beside this program, if it is not named.
    #[arg(long)]
    library: Option<PathBuf>,
    /// How many.
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// The first.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The seed: the same one gives the same sequences.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sequences of one process.
    #[arg(long, default_value_t = 500)]
    each: u64,
    /// Says each call before it is made; runs in this process.
    #[arg(long)]
    trace: bool,
    /// Runs in this process.
    #[arg(long, hide = true)]
    here: bool,
}

/// A process whose sequence takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);

fn library(args: &Args) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?;
    let beside =
        ["libwarpsmith_vcuda.so", "deps/libwarpsmith_vcuda.so"].map(|name| folder.join(name));
    let found = beside.into_iter().find(|path| path.exists());
    args.library.clone().or(found)
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(library) = library(&args) else {
        eprintln!(
            "no driver library beside this program: build it by `cargo build -p warpsmith-vcuda`"
        );
        return ExitCode::from(2);
    };
    if args.here || args.trace {
        return here(&args, &library);
    }
    let (mut at, end, mut bad) = (args.from, args.from.saturating_add(args.count), 0);
    while at < end {
        let count = args.each.min(end - at);
        if let Err(what) = process(&args, &library, at, count) {
            bad += 1;
            println!(
                "{what}; the same again: --seed {} --from {at} --count {count} --trace",
                args.seed
            );
        }
        at += count;
    }
    println!("{} sequences, {bad} processes failed", args.count);
    ExitCode::from(u8::from(bad > 0))
}

/// Runs sequences in this process, and says which.
fn here(args: &Args, library: &std::path::Path) -> ExitCode {
    let Some(caller) = Caller::new(library) else {
        eprintln!("{} cannot be loaded, or lacks functions", library.display());
        return ExitCode::from(2);
    };
    let trace = |name: &str, values: &[u64]| {
        if args.trace {
            println!("{:?} {name}({values:x?})", thread::current().id());
        }
    };
    for index in args.from..args.from.saturating_add(args.count) {
        println!("{index}");
        let _seen_or_not = std::io::stdout().flush();
        if let Err(wrong) = caller.run(args.seed, index, &trace) {
            println!("{wrong}");
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}

/// Runs sequences in a process; what became of it, if not all is well.
fn process(args: &Args, library: &std::path::Path, from: u64, count: u64) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg("--here").arg("--library").arg(library);
    for (name, value) in [("--seed", args.seed), ("--from", from), ("--count", count)] {
        command.arg(name).arg(value.to_string());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let lines = child.stdout.take().map(BufReader::new);
    let errors = child.stderr.take();
    let (send, receive) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in lines
            .into_iter()
            .flat_map(BufRead::lines)
            .map_while(Result::ok)
        {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let said = thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut errors) = errors {
            let _what_there_is = std::io::Read::read_to_string(&mut errors, &mut text);
        }
        text
    });
    let mut last = "none".to_owned();
    let hangs = loop {
        match receive.recv_timeout(LONGEST) {
            Ok(line) => last = line,
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            Err(mpsc::RecvTimeoutError::Timeout) => break true,
        }
    };
    if hangs {
        child.kill().map_err(|error| error.to_string())?;
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let _read = reader.join();
    let said = said.join().unwrap_or_default();
    if hangs {
        return Err(format!("sequence {last} does not end"));
    }
    if !status.success() {
        let said: Vec<&str> = said.lines().rev().take(3).collect();
        return Err(format!(
            "after sequence {last}: {status}; {}",
            said.join(" / ")
        ));
    }
    Ok(())
}
