//! Cases of the projections: every type of weights, norm, epilogue, spread; heads of many sizes, caches of both types.

use super::{
    Form, Gate, GateArgs, Input, Norm, Project, ProjectArgs, Source, Work,
    reference::{Rows, rows},
};
use crate::{
    case::{AnyCase, Case, Data, EPS_F32, Expected, OnHost, Random},
    epilogue::Epilogue,
    gemm::matrix::{Matrix, Near, Operands, epilogues},
    pointwise::Curve,
};
use warpsmith_formats::quant::WeightType;

pub(super) const EPS: f32 = 1e-5;

pub(super) fn work(each: u32, split: u32, warps: u32) -> Work {
    Work { each, split, warps }
}

/// A random x with the vectors of its norm, and what the products read of it.
pub(super) struct X {
    source: Source,
    x: Vec<f32>,
    gain: Option<Vec<f32>>,
    shift: Option<Vec<f32>>,
    pub(super) ready: Rows,
}

impl X {
    pub(super) fn random(rng: &mut Random, source: Source) -> X {
        let k = source.columns as usize;
        let x = rng.numbers(source.rows as usize * k, 3.0);
        let gain = (source.norm != Norm::None).then(|| rng.numbers(k, 2.0));
        let shift = (source.norm == Norm::Layer).then(|| rng.numbers(k, 1.0));
        let ready = rows(source, &x, gain.as_deref(), shift.as_deref(), EPS);
        X {
            source,
            x,
            gain,
            shift,
            ready,
        }
    }

    /// As an argument.
    pub(super) fn input(&self) -> Input<OnHost> {
        Input {
            x: self.x.clone().into(),
            gain: self.gain.clone().map(Data::from),
            shift: self.shift.clone().map(Data::from),
            m: self.source.rows,
            columns: self.source.columns,
            eps: EPS,
        }
    }
}

pub(super) fn source(form: Form, norm: Norm, rows: u32, columns: u32) -> Source {
    Source {
        form,
        norm,
        rows,
        columns,
    }
}

/// All kernels.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let plain = Epilogue::default();
    let norms = [Norm::None, Norm::Rms, Norm::Layer];
    for (at, ty) in WeightType::ALL.into_iter().enumerate() {
        let (m, n, k) = (rng.range(1, 3), rng.range(1, 99), 256 * rng.range(1, 2));
        let work = rng.pick(&[work(1, 1, 1), work(2, 1, 2), work(4, 1, 1), work(1, 2, 4)]);
        let norm = norms[at % 3];
        if ty.block_len() > 1 {
            let source = source(Form::Bytes, norm, m, k);
            cases.push(Box::new(project(rng, source, ty, n, work, plain)));
        }
        if ty.block_len() <= 1 || at % 4 == 0 {
            let source = source(Form::Single, norm, m, k);
            cases.push(Box::new(project(rng, source, ty, n, work, plain)));
        }
    }
    // Groups that are not whole rounds, most rows, the shapes of a small model, columns that are no whole groups.
    for (form, norm, m, n, k, work) in [
        (Form::Bytes, Norm::Rms, 1, 576, 576, work(8, 1, 1)),
        (Form::Bytes, Norm::None, 1, 70, 1536, work(1, 4, 4)),
        (Form::Bytes, Norm::Layer, 8, 65, 96, work(2, 2, 4)),
        (Form::Bytes, Norm::None, 5, 33, 32, work(1, 1, 4)),
        (Form::Single, Norm::Rms, 1, 40, 576, work(1, 8, 8)),
        (Form::Single, Norm::Layer, 8, 33, 160, work(2, 1, 1)),
    ] {
        let source = source(form, norm, m, k);
        cases.push(Box::new(project(
            rng,
            source,
            WeightType::Q8_0,
            n,
            work,
            plain,
        )));
    }
    for (norm, m, k) in [
        (Norm::Rms, 1, 1),
        (Norm::Layer, 2, 33),
        (Norm::Layer, 3, 36),
        (Norm::None, 4, 31),
    ] {
        let source = source(Form::Single, norm, m, k);
        let work = rng.pick(&[work(2, 1, 1), work(1, 2, 2)]);
        cases.push(Box::new(project(
            rng,
            source,
            WeightType::F16,
            35,
            work,
            plain,
        )));
    }
    for (norm, m, n, k, work) in [
        (Norm::Layer, 5, 70, 96, work(2, 1, 1)),
        (Norm::Rms, 8, 33, 257, work(1, 2, 4)),
        (Norm::None, 2, 64, 32, work(1, 1, 1)),
    ] {
        let source = source(Form::Half, norm, m, k);
        cases.push(Box::new(project(
            rng,
            source,
            WeightType::F16,
            n,
            work,
            plain,
        )));
    }
    for (at, epilogue) in epilogues().into_iter().enumerate() {
        let form = if at % 2 == 0 {
            Form::Bytes
        } else {
            Form::Single
        };
        let source = source(form, Norm::Layer, 2, 64);
        let work = [work(2, 1, 1), work(1, 2, 2)][at / 2 % 2];
        cases.push(Box::new(project(
            rng,
            source,
            WeightType::Q4_0,
            45,
            work,
            epilogue,
        )));
    }
    gates(rng, &mut cases);
    super::head_cases::heads(rng, &mut cases);
    cases
}

