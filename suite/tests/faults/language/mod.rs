//! Faults in kernels of our own language: places are the Rust lines that built the instructions.

mod memory;
mod threads;

use crate::table::{Fault, Marked, Planted, Reach, Seen, Sizes, at, check, fault};
use std::hash::{Hash, Hasher};
use warpsmith::vgpu::{
    Config, Launch, Machine,
    check::{Checks, Finding, Kind, Place},
};
use warpsmith_kernel::{
    BuildError, Cta, InKernel, Kernel, LaunchError, Options, args, build, misuse::Misuse,
};
use warpsmith_ptx::{
    diag::{Code, Diagnostic},
    ir::Span,
    target::Target,
};

args! {
    /// `fixed` is `a` again, as an array that nobody writes.
    pub(crate) struct Given {
        a: InOut<u32>[n], b: InOut<u32>[n], fixed: In<u32>[n], n: Scalar<u32>,
    }
}

type Body = for<'c, 'k> fn(&'c mut Cta<'k>, Given<InKernel<'k>>);
/// Kernels by name.
type Bodies = &'static [(&'static str, Body)];

macro_rules! bodies {
    ($($name:ident)*) => { &[$((stringify!($name), $name)),*] };
}
use bodies;

/// A kernel that is its body.
#[derive(Clone, Debug)]
struct Plain {
    name: &'static str,
    threads: u32,
    body: Body,
}

impl PartialEq for Plain {
    fn eq(&self, other: &Plain) -> bool {
        (self.name, self.threads) == (other.name, other.threads)
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name, self.threads).hash(state);
    }
}

impl Kernel for Plain {
    type Args = Given;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn grid(&self, _args: &Given) -> Result<u64, LaunchError> {
        Ok(1)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
        (self.body)(cta, g);
    }
}

/// In `memory.rs`.
const MEMORY: &[Fault] = &[
    fault("tail", Kind::OobGlobal, Reach::Lane, at(4, 32, 100).b(100))
        .hides(at(4, 32, 128).b(128))
        .by(3, 4),
    fault("quads", Kind::OobGlobal, Reach::Lane, at(1, 32, 126).b(126))
        .hides(at(1, 32, 128).b(128))
        .by(0, 31),
    fault("rows", Kind::OobGlobal, Reach::Cta, at(3, 32, 40).a(120))
        .hides(at(3, 32, 64).a(192))
        .by(2, 8),
    fault(
        "one_more",
        Kind::OobGlobal,
        Reach::Lane,
        at(1, 32, 40).b(40),
    )
    .by(0, 8),
    fault("shares", Kind::OobGlobal, Reach::Cta, at(4, 32, 61).b(61))
        .hides(at(4, 32, 64).b(64))
        .by(3, 13),
    fault("ticket", Kind::OobGlobal, Reach::Lane, at(1, 32, 64).a(64)).by(0, 0),
    fault("late_slots", Kind::OobShared, Reach::Lane, at(1, 64, 40))
        .hides(at(1, 64, 32))
        .by(0, 56),
    fault("wide_stride", Kind::OobShared, Reach::Lane, at(1, 64, 3))
        .hides(at(1, 64, 2))
        .by(0, 43),
    fault("warp_slots", Kind::OobShared, Reach::Warp, at(1, 96, 1))
        .hides(at(1, 64, 1))
        .by(0, 64),
    fault("shifted", Kind::Misaligned, Reach::Lane, at(1, 32, 5))
        .hides(at(1, 32, 8))
        .by(0, 0),
    fault("wider", Kind::Misaligned, Reach::Lane, at(1, 32, 3))
        .hides(at(1, 32, 4))
        .by(0, 0),
    fault("tile_pairs", Kind::Misaligned, Reach::Lane, at(1, 32, 5))
        .hides(at(1, 32, 4))
        .by(0, 0),
    fault("passes", Kind::UninitGlobal, Reach::Warp, at(1, 64, 50)).hides(at(1, 64, 48)),
    fault(
        "produce",
        Kind::UninitGlobal,
        Reach::Launch,
        at(2, 32, 40).then("consume"),
    )
    .hides(at(2, 32, 64).then("consume"))
    .by(1, 0),
    fault("choice", Kind::UninitGlobal, Reach::Lane, at(1, 32, 1)).by(0, 0),
    fault("no_zero", Kind::UninitGlobal, Reach::Lane, at(1, 32, 100)).by(0, 0),
    fault("unfilled", Kind::UninitShared, Reach::Warp, at(1, 64, 60))
        .hides(at(1, 64, 64))
        .by(0, 0),
    fault("first_warp", Kind::UninitShared, Reach::Warp, at(1, 64, 3)).by(0, 32),
    fault("escaped", Kind::UninitRegister, Reach::Lane, at(1, 32, 20)),
    fault(
        "fours",
        Kind::UnwrittenOutput,
        Reach::Lane,
        at(1, 32, 63).b(63),
    )
    .hides(at(1, 32, 64).b(64)),
    fault(
        "whole_tiles",
        Kind::UnwrittenOutput,
        Reach::Launch,
        at(2, 64, 100).b(100),
    )
    .hides(at(2, 64, 128).b(128)),
];

