//! Cases of the products with few rows: every layout, every spread, every epilogue, awkward sizes.

use super::{GemvF32, GemvF32Args, GemvQ8, GemvQ8Args, Spread};
use crate::{
    case::{AnyCase, Case, EPS_F32, Random},
    epilogue::Epilogue,
    gemm::matrix::{Matrix, Operands, dot, epilogues},
    quantize::{Columns, quantize_q8_reference},
    weights::BLOCK,
};
use warpsmith_formats::quant::WeightType;

/// A product: `[m, k]` by `[n, k]`.
#[derive(Clone, Copy)]
struct GemvShape {
    m: u32,
    n: u32,
    k: u32,
}

/// Both kernels.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let shape = |m, n, k| GemvShape { m, n, k };
    let spread = |rows, split, blocks| Spread {
        rows,
        split,
        blocks,
    };
    super::half_rows::cases(rng, &mut cases);
    let plain = Epilogue::default();
    let q8 = |ty: &WeightType| ty.block_len() > 1;
    for ty in WeightType::ALL {
        // The rows of a block are lanes: fewer, one more, many.
        for (rows, n) in [(1, 31), (2, 65), (4, 33), (8, 1)] {
            let split = rng.pick(&[1, 2, 4]);
            let spread = spread(rows, split, rng.pick(&[1, 2]));
            let shape = shape(rng.range(1, rows), n, 256 * rng.range(1, 3));
            if q8(&ty) {
                cases.push(Box::new(q8_case(rng, ty, shape, spread, plain)));
            }
            cases.push(Box::new(f32_case(rng, ty, shape, spread, plain)));
        }
    }
    // Groups that are not whole rounds, more rows than one CTA takes, the shapes of a small model.
    for (m, n, k, s) in [
        (1, 576, 576, spread(1, 1, 1)),
        (1, 192, 576, spread(1, 8, 1)),
        (1, 70, 1536, spread(1, 4, 4)),
        (3, 64, 32, spread(4, 1, 1)),
        (9, 40, 96, spread(4, 2, 2)),
        (17, 33, 160, spread(8, 1, 1)),
        (5, 257, 224, spread(2, 2, 1)),
        (3, 33, 96, spread(3, 1, 1)),
        (31, 40, 160, spread(16, 1, 1)),
    ] {
        for ty in [WeightType::Q4_1, WeightType::Q8_0, WeightType::Q4_0] {
            cases.push(Box::new(q8_case(rng, ty, shape(m, n, k), s, plain)));
        }
        cases.push(Box::new(f32_case(
            rng,
            WeightType::Q8_0,
            shape(m, n, k),
            s,
            plain,
        )));
    }
    for ty in [WeightType::F32, WeightType::F16, WeightType::BF16] {
        for (m, k) in [(1, 1), (2, 31), (1, 33), (3, 36), (8, 257)] {
            let spread = spread(rng.pick(&[1, 8]), rng.pick(&[1, 2]), 1);
            cases.push(Box::new(f32_case(rng, ty, shape(m, 35, k), spread, plain)));
        }
    }
    for epilogue in epilogues() {
        let (s, at) = (spread(2, 2, 1), shape(2, 45, 256));
        cases.push(Box::new(q8_case(rng, WeightType::Q4_1, at, s, epilogue)));
        cases.push(Box::new(f32_case(rng, WeightType::Q5_0, at, s, epilogue)));
    }
    cases
}

fn q8_case(
    rng: &mut Random,
    ty: WeightType,
    shape: GemvShape,
    spread: Spread,
    epilogue: Epilogue,
) -> Case<GemvQ8> {
    let GemvShape { m, n, k } = shape;
    let w = Matrix::random(rng, ty, n, k);
    let x = quantize_q8_reference(&rng.numbers((m * k) as usize, 3.0), k as usize);
    let others = Operands::random(rng, m, n);
    // Two additions a half group, and the roundings of its terms: dx sum qx, its product with d, the scale itself.
    let rounding = f64::from(k / 16 * 2 + 8) * EPS_F32;
    let mut products = Vec::new();
    for row in 0..m as usize {
        let q = &x.q[row * x.groups * 32..][..x.groups * 32];
        let dx = |at: usize| f64::from(x.scales[(row * x.groups + at / 32) * 4]);
        for column in 0..n as usize {
            let weights = w.row(column).iter().enumerate();
            let mut product = dot(
                weights.map(|(at, w)| (f64::from(*w), f64::from(q[at]) * dx(at))),
                rounding,
            );
            // A weight is the sum of a scaled code and a minimum, whose products may cancel.
            let parts = (0..k).map(|at| w.packed.magnitude(column as u32, at));
            product.error = rounding
                * parts
                    .zip(q)
                    .enumerate()
                    .map(|(at, (parts, q))| parts * (f64::from(*q) * dx(at)).abs())
                    .sum::<f64>();
            products.push(product);
        }
    }
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: GemvQ8 {
            layout: w.layout,
            spread,
            epilogue,
        },
        args: GemvQ8Args {
            words: x.words().into(),
            x_scales: x.scales.clone().into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            row_words: x.groups as u32 * 8,
            row_scales: x.groups as u32 * 4,
        },
    }
}

fn f32_case(
    rng: &mut Random,
    ty: WeightType,
    shape: GemvShape,
    spread: Spread,
    epilogue: Epilogue,
) -> Case<GemvF32> {
    let GemvShape { m, n, k } = shape;
    let w = Matrix::random(rng, ty, n, k);
    let x = rng.numbers((m * k) as usize, 3.0);
    let others = Operands::random(rng, m, n);
    let rounding = f64::from(k + BLOCK) * EPS_F32;
    let products: Vec<_> = (0..m as usize)
        .flat_map(|row| {
            let x = &x[row * k as usize..][..k as usize];
            let wide = |(w, x): (&f32, &f32)| (f64::from(*w), f64::from(*x));
            let w = &w;
            (0..n as usize).map(move |column| dot(w.row(column).iter().zip(x).map(wide), rounding))
        })
        .collect();
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: GemvF32 {
            layout: w.layout,
            columns: Columns::of(k),
            spread,
            epilogue,
        },
        args: GemvF32Args {
            x: x.into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            columns: k,
        },
    }
}
