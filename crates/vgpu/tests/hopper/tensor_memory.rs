//! Tensor memory: what moves to and from it against tables of its own, what is given out, and what faults.

use crate::harness::{BLACKWELL, Case, bytes, kernel, plain};
use warpsmith_vgpu::{Compile, Config, Error, FaultKind, Misuse, check::Checks};

/// A word that looks like chance.
pub(crate) fn random(seed: u64, at: usize) -> u32 {
    let mut x = (seed << 40 ^ at as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ x >> 31) as u32
}

/// So many words that look like chance.
pub(crate) fn words(seed: u64, count: usize) -> Vec<u32> {
    (0..count).map(|at| random(seed, at)).collect()
}

/// What four warps do to tensor memory that is full of known words.
///
/// In the body `%r14` is the address of the first column, `%r15` that of the warp's lanes in it, `%d9` the address of the
/// shared words in units of 16 bytes, `%p1` holds in thread 0 only; `%u` are the registers that a thread is given, and of
/// `%v` some are kept.
pub(crate) struct Work {
    /// Columns that are given out, a power of two from 32 on.
    pub(crate) columns: usize,
    /// The words before, a lane's behind each other.
    pub(crate) image: Vec<u32>,
    /// Shared memory before, a multiple of 2048 bytes.
    pub(crate) shared: Vec<u8>,
    /// What is in `%u`, a thread's behind each other.
    pub(crate) given: Vec<u32>,
    /// How many of `%v` are kept.
    pub(crate) kept: usize,
    pub(crate) body: String,
}

/// `prefix0, prefix1, ...` in braces.
fn list(prefix: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|at| format!("{prefix}{at}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// All that was done before is complete in every thread: the `phase`th time.
pub(crate) fn committed(phase: usize) -> String {
    format!(
        "
  @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r12];
done{phase}:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r12], {};
  @!%p3 bra done{phase};
  tcgen05.fence::after_thread_sync;
",
        phase % 2
    )
}

const MEET: &str =
    "  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n";

impl Work {
    /// With words that look like chance everywhere.
    pub(crate) fn new(columns: usize, body: String) -> Work {
        Work {
            columns,
            image: words(1, 128 * columns),
            shared: bytes(&words(2, 512)),
            given: Vec::new(),
            kept: 0,
            body,
        }
    }

