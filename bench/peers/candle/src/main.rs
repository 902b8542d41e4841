//! Times candle's `quantized_llama` on a GGUF file: prefill of N token ids, decode of M, as JSON.
//!
//! The threads are candle's own: `RAYON_NUM_THREADS` must equal `--threads`, since candle reads it by itself.

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;

/// What to measure, as given on the command line.
struct Plan {
    model: String,
    threads: usize,
    prefill: usize,
    decode: usize,
    runs: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan = plan(std::env::args().skip(1))?;
    let pool = std::env::var("RAYON_NUM_THREADS").unwrap_or_default();
    if pool != plan.threads.to_string() {
        return Err(format!("RAYON_NUM_THREADS must be {}, found '{pool}'", plan.threads).into());
    }

    let start = Instant::now();
    let mut file = File::open(&plan.model)?;
    let content = Content::read(&mut file)?;
    let mut model = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
    let load = start.elapsed().as_secs_f64();

    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    // Run 0 warms the caches and the thread pool; it is not counted.
    for run in 0..=plan.runs {
        let ids = ids(plan.prefill);
        let start = Instant::now();
        step(&mut model, &ids, 0)?;
        let prefilled = start.elapsed().as_secs_f64();

        step(&mut model, &ids[..1], 0)?;
        let start = Instant::now();
        for (at, id) in self::ids(plan.decode).into_iter().enumerate() {
            step(&mut model, &[id], at + 1)?;
        }
        let decoded = start.elapsed().as_secs_f64();
        if run > 0 {
            prefill.push(plan.prefill as f64 / prefilled);
            decode.push(plan.decode as f64 / decoded);
        }
    }

    let out = serde_json::json!({
        "peer": "candle quantized_llama",
        "version": "0.11.1",
        "threads": plan.threads,
        "load_s": load,
        "prefill": { "tokens": plan.prefill, "tok_s": median(&prefill), "runs": prefill },
        "decode": { "tokens": plan.decode, "context": 1, "tok_s": median(&decode), "runs": decode },
        "peak_rss_mib": peak_rss_mib(),
    });
    println!("{out}");
    Ok(())
}

/// Runs one forward pass and reads the last position's logits, so that nothing is left undone.
fn step(model: &mut ModelWeights, ids: &[u32], position: usize) -> candle_core::Result<f32> {
    let x = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
    model.forward(&x, position)?.flatten_all()?.max(0)?.to_scalar()
}

/// The token ids every peer is fed: spread over the vocabulary, the same on each run.
fn ids(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| 100 + i * 7919 % 40_000).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn peak_rss_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

fn plan(mut args: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan { model: String::new(), threads: 2, prefill: 512, decode: 128, runs: 5 };
    while let Some(flag) = args.next() {
        let value = args.next().ok_or(format!("{flag} takes a value"))?;
        let number = || value.parse::<usize>().map_err(|e| format!("{flag}: '{value}': {e}"));
        match flag.as_str() {
            "--model" => plan.model = value,
            "--threads" => plan.threads = number()?.max(1),
            "--prefill" => plan.prefill = number()?.max(1),
            "--decode" => plan.decode = number()?.max(1),
            "--runs" => plan.runs = number()?.max(1),
            _ => return Err(format!("unknown argument {flag}")),
        }
    }
    if plan.model.is_empty() {
        return Err("--model FILE is needed".to_owned());
    }
    Ok(plan)
}
