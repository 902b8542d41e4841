//! Products in tensor memory: kinds, shapes, layouts, and what is added to what, against sums of the host.

use crate::{
    harness::Case,
    tensor_copies::Tile,
    tensor_memory::{Work, committed, random},
    tensor_numbers::{E2M1, E4M3, E5M2, F16, Number, PACKED, S8, TF32, U8, matrix, scale},
};
use warpsmith_vgpu::check::Kind;

/// What D is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sum {
    F16,
    F32,
    S32,
}

/// Scales of blocks of k.
#[derive(Clone, Copy)]
pub(crate) struct Scales<'a> {
    /// Blocks of each 32 bytes of k.
    pub(crate) blocks: usize,
    /// The bytes that the first blocks of A and B have.
    pub(crate) first: [usize; 2],
    pub(crate) is_power: bool,
    /// The scale of a row of A or of B, and a block.
    pub(crate) of: &'a dyn Fn(usize, usize, usize) -> u8,
}

/// A product, or several that are added up.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    pub(crate) kind: &'a str,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) a: Number,
    pub(crate) b: Number,
    pub(crate) tiles: [Tile; 2],
    /// So many products, of steps of 32 bytes of k.
    pub(crate) steps: usize,
    pub(crate) in_tensor: bool,
    pub(crate) sum: Sum,
    /// More of the instruction descriptor.
    pub(crate) more: u32,
    /// What says whether the first adds to D.
    pub(crate) adds: &'a str,
    /// So often D is halved before the first.
    pub(crate) halved: u32,
    pub(crate) left_out: Option<[u32; 4]>,
    /// The first lane of D, 16 only of 64 rows.
    pub(crate) lane: usize,
    pub(crate) scales: Option<Scales<'a>>,
    /// D before.
    pub(crate) start: &'a dyn Fn(usize, usize) -> u32,
}

/// Bits of an instruction descriptor.
pub(crate) const SATURATES: u32 = 1 << 3;
pub(crate) const NEGATES: [u32; 2] = [1 << 13, 1 << 14];

/// Where B starts in shared memory.
const B: usize = 32768;
const SHARED: usize = 65536;
/// The first column of D.
const D: usize = 3;

pub(crate) fn tile(pattern: usize, transposed: bool) -> Tile {
    // Patterns repeat each 8 rows of them; in between there is some room.
    let (leading, stride) = match (pattern, transposed) {
        (0, false) => (128, 272),
        (0, true) => (4096 + 16, 128),
        (_, false) => (0, 128 << pattern),
        (_, true) => (4096, 128 << pattern),
    };
    Tile {
        pattern,
        transposed,
        leading,
        stride,
    }
}

const fn plain(pattern: usize) -> Tile {
    Tile {
        pattern,
        transposed: false,
        leading: 0,
        stride: 128 << pattern,
    }
}

const SMALL: (f64, f64) = (0.0625, 6.0);

fn small(lane: usize, column: usize) -> u32 {
    ((random(9, 512 * lane + column) % 255) as f32 * 0.25 - 32.0).to_bits()
}

pub(crate) const BASE: Product<'static> = Product {
    kind: "f16",
    m: 128,
    n: 32,
    a: F16,
    b: F16,
    tiles: [plain(3), plain(3)],
    steps: 1,
    in_tensor: false,
    sum: Sum::F32,
    more: 0,
    adds: "1",
    halved: 0,
    left_out: None,
    lane: 0,
    scales: None,
    start: &small,
};