/// In `threads.rs`.
const THREADS: &[Fault] = &[
    fault("one_part", Kind::RaceShared, Reach::Warp, at(1, 64, 1)).hides(at(1, 32, 1)),
    fault("kept_slots", Kind::RaceShared, Reach::Warp, at(1, 64, 1)),
    fault("two_lanes", Kind::RaceShared, Reach::Lane, at(1, 64, 1)),
    fault("ring", Kind::RaceShared, Reach::Warp, at(1, 64, 50)).hides(at(1, 64, 64)),
    fault("total", Kind::RaceGlobal, Reach::Cta, at(3, 32, 1)).hides(at(1, 32, 1)),
    fault("in_place", Kind::RaceGlobal, Reach::Cta, at(2, 64, 100)).hides(at(1, 64, 64)),
    fault("last_cta", Kind::RaceGlobal, Reach::Cta, at(2, 32, 1)),
    fault("overlap", Kind::RaceGlobal, Reach::Cta, at(4, 32, 63)).hides(at(4, 32, 64)),
    fault("read_only", Kind::RaceGlobal, Reach::Lane, at(2, 32, 1)),
    fault("done", Kind::BenignRace, Reach::Cta, at(2, 32, 1)),
    fault(
        "working",
        Kind::BarrierDivergence,
        Reach::Lane,
        at(1, 64, 50),
    )
    .hides(at(1, 64, 64)),
    fault(
        "rounds",
        Kind::BarrierDivergence,
        Reach::Lane,
        at(1, 64, 100),
    )
    .hides(at(1, 64, 128)),
    fault("odd", Kind::BarrierCount, Reach::Warp, at(1, 64, 50)).hides(at(1, 64, 64)),
    fault("too_many", Kind::BarrierCount, Reach::Warp, at(1, 64, 1)),
    fault("crossed", Kind::Deadlock, Reach::Warp, at(1, 64, 1)),
    fault("far_lane", Kind::ShflInactive, Reach::Lane, at(1, 32, 20))
        .hides(at(1, 32, 32))
        .by(0, 0),
    fault("vote", Kind::Mask, Reach::Lane, at(1, 32, 20))
        .hides(at(1, 32, 32))
        .by(0, 20),
    fault("half", Kind::Mask, Reach::Lane, at(1, 32, 1)).by(0, 16),
    fault("no_wait", Kind::AsyncEarly, Reach::Lane, at(1, 32, 1)).by(0, 0),
    fault("rest", Kind::AsyncEarly, Reach::Lane, at(1, 32, 40))
        .hides(at(1, 32, 32))
        .by(0, 0),
    fault("half_fenced", Kind::RaceGlobal, Reach::Cta, at(2, 32, 1)),
];

/// Files, their sources, their kernels, their tables.
const ALL: [(&str, &str, Bodies, &[Fault]); 2] = [
    (
        "memory.rs",
        include_str!("memory.rs"),
        memory::BODIES,
        MEMORY,
    ),
    (
        "threads.rs",
        include_str!("threads.rs"),
        threads::BODIES,
        THREADS,
    ),
];

