//! Small synthetic models on the card, against the logits and tokens of independent engines.

use super::{
    Failed,
    args::Args,
    child::{self, End},
    line::{Line, ModelLine, begin, emit},
    report::Report,
};
use serde_json::Value;
use std::time::Instant;
use warpsmith::{
    device::{Device, Selector},
    graph::Precision,
    models::llama::{Bundle, Run, Session, SessionOptions},
};

/// A model inside this program, with the facts about it.
struct Embedded {
    name: &'static str,
    file: &'static [u8],
    facts: &'static str,
    /// By prompt: logits of some positions, little-endian f32.
    logits: [(&'static str, &'static [u8]); 3],
}

macro_rules! embedded {
    ($name:literal) => {
        Embedded {
            name: $name,
            file: include_bytes!(concat!("../../reference/synth/", $name, ".gguf")),
            facts: include_str!(concat!("../../reference/synth/", $name, ".json")),
            logits: embedded!(@logits $name "hello" "long" "uni"),
        }
    };
    (@logits $name:literal $($prompt:literal)*) => {
        [$(($prompt, include_bytes!(concat!("../../reference/synth/", $name, ".", $prompt, ".logits.f32.bin")))),*]
    };
}

const MODELS: [Embedded; 3] = [
    embedded!("tiny-qwen2"),
    embedded!("tiny-llama3"),
    embedded!("tiny-llama2spm"),
];

/// Runs the models in a worker.
pub(super) fn run(args: &Args, deadline: Instant, report: &mut Report) {
    let mut begun = String::from("its start");
    let mut trouble = None;
    let end = child::run(args, &["models"], deadline, &mut |line| match line {
        Line::Begin { what } => begun = what,
        Line::Model(line) => report.model(line),
        Line::Trouble { text } => trouble = Some(text),
        Line::Note { text } => report.note(text),
        Line::Case(_) | Line::Check(_) | Line::Time(_) | Line::Lost | Line::Done => {}
    });
    if end != End::Done {
        let result = format!("{end:?} {}", trouble.unwrap_or_default());
        report.model(ModelLine {
            model: "models".into(),
            how: begun,
            result,
            well: false,
        });
    }
}

pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.as_chunks::<4>().0;
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

pub(super) fn ids(value: &Value) -> Vec<u32> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(|id| Some(id.as_u64()? as u32)).collect()
}

/// How far two lists of logits are apart.
pub(super) struct Difference {
    pub(super) most: f32,
    pub(super) rms: f64,
    pub(super) cosine: f64,
}

pub(super) fn difference(got: &[f32], want: &[f32]) -> Difference {
    let (mut most, mut squares, mut dot, mut a, mut b) = (0.0f32, 0.0, 0.0, 0.0, 0.0);
    for (got, want) in got.iter().zip(want) {
        // A NaN must not pass for a small difference.
        let apart = (got - want).abs();
        most = if apart.is_nan() {
            f32::INFINITY
        } else {
            most.max(apart)
        };
        let (got, want) = (f64::from(*got), f64::from(*want));
        squares += (got - want) * (got - want);
        dot += got * want;
        a += got * got;
        b += want * want;
    }
    Difference {
        most,
        rms: (squares / got.len().max(1) as f64).sqrt(),
        cosine: dot / (a * b).sqrt(),
    }
}

/// A session for a check.
pub(super) fn session(bundle: &Bundle, precision: Precision, run: Run) -> Result<Session, Failed> {
    let options = SessionOptions {
        context: 2048,
        precision,
        run,
        ..SessionOptions::default()
    };
    Ok(Session::new(&bundle.model, &options)?)
}

/// Greedy tokens after `ids`, and the bits of the last logits.
pub(super) fn greedy(
    bundle: &Bundle,
    (precision, run): (Precision, Run),
    ids: &[u32],
    count: usize,
) -> Result<(Vec<u32>, Vec<u32>), Failed> {
    let mut session = session(bundle, precision, run)?;
    session.prefill(ids, &mut |_, _| {})?;
    let mut tokens = vec![session.sample()?];
    while tokens.len() < count {
        tokens.push(session.step()?);
    }
    let logits = session.logits()?.into_iter().map(f32::to_bits).collect();
    Ok((tokens, logits))
}

