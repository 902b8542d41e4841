//! PTX modules that are mutated token by token, so that most still parse and many still verify, and are then run.

use crate::rng::Rng;
use std::path::{Path, PathBuf};
use warpsmith_ptx::{
    findings::{Limits, find},
    ir::Span,
    parse::parse,
    print::print,
    verify::{Verified, verify},
};
use warpsmith_vgpu::{
    Compile, Config, Error, FaultKind, Launch, Machine, Tier,
    check::{Checks, Kind},
};

/// How far an input came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// It is no PTX.
    Nothing,
    /// It parses.
    Parsed,
    /// It verifies.
    Verified,
    /// Its kernels were launched.
    Ran,
}

/// The texts that mutation starts from: small kernels with all kinds of instructions.
pub fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in [
        "suite/cases/faults",
        "suite/cases/peers",
        "suite/cases/cuda",
        "crates/ptx/tests/cases",
    ] {
        walk(&root.join(folder), &mut files);
    }
    files.sort();
    let texts = files
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    // A long text is slow to parse and no richer.
    texts.filter(|text| text.len() < 8 << 10).collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "ptx") {
            files.push(path);
        }
    }
}

/// Numbers at the edges of what offsets, sizes, masks and counts may be.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "16",
    "31",
    "32",
    "33",
    "255",
    "4096",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "0x7fffffffffffffff",
];
const TYPES: [&str; 16] = [
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "f16", "f32",
    "f64", "pred",
];
const SPACES: [&str; 6] = ["global", "shared", "local", "const", "param", "volatile"];
const OPS: [&str; 24] = [
    "add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr",
    "mov", "abs", "neg", "not", "cvt", "ld", "st", "popc", "clz", "bfind", "brev",
];

/// Input number `index` of a seed.
pub fn mutated(texts: &[String], seed: u64, index: u64) -> String {
    let mut rng = Rng::of_input(seed, index);
    let text = rng.pick(texts);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=rng.below(3) {
        change(&mut lines, &mut rng);
    }
    let mut text = lines.join("\n");
    // Now and then something that no parser should take.
    if rng.below(20) == 0 && !text.is_empty() {
        let at = rng.below(text.len());
        if text.is_char_boundary(at) {
            text.insert(
                at,
                *rng.pick(&[';', '{', '}', '"', '%', '@', '\0', '\u{e9}']),
            );
        }
    }
    text.push('\n');
    text
}

/// Lines with an instruction.
fn instructions(lines: &[String]) -> Vec<usize> {
    let is_one = |line: &str| {
        let line = line.trim();
        line.contains(';') && !line.starts_with(['.', '/', '}'])
    };
    (0..lines.len()).filter(|at| is_one(&lines[*at])).collect()
}

