//! Matrices rounded while they are loaded are those of a file that was rounded before.

use crate::remade::{File, device};
use std::path::PathBuf;
use tempfile::TempDir;
use warpsmith_formats::quant::{WeightType, dequantize, quantize};
use warpsmith_graph::Precision;
use warpsmith_models::{
    Files, Rounding,
    llama::{Bundle, Session, SessionOptions, products},
};

/// A synthetic model whose matrices are of type `ty`, those of products and others.
fn written(folder: &TempDir, model: &str, ty: WeightType, products_only: &[String]) -> PathBuf {
    let mut file = File::of(model);
    for tensor in &mut file.tensors {
        let named = products_only.is_empty() || products_only.contains(&tensor.name);
        let to = if named { ty } else { WeightType::F32 };
        if tensor.dims.len() != 2 {
            continue;
        }
        let elements: u64 = tensor.dims.iter().product();
        let mut values = vec![0.0; elements as usize];
        dequantize(tensor.ty, &tensor.data, &mut values).expect("whole blocks");
        tensor.data = quantize(to, &values).expect("whole blocks");
        tensor.ty = to;
    }
    let path = folder.path().join(format!("{ty}.gguf"));
    std::fs::write(&path, file.to_bytes()).expect("a file");
    path
}

fn logits(bundle: &Bundle, precision: Precision) -> Vec<u32> {
    let options = SessionOptions {
        context: 32,
        precision,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session
        .prefill(&[1, 7, 30, 12], &mut |_, _| {})
        .expect("a prompt");
    let logits = session.logits().expect("logits");
    logits.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn a_model_rounded_while_it_is_loaded_is_one_whose_file_was_rounded() {
    for (model, tied) in [("tiny-llama2spm", false), ("tiny-llama3", true)] {
        let folder = TempDir::new().expect("a folder");
        let plain = written(&folder, model, WeightType::F32, &[]);
        let names = products(&plain).expect("a model");
        let embedding = "token_embd.weight".to_owned();
        assert_eq!(names.contains(&embedding), tied, "{model}");
        for ty in Rounding::TYPES {
            let rounding = Rounding::to(ty).expect("a type to round to");
            let files = Files {
                path: &plain,
                rounding: Some(rounding),
            };
            let rounded = Bundle::load(&device(), files, &mut |_, _| {}).expect("a model");
            let done = rounded.model.rounded().expect("asked for");
            assert_eq!(done.matrices as usize, names.len(), "{model} {ty}");
            assert!(done.left.is_empty(), "{model} {ty}: {done}");
            let ready = written(&folder, model, ty, &names);
            let ready = Bundle::load(&device(), &ready, &mut |_, _| {}).expect("a model");
            assert_eq!(ready.model.rounded(), None);
            assert_eq!(rounded.model.bytes(), ready.model.bytes(), "{model} {ty}");
            for precision in [Precision::Exact, Precision::Fast] {
                let [ours, theirs] = [&rounded, &ready].map(|bundle| logits(bundle, precision));
                assert_eq!(ours, theirs, "{model} {ty} {precision:?}");
            }
        }
    }
}

#[test]
fn matrices_that_are_quantised_already_stay_and_are_counted() {
    let folder = TempDir::new().expect("a folder");
    let file = File::of("tiny-llama2spm");
    let path = folder.path().join("as-it-is.gguf");
    std::fs::write(&path, file.to_bytes()).expect("a file");
    let names = products(&path).expect("a model");
    let floats = |ty| matches!(ty, WeightType::F32 | WeightType::F16 | WeightType::BF16);
    let quantised = file.tensors.iter();
    let quantised = quantised.filter(|t| names.contains(&t.name) && !floats(t.ty));
    let files = Files {
        path: &path,
        rounding: Some(Rounding::to(WeightType::Q8_0).expect("a type to round to")),
    };
    let bundle = Bundle::load(&device(), files, &mut |_, _| {}).expect("a model");
    let done = bundle.model.rounded().expect("asked for");
    let left: u32 = done.left.values().sum();
    assert_eq!(left as usize, quantised.count(), "{done}");
    assert_eq!((left + done.matrices) as usize, names.len(), "{done}");
    assert!(
        left > 0 && done.matrices > 0,
        "the fixture has both: {done}"
    );
}