/// The first step where tokens differ though the reference is sure: index, token, expected, margin.
pub(super) fn first_wrong(tokens: &[u32], facts: &Value) -> Option<(usize, u32, u32, f64)> {
    let margins: Vec<f64> = facts["top1_minus_top2"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect();
    let step = tokens
        .iter()
        .zip(ids(&facts["tokens"]))
        .position(|(got, want)| *got != want)?;
    let margin = margins.get(step).copied().unwrap_or(0.0);
    let wrong = (step, tokens[step], ids(&facts["tokens"])[step], margin);
    (margin >= 0.02).then_some(wrong)
}

/// All models, prompts, precisions and ways of running.
///
/// # Errors
/// Where the card or a model cannot be opened.
pub(super) fn work(args: &Args) -> Result<(), Failed> {
    begin("opening the card");
    let device = Device::open(&args.device)?;
    let interpreter = Device::open(&Selector::virtual_gpu())?;
    let folder = tempfile::tempdir()?;
    for model in MODELS {
        let path = folder.path().join(format!("{}.gguf", model.name));
        std::fs::write(&path, model.file)?;
        let facts: Value = serde_json::from_str(model.facts)?;
        begin(format!("loading {}", model.name));
        let bundle = Bundle::load(&device, &path, &mut |_, _| {})?;
        let interpreted = Bundle::load(&interpreter, &path, &mut |_, _| {})?;
        for (prompt, logits) in model.logits {
            let facts = &facts["prompts"][prompt];
            let what = format!("{} {prompt}", model.name);
            let tell = |how: &str, found: Result<(String, bool), Failed>| {
                let (result, well) = found.unwrap_or_else(|error| (error.to_string(), false));
                emit(&Line::Model(ModelLine {
                    model: what.clone(),
                    how: how.to_owned(),
                    result,
                    well,
                }));
            };
            begin(format!("{what} exact"));
            tell("exact, logits", exact(&bundle, facts, logits));
            begin(format!("{what} fast"));
            tell("fast, logits", fast(&bundle, &interpreted, facts, logits));
            for precision in [Precision::Exact, Precision::Fast] {
                begin(format!("{what} {precision:?} decoding"));
                let how = format!("{precision:?}, decoding").to_lowercase();
                tell(&how, decoding(&bundle, precision, facts));
            }
        }
    }
    Ok(())
}

fn exact(bundle: &Bundle, facts: &Value, logits: &[u8]) -> Result<(String, bool), Failed> {
    let (ids, want, positions) = (
        ids(&facts["ids"]),
        floats(logits),
        ids(&facts["logits"]["positions"]),
    );
    let vocab = want.len() / positions.len().max(1);
    let mut session = session(bundle, Precision::Exact, Run::Eager)?;
    let mut rows: Vec<f32> = Vec::new();
    session.evaluate(&ids, &mut |_, chunk| rows.extend_from_slice(chunk))?;
    let (mut most, mut cosine) = (0.0f32, 1.0f64);
    for (at, position) in positions.iter().enumerate() {
        let got = &rows[*position as usize * vocab..][..vocab];
        let found = difference(got, &want[at * vocab..][..vocab]);
        most = most.max(found.most);
        cosine = cosine.min(found.cosine);
    }
    let well = most <= 2e-3 && cosine > 0.99999;
    Ok((
        format!(
            "{} positions: at most {most:.2e} from f32, cosine {cosine:.7}",
            positions.len()
        ),
        well,
    ))
}

/// The bound of the tests on the virtual GPU: 3 % of the logits' spread.
fn fast(
    bundle: &Bundle,
    interpreted: &Bundle,
    facts: &Value,
    logits: &[u8],
) -> Result<(String, bool), Failed> {
    let (ids, want, positions) = (
        ids(&facts["ids"]),
        floats(logits),
        ids(&facts["logits"]["positions"]),
    );
    let vocab = want.len() / positions.len().max(1);
    let last = |bundle: &Bundle| -> Result<Vec<f32>, Failed> {
        let mut session = session(bundle, Precision::Fast, Run::Eager)?;
        session.prefill(&ids, &mut |_, _| {})?;
        Ok(session.logits()?)
    };
    let (got, other) = (last(bundle)?, last(interpreted)?);
    let rms = difference(&got, &want[want.len() - vocab..]).rms;
    let between = difference(&got, &other).rms;
    let spread = facts["logit_std"]
        .as_f64()
        .ok_or("no spread of the logits")?;
    let text = format!(
        "rms {rms:.2e} from f32, {:.2} % of the spread; {between:.2e} from the interpreter",
        100.0 * rms / spread
    );
    Ok((text, rms <= 0.03 * spread))
}

/// Eager and replayed steps give the same bits; in exact also the reference's tokens.
fn decoding(
    bundle: &Bundle,
    precision: Precision,
    facts: &Value,
) -> Result<(String, bool), Failed> {
    let ids = ids(&facts["ids"]);
    let facts = &facts["greedy24"];
    let count = facts["tokens"].as_array().map_or(0, Vec::len);
    let eager = greedy(bundle, (precision, Run::Eager), &ids, count)?;
    let replayed = greedy(bundle, (precision, Run::Replay), &ids, count)?;
    let same = eager == replayed;
    let wrong = match precision {
        Precision::Exact => first_wrong(&eager.0, facts),
        Precision::Fast => None,
    };
    let replay = if same {
        "replay has the bits of eager"
    } else {
        "REPLAY DIFFERS FROM EAGER"
    };
    let text = match wrong {
        None => format!("{count} steps: {replay}"),
        Some((step, got, want, margin)) => {
            format!("step {step} is {got}, expected {want}, margin {margin:.3}; {replay}")
        }
    };
    Ok((text, same && wrong.is_none()))
}
