//! Constants and constant expressions.

use super::{Parser, Result, lex::Kind};
use crate::{diag::Code, ir::Imm};

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Signed(i64),
    Unsigned(u64),
    Imm(Imm),
    /// A decimal floating-point literal, which takes the width of its instruction.
    Real(f64),
}

impl Value {
    pub(super) fn bits(self) -> Option<u64> {
        match self {
            Value::Signed(value) => Some(value as u64),
            Value::Unsigned(value) => Some(value),
            Value::Imm(_) | Value::Real(_) => None,
        }
    }

    /// A floating-point number.
    fn real(self) -> Option<f64> {
        match self {
            Value::Real(value) => Some(value),
            Value::Imm(Imm::F32(bits)) => Some(f32::from_bits(bits).into()),
            Value::Imm(Imm::F64(bits)) => Some(f64::from_bits(bits)),
            Value::Imm(Imm::Int(_) | Imm::Uint(_)) | Value::Signed(_) | Value::Unsigned(_) => None,
        }
    }

    /// As an operand; a decimal literal becomes an `f64`.
    pub(super) fn imm(self) -> Imm {
        match self {
            Value::Signed(value) => Imm::Int(value),
            Value::Unsigned(value) => Imm::uint(value),
            Value::Imm(imm) => imm,
            Value::Real(value) => Imm::F64(value.to_bits()),
        }
    }
}

/// Why a literal is wrong.
fn literal(text: &str) -> std::result::Result<Value, Code> {
    let bad = || Code::BadNumber {
        text: shorten(text),
    };
    let overflow = || Code::NumberOverflow {
        text: shorten(text),
    };
    if let Some(inner) = text.strip_prefix('\'') {
        return character(inner).ok_or_else(bad);
    }
    let bytes = text.as_bytes();
    let hex = |digits: &str, length: usize| {
        if digits.len() != length || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        u64::from_str_radix(digits, 16).map_err(|_| bad())
    };
    if let [b'0', kind, ..] = bytes {
        match kind {
            b'f' | b'F' => return Ok(Value::Imm(Imm::F32(hex(&text[2..], 8)? as u32))),
            b'd' | b'D' => return Ok(Value::Imm(Imm::F64(hex(&text[2..], 16)?))),
            _ => {}
        }
    }
    let (digits, unsigned) = match text.strip_suffix(['U', 'u']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] if !digits.contains(['.', 'e', 'E']) => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if radix == 10 && digits.contains(['.', 'e', 'E']) && !unsigned {
        let value: f64 = digits.parse().map_err(|_| bad())?;
        if value.is_infinite() {
            return Err(overflow());
        }
        return Ok(Value::Real(value));
    }
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(bad());
    }
    let value = u64::from_str_radix(digits, radix).map_err(|_| overflow())?;
    Ok(match i64::try_from(value) {
        Ok(value) if !unsigned => Value::Signed(value),
        _ => Value::Unsigned(value),
    })
}

