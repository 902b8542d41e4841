//! What stands for the CUDA back end in a build without it.

use crate::{back::Back, error::Error, info::DeviceInfo, selector::Settings};

fn absent() -> Error {
    Error::NoDriver {
        tried: vec!["nothing: this build has no `cuda` feature".to_owned()],
    }
}

pub(crate) fn passed_over() -> Vec<String> {
    Vec::new()
}

pub(crate) fn cards() -> Result<Vec<DeviceInfo>, Error> {
    Err(absent())
}

pub(crate) fn open(
    _index: usize,
    _settings: &Settings,
) -> Result<(DeviceInfo, Box<dyn Back>), Error> {
    Err(absent())
}
