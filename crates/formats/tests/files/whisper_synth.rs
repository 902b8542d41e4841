//! Whisper files that other programs wrote: one model in each format, and quantised.

use warpsmith_formats::quant::{WeightType, check_finite, dequantize};
use warpsmith_formats::whisper::{Dims, Format, WhisperFile};

use crate::{bytes_of, reference};

fn open(name: &str) -> WhisperFile {
    WhisperFile::open(&reference(&format!("whisper/synth/{name}"))).expect("sound")
}

fn floats(file: &WhisperFile, name: &str) -> Vec<f32> {
    let tensor = file.tensor(name).expect("in every model");
    let mut values = vec![0.0; tensor.shape.iter().product::<u64>() as usize];
    let data = bytes_of(|out| file.read(tensor, out));
    dequantize(tensor.dtype, &data, &mut values).expect("whole blocks");
    values
}

#[test]
fn one_model_is_the_same_in_each_format() {
    let folder = open("");
    assert_eq!(folder.format(), Format::Safetensors);
    let want = Dims {
        n_mels: 128,
        n_audio_ctx: 50,
        n_audio_state: 64,
        n_audio_head: 2,
        n_audio_layer: 2,
        n_text_ctx: 32,
        n_text_state: 64,
        n_text_head: 2,
        n_text_layer: 1,
        n_vocab: 256,
    };
    assert_eq!(folder.dims(), &want);
    for (name, dtype, tolerance) in [
        ("ggml-f16.bin", WeightType::F16, 0.0),
        ("ggml-q8_0.bin", WeightType::Q8_0, 0.005),
        ("ggml-q5_1.bin", WeightType::Q5_1, 0.04),
        ("ggml-q5_0.bin", WeightType::Q5_0, 0.07),
    ] {
        let file = open(name);
        assert_eq!((file.format(), file.dims()), (Format::Ggml, &want));
        let query = file.tensor("decoder.blocks.0.cross_attn.query.weight");
        assert_eq!(query.expect("in every model").dtype, dtype);
        for tensor in folder.tensors() {
            let same = file.tensor(&tensor.name).expect("the same names");
            let data = bytes_of(|out| file.read(same, out));
            check_finite(&same.name, same.dtype, &data).expect("finite");
            let (a, b) = (floats(&folder, &tensor.name), floats(&file, &tensor.name));
            let most = a.iter().fold(0f32, |most, x| most.max(x.abs()));
            for (a, b) in a.iter().zip(&b) {
                assert!(
                    (a - b).abs() <= tolerance * most,
                    "{name} {}: {a} {b}",
                    tensor.name
                );
            }
        }
    }
}
