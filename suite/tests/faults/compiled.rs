//! Faults in CUDA C++, compiled by NVRTC with line information: places are lines of the `.cu` file.

use crate::table::{Fault, Marked, Planted, Reach, Seen, Sizes, at, check, fault};
use std::{fs, path::Path};
use warpsmith::{
    report::{Report, Spot},
    script::{Arg, Buffer, Contents, LaunchSpec, Script, Settings},
    vgpu::check::{Checks, Kind},
};
use warpsmith_ptx::types::Type;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/faulty");

/// In `global.cu`.
const GLOBAL: &[Fault] = &[
    fault("tail", Kind::OobGlobal, Reach::Lane, at(4, 32, 100).b(100))
        .hides(at(4, 32, 128).b(128))
        .by(3, 4),
    fault("columns", Kind::OobGlobal, Reach::Cta, at(3, 32, 40).a(120))
        .hides(at(3, 32, 64).a(192))
        .by(2, 8),
    fault("quads", Kind::OobGlobal, Reach::Lane, at(1, 32, 126).b(126))
        .hides(at(1, 32, 128).b(128))
        .by(0, 31),
    fault("halo", Kind::OobGlobal, Reach::Lane, at(2, 32, 50).a(50)).by(1, 17),
    fault("shares", Kind::OobGlobal, Reach::Cta, at(4, 32, 61).b(61))
        .hides(at(4, 32, 64).b(64))
        .by(3, 13),
    fault("before", Kind::OobGlobal, Reach::Lane, at(1, 32, 32)).by(0, 0),
    fault("bins", Kind::OobGlobal, Reach::Lane, at(1, 32, 40).b(32))
        .hides(at(1, 32, 32).b(32))
        .by(0, 0),
    fault("shifted", Kind::Misaligned, Reach::Lane, at(1, 16, 5))
        .hides(at(1, 16, 8))
        .by(0, 0),
    fault("pairs", Kind::Misaligned, Reach::Cta, at(3, 32, 9))
        .hides(at(3, 32, 10))
        .by(1, 0),
    fault("records", Kind::Misaligned, Reach::Lane, at(1, 8, 20))
        .hides(at(1, 8, 24))
        .by(0, 1),
    fault("passes", Kind::UninitGlobal, Reach::Warp, at(1, 64, 50)).hides(at(1, 64, 48)),
    fault(
        "produce",
        Kind::UninitGlobal,
        Reach::Launch,
        at(2, 32, 40).then("consume"),
    )
    .hides(at(2, 32, 64).then("consume"))
    .by(1, 0),
    fault("indices", Kind::UninitGlobal, Reach::Lane, at(1, 32, 1)).by(0, 0),
    fault(
        "grid",
        Kind::UnwrittenOutput,
        Reach::Launch,
        at(2, 64, 100).b(100),
    )
    .hides(at(2, 64, 128).b(128)),
    fault(
        "groups",
        Kind::UnwrittenOutput,
        Reach::Lane,
        at(1, 32, 63).b(63),
    )
    .hides(at(1, 32, 64).b(64)),
];

/// In `races.cu`.
const RACES: &[Fault] = &[
    fault("in_place", Kind::RaceGlobal, Reach::Cta, at(2, 64, 100)).hides(at(1, 64, 64)),
    fault("last_block", Kind::RaceGlobal, Reach::Cta, at(4, 32, 3)),
    fault("message", Kind::RaceGlobal, Reach::Cta, at(3, 32, 3)),
    fault("release_scope", Kind::RaceGlobal, Reach::Cta, at(2, 32, 3)),
    fault("overlap", Kind::RaceGlobal, Reach::Cta, at(4, 32, 63)).hides(at(4, 32, 64)),
    fault("counter", Kind::RaceGlobal, Reach::Cta, at(4, 32, 100)),
    fault("grid_wide", Kind::RaceGlobal, Reach::Cta, at(3, 32, 3)).hides(at(1, 32, 3)),
    fault("found", Kind::BenignRace, Reach::Lane, at(2, 32, 40)),
];

