//! Metadata values: their types, and how they are laid out in the file.

use std::fmt::Display;

use crate::Error;
use crate::cursor::Cursor;

/// Arrays of arrays deeper than this are refused.
const MAX_DEPTH: u32 = 4;

/// A metadata value, with the type it has in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// 8 bits.
    U8(u8),
    /// 8 bits, signed.
    I8(i8),
    /// 16 bits.
    U16(u16),
    /// 16 bits, signed.
    I16(i16),
    /// 32 bits.
    U32(u32),
    /// 32 bits, signed.
    I32(i32),
    /// Single precision.
    F32(f32),
    /// A truth value.
    Bool(bool),
    /// Text.
    String(String),
    /// Values of one type.
    Array(Array),
    /// 64 bits.
    U64(u64),
    /// 64 bits, signed.
    I64(i64),
    /// Double precision.
    F64(f64),
}

/// Values of one type, as a list of that type.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// 8 bits.
    U8(Vec<u8>),
    /// 8 bits, signed.
    I8(Vec<i8>),
    /// 16 bits.
    U16(Vec<u16>),
    /// 16 bits, signed.
    I16(Vec<i16>),
    /// 32 bits.
    U32(Vec<u32>),
    /// 32 bits, signed.
    I32(Vec<i32>),
    /// Single precision.
    F32(Vec<f32>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Texts.
    String(Vec<String>),
    /// Arrays, each of a type of its own.
    Array(Vec<Array>),
    /// 64 bits.
    U64(Vec<u64>),
    /// 64 bits, signed.
    I64(Vec<i64>),
    /// Double precision.
    F64(Vec<f64>),
}

const U8: u32 = 0;
const I8: u32 = 1;
const U16: u32 = 2;
const I16: u32 = 3;
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;
const U64: u32 = 10;
const I64: u32 = 11;
const F64: u32 = 12;

