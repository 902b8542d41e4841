//! Times a Whisper model on a mel file: `whisper MODEL MEL exact|fast eager|replay STEPS`.
use std::{path::Path, sync::Arc, time::Instant};
use warpsmith_device::{Device, Selector};
use warpsmith_formats::whisper::WhisperFile;
use warpsmith_graph::Precision;
use warpsmith_library::decoding::{Rules, Vocabulary};
use warpsmith_models::{llama::Run, whisper::*};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let device = Device::open(&"virtual".parse::<Selector>().unwrap()).unwrap();
    let precision = if args[3] == "exact" {
        Precision::Exact
    } else {
        Precision::Fast
    };
    let run = if args[4] == "eager" {
        Run::Eager
    } else {
        Run::Replay
    };
    let start = Instant::now();
    let file = WhisperFile::open(Path::new(&args[1])).unwrap();
    let model = Arc::new(Model::load(&device, &file, None, &mut |_, _| {}).unwrap());
    drop(file);
    println!("load {:?}", start.elapsed());
    let dims = *model.dims();
    let many = dims.n_vocab > 51864;
    let base = if many { 50257 } else { 50256 };
    let rules = Rulebook {
        rules: Rules::Free,
        vocabulary: Vocabulary {
            vocab: dims.n_vocab,
            end: base,
            timestamps: base + 107,
            first_limit: 50,
        },
        suppress: vec![],
        suppress_first: vec![],
        no_speech: base + 105,
    };
    let options = SessionOptions {
        precision,
        run,
        shape: Default::default(),
        rules,
        modes: vec![Mode::Samples(1)],
    };
    let start = Instant::now();
    let mut session = Session::new(&model, &options).unwrap();
    println!("session {:?}", start.elapsed());
    let mel: Vec<f32> = std::fs::read(&args[2])
        .unwrap()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    let frames = mel.len() / 80;
    let pad = mel.iter().copied().fold(f32::INFINITY, f32::min);
    let mut window = vec![pad; 3000 * 80];
    for m in 0..80 {
        for f in 0..frames {
            window[f * 80 + m] = mel[m * frames + f];
        }
    }
    let prompt: Vec<u32> = if many {
        vec![50258, 50259, 50359, 50363]
    } else {
        vec![50257, 50362]
    };
    for round in 0..3 {
        let start = Instant::now();
        session.listen(&window).unwrap();
        session.encode().unwrap();
        session.stream().synchronize().unwrap();
        let encoded = start.elapsed();
        session.prompt(&prompt).unwrap();
        session.draw(0, 0.0, 0).unwrap();
        let mut got = session.first(0).unwrap();
        let prompted = start.elapsed() - encoded;
        let mut ids = vec![got[0][0].id];
        let steps: usize = args[5].parse().unwrap();
        while ids.len() < steps && *ids.last().unwrap() != base {
            got = session.step(0, None).unwrap();
            ids.push(got[0][0].id);
        }
        let all = start.elapsed();
        println!(
            "{round}: encode {encoded:?} ({} launches), prompt {prompted:?}, {} steps {:?} each ({} launches), all {all:?}",
            session.encoder_launches(),
            ids.len() - 1,
            (all - encoded - prompted) / (ids.len() as u32 - 1).max(1),
            session.step_launches(0)
        );
        if round == 2 {
            println!("{ids:?}");
        }
    }
    if args.len() > 6 {
        type Failed = Box<dyn std::error::Error>;
        let stream = session.stream().clone();
        let ((), times) = stream
            .time_launches(|| Ok::<_, Failed>(session.encode()?))
            .unwrap();
        print(times, "encode");
        let work = || {
            session.prompt(&prompt)?;
            session.first(0)?;
            Ok::<_, Failed>(())
        };
        print(stream.time_launches(work).unwrap().1, "prompt");
        let work = || {
            for _ in 0..5 {
                session.step(0, None)?;
            }
            Ok::<_, Failed>(())
        };
        print(stream.time_launches(work).unwrap().1, "five steps");
    }
}

fn print(times: Vec<warpsmith_device::LaunchTime>, what: &str) {
    let mut sums = std::collections::BTreeMap::new();
    for time in times {
        let entry = sums.entry(time.kernel.to_string()).or_insert((0, 0.0));
        entry.0 += 1;
        entry.1 += time.time.as_secs_f64() * 1e3;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    println!("{what}: {:.1} ms", sums.iter().map(|s| s.1.1).sum::<f64>());
    for (kernel, (count, ms)) in sums {
        println!("  {kernel:50} {count:4} {ms:9.2} ms");
    }
}