    /// Shared memory is filled, and columns are given out.
    fn begin(&self) -> String {
        // If there is room, the first column is not the first of all.
        let before = match self.columns {
            512 => "",
            _ => "  @%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r13+4], 32;\n",
        };
        format!(
            "
  mov.u32 %r2, tiles; mov.u32 %r12, bar; mov.u32 %r13, slots;
  shr.u32 %r3, %r2, 4; cvt.u64.u32 %d9, %r3;
  setp.eq.u32 %p1, %r0, 0; setp.lt.u32 %p2, %r0, 32;
  shl.b32 %r3, %r0, 4;
copy:
  cvt.u64.u32 %d4, %r3; add.u64 %d4, %d1, %d4;
  ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d4];
  add.u32 %r8, %r2, %r3; st.shared.v4.u32 [%r8], {{%r4, %r5, %r6, %r7}};
  add.u32 %r3, %r3, 2048; setp.lt.u32 %p3, %r3, {};
  @%p3 bra copy;
  @%p1 mbarrier.init.shared.b64 [%r12], 1;
{before}
  @%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r13], {};
  fence.proxy.async;
  bar.sync 0;
  ld.shared.u32 %r14, [%r13]; ld.shared.u32 %r16, [%r13+4];
  shr.u32 %r15, %r0, 5; shl.b32 %r15, %r15, 21; add.u32 %r15, %r15, %r14;
",
            self.shared.len(),
            self.columns
        )
    }

    pub(crate) fn case(&self) -> Case {
        let given = self.given.len() / 128;
        let mut body = self.begin();
        body += &format!(
            "  mul.wide.u32 %d4, %r0, {0}; add.u64 %d5, %d0, %d4; add.u64 %d6, %d3, %d4;\n\
             \x20 mul.wide.u32 %d4, %r0, {1}; add.u64 %d7, %d2, %d4;\n\
             \x20 mul.wide.u32 %d4, %r0, {2}; add.u64 %d8, %d3, %d4; add.u64 %d8, %d8, {3};\n",
            4 * self.columns,
            4 * given,
            4 * self.kept,
            512 * self.columns
        );
        for first in (0..self.columns).step_by(32) {
            for at in 0..32 {
                let from = 4 * (first + at);
                body += &format!("  ld.global.u32 %w{at}, [%d5+{from}];\n");
            }
            let all = list("%w", 32);
            body += &format!("  tcgen05.st.sync.aligned.32x32b.x32.b32 [%r15+{first}], {all};\n");
        }
        body += "  tcgen05.wait::st.sync.aligned;\n";
        for at in 0..given {
            body += &format!("  ld.global.u32 %u{at}, [%d7+{}];\n", 4 * at);
        }
        for at in 0..self.kept {
            body += &format!("  mov.u32 %v{at}, 0xDEADBEEF;\n");
        }
        body = body + MEET + &self.body + MEET;
        for first in (0..self.columns).step_by(32) {
            let all = list("%w", 32);
            body += &format!(
                "  tcgen05.ld.sync.aligned.32x32b.x32.b32 {all}, [%r15+{first}];\n  \
                 tcgen05.wait::ld.sync.aligned;\n"
            );
            for at in 0..32 {
                let to = 4 * (first + at);
                body += &format!("  st.global.u32 [%d6+{to}], %w{at};\n");
            }
        }
        for at in 0..self.kept {
            body += &format!("  st.global.u32 [%d8+{}], %v{at};\n", 4 * at);
        }
        body += MEET;
        for (column, count) in [("%r14", self.columns), ("%r16", 32)] {
            if column == "%r14" || self.columns < 512 {
                body += &format!(
                    "  @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 {column}, {count};\n"
                );
            }
        }
        let registers = "  .reg .b32 %u<128>; .reg .b32 %v<128>; .reg .b32 %w<32>;";
        let text = kernel("", 4, registers, &body);
        let variables = ".extern .shared .align 1024 .b8 tiles[];\n.shared .align 8 .b64 bar;\n\
                         .shared .align 4 .b32 slots[2];\n";
        Case {
            head: BLACKWELL,
            block: 128,
            dynamic_shared: self.shared.len() as u32,
            inputs: vec![
                bytes(&self.image),
                self.shared.clone(),
                bytes(&[&self.given[..], &[0]].concat()),
            ],
            ..Case::new(
                format!("{variables}{text}"),
                128 * (self.columns + self.kept),
            )
        }
    }

    /// The words of tensor memory afterwards, and what was kept.
    #[track_caller]
    pub(crate) fn run(&self) -> (Vec<u32>, Vec<u32>) {
        let mut image = self.case().run();
        let kept = image.split_off(128 * self.columns);
        (image, kept)
    }
}

