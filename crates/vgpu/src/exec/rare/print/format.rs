//! Formats of C (ISO C17, 7.21.6.1), as far as device code has them: no `%n`, no wide characters.

/// Memory that is read byte by byte.
pub(super) trait Source {
    /// What a bad address gives.
    type Error;
    /// The byte at an address.
    fn byte(&mut self, address: u64) -> Result<u8, Self::Error>;
}

/// The most bytes of a format, or of a string.
const LONGEST: usize = 1 << 16;
/// The widest field, and the most digits.
const WIDEST: usize = 4096;

/// The text of a call, and what it returns: the number of its arguments, or -1 without a format.
pub(super) fn formatted<S: Source>(
    source: &mut S,
    format: u64,
    arguments: u64,
) -> Result<(Vec<u8>, i32), S::Error> {
    if format == 0 {
        return Ok((Vec::new(), -1));
    }
    let format = string(source, format, LONGEST)?;
    let mut arguments = Arguments {
        source,
        at: arguments,
        count: 0,
    };
    let mut out = Vec::new();
    let mut rest = &format[..];
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = tail;
            continue;
        }
        let (field, tail) = Field::read(tail, &mut arguments)?;
        match field {
            Some(field) => field.write(&mut arguments, &mut out)?,
            // What is no conversion stands for itself.
            None => out.extend_from_slice(&rest[..rest.len() - tail.len()]),
        }
        rest = tail;
    }
    Ok((out, arguments.count))
}

fn string<S: Source>(source: &mut S, at: u64, most: usize) -> Result<Vec<u8>, S::Error> {
    let mut text = Vec::new();
    while text.len() < most {
        match source.byte(at.wrapping_add(text.len() as u64))? {
            0 => break,
            byte => text.push(byte),
        }
    }
    Ok(text)
}

/// The arguments that are left.
struct Arguments<'s, S> {
    source: &'s mut S,
    at: u64,
    count: i32,
}

impl<S: Source> Arguments<'_, S> {
    fn next(&mut self, bytes: u64) -> Result<u64, S::Error> {
        let start = self.at.next_multiple_of(bytes);
        let mut value = 0;
        for byte in 0..bytes {
            let read = self.source.byte(start.wrapping_add(byte))?;
            value |= u64::from(read) << (8 * byte);
        }
        self.at = start.wrapping_add(bytes);
        self.count += 1;
        Ok(value)
    }

    fn int(&mut self) -> Result<i32, S::Error> {
        Ok(self.next(4)? as u32 as i32)
    }
}

/// One conversion.
#[derive(Clone, Copy, Default)]
struct Field {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    conversion: u8,
}

