//! Run scripts: launches of PTX kernels with their data, read from a JSON file and run.
//!
//! A script names a PTX file, buffers with their contents and what is wanted of them, and launches:
//! one file reproduces one fault. Paths are relative to the file; what contradicts itself is refused with its place.

mod compare;
mod json;
mod launch;
mod number;
mod order;
mod place;
mod programs;
mod read;
mod run;
mod schema;
mod tell;
mod values;

pub use compare::{Difference, Mode};
pub use number::{Number, element, encode};
pub(crate) use read::{ptx as read_ptx, ptx_of};
pub use run::{Kept, Settings};
pub use schema::schema;
pub use tell::Tell;
pub use warpsmith_vgpu::Stop;

use std::path::PathBuf;
use warpsmith_ptx::{target::Target, types::Type};

/// Launches, with all they need.
#[derive(Clone, Debug)]
pub struct Script {
    /// The PTX file.
    pub ptx: PathBuf,
    /// The PTX itself, if it is not to be read: `ptx` is then only its name.
    pub ptx_text: Option<String>,
    /// The device's target; the module's own if not given.
    pub target: Option<Target>,
    /// Multiprocessors of the device.
    pub sms: Option<u32>,
    /// CTAs that a multiprocessor holds at once: that bounds a cooperative grid, and how many of another wait at a time.
    pub max_blocks_per_sm: Option<u32>,
    /// Blocks of device memory.
    pub buffers: Vec<Buffer>,
    /// Module variables that are written before the first launch.
    pub globals: Vec<Global>,
    /// What is launched, in order.
    pub launches: Vec<LaunchSpec>,
    /// What is given back before which launch.
    pub freed: Vec<Freed>,
    /// Buffers that the host reads whole at the end.
    pub host_reads: Vec<usize>,
    /// Buffers that nobody gives back.
    pub leaked: Vec<usize>,
    /// Whether all CTAs of a launch exist at once.
    pub co_resident: bool,
    /// CTAs of a cluster, where there are clusters.
    pub cluster: Option<[u32; 3]>,
    /// The text that it was read from, for the lines of messages; empty if it was not.
    pub text: String,
}

/// A block of device memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// What its elements are.
    pub element: Type,
    /// Its size.
    pub bytes: u64,
    /// What is in it before the first launch.
    pub contents: Contents,
    /// Addresses written over that: byte offset and buffer.
    pub pointers: Vec<(u64, usize)>,
    /// What must be in it at the end.
    pub wanted: Option<Wanted>,
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This byte everywhere.
    Fill(u8),
    /// Nothing that anybody wrote.
    Uninitialized,
}

/// What a buffer must hold at the end.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its contents.
    pub contents: WantedContents,
    /// How elements compare.
    pub mode: Mode,
}

/// The contents that are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedContents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What was there before the first launch.
    Unchanged,
}

/// A module variable's contents.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub symbol: String,
    /// Its first bytes.
    pub bytes: Vec<u8>,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    /// The kernel's name.
    pub kernel: String,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// One for each parameter.
    pub args: Vec<Arg>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The address of a byte of a buffer; 0 without a buffer.
    Pointer {
        /// Which buffer.
        buffer: Option<usize>,
        /// Bytes from its start.
        offset: u64,
    },
    /// Bytes, with addresses of buffers written over them.
    Bytes {
        /// What they are, if that is known.
        ty: Option<Type>,
        /// The bytes.
        bytes: Vec<u8>,
        /// Byte offset and buffer.
        pointers: Vec<(u64, usize)>,
    },
}

/// Buffers that are given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Just before this launch.
    pub launch: usize,
    /// Which.
    pub buffers: Vec<usize>,
}

/// Why a script was not read, or not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is larger than is read.
    #[error("{} has {bytes} bytes, expected at most {limit}", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is no JSON.
    #[error("{} is not JSON: {source}", path.display())]
    Json {
        /// Which.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A value is not what should stand there.
    #[error("{at}: expected {expected}, found {found}{}", on_line(*line))]
    Script {
        /// The path in the file, from `$`.
        at: String,
        /// The line in the file, if there is one.
        line: Option<u32>,
        /// What should stand there.
        expected: String,
        /// What does.
        found: String,
    },
    /// What a value of the script leads to cannot be used.
    #[error("{at}: {source}{}", on_line(*line))]
    At {
        /// The path of the value, from `$`.
        at: String,
        /// The line in the file, if there is one.
        line: Option<u32>,
        /// Why.
        source: Box<Error>,
    },
    /// The PTX does not parse or does not verify.
    #[error("{}: {}{}", path.display(), first(found), more(found))]
    Ptx {
        /// The file.
        path: PathBuf,
        /// All that is wrong.
        found: Vec<warpsmith_ptx::diag::Diagnostic>,
    },
    /// The virtual GPU refused.
    #[error(transparent)]
    Device(#[from] warpsmith_vgpu::Error),
    /// A file of another kind.
    #[error("{} is {found}, expected PTX{help}", path.display())]
    NotPtx {
        /// Which.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// How PTX is made of it.
        help: &'static str,
    },
    /// The module is for another device.
    #[error("the module is for {module}, the device is {device}")]
    OtherTarget {
        /// The module's.
        module: Target,
        /// The device's.
        device: Target,
    },
    /// Something that the virtual GPU does not do.
    #[error("{what} not supported by the virtual GPU")]
    Unsupported {
        /// What, with its verb.
        what: &'static str,
    },
}

fn on_line(line: Option<u32>) -> String {
    line.map_or_else(String::new, |line| format!(", in line {line}"))
}

impl Error {
    /// As what a value leads to.
    pub(super) fn at(self, at: impl Into<String>) -> Error {
        Error::At {
            at: at.into(),
            line: None,
            source: Box::new(self),
        }
    }

    /// With the line of its place in the script's text.
    pub(super) fn in_text(mut self, text: &str) -> Error {
        if let Error::Script { at, line, .. } | Error::At { at, line, .. } = &mut self
            && line.is_none()
            && !text.is_empty()
        {
            *line = place::line(text, at);
        }
        self
    }
}

fn first(found: &[warpsmith_ptx::diag::Diagnostic]) -> String {
    found.first().map(ToString::to_string).unwrap_or_default()
}

fn more(found: &[warpsmith_ptx::diag::Diagnostic]) -> String {
    match found.len() {
        0 | 1 => String::new(),
        count => format!(", and {} more", count - 1),
    }
}
