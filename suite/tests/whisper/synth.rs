//! A random model of 128 mel bins, in each type that ggml files have: encoder, logits, tokens; many windows; observers.

use crate::support::{device, distance, floats, ids, json, reference};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use warpsmith::{
    device::forbid_transfers,
    formats::whisper::WhisperFile,
    graph::{Graph, Observed, Observer, Origin, PersistentShape, Plan, Precision, Statistics},
    models::{
        Rounding,
        llama::Run,
        whisper::{
            BlockConfig, DecodeOptions, Mode, Model, Rulebook, Scratch, Session, SessionOptions,
            products,
        },
    },
};
use warpsmith_library::decoding::{Rules, Vocabulary};

const BINS: usize = 128;
const FRAMES: usize = 100;

fn model(file: &str) -> Arc<Model> {
    let path = reference(&format!("whisper/synth/{file}"));
    let file = WhisperFile::open(&path).expect("a Whisper model");
    Arc::new(Model::load(&device(), &file, None, &mut |_, _| {}).expect("its weights"))
}

/// Frames 100 to 199 of the clip, a frame after the other.
fn window() -> Vec<f32> {
    let mel = floats("whisper/goforward.mel128.f32.bin");
    let rows: Vec<&[f32]> = mel.chunks(mel.len() / BINS).collect();
    (FRAMES..2 * FRAMES)
        .flat_map(|frame| rows.iter().map(move |row| row[frame]))
        .collect()
}

fn options(precision: Precision, run: Run) -> SessionOptions {
    SessionOptions {
        precision,
        run,
        shape: PersistentShape::default(),
        rules: Rulebook {
            rules: Rules::Free,
            vocabulary: Vocabulary {
                vocab: 256,
                end: 255,
                timestamps: 256,
                first_limit: 50,
            },
            suppress: Vec::new(),
            suppress_first: Vec::new(),
            no_speech: 0,
        },
        modes: vec![Mode::Samples(1), Mode::Beams(3)],
    }
}

/// Rows of the encoder's output.
fn encoded(model: &Model, precision: Precision, rows: &[u32]) -> Vec<f32> {
    let stream = model.device().stream().expect("a stream");
    let mel = stream.upload_new(&window()).expect("a window");
    let dims = *model.dims();
    let width = dims.n_audio_state;
    let config = BlockConfig {
        width,
        heads: dims.n_audio_head,
    };
    let scratch = Scratch::new(&stream, config, dims.n_audio_ctx, precision).expect("scratch");
    let mut graph = Graph::new();
    let mel = graph
        .floats(&mel, FRAMES as u32, BINS as u32)
        .expect("a window");
    let taps = model
        .encoder()
        .forward(&mut graph, mel, &scratch)
        .expect("an encoder");
    graph.keep(taps.output).expect("a node");
    let plan = Plan::new(&stream, &graph, precision).expect("a plan");
    plan.run(&stream).expect("a pass");
    let all = stream.download(plan.floats(taps.output).expect("kept"));
    let all = all.expect("a download").wait().expect("numbers");
    let row = |row: &u32| all[(*row * width) as usize..][..width as usize].to_vec();
    rows.iter().flat_map(row).collect()
}

#[test]
fn every_type_of_weights_gives_what_the_reference_gives() {
    let golden = json("whisper/synth/golden.json");
    let prompt = ids(&golden["prompt"]);
    for (ty, golden) in golden["types"].as_object().expect("types") {
        let model = model(&format!("ggml-{ty}.bin"));
        assert_eq!(model.dims().n_mels as usize, BINS);
        let rows = ids(&golden["encoder_rows"]);
        let want = floats(&format!("whisper/synth/{ty}.enc_rows.f32.bin"));
        let first = floats(&format!("whisper/synth/{ty}.first_logits.f32.bin"));
        for (precision, most, margin) in
            [(Precision::Exact, 1e-4, 1e-3), (Precision::Fast, 2e-2, 0.1)]
        {
            let what = format!("{ty} {precision:?}");
            let found = distance(&encoded(&model, precision, &rows), &want);
            assert!(found < most, "{what}: encoder {found}");
            let mut session =
                Session::new(&model, &options(precision, Run::Replay)).expect("a session");
            session.listen(&window()).expect("a window");
            session.encode().expect("a pass");
            session.prompt(&prompt).expect("a prompt");
            let found = distance(&session.logits().expect("logits"), &first);
            assert!(found < most, "{what}: logits {found}");
            let mut next = session.first(0).expect("a token")[0][0].id;
            for (at, step) in golden["steps"]
                .as_array()
                .expect("steps")
                .iter()
                .enumerate()
            {
                if step["token"] != next {
                    // What comes after another token is another text.
                    assert!(
                        step["margin"].as_f64() < Some(margin),
                        "{what}: {next} at {at}, not {step}"
                    );
                    break;
                }
                next = session.step(0, None).expect("a step")[0][0].id;
            }
        }
    }
}

