//! The real models: per-layer taps, first logits, greedy tokens with and without timestamps, languages.

use crate::support::{distance, floats, ids, json, model, options, vocabulary, window};
use serde_json::Value;
use std::{sync::Arc, time::Instant};
use warpsmith::{
    device::forbid_transfers,
    graph::{Graph, Plan, Precision},
    models::{
        llama::Run,
        whisper::{BlockConfig, DecodeOptions, Mode, Model, Scratch, Session, SessionOptions},
    },
};
use warpsmith_library::decoding::Rules;

/// Every tap of the encoder at the rows that the reference has.
fn check_taps(model: &Arc<Model>, name: &str, precision: Precision, most: f64) {
    let stream = model.device().stream().expect("a stream");
    let golden = json(&format!("whisper/{name}.jfk.json"));
    let taps = floats(&format!("whisper/{name}.jfk.enc_taps.f32.bin"));
    let rows = ids(&golden["encoder_taps"]["rows"]);
    let mel = stream.upload_new(&window("jfk")).expect("a window");
    let dims = *model.dims();
    let width = dims.n_audio_state as usize;
    let config = BlockConfig {
        width: dims.n_audio_state,
        heads: dims.n_audio_head,
    };
    let mut graph = Graph::new();
    let mel = graph.floats(&mel, 3000, 80).expect("a mel window");
    let scratch = Scratch::new(&stream, config, 1500, precision).expect("scratch");
    let found = model.encoder().forward(&mut graph, mel, &scratch);
    let found = found.expect("an encoder");
    // The second convolution and the positions are one launch: the tap between them is not there to be seen.
    let mut nodes = vec![(0, found.conv1), (2, found.frontend)];
    nodes.extend(
        found
            .blocks
            .iter()
            .enumerate()
            .map(|(at, node)| (3 + at, *node)),
    );
    nodes.push((3 + found.blocks.len(), found.output));
    for (_, node) in &nodes {
        graph.keep(*node).expect("a node");
    }
    let plan = Plan::new(&stream, &graph, precision).expect("a plan");
    let start = Instant::now();
    forbid_transfers(|| plan.run(&stream)).expect("a pass without transfers");
    stream.synchronize().expect("a pass");
    println!("{name} {precision:?}: encoder pass {:?}", start.elapsed());
    for (stage, node) in nodes {
        let all = stream.download(plan.floats(node).expect("kept"));
        let all = all.expect("a download").wait().expect("numbers");
        let got: Vec<f32> = rows
            .iter()
            .flat_map(|row| all[*row as usize * width..][..width].iter().copied())
            .collect();
        let want = &taps[stage * rows.len() * width..][..rows.len() * width];
        let found = distance(&got, want);
        println!("{name} {precision:?} stage {stage}: {found:e}");
        assert!(
            found < most,
            "{name} {precision:?} stage {stage}: {found}, at most {most}"
        );
    }
}

#[test]
fn every_layer_of_the_encoder_is_near_the_reference() {
    for name in ["tiny.en", "base"] {
        let model = model(name);
        check_taps(&model, name, Precision::Exact, 1e-3);
        check_taps(&model, name, Precision::Fast, 1e-2);
    }
}

/// Tokens of one window, greedily; where one differs, the reference's two best were nearer than `margin`.
fn check_greedy(session: &mut Session, prompt: &[u32], golden: &Value, margin: f64, what: &str) {
    session.prompt(prompt).expect("a prompt");
    let steps = golden["steps"].as_array().expect("steps");
    let mut next = session.first(0).expect("a first token")[0][0];
    for (at, step) in steps.iter().enumerate() {
        let want = step["token"].as_u64().expect("a token") as u32;
        if next.id != want {
            let found = step["filtered_margin"].as_f64().unwrap_or(0.0);
            assert!(
                found < margin,
                "{what}: step {at} is {}, expected {want}, margin {found}",
                next.id
            );
            println!(
                "{what}: differs at step {at} of {}, margin {found}",
                steps.len()
            );
            return;
        }
        if at + 1 < steps.len() {
            next = session.step(0, None).expect("a step")[0][0];
        }
    }
}