/// The words of a line: where runs of letters, digits and `_%$` begin and end.
fn words(line: &str) -> Vec<std::ops::Range<usize>> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_%$".contains(c);
    let mut all = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (inside(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                all.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    all
}

fn is_register(word: &str) -> bool {
    word.starts_with('%') && word.ends_with(|c: char| c.is_ascii_digit())
}

/// One change.
fn change(lines: &mut Vec<String>, rng: &mut Rng) {
    let all = instructions(lines);
    if all.is_empty() {
        return;
    }
    let (one, two) = (*rng.pick(&all), *rng.pick(&all));
    match rng.below(12) {
        0 => {
            lines.remove(one);
        }
        1 => {
            let copy = lines[one].clone();
            lines.insert(two, copy);
        }
        2 => lines.swap(one, two),
        3 => {
            let guards = ["@%p1 ", "@!%p1 ", "@%p0 "];
            let line = lines[one].trim().to_owned();
            lines[one] = match line.strip_prefix('@') {
                Some(rest) => rest
                    .split_once(' ')
                    .map_or(line.clone(), |(_, rest)| rest.to_owned()),
                None => format!("{}{line}", rng.pick(&guards)),
            };
        }
        _ => replace_word(lines, one, rng),
    }
}

/// Replaces a word of a line by one of its sort.
fn replace_word(lines: &mut [String], at: usize, rng: &mut Rng) {
    let line = lines[at].clone();
    let words = words(&line);
    if words.is_empty() {
        return;
    }
    let range = rng.pick(&words).clone();
    let word = &line[range.clone()];
    let before = line[..range.start].chars().next_back();
    let new = if is_register(word) {
        // Another register of the text with the same letters.
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let same = |other: &&str| {
            is_register(other) && other.trim_end_matches(|c: char| c.is_ascii_digit()) == letters
        };
        let others: Vec<&str> = lines
            .iter()
            .flat_map(|line| self::words(line).into_iter().map(|range| &line[range]))
            .filter(same)
            .collect();
        rng.pick(&others).to_string()
    } else if word.starts_with(|c: char| c.is_ascii_digit()) {
        (*rng.pick(&NUMBERS)).to_owned()
    } else if TYPES.contains(&word) {
        (*rng.pick(&TYPES)).to_owned()
    } else if SPACES.contains(&word) {
        (*rng.pick(&SPACES)).to_owned()
    } else if before != Some('.') && OPS.iter().any(|op| op.starts_with(word)) {
        (*rng.pick(&OPS)).to_owned()
    } else {
        // A word of another line: a label, a variable, a qualifier.
        let other = rng.pick(lines).clone();
        let others = self::words(&other);
        match others.is_empty() {
            true => return,
            false => other[rng.pick(&others).clone()].to_owned(),
        }
    };
    lines[at] = format!("{}{new}{}", &line[..range.start], &line[range.end..]);
}

/// Virtual GPUs on which everything is run: one that checks, one that interprets, and those with kernels compiled for each
/// tier, in turn, for what the others found to end and to depend on nothing but its input.
pub struct Bench {
    checked: Machine,
    interpreted: Machine,
    compiled: Vec<Machine>,
    used: u32,
}

/// How a launch ended.
struct Ended {
    error: Option<Error>,
    /// What the buffer holds.
    bytes: Vec<u8>,
}

/// Inputs that a machine takes before it is made anew.
const SHIFT: u32 = 1000;
/// Instructions of warps that a launch may run: a loop without end stops there.
const BUDGET: u64 = 20_000;
/// Bytes behind each pointer.
const BYTES: u64 = 4096;

impl Bench {
    /// Fresh machines.
    ///
    /// # Panics
    /// If the system gives no memory.
    pub fn new() -> Bench {
        let machine = |checks, tier: Option<Tier>, budget| {
            Machine::new(Config {
                memory: 16 << 20,
                sms: 2,
                workers: 1,
                checks,
                compile: match tier {
                    None => Compile::Never,
                    Some(_) => Compile::Always,
                },
                tier,
                budget,
                ..Config::default()
            })
            .expect("address space for a small machine")
        };
        let tiers = Tier::available().into_iter();
        let tiers = tiers.filter(|tier| tier.is_compiled());
        Bench {
            checked: machine(Some(Checks::default()), None, Some(BUDGET)),
            interpreted: machine(None, None, Some(BUDGET)),
            compiled: tiers.map(|tier| machine(None, Some(tier), None)).collect(),
            used: 0,
        }
    }

    /// Parses, prints, looks through, verifies and runs a text.
    ///
    /// # Panics
    /// If printing does not read back as the same module.
    pub fn take(&mut self, text: &str) -> Reached {
        let Ok(module) = parse(text) else {
            return Reached::Nothing;
        };
        let printed = print(&module);
        match parse(&printed) {
            Ok(again) => assert_eq!(again, module, "what is printed reads as another module"),
            Err(found) => panic!("what is printed is refused: {}", found[0]),
        }
        drop(find(&module, Limits::default()));
        let Ok(module) = verify(module) else {
            return Reached::Parsed;
        };
        self.used += 1;
        if self.used.is_multiple_of(SHIFT) {
            *self = Bench::new();
        }
        let checked = launch_all(&self.checked, &module);
        let findings = self.checked.take_findings();
        let ended = launch_all(&self.interpreted, &module);
        // What reads nothing undefined or of others, races with nobody and asks no clock does the same again; so does
        // what is stopped by its first access outside of all memory.
        let stopped = ended.iter().all(|ended| ended.error.is_some());
        let same = findings.iter().all(|found| match found.kind {
            Kind::Misaligned | Kind::BenignRace => true,
            // What nobody stored is as it was; what was stored undefined may be anything.
            Kind::UnwrittenOutput => matches!(found.place.span, Span::None),
            Kind::OobGlobal | Kind::OobShared | Kind::OobParam => stopped,
            _ => false,
        });
        let timed = printed.contains("clock") || printed.contains("globaltimer");
        let turn = self.used as usize % self.compiled.len().max(1);
        if let Some(machine) = self.compiled.get(turn)
            && same
            && !timed
            && ended.iter().all(Ended::is_repeated)
        {
            let compiled = launch_all(machine, &module);
            for (ended, compiled) in ended.iter().zip(&compiled) {
                let text = |ended: &Ended| ended.error.as_ref().map(Error::to_string);
                assert_eq!(text(ended), text(compiled), "compiled, it ends otherwise");
                if ended.error.is_none() {
                    assert!(
                        ended.bytes == compiled.bytes,
                        "compiled, it gives other bytes"
                    );
                }
            }
        }
        match checked.is_empty() && ended.is_empty() {
            true => Reached::Verified,
            false => Reached::Ran,
        }
    }
}

impl Ended {
    /// Whether it ends like this again: of itself, or with a fault of its own.
    fn is_repeated(&self) -> bool {
        match &self.error {
            None => true,
            Some(Error::Fault(fault)) => matches!(
                fault.kind,
                FaultKind::OutOfBounds { .. } | FaultKind::Misaligned { .. } | FaultKind::Trap
            ),
            Some(_) => false,
        }
    }
}

impl Default for Bench {
    fn default() -> Self {
        Bench::new()
    }
}

/// Launches each kernel; refusals and faults are as they should be. How those ended that were taken.
fn launch_all(machine: &Machine, module: &Verified) -> Vec<Ended> {
    let mut all = Vec::new();
    // What is not checked has the same bytes each time.
    let written = match machine.config().checks {
        Some(_) => BYTES / 2,
        None => BYTES,
    };
    let Ok(loaded) = machine.load(module) else {
        return all;
    };
    let Ok(buffer) = machine.alloc(BYTES) else {
        return all;
    };
    drop(machine.write(buffer, &vec![1; written as usize]));
    for name in loaded.kernels() {
        let Some(kernel) = loaded.kernel(name) else {
            continue;
        };
        let mut params = vec![0; kernel.param_bytes() as usize];
        for param in kernel.params() {
            let (at, size) = (param.offset as usize, param.size as usize);
            let value = if size == 8 { buffer } else { 20 };
            let bytes = value.to_le_bytes();
            let count = size.min(8);
            if let Some(place) = params.get_mut(at..at + count) {
                place.copy_from_slice(&bytes[..count]);
            }
        }
        let Ok(stream) = machine.stream() else {
            continue;
        };
        let launch = Launch {
            kernel,
            grid: [2, 1, 1],
            block: [48, 1, 1],
            dynamic_shared: 256,
            params,
            cooperative: false,
            cluster: None,
        };
        if stream.launch(launch).is_err() {
            continue;
        }
        let error = stream.synchronize().err();
        let mut bytes = vec![0; BYTES as usize];
        drop(machine.read(buffer, &mut bytes));
        all.push(Ended { error, bytes });
    }
    drop(machine.free(buffer));
    all
}