/// The misuse that a kernel faults with, the same in every way.
#[track_caller]
pub(crate) fn misuse(case: &Case) -> Misuse {
    let ways = [
        Config {
            compile: Compile::Always,
            ..plain()
        },
        plain(),
        Config {
            checks: Some(Checks::default()),
            ..plain()
        },
    ];
    let found = ways.map(|way| match case.run_on(way).0 {
        Err(Error::Fault(fault)) => match fault.kind {
            FaultKind::Misuse(misuse) => misuse,
            other => panic!("{other:?}"),
        },
        other => panic!("{:?}", other.map(|words| words.len())),
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    found[0]
}

/// Where `at` is in a mode of a layout, given as extents and strides (CuTe).
pub(crate) fn place(mode: &[(usize, usize)], mut at: usize) -> usize {
    let mut sum = 0;
    for &(extent, stride) in mode {
        sum += at % extent * stride;
        at /= extent;
    }
    sum
}

/// A shape with its repeats: the bits of a row, and where threads and bits of their registers are in the rows (CUTLASS,
/// `copy_traits_sm100.hpp`, `DstLayout`).
fn traits(shape: &str, n: usize) -> (usize, Vec<(usize, usize)>, Vec<(usize, usize)>) {
    match shape {
        "32x32b" => (32 * n, vec![(32, 32 * n)], vec![(32 * n, 1)]),
        "16x32bx2" => (64 * n, vec![(16, 64 * n), (2, 32 * n)], vec![(32 * n, 1)]),
        "16x64b" => {
            let row = 64 * n;
            let threads = vec![(2, 8 * row), (2, 32), (8, row)];
            (row, threads, vec![(32, 1), (n, 64)])
        }
        "16x128b" => {
            let row = 128 * n;
            let values = vec![(32, 1), (2, 8 * row), (n, 128)];
            (row, vec![(4, 32), (8, row)], values)
        }
        "16x256b" => {
            let row = 256 * n;
            let values = vec![(64, 1), (2, 8 * row), (n, 256)];
            (row, vec![(4, 64), (8, row)], values)
        }
        _ => panic!("{shape}"),
    }
}

/// A shape is loaded and then stored, by each warp in its lanes; `upper` of the 16-lane shapes from the 16th on.
#[track_caller]
fn check_moves(shape: &str, n: usize, packed: bool, upper: bool, split: Option<usize>) {
    const FIRST: usize = 5;
    let (row, threads, values) = traits(shape, n);
    let registers = values.iter().map(|(extent, _)| extent).product::<usize>() / 32;
    let each = if packed { 16 } else { 32 };
    // Columns between the halves of `16x32bx2`: not always those that are next.
    let apart = split.map_or(0, |split| split as isize - (row / 2 / each) as isize);
    let columns = (FIRST + row / each).saturating_add_signed(apart.max(0));
    let columns = columns.next_power_of_two().max(32);
    let [pack, unpack] = match packed {
        true => [".pack::16b", ".unpack::16b"],
        false => ["", ""],
    };
    let to = format!("%r15+{}", FIRST + if upper { 16 << 16 } else { 0 });
    let split_of = split.map_or(String::new(), |split| format!(", {split}"));
    let (u, v) = (list("%u", registers), list("%v", registers));
    let mut work = Work::new(
        columns,
        format!(
            "
  tcgen05.ld.sync.aligned.{shape}.x{n}{pack}.b32 {v}, [{to}]{split_of};
  tcgen05.wait::ld.sync.aligned;
  tcgen05.st.sync.aligned.{shape}.x{n}{unpack}.b32 [{to}]{split_of}, {u};
  tcgen05.wait::st.sync.aligned;
"
        ),
    );
    work.given = words(3, 128 * registers);
    work.kept = registers;
    let (found, kept) = work.run();
    let mut expected = work.image.clone();
    // Of a column with a half of a register only that half is known.
    let mut known = vec![u32::MAX; expected.len()];
    for thread in 0..128 {
        for register in 0..registers {
            let mut loaded = 0;
            for part in 0..32 / each {
                let bit =
                    place(&threads, thread % 32) + place(&values, 32 * register + each * part);
                let lane = thread / 32 * 32 + bit / row + if upper { 16 } else { 0 };
                let mut column = FIRST + bit % row / each;
                if thread % 32 >= 16 {
                    column = column.saturating_add_signed(apart);
                }
                let cell = lane * columns + column;
                let mask = if packed { 0xFFFF } else { u32::MAX };
                loaded |= (work.image[cell] & mask) << (16 * part);
                expected[cell] = work.given[thread * registers + register] >> (16 * part) & mask;
                known[cell] = mask;
            }
            let what = format!("{shape}.x{n}{pack}, thread {thread}, register {register}");
            assert_eq!(kept[thread * registers + register], loaded, "{what}");
        }
    }
    for (cell, known) in known.iter().enumerate() {
        let what = format!(
            "{shape}.x{n}{unpack}, {} {}",
            cell / columns,
            cell % columns
        );
        assert_eq!(found[cell] & known, expected[cell] & known, "{what}");
    }
}

#[test]
fn full_lanes_are_loaded_and_stored_as_the_table_says() {
    for n in [1, 2, 16, 64, 128] {
        check_moves("32x32b", n, false, false, None);
    }
    for n in [1, 4, 32] {
        check_moves("32x32b", n, true, false, None);
    }
}

#[test]
fn half_the_lanes_are_loaded_and_stored_as_the_table_says() {
    for (shape, repeats) in [
        ("16x64b", [1, 2, 8, 64]),
        ("16x128b", [1, 2, 4, 32]),
        ("16x256b", [1, 2, 4, 16]),
    ] {
        for n in repeats {
            check_moves(shape, n, false, n % 3 == 1, None);
            if n < 16 {
                check_moves(shape, n, true, n % 3 != 1, None);
            }
        }
    }
}

#[test]
fn halves_of_a_warp_are_apart_by_the_split() {
    for (n, split) in [(1, 1), (1, 20), (4, 4), (4, 9), (16, 16), (8, 40)] {
        check_moves("16x32bx2", n, false, split % 2 == 0, Some(split));
    }
    for (n, split) in [(1, 2), (2, 4), (4, 13)] {
        check_moves("16x32bx2", n, true, split % 2 == 0, Some(split));
    }
}

/// A kernel of so many warps with two words in shared memory; `%p1` holds in the second warp.
fn small(warps: u32, body: &str, out: usize) -> Case {
    let start = "  mov.u32 %r13, slots; setp.ge.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r0, 0;\n";
    let text = kernel("", 1, "", &format!("{start}{body}"));
    Case {
        head: BLACKWELL,
        block: 32 * warps,
        ..Case::new(format!(".shared .align 4 .b32 slots[2];\n{text}"), out)
    }
}

/// `count` columns, whose address comes to a register.
fn alloc(count: &str, to: &str) -> String {
    format!(
        "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r13], {count};\n  \
         bar.warp.sync -1; ld.shared.u32 {to}, [%r13]; bar.warp.sync -1;\n"
    )
}

fn dealloc(at: &str, count: &str) -> String {
    format!("  tcgen05.dealloc.cta_group::1.sync.aligned.b32 {at}, {count};\n")
}

#[test]
fn columns_are_given_out_apart_and_again() {
    let counts = [32, 64, 128, 32, 256, 64, 128];
    let mut body = String::new();
    for (at, count) in counts.iter().enumerate() {
        if at == 5 {
            // What was given back has room for the next two.
            body += &dealloc("%r21", "64");
            body += &dealloc("%r22", "128");
        }
        body += &alloc(&count.to_string(), &format!("%r{}", 20 + at));
        body += &format!("  @%p2 st.global.u32 [%d0+{}], %r{};\n", 4 * at, 20 + at);
    }
    for at in [0, 3, 4, 5, 6] {
        body += &dealloc(&format!("%r{}", 20 + at), &counts[at].to_string());
    }
    // All of it is there again, and the address may be generic.
    body += "  mov.u64 %d1, slots; cvta.shared.u64 %d1, %d1;
  tcgen05.alloc.cta_group::1.sync.aligned.b32 [%d1], 512;
  bar.warp.sync -1; ld.shared.u32 %r40, [%r13];
  @%p2 st.global.u32 [%d0+28], %r40;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
";
    body += &dealloc("%r40", "512");
    let found = small(1, &body, 8).run();
    let range = |at: usize| found[at] as usize..found[at] as usize + counts[at];
    for (at, count) in counts.iter().enumerate() {
        let range = range(at);
        assert!(range.end <= 512, "{count} columns at {range:?}");
    }
    for live in [[0, 1, 2, 3, 4].as_slice(), &[0, 3, 4, 5, 6]] {
        for (i, one) in live.iter().enumerate() {
            for other in &live[..i] {
                let (one, other) = (range(*one), range(*other));
                assert!(
                    one.end <= other.start || other.end <= one.start,
                    "{found:?}"
                );
            }
        }
    }
    assert_eq!(found[7], 0);
}

#[test]
fn misuse_of_columns_is_a_fault() {
    let load = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r30}, [%r20];\n";
    let give = alloc("32", "%r20");
    let back = dealloc("%r20", "32");
    let of = |body: &str| misuse(&small(1, body, 1));
    // Nothing was given out, or it was given back, or less was given out.
    let zero = "  mov.u32 %r20, 0;\n";
    assert_eq!(of(&format!("{zero}{load}")), Misuse::TensorMemory);
    assert_eq!(of(&format!("{give}{back}{load}")), Misuse::TensorMemory);
    for body in [
        "  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r30, %r31}, [%r20+31];\n",
        "  tcgen05.st.sync.aligned.16x128b.x8.unpack::16b.b32 [%r20+1], {%r30, %r30, %r30, %r30, \
         %r30, %r30, %r30, %r30, %r30, %r30, %r30, %r30, %r30, %r30, %r30, %r30};\n",
        "  tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r30}, [%r20], 32;\n",
        "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r30}, [%r20+512];\n",
    ] {
        assert_eq!(of(&format!("{give}{body}")), Misuse::TensorMemory, "{body}");
    }
    assert_eq!(of(&format!("{zero}{back}")), Misuse::TensorMemory);
    assert_eq!(of(&format!("{give}{back}{back}")), Misuse::TensorMemory);
    let more = dealloc("%r20", "64");
    assert_eq!(of(&format!("{give}{more}")), Misuse::TensorMemory);
    // Numbers of columns that there are not.
    for count in [0, 1, 16, 48, 96, 1024] {
        let set = format!("  mov.u32 %r21, {count};\n");
        let bad = alloc("%r21", "%r20");
        assert_eq!(of(&format!("{set}{bad}")), Misuse::TensorColumns, "{count}");
        let bad = dealloc("%r20", "%r21");
        let body = format!("{give}{set}{bad}");
        assert_eq!(of(&body), Misuse::TensorColumns, "{count}");
    }
    // More than there are, and after the permit is gone.
    let most = alloc("512", "%r21");
    assert_eq!(of(&format!("{give}{most}")), Misuse::TensorMemoryFull);
    assert_eq!(of(&format!("{most}{give}")), Misuse::TensorMemoryFull);
    let no_more = "  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";
    let found = of(&format!("{give}{no_more}{give}"));
    assert_eq!(found, Misuse::TensorPermit);
}

#[test]
fn lanes_of_another_warp_are_a_fault() {
    let give = format!(
        "  @%p1 bra given;\n{}given:\n  bar.sync 0; ld.shared.u32 %r20, [%r13];\n",
        alloc("32", "%r20")
    );
    let of = |body: &str| misuse(&small(2, &format!("{give}{body}"), 1));
    // Both warps name the lanes of the first, or of the second, or others.
    for (shape, lane) in [
        ("32x32b", 0),
        ("32x32b", 32),
        ("16x64b", 0),
        ("16x64b", 48),
        ("32x32b", 16),
        ("16x64b", 8),
        ("32x32b", 128),
    ] {
        let at = lane << 16;
        let load = format!("  tcgen05.ld.sync.aligned.{shape}.x1.b32 {{%r30}}, [%r20+{at}];\n");
        assert_eq!(of(&load), Misuse::TensorLanes, "{shape} {lane}");
        let store = format!("  tcgen05.st.sync.aligned.{shape}.x1.b32 [%r20+{at}], {{%r30}};\n");
        assert_eq!(of(&store), Misuse::TensorLanes, "{shape} {lane}");
    }
}