fn character(inner: &str) -> Option<Value> {
    let value = match inner.strip_suffix('\'')?.as_bytes() {
        [b'\\', escape] => match escape {
            b'n' => 10,
            b't' => 9,
            b'r' => 13,
            b'0' => 0,
            b'\\' | b'\'' | b'"' => *escape,
            _ => return None,
        },
        [byte] => *byte,
        _ => return None,
    };
    Some(Value::Signed(value.into()))
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Binary operators by how tightly they bind.
fn binding(text: &str) -> Option<u8> {
    Some(match text {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A constant expression.
    pub(super) fn expression(&mut self) -> Result<Value> {
        let condition = self.binary(0, 0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let span = self.here();
        let truth = condition.bits().ok_or_else(|| self.not_integer(span))? != 0;
        let yes = self.binary(0, 0)?;
        self.expect(":")?;
        let no = self.binary(0, 0)?;
        Ok(if truth { yes } else { no })
    }

    pub(super) fn not_integer(&self, span: crate::ir::Span) -> Box<crate::diag::Diagnostic> {
        let code = Code::Syntax {
            expected: "an integer",
            found: "floating-point number".to_owned(),
        };
        self.fault(code, span)
    }

    fn binary(&mut self, least: u8, depth: u32) -> Result<Value> {
        let mut left = self.unary(depth)?;
        while self.token().kind == Kind::Punct {
            let operator = self.token().text;
            let Some(tightness) = binding(operator).filter(|tightness| *tightness > least) else {
                break;
            };
            let span = self.here();
            self.advance();
            let right = self.binary(tightness, depth + 1)?;
            left = self.apply(operator, left, right, span)?;
        }
        Ok(left)
    }

    fn apply(
        &self,
        operator: &str,
        left: Value,
        right: Value,
        span: crate::ir::Span,
    ) -> Result<Value> {
        if let (Some(a), Some(b)) = (left.real(), right.real()) {
            return match operator {
                "+" => Ok(Value::Real(a + b)),
                "-" => Ok(Value::Real(a - b)),
                "*" => Ok(Value::Real(a * b)),
                "/" => Ok(Value::Real(a / b)),
                _ => Err(self.not_integer(span)),
            };
        }
        let (Some(a), Some(b)) = (left.bits(), right.bits()) else {
            return Err(self.not_integer(span));
        };
        let unsigned = matches!(left, Value::Unsigned(_)) || matches!(right, Value::Unsigned(_));
        let (sa, sb) = (a as i64, b as i64);
        let zero = || self.fault(Code::DivisionByZero, span);
        let truth = |holds: bool| Ok(Value::Signed(holds.into()));
        let bits = match operator {
            "*" => a.wrapping_mul(b),
            "/" if unsigned => a.checked_div(b).ok_or_else(zero)?,
            "/" if b == 0 => return Err(zero()),
            "/" => sa.wrapping_div(sb) as u64,
            "%" if unsigned => a.checked_rem(b).ok_or_else(zero)?,
            "%" if b == 0 => return Err(zero()),
            "%" => sa.wrapping_rem(sb) as u64,
            "+" => a.wrapping_add(b),
            "-" => a.wrapping_sub(b),
            "<<" => a.checked_shl(b.min(64) as u32).unwrap_or(0),
            ">>" if unsigned => a.checked_shr(b.min(64) as u32).unwrap_or(0),
            ">>" => (sa >> b.min(63)) as u64,
            "&" => a & b,
            "|" => a | b,
            "^" => a ^ b,
            "==" => return truth(a == b),
            "!=" => return truth(a != b),
            "<" => return truth(if unsigned { a < b } else { sa < sb }),
            "<=" => return truth(if unsigned { a <= b } else { sa <= sb }),
            ">" => return truth(if unsigned { a > b } else { sa > sb }),
            ">=" => return truth(if unsigned { a >= b } else { sa >= sb }),
            "&&" => return truth(a != 0 && b != 0),
            _ => return truth(a != 0 || b != 0),
        };
        Ok(if unsigned {
            Value::Unsigned(bits)
        } else {
            Value::Signed(bits as i64)
        })
    }

    pub(super) fn unary(&mut self, depth: u32) -> Result<Value> {
        if depth > super::DEPTH {
            let code = Code::TooDeep {
                limit: super::DEPTH,
            };
            return Err(self.fault(code, self.here()));
        }
        let span = self.here();
        let token = self.token();
        match (token.kind, token.text) {
            (Kind::Number, text) => {
                self.advance();
                literal(text).map_err(|code| self.fault(code, span))
            }
            (Kind::Ident, "WARP_SZ") => {
                self.advance();
                Ok(Value::Signed(32))
            }
            (Kind::Punct, "(") => {
                self.advance();
                if self.token().kind == Kind::Dot {
                    let cast = self.token().text;
                    self.advance();
                    self.expect(")")?;
                    let value = self.unary(depth + 1)?;
                    return match (cast, value.bits()) {
                        (".s64", Some(bits)) => Ok(Value::Signed(bits as i64)),
                        (".u64", Some(bits)) => Ok(Value::Unsigned(bits)),
                        _ => Err(self.not_integer(span)),
                    };
                }
                let value = self.binary(0, depth + 1)?;
                self.expect(")")?;
                Ok(value)
            }
            (Kind::Punct, operator @ ("-" | "+" | "~" | "!")) => {
                self.advance();
                let value = self.unary(depth + 1)?;
                match (operator, value) {
                    ("+", value) => Ok(value),
                    ("-", Value::Signed(value)) => Ok(Value::Signed(value.wrapping_neg())),
                    // 2^63 has no signed value, its negative has.
                    ("-", Value::Unsigned(value)) if value == 1 << 63 => {
                        Ok(Value::Signed(i64::MIN))
                    }
                    ("-", Value::Unsigned(value)) => Ok(Value::Unsigned(value.wrapping_neg())),
                    ("-", Value::Real(value)) => Ok(Value::Real(-value)),
                    ("-", Value::Imm(Imm::F32(bits))) => Ok(Value::Imm(Imm::F32(bits ^ 1 << 31))),
                    ("-", Value::Imm(Imm::F64(bits))) => Ok(Value::Imm(Imm::F64(bits ^ 1 << 63))),
                    ("~", Value::Signed(value)) => Ok(Value::Signed(!value)),
                    ("~", Value::Unsigned(value)) => Ok(Value::Unsigned(!value)),
                    ("!", value) => {
                        let bits = value.bits().ok_or_else(|| self.not_integer(span))?;
                        Ok(Value::Signed((bits == 0).into()))
                    }
                    _ => Err(self.not_integer(span)),
                }
            }
            _ => Err(self.unexpected("a constant")),
        }
    }

    /// A constant expression that must be an integer.
    pub(super) fn integer(&mut self) -> Result<i64> {
        let span = self.here();
        let value = self.expression()?;
        value
            .bits()
            .map(|bits| bits as i64)
            .ok_or_else(|| self.not_integer(span))
    }

    /// The count between `<` and `>`, where `>` is no operator.
    pub(super) fn count(&mut self) -> Result<u32> {
        let span = self.here();
        let bits = self.binary(7, 0)?.bits();
        let bits = bits.ok_or_else(|| self.not_integer(span))?;
        self.to_small(bits as i64, span)
    }

    /// A constant expression between 0 and `u32::MAX`.
    pub(super) fn small(&mut self) -> Result<u32> {
        let span = self.here();
        let value = self.integer()?;
        self.to_small(value, span)
    }

    fn to_small(&self, value: i64, span: crate::ir::Span) -> Result<u32> {
        u32::try_from(value).map_err(|_| {
            let code = Code::NumberOverflow {
                text: value.to_string(),
            };
            self.fault(code, span)
        })
    }
}