/// In `shared.cu`.
const SHARED: &[Fault] = &[
    fault(
        "margins",
        Kind::OobShared,
        Reach::Lane,
        at(1, 32, 1).shared(128),
    )
    .by(0, 31),
    fault("slots", Kind::OobShared, Reach::Warp, at(1, 160, 1))
        .hides(at(1, 128, 1))
        .by(0, 128),
    fault("padded", Kind::OobShared, Reach::Lane, at(1, 64, 1)).by(0, 15),
    fault("stack", Kind::OobLocal, Reach::Lane, at(1, 32, 12))
        .hides(at(1, 32, 8))
        .by(0, 0),
    fault("table", Kind::OobConst, Reach::Warp, at(1, 48, 2))
        .hides(at(1, 32, 2))
        .by(0, 32),
    fault(
        "behind",
        Kind::Misaligned,
        Reach::Lane,
        at(1, 32, 7).shared(512),
    )
    .hides(at(1, 32, 8).shared(512))
    .by(0, 0),
    fault("unfilled", Kind::UninitShared, Reach::Warp, at(1, 64, 60)).hides(at(1, 64, 64)),
    fault("all_warps", Kind::UninitShared, Reach::Warp, at(1, 96, 1)).hides(at(1, 128, 1)),
    fault("eight", Kind::UninitLocal, Reach::Lane, at(1, 32, 5)).hides(at(1, 32, 8)),
    fault("named", Kind::BadSpace, Reach::Lane, at(1, 32, 20))
        .hides(at(1, 32, 32))
        .by(0, 20),
    fault(
        "demand",
        Kind::SharedLimit,
        Reach::Launch,
        at(1, 32, 1).shared(200 << 10),
    ),
    fault("tree", Kind::RaceShared, Reach::Warp, at(1, 64, 1)),
    fault("tiles", Kind::RaceShared, Reach::Warp, at(1, 64, 100)).hides(at(1, 64, 64)),
    fault("exchange", Kind::RaceShared, Reach::Lane, at(1, 32, 1)),
    fault("warp_only", Kind::RaceShared, Reach::Warp, at(1, 96, 1)).hides(at(1, 32, 1)),
    fault("histogram", Kind::RaceShared, Reach::Lane, at(1, 32, 40)).hides(at(1, 32, 16)),
];

/// In `threads.cu`.
const THREADS: &[Fault] = &[
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
        at(1, 32, 40),
    )
    .hides(at(1, 32, 64)),
    fault("arms", Kind::BarrierDivergence, Reach::Lane, at(1, 32, 3)).hides(at(1, 32, 1)),
    fault("some", Kind::BarrierCount, Reach::Warp, at(1, 96, 50)).hides(at(1, 96, 64)),
    fault("producer", Kind::RaceShared, Reach::Warp, at(1, 64, 3)).hides(at(1, 64, 1)),
    fault("once_more", Kind::BarrierCount, Reach::Warp, at(1, 64, 3)).hides(at(1, 64, 4)),
    fault("crossed", Kind::Deadlock, Reach::Warp, at(1, 64, 1)),
    fault("partial", Kind::ShflInactive, Reach::Lane, at(1, 32, 21))
        .hides(at(1, 32, 32))
        .by(0, 20),
    fault("last_lane", Kind::ShflInactive, Reach::Lane, at(1, 32, 20)).hides(at(1, 32, 32)),
    fault("first_lanes", Kind::Mask, Reach::Lane, at(1, 32, 20))
        .hides(at(1, 32, 32))
        .by(0, 20),
    fault("half_named", Kind::Mask, Reach::Lane, at(1, 32, 1)).by(0, 16),
    fault("pipeline", Kind::AsyncEarly, Reach::Lane, at(1, 32, 3)),
    fault("rest", Kind::AsyncEarly, Reach::Lane, at(1, 32, 40))
        .hides(at(1, 32, 32))
        .by(0, 0),
    fault("one_path", Kind::UninitRegister, Reach::Lane, at(1, 32, 20))
        .hides(at(1, 32, 32))
        .by(0, 20),
];

/// In `groups.cu`.
const GROUPS: &[Fault] = &[
    fault("phases", Kind::RaceGlobal, Reach::Cta, at(4, 32, 128)).hides(at(1, 32, 32)),
    fault("rounds", Kind::RaceGlobal, Reach::Cta, at(3, 32, 2)).hides(at(3, 32, 1)),
    fault("copied", Kind::RaceShared, Reach::Warp, at(1, 64, 1)),
    fault("relaxed", Kind::RaceGlobal, Reach::Cta, at(3, 32, 1)).hides(at(1, 32, 1)),
    fault("arrives", Kind::RaceShared, Reach::Warp, at(1, 64, 1)),
    fault("leader", Kind::UninitRegister, Reach::Lane, at(1, 32, 20)).hides(at(1, 32, 1)),
];

/// Files and their tables.
const ALL: &[(&str, &[Fault])] = &[
    ("global", GLOBAL),
    ("groups", GROUPS),
    ("races", RACES),
    ("shared", SHARED),
    ("threads", THREADS),
];

