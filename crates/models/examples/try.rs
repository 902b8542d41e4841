//! Tries a model: prints timings and the greedy continuation of token ids.
use std::{path::Path, time::Instant};
use warpsmith_device::{Device, Selector};
use warpsmith_graph::Precision;
use warpsmith_models::llama::*;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let device = Device::open(&"virtual".parse::<Selector>().unwrap()).unwrap();
    let precision = if args[2] == "exact" {
        Precision::Exact
    } else {
        Precision::Fast
    };
    let ids: Vec<u32> = args[3].split(',').map(|x| x.parse().unwrap()).collect();
    let n: usize = args[4].parse().unwrap();
    let start = Instant::now();
    let bundle = Bundle::load(&device, Path::new(&args[1]), &mut |_, _| {}).unwrap();
    println!("load {:?}", start.elapsed());
    let run = match std::env::var("RUN").as_deref() {
        Ok("eager") => Run::Eager,
        Ok("persistent") => Run::Persistent,
        _ => Run::Replay,
    };
    let mut shape = warpsmith_graph::PersistentShape::default();
    if let Ok(threads) = std::env::var("THREADS") {
        shape.threads = threads.parse().unwrap();
    }
    if let Ok(ctas) = std::env::var("CTAS") {
        shape.ctas = ctas.parse().unwrap();
    }
    if std::env::var("CLAIMED").is_ok() {
        shape.schedule = Some(warpsmith_graph::Schedule::Claimed);
    }
    let mut session = Session::new(
        &bundle.model,
        &SessionOptions {
            precision,
            run,
            shape,
            context: 1024,
            ..Default::default()
        },
    )
    .unwrap();
    let start = Instant::now();
    session.prefill(&ids, &mut |_, _| {}).unwrap();
    let logits = session.logits().unwrap();
    println!("prefill {:?} {:?}", start.elapsed(), &logits[..4]);
    if let Some(path) = args.get(5) {
        let want: Vec<f32> = std::fs::read(path)
            .unwrap()
            .chunks(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let want = &want[want.len() - logits.len()..];
        let worst = logits
            .iter()
            .zip(want)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        let rms = (logits
            .iter()
            .zip(want)
            .map(|(a, b)| ((a - b) as f64).powi(2))
            .sum::<f64>()
            / logits.len() as f64)
            .sqrt();
        println!("max difference {worst} rms {rms}");
    }
    let mut out = vec![session.sample().unwrap()];
    if run == Run::Persistent {
        let begin = Instant::now();
        println!("{:?}", session.persistent(&[]).unwrap().report());
        println!("compiled in {:?}", begin.elapsed());
    }
    let start = Instant::now();
    if run == Run::Persistent {
        out.clear();
        let ended = session.generate(n, &[], &mut |token| {
            out.push(token);
            std::ops::ControlFlow::Continue(())
        });
        println!("{ended:?}");
    } else {
        for _ in 1..n {
            out.push(session.step().unwrap());
        }
    }
    println!(
        "{} steps {:?} each, {} launches",
        n - 1,
        start.elapsed() / (n as u32 - 1).max(1),
        session.launches_per_step().unwrap()
    );
    println!("{out:?}");
    println!("{}", bundle.tokenizer.decode(&out).unwrap());
}
