//! Programs as text: blocks, ops with their arguments, and what stands where in a frame.

use crate::{
    analysis::Home,
    op::{Frame, MicroOp, Program, Show, Slot, SpanId, Value},
};
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};
use warpsmith_ptx::ir::{Function, Span};

/// A program with what it was made of.
pub(crate) struct Dump<'a> {
    pub(crate) program: &'a Program,
    pub(crate) function: &'a Function,
    /// The text of its module, or nothing where there is none.
    pub(crate) text: &'a str,
    pub(crate) block: [u32; 3],
}

impl Dump<'_> {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // A string takes all that is written to it.
        self.write(&mut out).unwrap_or_default();
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let program = self.program;
        let [x, y, z] = self.block;
        writeln!(
            out,
            "kernel {}, {x} x {y} x {z} threads",
            program.subject.name
        )?;
        let runs = self.runs();
        let count = runs.len();
        writeln!(
            out,
            "blocks: {}, ops: {}, compiled runs: {count}, bytes of a frame: {}",
            program.blocks.len(),
            program.ops.len(),
            program.frame_bytes
        )?;
        let slots = self.slots();
        let frame = Frame::new(slots.iter().map(|(slot, own)| (*slot, own.letter)));
        writeln!(out, "\nslots: {LETTERS}")?;
        for (slot, own) in &slots {
            writeln!(out, "  {:<8} {}", frame.name(*slot), own.what.join(" "))?;
        }
        let firsts = program.blocks.iter().map(|block| block.first);
        let ends = firsts.skip(1).chain([program.ops.len() as u32]);
        for (number, (info, end)) in program.blocks.iter().zip(ends).enumerate() {
            let convergent = if info.convergent { ", convergent" } else { "" };
            writeln!(out, "\nblock{number}{convergent}")?;
            for (_, op) in program.gates.iter().filter(|(to, _)| *to == number as u32) {
                writeln!(out, "  behind the gate of op {op}")?;
            }
            let mut place = None;
            for at in info.first..end {
                let op = &program.ops[at as usize];
                if place != Some(op.span()) {
                    place = Some(op.span());
                    self.place(out, op.span())?;
                }
                let mark = if runs.contains(&at) { "compiled" } else { "" };
                writeln!(out, "{mark:>8} {at:>5}  {}", line(op, &frame))?;
            }
        }
        if !program.extra.is_empty() {
            writeln!(
                out,
                "\nwords: slots and numbers that ops refer to by where they begin"
            )?;
        }
        for (row, words) in program.extra.chunks(8).enumerate() {
            let words: Vec<String> = words.iter().map(u32::to_string).collect();
            writeln!(out, "  words{:<6} {}", 8 * row, words.join(" "))?;
        }
        Ok(())
    }

    /// The ops at which compiled runs begin, in order.
    fn runs(&self) -> Vec<u32> {
        let native = self.program.native.iter();
        let mut runs: Vec<u32> = native
            .flat_map(|native| native.runs.iter().map(|(first, ..)| *first))
            .collect();
        runs.sort_unstable();
        runs
    }

    /// A line of the text, by its place.
    fn place(&self, out: &mut String, at: SpanId) -> fmt::Result {
        match self.program.span(at) {
            Span::None => Ok(()),
            Span::Ptx { line, .. } => {
                let text = self.text.lines().nth((line as usize).saturating_sub(1));
                let text = quoted(text.unwrap_or_default().trim());
                writeln!(out, "  line {line}: {text}")
            }
            Span::Rust(at) => writeln!(out, "  {at}"),
        }
    }

    /// What is known of slots, in the order of the frame.
    fn slots(&self) -> BTreeMap<Slot, Known> {
        let program = self.program;
        let mut all = BTreeMap::new();
        for (slot, value) in &program.consts {
            add(&mut all, *slot, 's', format!("{value:#x}"));
        }
        for preset in program.per_launch.iter().chain(&program.per_cta) {
            let (letter, what) = match preset.value {
                Value::Scalar(special) => ('s', special.name().to_owned()),
                Value::Lanes(special) => ('n', special.name().to_owned()),
                Value::Param { offset, bytes, .. } => (
                    's',
                    format!("parameters[{offset}..{}]", offset + u32::from(bytes)),
                ),
            };
            add(&mut all, preset.slot, letter, what);
        }
        for (reg, home) in self.function.regs.iter().zip(&program.code.homes) {
            let (slot, letter) = match home {
                Home::Fixed => continue,
                Home::Scalar(slot) => (slot, 's'),
                Home::Mask(slot) => (slot, 'p'),
                Home::Narrow(slot) => (slot, 'n'),
                Home::Wide(slot) => (slot, 'w'),
            };
            if Slot(*slot) == Slot::SCRATCH {
                continue;
            }
            let number = reg
                .number
                .map_or(String::new(), |number| number.to_string());
            add(
                &mut all,
                Slot(*slot),
                letter,
                format!("{}{number}", reg.prefix),
            );
        }
        for slot in &program.shadows {
            add(
                &mut all,
                *slot,
                'u',
                "undefined bytes of a register".to_owned(),
            );
        }
        for slot in &program.lost {
            add(
                &mut all,
                *slot,
                'l',
                "lanes that a shuffle did not bring".to_owned(),
            );
        }
        all
    }
}

/// What the letters of slots say.
const LETTERS: &str = "s one value for the warp, p lanes of a predicate, n lanes of 32 bits, w lanes of 64 bits, \
u and l what a checker knows of registers, t anything else";

/// What stands at a slot.
struct Known {
    letter: char,
    what: Vec<String>,
}

fn add(all: &mut BTreeMap<Slot, Known>, slot: Slot, letter: char, what: String) {
    let own = all.entry(slot).or_insert(Known {
        letter,
        what: Vec::new(),
    });
    own.what.push(what);
}

/// A line of a file, with what would move a terminal's cursor escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// An op: its name and its arguments.
fn line(op: &MicroOp, frame: &Frame) -> String {
    let mut out = short(op.name());
    op.each(&mut |name, value: &dyn Show| {
        out.push_str(&format!(" {name}={}", value.show(frame)));
    });
    out
}

/// A type's name without spaces, and of each path only the last two parts: the file and the type.
fn short(name: &str) -> String {
    let mut out = String::new();
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
        if end == 0 {
            if next != ' ' {
                out.push(next);
            }
            rest = &rest[next.len_utf8()..];
            continue;
        }
        let path = &rest[..end];
        let mut parts = path.rsplitn(3, "::");
        let (last, before) = (parts.next().unwrap_or(path), parts.next());
        if let Some(before) = before {
            out.push_str(before);
            out.push_str("::");
        }
        out.push_str(last);
        rest = &rest[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_keep_the_file_and_the_type() {
        for (name, wanted) in [
            ("a::b::c::D", "c::D"),
            (
                "a::b::Map2<a::float::Add<f32, false>, a::b::V>",
                "b::Map2<float::Add<f32,false>,b::V>",
            ),
            ("u32", "u32"),
            ("a::b::Vote<0>", "b::Vote<0>"),
        ] {
            assert_eq!(short(name), wanted);
        }
    }
}
