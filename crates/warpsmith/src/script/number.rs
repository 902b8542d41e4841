//! Elements of buffers: their types by name, their values as numbers, and numbers as their bytes.

use half::{bf16, f16};
use serde_json::{Value, json};
use std::fmt;
use warpsmith_ptx::types::{Type, TypeKind};

/// The type of an element: PTX's names, `i32` for `s32`, and `bool`.
pub fn element(name: &str) -> Option<Type> {
    match name {
        "bool" => Some(Type::U8),
        _ => {
            let ty = match name.strip_prefix('i') {
                Some(bits) => Type::from_name(&format!("s{bits}")),
                None => Type::from_name(name),
            };
            ty.filter(|ty| ty.bits() >= 8 && ty.bits() <= 64)
        }
    }
}

/// A value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of an integer, or of bits without a meaning.
    Int(i128),
    /// Of a float.
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(value) => write!(f, "{value}"),
            Number::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl Number {
    /// As JSON: a number, or text where JSON has none.
    pub(crate) fn to_json(self) -> Value {
        match self {
            Number::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(value), _) => json!(value),
                (_, Ok(value)) => json!(value),
                _ => json!(value.to_string()),
            },
            Number::Float(value) if value.is_finite() => json!(value),
            Number::Float(value) => json!(value.to_string()),
        }
    }
}

/// The value that little-endian bytes are.
pub(super) fn value(ty: Type, bytes: &[u8]) -> Number {
    let mut raw = [0; 8];
    let len = bytes.len().min(8);
    raw[..len].copy_from_slice(&bytes[..len]);
    let bits = u64::from_le_bytes(raw);
    match ty {
        Type::F64 => Number::Float(f64::from_bits(bits)),
        Type::F32 | Type::TF32 => Number::Float(f64::from(f32::from_bits(bits as u32))),
        Type::F16 => Number::Float(f16::from_bits(bits as u16).to_f64()),
        Type::BF16 => Number::Float(bf16::from_bits(bits as u16).to_f64()),
        _ if ty.is_signed() => {
            let unused = 64 - ty.bits().min(64);
            Number::Int(i128::from((bits << unused) as i64 >> unused))
        }
        _ => Number::Int(i128::from(bits)),
    }
}

/// Whether bytes are the number that a text is: of a NaN any will do.
pub(super) fn is(ty: Type, bytes: &[u8], text: &str) -> bool {
    let Some(wanted) = encode(ty, text) else {
        return false;
    };
    let nan = |bytes: &[u8]| matches!(value(ty, bytes), Number::Float(x) if x.is_nan());
    wanted == bytes || (wanted.len() == bytes.len() && nan(&wanted) && nan(bytes))
}

/// The bytes of a number's text as a type; `None` if it is none, or does not fit.
pub fn encode(ty: Type, text: &str) -> Option<Vec<u8>> {
    let size = ty.bytes() as usize;
    let hexadecimal = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let bits = match (hexadecimal, ty) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok()?,
        (None, Type::F64) => text.parse::<f64>().ok()?.to_bits(),
        (None, Type::F32 | Type::TF32) => u64::from(text.parse::<f32>().ok()?.to_bits()),
        (None, Type::F16) => u64::from(f16::from_f64(text.parse().ok()?).to_bits()),
        (None, Type::BF16) => u64::from(bf16::from_f64(text.parse().ok()?).to_bits()),
        (None, _) => match ty.kind() {
            TypeKind::Float | TypeKind::Packed | TypeKind::Pred => return None,
            TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits => {
                let number: i128 = text.parse().ok()?;
                let least = match ty.kind() {
                    TypeKind::Unsigned => 0,
                    _ => -(1i128 << (ty.bits().min(64) - 1)),
                };
                let most = match ty.kind() {
                    TypeKind::Signed => (1i128 << (ty.bits().min(64) - 1)) - 1,
                    _ => (1i128 << ty.bits().min(64)) - 1,
                };
                if number < least || number > most {
                    return None;
                }
                number as u64
            }
        },
    };
    if size < 8 && bits >> (8 * size) != 0 && !(ty.kind() != TypeKind::Unsigned && negative(text)) {
        return None;
    }
    let bytes = bits.to_le_bytes().get(..size).map(<[u8]>::to_vec)?;
    // A number too large for its type is not infinity, unless it says so.
    let spelled = hexadecimal.is_some() || text.to_ascii_lowercase().contains("inf");
    let infinite = matches!(value(ty, &bytes), Number::Float(x) if x.is_infinite());
    (spelled || !infinite).then_some(bytes)
}

fn negative(text: &str) -> bool {
    text.starts_with('-')
}

/// The bytes of hexadecimal digits.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_bytes_and_back() {
        for (ty, text, bytes) in [
            (Type::U32, "7", &[7, 0, 0, 0][..]),
            (Type::S16, "-2", &[0xFE, 0xFF]),
            (Type::B64, "0x10", &[16, 0, 0, 0, 0, 0, 0, 0]),
            (Type::F32, "0.5", &[0, 0, 0, 0x3F]),
            (Type::F16, "-1", &[0, 0xBC]),
            (Type::BF16, "1", &[0x80, 0x3F]),
        ] {
            assert_eq!(encode(ty, text).as_deref(), Some(bytes), "{ty} {text}");
        }
        for (ty, text) in [
            (Type::F32, "1e40"),
            (Type::F64, "-1e400"),
            (Type::F16, "65520"),
            (Type::BF16, "1e39"),
        ] {
            assert_eq!(encode(ty, text), None, "{ty} {text}");
        }
        for text in ["inf", "-Infinity", "0x7F800000"] {
            assert!(encode(Type::F32, text).is_some(), "{text}");
        }
        assert_eq!(value(Type::S16, &[0xFE, 0xFF]), Number::Int(-2));
        assert_eq!(value(Type::F16, &[0, 0xBC]), Number::Float(-1.0));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (ty, text) in [
            (Type::U8, "256"),
            (Type::U8, "-1"),
            (Type::S8, "128"),
            (Type::B16, "0x10000"),
            (Type::U32, "x"),
            (Type::F32, ""),
            (Type::U32, "0x-1"),
        ] {
            assert_eq!(encode(ty, text), None, "{ty} {text}");
        }
        assert_eq!(hex("0"), None);
        assert_eq!(hex("0g"), None);
        assert_eq!(hex("äö"), None);
    }
}
