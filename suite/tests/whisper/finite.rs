//! Logits that are not finite are an error that says where, in every mode; never a word.

use crate::support::device;
use std::sync::Arc;
use warpsmith::{
    formats::{
        quant::{WeightType, dequantize},
        whisper::{WhisperFile, Writer},
    },
    graph::{PersistentShape, Precision},
    models::{
        Error,
        llama::Run,
        whisper::{DecodeOptions, Mode, Model, Rulebook, Session, SessionOptions},
    },
};
use warpsmith_library::decoding::{Rules, Vocabulary};

const PROMPT: [u32; 3] = [1, 2, 3];

/// The random model, f32 throughout, with a position whose embedding is so large that its sum leaves the range of f32.
fn damaged(position: Option<usize>) -> Arc<Model> {
    let path = crate::support::reference("whisper/synth/ggml-f16.bin");
    let file = WhisperFile::open(&path).expect("a Whisper model");
    let writer = Writer::new(*file.dims(), |name, shape| {
        let info = file.tensor(name).expect("all tensors");
        let mut data = Vec::new();
        let mut numbers = vec![0f32; shape.iter().product::<u64>() as usize];
        file.read(info, &mut data).expect("its bytes");
        dequantize(info.dtype, &data, &mut numbers).expect("numbers");
        if let (Some(position), "decoder.positional_embedding") = (position, name) {
            let width = shape[1] as usize;
            numbers[position * width..][..width].fill(f32::MAX);
        }
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        (WeightType::F32, bytes)
    });
    let (tensors, config) = writer.expect("a model").to_safetensors().expect("a file");
    let file = WhisperFile::parse(tensors, Some(&config)).expect("a Whisper model");
    Arc::new(Model::load(&device(), &file, None, &mut |_, _| {}).expect("its weights"))
}

fn session(model: &Arc<Model>, run: Run, suppress: Vec<u32>) -> Session {
    let options = SessionOptions {
        precision: Precision::Exact,
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
            suppress,
            suppress_first: Vec::new(),
            no_speech: 0,
        },
        modes: vec![
            Mode::Samples(1),
            Mode::Samples(3),
            Mode::Beams(3),
            Mode::Among {
                ids: vec![4, 5],
                count: 1,
            },
        ],
    };
    let mut session = Session::new(model, &options).expect("a session");
    let frames = 2 * model.dims().n_audio_ctx as usize;
    let mel = vec![0.25; frames * model.dims().n_mels as usize];
    session.listen(&mel).expect("a window");
    session.encode().expect("a pass");
    session
}

fn decode(session: &mut Session, mode: usize, temperature: f32) -> Result<Vec<u32>, Error> {
    let options = DecodeOptions {
        mode,
        temperature,
        seed: 0,
        patience: 1.0,
        length_penalty: None,
        most: 6,
    };
    session.decode(&PROMPT, 0, &options)
}

#[test]
fn a_position_after_which_logits_are_not_finite_ends_every_mode_with_its_number() {
    let (sound, late, last) = (
        damaged(None),
        damaged(Some(PROMPT.len() + 2)),
        damaged(Some(PROMPT.len() - 1)),
    );
    for run in [Run::Eager, Run::Replay, Run::Persistent] {
        for (mode, temperature) in [(0, 0.0), (0, 1.0), (1, 0.8), (2, 0.0)] {
            let what = format!("{run:?}, mode {mode} at {temperature}");
            let decoded = |model| decode(&mut session(model, run, Vec::new()), mode, temperature);
            let tokens = decoded(&sound).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(tokens.len(), 6, "{what}: the damage is met");
            for (model, want) in [(&late, PROMPT.len() + 2), (&last, PROMPT.len() - 1)] {
                match decoded(model) {
                    Err(Error::NotFinite { position, .. }) => {
                        assert_eq!(position as usize, want, "{what}");
                    }
                    other => panic!("{what}: {other:?}"),
                }
            }
        }
    }
    let mut session = session(&last, Run::Replay, Vec::new());
    session.prompt(&PROMPT).expect("a prompt");
    for found in [
        session.among().map(drop),
        session.no_speech(0).map(drop),
        session.first(0).map(drop),
    ] {
        assert!(
            matches!(found, Err(Error::NotFinite { position: 2, .. })),
            "{found:?}"
        );
    }
    let before = session.no_speech(1).expect("a position before");
    assert!((0.0..=1.0).contains(&before), "{before}");
}

#[test]
fn suppressed_tokens_are_no_damage_but_some_token_must_be_left() {
    let model = damaged(None);
    let all: Vec<u32> = (0..256).collect();
    for run in [Run::Replay, Run::Persistent] {
        let mut some = session(&model, run, all[..250].to_vec());
        let tokens = decode(&mut some, 0, 0.0).expect("tokens");
        assert!(tokens.iter().all(|id| *id >= 250), "{tokens:?}");
        let mut none = session(&model, run, all.clone());
        let found = decode(&mut none, 0, 0.0);
        assert!(
            matches!(found, Err(Error::NoToken { position: 2 })),
            "{found:?}"
        );
    }
}
