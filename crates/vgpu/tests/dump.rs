//! The text of a program says what its ops are, what they read and write, and where they come from.
#![allow(missing_docs)]

mod common;

use common::{Bench, HEADER};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use warpsmith_ptx::target::PtxVersion;
use warpsmith_vgpu::{Compile, Config, Tier, check::Checks};

/// An op of a dump.
#[derive(Debug)]
struct Op {
    name: String,
    args: BTreeMap<String, String>,
    compiled: bool,
}

/// A dump taken apart.
#[derive(Debug, Default)]
struct Program {
    /// Numbers of the second line.
    counts: Vec<usize>,
    /// What stands at slots from the start, or what their registers are called.
    slots: BTreeMap<String, String>,
    /// The first op of each block.
    blocks: Vec<usize>,
    /// The quoted line of each op.
    lines: Vec<String>,
    ops: Vec<Op>,
}

/// Reads a dump; whatever is not as it should be ends the test.
fn read(text: &str) -> Program {
    let mut program = Program::default();
    let mut lines = text.lines();
    let head = lines.next().expect("a head");
    assert!(head.starts_with("kernel "), "{head}");
    let counts = lines
        .next()
        .expect("counts")
        .split(|c: char| !c.is_ascii_digit());
    program.counts = counts.filter_map(|word| word.parse().ok()).collect();
    let (mut part, mut quoted) = ("", String::new());
    for line in lines {
        let first = line.split_whitespace().next().unwrap_or("");
        if first.is_empty() {
            continue;
        } else if !line.starts_with(' ') && !line.starts_with("compiled") {
            part = match first {
                "slots:" => "slots",
                "words:" => "words",
                block => {
                    let number = block.trim_end_matches(',').strip_prefix("block");
                    let number: usize = number.expect("a block").parse().expect("its number");
                    assert_eq!(number, program.blocks.len());
                    program.blocks.push(program.ops.len());
                    "ops"
                }
            };
        } else if part == "slots" {
            let (slot, what) = line.trim().split_once(' ').expect("a slot");
            program
                .slots
                .insert(slot.to_owned(), what.trim().to_owned());
        } else if part == "ops" && first == "line" {
            quoted = line.trim().to_owned();
        } else if part == "ops" && first != "behind" {
            let compiled = first == "compiled";
            let mut words = line.split_whitespace().skip(usize::from(compiled));
            let index: usize = words.next().expect("an index").parse().expect("a number");
            assert_eq!(index, program.ops.len());
            let name = words.next().expect("a name").to_owned();
            let args = words.map(|word| {
                let (name, value) = word.split_once('=').expect("an argument");
                (name.to_owned(), value.to_owned())
            });
            program.ops.push(Op {
                name,
                args: args.collect(),
                compiled,
            });
            program.lines.push(quoted.clone());
        }
    }
    program
}

/// The slots in what stands for an argument.
fn slots(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(['[', ']', ',', ':', '!'])
        .filter(|word| word.contains('+'))
}

/// Whether an argument is written.
fn is_written(op: &Op, arg: &str) -> bool {
    match arg {
        "dst" | "low" | "high" => true,
        "data" => op.name.contains("::Load"),
        _ => false,
    }
}

/// Where an op may go, as the blocks that it names.
fn goals(op: &Op) -> impl Iterator<Item = usize> {
    let blocks = op
        .args
        .values()
        .filter_map(|value| value.strip_prefix("block"));
    blocks.map(|number| number.parse().expect("a block's number"))
}

const BODY: &str = ".visible .entry k(.param .u64 x, .param .f32 a, .param .u32 n) {
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .f32 %f<5>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [x];
ld.param.f32 %f1, [a];
ld.param.u32 %r1, [n];
mov.u32 %r4, %tid.x;
shl.b32 %r5, %r4, 1;
setp.ge.u32 %p1, %r5, %r1;
@%p1 bra done;
mul.wide.u32 %rd3, %r5, 4;
add.s64 %rd4, %rd1, %rd3;
ld.global.f32 %f2, [%rd4+8];
fma.rn.f32 %f3, %f2, %f1, %f2;
@!%p1 st.global.f32 [%rd4], %f3;
done:
ret;
}
";

fn dump(config: Config) -> String {
    let text = format!("{HEADER}{BODY}");
    let bench = Bench::whole(&text, config);
    let kernel = bench.module.kernel("k").expect("the kernel");
    kernel.dump([64, 1, 1], &text).expect("it is known")
}

fn config(tier: Tier, compile: Compile) -> Config {
    Config {
        tier: Some(tier),
        memory: 16 << 20,
        workers: 1,
        compile,
        ..Config::default()
    }
}

