//! Python's methods, and its formatting by `%`.

use minijinja::{Error, ErrorKind, State, Value, context, value::ValueKind};
use minijinja_contrib::pycompat::unknown_method_callback;

/// Digits of a width or precision in a format.
const MAX_WIDTH_DIGITS: usize = 4;

/// The longest text that a method makes longer.
const MAX_LEN: usize = 1 << 20;

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The error of a width or precision that is bounded here, as the engine's fuel is charged only for the finished text.
fn too_wide() -> Error {
    wrong(format!(
        "format: a number of over {MAX_WIDTH_DIGITS} digits"
    ))
}

/// Refuses long numbers in the fields of `str.format`.
fn check_widths(format: &str) -> Result<(), Error> {
    let fields = format.split('{').skip(1);
    let mut runs = fields.flat_map(|field| {
        let field = field.split('}').next().unwrap_or("");
        field.split(|c: char| !c.is_ascii_digit())
    });
    match runs.any(|run| run.len() > MAX_WIDTH_DIGITS) {
        true => Err(too_wide()),
        false => Ok(()),
    }
}

/// `value.name(args)`.
pub(super) fn call(
    state: &mut State,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return unknown_method_callback(state, value, name, args);
    };
    let given: Vec<Option<&str>> = args.iter().map(Value::as_str).collect();
    let pieces =
        |parts: &[&str]| Value::from(parts.iter().copied().map(Value::from).collect::<Vec<_>>());
    Ok(match (name, &given[..]) {
        ("format", _) => {
            check_widths(text)?;
            return unknown_method_callback(state, value, name, args);
        }
        ("removeprefix", [Some(prefix)]) => text.strip_prefix(prefix).unwrap_or(text).into(),
        ("removesuffix", [Some(suffix)]) => text.strip_suffix(suffix).unwrap_or(text).into(),
        ("partition", [Some(by)]) if !by.is_empty() => match text.split_once(by) {
            Some((before, after)) => pieces(&[before, by, after]),
            None => pieces(&[text, "", ""]),
        },
        ("rpartition", [Some(by)]) if !by.is_empty() => match text.rsplit_once(by) {
            Some((before, after)) => pieces(&[before, by, after]),
            None => pieces(&["", "", text]),
        },
        ("rsplit", [Some(by), most @ ..]) if !by.is_empty() && most.len() <= 1 => {
            let most = match args.get(1) {
                Some(most) => i64::try_from(most.clone())?,
                None => -1,
            };
            let mut parts: Vec<&str> = match usize::try_from(most) {
                Ok(most) => text.rsplitn(most.saturating_add(1), by).collect(),
                Err(_) => text.rsplit(by).collect(),
            };
            parts.reverse();
            state.consume_fuel(parts.len() as u64)?;
            pieces(&parts)
        }
        ("zfill" | "ljust" | "rjust" | "center", [None, fill @ ..]) if fill.len() <= 1 => {
            let width = usize::try_from(i64::try_from(args[0].clone())?.max(0)).unwrap_or(0);
            if width > MAX_LEN {
                return Err(wrong(format!("{name}: a width over {MAX_LEN}")));
            }
            let fill = fill.first().copied().flatten().unwrap_or(" ");
            if fill.chars().count() != 1 {
                return Err(wrong(format!("{name}: the fill is not one character")));
            }
            state.consume_fuel(width as u64 / 16)?;
            justified(text, name, width, fill).into()
        }
        ("swapcase" | "casefold" | "encode" | "translate", _) => {
            return Err(wrong(format!("{name}: this method of texts is not known")));
        }
        _ => return unknown_method_callback(state, value, name, args),
    })
}

/// `text` in `width` characters, as the method `name` fills it up.
fn justified(text: &str, name: &str, width: usize, fill: &str) -> String {
    let missing = width.saturating_sub(text.chars().count());
    match name {
        "ljust" => text.to_owned() + &fill.repeat(missing),
        "rjust" => fill.repeat(missing) + text,
        "center" => {
            // Python's: the odd one goes to the left of an odd width.
            let left = missing / 2 + (missing & width & 1);
            fill.repeat(left) + text + &fill.repeat(missing - left)
        }
        _ => {
            let (sign, digits) = match text.strip_prefix(['-', '+']) {
                Some(digits) => text.split_at(text.len() - digits.len()),
                None => ("", text),
            };
            format!("{sign}{}{digits}", "0".repeat(missing))
        }
    }
}

