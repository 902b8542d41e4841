//! Numbers of every type: arithmetic, conversions, bits, tables, 8-bit floats.

use crate::{assembles, checked};
use warpsmith_kernel::{F8E4M3, F8E5M2, Fp8, kernel};

kernel! {
    /// Arithmetic in 64 bits, and every conversion between numbers that has an answer.
    struct Wide(WideArgs { a: In<f64>[n], b: In<i64>[n], f: Out<f64>[n, 8], i: Out<i64>[n, 10], n: Scalar<u32> });
    grid(g) = g.n.div_ceil(256);
    body(cta, g) {
        cta.each(g.n, |_, t| {
            let (a, b) = (g.a.at(t), g.b.at(t));
            let (f, i) = (g.f.row(t), g.i.row(t));
            let mut sum = a + 1.0;
            sum *= 2.0;
            sum -= a / 3.0;
            let floats = [sum, a.abs().sqrt(), -a, a.floor(), a.ceil(), a.trunc(), a.round_ties_even(), b.to::<f64>()];
            for (at, value) in floats.into_iter().enumerate() {
                f.set(at as u32, value);
            }
            let word = b.to::<u32>();
            let ints = [
                (b * 3 - 7) / 5,
                b % 1000,
                b & 0xff00 | 1,
                -b ^ (b >> 3),
                b.abs().mul_hi(1i64 << 40),
                a.to::<i32>().to::<i64>(),
                (1000 - word.to::<i32>()).to::<i64>(),
                (b.leading_zeros() + b.trailing_zeros() * 100 + b.count_ones() * 10_000).to::<i64>(),
                word.reverse_bits().funnel_left(word, 9).to::<i64>(),
                a.to::<f32>().to::<u32>().to::<i64>() + a.to::<u64>().to::<i64>(),
            ];
            for (at, value) in ints.into_iter().enumerate() {
                i.set(at as u32, value);
            }
        });
    }
}

#[test]
fn numbers_of_64_bits_are_those_of_rust() {
    assembles(&Wide, 70);
    checked(|_, stream| {
        let n = 200usize;
        let a: Vec<f64> = (0..n).map(|i| (i as f64 - 90.0) * 1234.5).collect();
        let b: Vec<i64> = (0..n as i64)
            .map(|i| (i - 77) * 0x1_2345_6789 + 1)
            .collect();
        let (device_a, device_b) = (
            stream.upload_new(&a).expect("memory"),
            stream.upload_new(&b).expect("memory"),
        );
        let (mut f, mut i) = (
            stream.alloc(n * 8).expect("memory"),
            stream.alloc(n * 10).expect("memory"),
        );
        let args = WideArgs {
            a: device_a.view(),
            b: device_b.view(),
            f: f.view_mut(),
            i: i.view_mut(),
            n: n as u32,
        };
        stream.launch(&Wide, &args).expect("a launch");
        let f = stream.download(&f).and_then(|a| a.wait()).expect("a copy");
        let i = stream.download(&i).and_then(|a| a.wait()).expect("a copy");
        for at in 0..n {
            let (a, b) = (a[at], b[at]);
            let floats = [
                (a + 1.0) * 2.0 - a / 3.0,
                a.abs().sqrt(),
                -a,
                a.floor(),
                a.ceil(),
                a.trunc(),
                a.round_ties_even(),
                b as f64,
            ];
            assert_eq!(f[at * 8..at * 8 + 8], floats, "a = {a}");
            let word = b as u32;
            let bits = b.leading_zeros() + b.trailing_zeros() * 100 + b.count_ones() * 10_000;
            let ints = [
                (b * 3 - 7) / 5,
                b % 1000,
                b & 0xff00 | 1,
                -b ^ (b >> 3),
                ((i128::from(b.abs()) << 40) >> 64) as i64,
                i64::from(a as i32),
                i64::from(1000i32.wrapping_sub(word as i32)),
                i64::from(bits),
                i64::from(((u64::from(word.reverse_bits()) << 32 | u64::from(word)) >> 23) as u32),
                i64::from(a as f32 as u32) + a as u64 as i64,
            ];
            assert_eq!(i[at * 10..at * 10 + 10], ints, "b = {b}");
        }
    });
}

kernel! {
    /// Bytes as 8-bit floats, and floats as bytes.
    struct Eighths(EighthsArgs {
        a: In<F8E4M3>[256], b: In<F8E5M2>[256], x: In<f32>[256], y: Out<f32>[512], to: Out<u8>[512], n: Scalar<u32>,
    });
    grid(g) = g.n;
    body(cta, g) {
        let t = cta.thread();
        g.y.set(t, F8E4M3::decode(g.a.at(t)));
        g.y.set(t + 256, F8E5M2::decode(g.b.at(t)));
        g.to.set(t, F8E4M3::encode(g.x.at(t)));
        g.to.set(t + 256, F8E5M2::encode(g.x.at(t)));
    }
}

