//! Instructions in a row that are done as one: the bits are those of each on its own.

use super::harness::{Random, list, loads, run, stores};
use half::f16;

fn canonical(x: f32) -> u32 {
    if x.is_nan() { 0x7FFF_FFFF } else { x.to_bits() }
}

/// Words that are numbers near one, and now and then anything.
fn floats(random: &mut Random, count: usize) -> Vec<u32> {
    let word = |random: &mut Random| match random.below(16) {
        0 => random.next(),
        _ => (random.below(4000) as f32 * 0.001 - 2.0).to_bits(),
    };
    (0..count).map(|_| word(random)).collect()
}

#[test]
fn sums_that_only_the_next_multiply_add_reads_are_as_if_all_did() {
    // 24 steps over lanes and scalars; every seventh sum is read by a store too.
    let mut body = loads("f32", "%f", 0, 7, 0);
    for i in 0..3 {
        body += &format!("  ld.global.f32 %f{}, [%rd3+{}];\n", 10 + i, 4 * (9 + i));
    }
    let from = |step: usize| [step % 5, [5, 10, 11, 6, 12][step / 5 % 5]];
    let seen: Vec<usize> = (0..24).filter(|step| step % 7 == 6).chain([23]).collect();
    for step in 0..24 {
        let [a, b] = from(step);
        let (a, b) = if step % 3 == 0 { (b, a) } else { (a, b) };
        let c = if step == 0 { 6 } else { 19 + step };
        body += &format!("  fma.rn.f32 %f{}, %f{a}, %f{b}, %f{c};\n", 20 + step);
        if step % 7 == 6 {
            let to = seen.iter().position(|seen| *seen == step).expect("seen");
            body += &stores("f32", "%f", 20 + step, 1, to);
        }
    }
    body += &stores("f32", "%f", 43, 1, seen.len() - 1);
    let input = floats(&mut Random::new(3), 7 * 32);
    let got = run(&body, 32, &input, 32 * seen.len());
    for lane in 0..32 {
        let value = |reg: usize| {
            f32::from_bits(match reg {
                0..10 => input[32 * reg + lane],
                _ => input[9 + reg - 10],
            })
        };
        let mut sum = value(6);
        for step in 0..24 {
            let [a, b] = from(step);
            sum = value(a).mul_add(value(b), sum);
            for (at, _) in seen.iter().enumerate().filter(|(_, seen)| **seen == step) {
                assert_eq!(
                    got[32 * at + lane],
                    canonical(sum),
                    "step {step} lane {lane}"
                );
            }
        }
    }
}

#[test]
fn halves_become_f32_in_either_order_and_where_a_half_is_used_again() {
    let low_first = "  mov.b32 {%h0, %h1}, %r10;
  cvt.f32.f16 %f0, %h0;
  cvt.f32.f16 %f1, %h1;\n";
    let high_first = "  mov.b32 {%h2, %h3}, %r10;
  cvt.f32.f16 %f3, %h3;
  cvt.f32.f16 %f2, %h2;\n";
    let again = "  mov.b32 {%h4, %h5}, %r10;
  cvt.f32.f16 %f4, %h4;
  cvt.f32.f16 %f5, %h5;
  mov.b32 %r11, {%h5, %h4};
  st.global.b32 [%rd2+768], %r11;\n";
    let body = [
        &loads("b32", "%r", 10, 1, 0),
        low_first,
        high_first,
        again,
        &stores("f32", "%f", 0, 6, 0),
    ];
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let mut input = random.warp();
        input[..4].copy_from_slice(&[0x7C00_FC00, 0x7C01_FFFF, 0x0001_8000, 0x3C00_03FF]);
        let got = run(&body.concat(), 32, &input, 7 * 32);
        for (lane, word) in input.into_iter().enumerate() {
            let half = |side: u32| canonical(f16::from_bits((word >> (16 * side)) as u16).to_f32());
            for reg in 0..6 {
                assert_eq!(got[32 * reg + lane], half(reg as u32 % 2), "{word:#x}");
            }
            assert_eq!(got[32 * 6 + lane], word.rotate_right(16));
        }
    }
}

/// The element of A in `row` and of B in `column` at `k`, of registers in the order of a fragment.
fn elements(a: &[u32], b: &[u32], [row, column, k]: [usize; 3]) -> [f32; 2] {
    let half = |word: u32, k: usize| f16::from_bits((word >> (16 * (k % 2))) as u16).to_f32();
    let at = k % 8 / 2;
    let a = a[32 * (k / 8 * 2 + row / 8) + row % 8 * 4 + at];
    let b = b[32 * (k / 8) + column * 4 + at];
    [half(a, k), half(b, k)]
}

#[test]
fn rows_of_products_are_those_of_single_ones() {
    // 5 fragments of 16 rows by 4 of 8 columns, 2 deep: more of A than a run keeps. Of each sum the first product is
    // read by the second alone; the last sum of a row goes on from the one before it.
    let (rows, columns, deep) = (5, 4, 2);
    let a = |row: usize, k: usize| 4 * (deep * row + k);
    let b = |column: usize, k: usize| 4 * rows * deep + 2 * (deep * column + k);
    let words = b(columns, 0);
    let mut body = loads("b32", "%r", 10, words, 0) + &loads("f32", "%f", 0, 4, words);
    let sum = |row: usize, column: usize| 8 + 4 * (columns * row + column);
    for row in 0..rows {
        for column in 0..columns {
            let start = if column == 3 { sum(row, 2) } else { 0 };
            let between = sum(row, column) + 100;
            for (k, [from, to]) in [[start, between], [between, sum(row, column)]]
                .into_iter()
                .enumerate()
            {
                body += &format!(
                    "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {}, {}, {}, {};\n",
                    list("%f", to, 4),
                    list("%r", 10 + a(row, k), 4),
                    list("%r", 10 + b(column, k), 2),
                    list("%f", from, 4),
                );
            }
        }
    }
    body += &stores("f32", "%f", 8, 4 * rows * columns, 0);
    let mut random = Random::new(17);
    let number = |random: &mut Random| {
        let half = |random: &mut Random| f16::from_f32(random.below(4001) as f32 * 0.013 - 26.0);
        u32::from(half(random).to_bits()) | u32::from(half(random).to_bits()) << 16
    };
    let mut input: Vec<u32> = (0..32 * words).map(|_| number(&mut random)).collect();
    input.extend(floats(&mut random, 4 * 32));
    let got = run(&body, 32, &input, 4 * rows * columns * 32);
    let cell = |row: usize, column: usize| (row / 8 * 2 + column % 2, row % 8 * 4 + column / 2);
    for row in 0..16 * rows {
        for column in 0..8 {
            let (reg, lane) = cell(row % 16, column);
            let mut last = 0.0;
            for right in 0..columns {
                let c = f32::from_bits(input[32 * (words + reg) + lane]);
                let mut sum = if right == 3 { last } else { c };
                for k in 0..16 * deep {
                    let own = [
                        &input[32 * a(row / 16, k / 16)..],
                        &input[32 * b(right, k / 16)..],
                    ];
                    let [x, y] = elements(own[0], own[1], [row % 16, column, k % 16]);
                    sum = x.mul_add(y, sum);
                }
                last = sum;
                let at = 4 * (columns * (row / 16) + right) + reg;
                assert_eq!(
                    got[32 * at + lane],
                    canonical(sum),
                    "row {row} column {column} of {right}"
                );
            }
        }
    }
}
