//! Arguments of a kernel on the command line.

use anyhow::{Context, Result};
use std::{fs, path::PathBuf, str::FromStr};
use warpsmith::{
    ptx::types::Type,
    script::{Arg, Buffer, Contents, Script, encode},
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
    /// The bytes of a scalar.
    Scalar(Vec<u8>),
}

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
            ty => {
                let ty = Type::from_name(ty).filter(|ty| (8..=64).contains(&ty.bits()));
                match ty.and_then(|ty| encode(ty, rest)) {
                    Some(bytes) => Ok(ArgSpec::Scalar(bytes)),
                    None => expected("TYPE:VALUE, such as u32:7, f32:0.5 or b64:0x10"),
                }
            }
        }
    }
}

impl ArgSpec {
    /// Adds its buffer to a script, and where that goes at the end to `saves`.
    pub(super) fn add_to(
        &self,
        script: &mut Script,
        at: usize,
        saves: &mut Vec<(usize, PathBuf)>,
    ) -> Result<Arg> {
        let read = |path: &PathBuf| {
            let bytes = fs::read(path);
            bytes.with_context(|| format!("cannot read {}", path.display()))
        };
        let (contents, bytes, to) = match self {
            ArgSpec::Scalar(bytes) => {
                return Ok(Arg::Bytes {
                    bytes: bytes.clone(),
                    pointers: Vec::new(),
                });
            }
            ArgSpec::In(from) => (Contents::Bytes(read(from)?), 0, None),
            ArgSpec::InOut(from, to) => (Contents::Bytes(read(from)?), 0, Some(to)),
            ArgSpec::Out(to, bytes) => (Contents::Uninitialized, *bytes, Some(to)),
            ArgSpec::Zero(bytes) => (Contents::Fill(0), *bytes, None),
            ArgSpec::Uninit(bytes) => (Contents::Uninitialized, *bytes, None),
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
        if let Some(to) = to {
            script.host_reads.push(buffer);
            saves.push((buffer, to.clone()));
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

    #[test]
    fn specs_are_read_and_others_refused() {
        for (text, spec) in [
            ("in:a:b.bin", ArgSpec::In("a:b.bin".into())),
            ("out:a:b.bin:16", ArgSpec::Out("a:b.bin".into(), 16)),
            ("inout:a:b", ArgSpec::InOut("a".into(), "b".into())),
            ("zero:0", ArgSpec::Zero(0)),
            ("uninit:4", ArgSpec::Uninit(4)),
            ("u16:7", ArgSpec::Scalar(vec![7, 0])),
            ("f32:0.5", ArgSpec::Scalar(vec![0, 0, 0, 0x3F])),
            ("b64:0x10", ArgSpec::Scalar(vec![16, 0, 0, 0, 0, 0, 0, 0])),
            ("s8:-1", ArgSpec::Scalar(vec![0xFF])),
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