fn project(
    rng: &mut Random,
    source: Source,
    ty: WeightType,
    n: u32,
    work: Work,
    epilogue: Epilogue,
) -> Case<Project> {
    let (m, k) = (source.rows, source.columns);
    let w = Matrix::random(rng, ty, n, k);
    let x = X::random(rng, source);
    let others = Operands::random(rng, m, n);
    let products = x.ready.products(&w);
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: Project {
            source,
            layout: w.layout,
            work,
            epilogue,
        },
        args: ProjectArgs {
            rows: x.input(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
        },
    }
}

fn gates(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    use WeightType::{F16, Q4_1, Q4K, Q5_0, Q8_0};
    for (form, m, n, k, types, work, curve) in [
        (
            Form::Bytes,
            1,
            96,
            576,
            [Q4_1, Q4_1],
            work(2, 1, 1),
            Curve::Silu,
        ),
        (
            Form::Bytes,
            2,
            33,
            256,
            [Q4K, Q8_0],
            work(1, 2, 2),
            Curve::GeluTanh,
        ),
        (
            Form::Bytes,
            8,
            65,
            64,
            [Q5_0, Q5_0],
            work(2, 2, 4),
            Curve::Silu,
        ),
        (
            Form::Single,
            1,
            70,
            96,
            [Q8_0, Q8_0],
            work(4, 1, 2),
            Curve::Gelu,
        ),
        (
            Form::Single,
            3,
            31,
            45,
            [F16, F16],
            work(1, 1, 1),
            Curve::Silu,
        ),
        (
            Form::Half,
            3,
            65,
            96,
            [F16, F16],
            work(1, 2, 2),
            Curve::Silu,
        ),
    ] {
        let source = source(form, Norm::Rms, m, k);
        let [gate, up] = types.map(|ty| Matrix::random(rng, ty, n, k));
        let x = X::random(rng, source);
        let products = x
            .ready
            .products(&gate)
            .into_iter()
            .zip(x.ready.products(&up));
        let (want, tolerance) = products.map(|(gate, up)| gated(curve, gate, up)).unzip();
        cases.push(Box::new(Case {
            label: format!("{m}x{n}x{k}"),
            kernel: Gate {
                source,
                gate: gate.layout,
                up: up.layout,
                work,
                curve,
            },
            args: GateArgs {
                rows: x.input(),
                gate: gate.planes(),
                up: up.planes(),
                y: Expected::within(want, tolerance),
                n,
            },
        }));
    }
}

/// `curve(gate) * up` with its error: every curve has a slope of at most 1.13.
fn gated(curve: Curve, gate: Near, up: Near) -> (f64, f64) {
    let (value, own) = curve.reference(gate.value);
    let error = 1.13 * gate.error + own * (1.0 + gate.error);
    let product = error * (up.value.abs() + up.error) + value.abs() * up.error;
    (
        value * up.value,
        product + EPS_F32 * (value * up.value).abs() + f64::from(f32::MIN_POSITIVE),
    )
}
