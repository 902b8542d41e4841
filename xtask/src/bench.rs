//! `cargo xtask bench`: peers first, then our own program, on the same file with the same threads.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::demo::CLIP;
use crate::error::{Error, Result};
use crate::fetch::{Place, whisper_base};
use crate::house::House;
use crate::peers::{self, Peer, Plan};
use crate::run::Run;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The GGUF file; SmolLM2 unless given.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Threads, for every engine.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Prompt tokens of the prefill measurement.
    #[arg(long, default_value_t = 512)]
    prefill: usize,
    /// Tokens of the decode measurement.
    #[arg(long, default_value_t = 128)]
    decode: usize,
    /// Counted runs; one more comes first to warm up.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only these peers.
    #[arg(long, value_enum)]
    peer: Vec<Peer>,
    /// A remark on the circumstances, for the report.
    #[arg(long)]
    note: Option<String>,
    /// Stop after the peers.
    #[arg(long)]
    peers_only: bool,
}

/// Installs and runs the peers, writes `.tools/peers/peers.json`, and hands it to `warpsmith-bench`.
pub(crate) fn bench(house: &House, args: &Args) -> Result<()> {
    let model = match &args.model {
        Some(path) => path.canonicalize().map_err(Error::io(path))?,
        None => Place::smollm2()?.ensure(house)?,
    };
    let plan = Plan {
        model: model.clone(),
        threads: args.threads,
        prefill: args.prefill,
        decode: args.decode,
        runs: args.runs,
    };
    let chosen = if args.peer.is_empty() {
        Peer::ALL.to_vec()
    } else {
        args.peer.clone()
    };
    // All are installed before any is measured, so that no compiler runs beside a measurement.
    for &peer in &chosen {
        peers::install(house, peer)?;
    }
    let measured = chosen
        .iter()
        .map(|&peer| peers::measure(house, peer, &plan))
        .collect::<Result<Vec<_>>>()?;
    for peer in &measured {
        println!("{}", row(peer));
    }
    let file = house.tools().join("peers").join("peers.json");
    let all = json!({ "model": model, "threads": args.threads, "peers": measured });
    fs::write(&file, format!("{all:#}\n")).map_err(Error::io(&file))?;
    println!("peers: {}", file.display());
    if args.peers_only {
        return Ok(());
    }

    const OURS: &str = "warpsmith-bench";
    if !house.has_program(OURS)? {
        return Err(Error::NoProgram {
            name: OURS,
            note: format!("; the peers' figures are in {}", file.display()),
        });
    }
    house
        .cargo([
            "build",
            "--release",
            "--package",
            "warpsmith-bench",
            "--bin",
            OURS,
        ])
        .show()?;
    let (listener, clip) = (whisper_base(house)?, house.root().join(CLIP));
    let note = args.note.iter().flat_map(|note| ["--note", note.as_str()]);
    Run::new(house.release_program(OURS)?)
        .args(note)
        .arg("--peers")
        .arg(&file)
        .arg("--model")
        .arg(&model)
        .arg("--whisper")
        .arg(listener)
        .arg("--clip")
        .arg(clip)
        .args(["--threads", &args.threads.to_string()])
        .args(["--prefill", &args.prefill.to_string()])
        .args(["--decode", &args.decode.to_string()])
        .args(["--runs", &args.runs.to_string()])
        .show()
}

fn row(peer: &Value) -> String {
    let figure = |part: &str| peer[part]["tok_s"].as_f64().unwrap_or(f64::NAN);
    let text = |key: &str| peer[key].as_str().unwrap_or_default().to_owned();
    format!(
        "{:<24} {:<8} prefill {:>8.1} tok/s   decode {:>7.1} tok/s   load {:>5.2} s   peak {} MiB",
        text("peer"),
        text("version"),
        figure("prefill"),
        figure("decode"),
        peer["load_s"].as_f64().unwrap_or(f64::NAN),
        peer["peak_rss_mib"],
    )
}
