//! `strftime` for a given moment in UTC, with the fields that templates use.

use minijinja::{Error, ErrorKind};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

const DAY: i64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar.
const EPOCH: i64 = 719_468;

/// Years outside these are moved to the nearer one.
const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

struct Moment {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    second: i64,
}

impl Moment {
    /// Years are counted from March, so that a leap day is a year's last day; 400 years are
    /// 146097 days.
    fn new(unix_seconds: i64) -> Self {
        let seconds = unix_seconds.clamp(*YEARS.start(), *YEARS.end());
        let days = seconds.div_euclid(DAY);
        let from_march = days + EPOCH;
        let era = from_march.div_euclid(146_097);
        let day_of_era = from_march.rem_euclid(146_097);
        let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leap_days) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // months from March have 31 30 31 30 31 days, over and over: 153 days in five
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12;
        Self {
            year: year_of_era + era * 400 + i64::from(month < 2),
            month: month as usize,
            day,
            // the first day of 1970 was a Thursday
            weekday: (days + 3).rem_euclid(7) as usize,
            second: seconds.rem_euclid(DAY),
        }
    }
}

/// The moment as `format` says: `%Y %y %m %d %-d %e %B %b %A %a %H %I %M %S %p %%`.
pub(super) fn strftime(format: &str, unix_seconds: i64) -> Result<String, Error> {
    let moment = Moment::new(unix_seconds);
    let (hour, minute) = (moment.second / 3600, moment.second / 60 % 60);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut field = chars.next();
        let bare = field == Some('-');
        if bare {
            field = chars.next();
        }
        let text = match field {
            Some('Y') => format!("{:04}", moment.year),
            Some('y') => number(moment.year.rem_euclid(100), bare),
            Some('m') => number(moment.month as i64 + 1, bare),
            Some('d') => number(moment.day, bare),
            Some('e') => format!("{:2}", moment.day),
            Some('B') => MONTHS[moment.month].to_owned(),
            Some('b') => MONTHS[moment.month][..3].to_owned(),
            Some('A') => WEEKDAYS[moment.weekday].to_owned(),
            Some('a') => WEEKDAYS[moment.weekday][..3].to_owned(),
            Some('H') => number(hour, bare),
            Some('I') => number((hour + 11) % 12 + 1, bare),
            Some('M') => number(minute, bare),
            Some('S') => number(moment.second % 60, bare),
            Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('%') => "%".to_owned(),
            Some(other) => return Err(unknown(format!("%{other}"))),
            None => return Err(unknown("% at the end".to_owned())),
        };
        out.push_str(&text);
    }
    Ok(out)
}

fn number(n: i64, bare: bool) -> String {
    if bare {
        n.to_string()
    } else {
        format!("{n:02}")
    }
}

fn unknown(field: String) -> Error {
    Error::new(
        ErrorKind::InvalidOperation,
        format!("strftime_now: {field} is not known"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_python_writes_them() {
        let all = "%Y-%m-%d %H:%M:%S %A %a %B %b %y %-d %e %I %p %%";
        for (seconds, want) in [
            (
                0,
                "1970-01-01 00:00:00 Thursday Thu January Jan 70 1  1 12 AM %",
            ),
            (
                951_782_400,
                "2000-02-29 00:00:00 Tuesday Tue February Feb 00 29 29 12 AM %",
            ),
            (
                1_735_689_599,
                "2024-12-31 23:59:59 Tuesday Tue December Dec 24 31 31 11 PM %",
            ),
            (
                -1,
                "1969-12-31 23:59:59 Wednesday Wed December Dec 69 31 31 11 PM %",
            ),
            (
                4_107_585_600,
                "2100-03-01 12:00:00 Monday Mon March Mar 00 1  1 12 PM %",
            ),
        ] {
            assert_eq!(strftime(all, seconds).unwrap(), want);
        }
        assert!(strftime("%Q", 0).is_err());
        assert!(strftime("%", 0).is_err());
        assert_eq!(strftime("%Y", i64::MAX).unwrap(), "9999");
        assert_eq!(strftime("%Y", i64::MIN).unwrap(), "0001");
    }
}
