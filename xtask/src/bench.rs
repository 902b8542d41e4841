//! `cargo xtask bench`: peers first, then our own program, on the same file with the same threads.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cuda_clients;
use crate::demo::{self, CLIP, Profile};
use crate::error::{Error, Result};
use crate::fetch::{Place, whisper_base};
use crate::house::House;
use crate::peers::{self, Peer, Plan, Subject, Tier};
use crate::run::Run;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The GGUF file; SmolLM2 unless given.
    #[arg(long)]
    model: Option<PathBuf>,
    /// A folder with a Whisper model in CTranslate2's layout; base unless given.
    #[arg(long)]
    whisper: Option<PathBuf>,
    /// The English speech that it turns into text, a WAV file of 16 kHz; one of eleven seconds unless given.
    #[arg(long)]
    clip: Option<PathBuf>,
    /// Only this.
    #[arg(long, value_enum)]
    only: Option<Subject>,
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
    /// Every engine as on a CPU that has no more than this; whatever this one has if not given.
    #[arg(long, value_enum)]
    tier: Option<Tier>,
    /// A remark on the circumstances, for the report.
    #[arg(long)]
    note: Option<String>,
    /// Stop after the peers.
    #[arg(long)]
    peers_only: bool,
}

/// Installs and runs the peers, writes `.tools/peers/peers.json`, and hands it to `warpsmith-bench`.
pub(crate) fn bench(house: &House, args: &Args) -> Result<()> {
    let given = |path: &PathBuf| path.canonicalize().map_err(Error::io(path));
    let model = match &args.model {
        Some(path) => given(path)?,
        None => Place::smollm2()?.ensure(house)?,
    };
    let whisper = match &args.whisper {
        Some(path) => given(path)?,
        None => whisper_base(house)?,
    };
    let clip = match &args.clip {
        Some(path) => given(path)?,
        None => house.root().join(CLIP),
    };
    let plan = Plan {
        model,
        whisper,
        clip,
        threads: args.threads,
        prefill: args.prefill,
        decode: args.decode,
        runs: args.runs,
        tier: args.tier,
    };
    let named = |peer: &Peer| args.peer.is_empty() || args.peer.contains(peer);
    let asked = |peer: &Peer| args.only.is_none_or(|only| only == peer.subject());
    let chosen: Vec<Peer> = Peer::ALL
        .into_iter()
        .filter(|peer| named(peer) && asked(peer))
        .collect();
    // All are installed before any is measured, so that no compiler runs beside a measurement.
    for &peer in &chosen {
        peers::install(house, peer, args.tier)?;
    }
    let mut measured: [Vec<Value>; 2] = [Vec::new(), Vec::new()];
    for peer in chosen {
        let found = peers::measure(house, peer, &plan)?;
        let speaks = peer.subject() == Subject::Speech;
        println!("{}", if speaks { heard(&found) } else { row(&found) });
        measured[usize::from(speaks)].push(found);
    }
    let [text, speech] = measured;
    let folder = house.tools().join("peers");
    fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let file = folder.join("peers.json");
    let all = json!({
        "model": plan.model, "whisper": plan.whisper, "clip": plan.clip, "threads": args.threads,
        "peers": text, "speech": speech,
    });
    fs::write(&file, format!("{all:#}\n")).map_err(Error::io(&file))?;
    println!("peers: {}", file.display());
    if args.peers_only {
        return Ok(());
    }

    ours(house, args, &plan, &file)
}

/// Measures ourselves, beside what peers measured.
fn ours(house: &House, args: &Args, plan: &Plan, file: &Path) -> Result<()> {
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
    let runs = Run::new(house.release_program(OURS)?);
    let runs = match args.only {
        None | Some(Subject::Exec) if args.tier.is_none() => {
            let python = cuda_clients::clients(house)?;
            runs.arg("--warpsmith")
                .arg(demo::build(house, Profile::Release)?)
                .arg("--python")
                .arg(python.program())
        }
        _ => runs,
    };
    let note = args.note.iter().flat_map(|note| ["--note", note.as_str()]);
    let tier = args.tier.iter().flat_map(|tier| ["--tier", tier.name()]);
    let only = args
        .only
        .iter()
        .flat_map(|subject| ["--only", subject.name()]);
    runs.args(note)
        .args(only)
        .args(tier)
        .arg("--peers")
        .arg(file)
        .arg("--model")
        .arg(&plan.model)
        .arg("--whisper")
        .arg(&plan.whisper)
        .arg("--clip")
        .arg(&plan.clip)
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

fn heard(peer: &Value) -> String {
    let seconds = |key: &str| peer[key].as_f64().unwrap_or(f64::NAN);
    let text = |key: &str| peer[key].as_str().unwrap_or_default().to_owned();
    format!(
        "{:<32} {:<8} work {:>5.2} s   encoder {:>5.2} s   load {:>5.2} s   peak {} MiB\n    {}",
        text("peer"),
        text("version"),
        seconds("work_s"),
        seconds("encode_s"),
        seconds("load_s"),
        peer["peak_rss_mib"],
        text("text"),
    )
}
