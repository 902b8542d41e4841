//! An engine that runs for long: no memory, no plan beyond the first of each size.

use crate::support::reference;
use warpsmith::{
    device::{Device, Selector, VirtualCard},
    models::{
        llama::{Bundle, Engine, EngineOptions, Event, Request},
        sampling::SamplerConfig,
    },
};

/// Steps of the long run.
const STEPS: u64 = 10_000;

#[test]
fn ten_thousand_steps_of_fifty_shapes_plan_and_allocate_nothing_new() {
    // One thread: passes are so small that a second one costs more than it does, and other tests run meanwhile.
    let selector = Selector::Virtual(VirtualCard {
        workers: Some(1),
        ..VirtualCard::default()
    });
    let device = Device::open(&selector).expect("a virtual GPU");
    let path = reference().join("synth/tiny-llama3.gguf");
    let bundle = Bundle::load(&device, &path, &mut |_, _| {}).expect("a model");
    let options = EngineOptions {
        sequences: 8,
        context: 96,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    // Shapes: how many sequences, and how long their prompts are.
    let shapes: Vec<(u32, u32)> = (0..50).map(|at| (1 + at % 3, 1 + at * 13 % 40)).collect();
    let submit = |engine: &mut Engine, at: usize, tokens: u32| {
        let (count, len) = shapes[at % shapes.len()];
        for sequence in 0..count {
            let prompt = (0..len).map(|i| (i * 7 + sequence * 31 + at as u32) % 500);
            let request = Request {
                prompt: prompt.collect(),
                sampler: SamplerConfig::default(),
                max_tokens: tokens,
                ends: Vec::new(),
                ..Request::default()
            };
            engine.submit(request).expect("a sequence");
        }
    };
    let mut finished = 0;
    let mut drain = |engine: &mut Engine| {
        while !engine.is_idle() {
            for event in engine.step().expect("a step") {
                match event {
                    Event::Token { .. } => {}
                    Event::Finished { .. } => finished += 1,
                    Event::Failed { id, error } => panic!("{id}: {error}"),
                }
            }
        }
    };
    for at in 0..shapes.len() {
        submit(&mut engine, at, 4);
        drain(&mut engine);
    }
    let (plans, before) = (engine.report().plans, device.stats());
    let memory = device.memory_info().expect("memory");
    let begun = engine.report().steps;
    let mut at = 0;
    while engine.report().steps - begun < STEPS {
        submit(&mut engine, at, 50);
        drain(&mut engine);
        at += 1;
    }
    let moved = device.stats() - before;
    assert_eq!(engine.report().plans, plans);
    assert!(plans <= 2 * 7, "{plans} plans");
    assert_eq!(moved.allocations, 0);
    assert_eq!(device.memory_info().expect("memory"), memory);
    assert_eq!(engine.report().free_pages, engine.report().pages);
    assert!(finished > 100);
}