impl Product<'_> {
    /// The first columns of A and of the scales, behind D, and how many columns there are.
    pub(crate) fn columns(&self) -> ([usize; 3], usize) {
        let a = D + self.n + 5;
        let scales = a + if self.in_tensor { 8 * self.steps } else { 0 } + 1;
        let end = scales + if self.scales.is_some() { 16 } else { 0 };
        ([a, scales, scales + 5], end.next_power_of_two().max(32))
    }

    /// Elements of 32 bytes of k.
    fn depth(&self) -> usize {
        2 * self.a.per
    }

    /// The instruction descriptor (PTX ISA 9.7.16.4.2).
    pub(crate) fn instruction(&self) -> u32 {
        let turned = self.tiles.map(|tile| u32::from(tile.transposed));
        let (m, n) = (self.m as u32, self.n as u32);
        let shape = match self.scales {
            None => m >> 4 << 24 | (self.sum as u32) << 4,
            Some(scales) => {
                let [a, b] = scales.first.map(|first| first as u32);
                m >> 7 << 27 | a << 29 | b << 4 | u32::from(scales.is_power) << 23
            }
        };
        let types = self.a.code << 7 | self.b.code << 10;
        self.more ^ (shape | types | turned[0] << 15 | turned[1] << 16 | n >> 3 << 17)
    }

    fn lane_of(&self, row: usize) -> usize {
        match self.m {
            64 => row / 16 * 32 + row % 16 + self.lane,
            _ => row,
        }
    }

    /// Elements of a matrix at their places in shared memory.
    fn put(
        &self,
        shared: &mut [u8],
        (which, start): (usize, usize),
        rows: usize,
        bits_of: &dyn Fn(usize, usize) -> u32,
    ) {
        let (number, tile) = ([self.a, self.b][which], self.tiles[which]);
        for row in 0..rows {
            for k in 0..self.steps * self.depth() {
                let [along, across] = if tile.transposed { [row, k] } else { [k, row] };
                let at = tile.unit(start, along / number.per, across);
                let unit: &mut [u8; 16] = (&mut shared[at..at + 16]).try_into().expect("16 bytes");
                let first = along % number.per * number.bits;
                let mask = ((1u128 << number.bits) - 1) << first;
                let old = u128::from_le_bytes(*unit) & !mask;
                *unit = (old | u128::from(bits_of(row, k)) << first & mask).to_le_bytes();
            }
        }
    }

    /// The descriptor of a matrix at a step.
    fn step_of(&self, which: usize, start: usize, step: usize) -> u64 {
        let tile = self.tiles[which];
        let moved = match tile.transposed {
            true => tile.plain(0, step * self.depth()),
            false => tile.plain(2 * step, 0),
        };
        tile.descriptor(start + moved)
    }

    fn body(&self) -> String {
        let [at_a, scales_a, scales_b] = self.columns().0;
        let mut body = "  setp.eq.u32 %p4, %r0, %r0; setp.ne.u32 %p5, %r0, %r0;\n".to_owned();
        for step in 0..self.steps {
            let [a, b] = [(0, 0), (1, B)].map(|(which, start)| self.step_of(which, start, step));
            let from = match self.in_tensor {
                true => format!("[%r14+{}]", at_a + 8 * step + (self.lane << 16)),
                false => "%d10".to_owned(),
            };
            let scales = match self.scales {
                Some(_) => format!(", [%r14+{scales_a}], [%r14+{scales_b}]"),
                None => String::new(),
            };
            let left_out = match self.left_out {
                Some([a, b, c, d]) => {
                    body += &format!(
                        "  mov.u32 %r20, {a}; mov.u32 %r21, {b}; mov.u32 %r22, {c}; \
                         mov.u32 %r23, {d};\n"
                    );
                    ", {%r20, %r21, %r22, %r23}"
                }
                None => "",
            };
            let (adds, halved) = match step {
                0 => (self.adds, self.halved),
                _ => ("1", 0),
            };
            let tail = match halved {
                0 => String::new(),
                times => format!(", {times}"),
            };
            let d = D + (self.lane << 16);
            body += &format!(
                "  mov.b64 %d10, {a}; add.u64 %d10, %d10, %d9;
  mov.b64 %d11, {b}; add.u64 %d11, %d11, %d9;
  mov.b32 %r24, {};
  @%p1 tcgen05.mma.cta_group::1.kind::{} [%r14+{d}], {from}, %d11, %r24{scales}{left_out}, {adds}{tail};
",
                self.instruction(),
                self.kind,
            );
        }
        body + &committed(0)
    }

    /// What runs it: with A, B, scales and D at their places, and words that look like chance elsewhere.
    pub(crate) fn work(
        &self,
        a: &dyn Fn(usize, usize) -> u32,
        b: &dyn Fn(usize, usize) -> u32,
    ) -> Work {
        let ([at_a, scales_a, scales_b], columns) = self.columns();
        let mut work = Work::new(columns, self.body());
        let chance = (0..SHARED).map(|at| random(7, at) as u8);
        work.shared = chance.collect();
        self.put(&mut work.shared, (1, B), self.n, b);
        let mut set =
            |lane: usize, column: usize, word: u32| work.image[columns * lane + column] = word;
        for lane in 0..128 {
            for column in 0..self.n {
                set(lane, D + column, (self.start)(lane, column));
            }
        }
        if let Some(scales) = self.scales {
            for (which, rows) in [(0, self.m), (1, self.n)] {
                for row in 0..rows {
                    for quarter in 0..4 {
                        let lane = 32 * quarter + row % 32;
                        let column = [scales_a, scales_b][which] + row / 32;
                        let mut word = random(6, 512 * lane + column).to_le_bytes();
                        for block in 0..scales.blocks {
                            word[scales.first[which] + block] = (scales.of)(which, row, block);
                        }
                        set(lane, column, u32::from_le_bytes(word));
                    }
                }
            }
        }
        if self.in_tensor {
            let per = 32 / self.a.bits;
            for row in 0..self.m {
                for word in 0..8 * self.steps {
                    let bits = (0..per).map(|at| a(row, word * per + at) << (at * self.a.bits));
                    let word_of = bits.fold(0, |all, one| all | one);
                    set(self.lane_of(row), at_a + word, word_of);
                }
            }
        } else {
            self.put(&mut work.shared, (0, 0), self.m, a);
        }
        work
    }

    /// What is in a cell of D afterwards, as a number.
    fn sum(
        &self,
        (row, column): (usize, usize),
        a: &dyn Fn(usize, usize) -> u32,
        b: &dyn Fn(usize, usize) -> u32,
    ) -> f64 {
        let signs = NEGATES.map(|bit| if self.more & bit != 0 { -1.0 } else { 1.0 });
        let bits = (self.start)(self.lane_of(row), column);
        let before = match self.sum {
            Sum::F16 => F16.value(bits & 0xFFFF),
            Sum::F32 => f64::from(f32::from_bits(bits)),
            Sum::S32 => f64::from(bits as i32),
        };
        let mut sum = match self.adds {
            "0" | "%p5" | "!%p4" => 0.0,
            _ => before * 0.5f64.powi(self.halved as i32),
        };
        for k in 0..self.steps * self.depth() {
            let mut product =
                signs[0] * signs[1] * self.a.value(a(row, k)) * self.b.value(b(column, k));
            if let Some(scales) = self.scales {
                let block = k % self.depth() / (self.depth() / scales.blocks);
                for (which, row) in [(0, row), (1, column)] {
                    product *= scale((scales.of)(which, row, block), scales.is_power);
                }
            }
            sum += product;
        }
        sum
    }

    /// It is run, and each word of tensor memory is as it must be: sums must be exact.
    #[track_caller]
    pub(crate) fn check(&self, a: &dyn Fn(usize, usize) -> u32, b: &dyn Fn(usize, usize) -> u32) {
        self.check_work(&self.work(a, b), a, b);
    }

    /// The same of what else does it.
    #[track_caller]
    fn check_work(
        &self,
        work: &Work,
        a: &dyn Fn(usize, usize) -> u32,
        b: &dyn Fn(usize, usize) -> u32,
    ) {
        let columns = work.columns;
        let (found, _) = work.run();
        let mut of_d = vec![None; found.len()];
        for row in 0..self.m {
            let lane = self.lane_of(row);
            let left_out = self.left_out.unwrap_or_default();
            if left_out[lane / 32] >> (lane % 32) & 1 == 0 {
                for column in 0..self.n {
                    of_d[columns * lane + D + column] = Some((row, column));
                }
            }
        }
        for (at, found) in found.into_iter().enumerate() {
            let place = format!(
                "{}, lane {}, column {}",
                self.kind,
                at / columns,
                at % columns
            );
            let Some((row, column)) = of_d[at] else {
                assert_eq!(found, work.image[at], "{place}: not of D");
                continue;
            };
            let sum = self.sum((row, column), a, b);
            let place = format!(
                "{place}: row {row}, column {column} of {}x{}",
                self.m, self.n
            );
            match self.sum {
                Sum::S32 => {
                    let whole = sum as i64;
                    let clamped = whole.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                    let saturates = self.more & SATURATES != 0;
                    let wanted = if saturates { clamped } else { whole as i32 };
                    assert_eq!(found as i32, wanted, "{place}");
                }
                Sum::F32 | Sum::F16 => {
                    let found = match self.sum {
                        Sum::F16 => F16.value(found & 0xFFFF),
                        _ => f64::from(f32::from_bits(found)),
                    };
                    let is_right = found == sum || found.is_nan() && sum.is_nan();
                    assert!(is_right, "{place}: {found} for {sum}");
                }
            }
        }
    }

    /// With numbers that look like chance.
    #[track_caller]
    pub(crate) fn check_some(&self) {
        let a = matrix(self.a, 11, SMALL);
        let b = matrix(self.b, 12, SMALL);
        self.check(&a, &b);
    }
}

