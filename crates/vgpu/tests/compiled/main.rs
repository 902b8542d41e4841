//! Compiled code gives the bits that the interpreter gives: random kernels, run both ways.
//!
//! `WARPSMITH_KERNELS` says how many kernels are tried, `WARPSMITH_SEED` where they begin.

mod edges;
mod faults;
mod places;
mod rounds;
mod sums;
mod walks;
mod writer;

use warpsmith_ptx::{parse::parse, target::PtxVersion, verify::verify};
use warpsmith_vgpu::{Compile, Config, Launch, Machine, Tier};
use writer::{Random, kernel};

/// Kernels of an ordinary test run.
const KERNELS: u64 = 60;
const BLOCKS: [[u32; 3]; 8] = [
    [16, 8, 1],
    [16, 3, 1],
    [32, 1, 1],
    [64, 1, 1],
    [33, 1, 1],
    [1, 1, 1],
    [8, 8, 1],
    [128, 1, 1],
];
/// Bytes of the input, and of what each thread writes.
const INPUT: u64 = 1 << 14;
const OUTPUT: u64 = 256;

/// Runs a kernel, interpreted or compiled for a tier, and gives the output, or what went wrong.
fn run(text: &str, block: [u32; 3], input: &[u8], tier: Option<Tier>) -> Result<Vec<u8>, String> {
    let module = parse(text).map_err(|e| format!("{}\n{text}", e[0]))?;
    let module = verify(module).map_err(|e| format!("{}\n{text}", e[0]))?;
    let config = Config {
        memory: 1 << 20,
        workers: 1,
        max_ptx: PtxVersion::new(9, 0),
        // Without some of its lines a kernel may never end. What is counted is not compiled.
        budget: tier.is_none().then_some(1 << 22),

        compile: match tier {
            None => Compile::Never,
            Some(_) => Compile::Always,
        },
        tier,
        ..Config::default()
    };
    let machine = Machine::new(config).map_err(|e| e.to_string())?;
    let stream = machine.stream().map_err(|e| e.to_string())?;
    let module = machine.load(&module).map_err(|e| e.to_string())?;
    let grid = [2, 1, 1];
    let threads = u64::from(grid[0] * block.iter().product::<u32>());
    let from = machine.alloc(INPUT).map_err(|e| e.to_string())?;
    let to = machine.alloc(threads * OUTPUT).map_err(|e| e.to_string())?;
    machine.write(from, input).map_err(|e| e.to_string())?;
    machine
        .write(to, &vec![0xA5; (threads * OUTPUT) as usize])
        .map_err(|e| e.to_string())?;
    let mut params = from.to_le_bytes().to_vec();
    params.extend_from_slice(&to.to_le_bytes());
    params.extend_from_slice(&37u32.to_le_bytes());
    let launch = Launch {
        kernel: module.kernel("k").ok_or("no kernel")?,
        grid,
        block,
        dynamic_shared: 0,
        params,
        cooperative: false,
        cluster: None,
    };
    stream
        .launch(launch)
        .and_then(|()| stream.synchronize())
        .map_err(|e| e.to_string())?;
    let mut out = vec![0; (threads * OUTPUT) as usize];
    machine.read(to, &mut out).map_err(|e| e.to_string())?;
    Ok(out)
}

/// The text without all lines between its two comments that it needs not to fail.
fn shrunk(text: String, fails: impl Fn(&str) -> bool) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let place = |lines: &[&str], what: &str| lines.iter().position(|line| line.contains(what));
    let first = place(&lines, "// from").map_or(0, |at| at + 1);
    let mut size = lines.len() / 2;
    while size > 0 {
        let mut at = first;
        while at + size <= place(&lines, "// to").unwrap_or(0) {
            let mut fewer = lines.clone();
            fewer.drain(at..at + size);
            if fails(&fewer.join("\n")) {
                lines = fewer;
            } else {
                at += 1;
            }
        }
        size /= 2;
    }
    lines.join("\n")
}

fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")),
        Err(_) => otherwise,
    }
}

/// The tiers of this CPU that kernels are compiled for.
fn tiers() -> Vec<Tier> {
    let mut all = Tier::available();
    all.retain(|tier| tier.is_compiled());
    all
}

#[test]
fn random_kernels_give_the_same_bits() {
    same_bits(|random| {
        let block = BLOCKS[random.below(BLOCKS.len())];
        let whole = block.iter().product::<u32>().is_multiple_of(32);
        (block, kernel(random, whole))
    });
}

#[test]
fn places_of_rows_and_lanes_give_the_same_bits() {
    same_bits(|random| {
        let block = places::BLOCKS[random.below(places::BLOCKS.len())];
        (block, places::kernel(random))
    });
}

#[test]
fn lanes_that_part_and_move_on_give_the_same_bits() {
    same_bits(|random| {
        let block = places::BLOCKS[random.below(places::BLOCKS.len())];
        (block, walks::kernel(random))
    });
}

#[test]
fn sums_that_wait_at_barriers_have_the_same_bits() {
    same_bits(|random| ([64 << random.below(2), 1, 1], rounds::kernel(random)));
}

#[test]
fn rows_read_up_to_their_edge_give_the_same_bits() {
    same_bits(|random| {
        let x = [32, 32, 64, 128, 40][random.below(5)];
        ([x, 1, 1], edges::kernel(random))
    });
}

#[test]
fn pairs_of_words_by_fours_of_lanes_give_the_same_bits() {
    same_bits(|random| ([32 << random.below(3), 1, 1], rounds::pairs(random)));
}

