//! `mma.sync` against the fragment layouts of the PTX manual and scalar multiply-adds.

use super::harness::{Random, list, loads, run, stores};
use half::{bf16, f16};

/// A shape with its element type: rows of A, k, elements in a register.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) per: usize,
}

impl Shape {
    pub(crate) fn a_regs(self) -> usize {
        self.m * self.k / 32 / self.per
    }
    pub(crate) fn b_regs(self) -> usize {
        8 * self.k / 32 / self.per
    }
    pub(crate) fn c_regs(self) -> usize {
        self.m / 4
    }

    /// Row and k of element `i` of a lane.
    fn a(self, lane: usize, i: usize) -> (usize, usize) {
        let (group, t) = (lane / 4, lane % 4);
        let (reg, e) = (i / self.per, i % self.per);
        let halves = self.m / 8;
        (
            group + 8 * (reg % halves),
            t * self.per + e + reg / halves * 4 * self.per,
        )
    }

    /// k and column.
    fn b(self, lane: usize, i: usize) -> (usize, usize) {
        let (reg, e) = (i / self.per, i % self.per);
        (lane % 4 * self.per + e + reg * 4 * self.per, lane / 4)
    }

    /// Row and column.
    pub(crate) fn c(lane: usize, i: usize) -> (usize, usize) {
        (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2)
    }

    pub(crate) fn matrices<T: Copy + Default>(
        self,
        regs: &[[u32; 32]],
        read: impl Fn(u32, usize) -> T,
    ) -> (Vec<Vec<T>>, Vec<Vec<T>>) {
        let mut a = vec![vec![T::default(); self.k]; self.m];
        let mut b = vec![vec![T::default(); 8]; self.k];
        for lane in 0..32 {
            for i in 0..self.a_regs() * self.per {
                let (row, k) = self.a(lane, i);
                a[row][k] = read(regs[i / self.per][lane], i % self.per);
            }
            for i in 0..self.b_regs() * self.per {
                let (k, n) = self.b(lane, i);
                b[k][n] = read(regs[self.a_regs() + i / self.per][lane], i % self.per);
            }
        }
        (a, b)
    }
}

fn half_bits(reg: u32, e: usize) -> u16 {
    (reg >> (16 * e)) as u16
}

fn read_f16(reg: u32, e: usize) -> f32 {
    f16::from_bits(half_bits(reg, e)).to_f32()
}

fn read_bf16(reg: u32, e: usize) -> f32 {
    bf16::from_bits(half_bits(reg, e)).to_f32()
}

fn read_tf32(reg: u32, _: usize) -> f32 {
    f32::from_bits(reg & 0xFFFF_E000)
}

fn canonical(x: f32) -> u32 {
    if x.is_nan() { 0x7FFF_FFFF } else { x.to_bits() }
}

/// Registers of data: plain numbers, any bits at all, or the edges.
fn data(
    random: &mut Random,
    kind: u32,
    count: usize,
    number: impl Fn(i32) -> u32,
    edges: &[u32],
) -> Vec<[u32; 32]> {
    (0..count)
        .map(|_| {
            std::array::from_fn(|_| match kind {
                0 => number(random.below(4001) as i32 - 2000),
                1 => random.next(),
                _ if random.below(40) == 0 => edges[random.below(edges.len() as u32) as usize],
                _ => number(random.below(17) as i32 - 8),
            })
        })
        .collect()
}

fn flat(regs: &[[u32; 32]]) -> Vec<u32> {
    regs.iter().flatten().copied().collect()
}

fn check_float(
    shape: Shape,
    ty: &str,
    read: fn(u32, usize) -> f32,
    number: fn(i32) -> u32,
    edges: &[u32],
) {
    let (na, nb, nc) = (shape.a_regs(), shape.b_regs(), shape.c_regs());
    let body = format!(
        "{}{}{}  mma.sync.aligned.{}.row.col.f32.{ty}.{ty}.f32 {}, {}, {}, {};\n{}",
        loads("b32", "%r", 10, na, 0),
        loads("b32", "%r", 20, nb, na),
        loads("f32", "%f", 0, nc, na + nb),
        shape.name,
        list("%f", 8, nc),
        list("%r", 10, na),
        list("%r", 20, nb),
        list("%f", 0, nc),
        stores("f32", "%f", 8, nc, 0),
    );
    for kind in 0..3 {
        let mut random = Random::new(u64::from(kind) + 7);
        let mut regs = data(&mut random, kind, na + nb, number, edges);
        let float = |i: i32| (i as f32 * 0.37).to_bits();
        let specials = [
            0,
            1,
            0x8000_0000,
            0x7F80_0000,
            0xFF80_0000,
            0x7FC0_0001,
            0x0000_1234,
            0x7F7F_FFFF,
        ];
        regs.extend(data(&mut random, kind, nc, float, &specials));
        let got = run(&body, 32, &flat(&regs), 32 * nc);
        let (a, b) = shape.matrices(&regs, read);
        for lane in 0..32 {
            for i in 0..nc {
                let (row, column) = Shape::c(lane, i);
                let mut sum = f32::from_bits(regs[na + nb + i][lane]);
                for k in 0..shape.k {
                    sum = a[row][k].mul_add(b[k][column], sum);
                }
                assert_eq!(
                    got[32 * i + lane],
                    canonical(sum),
                    "{} {ty} kind {kind} ({row}, {column}) {sum:e}",
                    shape.name
                );
            }
        }
    }
}

