//! JSON as Python writes it, a space after `:` and `,` and nothing escaped for HTML; and read.

use std::io;

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, State, Value};
use serde::Serialize;
use serde_json::ser::Formatter;

/// The longest text one call may give.
const MAX_LEN: usize = 1 << 20;

/// The most spaces a level.
const MAX_INDENT: usize = 16;

/// `value | tojson(indent=n, separators=(item, key), sort_keys=true)`; `ensure_ascii` is accepted and always false.
pub(super) fn tojson(state: &mut State, value: &Value, args: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = args.get("indent")?;
    let _: Option<bool> = args.get("ensure_ascii")?;
    let sorted: Option<bool> = args.get("sort_keys")?;
    let separators: Option<Vec<String>> = args.get("separators")?;
    args.assert_all_used()?;
    if indent.is_some_and(|n| n > MAX_INDENT) {
        return Err(failed(format!("tojson: indent is over {MAX_INDENT}")));
    }
    let [item, key] = match separators.as_deref() {
        Some([item, key]) => [item.clone(), key.clone()],
        Some(_) => return Err(failed("tojson: separators are two texts".to_owned())),
        None if indent.is_some() => [",".to_owned(), ": ".to_owned()],
        None => [", ".to_owned(), ": ".to_owned()],
    };
    let mut out = Limited(Vec::new());
    let python = Python {
        indent,
        item,
        key,
        depth: 0,
        empty: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, python);
    let written = if sorted == Some(true) {
        sorted_keys(value)?.serialize(&mut serializer)
    } else {
        value.serialize(&mut serializer)
    };
    written.map_err(|error| failed(format!("tojson: {error}")))?;
    state.consume_fuel(out.0.len() as u64 / 16)?;
    String::from_utf8(out.0).map_err(|error| failed(format!("tojson: {error}")))
}

/// The deepest value that is read.
const MAX_DEPTH: usize = 64;

/// `text | fromjson`: the value that a JSON text is; a value that is no text is itself.
pub(super) fn fromjson(state: &mut State, value: Value) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return Ok(value);
    };
    if text.len() > MAX_LEN {
        return Err(failed(format!("fromjson: longer than {MAX_LEN} bytes")));
    }
    state.consume_fuel(text.len() as u64 / 4)?;
    let read: serde_json::Value =
        serde_json::from_str(text).map_err(|error| failed(format!("fromjson: {error}")))?;
    if depth(&read) > MAX_DEPTH {
        return Err(failed(format!("fromjson: nested over {MAX_DEPTH} deep")));
    }
    Ok(minijinja::value::Serde(read).into())
}

fn depth(value: &serde_json::Value) -> usize {
    let inner = match value {
        serde_json::Value::Array(list) => list.iter().map(depth).max(),
        serde_json::Value::Object(map) => map.values().map(depth).max(),
        _ => None,
    };
    inner.map_or(0, |inner| inner + 1)
}

/// The value with the keys of its maps in order. Written and read again, it is as long as [`MAX_LEN`] at most.
fn sorted_keys(value: &Value) -> Result<serde_json::Value, Error> {
    let mut out = Limited(Vec::new());
    let wrong = |error| failed(format!("tojson: {error}"));
    serde_json::to_writer(&mut out, value).map_err(wrong)?;
    let mut read: serde_json::Value = serde_json::from_slice(&out.0).map_err(wrong)?;
    read.sort_all_objects();
    Ok(read)
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
    /// Between two items, and between a key and its value.
    item: String,
    key: String,
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
        if !first {
            w.write_all(self.item.as_bytes())?;
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
        w.write_all(self.key.as_bytes())
    }
}
