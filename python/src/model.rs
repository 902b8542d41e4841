//! Devices and model files, as the constructors of models name them.

use crate::errors;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use warpsmith::{
    device::{Device, Fresh, Selector, Settings, VirtualCard},
    graph::Precision,
    models::{Files, Rounding},
};

/// What a model is loaded from, and where to.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) device: String,
    pub(crate) threads: Option<u16>,
    pub(crate) weights: Option<String>,
}

impl Place {
    /// Opens the device.
    ///
    /// # Errors
    /// A name that is none, a number of threads for a card; what the device says.
    pub(crate) fn open(&self) -> PyResult<Device> {
        let selector: Selector = self.device.parse().map_err(errors::device)?;
        let selector = match (selector, self.threads) {
            (selector, None) => selector,
            (Selector::Virtual(card), Some(threads)) => Selector::Virtual(VirtualCard {
                workers: Some(usize::from(threads)),
                ..card
            }),
            (other @ (Selector::Auto | Selector::Cuda(_)), Some(threads)) => {
                return Err(errors::input(
                    "threads",
                    "None: threads are of the virtual GPU",
                    format!("{threads} with device={:?}", other.to_string()),
                ));
            }
        };
        let settings = Settings {
            fresh: Fresh::AsIs,
            ..Settings::default()
        };
        Device::open_with(&selector, settings).map_err(errors::device)
    }

    /// The files, and what their matrices become.
    ///
    /// # Errors
    /// A type that nothing is rounded to.
    pub(crate) fn files(&self) -> PyResult<Files<'_>> {
        let rounding = self.weights.as_deref().map(str::parse::<Rounding>);
        Ok(Files {
            path: Path::new(&self.path),
            rounding: rounding.transpose().map_err(errors::model)?,
        })
    }
}

/// Arithmetic by name.
///
/// # Errors
/// Another name.
pub(crate) fn precision(name: &str) -> PyResult<Precision> {
    match name {
        "fast" => Ok(Precision::Fast),
        "exact" => Ok(Precision::Exact),
        other => Err(errors::input(
            "precision",
            "\"fast\" or \"exact\"",
            format!("{other:?}"),
        )),
    }
}
