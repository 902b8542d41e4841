//! A decode step of whole models with random weights, in the shapes of real ones.

use super::{Bench, gguf};
use crate::gpu::{
    Failed,
    line::{Line, begin, emit},
    speed,
};
use std::sync::Arc;
use warpsmith::{
    graph::Precision,
    models::llama::{Model, Run, Source},
};

pub(super) fn times(bench: &Bench) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let shapes: &[gguf::Shape] = if bench.small {
        &[gguf::SMALL]
    } else {
        &[gguf::SMOLLM2, gguf::LLAMA_1B]
    };
    for shape in shapes {
        begin(format!("writing {}", shape.name));
        let path = folder.path().join("random.gguf");
        gguf::write(&path, shape)?;
        begin(format!("loading {}", shape.name));
        let source = Source::open(&path)?;
        let model = Model::load(&bench.device, &source, shape.config(), None, &mut |_, _| {})?;
        let model = Arc::new(model);
        drop(source);
        let (prompt, steps) = if bench.small { (16, 8) } else { (512, 128) };
        for precision in [Precision::Fast, Precision::Exact] {
            for run in [Run::Replay, Run::Eager] {
                begin(format!("{} {precision:?} {run:?}", shape.name));
                let speed = speed::measure(&model, (precision, run), prompt, steps)?;
                let how = format!("{precision:?}, {run:?}").to_lowercase();
                emit(&Line::Note {
                    text: format!("{}, {how}: {speed}", shape.name),
                });
                // The embedding is read for one row, unless it is the head too, as here.
                bench.tell(
                    format!("step of {}, {how}, after {prompt}", shape.name),
                    speed.step,
                    format!("{:.0} tok/s", 1.0 / speed.step),
                    Some(bench.floor(model.bytes())),
                );
                bench.tell(
                    format!("prompt of {}, {how}, {prompt} tokens", shape.name),
                    speed.prefill,
                    format!("{:.0} tok/s", prompt as f64 / speed.prefill),
                    None,
                );
            }
        }
    }
    Ok(())
}