#[test]
fn each_layout_in_shared_memory_gives_the_same_product() {
    let layouts = [0, 1, 2, 3].map(|pattern| [false, true].map(|turned| tile(pattern, turned)));
    for (at, first) in layouts.as_flattened().iter().enumerate() {
        // Each is once A and once B; the other is another each time.
        let second = layouts.as_flattened()[(3 * at + 2) % 8];
        let tiles = [*first, second];
        let base = Product { tiles, ..BASE };
        Product {
            m: 64,
            n: 72,
            ..base
        }
        .check_some();
        // Elements of less than a byte are together by k only.
        let b = if second.transposed { E5M2 } else { E2M1 };
        let (kind, a) = ("f8f6f4", E4M3);
        Product {
            kind,
            a,
            b,
            n: 48,
            ..base
        }
        .check_some();
        let (kind, sum) = ("i8", Sum::S32);
        let byte = |seed| move |row, k| random(seed, 64 * row + k) & 0xFF;
        let product = Product {
            kind,
            a: S8,
            b: U8,
            sum,
            start: &whole,
            ..base
        };
        product.check(&byte(31), &byte(32));
    }
    for pattern in 0..4 {
        let tiles = [tile(pattern, false), tile((pattern + 1) % 4, false)];
        let (kind, a, b) = ("tf32", TF32, TF32);
        Product {
            kind,
            a,
            b,
            tiles,
            m: 64,
            n: 24,
            ..BASE
        }
        .check_some();
    }
}

