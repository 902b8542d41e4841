//! What can go wrong between a launch and its result.

use warpsmith_kernel::{BuildError, LaunchError};
use warpsmith_ptx::{
    diag::Diagnostic,
    target::{PtxVersion, Target},
};

/// An error of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No usable CUDA driver.
    #[error("no CUDA driver; tried {}", .tried.join("; "))]
    NoDriver {
        /// Each thing tried, and why it failed.
        tried: Vec<String>,
    },
    /// The driver has fewer cards.
    #[error("no card {index}: the driver lists {found}")]
    NoCard {
        /// The card asked for.
        index: usize,
        /// Cards there are.
        found: usize,
    },
    /// No kernel is built for the card.
    #[error(
        "{card} is {target}; kernels need {} or later",
        warpsmith_kernel::OLDEST
    )]
    CardTooOld {
        /// The card's name.
        card: String,
        /// What it runs.
        target: Target,
    },
    /// A call into the driver failed.
    #[error("{call}: {name} ({code}): {text}{}", during(.recent))]
    Cuda {
        /// The function of the driver.
        call: &'static str,
        /// Its result code.
        code: u32,
        /// The code's name.
        name: String,
        /// What the driver says about it.
        text: String,
        /// Kernels enqueued since the stream was last known to be well, oldest first; the last ones only.
        recent: Vec<String>,
    },
    /// The driver refused PTX.
    #[error("the driver refused `{module}`: {name} ({code})\n{log}")]
    Jit {
        /// The first entry of the module.
        module: String,
        /// The result code.
        code: u32,
        /// The code's name.
        name: String,
        /// The log of its compiler.
        log: String,
    },
    /// The module uses a newer PTX than the device takes.
    #[error("PTX {needed} is needed, the device takes up to {driver_takes}")]
    PtxTooNew {
        /// The module's version.
        needed: PtxVersion,
        /// The newest the device takes.
        driver_takes: PtxVersion,
    },
    /// The module is for a newer or another architecture.
    #[error("the module is for {module}, the device is {device}")]
    WrongTarget {
        /// The module's target.
        module: Target,
        /// The device's.
        device: Target,
    },
    /// What [`Settings::rewrite`](crate::Settings::rewrite) made of a module is refused.
    #[error("a rewritten module is refused: {}", warpsmith_kernel::each_once(.found))]
    Rewritten {
        /// All that was found.
        found: Vec<Diagnostic>,
    },
    /// Device memory is exhausted.
    #[error("out of device memory: {needed} bytes needed, {free} free")]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The arguments of a launch do not fit the kernel.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A kernel was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A kernel did something wrong on the virtual GPU.
    #[error("fault: {0}")]
    Fault(Box<warpsmith_vgpu::Fault>),
    /// The virtual GPU refused.
    #[error("virtual GPU: {0}")]
    Virtual(warpsmith_vgpu::Error),
    /// A transfer inside [`forbid_transfers`](crate::forbid_transfers).
    #[error("{direction} of {bytes} bytes where transfers are forbidden")]
    TransferForbidden {
        /// Which way.
        direction: Direction,
        /// How much.
        bytes: u64,
    },
    /// Something of another device.
    #[error("{what} belongs to another device")]
    WrongDevice {
        /// What.
        what: String,
    },
    /// A range outside of a slice.
    #[error("elements {start}..{end} of a slice of {len}")]
    Range {
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// Elements there are.
        len: usize,
    },
    /// Two lengths that must be equal are not.
    #[error("{what}: {got} elements, expected {want}")]
    Length {
        /// What has this length.
        what: &'static str,
        /// Elements expected.
        want: usize,
        /// Elements given.
        got: usize,
    },
    /// Text that names no device.
    #[error("unknown device `{found}`, expected auto, virtual, virtual:SETTINGS or cuda:N")]
    Selector {
        /// The text.
        found: String,
    },
    /// Settings of a virtual GPU that are not understood.
    #[error(transparent)]
    VirtualCard(#[from] crate::UnknownSetting),
    /// A module has no such entry.
    #[error("no entry `{name}`, the module has {}", .found.join(", "))]
    NoEntry {
        /// The entry asked for.
        name: String,
        /// Entries there are.
        found: Vec<String>,
    },
    /// Raw parameters of a wrong size.
    #[error("`{kernel}` takes {want} bytes of parameters, got {got}")]
    Params {
        /// The entry.
        kernel: String,
        /// Bytes of its parameters.
        want: usize,
        /// Bytes given.
        got: usize,
    },
    /// Not possible while a stream is being captured.
    #[error("{what} is not possible while the stream is captured")]
    Capturing {
        /// What was tried.
        what: &'static str,
    },
    /// Not done by this device.
    #[error("{what} is not supported by this device")]
    Unsupported {
        /// What.
        what: &'static str,
    },
}

/// Which way bytes cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Host to device.
    Upload,
    /// Device to host.
    Download,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Direction::Upload => "upload",
            Direction::Download => "download",
        })
    }
}

fn during(recent: &[String]) -> String {
    if recent.is_empty() {
        String::new()
    } else {
        format!("; enqueued since the last wait: {}", recent.join(", "))
    }
}

impl From<warpsmith_vgpu::Error> for Error {
    fn from(error: warpsmith_vgpu::Error) -> Error {
        use warpsmith_vgpu::Error as V;
        match error {
            V::OutOfMemory { needed, free } => Error::OutOfMemory { needed, free },
            V::PtxVersion { found, newest } => Error::PtxTooNew {
                needed: found,
                driver_takes: newest,
            },
            V::Fault(fault) => Error::Fault(Box::new(fault)),
            V::OtherMachine { kernel } => Error::WrongDevice {
                what: format!("kernel `{kernel}`"),
            },
            other @ (V::Reserve { .. }
            | V::Thread { .. }
            | V::Tier { .. }
            | V::NotAllocated { .. }
            | V::Range { .. }
            | V::Unsupported { .. }
            | V::Panic { .. }
            | V::Launch { .. }) => Error::Virtual(other),
        }
    }
}
