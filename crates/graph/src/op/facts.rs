//! What passes and observers ask of an operation: its name, what it does besides giving its value, its parameters.

use super::fused::{Gate, Heads, HeadsMatrix, Norm, Normed};
use super::{Convolution, MatMul, Op};
use crate::resource::{Vector, Weights};
use std::sync::Arc;

/// A parameter of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parameter<'a> {
    Matrix(&'a Arc<Weights>),
    Vector(&'a Arc<Vector>),
}

/// What an operation does besides giving its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing: if nobody reads the value, nobody needs the operation.
    Value,
    /// It reads or changes memory from outside: a leaf, a cache, what is drawn and decided.
    Outside,
}

/// What queries, keys and values are multiplied by, and go through.
const PARTS: [[&str; 3]; 3] = [
    ["q.weight", "q.bias", "q_norm.gain"],
    ["k.weight", "k.bias", "k_norm.gain"],
    ["v.weight", "v.bias", "v_norm.gain"],
];

/// Parameters, each with what it is to its operation.
#[derive(Default)]
struct Parameters<'a>(Vec<(&'static str, Parameter<'a>)>);

impl<'a> Parameters<'a> {
    fn matrix(mut self, part: &'static str, weights: &'a Arc<Weights>) -> Self {
        self.0.push((part, Parameter::Matrix(weights)));
        self
    }

    fn vector(mut self, part: &'static str, vector: impl Into<Option<&'a Arc<Vector>>>) -> Self {
        let vector = vector.into();
        self.0
            .extend(vector.map(|vector| (part, Parameter::Vector(vector))));
        self
    }

    fn norm(self, norm: Option<&'a Norm>) -> Self {
        match norm {
            None => self,
            Some(Norm::Rms { gain, eps: _ }) => self.vector("norm.gain", gain),
            Some(Norm::Layer {
                gain,
                shift,
                eps: _,
            }) => self.vector("norm.gain", gain).vector("norm.bias", shift),
        }
    }

    fn product(self, product: &'a MatMul) -> Self {
        self.matrix("weight", &product.weights)
            .vector("bias", product.bias.as_ref())
    }

    fn heads(mut self, heads: &'a Heads) -> Self {
        self = self.norm(heads.norm.as_ref());
        for (part, [weight, bias, gain]) in heads.parts.iter().zip(PARTS) {
            let HeadsMatrix {
                weights,
                bias: own,
                norm,
            } = part;
            self = self.matrix(weight, weights).vector(bias, own.as_ref());
            self = self.vector(gain, norm.as_ref().map(|(gain, _)| gain));
        }
        self
    }
}

impl Op {
    fn facts(&self) -> (&'static str, Effect) {
        use Effect::{Outside, Value};
        match self {
            Op::Floats(_) => ("floats", Outside),
            Op::Ids(_) => ("ids", Outside),
            Op::Embed { .. } => ("embed", Value),
            Op::RmsNorm { .. } => ("rms_norm", Value),
            Op::LayerNorm { .. } => ("layer_norm", Value),
            Op::MatMul(_) => ("matmul", Value),
            Op::Normed(_) => ("norm_matmul", Value),
            Op::Gate(_) => ("gate", Value),
            Op::Heads(_) => ("heads", Outside),
            Op::Add { .. } => ("add", Value),
            Op::Mul { .. } => ("mul", Value),
            Op::Scale { .. } => ("scale", Value),
            Op::Curve { .. } => ("curve", Value),
            Op::Gated { .. } => ("gated", Value),
            Op::Softmax { .. } => ("softmax", Value),
            Op::Rotate(_) => ("rotate", Value),
            Op::RotatedKeys { .. } => ("rotated_keys", Value),
            Op::Append { .. } => ("append", Outside),
            Op::Attend(_) => ("attend", Value),
            Op::PagedAppend(_) => ("append_paged", Outside),
            Op::PagedAttend(_) => ("attend_paged", Value),
            Op::Rows { .. } => ("rows", Value),
            Op::ArgMax { .. } => ("argmax", Value),
            Op::Draw { .. } => ("draw", Outside),
            Op::Convolve(_) => ("convolve", Value),
            Op::Decide { .. } => ("decide", Outside),
            Op::Follow { .. } => ("follow", Outside),
            Op::LogProbability { .. } => ("log_probability", Value),
            Op::Look(_) => ("look", Value),
            Op::Absorbed => ("absorbed", Outside),
        }
    }

    /// What it is called: `matmul`.
    pub fn name(&self) -> &'static str {
        self.facts().0
    }

    /// Whether it does nothing but give its value.
    pub(crate) fn only_a_value(&self) -> bool {
        self.facts().1 == Effect::Value
    }

    /// The parameters, each with what it is to the operation.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, Parameter<'_>)> {
        let none = Parameters::default();
        let all = match self {
            Op::Embed { table, ids: _ } => none.matrix("weight", table),
            Op::RmsNorm { gain, .. } => none.vector("gain", gain),
            Op::LayerNorm { gain, bias, .. } => none.vector("gain", gain).vector("bias", bias),
            Op::MatMul(product) => none.product(product),
            Op::Normed(Normed { norm, product }) => none.norm(Some(norm)).product(product),
            Op::Gate(Gate { norm, gate, up, .. }) => none
                .norm(norm.as_ref())
                .matrix("gate.weight", gate)
                .matrix("up.weight", up),
            Op::Heads(heads) => none.heads(heads),
            Op::Convolve(Convolution { weights, bias, .. }) => {
                none.matrix("weight", weights).vector("bias", bias.as_ref())
            }
            Op::Floats(_)
            | Op::Ids(_)
            | Op::Add { .. }
            | Op::Mul { .. }
            | Op::Scale { .. }
            | Op::Curve { .. }
            | Op::Gated { .. }
            | Op::Softmax { .. }
            | Op::Rotate(_)
            | Op::RotatedKeys { .. }
            | Op::Append { .. }
            | Op::Attend(_)
            | Op::PagedAppend(_)
            | Op::PagedAttend(_)
            | Op::Rows { .. }
            | Op::ArgMax { .. }
            | Op::Draw { .. }
            | Op::Decide { .. }
            | Op::Follow { .. }
            | Op::LogProbability { .. }
            | Op::Look(_)
            | Op::Absorbed => none,
        };
        all.0
    }
}
