//! Thousands of requests of every kind, wrong ones too: is each answered with a right status, and does memory stay flat.

use crate::{
    Failed, http,
    kinds::{self, Kind},
    prompts::Numbers,
    server::{Server, Subject},
};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

/// What is asked of whom.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// A Whisper model; without one no sounds are sent.
    #[arg(long)]
    whisper: Option<PathBuf>,
    /// A WAV file.
    #[arg(long, requires = "whisper")]
    sound: Option<PathBuf>,
    /// Requests that are counted.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// Requests before: kernels of each number of rows are built when it comes first, and kept.
    #[arg(long, default_value_t = 10_000)]
    warm: usize,
    /// Requests at the same time.
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// This kind alone, to find what keeps memory.
    #[arg(long, value_enum)]
    only: Option<Kind>,
}

/// Requests between two looks at the memory.
const LOOK: usize = 500;
/// Share of growth that is flat.
const FLAT: f64 = 1.02;

/// Sends them all; whether every answer was right and memory is what it was when counting began.
pub(crate) fn run(args: &Args) -> Result<bool, Failed> {
    let mut options = Vec::new();
    if let Some(whisper) = &args.whisper {
        options.extend(["--whisper".to_owned(), whisper.display().to_string()]);
    }
    options.extend(["--ctx-size", "1024", "--sequences", "8"].map(str::to_owned));
    let server = Server::start(&args.subject, &options)?;
    let sound = args.sound.as_ref().map(std::fs::read).transpose()?;
    let all = args.warm + args.requests;
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let looks = Mutex::new(Vec::new());
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..args.clients {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Relaxed);
                    if at >= all {
                        return;
                    }
                    let mut numbers = Numbers(at as u64);
                    let kind = args
                        .only
                        .unwrap_or_else(|| Kind::drawn(&mut numbers, sound.is_some()));
                    if let Err(error) =
                        kinds::send(kind, server.address, &mut numbers, sound.as_deref())
                    {
                        lock(&wrong).push(format!("{at} {kind:?}: {error}"));
                    }
                    if at % LOOK == LOOK - 1
                        && let Ok(kib) = server.resident_kib()
                    {
                        println!(
                            "{:>6} requests, {:>5.0} s: {kib} KiB",
                            at + 1,
                            begun.elapsed().as_secs_f64()
                        );
                        lock(&looks).push((at, kib));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    for line in wrong.iter().take(20) {
        println!("wrong: {line}");
    }
    // Nothing is left behind, and it answers as before.
    let used = server.figure("warpsmith_pages_used")?;
    let faults = server.figure("warpsmith_faults_total")?;
    http::post(
        server.address,
        "/v1/completions",
        &json!({"prompt": "a", "max_tokens": 4}),
    )?;
    let mut looks = looks.into_inner().unwrap_or_else(PoisonError::into_inner);
    looks.sort_unstable();
    let early = looks.iter().find(|(at, _)| *at + 1 >= args.warm);
    let (Some((_, early)), Some((_, late))) = (early, looks.last()) else {
        return Err("too few requests to see how memory goes".into());
    };
    let growth = *late as f64 / *early as f64;
    println!(
        "{all} requests, {} wrong answers, {faults} faults, {used} pages used at the end, memory {growth:.4} times that after \
         the first {}",
        wrong.len(),
        args.warm,
    );
    Ok(wrong.is_empty() && used == 0.0 && faults == 0.0 && growth <= FLAT)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
