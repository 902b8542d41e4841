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
    let mut session = Session::new(
        &bundle.model,
        &SessionOptions {
            precision,
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
    let start = Instant::now();
    for _ in 1..n {
        out.push(session.step().unwrap());
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
