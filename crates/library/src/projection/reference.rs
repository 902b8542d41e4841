//! What projections must give, in f64, with how far a kernel may be from it.

use super::{Form, Norm, Source};
use crate::{
    case::{EPS_F16, EPS_F32},
    gemm::matrix::{Matrix, Near},
    norm::{layer_reference, rms_reference},
    rope::{Pairing, SIN_COS_ERROR},
    weights::{BLOCK, GROUP},
};

/// Rows as products read them.
pub(super) struct Rows {
    source: Source,
    /// `[rows, columns]`.
    elements: Vec<Near>,
}

/// `x` after its norm and in its form.
pub(super) fn rows(
    source: Source,
    x: &[f32],
    gain: Option<&[f32]>,
    shift: Option<&[f32]>,
    eps: f32,
) -> Rows {
    let mut elements = Vec::new();
    for x in x.chunks(source.columns as usize) {
        let gain = gain.unwrap_or_default();
        let normed = match source.norm {
            Norm::None => x.iter().map(|x| (f64::from(*x), 0.0)).collect(),
            Norm::Rms => rms_reference(x, gain, eps),
            Norm::Layer => layer_reference(x, gain, shift.unwrap_or_default(), eps),
        };
        let normed: Vec<Near> = normed
            .into_iter()
            .map(|(value, error)| Near { value, error })
            .collect();
        match source.form {
            Form::Single => elements.extend(normed),
            Form::Half => elements.extend(halved(&normed)),
            Form::Bytes => normed
                .chunks(GROUP as usize)
                .for_each(|group| elements.extend(quantised(group))),
        }
    }
    Rows { source, elements }
}

/// A group to signed bytes: `d q`. Where a value is so near the middle of two steps that its error decides, either is right.
fn quantised(group: &[Near]) -> Vec<Near> {
    let most = group.iter().map(|x| x.value.abs()).fold(0.0, f64::max);
    let loose = group.iter().map(|x| x.error).fold(0.0, f64::max);
    let d = most / 127.0;
    let scale_error = loose / 127.0 + 4.0 * EPS_F32 * d;
    let element = |x: &Near| {
        if most == 0.0 {
            return Near {
                value: 0.0,
                error: loose,
            };
        }
        let q = x.value / d;
        let doubt = (x.error + q.abs() * scale_error) / d + 8.0 * EPS_F32 * q.abs();
        let decided = (q - q.floor() - 0.5).abs() > doubt;
        let step = if decided { 0.0 } else { d };
        Near {
            value: q.round_ties_even() * d,
            error: step + (q.abs() + 1.0) * scale_error,
        }
    };
    group.iter().map(element).collect()
}

/// A row to f16, each element with half a step of its own, and at least of what the row's largest one leaves.
fn halved(row: &[Near]) -> Vec<Near> {
    let most = row
        .iter()
        .map(|x| x.value.abs() + x.error)
        .fold(0.0, f64::max);
    let element = |x: &Near| Near {
        value: x.value,
        error: x.error + (x.value.abs() + x.error) * EPS_F16 + most * 2f64.powi(-37),
    };
    row.iter().map(element).collect()
}

impl Rows {
    /// Products with every row of W, `[rows, n]`.
    pub(super) fn products(&self, w: &Matrix) -> Vec<Near> {
        let k = self.source.columns;
        let (n, terms) = (w.packed.rows, k + BLOCK + 16);
        // Tensor cores may cut sums off rather than round them.
        let cut = if self.source.form == Form::Half {
            2.0
        } else {
            1.0
        };
        let rounding = f64::from(terms) * EPS_F32 * cut;
        let mut products = Vec::new();
        for x in self.elements.chunks(k as usize) {
            for column in 0..n {
                let (mut value, mut error) = (0.0, 0.0);
                for (at, (w_at, x)) in w.row(column as usize).iter().zip(x).enumerate() {
                    value += f64::from(*w_at) * x.value;
                    // With bytes a weight is the sum of a scaled code and a minimum, whose products may cancel.
                    let part = match self.source.form {
                        Form::Bytes => w.packed.magnitude(column, at as u32),
                        Form::Single | Form::Half => f64::from(*w_at).abs(),
                    };
                    error += part * (rounding * (x.value.abs() + x.error) + x.error);
                }
                products.push(Near { value, error });
            }
        }
        products
    }
}

/// Rows of heads `[rows, heads * head_dim]` with bias, norm of each head (gain and epsilon), and rotation (pairing,
/// frequencies, magnitude).
pub(super) fn after_heads(
    products: &[Near],
    head_dim: u32,
    positions: &[u32],
    bias: Option<&[f32]>,
    norm: Option<(&[f32], f32)>,
    turn: Option<(Pairing, &[f32], f32)>,
) -> Vec<Near> {
    let width = products.len() / positions.len().max(1);
    let mut all = Vec::new();
    for (row, position) in products.chunks(width).zip(positions) {
        for (at, head) in row.chunks(head_dim as usize).enumerate() {
            let mut head = head.to_vec();
            if let Some(bias) = bias {
                for (x, bias) in head.iter_mut().zip(&bias[at * head_dim as usize..]) {
                    x.value += f64::from(*bias);
                    x.error += EPS_F32 * (x.value.abs() + x.error);
                }
            }
            if let Some((gain, eps)) = norm {
                head = normed(&head, gain, eps);
            }
            if let Some((pairing, inverse, magnitude)) = turn {
                turn_head(&mut head, pairing, *position, inverse, f64::from(magnitude));
            }
            all.extend(head);
        }
    }
    all
}

/// RMSNorm of a head of which every element has an error of its own.
fn normed(head: &[Near], gain: &[f32], eps: f32) -> Vec<Near> {
    let n = head.len() as f64;
    let squares: f64 = head.iter().map(|x| x.value.powi(2)).sum();
    let moved: f64 = head
        .iter()
        .map(|x| (2.0 * x.value.abs() + x.error) * x.error)
        .sum();
    let under = squares / n + f64::from(eps);
    let scale = 1.0 / under.sqrt();
    // Half of what the mean moves by; the root's slope is steeper where it shrinks.
    let share = (moved / n / under).min(0.9);
    let relative = (1.0 - share).powf(-0.5) - 1.0 + EPS_F32 * (n / 32.0 + 24.0);
    head.iter()
        .zip(gain)
        .map(|(x, gain)| {
            let gain = f64::from(*gain);
            let value = x.value * scale * gain;
            let error = x.error * scale * gain.abs() * (1.0 + relative) + value.abs() * relative;
            Near { value, error }
        })
        .collect()
}

fn turn_head(head: &mut [Near], pairing: Pairing, position: u32, inverse: &[f32], magnitude: f64) {
    for (pair, frequency) in inverse.iter().enumerate() {
        let (first, second) = match pairing {
            Pairing::Neighbours => (2 * pair, 2 * pair + 1),
            Pairing::Halves => (pair, pair + inverse.len()),
        };
        let (x, y) = (head[first], head[second]);
        let (sin, cos) = (f64::from(position) * f64::from(*frequency)).sin_cos();
        let size = x.value.abs() + y.value.abs() + x.error + y.error;
        let error = magnitude.abs()
            * (x.error * cos.abs().max(sin.abs())
                + y.error * cos.abs().max(sin.abs())
                + size * (SIN_COS_ERROR + 4.0 * EPS_F32));
        head[first] = Near {
            value: (x.value * cos - y.value * sin) * magnitude,
            error,
        };
        head[second] = Near {
            value: (x.value * sin + y.value * cos) * magnitude,
            error,
        };
    }
}
