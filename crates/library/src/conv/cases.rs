//! Cases of the convolutions: both strides, few frames, odd numbers of channels and outputs, every epilogue.

use super::{Conv1d, Conv1dArgs, Conv1dF32, Conv1dF32Args, Stride, TAPS};
use crate::{
    case::{AnyCase, Case, EPS_F32, Random},
    epilogue::Epilogue,
    gemm::{
        Tiling,
        matrix::{Matrix, Near, Operands, dot, epilogues},
    },
};
use half::f16;
use warpsmith_formats::quant::WeightType;
use warpsmith_kernel::{Hardware, Processor};
use warpsmith_ptx::target::Target;

#[derive(Clone, Copy)]
struct ConvShape {
    frames: u32,
    channels: u32,
    n: u32,
    stride: Stride,
}

/// Both kernels.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let plain = Epilogue::default();
    for stride in [Stride::One, Stride::Two] {
        let shape = |frames, channels, n| ConvShape {
            frames,
            channels,
            n,
            stride,
        };
        for (frames, channels, n) in [
            (1, 8, 1),
            (2, 16, 33),
            (3, 80, 65),
            (77, 24, 40),
            (130, 80, 130),
        ] {
            let at = shape(frames, channels, n);
            cases.push(Box::new(tensor_case(rng, WeightType::F16, at, plain)));
            cases.push(Box::new(f32_case(rng, WeightType::F16, at, plain)));
        }
        for (frames, channels) in [(1, 1), (5, 3), (66, 7)] {
            let at = shape(frames, channels, rng.range(1, 70));
            cases.push(Box::new(f32_case(rng, WeightType::F32, at, plain)));
        }
        // 3 * 32 columns are whole blocks of the quantised types.
        let at = shape(rng.range(9, 70), 32, 45);
        cases.push(Box::new(tensor_case(rng, WeightType::Q8_0, at, plain)));
        cases.push(Box::new(tensor_case(rng, WeightType::BF16, at, plain)));
        cases.push(Box::new(f32_case(rng, WeightType::Q5_1, at, plain)));
        for epilogue in epilogues() {
            let at = shape(19, 8, 21);
            cases.push(Box::new(tensor_case(rng, WeightType::F16, at, epilogue)));
            cases.push(Box::new(f32_case(rng, WeightType::F16, at, epilogue)));
        }
    }
    cases
}

/// The definition: each output, each tap that is inside, each channel.
fn reference(x: &[f64], w: &[f64], shape: ConvShape, rounding: f64) -> Vec<Near> {
    let channels = shape.channels as usize;
    let mut products = Vec::new();
    for output in 0..shape.stride.outputs(shape.frames) {
        let frame = |tap: usize| (output * shape.stride.frames()) as usize + tap;
        let inside =
            (0..TAPS as usize).filter(|tap| (1..=shape.frames as usize).contains(&frame(*tap)));
        let inside: Vec<usize> = inside.collect();
        for w in w.chunks(channels * TAPS as usize) {
            let terms = inside.iter().flat_map(|tap| {
                let x = &x[(frame(*tap) - 1) * channels..][..channels];
                let w = &w[tap * channels..][..channels];
                x.iter().copied().zip(w.iter().copied())
            });
            products.push(dot(terms, rounding));
        }
    }
    products
}

fn tensor_case(
    rng: &mut Random,
    ty: WeightType,
    shape: ConvShape,
    epilogue: Epilogue,
) -> Case<Conv1d> {
    let ConvShape {
        frames,
        channels,
        n,
        stride,
    } = shape;
    let outputs = stride.outputs(frames);
    let w = Matrix::random(rng, ty, n, channels * TAPS);
    let x = rng.numbers((frames * channels) as usize, 3.0);
    let x: Vec<f16> = x.into_iter().map(f16::from_f32).collect();
    let others = Operands::random(rng, outputs, n);
    let half = |w: &f32| f16::from_f32(*w).to_f64();
    let weights: Vec<f64> = w.values.iter().map(half).collect();
    let values: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    // Tensor cores may cut sums off rather than round them.
    let rounding = f64::from(channels * TAPS + 16) * 2.0 * EPS_F32;
    let products = reference(&values, &weights, shape, rounding);
    let hardware = Hardware {
        target: Target::sm(90),
        sms: 132,
        processor: Processor::Card,
    };
    Case {
        label: format!("{frames} frames of {channels} to {n}"),
        kernel: Conv1d {
            layout: w.layout,
            tiling: Tiling::choose(outputs, n, hardware),
            stride,
            epilogue,
        },
        args: Conv1dArgs {
            x: x.into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            frames,
            channels,
        },
    }
}

fn f32_case(
    rng: &mut Random,
    ty: WeightType,
    shape: ConvShape,
    epilogue: Epilogue,
) -> Case<Conv1dF32> {
    let ConvShape {
        frames,
        channels,
        n,
        stride,
    } = shape;
    let outputs = stride.outputs(frames);
    let w = Matrix::random(rng, ty, n, channels * TAPS);
    let x = rng.numbers((frames * channels) as usize, 3.0);
    let others = Operands::random(rng, outputs, n);
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|x| f64::from(*x)).collect() };
    let rounding = f64::from(channels * TAPS + 1) * EPS_F32;
    let products = reference(&wide(&x), &wide(&w.values), shape, rounding);
    Case {
        label: format!("{frames} frames of {channels} to {n}"),
        kernel: Conv1dF32 {
            layout: w.layout,
            stride,
            epilogue,
        },
        args: Conv1dF32Args {
            x: x.into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            frames,
            channels,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tap_major;

    #[test]
    fn weights_of_a_file_are_turned_tap_by_tap() {
        let file = [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112];
        let want = [0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112];
        assert_eq!(tap_major(&file, 2), want);
    }
}
