//! Every operation against f64, on awkward shapes, and its refusals.

use std::error::Error as AnyError;
use warpsmith_device::{Device, Selector, Stream};
use warpsmith_library::{
    case::{EPS_F32, Random},
    epilogue::gelu_reference,
    norm::{layer_reference, rms_reference},
    pointwise::Curve,
    softmax::softmax_reference,
};
use warpsmith_tensor::{Activation, Error, Expected, Tensor, Weight};

type Done = Result<(), Box<dyn AnyError>>;

fn stream() -> Result<Stream, Box<dyn AnyError>> {
    Ok(Device::open(&Selector::virtual_gpu())?.stream()?)
}

/// A tensor and its elements.
fn random(
    stream: &Stream,
    rng: &mut Random,
    shape: &[usize],
) -> Result<(Tensor<f32>, Vec<f32>), Error> {
    let data = rng.numbers(shape.iter().product(), 3.0);
    Ok((Tensor::from_host(stream, shape, &data)?, data))
}

/// Compares with values and what each may be off by.
#[track_caller]
fn near(what: &str, got: &Tensor<f32>, want: impl IntoIterator<Item = (f64, f64)>) {
    let got = got.to_host().expect("a result");
    let want: Vec<_> = want.into_iter().collect();
    assert_eq!(got.len(), want.len(), "{what}");
    for (at, (got, (want, error))) in got.iter().zip(want).enumerate() {
        let off = (f64::from(*got) - want).abs();
        assert!(
            off <= error,
            "{what}: element {at} is {got}, expected {want} within {error}"
        );
    }
}

const SHAPES: [&[usize]; 8] = [
    &[1],
    &[31],
    &[3, 33],
    &[2, 3, 257],
    &[5, 1],
    &[1, 576],
    &[2, 2051],
    &[],
];

#[test]
fn functions_of_elements() -> Done {
    let (stream, mut rng) = (stream()?, Random::new(1));
    for shape in SHAPES {
        let (x, a) = random(&stream, &mut rng, shape)?;
        let (y, b) = random(&stream, &mut rng, shape)?;
        let rounded = |value: f64| (value, value.abs() * EPS_F32);
        let one = |f: fn(f64) -> f64| a.iter().map(move |a| rounded(f(f64::from(*a))));
        let pairs = || {
            a.iter()
                .zip(&b)
                .map(|(a, b)| (f64::from(*a), f64::from(*b)))
        };
        near("scale", &x.scale(-0.75)?, one(|a| a * -0.75));
        near("add", &x.add(&y)?, pairs().map(|(a, b)| rounded(a + b)));
        near("mul", &x.mul(&y)?, pairs().map(|(a, b)| rounded(a * b)));
        let curve = |curve: Curve| a.iter().map(move |a| curve.reference(f64::from(*a)));
        near("gelu", &x.gelu()?, curve(Curve::Gelu));
        near("silu", &x.silu()?, curve(Curve::Silu));
        assert_eq!(x.gelu()?.shape(), shape);
    }
    Ok(())
}

#[test]
fn functions_of_rows() -> Done {
    let (stream, mut rng) = (stream()?, Random::new(2));
    for shape in SHAPES {
        let Some(n) = shape.last().copied() else {
            continue;
        };
        let (x, a) = random(&stream, &mut rng, shape)?;
        let (gain, g) = random(&stream, &mut rng, &[n])?;
        let (bias, b) = random(&stream, &mut rng, &[n])?;
        let rows = || a.chunks(n);
        near("softmax", &x.softmax()?, rows().flat_map(softmax_reference));
        let want = rows().flat_map(|row| rms_reference(row, &g, 1e-5));
        near("rms_norm", &x.rms_norm(&gain, 1e-5)?, want);
        let want = rows().flat_map(|row| layer_reference(row, &g, &b, 1e-5));
        near("layer_norm", &x.layer_norm(&gain, &bias, 1e-5)?, want);
    }
    Ok(())
}

/// `x W^T + b` in f64 with the error of f32, `w(j, i)` an element of `W`.
fn product(
    x: &[f32],
    [n, k]: [usize; 2],
    w: impl Fn(usize, usize) -> f32,
    bias: Option<&[f32]>,
) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    let m = x.len().checked_div(k).unwrap_or(1);
    for row in 0..m {
        for j in 0..n {
            let (mut value, mut size) = (0.0, 0.0);
            for i in 0..k {
                let term = f64::from(x[row * k + i]) * f64::from(w(j, i));
                value += term;
                size += term.abs();
            }
            let bias = bias.map_or(0.0, |bias| f64::from(bias[j]));
            value += bias;
            out.push((value, (size + bias.abs()) * (k + 3) as f64 * EPS_F32));
        }
    }
    out
}

