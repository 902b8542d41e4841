//! A model file given on the command line: its logits where they are known, and its speed.

use super::{
    Failed,
    args::Args,
    child::{self, End},
    line::{Line, begin, emit},
    models::{Difference, difference, first_wrong, floats, greedy, ids, session},
    report::Report,
    speed,
};
use serde_json::Value;
use std::time::Instant;
use warpsmith::{
    device::Device,
    graph::Precision,
    models::llama::{Bundle, Run},
};

/// Prompts with known logits of SmolLM2-135M-Instruct in Q4_1: facts, f32 logits, those of an engine with 8-bit activations.
const KNOWN: [(&str, &str, &[u8], &[u8]); 2] = [
    (
        "chat_sky",
        include_str!("../../reference/llm/chat_sky.json"),
        include_bytes!("../../reference/llm/chat_sky.logits_f32_hf.f32.bin"),
        include_bytes!("../../reference/llm/chat_sky.logits_q8act_llamacpp.f32.bin"),
    ),
    (
        "raw_france",
        include_str!("../../reference/llm/raw_france.json"),
        include_bytes!("../../reference/llm/raw_france.logits_f32_hf.f32.bin"),
        include_bytes!("../../reference/llm/raw_france.logits_q8act_llamacpp.f32.bin"),
    ),
];

/// Runs the model in a worker, if one was given.
pub(super) fn run(args: &Args, deadline: Instant, report: &mut Report) {
    let Some(model) = &args.model else { return };
    report.model_fact(model.display().to_string());
    let mut begun = String::from("its start");
    let mut trouble = None;
    let end = child::run(args, &["model"], deadline, &mut |line| match line {
        Line::Begin { what } => begun = what,
        Line::Note { text } => report.model_fact(text),
        Line::Model(line) => report.model(line),
        Line::Trouble { text } => trouble = Some(text),
        Line::Case(_) | Line::Check(_) | Line::Time(_) | Line::Lost | Line::Done => {}
    });
    if end != End::Done {
        let text = format!("{end:?} at {begun}: {}", trouble.unwrap_or_default());
        report.failed("the model given", text);
    }
}

fn fact(text: String) {
    emit(&Line::Note { text });
}

/// Loads, compares, measures.
///
/// # Errors
/// Where the model cannot be run.
pub(super) fn work(args: &Args) -> Result<(), Failed> {
    let path = args.model.as_ref().ok_or("no --model")?;
    begin("opening the card");
    let device = Device::open(&args.device)?;
    begin("loading the model");
    let start = Instant::now();
    let bundle = Bundle::load(&device, path, &mut |_, _| {})?;
    fact(format!(
        "loaded in {:.2} s: {:.1} MB on the card",
        start.elapsed().as_secs_f64(),
        bundle.model.bytes() as f64 / 1e6
    ));
    let config = bundle.model.config();
    if (config.vocab, config.layers, config.width) == (49152, 30, 576) {
        for (name, facts, exact, peer) in KNOWN {
            let facts: Value = serde_json::from_str(facts)?;
            for precision in [Precision::Exact, Precision::Fast] {
                begin(format!("{name} {precision:?}"));
                known(&bundle, precision, name, &facts, exact, peer)?;
            }
        }
    }
    let (prompt, steps) = if args.small { (16, 8) } else { (512, 128) };
    for precision in [Precision::Fast, Precision::Exact] {
        for run in [Run::Replay, Run::Eager] {
            begin(format!("speed {precision:?} {run:?}"));
            let speed = speed::measure(&bundle.model, (precision, run), prompt, steps)?;
            fact(format!("{precision:?}, {run:?}: {speed}").to_lowercase());
        }
    }
    begin("the story of its beginning");
    let text = "Explain warps in one line";
    let ids = bundle
        .tokenizer
        .encode(text, warpsmith::models::tokenizer::Special::Parse)?;
    let (tokens, _) = greedy(&bundle, (Precision::Fast, Run::Replay), &ids, 24)?;
    fact(format!(
        "{text:?} goes on: {:?}",
        bundle.tokenizer.decode(&tokens)?
    ));
    Ok(())
}

fn known(
    bundle: &Bundle,
    precision: Precision,
    name: &str,
    facts: &Value,
    exact: &[u8],
    peer: &[u8],
) -> Result<(), Failed> {
    let ids = ids(&facts["ids"]);
    let (exact, peer) = (floats(exact), floats(peer));
    let mut session = session(bundle, precision, Run::Eager)?;
    session.prefill(&ids, &mut |_, _| {})?;
    let Difference { most, rms, cosine } = difference(&session.logits()?, &exact);
    let (result, well) = match precision {
        Precision::Exact => {
            let reference = &facts["f32_hf"]["greedy64"];
            let (tokens, _) = greedy(bundle, (precision, Run::Replay), &ids, 64)?;
            let wrong = first_wrong(&tokens, reference);
            let text = format!(
                "at most {most:.2e} from f32, cosine {cosine:.7}; 64 steps: first wrong token {wrong:?}"
            );
            (text, most <= 2e-3 && cosine > 0.99999 && wrong.is_none())
        }
        Precision::Fast => {
            let ratio = rms / difference(&peer, &exact).rms;
            let text = format!(
                "rms {rms:.3} from f32, {ratio:.2} times that of an engine with 8-bit activations"
            );
            (text, ratio <= 1.1)
        }
    };
    emit(&Line::Model(super::line::ModelLine {
        model: format!("SmolLM2 {name}"),
        how: format!("{precision:?}, logits").to_lowercase(),
        result,
        well,
    }));
    Ok(())
}
