//! `mma.sync` on 4-bit integers and 8-bit floats, against the layouts of the PTX manual and exact sums.

use super::{
    harness::{Random, list, loads, run, stores},
    products::Shape,
};

const NARROW: [Shape; 3] = [
    Shape {
        name: "m8n8k32",
        m: 8,
        k: 32,
        per: 8,
    },
    Shape {
        name: "m16n8k32",
        m: 16,
        k: 32,
        per: 8,
    },
    Shape {
        name: "m16n8k64",
        m: 16,
        k: 64,
        per: 8,
    },
];

/// A kernel that loads the registers of `types` and stores D.
fn body(shape: Shape, types: &str) -> String {
    let (na, nb, nc) = (shape.a_regs(), shape.b_regs(), shape.c_regs());
    format!(
        "{}  mma.sync.aligned.{}.row.col.{types} {}, {}, {}, {};\n{}",
        loads("b32", "%r", 10, na + nb + nc, 0),
        shape.name,
        list("%r", 40, nc),
        list("%r", 10, na),
        list("%r", 10 + na, nb),
        list("%r", 10 + na + nb, nc),
        stores("b32", "%r", 40, nc, 0),
    )
}

/// Element `e` of a register.
fn nibble(signed: bool) -> impl Fn(u32, usize) -> i64 {
    move |reg, e| {
        let value = i64::from(reg >> (4 * e) & 15);
        if signed && value > 7 {
            value - 16
        } else {
            value
        }
    }
}

#[test]
fn products_of_4_bits_are_exact() {
    let mut random = Random::new(41);
    for shape in NARROW {
        for (a_type, b_type) in [("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4")] {
            for clamp in ["", "satfinite."] {
                let (na, nb, nc) = (shape.a_regs(), shape.b_regs(), shape.c_regs());
                let mut regs: Vec<[u32; 32]> = (0..na + nb + nc).map(|_| random.warp()).collect();
                // Sums near the ends of the range, where they wrap or are clamped.
                for c in regs[na + nb..].as_flattened_mut() {
                    *c = match *c % 3 {
                        0 => i32::MAX as u32 - *c / 3 % 1000,
                        1 => i32::MIN as u32 + *c / 3 % 1000,
                        _ => *c,
                    };
                }
                let types = format!("{clamp}s32.{a_type}.{b_type}.s32");
                let got = run(&body(shape, &types), 32, regs.as_flattened(), 32 * nc);
                let (a, _) = shape.matrices(&regs, nibble(a_type == "s4"));
                let (_, b) = shape.matrices(&regs, nibble(b_type == "s4"));
                for lane in 0..32 {
                    for i in 0..nc {
                        let (row, column) = Shape::c(lane, i);
                        let sum = (0..shape.k).map(|k| a[row][k] * b[k][column]).sum::<i64>()
                            + i64::from(regs[na + nb + i][lane] as i32);
                        let want = match clamp {
                            "" => sum as i32,
                            _ => sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32,
                        };
                        let place = (shape.name, &types, lane, i);
                        assert_eq!(got[32 * i + lane] as i32, want, "{place:?}");
                    }
                }
            }
        }
    }
}

/// The value of a byte by the formats' definition: `exponent` bits of exponent, the rest of fraction.
fn eighth(byte: u32, exponent: u32) -> f64 {
    let fraction = 7 - exponent;
    let (e, f) = (
        byte >> fraction & ((1 << exponent) - 1),
        byte & ((1 << fraction) - 1),
    );
    let bias = (1 << (exponent - 1)) - 1;
    let scale = f64::from(1 << fraction);
    let last = e == (1 << exponent) - 1;
    let size = match (exponent, last, f) {
        (4, true, 7) => f64::NAN,
        (5, true, 0) => f64::INFINITY,
        (5, true, _) => f64::NAN,
        _ if e == 0 => f64::from(f) / scale * f64::from(1 - bias).exp2(),
        _ => (1.0 + f64::from(f) / scale) * f64::from(e as i32 - bias).exp2(),
    };
    if byte & 0x80 != 0 { -size } else { size }
}

#[test]
fn products_of_8_bit_floats_have_the_bits_of_chained_sums() {
    let shape = Shape {
        name: "m16n8k32",
        m: 16,
        k: 32,
        per: 4,
    };
    let mut random = Random::new(43);
    for (a_type, b_type) in [
        ("e4m3", "e4m3"),
        ("e5m2", "e5m2"),
        ("e4m3", "e5m2"),
        ("e5m2", "e4m3"),
    ] {
        // Any bytes, among them NaN and infinity; then numbers of all sizes that are neither; then small ones.
        for keep in [0xFFFF_FFFFu32, 0xBBBB_BBBB, 0x8787_8787] {
            let mut regs: Vec<[u32; 32]> =
                (0..6).map(|_| random.warp().map(|r| r & keep)).collect();
            regs.extend((0..4).map(|_| {
                std::array::from_fn(|_| (random.below(2001) as f32 * 0.37 - 370.0).to_bits())
            }));
            let types = format!("f32.{a_type}.{b_type}.f32");
            let text = body(shape, &types);
            let got = run(&text, 32, regs.as_flattened(), 128);
            let read = |ty: &str| {
                let exponent = if ty == "e5m2" { 5 } else { 4 };
                move |reg: u32, e: usize| eighth(reg >> (8 * e) & 0xFF, exponent)
            };
            let (a, _) = shape.matrices(&regs, read(a_type));
            let (_, b) = shape.matrices(&regs, read(b_type));
            for lane in 0..32 {
                for i in 0..4 {
                    let (row, column) = Shape::c(lane, i);
                    let mut sum = f32::from_bits(regs[6 + i][lane]);
                    for k in 0..32 {
                        sum = (a[row][k] as f32).mul_add(b[k][column] as f32, sum);
                    }
                    let want = if sum.is_nan() {
                        0x7FFF_FFFF
                    } else {
                        sum.to_bits()
                    };
                    let place = (&types, keep, lane, i);
                    assert_eq!(got[32 * i + lane], want, "{place:?}");
                }
            }
        }
    }
}