#[test]
fn products() -> Done {
    let (stream, mut rng) = (stream()?, Random::new(3));
    let shapes = [
        (1, 1, 1),
        (1, 33, 31),
        (3, 65, 36),
        (4, 31, 257),
        (5, 1, 64),
        (9, 33, 33),
        (17, 70, 129),
        (66, 96, 40),
        (2, 7, 0),
    ];
    for (m, n, k) in shapes {
        let what = format!("{m} x {n} x {k}");
        let (x, a) = random(&stream, &mut rng, &[m, k])?;
        let (w, b) = random(&stream, &mut rng, &[n, k])?;
        let (bias, c) = random(&stream, &mut rng, &[n])?;
        let at = |j: usize, i: usize| b[j * k + i];
        let mut plain = product(&a, [n, k], at, None);
        let mut with_bias = product(&a, [n, k], at, Some(&c));
        if k == 0 {
            plain = vec![(0.0, 0.0); m * n];
            with_bias = (0..m * n).map(|i| (f64::from(c[i % n]), 0.0)).collect();
        }
        let gelu = |(value, error): &(f64, f64)| {
            let (y, own) = Curve::Gelu.reference(*value);
            (y, own + 1.13 * error)
        };
        let silu = |(value, error): &(f64, f64)| {
            let (y, own) = Curve::Silu.reference(*value);
            (y, own + 1.1 * error)
        };
        near(&what, &x.linear(&w, None)?, plain.iter().copied());
        near(
            &what,
            &x.linear(&w, Some(&bias))?,
            with_bias.iter().copied(),
        );
        let weight = Weight::from_rows(&w)?;
        assert_eq!(weight.shape(), [n, k]);
        near(
            &what,
            &x.linear(&weight, Some(&bias))?,
            with_bias.iter().copied(),
        );
        near(
            &what,
            &x.linear_gelu(&weight, Some(&bias))?,
            with_bias.iter().map(gelu),
        );
        let y = x.linear_with(&weight, None, Activation::Silu)?;
        near(&what, &y, plain.iter().map(silu));
        assert_eq!(y.shape(), [m, n]);

        // The same numbers as `[k, n]`: element (i, j) of `other`.
        let (other, b) = random(&stream, &mut rng, &[k, n])?;
        let mut plain = product(&a, [n, k], |j, i| b[i * n + j], None);
        if k == 0 {
            plain = vec![(0.0, 0.0); m * n];
        }
        near(&what, &x.matmul(&other)?, plain.iter().copied());
        let columns = Weight::from_columns(&other)?;
        near(&what, &x.linear(&columns, None)?, plain.iter().copied());
    }
    assert_eq!(gelu_reference(0.0), 0.0);
    Ok(())
}

#[test]
fn leading_dimensions_stay_and_none_may_be_zero() -> Done {
    let (stream, mut rng) = (stream()?, Random::new(4));
    let (x, a) = random(&stream, &mut rng, &[2, 3, 8])?;
    let (w, b) = random(&stream, &mut rng, &[5, 8])?;
    let y = x.linear(&w, None)?;
    assert_eq!(y.shape(), [2, 3, 5]);
    near("3d", &y, product(&a, [5, 8], |j, i| b[j * 8 + i], None));

    let empty = Tensor::<f32>::uninit(&stream, &[0, 8])?;
    let before = stream.device().stats();
    assert_eq!(empty.linear(&w, None)?.shape(), [0, 5]);
    assert_eq!(empty.softmax()?.shape(), [0, 8]);
    assert_eq!(empty.gelu()?.to_host()?, [0f32; 0]);
    let flat = Tensor::<f32>::uninit(&stream, &[3, 0])?;
    let none = Tensor::<f32>::uninit(&stream, &[0])?;
    assert_eq!(flat.rms_norm(&none, 1e-5)?.shape(), [3, 0]);
    assert_eq!(stream.device().stats().launches, before.launches);
    Ok(())
}

#[test]
fn wrong_shapes_are_named() -> Done {
    let stream = stream()?;
    let zeros =
        |shape: &[usize]| Tensor::from_host(&stream, shape, &vec![0f32; shape.iter().product()]);
    let (x, w) = (zeros(&[2, 3])?, zeros(&[4, 5])?);
    let before = stream.device().stats();
    let refused = |result: Result<Tensor<f32>, Error>| match result {
        Err(Error::Shape {
            op,
            arg,
            expected,
            found,
        }) => (op, arg, expected, found),
        other => panic!("{other:?}"),
    };
    let same = Expected::Exactly(vec![2, 3]);
    assert_eq!(
        refused(x.add(&w)),
        ("add", "other", same.clone(), vec![4, 5])
    );
    assert_eq!(refused(x.mul(&w)), ("mul", "other", same, vec![4, 5]));
    let (last, row) = (Expected::Last(5), Expected::Exactly(vec![3]));
    assert_eq!(
        refused(x.linear(&w, None)),
        ("linear", "x", last, vec![2, 3])
    );
    let three = Expected::RowsOfTwo(3);
    assert_eq!(
        refused(x.matmul(&w)),
        ("matmul", "other", three, vec![4, 5])
    );
    assert_eq!(
        refused(x.rms_norm(&w, 0.0)),
        ("rms_norm", "gain", row, vec![4, 5])
    );
    let point = zeros(&[])?;
    let one = Expected::AtLeast(1);
    assert_eq!(refused(point.softmax()), ("softmax", "x", one, vec![]));
    let two = Expected::Rank(2);
    assert_eq!(
        refused(x.linear(&point, None)),
        ("linear", "weight", two, vec![])
    );
    let bias = zeros(&[5])?;
    let text = x
        .linear_gelu(&x, Some(&bias))
        .expect_err("a bias of 2")
        .to_string();
    assert_eq!(text, "linear_gelu: `bias` has shape [5], expected [2]");
    assert_eq!(stream.device().stats().launches, before.launches);

    let short = Tensor::from_host(&stream, &[2, 2], &[0u8; 3]).map(drop);
    let (op, shape) = ("from_host", vec![2, 2]);
    assert_eq!(
        short,
        Err(Error::Elements {
            op,
            shape,
            expected: 4,
            found: 3
        })
    );
    let shape = vec![usize::MAX, 2];
    let huge = Tensor::<f32>::uninit(&stream, &shape).map(drop);
    assert_eq!(
        huge,
        Err(Error::TooLarge {
            op: "uninit",
            shape
        })
    );
    use warpsmith_device::Error::OutOfMemory;
    let large = Tensor::<f32>::uninit(&stream, &[1 << 50]);
    assert!(
        matches!(large, Err(Error::Device(OutOfMemory { .. }))),
        "{large:?}"
    );
    Ok(())
}