impl Value {
    /// The name of the type, such as `u32` or `array of string`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::U8(_) => "u8",
            Value::I8(_) => "i8",
            Value::U16(_) => "u16",
            Value::I16(_) => "i16",
            Value::U32(_) => "u32",
            Value::I32(_) => "i32",
            Value::F32(_) => "f32",
            Value::Bool(_) => "bool",
            Value::String(_) => "string",
            Value::Array(array) => array.type_name(),
            Value::U64(_) => "u64",
            Value::I64(_) => "i64",
            Value::F64(_) => "f64",
        }
    }

    /// The value as an integer, if its type is one.
    pub fn integer(&self) -> Option<i128> {
        match self {
            Value::U8(v) => Some((*v).into()),
            Value::I8(v) => Some((*v).into()),
            Value::U16(v) => Some((*v).into()),
            Value::I16(v) => Some((*v).into()),
            Value::U32(v) => Some((*v).into()),
            Value::I32(v) => Some((*v).into()),
            Value::U64(v) => Some((*v).into()),
            Value::I64(v) => Some((*v).into()),
            Value::F32(_) | Value::F64(_) | Value::Bool(_) | Value::String(_) | Value::Array(_) => {
                None
            }
        }
    }

    pub(super) fn read(cursor: &mut Cursor<'_>, key: &str) -> Result<Value, Error> {
        let what: &dyn Display = &key;
        Ok(match cursor.u32(&format_args!("type of {key}"))? {
            U8 => Value::U8(u8::from_le_bytes(cursor.number(what)?)),
            I8 => Value::I8(i8::from_le_bytes(cursor.number(what)?)),
            U16 => Value::U16(u16::from_le_bytes(cursor.number(what)?)),
            I16 => Value::I16(i16::from_le_bytes(cursor.number(what)?)),
            U32 => Value::U32(u32::from_le_bytes(cursor.number(what)?)),
            I32 => Value::I32(i32::from_le_bytes(cursor.number(what)?)),
            F32 => Value::F32(f32::from_le_bytes(cursor.number(what)?)),
            BOOL => Value::Bool(truth(cursor.number::<1>(what)?[0], what)?),
            STRING => Value::String(cursor.string(what)?),
            ARRAY => Value::Array(Array::read(cursor, key, 1)?),
            U64 => Value::U64(u64::from_le_bytes(cursor.number(what)?)),
            I64 => Value::I64(i64::from_le_bytes(cursor.number(what)?)),
            F64 => Value::F64(f64::from_le_bytes(cursor.number(what)?)),
            found => {
                return Err(Error::ValueType {
                    key: key.to_owned(),
                    found,
                });
            }
        })
    }

    /// Appends the type and the value.
    pub(super) fn write(&self, key: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        let id = match self {
            Value::U8(_) => U8,
            Value::I8(_) => I8,
            Value::U16(_) => U16,
            Value::I16(_) => I16,
            Value::U32(_) => U32,
            Value::I32(_) => I32,
            Value::F32(_) => F32,
            Value::Bool(_) => BOOL,
            Value::String(_) => STRING,
            Value::Array(_) => ARRAY,
            Value::U64(_) => U64,
            Value::I64(_) => I64,
            Value::F64(_) => F64,
        };
        out.extend(id.to_le_bytes());
        match self {
            Value::U8(v) => out.extend(v.to_le_bytes()),
            Value::I8(v) => out.extend(v.to_le_bytes()),
            Value::U16(v) => out.extend(v.to_le_bytes()),
            Value::I16(v) => out.extend(v.to_le_bytes()),
            Value::U32(v) => out.extend(v.to_le_bytes()),
            Value::I32(v) => out.extend(v.to_le_bytes()),
            Value::F32(v) => out.extend(v.to_le_bytes()),
            Value::Bool(v) => out.push(u8::from(*v)),
            Value::String(v) => write_string(v, out),
            Value::Array(v) => v.write(key, out, 1)?,
            Value::U64(v) => out.extend(v.to_le_bytes()),
            Value::I64(v) => out.extend(v.to_le_bytes()),
            Value::F64(v) => out.extend(v.to_le_bytes()),
        }
        Ok(())
    }
}