/// One launch gives the tokens of single steps, and moves nothing but what the prompt and the first token do.
fn check_persistent(session: &mut Session, prompt: &[u32], what: &str) {
    let end = vocabulary(session.model()).end;
    session.prompt(prompt).expect("a prompt");
    let mut want = Vec::new();
    let mut next = session.first(0).expect("a first token")[0][0].id;
    while next != end && want.len() < 100 {
        want.push(next);
        next = session.step(0, None).expect("a step")[0][0].id;
    }
    let device = session.model().device().clone();
    let mut decode = |most: usize| {
        let options = DecodeOptions {
            mode: 0,
            temperature: 0.0,
            seed: 0,
            patience: 1.0,
            length_penalty: None,
            most,
        };
        let before = device.stats();
        let found = session.decode(prompt, prompt.len() - 1, &options);
        (found.expect("tokens"), device.stats() - before)
    };
    let (first, begun) = decode(1);
    let (found, moved) = decode(100);
    assert_eq!((&first[..], &found), (&want[..1], &want), "{what}");
    assert_eq!(moved.launches, begun.launches + 1, "{what}");
    assert_eq!(
        (moved.h2d_bytes, moved.d2h_bytes),
        (begun.h2d_bytes, begun.d2h_bytes),
        "{what}"
    );
    assert_eq!(moved.allocations, begun.allocations, "{what}");
}

/// Logits and tokens of every clip in one precision.
fn check_clips(model: &Arc<Model>, name: &str, precision: Precision, clips: &[&str]) {
    let (logit_error, margin) = match precision {
        Precision::Exact => (2e-3, 2e-3),
        Precision::Fast => (0.3, 0.3),
    };
    for (rules, kind) in [
        (Rules::Free, "notimestamps"),
        (Rules::Timestamps, "timestamps"),
    ] {
        let options = SessionOptions {
            run: Run::Persistent,
            ..options(model, name, rules, precision)
        };
        let mut session = Session::new(model, &options).expect("a session");
        for clip in clips {
            let golden = json(&format!("whisper/{name}.{clip}.json"));
            let prompt = ids(&golden["prompts"][kind]);
            session.listen(&window(clip)).expect("a window");
            forbid_transfers(|| session.encode().map_err(Box::new))
                .expect("a pass without transfers");
            session.prompt(&prompt).expect("a prompt");
            let logits = session.logits().expect("logits");
            for pair in golden[format!("first_logits_{kind}")]["top50"]
                .as_array()
                .expect("fifty logits")
            {
                let (id, want) = (pair[0].as_u64(), pair[1].as_f64());
                let (id, want) = (id.expect("an id") as usize, want.expect("a logit"));
                let error = (f64::from(logits[id]) - want).abs();
                assert!(
                    error < logit_error,
                    "{name} {clip} {kind} {precision:?}: logit {id} is {}, expected {want}",
                    logits[id]
                );
            }
            if let Some(want) = golden[format!("greedy_{kind}")]["no_speech_prob"].as_f64() {
                let back = prompt.len() - 1;
                let found = f64::from(session.no_speech(back).expect("a probability"));
                let most = logit_error * want.max(0.01);
                assert!(
                    (found - want).abs() < most,
                    "{name} {clip}: no speech {found}, expected {want}"
                );
            }
            let what = format!("{name} {clip} {kind} {precision:?}");
            check_greedy(
                &mut session,
                &prompt,
                &golden[format!("greedy_{kind}")],
                margin,
                &what,
            );
            check_persistent(&mut session, &prompt, &what);
        }
    }
}

#[test]
fn first_logits_and_greedy_tokens_are_those_of_the_reference() {
    let clips = ["jfk", "ss0870", "ss0880", "goforward"];
    for name in ["tiny.en", "base"] {
        let model = model(name);
        if name == "tiny.en" {
            check_clips(&model, name, Precision::Exact, &clips[..1]);
        }
        check_clips(&model, name, Precision::Fast, &clips);
    }
}

#[test]
fn the_language_of_a_clip_is_heard() {
    let model = model("base");
    let golden = json("whisper/base.jfk.json");
    let mut options = options(&model, "base", Rules::Free, Precision::Fast);
    let languages: Vec<u32> = (50259..50358).collect();
    options.modes = vec![Mode::Among {
        ids: languages,
        count: 5,
    }];
    let mut session = Session::new(&model, &options).expect("a session");
    session.listen(&window("jfk")).expect("a window");
    session.encode().expect("a pass");
    session
        .prompt(&[vocabulary(&model).end + 1])
        .expect("the start");
    let found = session.among().expect("languages");
    let want = golden["language_top5"].as_array().expect("five languages");
    for (found, want) in found.iter().zip(want) {
        assert_eq!(Some(u64::from(found.id)), want[1].as_u64());
        let probability = want[2].as_f64().expect("a probability");
        let error = (f64::from(found.log_probability.exp()) - probability).abs();
        assert!(error < 0.02, "{found:?}, expected {want}");
    }
    assert!(
        found
            .iter()
            .map(|one| one.log_probability.exp())
            .sum::<f32>()
            <= 1.0
    );
}
