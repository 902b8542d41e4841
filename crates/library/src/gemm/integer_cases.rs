//! Cases of the integer products: every layout, every tile, every epilogue, awkward sizes.

use super::{
    integer::{Eights, GemmInt, GemmIntArgs},
    matrix::{Matrix, Operands, dot, epilogues},
};
use crate::{
    case::{AnyCase, Case, EPS_F32, Random},
    epilogue::Epilogue,
    quantize::{EIGHT, quantize_q8_reference, quantize_tiles_reference, tile_words},
};
use warpsmith_formats::quant::WeightType;

/// A product: `[m, k]` by `[n, k]`.
#[derive(Clone, Copy)]
struct IntegerShape {
    m: u32,
    n: u32,
    k: u32,
}

pub(crate) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    let shape = |m, n, k| IntegerShape { m, n, k };
    let spread = |eights, split, blocks| Eights {
        eights,
        split,
        blocks,
    };
    let plain = Epilogue::default();
    let quantised = WeightType::ALL.into_iter().filter(|ty| ty.block_len() > 1);
    for ty in quantised {
        // One tile with rows left over, and several; rows of W that are fewer, one more, many.
        for (eights, n) in [(1, 31), (2, 65), (3, 33), (4, 96)] {
            let split = rng.pick(&[1, 2]);
            let s = spread(eights, split, rng.pick(&[1, 2]));
            let at = shape(rng.range(1, 12 * eights), n, 256 * rng.range(1, 2));
            cases.push(Box::new(case(rng, ty, at, s, plain)));
        }
    }
    // Single rows, single groups, groups that are not whole rounds, the shapes of a small model.
    for (m, n, k, s) in [
        (1, 1, 32, spread(1, 1, 1)),
        (2, 576, 576, spread(1, 1, 1)),
        (7, 64, 32, spread(1, 4, 1)),
        (16, 40, 96, spread(2, 8, 1)),
        (17, 33, 160, spread(3, 1, 4)),
        (33, 257, 224, spread(4, 2, 2)),
        (70, 192, 1536, spread(3, 4, 1)),
        (64, 65, 64, spread(4, 1, 1)),
    ] {
        for ty in [WeightType::Q4_1, WeightType::Q8_0, WeightType::Q4_0] {
            cases.push(Box::new(case(rng, ty, shape(m, n, k), s, plain)));
        }
    }
    for epilogue in epilogues() {
        let (s, at) = (spread(2, 2, 1), shape(13, 45, 256));
        cases.push(Box::new(case(rng, WeightType::Q4_1, at, s, epilogue)));
    }
}

fn case(
    rng: &mut Random,
    ty: WeightType,
    shape: IntegerShape,
    spread: Eights,
    epilogue: Epilogue,
) -> Case<GemmInt> {
    let IntegerShape { m, n, k } = shape;
    let w = Matrix::random(rng, ty, n, k);
    let x = rng.numbers((m * k) as usize, 3.0);
    let q8 = quantize_q8_reference(&x, k as usize);
    let others = Operands::random(rng, m, n);
    // Two additions a half group, and the roundings of its terms: dx sum qx, its product with d, the scale itself.
    let rounding = f64::from(k / 16 * 2 + 8) * EPS_F32;
    let mut products = Vec::new();
    for row in 0..m as usize {
        let q = &q8.q[row * q8.groups * 32..][..q8.groups * 32];
        let dx = |at: usize| f64::from(q8.scales[(row * q8.groups + at / 32) * 4]);
        let x: Vec<f64> = (0..k as usize)
            .map(|at| f64::from(q[at]) * dx(at))
            .collect();
        for column in 0..n {
            let weights = w.row(column as usize).iter().map(|w| f64::from(*w));
            let mut product = dot(weights.zip(x.iter().copied()), rounding);
            // A weight is the sum of a scaled code and a minimum, whose products may cancel.
            let parts = (0..k).map(|at| w.packed.magnitude(column, at));
            let parts = parts.zip(&x).map(|(parts, x)| parts * x.abs());
            product.error = rounding * parts.sum::<f64>();
            products.push(product);
        }
    }
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: GemmInt {
            layout: w.layout,
            spread,
            epilogue,
        },
        args: GemmIntArgs {
            fragments: quantize_tiles_reference(&x, k as usize, spread.eights).into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            tiles: m.div_ceil(EIGHT * spread.eights),
            tile_words: tile_words(spread.eights, k),
        },
    }
}