/// An 8-bit float by its definition.
fn eighth(byte: u8, exponent_bits: u32) -> f64 {
    let fraction_bits = 7 - exponent_bits;
    let (exponent, fraction) = (
        i32::from(byte & 0x7f) >> fraction_bits,
        f64::from(byte & ((1 << fraction_bits) - 1)),
    );
    let (bias, all) = ((1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1);
    let scale = f64::from(1u32 << fraction_bits);
    let value = match exponent {
        0 => fraction / scale * 2f64.powi(1 - bias),
        _ if exponent == all && exponent_bits == 5 => {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ if byte & 0x7f == 0x7f => f64::NAN,
        _ => (1.0 + fraction / scale) * 2f64.powi(exponent - bias),
    };
    if byte >= 128 { -value } else { value }
}

#[test]
fn eight_bit_floats_are_those_of_their_definition() {
    assembles(&Eighths, 89);
    checked(|_, stream| {
        let bytes: Vec<u8> = (0..=255).collect();
        let x: Vec<f32> = (0..256i32)
            .map(|i| (i - 128) as f32 * if i % 2 == 0 { 5.03 } else { 0.0113 })
            .collect();
        let a = stream
            .upload_new(
                &bytes
                    .iter()
                    .map(|b| F8E4M3::from_bits(*b))
                    .collect::<Vec<_>>(),
            )
            .expect("memory");
        let b = stream
            .upload_new(
                &bytes
                    .iter()
                    .map(|b| F8E5M2::from_bits(*b))
                    .collect::<Vec<_>>(),
            )
            .expect("memory");
        let device_x = stream.upload_new(&x).expect("memory");
        let (mut y, mut to) = (
            stream.alloc(512).expect("memory"),
            stream.alloc(512).expect("memory"),
        );
        let args = EighthsArgs {
            a: a.view(),
            b: b.view(),
            x: device_x.view(),
            y: y.view_mut(),
            to: to.view_mut(),
            n: 1,
        };
        stream.launch(&Eighths, &args).expect("a launch");
        let y = stream.download(&y).and_then(|a| a.wait()).expect("a copy");
        let to = stream.download(&to).and_then(|a| a.wait()).expect("a copy");
        for (half, exponent_bits) in [(0, 4), (256, 5)] {
            let finite: Vec<f64> = bytes
                .iter()
                .map(|b| eighth(*b, exponent_bits))
                .filter(|v| v.is_finite())
                .collect();
            for at in 0..256 {
                let (got, want) = (f64::from(y[half + at]), eighth(bytes[at], exponent_bits));
                assert!(
                    got == want || got.is_nan() && want.is_nan(),
                    "{at:#x}: {got}, expected {want}"
                );
                let (x, back) = (f64::from(x[at]), eighth(to[half + at], exponent_bits));
                let nearest = finite
                    .iter()
                    .map(|v| (v - x).abs())
                    .fold(f64::INFINITY, f64::min);
                assert_eq!((back - x).abs(), nearest, "{x} became {back}");
            }
        }
    });
}

kernel! {
    /// Looks up in tables of constant and, for the large one, global memory.
    struct Tables(TablesArgs { x: In<u32>[n], y: Out<f32>[n], z: Out<u64>[n], n: Scalar<u32> });
    grid(g) = g.n.div_ceil(256);
    body(cta, g) {
        let small = cta.table(&[0.5f32, -1.25, 3.0, 1e30]);
        let bytes = cta.table(&[7u8, 200, 0, 255]);
        let large: Vec<u64> = (0..10_000u64).map(|i| (i * i) << 20).collect();
        let large = cta.table(&large);
        let i = cta.id() * 256 + cta.thread();
        cta.if_(i.lt(g.n), |_| {
            let x = g.x.at(i);
            g.y.set(i, small.at(x & 3) + bytes.at((x >> 2) & 3).f32());
            g.z.set(i, large.at(x % 10_000) + 1);
        });
    }
}

#[test]
fn tables_hold_what_they_were_given() {
    assembles(&Tables, 70);
    checked(|_, stream| {
        let x: Vec<u32> = (0..1000u32)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 7)
            .collect();
        let device_x = stream.upload_new(&x).expect("memory");
        let (mut y, mut z) = (
            stream.alloc(1000).expect("memory"),
            stream.alloc(1000).expect("memory"),
        );
        let args = TablesArgs {
            x: device_x.view(),
            y: y.view_mut(),
            z: z.view_mut(),
            n: 1000,
        };
        stream.launch(&Tables, &args).expect("a launch");
        let y = stream.download(&y).and_then(|a| a.wait()).expect("a copy");
        let z = stream.download(&z).and_then(|a| a.wait()).expect("a copy");
        for (i, x) in x.into_iter().enumerate() {
            let (small, byte) = (
                [0.5f32, -1.25, 3.0, 1e30][x as usize & 3],
                [7.0f32, 200.0, 0.0, 255.0][x as usize >> 2 & 3],
            );
            assert_eq!(y[i], small + byte);
            let at = u64::from(x % 10_000);
            assert_eq!(z[i], ((at * at) << 20) + 1);
        }
    });
}