fn twice(x: u16) -> u32 {
    u32::from(x) | u32::from(x ^ 0x8000) << 16
}

const F16_EDGES: [u32; 6] = [
    0x0001_8001,
    0x7C00_3C00,
    0xFC00_3C00,
    0x7E00_0000,
    0x7BFF_FBFF,
    0x03FF_0400,
];
const BF16_EDGES: [u32; 6] = [
    0x0001_8001,
    0x7F80_3F80,
    0xFF80_3F80,
    0x7FC0_0000,
    0x7F7F_FF7F,
    0x007F_0080,
];

#[test]
fn f16_products_have_the_bits_of_chained_multiply_adds() {
    let number = |i: i32| twice(f16::from_f32(i as f32 * 0.013).to_bits());
    for shape in [
        Shape {
            name: "m16n8k16",
            m: 16,
            k: 16,
            per: 2,
        },
        Shape {
            name: "m16n8k8",
            m: 16,
            k: 8,
            per: 2,
        },
    ] {
        check_float(shape, "f16", read_f16, number, &F16_EDGES);
    }
}

#[test]
fn bf16_products_have_the_bits_of_chained_multiply_adds() {
    let number = |i: i32| twice(bf16::from_f32(i as f32 * 0.013).to_bits());
    for shape in [
        Shape {
            name: "m16n8k16",
            m: 16,
            k: 16,
            per: 2,
        },
        Shape {
            name: "m16n8k8",
            m: 16,
            k: 8,
            per: 2,
        },
    ] {
        check_float(shape, "bf16", read_bf16, number, &BF16_EDGES);
    }
}

#[test]
fn bf16_products_near_the_ends_of_the_range_round_once() {
    // Products below the subnormals of f32, halfway cases among them, and sums that come back from overflow.
    let number = |i: i32| {
        let magnitude = [
            0x0080, 0x1F80, 0x2000, 0x2001, 0x1FFF, 0x7F00, 0x5F80, 0x3F80,
        ][i.unsigned_abs() as usize % 8];
        u32::from(magnitude | (i as u16) << 15) | 0x1F81_0000
    };
    check_float(
        Shape {
            name: "m16n8k16",
            m: 16,
            k: 16,
            per: 2,
        },
        "bf16",
        read_bf16,
        number,
        &BF16_EDGES,
    );
}

#[test]
fn tf32_products_have_the_bits_of_chained_multiply_adds() {
    let number = |i: i32| (i as f32 * 0.013).to_bits();
    let edges = [
        1,
        0x7F80_0000,
        0x7FC0_0000,
        0x7F7F_FFFF,
        0x0000_2000,
        0x1FFF,
    ];
    for shape in [
        Shape {
            name: "m16n8k8",
            m: 16,
            k: 8,
            per: 1,
        },
        Shape {
            name: "m16n8k4",
            m: 16,
            k: 4,
            per: 1,
        },
    ] {
        check_float(shape, "tf32", read_tf32, number, &edges);
    }
}

/// D of an f16 product, as f16 bits by row and column.
fn f16_sums(shape: Shape, regs: &[[u32; 32]], c: &[[u32; 32]]) -> Vec<[u32; 32]> {
    let (a, b) = shape.matrices(regs, read_f16);
    (0..2)
        .map(|reg| {
            std::array::from_fn(|lane| {
                let of = |e: usize| {
                    let (row, column) = Shape::c(lane, 2 * reg + e);
                    let mut sum = read_f16(c[reg][lane], e);
                    for k in 0..shape.k {
                        sum = a[row][k].mul_add(b[k][column], sum);
                    }
                    u32::from(if sum.is_nan() {
                        0x7FFF
                    } else {
                        f16::from_f32(sum).to_bits()
                    })
                };
                of(0) | of(1) << 16
            })
        })
        .collect()
}