/// whisper.cpp rounds the same matrices, by the same rules.
#[test]
fn weights_rounded_while_they_are_loaded_are_those_of_the_rounded_files() {
    let golden = json("whisper/synth/golden.json");
    let prompt = ids(&golden["prompt"]);
    let path = reference("whisper/synth/ggml-f16.bin");
    for ty in ["q8_0", "q5_0", "q5_1"] {
        let file = WhisperFile::open(&path).expect("a Whisper model");
        let rounding: Rounding = ty.parse().expect("a type to round to");
        let rounded = Model::load(&device(), &file, Some(rounding), &mut |_, _| {});
        let rounded = Arc::new(rounded.expect("its weights"));
        let done = rounded.rounded().expect("asked for");
        assert_eq!(done.matrices as usize, products(&file).len(), "{ty}");
        assert!(done.matrices > 20 && done.left.is_empty(), "{ty}: {done}");
        let ready = model(&format!("ggml-{ty}.bin"));
        assert_eq!(rounded.bytes(), ready.bytes(), "{ty}");
        let rows = ids(&golden["types"][ty]["encoder_rows"]);
        for precision in [Precision::Exact, Precision::Fast] {
            let [ours, theirs] = [&rounded, &ready].map(|model| {
                let mut session =
                    Session::new(model, &options(precision, Run::Replay)).expect("a session");
                session.listen(&window()).expect("a window");
                session.encode().expect("a pass");
                session.prompt(&prompt).expect("a prompt");
                let logits = session.logits().expect("logits");
                (encoded(model, precision, &rows), logits)
            });
            assert_eq!(ours, theirs, "{ty} {precision:?}");
        }
    }
}

/// The same weights as a folder of the Hugging Face layout, before they became f16.
#[test]
fn safetensors_of_the_same_model_are_near_its_f16_file() {
    let golden = json("whisper/synth/golden.json");
    let rows = ids(&golden["types"]["f16"]["encoder_rows"]);
    let path = reference("whisper/synth");
    let file = WhisperFile::open(&path.join("model.safetensors")).expect("a Whisper model");
    let model = Model::load(&device(), &file, None, &mut |_, _| {}).expect("its weights");
    let found = encoded(&model, Precision::Exact, &rows);
    let near = distance(&found, &floats("whisper/synth/f16.enc_rows.f32.bin"));
    assert!(near < 2e-3, "{near}");
}

#[test]
fn fifty_windows_leave_memory_as_the_first_left_it() {
    let model = model("ggml-q8_0.bin");
    let device = model.device();
    let mut session =
        Session::new(&model, &options(Precision::Fast, Run::Replay)).expect("a session");
    let decode = |mode| DecodeOptions {
        mode,
        temperature: 0.0,
        seed: 0,
        patience: 1.0,
        length_penalty: None,
        most: 12,
    };
    let mut window = window();
    let mut heard = |session: &mut Session| {
        // Each is another sound.
        window.rotate_left(BINS);
        session.listen(&window).expect("a window");
        session.encode().expect("a pass");
        [0, 1].map(|mode| {
            session
                .decode(&[1, 2, 3], 2, &decode(mode))
                .expect("tokens")
        })
    };
    let mut texts = vec![heard(&mut session)];
    let (first, free) = (device.stats(), device.memory_info().expect("a device").free);
    for _ in 1..50 {
        texts.push(heard(&mut session));
    }
    let more = device.stats() - first;
    assert_eq!((more.allocations, more.frees), (0, 0));
    assert_eq!(device.memory_info().expect("a device").free, free);
    texts.sort();
    texts.dedup();
    assert!(texts.len() > 5, "{} texts of 50 windows", texts.len());
}

/// Statistics of all that was seen, by pass and name.
#[derive(Default)]
struct Seen {
    pass: String,
    values: BTreeMap<(String, String), Vec<Statistics>>,
    parameters: BTreeMap<String, (Statistics, [u32; 2])>,
}

impl Observer for Seen {
    fn pass(&mut self, name: &str) {
        name.clone_into(&mut self.pass);
    }

    fn value(&mut self, value: Observed<'_>) {
        let (name, statistics) = (value.name.to_owned(), Statistics::of(value.values));
        match value.origin {
            Origin::Operation(_) => {
                let key = (self.pass.clone(), name);
                self.values.entry(key).or_default().push(statistics);
            }
            Origin::Parameter(_) => {
                let before = self.parameters.insert(name, (statistics, value.shape));
                assert_eq!(before, None, "{}", value.name);
            }
        }
    }
}

