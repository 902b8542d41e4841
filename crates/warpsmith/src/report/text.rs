//! Reports as text: the line with a caret under its place, who was there, what would help.

use super::{Issue, Level, Report, Source, Spot, Status, json::verdict};
use std::fmt::{self, Write};
use warpsmith_vgpu::check::{Access, Allocation};

/// Whether text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// For a file or a pipe.
    Plain,
    /// For a terminal.
    Colours,
}

/// A colour of the terminal.
#[derive(Clone, Copy)]
enum Ink {
    Red,
    Yellow,
    Blue,
    Bold,
}

impl Paint {
    fn draw(self, ink: Ink, text: impl fmt::Display) -> String {
        let code = match ink {
            Ink::Red => "1;31",
            Ink::Yellow => "1;33",
            Ink::Blue => "1;34",
            Ink::Bold => "1",
        };
        match self {
            Paint::Plain => text.to_string(),
            Paint::Colours => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

impl Report {
    /// What kernels printed, everything that was found, and how it ended.
    pub fn to_text(&self, paint: Paint) -> String {
        self.rest_to_text(paint, &[])
    }

    /// The same where some issues were drawn before: of those only how often they were seen is said.
    pub fn rest_to_text(&self, paint: Paint, drawn: &[Issue]) -> String {
        let mut out = String::new();
        for line in self.printed.lines() {
            let parts: Vec<String> = line.split('\t').map(printable).collect();
            out.push_str(&parts.join("\t"));
            out.push('\n');
        }
        for issue in &self.issues {
            match drawn.iter().find(|known| known.is_same(issue)) {
                None => out.push_str(&self.source.draw(issue, paint)),
                Some(known) if known.count < issue.count => {
                    let line = issue.place.line.map(|line| format!(" at line {line}"));
                    put(
                        &mut out,
                        format_args!(
                            "{}{}: seen {} times\n",
                            issue.kind,
                            line.unwrap_or_default(),
                            issue.count
                        ),
                    );
                }
                Some(_) => {}
            }
        }
        for output in &self.outputs {
            if let Some(difference) = output.difference {
                let head = paint.draw(Ink::Red, "output differs");
                put(
                    &mut out,
                    format_args!(
                        "{head}: `{}`[{}] is {}, wanted {}; {} elements differ\n",
                        output.buffer,
                        difference.index,
                        difference.got,
                        difference.wanted,
                        difference.count
                    ),
                );
            }
        }
        let name = printable(&self.source.name);
        let differing = self.outputs.iter().filter(|o| o.difference.is_some());
        let found = self.issues.iter().filter(|i| i.level > Level::Note);
        let (found, differing) = (found.count(), differing.count());
        match self.status() {
            Status::Clean => put(&mut out, format_args!("{name}: clean\n")),
            Status::Findings => put(
                &mut out,
                format_args!("{name}: {found} findings, {differing} outputs differ\n"),
            ),
            Status::Unsupported | Status::Error => {
                let why = self.failure.as_ref().map(ToString::to_string);
                let why = printable(&why.unwrap_or_default());
                let status = paint.draw(Ink::Red, self.status().name());
                put(&mut out, format_args!("{name}: {status}: {why}\n"));
            }
        }
        out
    }
}

impl Source {
    /// An issue with its places.
    pub fn draw(&self, issue: &Issue, paint: Paint) -> String {
        let mut out = String::new();
        self.issue_text(&mut out, issue, paint);
        out.push('\n');
        out
    }

    fn issue_text(&self, out: &mut String, issue: &Issue, paint: Paint) {
        let (ink, word) = match issue.level {
            Level::Error => (Ink::Red, "error"),
            Level::Warning => (Ink::Yellow, "warning"),
            Level::Note => (Ink::Blue, "note"),
        };
        let head = paint.draw(ink, format_args!("{word}[{}]", issue.kind));
        let message = paint.draw(Ink::Bold, printable(&issue.message));
        put(out, format_args!("{head}: {message}\n"));
        self.spot_text(out, &issue.place, Some(issue), paint);
        if let Some(other) = &issue.other {
            put(out, format_args!("   {} the other place:\n", bar(paint)));
            self.spot_text(out, other, None, paint);
        }
        let mut fact = |name: &str, text: String| {
            let name = paint.draw(Ink::Bold, name);
            put(out, format_args!("   = {name}: {}\n", printable(&text)));
        };
        if let Some(address) = issue.address {
            let near = issue.allocation.as_ref().map(near).unwrap_or_default();
            fact("address", format!("0x{address:x}{near}"));
        }
        if issue.count > 1 {
            fact("count", issue.count.to_string());
        }
        if !issue.help.is_empty() {
            fact("help", issue.help.clone());
        }
        fact("verdict", verdict(issue).to_owned());
    }

    /// A place with its line; of an issue with its kernel.
    fn spot_text(&self, out: &mut String, spot: &Spot, issue: Option<&Issue>, paint: Paint) {
        let arrow = paint.draw(Ink::Blue, "-->");
        let name = printable(&self.name);
        let kernel = issue.map(|issue| issue.kernel.as_str());
        let kernel = kernel
            .or(spot.kernel.as_deref())
            .filter(|name| !name.is_empty());
        let kernel = kernel.map(|name| format!(" in `{}`", printable(name)));
        let kernel = kernel.unwrap_or_default();
        match (spot.line, spot.column) {
            (Some(line), column) => {
                let column = column.unwrap_or(1);
                put(
                    out,
                    format_args!("  {arrow} {name}:{line}:{column}{kernel}\n"),
                );
            }
            (None, _) => put(out, format_args!("  {arrow} {name}{kernel}\n")),
        }
        if let Some(line) = spot.line
            && let Some(text) = self.line(line)
        {
            let number = paint.draw(Ink::Blue, format_args!("{line:>5} |"));
            let start = spot.column.unwrap_or(1).max(1) as usize - 1;
            let start = text.get(..start).map_or(0, |before| before.chars().count());
            let trimmed = text.trim_end();
            let code = trimmed.split("//").next().unwrap_or(trimmed).trim_end();
            let length = code.chars().count().saturating_sub(start).clamp(1, 120);
            let caret = paint.draw(Ink::Red, format_args!("^{}", "~".repeat(length - 1)));
            let empty = paint.draw(Ink::Blue, "      |");
            let shown = printable(&trimmed.replace('\t', " "));
            put(out, format_args!("{number} {shown}\n"));
            put(out, format_args!("{empty} {}{caret}\n", " ".repeat(start)));
        }
        if let Some(origin) = &spot.origin {
            put(
                out,
                format_args!("   = from {}\n", printable(&origin.to_string())),
            );
            let (inner, outer) = spot.around();
            let inner = inner.iter().map(|one| ("code inlined there:", one));
            let outer = outer.iter().map(|one| ("inlined at", one));
            for (what, one) in inner.rev().chain(outer) {
                let one = printable(&one.to_string());
                put(out, format_args!("   = {what} {one}\n"));
            }
        }
        if let (Some([bx, by, bz]), Some([tx, ty, tz])) = (spot.block, spot.thread) {
            let access = match spot.access {
                Some(Access::Read) => ", reads",
                Some(Access::Write) => ", writes",
                Some(Access::Atomic) => ", atomic",
                None => "",
            };
            put(
                out,
                format_args!("   = CTA ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}){access}\n"),
            );
        }
    }
}

fn bar(paint: Paint) -> String {
    paint.draw(Ink::Blue, "|")
}

/// Where an address is, seen from the nearest allocation.
fn near(allocation: &Allocation) -> String {
    let name = allocation.name.as_deref().unwrap_or("an allocation");
    let of = format!(
        "{name} of {} bytes at 0x{:x}",
        allocation.bytes, allocation.start
    );
    match allocation.distance {
        0 => format!(", in {of}"),
        behind @ 1.. => format!(", {behind} bytes behind the end of {of}"),
        before => format!(", {} bytes before {of}", before.unsigned_abs()),
    }
}

fn put(out: &mut String, text: fmt::Arguments<'_>) {
    // A String takes everything.
    let _ = out.write_fmt(text);
}

/// Text from a file, with what would move a terminal's cursor escaped.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
