//! `warpsmith-mutate`: mutated PTX modules through parser, printer, findings, verifier and virtual GPU.

use clap::Parser;
use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use warpsmith_fuzz::{
    Target, Watched,
    modules::{Bench, Reached, mutated, texts},
};

/// Runs mutated modules; exits with 1 if one panics or does not end.
#[derive(Parser)]
struct Args {
    /// How many.
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// The first.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The seed: the same one gives the same modules.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after this time.
    #[arg(long)]
    seconds: Option<u64>,
    /// Write each module here before it is run.
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Print one module and end.
    #[arg(long)]
    show: Option<u64>,
}

/// What modules go through, with how far they came.
struct Through {
    bench: Mutex<Bench>,
    reached: Mutex<Vec<Reached>>,
}

impl Target for Through {
    fn name(&self) -> &'static str {
        "modules"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn run(&self, input: &[u8]) {
        // A panic leaves the machine as it was; the next one is fresh.
        let mut bench = self.bench.lock().unwrap_or_else(|poisoned| {
            let mut bench = poisoned.into_inner();
            *bench = Bench::new();
            bench
        });
        let reached = bench.take(&String::from_utf8_lossy(input));
        drop(bench);
        if let Ok(mut all) = self.reached.lock() {
            all.push(reached);
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let texts = texts();
    if let Some(index) = args.show {
        print!("{}", mutated(&texts, args.seed, index));
        return ExitCode::SUCCESS;
    }
    let through = Arc::new(Through {
        bench: Mutex::new(Bench::new()),
        reached: Mutex::new(Vec::new()),
    });
    let mut watched = Watched::new(Arc::clone(&through) as Arc<dyn Target>);
    let start = Instant::now();
    let (mut failed, mut slowest) = (0u64, Duration::ZERO);
    let mut done = 0;
    for index in args.from..args.from.saturating_add(args.count) {
        if args
            .seconds
            .is_some_and(|most| start.elapsed().as_secs() >= most)
        {
            break;
        }
        let text = mutated(&texts, args.seed, index);
        if let Some(path) = &args.trace {
            std::fs::write(path, &text).expect("the trace file can be written");
        }
        match watched.run(text.as_bytes(), Duration::from_secs(20)) {
            Ok(time) => slowest = slowest.max(time),
            Err(fault) => {
                failed += 1;
                println!("seed {} module {index}: {fault}", args.seed);
            }
        }
        done += 1;
    }
    let reached = through
        .reached
        .lock()
        .map(|all| all.clone())
        .unwrap_or_default();
    let at_least = |least: Reached| reached.iter().filter(|one| **one >= least).count();
    println!(
        "{done} modules: {} parsed, {} verified, {} ran, {failed} failed, slowest {slowest:?}, in {:?}",
        at_least(Reached::Parsed),
        at_least(Reached::Verified),
        at_least(Reached::Ran),
        start.elapsed()
    );
    ExitCode::from(u8::from(failed > 0))
}
