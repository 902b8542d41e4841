//! The `tojson` filter as Python writes JSON: a space after `:` and `,`, nothing escaped for HTML.

use std::io;

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, State, Value};
use serde::Serialize;
use serde_json::ser::Formatter;

/// The longest text one call may give.
const MAX_LEN: usize = 1 << 20;

/// The most spaces a level.
const MAX_INDENT: usize = 16;

/// `value | tojson(indent=n)`; `ensure_ascii` is accepted and always false.
pub(super) fn tojson(state: &mut State, value: &Value, args: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = args.get("indent")?;
    let _: Option<bool> = args.get("ensure_ascii")?;
    args.assert_all_used()?;
    if indent.is_some_and(|n| n > MAX_INDENT) {
        return Err(failed(format!("tojson: indent is over {MAX_INDENT}")));
    }
    let mut out = Limited(Vec::new());
    let python = Python {
        indent,
        depth: 0,
        empty: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, python);
    value
        .serialize(&mut serializer)
        .map_err(|error| failed(format!("tojson: {error}")))?;
    state.consume_fuel(out.0.len() as u64 / 16)?;
    String::from_utf8(out.0).map_err(|error| failed(format!("tojson: {error}")))
}

fn failed(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// A buffer that takes only [`MAX_LEN`] bytes.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_LEN {
            return Err(io::Error::other(format!("longer than {MAX_LEN} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Python's separators.
struct Python {
    indent: Option<usize>,
    depth: usize,
    /// Nothing was written since the last bracket opened.
    empty: bool,
}

impl Python {
    fn open<W: ?Sized + io::Write>(&mut self, w: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        w.write_all(bracket)
    }

    fn close<W: ?Sized + io::Write>(&mut self, w: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !std::mem::take(&mut self.empty) {
            self.line(w)?;
        }
        w.write_all(bracket)
    }

    fn item<W: ?Sized + io::Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        match (first, self.indent) {
            (true, _) => {}
            (false, Some(_)) => w.write_all(b",")?,
            (false, None) => w.write_all(b", ")?,
        }
        self.line(w)
    }

    fn line<W: ?Sized + io::Write>(&self, w: &mut W) -> io::Result<()> {
        let Some(indent) = self.indent else {
            return Ok(());
        };
        w.write_all(b"\n")?;
        (0..self.depth * indent).try_for_each(|_| w.write_all(b" "))
    }
}

impl Formatter for Python {
    fn begin_array<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.open(w, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.close(w, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(w, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.open(w, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.close(w, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(w, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(b": ")
    }
}