/// The report of a kernel of a file.
pub(crate) fn report(
    file: &str,
    kernel: &str,
    sizes: &Sizes,
    kind: Kind,
    settings: &Settings,
) -> Report {
    let buffer = |name: &str, words: u32, contents| Buffer {
        name: name.to_owned(),
        element: Type::U32,
        bytes: u64::from(words) * 4,
        contents,
        pointers: Vec::new(),
        wanted: None,
    };
    let launch = |kernel: &str| LaunchSpec {
        kernel: kernel.to_owned(),
        grid: [sizes.grid, 1, 1],
        block: [sizes.block, 1, 1],
        dynamic_shared: sizes.shared,
        args: vec![
            pointer(0),
            pointer(1),
            Arg::Bytes {
                ty: None,
                bytes: sizes.n.to_le_bytes().to_vec(),
                pointers: Vec::new(),
            },
        ],
    };
    let then = sizes.then.map(launch);
    let script = Script {
        text: String::new(),
        ptx: Path::new(FOLDER).join(file).with_extension("ptx"),
        ptx_text: None,
        target: None,
        sms: Some(4),
        max_blocks_per_sm: None,
        buffers: vec![
            buffer("a", sizes.a, Contents::Bytes(sizes.words())),
            buffer("b", sizes.b, Contents::Uninitialized),
        ],
        globals: Vec::new(),
        launches: std::iter::once(launch(kernel)).chain(then).collect(),
        freed: Vec::new(),
        host_reads: if kind == Kind::UnwrittenOutput {
            vec![1]
        } else {
            Vec::new()
        },
        leaked: Vec::new(),
        co_resident: true,
        cluster: None,
    };
    script.run(settings)
}

/// Runs a kernel of a file: once, and a twin in several orders, whose outputs may depend on them.
fn run(file: &str, kernel: &str, sizes: &Sizes, kind: Kind) -> Vec<Seen> {
    let settings = Settings {
        checks: Some(Checks::default()),
        schedules: if kernel.ends_with("_clean") { 8 } else { 0 },
        ..Settings::default()
    };
    let mut report = report(file, kernel, sizes, kind, &settings);
    report.issues.retain(|issue| issue.kind != "schedule");
    let mut seen: Vec<Seen> = report
        .issues
        .iter()
        .map(|issue| Seen {
            kind: issue.kind.to_owned(),
            line: line(file, &issue.place)
                .or_else(|| header(file, issue.place.line, issue.kind, kernel)),
            other: issue.other.as_ref().and_then(|other| line(file, other)),
            who: issue
                .place
                .block
                .zip(issue.place.thread)
                .map(|(b, t)| (b[0], t[0])),
            message: issue.message.clone(),
        })
        .collect();
    if let Some(failure) = &report.failure {
        seen.push(Seen {
            kind: "failure".to_owned(),
            line: None,
            other: None,
            who: None,
            message: failure.to_string(),
        });
    }
    seen
}

fn pointer(buffer: usize) -> Arg {
    Arg::Pointer {
        buffer: Some(buffer),
        offset: 0,
    }
}

/// The line of the `.cu` file.
fn line(file: &str, spot: &Spot) -> Option<u32> {
    let origin = spot.origin.as_ref()?;
    let same = Path::new(&origin.file).file_name()? == format!("{file}.cu").as_str();
    same.then_some(origin.line)
}

/// What is wrong with a whole launch is reported at the kernel's header, which has no `.loc`.
fn header(file: &str, ptx_line: Option<u32>, kind: &str, kernel: &str) -> Option<u32> {
    ptx_line.filter(|_| kind == Kind::SharedLimit.name())?;
    let text = fs::read_to_string(Path::new(FOLDER).join(file).with_extension("cu")).ok()?;
    let name = format!(" {kernel}(");
    let at = text.lines().position(|line| line.contains(&name))?;
    u32::try_from(at + 1).ok()
}

/// The faults, as the tally counts them.
pub(crate) fn planted() -> Vec<Planted> {
    let all = ALL.iter().flat_map(|(_, faults)| faults.iter());
    all.map(Planted::from).collect()
}

#[test]
fn each_fault_is_found_at_its_cuda_line_and_no_twin_is_reported() {
    let mut wrong = Vec::new();
    for (file, faults) in ALL {
        let text = fs::read_to_string(Path::new(FOLDER).join(file).with_extension("cu"));
        let text = text.expect("readable");
        let marked = Marked::new(&text, "extern \"C\" __global__ void ");
        let found = check(&marked, faults, |kernel, sizes, kind| {
            let twin = kernel.ends_with("_clean");
            let clean = match sizes.then {
                Some("consume") if twin => Some("consume_clean"),
                then => then,
            };
            run(
                file,
                kernel,
                &Sizes {
                    then: clean,
                    ..*sizes
                },
                kind,
            )
        });
        wrong.extend(found.into_iter().map(|one| format!("{file}.cu, {one}")));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
