//! Model files made from the synthetic ones of the reference data, with something changed.

use std::path::Path;
use warpsmith_device::{Device, Selector};
use warpsmith_formats::{
    gguf::{Gguf, Value, Writer},
    quant::WeightType,
};
use warpsmith_models::{
    Error,
    llama::{Config, Model, Source},
};

/// A tensor of a file that is about to be written.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    /// Fastest first.
    pub(crate) dims: Vec<u64>,
    pub(crate) ty: WeightType,
    pub(crate) data: Vec<u8>,
}

/// A GGUF file that is about to be written.
pub(crate) struct File {
    pub(crate) pairs: Vec<(String, Value)>,
    pub(crate) tensors: Vec<Tensor>,
}

impl File {
    /// The contents of a synthetic model.
    pub(crate) fn of(name: &str) -> File {
        let path = format!("../../suite/reference/synth/{name}.gguf");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let gguf = Gguf::open(&path).expect("a synthetic model");
        let pairs = gguf.metadata().iter();
        let tensors = gguf.tensors().iter().map(|info| {
            let mut data = Vec::new();
            gguf.read(info, &mut data).expect("its bytes");
            Tensor {
                name: info.name.clone(),
                dims: info.dims.clone(),
                ty: info.dtype,
                data,
            }
        });
        File {
            pairs: pairs
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .collect(),
            tensors: tensors.collect(),
        }
    }

    /// Sets a key, whether it is there or not.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.pairs.retain(|(known, _)| known != key);
        self.pairs.push((key.to_owned(), value.into()));
    }

    /// Takes out a tensor.
    pub(crate) fn take(&mut self, name: &str) -> Tensor {
        let at = self.tensors.iter().position(|tensor| tensor.name == name);
        self.tensors.remove(at.expect("a tensor of that name"))
    }

    /// Adds a tensor of zeros.
    pub(crate) fn zeros(&mut self, name: &str, dims: &[u64]) {
        let len: u64 = dims.iter().product();
        self.tensors.push(Tensor {
            name: name.to_owned(),
            dims: dims.to_vec(),
            ty: WeightType::F32,
            data: vec![0; 4 * len as usize],
        });
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        for (key, value) in &self.pairs {
            writer.set(key, value.clone());
        }
        for tensor in &self.tensors {
            writer.add(&tensor.name, &tensor.dims, tensor.ty, tensor.data.clone());
        }
        writer.to_bytes().expect("a sound file")
    }

    /// Loads it as a model.
    pub(crate) fn load(&self) -> Result<Model, Error> {
        let gguf = Gguf::parse(self.to_bytes())?;
        let factors = gguf.tensor("rope_freqs.weight").is_some();
        let config = Config::from_gguf(gguf.metadata(), factors)?;
        Model::load(&device(), &Source::Gguf(gguf), config, None, &mut |_, _| {})
    }
}

pub(crate) fn device() -> Device {
    Device::open(&Selector::virtual_gpu()).expect("a virtual GPU")
}

/// What is said of a synthetic model after a change.
pub(crate) fn refusal(name: &str, change: impl FnOnce(&mut File)) -> String {
    let mut file = File::of(name);
    change(&mut file);
    file.load().expect_err("a refusal").to_string()
}
