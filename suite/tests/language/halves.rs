//! Arithmetic on f16 and bf16: each operation rounded once, on every target that has the type.

use crate::{TARGETS, assembles};
use half::{bf16, f16};
use warpsmith_device::{Device, Selector, Settings, Stream};
use warpsmith_kernel::kernel;

/// Results of an operation.
const OUT: usize = 12;

macro_rules! half_kernels {
    ($($half:ident $kernel:ident $args:ident $run:ident;)*) => {$(
        kernel! {
            /// Every operation on a type of 16 bits.
            struct $kernel($args {
                a: In<$half>[n], b: In<$half>[n], c: In<$half>[n], y: Out<$half>[n, 12], signs: Out<u32>[n], n: Scalar<u32>,
            });
            grid(g) = g.n.min(1);
            body(cta, g) {
                cta.each(g.n, |_, t| {
                    let (a, b, c) = (g.a.at(t), g.b.at(t), g.c.at(t));
                    let mut twice = a;
                    twice += a;
                    let all = [
                        a + b, a - b, a * b, a / b, a.min(b), a.max(b), a.mul_add(b, c), -a, a.abs(),
                        a.lt(b).select(a, c), $half::ONE - a, twice * $half::from_f32_const(0.75),
                    ];
                    let y = g.y.row(t);
                    for (at, value) in all.into_iter().enumerate() {
                        y.set(at as u32, value);
                    }
                    let signs = [a.lt(b), a.le(b), a.gt(b), a.ge(b), a.equals(b), a.differs(b)];
                    let mut word = signs[0].u32();
                    for (at, sign) in signs.into_iter().enumerate().skip(1) {
                        word |= sign.u32() << at as u32;
                    }
                    g.signs.set(t, word);
                });
            }
        }

        /// Runs it and compares it with the same operations in f64.
        fn $run(stream: &Stream, what: &str) {
            let [a, b, c] = operands().map(|all| all.into_iter().map($half::from_bits).collect::<Vec<_>>());
            let n = a.len();
            let on = |values: &[$half]| stream.upload_new(values).expect("memory");
            let (da, db, dc) = (on(&a), on(&b), on(&c));
            let mut y = stream.alloc(n * OUT).expect("memory");
            let mut signs = stream.alloc(n).expect("memory");
            let args = $args {
                a: da.view(), b: db.view(), c: dc.view(), y: y.view_mut(), signs: signs.view_mut(), n: n as u32,
            };
            stream.launch(&$kernel, &args).expect("a launch");
            let y: Vec<$half> = stream.download(&y).and_then(|copy| copy.wait()).expect("a copy");
            let signs: Vec<u32> = stream.download(&signs).and_then(|copy| copy.wait()).expect("a copy");
            for at in 0..n {
                let (x, z, w) = (a[at].to_f64(), b[at].to_f64(), c[at].to_f64());
                let round = |x: f64| $half::from_f32(odd(x));
                let twice = round(x + x).to_f64();
                let want = [
                    round(x + z), round(x - z), round(x * z), round(x / z), round(x.min(z)), round(x.max(z)),
                    round(fused(x, z, w)), round(-x), round(x.abs()), round(if x < z { x } else { w }), round(1.0 - x),
                    round(twice * 0.75),
                ];
                for (op, (got, want)) in y[at * OUT..][..OUT].iter().zip(want).enumerate() {
                    // Of zeros with two signs either may be the smaller one.
                    let zeros = matches!(op, 4 | 5) && got.to_f64() == 0.0 && want.to_f64() == 0.0;
                    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan() || zeros;
                    assert!(same, "{what}: operation {op} of {x} {z} {w}: {got} for {want}");
                }
                let order = [x < z, x <= z, x > z, x >= z, x == z, x < z || x > z];
                let word = order.iter().rev().fold(0, |word, holds| word << 1 | u32::from(*holds));
                assert_eq!(signs[at], word, "{what}: order of {x} and {z}");
            }
        }
    )*};
}

half_kernels! { f16 Halves HalvesArgs halves; bf16 Brains BrainsArgs brains; }

/// `x * y + z` in f64, rounded to odd where it is not exact: that rounds to fewer bits as the exact sum does.
fn fused(x: f64, y: f64, z: f64) -> f64 {
    // Exact: two halves have 22 bits.
    let product = x * y;
    let sum = product + z;
    let part = sum - product;
    let error = (product - (sum - part)) + (z - part);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    })
}

/// As an f32, rounded to odd where it is not exact, so that rounding to 16 bits is rounding once. (`from_f64` looks at the
/// upper half of its argument only.)
fn odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() || near.is_infinite() || near.to_bits() & 1 == 1 {
        return near;
    }
    if f64::from(near) < x {
        near.next_up()
    } else {
        near.next_down()
    }
}

/// Bits of three operands: zeros, ends of the ranges, infinities and NaNs of both types with each other, then any.
fn operands() -> [Vec<u16>; 3] {
    let special = [
        0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x007f, 0x0080, 0x3c00, 0xbc00, 0x3f80,
        0xbf80, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x3555, 0x3eab,
    ];
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut any = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u16
    };
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for a in special {
        for b in special {
            for (operand, value) in all.iter_mut().zip([a, b, any()]) {
                operand.push(value);
            }
        }
    }
    for near in 0..1500 {
        let first = any();
        // Every third pair is close, so that sums cancel and products meet.
        let second = if near % 3 == 0 {
            first ^ (any() & 0x83ff)
        } else {
            any()
        };
        for (operand, value) in all.iter_mut().zip([first, second, any()]) {
            operand.push(value);
        }
    }
    all
}

#[test]
fn halves_are_rounded_once_on_every_target() {
    assembles(&Halves, 70);
    assembles(&Brains, 80);
    for sm in TARGETS {
        for seed in [None, Some(5)] {
            let selector: Selector = format!("virtual:sm{sm}").parse().expect("a device");
            let settings = Settings {
                seed,
                ..Settings::checking()
            };
            let device = Device::open_with(&selector, settings).expect("a device");
            let stream = device.stream().expect("a stream");
            halves(&stream, &format!("f16 on sm_{sm}"));
            if sm >= 80 {
                brains(&stream, &format!("bf16 on sm_{sm}"));
            }
            let found = device.take_findings();
            assert!(found.is_empty(), "sm_{sm}: {found:?}");
        }
    }
}