/// `left % right`: the rest of a division, or a text whose fields are filled.
pub(super) fn percent(state: &mut State, left: &Value, right: Value) -> Result<Value, Error> {
    let Some(format) = left.as_str() else {
        let rest = state.env().compile_expression("left % right")?;
        return rest.eval(context! { left, right });
    };
    let Format { bare, fields } = Format::new(format)?;
    let keyed = fields.iter().any(|field| field.key.is_some());
    let given: Vec<Value> = match keyed {
        true => by_key(&fields, &right)?,
        false => {
            // A mapping or a list may have what no field takes, as anything with keys or positions may in Python.
            let open = matches!(right.kind(), ValueKind::Map | ValueKind::Seq) && !right.is_tuple();
            let given: Vec<Value> = match right.is_tuple() {
                true => right.try_iter()?.collect(),
                false => vec![right],
            };
            if given.len() > fields.len() && !open {
                return Err(wrong(
                    "not all arguments converted during string formatting".to_owned(),
                ));
            }
            given
        }
    };
    let mut args = vec![match left.is_safe() {
        true => Value::from_safe_string(bare),
        false => bare.into(),
    }];
    for (at, value) in given.into_iter().enumerate() {
        args.push(match fields.get(at) {
            Some(field) if field.ty == 'd' => whole(&value)?,
            Some(_) | None => value,
        });
    }
    state.apply_filter("format", &args)
}

/// The values of fields of which some name theirs; the first one may take the mapping itself.
fn by_key(fields: &[Field], values: &Value) -> Result<Vec<Value>, Error> {
    if values.kind() != ValueKind::Map {
        return Err(wrong("format requires a mapping".to_owned()));
    }
    let value = |(at, field): (usize, &Field)| match &field.key {
        Some(key) => match values.get_attr(key)? {
            value if value.is_undefined() => Err(wrong(format!("format: no `{key}` is given"))),
            value => Ok(value),
        },
        None if at == 0 => Ok(values.clone()),
        None => Err(wrong("not enough arguments for format string".to_owned())),
    };
    fields.iter().enumerate().map(value).collect()
}

/// A field of a format.
struct Field {
    /// The name of its value; without one it takes the next.
    key: Option<String>,
    /// Its type: `d` for all of whole numbers, `*` for a width.
    ty: char,
}

/// A format of fields `%[(key)][flags][width][.precision][length]type`.
struct Format {
    /// The format without keys.
    bare: String,
    /// The fields in the order that they take values.
    fields: Vec<Field>,
}

impl Format {
    fn new(format: &str) -> Result<Format, Error> {
        let (mut bare, mut fields) = (String::new(), Vec::new());
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            bare.push(c);
            if c != '%' {
                continue;
            }
            let key = rest.next_if_eq(&'(').map(|_| key(&mut rest)).transpose()?;
            let mut digits = 0;
            for c in rest.by_ref() {
                bare.push(c);
                digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
                if digits > MAX_WIDTH_DIGITS {
                    return Err(too_wide());
                }
                let ty = match c {
                    '*' => {
                        fields.push(Field { key: None, ty: c });
                        continue;
                    }
                    '-' | '+' | ' ' | '#' | '.' | 'h' | 'l' | 'L' | '0'..='9' => continue,
                    '%' if key.is_none() => break,
                    '%' => return Err(wrong("format: `%` takes no value".to_owned())),
                    'i' | 'u' => 'd',
                    other => other,
                };
                fields.push(Field { key, ty });
                break;
            }
        }
        Ok(Format { bare, fields })
    }
}

/// The key whose parenthesis was just opened; it may hold others.
fn key(rest: &mut impl Iterator<Item = char>) -> Result<String, Error> {
    let (mut key, mut depth) = (String::new(), 1);
    for c in rest {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(key);
        }
        key.push(c);
    }
    Err(wrong("incomplete format key".to_owned()))
}

/// A number without what stands behind its point.
fn whole(value: &Value) -> Result<Value, Error> {
    if !value.is_number() || value.is_integer() {
        return Ok(value.clone());
    }
    let number = f64::try_from(value.clone())?.trunc();
    // Beyond, Python has digits that a double does not tell.
    match number.abs() < 1e18 {
        true => Ok(Value::from(number as i64)),
        false => Err(wrong(format!("format: {value} is no whole number"))),
    }
}