#[test]
fn products_of_several_steps_are_added_up() {
    // In K-major layouts a step is 32 bytes further in each row.
    for (pattern, steps) in [(2, 2), (3, 3), (3, 4)] {
        let tiles = [tile(pattern, false), tile(3, false)];
        Product {
            steps,
            tiles,
            n: 40,
            adds: "%p5",
            ..BASE
        }
        .check_some();
    }
    // Transposed it is as many steps of 8 further.
    for pattern in 0..4 {
        let tiles = [tile(pattern, true), tile(3 - pattern, true)];
        Product {
            steps: 3,
            tiles,
            m: 64,
            n: 16,
            ..BASE
        }
        .check_some();
    }
    let (kind, a, b) = ("mxf4.block_scale", PACKED, PACKED);
    let of = &|which, row, block| 126 + (random(41 + which as u64, 2 * row + block) % 3) as u8;
    let scales = Some(Scales {
        blocks: 2,
        first: [2, 0],
        is_power: true,
        of,
    });
    Product {
        kind,
        a,
        b,
        scales,
        steps: 2,
        in_tensor: true,
        n: 136,
        ..BASE
    }
    .check_some();
}

#[test]
fn products_wait_for_one_another_by_several_commits() {
    // The second adds to what the first left, after a wait for it; by a generic address of the barrier too.
    let product = Product {
        tiles: [plain(2); 2],
        steps: 2,
        m: 64,
        n: 32,
        ..BASE
    };
    let [a, b] = [(F16, 13), (F16, 14)].map(|(of, seed)| matrix(of, seed, SMALL));
    let mut work = product.work(&a, &b);
    let second = work
        .body
        .rfind("  mov.b64 %d10")
        .expect("the second product");
    let first = committed(0).replace(".shared::cluster.b64 [%r12]", ".b64 [%d13]");
    let generic = "  mov.u64 %d13, bar; cvta.shared.u64 %d13, %d13;\n";
    let last = work
        .body
        .split_off(second)
        .replace(&committed(0), &committed(1));
    work.body = format!("{generic}{}{first}  bar.sync 0;\n{last}", work.body);
    let kept = "collector::a::fill";
    work.body = work
        .body
        .replacen("kind::f16 ", &format!("kind::f16.{kept} "), 1);
    product.check_work(&work, &a, &b);
}