impl Field {
    /// The conversion that begins behind `%`, and what follows it.
    fn read<'t, S: Source>(
        mut text: &'t [u8],
        arguments: &mut Arguments<'_, S>,
    ) -> Result<(Option<Field>, &'t [u8]), S::Error> {
        let mut field = Field::default();
        while let Some((&byte, tail)) = text.split_first() {
            match byte {
                b'-' => field.left = true,
                b'+' => field.plus = true,
                b' ' => field.space = true,
                b'#' => field.alternate = true,
                b'0' => field.zero = true,
                _ => break,
            }
            text = tail;
        }
        if let [b'*', tail @ ..] = text {
            let width = arguments.int()?;
            field.left |= width < 0;
            field.width = (width.unsigned_abs() as usize).min(WIDEST);
            text = tail;
        } else {
            field.width = number(&mut text);
        }
        if let [b'.', tail @ ..] = text {
            text = tail;
            if let [b'*', tail @ ..] = text {
                field.precision = usize::try_from(arguments.int()?).ok();
                text = tail;
            } else {
                field.precision = Some(number(&mut text));
            }
            field.precision = field.precision.map(|digits| digits.min(WIDEST));
        }
        while let Some((&byte, tail)) = text.split_first() {
            match byte {
                b'l' | b'j' | b'z' | b't' => field.long = true,
                b'h' | b'L' => {}
                _ => break,
            }
            text = tail;
        }
        let Some((&conversion, tail)) = text.split_first() else {
            return Ok((None, text));
        };
        field.conversion = conversion;
        let known = b"diuoxXcspfFeEgGaA%".contains(&conversion);
        Ok((known.then_some(field), tail))
    }

    fn write<S: Source>(
        self,
        arguments: &mut Arguments<'_, S>,
        out: &mut Vec<u8>,
    ) -> Result<(), S::Error> {
        match self.conversion {
            b'%' => out.push(b'%'),
            b'c' => {
                let byte = arguments.int()? as u8;
                self.pad("", &[byte], false, out);
            }
            b's' => {
                let at = arguments.next(8)?;
                let most = self.precision.unwrap_or(LONGEST);
                let text = match at {
                    0 => b"(null)".to_vec(),
                    at => string(arguments.source, at, most)?,
                };
                self.pad("", &text, false, out);
            }
            b'p' => match arguments.next(8)? {
                0 => self.pad("", b"(nil)", false, out),
                at => self.pad("0x", format!("{at:x}").as_bytes(), false, out),
            },
            b'd' | b'i' => {
                let value = match self.long {
                    true => arguments.next(8)? as i64,
                    false => i64::from(arguments.int()?),
                };
                let digits = self.digits(value.unsigned_abs().to_string(), value == 0);
                let sign = self.sign(value < 0);
                self.pad(sign, digits.as_bytes(), self.precision.is_none(), out);
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = arguments.next(if self.long { 8 } else { 4 })?;
                let (digits, prefix) = match self.conversion {
                    b'o' => (format!("{value:o}"), ""),
                    b'x' => (format!("{value:x}"), "0x"),
                    b'X' => (format!("{value:X}"), "0X"),
                    _ => (value.to_string(), ""),
                };
                let mut digits = self.digits(digits, value == 0);
                let octal = self.alternate && self.conversion == b'o';
                if octal && !digits.starts_with('0') {
                    digits.insert(0, '0');
                }
                let marked = self.alternate && value != 0;
                let prefix = if marked { prefix } else { "" };
                self.pad(prefix, digits.as_bytes(), self.precision.is_none(), out);
            }
            _ => self.float(f64::from_bits(arguments.next(8)?), out),
        }
        Ok(())
    }

    /// At least as many digits as the precision says; of zero with a precision of 0 none.
    fn digits(self, digits: String, is_zero: bool) -> String {
        match self.precision {
            Some(0) if is_zero => String::new(),
            Some(least) if digits.len() < least => "0".repeat(least - digits.len()) + &digits,
            Some(_) | None => digits,
        }
    }

    fn sign(self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    fn float(self, value: f64, out: &mut Vec<u8>) {
        let upper = self.conversion.is_ascii_uppercase();
        let sign = self.sign(value.is_sign_negative());
        let size = value.abs();
        if !size.is_finite() {
            let text = match (size.is_nan(), upper) {
                (true, false) => "nan",
                (true, true) => "NAN",
                (false, false) => "inf",
                (false, true) => "INF",
            };
            return self.pad(sign, text.as_bytes(), false, out);
        }
        let precision = self.precision.unwrap_or(6);
        let kind = self.conversion.to_ascii_lowercase();
        let mut text = match kind {
            b'f' => self.fixed(size, precision),
            b'e' => self.scientific(size, precision),
            b'g' => self.shorter(size, precision),
            _ => hexadecimal(size, self.precision, self.alternate),
        };
        if upper {
            text.make_ascii_uppercase();
        }
        // The zeros stand behind the sign, and behind `0x`.
        match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) if kind == b'a' => {
                let prefix = format!("{sign}{}", &text[..2]);
                self.pad(&prefix, digits.as_bytes(), true, out);
            }
            _ => self.pad(sign, text.as_bytes(), true, out),
        }
    }

    fn fixed(self, size: f64, precision: usize) -> String {
        let point = if self.alternate && precision == 0 {
            "."
        } else {
            ""
        };
        format!("{size:.precision$}{point}")
    }

    fn scientific(self, size: f64, precision: usize) -> String {
        let text = format!("{size:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let point = if self.alternate && precision == 0 {
            "."
        } else {
            ""
        };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}{point}e{sign}{:02}", exponent.unsigned_abs())
    }

    fn shorter(self, size: f64, precision: usize) -> String {
        let precision = precision.max(1);
        let rounded = format!("{size:.*e}", precision - 1);
        let exponent = rounded
            .split_once('e')
            .map_or("0", |(_, exponent)| exponent);
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let fixed = (-4..precision as i64).contains(&exponent);
        let text = if fixed {
            self.fixed(size, (precision as i64 - 1 - exponent) as usize)
        } else {
            self.scientific(size, precision - 1)
        };
        if self.alternate {
            return text;
        }
        // Zeros at the end of the fraction say nothing.
        let (digits, exponent) = match text.split_once('e') {
            Some((digits, exponent)) => (digits, Some(exponent)),
            None => (&text[..], None),
        };
        let digits = match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => digits,
        };
        match exponent {
            Some(exponent) => format!("{digits}e{exponent}"),
            None => digits.to_owned(),
        }
    }

    /// Fills the field: with zeros behind the prefix if it is a number that may have them, else with spaces.
    fn pad(self, prefix: &str, text: &[u8], number: bool, out: &mut Vec<u8>) {
        let room = self.width.saturating_sub(prefix.len() + text.len());
        let zeros = if self.zero && number && !self.left {
            room
        } else {
            0
        };
        let spaces = room - zeros;
        let before = if self.left { 0 } else { spaces };
        out.extend(std::iter::repeat_n(b' ', before));
        out.extend_from_slice(prefix.as_bytes());
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend_from_slice(text);
        out.extend(std::iter::repeat_n(b' ', spaces - before));
    }
}

