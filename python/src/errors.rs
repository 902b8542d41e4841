//! Errors as exceptions of the package, each of the kind that `warpsmith/errors.py` describes.

use pyo3::{PyErr, import_exception};
use warpsmith::{device, models, script};

import_exception!(warpsmith.errors, WarpsmithError);
import_exception!(warpsmith.errors, InputError);
import_exception!(warpsmith.errors, ContextFullError);
import_exception!(warpsmith.errors, ModelError);
import_exception!(warpsmith.errors, AudioError);
import_exception!(warpsmith.errors, DeviceError);
import_exception!(warpsmith.errors, OutOfMemoryError);
import_exception!(warpsmith.errors, PtxError);
import_exception!(warpsmith.errors, KernelFault);
import_exception!(warpsmith.errors, UnsupportedError);
import_exception!(warpsmith.errors, ClosedError);

/// What a caller gave that cannot be used: what, what was expected, what was found.
pub(crate) fn input(what: &str, expected: &str, found: impl std::fmt::Display) -> PyErr {
    InputError::new_err(format!("{what}: expected {expected}, found {found}"))
}

/// What a model says.
pub(crate) fn model(error: models::Error) -> PyErr {
    use models::Error as E;
    let text = error.to_string();
    match error {
        E::Device(error) => device(*error),
        E::Graph(error) => match *error {
            warpsmith::graph::Error::Device(error) => device(error),
            _ => ModelError::new_err(text),
        },
        E::ContextFull { .. } | E::OutOfPages { .. } => ContextFullError::new_err(text),
        E::TokenId { .. }
        | E::Sampler { .. }
        | E::EmptyStop { .. }
        | E::EngineOption { .. }
        | E::Grammar { .. }
        | E::NoLogits
        | E::Rounding { .. }
        | E::TemplateRefused { .. }
        | E::Size { .. } => InputError::new_err(text),
        E::Audio(_) => AudioError::new_err(text),
        E::Unsupported { .. } => UnsupportedError::new_err(text),
        _ => ModelError::new_err(text),
    }
}

/// What a device says.
pub(crate) fn device(error: device::Error) -> PyErr {
    use device::Error as E;
    let text = error.to_string();
    match error {
        E::OutOfMemory { .. } => OutOfMemoryError::new_err(text),
        E::Fault(_) => KernelFault::new_err(text),
        E::Launch(_)
        | E::Range { .. }
        | E::Length { .. }
        | E::Selector { .. }
        | E::VirtualCard(_)
        | E::NoEntry { .. }
        | E::Params { .. }
        | E::WrongDevice { .. } => InputError::new_err(text),
        E::Unsupported { .. } => UnsupportedError::new_err(text),
        E::Jit { .. } | E::PtxTooNew { .. } | E::WrongTarget { .. } | E::Rewritten { .. } => {
            PtxError::new_err(text)
        }
        E::Virtual(error) => virtual_gpu(&error),
        _ => DeviceError::new_err(text),
    }
}

fn virtual_gpu(error: &warpsmith::vgpu::Error) -> PyErr {
    use warpsmith::vgpu::Error as E;
    let text = error.to_string();
    match error {
        E::Unsupported { .. } => UnsupportedError::new_err(text),
        E::Launch { .. } => InputError::new_err(text),
        E::OutOfMemory { .. } => OutOfMemoryError::new_err(text),
        E::PtxVersion { .. } => PtxError::new_err(text),
        E::Fault(_) => KernelFault::new_err(text),
        E::Reserve { .. }
        | E::Thread { .. }
        | E::Tier { .. }
        | E::NotAllocated { .. }
        | E::Range { .. }
        | E::OtherMachine { .. }
        | E::Panic { .. } => DeviceError::new_err(text),
    }
}

/// Why PTX was not checked or not run: the name of an exception, and its text.
pub(crate) fn script(error: &script::Error) -> (&'static str, String) {
    use script::Error as E;
    match error {
        E::Ptx { .. } | E::NotPtx { .. } | E::OtherTarget { .. } => ("PtxError", error.to_string()),
        E::Script {
            at,
            line: _,
            expected,
            found,
        } => {
            let at = at.strip_prefix("$.launches[0].").unwrap_or(at);
            let at = at.strip_prefix("$.").unwrap_or(at);
            let text = format!("{at}: expected {expected}, found {found}");
            ("InputError", text)
        }
        E::At {
            at: _,
            line: _,
            source,
        } => script(source),
        E::Unsupported { .. } => ("UnsupportedError", error.to_string()),
        E::Device(error) => {
            use warpsmith::vgpu::Error as D;
            let kind = match error {
                D::Fault(_) => "KernelFault",
                D::Unsupported { .. } => "UnsupportedError",
                D::OutOfMemory { .. } => "OutOfMemoryError",
                D::Launch { .. } => "InputError",
                D::PtxVersion { .. } => "PtxError",
                D::Reserve { .. }
                | D::Thread { .. }
                | D::Tier { .. }
                | D::NotAllocated { .. }
                | D::Range { .. }
                | D::OtherMachine { .. }
                | D::Panic { .. } => "DeviceError",
            };
            (kind, error.to_string())
        }
        _ => ("WarpsmithError", error.to_string()),
    }
}
