//! Arguments of a kernel on the command line.

use super::super::files::{Draft, Files};
use anyhow::{Context, Result};
use std::{fmt, path::PathBuf, str::FromStr};
use warpsmith::{
    formats::input,
    ptx::types::Type,
    script::{Arg, Buffer, Contents, Script, element, encode},
};

/// An argument as `--arg` writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArgSpec {
    /// A buffer with a file's bytes.
    In(PathBuf),
    /// A buffer that nobody wrote, whose contents go to a file.
    Out(PathBuf, u64),
    /// A buffer with a file's bytes, whose contents go to another file.
    InOut(PathBuf, PathBuf),
    /// A buffer of zeros.
    Zero(u64),
    /// A buffer that nobody wrote.
    Uninit(u64),
    /// A scalar: its type, its value as it was given, its bytes.
    Scalar(Type, String, Vec<u8>),
}

impl fmt::Display for ArgSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgSpec::In(from) => write!(f, "in:{}", from.display()),
            ArgSpec::Out(to, bytes) => write!(f, "out:{}:{bytes}", to.display()),
            ArgSpec::InOut(from, to) => write!(f, "inout:{}:{}", from.display(), to.display()),
            ArgSpec::Zero(bytes) => write!(f, "zero:{bytes}"),
            ArgSpec::Uninit(bytes) => write!(f, "uninit:{bytes}"),
            ArgSpec::Scalar(_, text, _) => f.write_str(text),
        }
    }
}

/// What names files of arguments.
const NAMED: &str = "--arg";

/// Bytes of a buffer at most.
const MAX_BYTES: u64 = 8 << 30;

impl FromStr for ArgSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<ArgSpec, String> {
        let expected = |what: &str| Err(format!("expected `{what}`, found `{text}`"));
        let bytes = |digits: &str| {
            let bytes: Option<u64> = digits.parse().ok();
            bytes.filter(|bytes| *bytes <= MAX_BYTES)
        };
        let Some((kind, rest)) = text.split_once(':') else {
            return expected(
                "in:FILE, out:FILE:BYTES, inout:IN:OUT, zero:BYTES, uninit:BYTES or TYPE:VALUE",
            );
        };
        match kind {
            "in" if !rest.is_empty() => Ok(ArgSpec::In(rest.into())),
            "in" => expected("in:FILE"),
            "out" => match rest.rsplit_once(':').map(|(file, n)| (file, bytes(n))) {
                Some((file, Some(n))) if !file.is_empty() => Ok(ArgSpec::Out(file.into(), n)),
                _ => expected("out:FILE:BYTES"),
            },
            "inout" => match rest.split_once(':') {
                Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                    Ok(ArgSpec::InOut(from.into(), to.into()))
                }
                _ => expected("inout:IN:OUT"),
            },
            "zero" => bytes(rest).map_or_else(|| expected("zero:BYTES"), |n| Ok(ArgSpec::Zero(n))),
            "uninit" => {
                bytes(rest).map_or_else(|| expected("uninit:BYTES"), |n| Ok(ArgSpec::Uninit(n)))
            }
            ty => match element(ty).map(|ty| (ty, encode(ty, rest))) {
                Some((ty, Some(bytes))) => Ok(ArgSpec::Scalar(ty, text.to_owned(), bytes)),
                Some((ty, None)) => {
                    Err(format!("expected a number that fits {ty}, found `{rest}`"))
                }
                None => expected("TYPE:VALUE, such as u32:7, f32:0.5 or b64:0x10"),
            },
        }
    }
}

impl ArgSpec {
    /// Tells of the file that it reads.
    ///
    /// # Errors
    /// A file that is written.
    pub(super) fn read(&self, files: &mut Files) -> Result<()> {
        match self {
            ArgSpec::In(from) | ArgSpec::InOut(from, _) => files.reads(NAMED, from),
            ArgSpec::Out(..) | ArgSpec::Zero(_) | ArgSpec::Uninit(_) | ArgSpec::Scalar(..) => {
                Ok(())
            }
        }
    }