/// A number at the start of a text, which is then behind it.
fn number(text: &mut &[u8]) -> usize {
    let mut value = 0usize;
    while let [digit @ b'0'..=b'9', tail @ ..] = *text {
        value = (value * 10 + usize::from(digit - b'0')).min(WIDEST);
        *text = tail;
    }
    value
}

/// `0x1.8p+1`: all digits that are not zero, or as many as asked for, the last rounded to even.
fn hexadecimal(size: f64, precision: Option<usize>, point: bool) -> String {
    const DIGITS: usize = 13;
    let bits = size.to_bits();
    let (stored, fraction) = (bits >> 52 & 0x7FF, bits & ((1 << 52) - 1));
    let (mut whole, exponent) = match (stored, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, stored as i64 - 1023),
    };
    let mut fraction = fraction;
    if let Some(digits) = precision.filter(|digits| *digits < DIGITS) {
        let cut = 4 * (DIGITS - digits) as u32;
        let all = whole << 52 | fraction;
        let (kept, rest) = (all >> cut, all & ((1 << cut) - 1));
        let half = 1u64 << (cut - 1);
        let up = rest > half || rest == half && kept & 1 != 0;
        let rounded = (kept + u64::from(up)) << cut;
        whole = rounded >> 52;
        fraction = rounded & ((1 << 52) - 1);
    }
    let mut digits = format!("{fraction:013x}");
    match precision {
        Some(wanted) if wanted < DIGITS => digits.truncate(wanted),
        Some(wanted) => digits.push_str(&"0".repeat(wanted - DIGITS)),
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if point || !digits.is_empty() { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{whole:x}{point}{digits}p{sign}{}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that holds what a test put there.
    struct Bytes(Vec<u8>);

    impl Source for Bytes {
        type Error = u64;

        fn byte(&mut self, address: u64) -> Result<u8, u64> {
            self.0.get(address as usize).copied().ok_or(address)
        }
    }

    enum Arg {
        Int(i32),
        Long(i64),
        Float(f64),
        Text(&'static str),
    }

    use Arg::{Float, Int, Long, Text};

    fn print(format: &str, arguments: &[Arg]) -> Result<(String, i32), u64> {
        let mut memory = vec![0xFF; 8];
        let mut put = |text: &str| {
            let at = memory.len() as u64;
            memory.extend_from_slice(text.as_bytes());
            memory.push(0);
            at
        };
        let at = put(format);
        let mut packed = Vec::new();
        for argument in arguments {
            let (bytes, value) = match argument {
                Int(value) => (4, i64::from(*value)),
                Long(value) => (8, *value),
                Float(value) => (8, value.to_bits() as i64),
                Text(text) => (8, put(text) as i64),
            };
            packed.resize(packed.len().next_multiple_of(bytes), 0);
            packed.extend_from_slice(&value.to_le_bytes()[..bytes]);
        }
        memory.resize(memory.len().next_multiple_of(8), 0xFF);
        let start = memory.len() as u64;
        memory.extend_from_slice(&packed);
        let (text, count) = formatted(&mut Bytes(memory), at, start)?;
        Ok((String::from_utf8_lossy(&text).into_owned(), count))
    }

    /// What glibc's printf prints.
    #[test]
    fn formats_are_those_of_c() {
        let cases: &[(&str, &[Arg], &str)] = &[
            ("plain 100%%", &[], "plain 100%"),
            ("%d %i %u", &[Int(-5), Int(7), Int(-1)], "-5 7 4294967295"),
            (
                "[%5d|%-5d|%05d|%+d|% d]",
                &[Int(42), Int(42), Int(-42), Int(42), Int(42)],
                "[   42|42   |-0042|+42| 42]",
            ),
            (
                "[%.3d|%8.3d|%.0d]",
                &[Int(7), Int(-7), Int(0)],
                "[007|    -007|]",
            ),
            (
                "%x %X %#x %#o %o",
                &[Int(255), Int(255), Int(255), Int(8), Int(8)],
                "ff FF 0xff 010 10",
            ),
            (
                "%#x %08x %#08x",
                &[Int(0), Int(0x1234), Int(0x12)],
                "0 00001234 0x000012",
            ),
            (
                "%d %lld %d %lu",
                &[Int(1), Long(-1 << 40), Int(2), Long(-1)],
                "1 -1099511627776 2 18446744073709551615",
            ),
            (
                "%f %.2f %.0f %#.0f",
                &[Float(1.5), Float(-2.675), Float(2.5), Float(3.0)],
                "1.500000 -2.67 2 3.",
            ),
            (
                "%e %.0e %E",
                &[Float(12345.678), Float(0.5), Float(1e-100)],
                "1.234568e+04 5e-01 1.000000E-100",
            ),
            (
                "%g %g %g %g",
                &[Float(0.0001), Float(0.00001), Float(1e6), Float(123456.0)],
                "0.0001 1e-05 1e+06 123456",
            ),
            (
                "%g %.3g %#g %G",
                &[Float(0.0), Float(6.28349), Float(1.0), Float(1e-10)],
                "0 6.28 1.00000 1E-10",
            ),
            (
                "%a %a %.1a %A",
                &[Float(1.0), Float(3.0), Float(1.97), Float(0.5)],
                "0x1p+0 0x1.8p+1 0x2.0p+0 0X1P-1",
            ),
            (
                "%f %F %5.1f|%-8.2f|%08.2f",
                &[
                    Float(f64::NAN),
                    Float(f64::INFINITY),
                    Float(9.96),
                    Float(1.0),
                    Float(-1.0),
                ],
                "nan INF  10.0|1.00    |-0001.00",
            ),
            (
                "%010f|%10f",
                &[Float(f64::NEG_INFINITY), Float(f64::NEG_INFINITY)],
                "      -inf|      -inf",
            ),
            (
                "%s, %.3s, [%6s], [%-6s]",
                &[Text("one"), Text("three"), Text("ab"), Text("ab")],
                "one, thr, [    ab], [ab    ]",
            ),
            ("%c%c", &[Int(72), Int(105)], "Hi"),
            (
                "[%*d] [%-*d] [%.*f]",
                &[Int(4), Int(1), Int(4), Int(1), Int(1), Float(0.25)],
                "[   1] [1   ] [0.2]",
            ),
            ("%p", &[Long(0xdead_beef)], "0xdeadbeef"),
            ("%s %p", &[Long(0), Long(0)], "(null) (nil)"),
            ("%hd %hhu %zu", &[Int(3), Int(4), Long(5)], "3 4 5"),
            (
                "%016a|%.20a|%a|%.0a",
                &[Float(-1.5), Float(1.1), Float(5e-324), Float(1.5)],
                "-0x00000001.8p+0|0x1.199999999999a0000000p+0|0x0.0000000000001p-1022|0x2p+0",
            ),
            (
                "%+.3e|%-12g|%012g|%#.3x",
                &[Float(1.0), Float(2.5), Float(-2.5), Int(7)],
                "+1.000e+00|2.5         |-000000002.5|0x007",
            ),
            (
                "%c|%5c|%-3c|%05c|%08s",
                &[Int(65), Int(66), Int(67), Int(65), Text("ab")],
                "A|    B|C  |    A|      ab",
            ),
            ("%#o %#.3o %#.0o", &[Int(0), Int(1), Int(0)], "0 001 0"),
            ("50%", &[], "50%"),
            ("%y %d", &[Int(3)], "%y 3"),
        ];
        for (format, arguments, want) in cases {
            let found = print(format, arguments);
            let found = found.as_ref().map(|(text, _)| text.as_str());
            assert_eq!(found, Ok(*want), "{format}");
        }
    }

    #[test]
    fn the_result_is_the_number_of_arguments_and_bad_addresses_are_told() {
        assert_eq!(
            print("%d %*d", &[Int(1), Int(2), Int(3)]).map(|(_, n)| n),
            Ok(3)
        );
        assert_eq!(formatted(&mut Bytes(vec![]), 0, 0), Ok((vec![], -1)));
        assert_eq!(formatted(&mut Bytes(vec![0; 4]), 9, 0), Err(9));
        let memory = b"....%d\0.\0\0".to_vec();
        assert_eq!(formatted(&mut Bytes(memory), 4, 8), Err(10));
    }
}