/// Runs kernels for blocks interpreted and compiled.
fn same_bits(make: impl Fn(&mut Random) -> ([u32; 3], String)) {
    let first = number("WARPSMITH_SEED", 1);
    for seed in first..first + number("WARPSMITH_KERNELS", KERNELS) {
        let mut random = Random(seed);
        let (block, text) = make(&mut random);
        let input: Vec<u8> = (0..INPUT / 4)
            .flat_map(|_| random.word().to_le_bytes())
            .collect();
        let want = run(&text, block, &input, None).unwrap_or_else(|error| {
            panic!("seed {seed} gives a kernel that does not run: {error}")
        });
        for tier in tiers() {
            let got = run(&text, block, &input, Some(tier))
                .unwrap_or_else(|e| panic!("seed {seed}, compiled for {tier:?}: {e}"));
            if want != got {
                report(seed, text.clone(), block, &input, tier);
            }
        }
    }
}

/// Says what a kernel does otherwise when it is compiled, with no line that it does not need for that.
fn report(seed: u64, text: String, block: [u32; 3], input: &[u8], tier: Tier) -> ! {
    let differs = |text: &str| {
        let want = run(text, block, input, None).ok()?;
        let got = run(text, block, input, Some(tier)).ok()?;
        let at = want.iter().zip(&got).position(|(a, b)| a != b)?;
        Some((at as u64, want, got))
    };
    let text = shrunk(text, |text| differs(text).is_some());
    let (at, want, got) = differs(&text).expect("it still differs");
    let word = |bytes: &[u8]| {
        let start = at as usize & !3;
        u32::from_le_bytes(bytes[start..start + 4].try_into().expect("four bytes"))
    };
    panic!(
        "seed {seed}, {tier:?}, block {block:?}: byte {} of thread {}: {:#010x}, not {:#010x}\n{text}",
        at % OUTPUT,
        at / OUTPUT,
        word(&got),
        word(&want)
    );
}

/// More registers than are followed through a kernel: it is interpreted, whatever was asked for.
#[test]
fn a_kernel_of_very_many_registers_runs() {
    let count = 20_000;
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n.reg .b64 %d<3>;\n",
    );
    text += &format!(".reg .b32 %r<{}>;\n", count + 1);
    text += "ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %r0, %tid.x;\n";
    text += &format!("mad.wide.u32 %d2, %r0, {OUTPUT}, %d1;\n");
    for i in 1..=count {
        text += &format!("add.u32 %r{i}, %r{}, 1;\n", i - 1);
    }
    text += &format!("st.global.u32 [%d2], %r{count};\nret;\n}}\n");
    for tier in tiers() {
        let out = run(&text, [32, 1, 1], &[0; INPUT as usize], Some(tier)).expect("it runs");
        for lane in 0..32u32 {
            let at = lane as usize * OUTPUT as usize;
            let word: [u8; 4] = out[at..at + 4].try_into().expect("four bytes");
            assert_eq!(u32::from_le_bytes(word), lane + count);
        }
    }
}

/// A fragment of A that many of B are multiplied with, more than there is room for at once: what stood there first is
/// prepared again. The sums are the first product's, the chain's, and the last's.
#[test]
fn a_fragment_outlives_the_room_of_others() {
    const COUNT: u32 = 120;
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n.reg .b64 %d<5>;\n.reg .b32 %a<6>;\n",
    );
    text += &format!(".reg .b32 %b<{}>;\n.reg .f32 %f<12>;\n", 2 * COUNT);
    text += "ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %a4, %tid.x;\n";
    text += &format!("mad.wide.u32 %d2, %a4, {OUTPUT}, %d1;\nmad.wide.u32 %d3, %a4, 4, %d0;\n");
    for i in 0..4 {
        // Halves between 1 and 2.
        text += &format!("ld.global.u32 %a{i}, [%d3+{}];\n", 128 * i);
        text += &format!("and.b32 %a{i}, %a{i}, 0x03FF03FF;\nor.b32 %a{i}, %a{i}, 0x3C003C00;\n");
    }
    for i in 0..12 {
        text += &format!("mov.f32 %f{i}, 0f3F000000;\n");
    }
    for i in 0..2 * COUNT {
        text += &format!("mul.lo.u32 %b{i}, %a{}, {};\n", i % 4, 2 * i + 1);
        text += &format!("and.b32 %b{i}, %b{i}, 0x03FF03FF;\nor.b32 %b{i}, %b{i}, 0x3C003C00;\n");
    }
    for i in 0..COUNT {
        // Sums in two quartets by turns, and from time to time from one into the other.
        let (from, to) = match i % 5 {
            4 => (4 * (i % 3), 4 * ((i + 1) % 3)),
            _ => (4 * (i % 3), 4 * (i % 3)),
        };
        let four = |at: u32| {
            (at..at + 4)
                .map(|f| format!("%f{f}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        text += &format!(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{}}}, {{%a0, %a1, %a2, %a3}}, {{%b{}, %b{}}}, {{{}}};\n",
            four(to),
            2 * i,
            2 * i + 1,
            four(from),
        );
    }
    for i in 0..12 {
        text += &format!("st.global.f32 [%d2+{}], %f{i};\n", 4 * i);
    }
    text += "ret;\n}\n";
    let input: Vec<u8> = (0..INPUT as usize)
        .map(|at| (at * at % 251) as u8)
        .collect();
    let want = run(&text, [32, 1, 1], &input, None).expect("it runs");
    for tier in tiers() {
        let found = run(&text, [32, 1, 1], &input, Some(tier)).expect("it runs");
        assert!(found == want, "{tier:?}");
    }
}