    /// A draft of the file that its buffer goes to at the end.
    ///
    /// # Errors
    /// A file that is read, or written besides; what cannot be written.
    pub(super) fn written(&self, files: &mut Files) -> Result<Option<Draft>> {
        match self {
            ArgSpec::Out(to, _) | ArgSpec::InOut(_, to) => files.draft(NAMED, Some(to)),
            ArgSpec::In(_) | ArgSpec::Zero(_) | ArgSpec::Uninit(_) | ArgSpec::Scalar(..) => {
                Ok(None)
            }
        }
    }

    /// Adds its buffer to a script.
    pub(super) fn add_to(&self, script: &mut Script, at: usize) -> Result<Arg> {
        let read = |path: &PathBuf| {
            let bytes = input::bytes(path, MAX_BYTES);
            bytes.with_context(|| format!("cannot read {}", path.display()))
        };
        let (contents, bytes, kept) = match self {
            ArgSpec::Scalar(ty, _, bytes) => {
                return Ok(Arg::Bytes {
                    ty: Some(*ty),
                    bytes: bytes.clone(),
                    pointers: Vec::new(),
                });
            }
            ArgSpec::In(from) => (Contents::Bytes(read(from)?), 0, false),
            ArgSpec::InOut(from, _) => (Contents::Bytes(read(from)?), 0, true),
            ArgSpec::Out(_, bytes) => (Contents::Uninitialized, *bytes, true),
            ArgSpec::Zero(bytes) => (Contents::Fill(0), *bytes, false),
            ArgSpec::Uninit(bytes) => (Contents::Uninitialized, *bytes, false),
        };
        let bytes = match &contents {
            Contents::Bytes(data) => data.len() as u64,
            Contents::Fill(_) | Contents::Uninitialized => bytes,
        };
        let buffer = script.buffers.len();
        script.buffers.push(Buffer {
            name: format!("argument {at}"),
            element: Type::U8,
            bytes,
            contents,
            pointers: Vec::new(),
            wanted: None,
        });
        if kept {
            script.host_reads.push(buffer);
        }
        Ok(Arg::Pointer {
            buffer: Some(buffer),
            offset: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str, ty: Type, bytes: Vec<u8>) -> ArgSpec {
        ArgSpec::Scalar(ty, text.to_owned(), bytes)
    }

    #[test]
    fn specs_are_read_and_others_refused() {
        for (text, spec) in [
            ("in:a:b.bin", ArgSpec::In("a:b.bin".into())),
            ("out:a:b.bin:16", ArgSpec::Out("a:b.bin".into(), 16)),
            ("inout:a:b", ArgSpec::InOut("a".into(), "b".into())),
            ("zero:0", ArgSpec::Zero(0)),
            ("uninit:4", ArgSpec::Uninit(4)),
            ("u16:7", scalar("u16:7", Type::U16, vec![7, 0])),
            ("f32:0.5", scalar("f32:0.5", Type::F32, vec![0, 0, 0, 0x3F])),
            (
                "b64:0x10",
                scalar("b64:0x10", Type::B64, vec![16, 0, 0, 0, 0, 0, 0, 0]),
            ),
            ("i8:-1", scalar("i8:-1", Type::S8, vec![0xFF])),
            ("s8:-1", scalar("s8:-1", Type::S8, vec![0xFF])),
        ] {
            assert_eq!(text.parse(), Ok(spec), "{text}");
        }
        for text in [
            "",
            "in",
            "in:",
            "out:f",
            "out::4",
            "out:f:x",
            "inout:a",
            "zero:-1",
            "zero:99999999999999",
            "u32:x",
            "u8:256",
            "pred:1",
            "x:1",
        ] {
            assert!(text.parse::<ArgSpec>().is_err(), "{text}");
        }
    }
}