#[test]
fn a_program_has_its_ops_with_their_arguments() {
    let program = read(&dump(config(Tier::Baseline, Compile::Never)));
    let names: Vec<&str> = program.ops.iter().map(|op| op.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "shape::Map2<bits::Shl<u32>,shape::V,shape::U>",
            "cmp::Compare<cmp::Less<u32>,shape::V,shape::U>",
            "flow::ExitsIf",
            "shape::Map2<int::MulWide<u32,u64>,shape::V,shape::U>",
            "shape::Map2<int::Add<u64>,shape::V,shape::U>",
            "ldst::Load<ldst::Single,u64,1>",
            "shape::Map3<float::Fma<f32,false,false>,shape::V,shape::U,shape::V>",
            "guard::GuardOn",
            "ldst::Store<ldst::Single,u64,1>",
            "guard::GuardOff",
            "flow::Exits",
        ]
    );
    assert_eq!(program.counts, [2, 11, 0, program.counts[3]]);
    assert_eq!(program.blocks, [0, 3]);
    let arg = |op: usize, name: &str| program.ops[op].args[name].as_str();
    // What is defined is what is read later: lanes of 32 and of 64 bits, a predicate, constants and parameters.
    assert!(arg(0, "dst").starts_with("n+"));
    assert_eq!(arg(0, "dst"), arg(1, "a"));
    assert!(arg(1, "dst").starts_with("p+"));
    assert_eq!(arg(1, "dst"), arg(2, "pred"));
    assert_eq!(arg(2, "next"), "block1");
    assert!(arg(3, "dst").starts_with("w+"));
    assert_eq!(arg(3, "dst"), arg(4, "a"));
    assert_eq!(arg(4, "dst"), arg(5, "at"));
    assert_eq!((arg(5, "memory"), arg(5, "offset")), ("global", "8"));
    assert_eq!(arg(5, "data"), format!("[{}]", arg(6, "a")));
    assert_eq!(arg(8, "data"), format!("[{}]", arg(6, "dst")));
    assert_eq!(arg(7, "pred"), format!("!{}", arg(2, "pred")));
    assert_eq!(arg(7, "skip"), "2");
    assert_eq!(program.slots[arg(0, "a")], "%tid.x");
    assert_eq!(program.slots[arg(0, "b")], "0x1");
    assert_eq!(program.slots[arg(4, "b")], "parameters[0..8]");
    assert_eq!(program.slots[arg(2, "pred")], "%p1");
    assert_eq!(program.lines[6], "line 16: fma.rn.f32 %f3, %f2, %f1, %f2;");
    assert_eq!(
        program.lines[8],
        "line 17: @!%p1 st.global.f32 [%rd4], %f3;"
    );
}

#[test]
fn ops_read_what_stands_there_or_was_written_on_every_tier() {
    for tier in Tier::available() {
        let program = read(&dump(config(tier, Compile::Never)));
        // The kernel has no loop, so that what is read was written further up.
        let known = |what: &str| !what.starts_with('%') || what.starts_with("%tid");
        let mut written: BTreeSet<&str> = program
            .slots
            .iter()
            .filter(|(_, what)| known(what))
            .map(|(slot, _)| slot.as_str())
            .collect();
        for op in &program.ops {
            for (name, value) in &op.args {
                if !is_written(op, name) {
                    for slot in slots(value) {
                        assert!(written.contains(slot), "{tier:?}: {slot} of {op:?}");
                    }
                }
            }
            for (name, value) in &op.args {
                if is_written(op, name) {
                    written.extend(slots(value));
                }
            }
        }
    }
}

#[test]
fn compiled_runs_are_marked_where_they_begin() {
    let marked = |compile| {
        let program = read(&dump(config(Tier::best(), compile)));
        let marked = program.ops.iter().filter(|op| op.compiled).count();
        assert_eq!(marked, program.counts[2]);
        marked
    };
    assert_eq!(marked(Compile::Never), 0);
    let runs = marked(Compile::Always);
    if Tier::best() == Tier::Avx512 && warpsmith_vgpu::no_compiler().is_none() {
        assert!(runs > 0);
    }
}

fn plain() -> Config {
    Config {
        max_ptx: PtxVersion::new(u8::MAX, 0),
        ..config(Tier::best(), Compile::Always)
    }
}

/// Every way to run a program.
fn configs() -> [Config; 3] {
    let plain = plain();
    [
        Config {
            checks: Some(Checks::default()),
            ..plain.clone()
        },
        Config {
            seed: Some(1),
            budget: Some(1 << 20),
            compile: Compile::Never,
            ..plain.clone()
        },
        plain,
    ]
}

/// The PTX files of programs, each in its folder.
fn texts(programs: &Path) -> Vec<PathBuf> {
    let within = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let folders = within(programs).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| within(&folder));
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "ptx"))
        .collect()
}

#[test]
fn each_kernel_of_the_cuda_programs_has_a_text_that_can_be_read() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/cases/cuda");
    let mut count = 0;
    for path in texts(&programs) {
        let text = fs::read_to_string(&path).expect("PTX");
        // For one target in every way, for the others as they are interpreted.
        let ways = match path.ends_with("sm_90.ptx") {
            true => configs().to_vec(),
            false => vec![Config {
                compile: Compile::Never,
                ..plain()
            }],
        };
        for config in ways {
            let bench = Bench::whole(&text, config);
            let names: Vec<String> = bench.module.kernels().map(str::to_owned).collect();
            for name in names {
                let kernel = bench.module.kernel(&name).expect("a kernel");
                let dumped = kernel.dump([64, 2, 1], &text);
                let program = read(&dumped.expect("it is known"));
                let place = format!("{name} of {}", path.display());
                assert_eq!(program.blocks.len(), program.counts[0], "{place}");
                assert_eq!(program.ops.len(), program.counts[1], "{place}");
                for goal in program.ops.iter().flat_map(goals) {
                    assert!(goal < program.blocks.len(), "{goal}: {place}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}