impl Array {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Array::U8(v) => v.len(),
            Array::I8(v) => v.len(),
            Array::U16(v) => v.len(),
            Array::I16(v) => v.len(),
            Array::U32(v) => v.len(),
            Array::I32(v) => v.len(),
            Array::F32(v) => v.len(),
            Array::Bool(v) => v.len(),
            Array::String(v) => v.len(),
            Array::Array(v) => v.len(),
            Array::U64(v) => v.len(),
            Array::I64(v) => v.len(),
            Array::F64(v) => v.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the type, such as `array of i32`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Array::U8(_) => "array of u8",
            Array::I8(_) => "array of i8",
            Array::U16(_) => "array of u16",
            Array::I16(_) => "array of i16",
            Array::U32(_) => "array of u32",
            Array::I32(_) => "array of i32",
            Array::F32(_) => "array of f32",
            Array::Bool(_) => "array of bool",
            Array::String(_) => "array of string",
            Array::Array(_) => "array of array",
            Array::U64(_) => "array of u64",
            Array::I64(_) => "array of i64",
            Array::F64(_) => "array of f64",
        }
    }

    fn read(cursor: &mut Cursor<'_>, key: &str, depth: u32) -> Result<Array, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Depth {
                key: key.to_owned(),
                limit: MAX_DEPTH,
            });
        }
        let what: &dyn Display = &key;
        let id = cursor.u32(&format_args!("element type of {key}"))?;
        let n = cursor.u64(&format_args!("length of {key}"))?;
        Ok(match id {
            U8 => Array::U8(cursor.numbers(n, what, u8::from_le_bytes)?),
            I8 => Array::I8(cursor.numbers(n, what, i8::from_le_bytes)?),
            U16 => Array::U16(cursor.numbers(n, what, u16::from_le_bytes)?),
            I16 => Array::I16(cursor.numbers(n, what, i16::from_le_bytes)?),
            U32 => Array::U32(cursor.numbers(n, what, u32::from_le_bytes)?),
            I32 => Array::I32(cursor.numbers(n, what, i32::from_le_bytes)?),
            F32 => Array::F32(cursor.numbers(n, what, f32::from_le_bytes)?),
            U64 => Array::U64(cursor.numbers(n, what, u64::from_le_bytes)?),
            I64 => Array::I64(cursor.numbers(n, what, i64::from_le_bytes)?),
            F64 => Array::F64(cursor.numbers(n, what, f64::from_le_bytes)?),
            BOOL => {
                let bytes = cursor.take(n, what)?;
                let read = |(i, byte): (usize, &u8)| truth(*byte, &format_args!("{key}[{i}]"));
                Array::Bool(
                    bytes
                        .iter()
                        .enumerate()
                        .map(read)
                        .collect::<Result<_, _>>()?,
                )
            }
            STRING => {
                // A string has at least its length.
                let n = cursor.require(n, 8, what)?;
                let mut strings = Vec::with_capacity(n);
                for i in 0..n {
                    strings.push(cursor.string(&format_args!("{key}[{i}]"))?);
                }
                Array::String(strings)
            }
            ARRAY => {
                // An array has at least its element type and its length.
                let n = cursor.require(n, 12, what)?;
                let mut arrays = Vec::with_capacity(n);
                for _ in 0..n {
                    arrays.push(Array::read(cursor, key, depth + 1)?);
                }
                Array::Array(arrays)
            }
            found => {
                return Err(Error::ValueType {
                    key: key.to_owned(),
                    found,
                });
            }
        })
    }

    fn write(&self, key: &str, out: &mut Vec<u8>, depth: u32) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Depth {
                key: key.to_owned(),
                limit: MAX_DEPTH,
            });
        }
        let id = match self {
            Array::U8(_) => U8,
            Array::I8(_) => I8,
            Array::U16(_) => U16,
            Array::I16(_) => I16,
            Array::U32(_) => U32,
            Array::I32(_) => I32,
            Array::F32(_) => F32,
            Array::Bool(_) => BOOL,
            Array::String(_) => STRING,
            Array::Array(_) => ARRAY,
            Array::U64(_) => U64,
            Array::I64(_) => I64,
            Array::F64(_) => F64,
        };
        out.extend(id.to_le_bytes());
        out.extend((self.len() as u64).to_le_bytes());
        match self {
            Array::U8(v) => out.extend(v),
            Array::I8(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::U16(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::I16(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::U32(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::I32(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::F32(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::Bool(v) => out.extend(v.iter().map(|v| u8::from(*v))),
            Array::String(v) => v.iter().for_each(|v| write_string(v, out)),
            Array::Array(v) => {
                for array in v {
                    array.write(key, out, depth + 1)?;
                }
            }
            Array::U64(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::I64(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
            Array::F64(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        }
        Ok(())
    }
}

pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn truth(byte: u8, what: &dyn Display) -> Result<bool, Error> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(Error::Bool {
            what: what.to_string(),
            found,
        }),
    }
}

macro_rules! value_from {
    ($($from:ty => |$v:ident| $value:expr;)*) => {$(
        impl From<$from> for Value {
            fn from($v: $from) -> Value {
                $value
            }
        }
    )*};
}

value_from! {
    u32 => |v| Value::U32(v);
    u64 => |v| Value::U64(v);
    f32 => |v| Value::F32(v);
    bool => |v| Value::Bool(v);
    &str => |v| Value::String(v.to_owned());
    String => |v| Value::String(v);
    Vec<i32> => |v| Value::Array(Array::I32(v));
    Vec<f32> => |v| Value::Array(Array::F32(v));
    Vec<String> => |v| Value::Array(Array::String(v));
}
