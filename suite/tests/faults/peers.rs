//! What goes wrong in others' kernels, rebuilt in PTX: each is found by the checker, without running it, or by a
//! reference.
//!
//! What goes wrong around kernels has its tests elsewhere: caches keyed by sizes, or by text that changes, in
//! `device/tests/device/cache.rs`; memory allocated while launches are captured in `device/tests/device/replay.rs`;
//! memory freed under a running launch in `device/tests/device/memory.rs`; missing inputs in `graph`, whose nodes are
//! typed values. `nibbles` and `rounded` have their references in `suite/tests/kernels.rs` too.

use crate::table::{Sizes, at};
use std::{collections::BTreeSet, fs, path::Path};
use warpsmith::{
    report::{Issue, Level, Report, check_file},
    script::{
        Arg, Buffer, Contents, Freed, LaunchSpec, Mode, Script, Settings, Wanted, WantedContents,
    },
    vgpu::check::{Checks, Kind},
};
use warpsmith_ptx::{findings::Limits, types::Type};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/peers");

/// Who notices.
#[derive(Clone, Copy)]
enum By {
    /// The checker, at the marked line, or where there is none.
    Checker(Kind),
    /// `warpsmith check`, without running it.
    Static(&'static str),
    /// A reference: `b[i]` for this i, with the checker silent.
    Reference(fn(u32) -> u32),
}

/// The file, what it is launched with, and who notices.
const ALL: &[(&str, Sizes, By)] = &[
    // A warp's sum used as the block's sum in a persistent decoder.
    ("warp_sum", at(1, 64, 64), By::Reference(|_| (0..48).sum())),
    // The remainder dropped when the hidden size is no multiple of the block.
    (
        "remainder",
        at(1, 64, 100).b(100),
        By::Checker(Kind::UnwrittenOutput),
    ),
    // Head sizes over 128 truncated.
    (
        "head_size",
        at(1, 32, 160).a(160),
        By::Reference(|_| (1..=48).map(|x| x * x).sum::<u32>() + 160 - 48),
    ),
    // The tail of keys and values dropped in flash attention, and rows written out of bounds.
    (
        "tail_dropped",
        at(1, 32, 40),
        By::Reference(|_| (0..40).sum()),
    ),
    (
        "tail_written",
        at(3, 32, 70).b(70),
        By::Checker(Kind::OobGlobal),
    ),
    // A causal mask that is wrong where the query tile is larger than the key tile.
    (
        "causal_tiles",
        at(1, 32, 32),
        By::Reference(|query| query + 1),
    ),
    // Tile stores that are not bounded.
    (
        "wmma_store",
        at(2, 32, 20).b(16 * 20),
        By::Checker(Kind::OobGlobal),
    ),
    // Shared memory addressed from 0 while the array lies elsewhere.
    ("raw_shared", at(1, 32, 1), By::Checker(Kind::OobShared)),
    // f32 rounded to f16 above a size.
    (
        "rounded",
        at(1, 64, 64),
        By::Reference(|i| if i < 48 { i * 257 + 1 } else { 1 }),
    ),
    // Kernels that never store.
    (
        "no_store",
        at(1, 32, 32).b(32),
        By::Checker(Kind::UnwrittenOutput),
    ),
    // A barrier in divergent code.
    (
        "divergent",
        at(1, 64, 50),
        By::Checker(Kind::BarrierDivergence),
    ),
    // The order of nibbles in Q4_0.
    (
        "nibbles",
        at(1, 32, 16),
        By::Reference(|i| if i < 16 { i & 15 } else { (i - 16) >> 4 }),
    ),
    // Code that nothing reaches.
    ("dead_code", at(1, 32, 1), By::Static("unreachable")),
    // Sizes multiplied in 32 bits.
    (
        "wrapped",
        at(1, 32, 64).b(32),
        By::Checker(Kind::UnwrittenOutput),
    ),
    // More than 48 KiB of shared memory declared statically.
    ("static_shared", at(1, 32, 1), By::Static("shared_limit")),
    // Memory given back under a kernel.
    ("freed", at(1, 32, 1), By::Checker(Kind::UseAfterFree)),
    // From public reports: a barrier under `tid < 16`, a two-warp reduction without its barrier, a cooperative grid
    // larger than the device.
    (
        "half_block",
        at(1, 32, 1),
        By::Checker(Kind::BarrierDivergence),
    ),
    ("two_warps", at(1, 64, 1), By::Checker(Kind::RaceShared)),
    ("too_large", at(64, 32, 1), By::Checker(Kind::Deadlock)),
];

fn run(name: &str, sizes: &Sizes, reference: Option<fn(u32) -> u32>) -> Report {
    let buffer = |name: &str, words: u32, contents, wanted| Buffer {
        name: name.to_owned(),
        element: Type::U32,
        bytes: u64::from(words) * 4,
        contents,
        pointers: Vec::new(),
        wanted,
    };
    let wanted = reference.map(|reference| Wanted {
        contents: WantedContents::Bytes(
            (0..sizes.block)
                .flat_map(|i| reference(i).to_le_bytes())
                .collect(),
        ),
        mode: Mode::Exact,
    });
    let words = if wanted.is_some() {
        sizes.block
    } else {
        sizes.b
    };
    let pointer = |buffer| Arg::Pointer {
        buffer: Some(buffer),
        offset: 0,
    };
    let script = Script {
        text: String::new(),
        ptx: Path::new(FOLDER).join(name).with_extension("ptx"),
        ptx_text: None,
        target: None,
        sms: Some(4),
        max_blocks_per_sm: Some(8),
        buffers: vec![
            buffer("a", sizes.a, Contents::Bytes(sizes.words()), None),
            buffer("b", words, Contents::Uninitialized, wanted),
        ],
        globals: Vec::new(),
        launches: vec![LaunchSpec {
            kernel: "k".to_owned(),
            grid: [sizes.grid, 1, 1],
            block: [sizes.block, 1, 1],
            dynamic_shared: 0,
            args: vec![
                pointer(0),
                pointer(1),
                Arg::Bytes {
                    ty: None,
                    bytes: sizes.n.to_le_bytes().to_vec(),
                    pointers: Vec::new(),
                },
            ],
        }],
        freed: if name == "freed" {
            vec![Freed {
                launch: 0,
                buffers: vec![0],
            }]
        } else {
            Vec::new()
        },
        host_reads: if ["remainder", "no_store", "wrapped"].contains(&name) {
            vec![1]
        } else {
            Vec::new()
        },
        leaked: Vec::new(),
        co_resident: ["too_large", "unequal"].contains(&name),
        cluster: None,
    };
    script.run(&Settings {
        checks: Some(Checks::default()),
        budget: Some(100_000),
        ..Settings::default()
    })
}

/// What is wrong with how issues meet the marks of a file.
fn against_marks(text: &str, kind: &str, issues: &[Issue]) -> Vec<String> {
    let marked = |mark: &str, kind: &str| -> BTreeSet<u32> {
        let mark = format!("{mark}: {kind}");
        let lines = text.lines().zip(1..);
        let marks = |line: &str| {
            line.split_once("// ")
                .map_or("", |(_, marks)| marks)
                .to_owned()
        };
        lines
            .filter(|(line, _)| marks(line).split(", ").any(|one| one.trim() == mark))
            .map(|(_, number)| number)
            .collect()
    };
    let must = marked("fault", kind);
    let mut wrong = Vec::new();
    let lines = |issue: &Issue| -> Vec<u32> {
        let other = issue.other.as_ref().and_then(|other| other.line);
        issue.place.line.into_iter().chain(other).collect()
    };
    for issue in issues {
        let may = &marked("fault", issue.kind) | &marked("other", issue.kind);
        // What is wrong with a launch has no line of its own.
        let fine = if must.is_empty() {
            issue.kind == kind
        } else {
            !lines(issue).is_empty() && lines(issue).iter().all(|line| may.contains(line))
        };
        if !fine {
            wrong.push(format!(
                "{} at {:?}: {}",
                issue.kind,
                lines(issue),
                issue.message
            ));
        }
    }
    let named = |issue: &Issue| {
        issue.kind == kind
            && (must.is_empty() || lines(issue).iter().any(|line| must.contains(line)))
    };
    if !issues.iter().any(named) {
        wrong.push(format!("no {kind} at {must:?}"));
    }
    wrong
}

#[test]
fn a_barrier_of_the_grid_that_a_cta_does_not_come_to_ends_with_who_waits_where() {
    let report = run("unequal", &at(3, 32, 1), None);
    let issue = report.issues.first().expect("a finding");
    assert_eq!((issue.kind, &report.failure.is_none()), ("deadlock", &true));
    let line = issue.place.line.expect("a line");
    let text = report.source.line(line).expect("of the file");
    assert!(text.ends_with("// waits"), "{line}: {text}");
    let cta = issue.place.block.expect("a CTA")[0];
    assert!(cta < 2, "the last CTA has left: {}", issue.message);
    let word = issue
        .allocation
        .as_ref()
        .and_then(|word| word.name.as_deref());
    assert_eq!(word, Some("a"));
}

#[test]
fn each_is_noticed() {
    let mut wrong = Vec::new();
    for (name, sizes, by) in ALL {
        let path = Path::new(FOLDER).join(name).with_extension("ptx");
        let text = fs::read_to_string(&path).expect("readable");
        let found = match by {
            By::Checker(kind) => against_marks(&text, kind.name(), &run(name, sizes, None).issues),
            By::Static(kind) => {
                let report = check_file(&path, Limits::default());
                let issues: Vec<Issue> = report
                    .issues
                    .into_iter()
                    .filter(|one| one.level > Level::Note)
                    .collect();
                against_marks(&text, kind, &issues)
            }
            By::Reference(reference) => {
                let report = run(name, sizes, Some(*reference));
                let mut found: Vec<String> = report
                    .issues
                    .iter()
                    .map(|one| one.message.clone())
                    .collect();
                found.extend(report.failure.map(|failure| failure.to_string()));
                if report
                    .outputs
                    .iter()
                    .all(|output| output.difference.is_none())
                {
                    found.push("the reference sees no difference".to_owned());
                }
                found
            }
        };
        if !found.is_empty() {
            wrong.push(format!("{name}: {}", found.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
