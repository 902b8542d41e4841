//! Synthetic models with other keys and other numbers.

use crate::common::model;
use std::path::{Path, PathBuf};
use warpsmith::formats::{
    gguf::{Gguf, Value, Writer},
    quant::{WeightType, dequantize},
};

/// A copy of model `name` in `folder`: keys are added or replaced, and tensors, by name and as f32, changed.
pub(crate) fn rewritten(
    folder: &Path,
    name: &str,
    keys: &[(&str, Value)],
    change: &dyn Fn(&str, &mut [f32]),
) -> PathBuf {
    let file = Gguf::open(Path::new(&model(name))).expect("a model");
    let mut writer = Writer::new();
    for (key, value) in file.metadata().iter() {
        if keys.iter().all(|(other, _)| *other != key) {
            writer.set(key, value.clone());
        }
    }
    for (key, value) in keys {
        writer.set(key, value.clone());
    }
    for info in file.tensors() {
        let mut data = Vec::new();
        file.read(info, &mut data).expect("its bytes");
        let mut numbers = vec![0f32; info.elements() as usize];
        dequantize(info.dtype, &data, &mut numbers).expect("numbers");
        let before = numbers.clone();
        change(&info.name, &mut numbers);
        if numbers == before {
            writer.add(&info.name, &info.dims, info.dtype, data);
        } else {
            let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            writer.add(&info.name, &info.dims, WeightType::F32, bytes);
        }
    }
    let path = folder.join(format!("{name}-{}.gguf", keys.len()));
    std::fs::write(&path, writer.to_bytes().expect("a file")).expect("written");
    path
}
