//! Values of options: numbers in a range, times, limits that can be off.

use std::str::FromStr;

/// A limit, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit(pub(super) Option<f64>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(Limit(None));
        }
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        value
            .map(|value| Limit(Some(value)))
            .ok_or_else(|| "expected a number, or `none`".to_owned())
    }
}

pub(super) fn from_zero(text: &str) -> Result<f32, String> {
    number(text, |value| value >= 0.0, "a number from 0")
}

pub(super) fn above_zero(text: &str) -> Result<f32, String> {
    number(text, |value| value > 0.0, "a number above 0")
}

pub(super) fn share(text: &str) -> Result<f32, String> {
    let within = |value: f32| (0.0..=1.0).contains(&value);
    number(text, within, "a number from 0 to 1")
}

fn number(text: &str, fits: impl Fn(f32) -> bool, want: &str) -> Result<f32, String> {
    let value = text.parse().ok().filter(|value: &f32| value.is_finite());
    value
        .filter(|value| fits(*value))
        .ok_or_else(|| format!("expected {want}"))
}

/// A time in seconds, or in hours, minutes and seconds with colons between.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let wrong = || "expected seconds, or a time such as 1:02:03.5".to_owned();
    let parts: Vec<&str> = text.trim().split(':').collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    let mut all = 0.0;
    for (at, part) in parts.iter().enumerate() {
        let value: f64 = part.parse().map_err(|_| wrong())?;
        let plain = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if !plain || (at > 0 && value >= 60.0) {
            return Err(wrong());
        }
        all = all * 60.0 + value;
    }
    // A sound of more than a century is a slip.
    match all < 4e9 {
        true => Ok(all),
        false => Err(wrong()),
    }
}

/// A time as hours, minutes, seconds and milliseconds.
pub(super) fn clock(seconds: f64) -> String {
    let all = (seconds * 1000.0).round() as u64;
    let (hours, minutes) = (all / 3_600_000, all / 60_000 % 60);
    format!(
        "{hours}:{minutes:02}:{:02}.{:03}",
        all / 1000 % 60,
        all % 1000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_clocks() {
        for (text, want) in [
            ("0", Some(0.0)),
            ("90.5", Some(90.5)),
            ("1:30.5", Some(90.5)),
            ("1:02:03", Some(3723.0)),
            ("-1", None),
            ("1:60", None),
            ("1:2:3:4", None),
            ("", None),
            ("1e3", None),
            ("nan", None),
            ("inf", None),
            ("9999999999", None),
        ] {
            assert_eq!(seconds(text).ok(), want, "{text}");
        }
        assert_eq!(clock(3723.0415), "1:02:03.042");
    }

    #[test]
    fn limits_are_numbers_or_none() {
        assert_eq!("none".parse(), Ok(Limit(None)));
        assert_eq!("-1".parse(), Ok(Limit(Some(-1.0))));
        assert!("nan".parse::<Limit>().is_err() && "x".parse::<Limit>().is_err());
    }
}