#[test]
fn scales_come_by_copies() {
    // 32 rows of 16 bytes are all scales of 128 rows of A or B, and go to each quarter of the lanes (CUTLASS).
    let of = &|which, row, block| 126 + (random(43 + which as u64, row + 7 * block) % 3) as u8;
    let scales = Some(Scales {
        blocks: 1,
        first: [2, 1],
        is_power: true,
        of,
    });
    let (kind, a, b) = ("mxf8f6f4.block_scale.block32", E4M3, E5M2);
    let product = Product {
        kind,
        a,
        b,
        scales,
        n: 128,
        ..BASE
    };
    let [a, b] = [(a, 44), (b, 45)].map(|(of, seed)| matrix(of, seed, (0.25, 6.0)));
    let mut work = product.work(&a, &b);
    let ([_, scales_a, scales_b], columns) = product.columns();
    let copied = Tile {
        leading: 0,
        ..tile(0, false)
    };
    for (which, start, column) in [(0, 24576, scales_a), (1, 28672, scales_b)] {
        for row in 0..32 {
            for word in 0..4 {
                let at = copied.unit(start, 0, row) + 4 * word;
                let from = columns * row + column + word;
                work.shared[at..at + 4].copy_from_slice(&work.image[from].to_le_bytes());
            }
        }
        for lane in 0..128 {
            for word in 0..4 {
                work.image[columns * lane + column + word] = 0xFFFF_FFFF;
            }
        }
        let descriptor = copied.descriptor(start);
        work.body = format!(
            "  mov.b64 %d{0}, {descriptor}; add.u64 %d{0}, %d{0}, %d9;\n  \
             @%p1 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r14+{column}], %d{0};\n{1}",
            20 + which,
            work.body
        );
    }
    let found = work.run().0;
    for row in 0..128 {
        for column in 0..128 {
            let cell = f32::from_bits(found[columns * row + D + column]);
            let sum = product.sum((row, column), &a, &b);
            assert_eq!(f64::from(cell), sum, "row {row}, column {column}");
        }
    }
}

#[test]
fn operands_are_fenced_or_it_is_found() {
    let right = Product { n: 8, ..BASE }.work(&|_, _| 0, &|_, _| 0).case();
    assert_eq!(right.finds(), []);
    let text = right.text.replacen("  fence.proxy.async;\n", "", 1);
    let found = Case { text, ..right }.finds();
    let is_product =
        |one: &(Kind, String)| one.0 == Kind::ProxyFence && one.1.starts_with("@%p1 tcgen05.mma");
    assert!(
        !found.is_empty() && found.iter().all(is_product),
        "{found:?}"
    );
}

/// Any word.
pub(crate) fn whole(lane: usize, column: usize) -> u32 {
    random(5, 512 * lane + column)
}
