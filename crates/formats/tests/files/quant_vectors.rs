//! Every layout against values that ggml's own dequantisers gave, bit for bit.

use warpsmith_formats::quant::{WeightType, dequantize, quantize};

use crate::reference;

const COLUMNS: usize = 512;

fn read(name: &str) -> Vec<u8> {
    let path = reference("quants").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read_f32(name: &str) -> Vec<f32> {
    let bytes = read(name);
    let (chunks, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    chunks.iter().map(|c| f32::from_le_bytes(*c)).collect()
}

fn values(ty: WeightType, bytes: &[u8]) -> Vec<f32> {
    let mut y = vec![0.0; bytes.len() / ty.block_bytes() * ty.block_len()];
    dequantize(ty, bytes, &mut y).expect("whole blocks");
    y
}

fn check(ty: WeightType, bytes: &str, expected: &str) {
    let got = values(ty, &read(bytes));
    let want = read_f32(expected);
    assert_eq!(got.len(), want.len(), "{bytes}");
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        assert!(
            g.to_bits() == w.to_bits(),
            "{bytes}, element {i}: got {g:e}, want {w:e}"
        );
    }
}

#[test]
fn quantised_weights_have_the_values_that_ggml_gives_them() {
    for ty in WeightType::ALL {
        if ty != WeightType::F32 {
            check(ty, &format!("{ty}.w.bin"), &format!("{ty}.w.f32.bin"));
        }
    }
}

#[test]
fn random_blocks_have_the_values_that_ggml_gives_them() {
    for ty in WeightType::ALL {
        let plain = [WeightType::F32, WeightType::F16, WeightType::BF16];
        if !plain.contains(&ty) {
            check(ty, &format!("{ty}.rand.bin"), &format!("{ty}.rand.f32.bin"));
        }
    }
}

#[test]
fn matrix_times_vector_agrees_with_the_reference_product() {
    let x = read_f32("x.f32.bin");
    for ty in WeightType::ALL {
        if ty == WeightType::F32 {
            continue;
        }
        let w = values(ty, &read(&format!("{ty}.w.bin")));
        let y = read_f32(&format!("{ty}.y.f32.bin"));
        for (row, w) in w.chunks(COLUMNS).enumerate() {
            for col in 0..3 {
                let terms = (0..COLUMNS).map(|k| f64::from(w[k]) * f64::from(x[3 * k + col]));
                let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                // One rounding to f32, and 512 to f64 in some order.
                let bound = f64::from(f32::EPSILON) * sum.abs() + 512.0 * f64::EPSILON * size;
                let want = f64::from(y[3 * row + col]);
                assert!((sum - want).abs() <= bound, "{ty} row {row}: {sum} {want}");
            }
        }
    }
}

#[test]
fn quantising_what_ggml_quantised_gives_its_bytes_back() {
    // The extreme of each block is a quantised value, so the scale comes back. (With a minimum it
    // comes back up to rounding only, which the next test bounds.)
    let types = [
        WeightType::F16,
        WeightType::BF16,
        WeightType::Q8_0,
        WeightType::Q4_0,
        WeightType::Q5_0,
    ];
    for ty in types {
        let bytes = read(&format!("{ty}.w.bin"));
        // The last row is all zero, whose scale has a sign that the values do not carry.
        let rows = bytes.len() * 5 / 6;
        let again = quantize(ty, &values(ty, &bytes[..rows])).expect("whole blocks");
        assert!(again == bytes[..rows], "{ty}");
    }
}

#[test]
fn quantising_errs_by_at_most_half_a_step() {
    let x: Vec<f32> = (0..4096)
        .map(|i| (i as f32 * 0.7).sin() * (1.0 + i as f32 / 512.0))
        .collect();
    // The step as a part of the range, which is twice the largest magnitude at most; the end of the
    // range that the asymmetric -8..7 and -16..15 cut off costs a whole step.
    for (ty, steps, cut) in [
        (WeightType::Q8_0, 254.0, 0.5),
        (WeightType::Q4_0, 16.0, 1.0),
        (WeightType::Q5_0, 32.0, 1.0),
        (WeightType::Q4_1, 15.0, 0.5),
        (WeightType::Q5_1, 31.0, 0.5),
    ] {
        let y = values(ty, &quantize(ty, &x).expect("whole blocks"));
        for (block, (x, y)) in x.chunks(32).zip(y.chunks(32)).enumerate() {
            let largest = x.iter().fold(0f32, |m, v| m.max(v.abs()));
            // Scale and minimum are each rounded to 11 bits.
            let bound = largest * (2.0 * cut / steps + 2.0 * 2f32.powi(-11) * 1.5);
            for (x, y) in x.iter().zip(y) {
                assert!(
                    (x - y).abs() <= bound,
                    "{ty} block {block}: {x} {y} {bound}"
                );
            }
        }
    }
    let f16 = values(
        WeightType::F16,
        &quantize(WeightType::F16, &x).expect("f16"),
    );
    assert!(
        x.iter()
            .zip(&f16)
            .all(|(x, y)| (x - y).abs() <= x.abs() * 2f32.powi(-11) + 6e-8)
    );
    assert_eq!(
        values(
            WeightType::F32,
            &quantize(WeightType::F32, &x).expect("f32")
        ),
        x
    );
}

#[test]
fn wrong_lengths_and_types_are_refused() {
    let say = |r: Result<(), warpsmith_formats::Error>| r.expect_err("refused").to_string();
    assert_eq!(
        say(dequantize(WeightType::Q4K, &[0; 144], &mut [0.0; 100])),
        "100 elements of Q4_K: expected a multiple of 256"
    );
    assert_eq!(
        say(dequantize(WeightType::Q8_0, &[0; 33], &mut [0.0; 32])),
        "bytes of 32 elements of Q8_0 has length 33: expected 34"
    );
    assert_eq!(
        say(quantize(WeightType::Q6K, &[0.0; 256]).map(drop)),
        "quantising to Q6_K is not supported"
    );
    assert_eq!(
        say(quantize(WeightType::Q4_0, &[0.0; 31]).map(drop)),
        "31 elements of Q4_0: expected a multiple of 32"
    );
}