#[test]
fn f16_accumulators_are_rounded_once() {
    for shape in [
        Shape {
            name: "m16n8k16",
            m: 16,
            k: 16,
            per: 2,
        },
        Shape {
            name: "m16n8k8",
            m: 16,
            k: 8,
            per: 2,
        },
    ] {
        let (na, nb) = (shape.a_regs(), shape.b_regs());
        let body = format!(
            "{}  mma.sync.aligned.{}.row.col.f16.f16.f16.f16 {{%r40, %r41}}, {}, {}, {};\n{}",
            loads("b32", "%r", 10, na + nb + 2, 0),
            shape.name,
            list("%r", 10, na),
            list("%r", 10 + na, nb),
            list("%r", 10 + na + nb, 2),
            stores("b32", "%r", 40, 2, 0),
        );
        for kind in 0..3 {
            let number = |i: i32| twice(f16::from_f32(i as f32 * 0.02).to_bits());
            let regs = data(&mut Random::new(3), kind, na + nb + 2, number, &F16_EDGES);
            let want = f16_sums(shape, &regs, &regs[na + nb..]);
            assert_eq!(
                run(&body, 32, &flat(&regs), 64),
                flat(&want),
                "{} kind {kind}",
                shape.name
            );
        }
    }
}

#[test]
fn a_fragment_that_a_product_wrote_is_read_anew_by_the_next() {
    let shape = Shape {
        name: "m16n8k16",
        m: 16,
        k: 16,
        per: 2,
    };
    let mma = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16";
    let body = format!(
        "{}  {mma} {{%r16, %r17}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%r16, %r17}};
  {mma} {{%r10, %r11}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%r16, %r17}};
  {mma} {{%r16, %r17}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%r16, %r17}};
  {mma} {{%r14, %r15}}, {{%r10, %r11, %r12, %r13}}, {{%r12, %r13}}, {{%r16, %r17}};
  {mma} {{%r16, %r17}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%r16, %r17}};
{}",
        loads("b32", "%r", 10, 8, 0),
        stores("b32", "%r", 16, 2, 0),
    );
    let number = |i: i32| twice(f16::from_f32(i as f32 * 0.0004).to_bits());
    let mut r = data(&mut Random::new(11), 0, 8, number, &[]);
    let got = run(&body, 32, &flat(&r), 64);
    let step =
        |r: &[[u32; 32]], b: usize| f16_sums(shape, &[&r[..4], &r[b..b + 2]].concat(), &r[6..8]);
    for (b, d) in [(4, 6), (4, 0), (4, 6), (2, 4), (4, 6)] {
        let sums = step(&r, b);
        r[d..d + 2].copy_from_slice(&sums);
    }
    assert_eq!(got, flat(&r[6..8]));
}

#[test]
fn a_tile_of_products_that_share_fragments_is_that_of_single_ones() {
    // 3 fragments of A by 10 of B: more of B than a run has tiles for.
    let shape = Shape {
        name: "m16n8k16",
        m: 16,
        k: 16,
        per: 2,
    };
    let number = |i: i32| twice(bf16::from_f32(i as f32 * 0.013).to_bits());
    let regs = data(&mut Random::new(5), 0, 12 + 20, number, &[]);
    let mut body = loads("b32", "%r", 10, 32, 0);
    for pair in 0..10 {
        for a in 0..3 {
            body += &format!(
                "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {0}, {1}, {2}, {0};\n",
                list("%f", 4 * a, 4),
                list("%r", 10 + 4 * a, 4),
                list("%r", 22 + 2 * pair, 2),
            );
        }
    }
    let body = format!(
        "{}{body}{}",
        loads("f32", "%f", 0, 12, 32),
        stores("f32", "%f", 0, 12, 0)
    );
    let mut input = flat(&regs);
    input.extend([0u32; 12 * 32]);
    let got = run(&body, 32, &input, 12 * 32);
    for a in 0..3 {
        for lane in 0..32 {
            for i in 0..4 {
                let (row, column) = Shape::c(lane, i);
                let mut sum = 0f32;
                for pair in 0..10 {
                    let frags =
                        [&regs[4 * a..4 * a + 4], &regs[12 + 2 * pair..14 + 2 * pair]].concat();
                    let (x, y) = shape.matrices(&frags, read_bf16);
                    for k in 0..16 {
                        sum = x[row][k].mul_add(y[k][column], sum);
                    }
                }
                assert_eq!(got[32 * (4 * a + i) + lane], sum.to_bits());
            }
        }
    }
}