/// A session that was to replay runs launch by launch while it is observed, and hears the same.
#[test]
fn a_session_shows_every_pass_and_hears_the_same() {
    let model = model("ggml-f16.bin");
    let device = model.device();
    let mut session =
        Session::new(&model, &options(Precision::Exact, Run::Replay)).expect("a session");
    let hear = |session: &mut Session| {
        let before = device.stats();
        session.listen(&window()).expect("a window");
        forbid_transfers(|| session.encode().map_err(Box::new)).expect("a pass");
        session.prompt(&[1, 2, 3]).expect("a prompt");
        let mut tokens = vec![session.first(0).expect("a token")[0][0].id];
        for _ in 0..3 {
            tokens.push(session.step(0, None).expect("a step")[0][0].id);
        }
        let logits = session.logits().expect("logits");
        (tokens, logits, device.stats() - before)
    };
    let (tokens, logits, counts) = hear(&mut session);
    let seen = Arc::new(Mutex::new(Seen::default()));
    session.observe(Some(seen.clone())).expect("parameters");
    let (observed, _, with) = hear(&mut session);
    session.observe(None).expect("nothing");
    let (after, _, again) = hear(&mut session);
    assert_eq!((&observed, &after), (&tokens, &tokens));
    assert_eq!((again.replays, with.replays), (counts.replays, 0));
    // Replays are other enqueues, and the first run waited for the weights; what moves and what is launched is the same.
    let plain = |counts| warpsmith::device::Snapshot {
        enqueues: 0,
        replays: 0,
        stream_waits: 0,
        ..counts
    };
    assert_eq!(plain(with), plain(counts));

    let seen = seen.lock().expect("an observer");
    let names = |pass: &str| -> Vec<&str> {
        let all = seen.values.keys().filter(|(p, _)| p == pass);
        all.map(|(_, name)| name.as_str()).collect()
    };
    for name in [
        "mel",
        "encoder.conv1",
        "encoder.1.attn.q",
        "encoder.1.mlp.down",
        "encoder.norm",
        "decoder.0.cross.k",
    ] {
        assert!(
            names("encoder").contains(&name),
            "{name} of {:?}",
            names("encoder")
        );
    }
    for name in [
        "decoder.input",
        "decoder.0.attn.heads",
        "decoder.0.cross.q",
        "logits",
        "no_speech",
    ] {
        assert!(
            names("prompt").contains(&name),
            "{name} of {:?}",
            names("prompt")
        );
    }
    let all = |pass: &str, name: &str| seen.values[&(pass.to_owned(), name.to_owned())].clone();
    assert_eq!(all("step", "logits").len(), 3);
    // What is there to be downloaded, in f64.
    let reference = |name: &str, values: &[f32], found: Statistics| {
        let n = values.len() as f64;
        let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let square = values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / n;
        let deviation = (square - mean * mean).sqrt();
        assert_eq!(
            (found.count, found.non_finite),
            (values.len() as u64, 0),
            "{name}"
        );
        assert!(
            (found.mean - mean).abs() < 1e-9 * (1.0 + deviation),
            "{name}: {found:?}"
        );
        assert!(
            (found.deviation - deviation).abs() < 1e-6 * deviation,
            "{name}: {found:?}"
        );
        assert_eq!(
            Some(found.min),
            values.iter().copied().reduce(f32::min),
            "{name}"
        );
        assert_eq!(
            Some(found.max),
            values.iter().copied().reduce(f32::max),
            "{name}"
        );
    };
    let frames: Vec<u32> = (0..FRAMES as u32 / 2).collect();
    reference("mel", &window(), all("encoder", "mel")[0]);
    let output = encoded(&model, Precision::Exact, &frames);
    reference("output", &output, all("encoder", "encoder.norm")[0]);
    reference("logits", &logits, all("first", "logits")[0]);

    // Every weight and bias of the file, once: keys have no bias.
    let (weights, rest): (Vec<&str>, Vec<&str>) = seen
        .parameters
        .keys()
        .map(String::as_str)
        .partition(|name| name.ends_with(".weight"));
    // Two convolutions, six matrices a layer and four more of each cross-attention, tokens and positions.
    assert_eq!(weights.len(), 2 + 2 * 6 + 10 + 2, "{weights:?}");
    assert_eq!(rest.len(), 2 + 2 * (5 + 4) + (8 + 6) + 4, "{rest:?}");
    let (bias, _) = &seen.parameters["encoder.0.attn.q.bias"];
    assert!(bias.count == 64 && bias.deviation > 0.0 && !rest.contains(&"encoder.0.attn.k.bias"));
    assert_eq!(seen.parameters["decoder.0.mlp.up.weight"].1, [256, 64]);
}
