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

/// Widths are bounded here, as the engine's fuel is charged only for the finished text.
fn check_widths(format: &str) -> Result<(), Error> {
    let runs = format.split(|c: char| !c.is_ascii_digit());
    if runs.map(str::len).max().unwrap_or(0) > MAX_WIDTH_DIGITS {
        return Err(wrong(format!(
            "format: a number of over {MAX_WIDTH_DIGITS} digits"
        )));
    }
    Ok(())
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
    check_widths(format)?;
    let fields = fields(format);
    // A mapping or a list may have what no field names, as anything with keys or positions may in Python.
    let open = matches!(right.kind(), ValueKind::Map | ValueKind::Seq) && !right.is_tuple();
    let mut given: Vec<Value> = match right.is_tuple() {
        true => right.try_iter()?.collect(),
        false => vec![right],
    };
    let keyed = fields.iter().any(Field::is_keyed);
    if !keyed {
        if given.len() > fields.len() && !open {
            return Err(wrong(
                "not all arguments converted during string formatting".to_owned(),
            ));
        }
        for (field, value) in fields.iter().zip(&mut given) {
            if *field == Field::Next('d') {
                *value = whole(value)?;
            }
        }
    } else if let [values] = &given[..] {
        // The same number may be wanted whole and not.
        for field in &fields {
            let Field::Key(key, 'd') = field else {
                continue;
            };
            let value = values.get_attr(key)?;
            if value.is_number() && !value.is_integer() {
                return Err(wrong(format!(
                    "format: `{key}` is {value}, expected a whole number"
                )));
            }
        }
    }
    let mut args = vec![left.clone()];
    args.append(&mut given);
    state.apply_filter("format", &args)
}

/// A field of a format, with its type: `d` for all of whole numbers, `*` for a width.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    /// It takes the next value.
    Next(char),
    /// It names its value.
    Key(String, char),
}

impl Field {
    fn is_keyed(&self) -> bool {
        matches!(self, Field::Key(..))
    }
}

/// The fields of `%[(key)][flags][width][.precision][length]type`, in the order that they take values.
fn fields(format: &str) -> Vec<Field> {
    let mut out = Vec::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            continue;
        }
        let key: Option<String> = rest
            .next_if_eq(&'(')
            .map(|_| rest.by_ref().take_while(|c| *c != ')').collect());
        for c in rest.by_ref() {
            match c {
                '*' => out.push(Field::Next('*')),
                '-' | '+' | ' ' | '#' | '.' | 'h' | 'l' | 'L' | '0'..='9' => {}
                '%' => break,
                other => {
                    let ty = if matches!(other, 'i' | 'u') {
                        'd'
                    } else {
                        other
                    };
                    out.push(match key {
                        Some(key) => Field::Key(key, ty),
                        None => Field::Next(ty),
                    });
                    break;
                }
            }
        }
    }
    out
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