/// What was found while kernels of a file run one after the other.
fn run(
    (file, bodies): (&str, Bodies),
    kernels: &[&'static str],
    sizes: &Sizes,
    kind: Kind,
) -> Vec<Seen> {
    let target = Target::sm(80);
    let machine = Machine::new(Config {
        target,
        memory: 64 << 20,
        checks: Some(Checks::default()),
        ..Config::default()
    });
    let machine = machine.expect("a virtual GPU");
    let words = |words: u32| machine.alloc(u64::from(words) * 4).expect("memory");
    let (a, b) = (words(sizes.a), words(sizes.b));
    machine.write(a, &sizes.words()).expect("inside");
    let stream = machine.stream().expect("a stream");
    for name in kernels {
        let body = bodies.iter().find(|(own, _)| own == name);
        let (name, body) = *body.unwrap_or_else(|| panic!("no kernel {name}"));
        let kernel = Plain {
            name,
            threads: sizes.block,
            body,
        };
        let built = build(&kernel, target, Options::default());
        let built = match built {
            Ok(built) => built,
            // What the build sees needs no run.
            Err(BuildError::Refused { found, .. }) => {
                return found.iter().map(|one| refused(file, one)).collect();
            }
            Err(BuildError::Misuse { found, .. }) => {
                return found.iter().map(|one| misused(file, one)).collect();
            }
            Err(error) => panic!("{error}"),
        };
        let module = machine.load(&built.module).expect("loads");
        let mut params: Vec<u8> = [a, b, a].into_iter().flat_map(u64::to_le_bytes).collect();
        params.extend(sizes.n.to_le_bytes());
        let launch = Launch {
            kernel: module.kernel(name).expect("a kernel"),
            grid: [sizes.grid, 1, 1],
            block: [sizes.block, 1, 1],
            dynamic_shared: built.dynamic_shared,
            params,
            cooperative: false,
            cluster: None,
        };
        stream.launch(launch).expect("launches");
        // A deadlock is an error as well as a finding.
        drop(stream.synchronize());
    }
    if kind == Kind::UnwrittenOutput {
        let mut bytes = vec![0; sizes.b as usize * 4];
        machine.read(b, &mut bytes).expect("inside");
    }
    let all = machine.take_findings();
    all.iter().map(|finding| seen(file, finding)).collect()
}

/// The line, where it is one of this file; of other files, none.
fn line(file: &str, span: Span) -> Option<u32> {
    match span {
        Span::Rust(at) if at.file().ends_with(file) => Some(at.line()),
        Span::Rust(_) | Span::Ptx { .. } | Span::None => None,
    }
}

/// What the verifier says of a register that a path leaves unwritten.
fn refused(file: &str, diagnostic: &Diagnostic) -> Seen {
    let undefined = matches!(diagnostic.code, Code::NotDominated { .. });
    let kind = if undefined {
        Kind::UninitRegister.name()
    } else {
        "refused"
    };
    Seen {
        kind: kind.to_owned(),
        line: line(file, diagnostic.span),
        other: None,
        who: None,
        message: diagnostic.to_string(),
    }
}

/// What the language says of a value that is used behind the branch or loop that makes it: other ways leave it unwritten.
fn misused(file: &str, misuse: &Misuse) -> Seen {
    let (kind, used) = match misuse {
        Misuse::Escaped { used, .. } => (Kind::UninitRegister.name(), *used),
        Misuse::Argument { used, .. } | Misuse::Format { used, .. } => ("refused", *used),
        other => panic!("a misuse that nobody planted: {other}"),
    };
    Seen {
        kind: kind.to_owned(),
        line: line(file, Span::Rust(used)),
        other: None,
        who: None,
        message: misuse.to_string(),
    }
}

/// A finding.
fn seen(file: &str, finding: &Finding) -> Seen {
    let line = |place: &Place| line(file, place.span);
    Seen {
        kind: finding.kind.name().to_owned(),
        line: line(&finding.place),
        other: finding.other.as_ref().and_then(line),
        who: Some((finding.place.cta[0], finding.place.thread[0])),
        message: finding.message.clone(),
    }
}

/// The faults, as the tally counts them.
pub(crate) fn planted() -> Vec<Planted> {
    let all = ALL.iter().flat_map(|(_, _, _, faults)| faults.iter());
    all.map(Planted::from).collect()
}

#[test]
fn each_fault_is_found_at_its_rust_line_and_no_twin_is_reported() {
    let mut wrong = Vec::new();
    for (file, text, bodies, faults) in ALL {
        let marked = Marked::new(text, "fn ");
        let found = check(&marked, faults, |kernel, sizes, kind| {
            let (kernel, _) = bodies.iter().find(|(own, _)| *own == kernel).expect("one");
            let kernels: Vec<&'static str> = std::iter::once(*kernel).chain(sizes.then).collect();
            run((file, bodies), &kernels, sizes, kind)
        });
        wrong.extend(found.into_iter().map(|one| format!("{file}, {one}")));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