#[test]
fn byte_products_are_exact_and_wrap_or_saturate() {
    let shapes = [
        Shape {
            name: "m8n8k16",
            m: 8,
            k: 16,
            per: 4,
        },
        Shape {
            name: "m16n8k16",
            m: 16,
            k: 16,
            per: 4,
        },
        Shape {
            name: "m16n8k32",
            m: 16,
            k: 32,
            per: 4,
        },
    ];
    for shape in shapes {
        let (na, nb, nc) = (shape.a_regs(), shape.b_regs(), shape.c_regs());
        let mut regs = data(&mut Random::new(9), 1, na + nb, |_| 0, &[]);
        regs.extend(data(
            &mut Random::new(10),
            2,
            nc,
            |i| i as u32,
            &[i32::MAX as u32 - 100, i32::MIN as u32 + 50],
        ));
        // The largest products.
        for lane in 0..4 {
            regs[0][lane] = 0x8080_8080;
            regs[na][lane] = [0x8080_8080, 0xFFFF_FFFF, 0x7F7F_7F7F, 0][lane];
        }
        let read = |reg: u32, e: usize| (reg >> (8 * e)) as u8;
        let (a, b) = shape.matrices(&regs, read);
        for (ta, tb) in [("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")] {
            for saturate in ["", ".satfinite"] {
                let body = format!(
                    "{}  mma.sync.aligned.{}.row.col{saturate}.s32.{ta}.{tb}.s32 {}, {}, {}, {};\n{}",
                    loads("b32", "%r", 10, na + nb + nc, 0),
                    shape.name,
                    list("%r", 30, nc),
                    list("%r", 10, na),
                    list("%r", 10 + na, nb),
                    list("%r", 10 + na + nb, nc),
                    stores("b32", "%r", 30, nc, 0),
                );
                let got = run(&body, 32, &flat(&regs), 32 * nc);
                let value = |ty: &str, byte: u8| {
                    if ty == "s8" {
                        i64::from(byte as i8)
                    } else {
                        i64::from(byte)
                    }
                };
                for lane in 0..32 {
                    for i in 0..nc {
                        let (row, column) = Shape::c(lane, i);
                        let mut sum = i64::from(regs[na + nb + i][lane] as i32);
                        for k in 0..shape.k {
                            sum += value(ta, a[row][k]) * value(tb, b[k][column]);
                        }
                        let want = if saturate.is_empty() {
                            sum as i32
                        } else {
                            sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32
                        };
                        assert_eq!(
                            got[32 * i + lane] as i32,
                            want,
                            "{} {ta} {tb}{saturate}",
                            shape.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn double_products_follow_the_layout() {
    for (name, m, k) in [
        ("m8n8k4", 8, 4),
        ("m16n8k4", 16, 4),
        ("m16n8k8", 16, 8),
        ("m16n8k16", 16, 16),
    ] {
        let shape = Shape { name, m, k, per: 1 };
        let (na, nb, nc) = (shape.a_regs(), shape.b_regs(), shape.c_regs());
        let mut body = String::from("  add.u64 %rd1, %rd1, %rd5;\n  add.u64 %rd2, %rd2, %rd5;\n");
        for i in 0..na + nb + nc {
            body += &format!("  ld.global.f64 %fd{i}, [%rd1+{}];\n", 256 * i);
        }
        body += &format!(
            "  mma.sync.aligned.{name}.row.col.f64.f64.f64.f64 {}, {}, {}, {};\n",
            list("%fd", 20, nc),
            list("%fd", 0, na),
            list("%fd", na, nb),
            list("%fd", na + nb, nc),
        );
        for i in 0..nc {
            body += &format!("  st.global.f64 [%rd2+{}], %fd{};\n", 256 * i, 20 + i);
        }
        let mut random = Random::new(21);
        let values: Vec<f64> = (0..32 * (na + nb + nc))
            .map(|_| (f64::from(random.next()) - 2e9) * 1.37e-7)
            .collect();
        let input: Vec<u32> = values
            .iter()
            .flat_map(|x| [x.to_bits() as u32, (x.to_bits() >> 32) as u32])
            .collect();
        let got = run(&body, 32, &input, 64 * nc);
        for lane in 0..32 {
            for i in 0..nc {
                let (row, column) = Shape::c(lane, i);
                let mut sum = values[32 * (na + nb + i) + lane];
                for k in 0..k {
                    let (half, block) = (row / 8, k / 4);
                    let a = values[32 * (m / 8 * block + half) + row % 8 * 4 + k % 4];
                    let b = values[32 * (na + block) + column * 4 + k % 4];
                    sum = a.mul_add(b, sum);
                }
                let at = 2 * (32 * i + lane);
                assert_eq!(
                    u64::from(got[at]) | u64::from(got[at + 1]) << 32,
                    sum.to_bits(),
                    "{name}"
                );
            }
        }
    }
}
