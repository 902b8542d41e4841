//! Cases of the products with many rows: every layout, every tiling, every epilogue, awkward sizes.

use super::{
    exact::{GemmF32, GemmF32Args, Square},
    matrix::{Matrix, Near, Operands, dot, epilogues},
    tensor_core::{Gemm, GemmArgs},
    tile::Tiling,
};
use crate::{
    case::{AnyCase, Case, EPS_F32, Random},
    epilogue::Epilogue,
    quantize::{Columns, to_f16_reference},
};
use half::f16;
use warpsmith_formats::quant::WeightType;
use warpsmith_kernel::{Hardware, Processor};
use warpsmith_ptx::target::Target;

/// A product: `[m, k]` by `[n, k]`, on a card or the virtual GPU.
#[derive(Clone, Copy)]
struct GemmShape {
    m: u32,
    n: u32,
    k: u32,
    processor: Processor,
}

/// All kernels.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let plain = Epilogue::default();
    let processor = Processor::Card;
    let shape = |m, n, k| GemmShape { m, n, k, processor };
    for ty in WeightType::ALL {
        // Every tiling of the library, by the rows that select it.
        for (m, n) in [(9, 65), (31, 33), (50, 31), (70, 90)] {
            let at = shape(m, n, 256);
            cases.push(Box::new(tensor_case(rng, ty, at, plain)));
        }
        let at = shape(rng.range(5, 66), rng.range(1, 130), 256 * rng.range(1, 2));
        cases.push(Box::new(f32_case(rng, ty, at, plain)));
        if ty.block_len() == 1 {
            for k in [1, 31, 36, 257] {
                let at = shape(17, 33, k);
                cases.push(Box::new(tensor_case(rng, ty, at, plain)));
                cases.push(Box::new(f32_case(rng, ty, at, plain)));
            }
        }
    }
    for (m, n, k) in [
        (1, 1, 32),
        (129, 192, 96),
        (33, 257, 576),
        (64, 64, 64),
        (5, 576, 1536),
    ] {
        let at = shape(m, n, k);
        cases.push(Box::new(tensor_case(rng, WeightType::Q4_1, at, plain)));
        cases.push(Box::new(f32_case(rng, WeightType::Q8_0, at, plain)));
    }
    // The tiles of a machine whose warps take turns.
    for n in [161, 97, 63] {
        let large = GemmShape {
            processor: Processor::Virtual,
            ..shape(259, n, 64)
        };
        cases.push(Box::new(tensor_case(rng, WeightType::Q4_1, large, plain)));
    }
    for (ty, m, n, k) in [
        (WeightType::F32, 129, 257, 64),
        (WeightType::F32, 7, 130, 33),
        (WeightType::Q4_1, 257, 97, 96),
        (WeightType::Q6K, 65, 65, 256),
    ] {
        let large = GemmShape {
            processor: Processor::Virtual,
            ..shape(m, n, k)
        };
        cases.push(Box::new(f32_case(rng, ty, large, plain)));
    }
    for epilogue in epilogues() {
        let at = shape(18, 45, 64);
        cases.push(Box::new(tensor_case(rng, WeightType::Q4_1, at, epilogue)));
        cases.push(Box::new(f32_case(rng, WeightType::Q4_0, at, epilogue)));
    }
    super::integer_cases::cases(rng, &mut cases);
    cases
}

fn wide(x: &f32) -> f64 {
    f64::from(*x)
}

fn tensor_case(
    rng: &mut Random,
    ty: WeightType,
    shape: GemmShape,
    epilogue: Epilogue,
) -> Case<Gemm> {
    let GemmShape { m, n, k, processor } = shape;
    let hardware = Hardware {
        target: Target::sm(90),
        sms: 1,
        processor,
    };
    let w = Matrix::random(rng, ty, n, k);
    let (x, row_scale) = to_f16_reference(&rng.numbers((m * k) as usize, 3.0), k as usize);
    let others = Operands::random(rng, m, n);
    let padded = k.next_multiple_of(32);
    // Weights are rounded to f16 on their way in; tensor cores may cut sums off rather than round them.
    let weights: Vec<f64> = w
        .values
        .iter()
        .map(|w| f16::from_f32(*w).to_f64())
        .collect();
    let rounding = f64::from(k + 16) * 2.0 * EPS_F32;
    let mut products = Vec::new();
    for (x, scale) in x.chunks(padded as usize).zip(&row_scale) {
        let x: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        for w in weights.chunks(k as usize) {
            let near = dot(w.iter().copied().zip(x.iter().copied()), rounding);
            products.push(Near {
                value: near.value * wide(scale),
                error: near.error * wide(scale),
            });
        }
    }
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: Gemm {
            layout: w.layout,
            tiling: Tiling::choose(m, n, hardware),
            epilogue,
        },
        args: GemmArgs {
            x: x.into(),
            row_scale: row_scale.into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            padded,
        },
    }
}

fn f32_case(
    rng: &mut Random,
    ty: WeightType,
    shape: GemmShape,
    epilogue: Epilogue,
) -> Case<GemmF32> {
    let GemmShape { m, n, k, processor } = shape;
    let w = Matrix::random(rng, ty, n, k);
    let x = rng.numbers((m * k) as usize, 3.0);
    let others = Operands::random(rng, m, n);
    let rounding = f64::from(k + 1) * EPS_F32;
    let mut products = Vec::new();
    for x in x.chunks(k as usize) {
        for row in 0..n as usize {
            let pairs = w.row(row).iter().map(wide).zip(x.iter().map(wide));
            products.push(dot(pairs, rounding));
        }
    }
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: GemmF32 {
            layout: w.layout,
            columns: Columns::of(k),
            square: match processor {
                Processor::Card => Square::SMALL,
                Processor::Virtual => Square::LARGE,
            },
            epilogue,
        },
        args: GemmF32Args {
            x: x.into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            columns: k,
        },
    }
}
