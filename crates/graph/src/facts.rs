//! What passes and observers ask of an operation: a row for each.

use crate::{
    fused::{Gate, Heads, Norm, Normed, Part, Store},
    graph::Node,
    op::{At, Attention, MatMul, Op, Rotation},
    pages::{PagedAppend, PagedAttention},
    resource::{Vector, Weights},
    speech::{Convolution, Looks},
};
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

struct Facts<'a> {
    name: &'static str,
    inputs: Vec<Node>,
    /// Each with what it is to the operation.
    parameters: Vec<(&'static str, Parameter<'a>)>,
    effect: Effect,
}

/// What queries, keys and values are multiplied by, and go through.
const PARTS: [[&str; 3]; 3] = [
    ["q.weight", "q.bias", "q_norm.gain"],
    ["k.weight", "k.bias", "k_norm.gain"],
    ["v.weight", "v.bias", "v_norm.gain"],
];

impl<'a> Facts<'a> {
    fn of(name: &'static str, effect: Effect, inputs: &[Node]) -> Facts<'a> {
        Facts {
            name,
            inputs: inputs.to_vec(),
            parameters: Vec::new(),
            effect,
        }
    }

    /// One that only gives a value.
    fn value(name: &'static str, inputs: &[Node]) -> Facts<'a> {
        Facts::of(name, Effect::Value, inputs)
    }

    fn outside(name: &'static str, inputs: &[Node]) -> Facts<'a> {
        Facts::of(name, Effect::Outside, inputs)
    }

    fn and(mut self, more: Option<Node>) -> Facts<'a> {
        self.inputs.extend(more);
        self
    }

    fn matrix(mut self, part: &'static str, weights: &'a Arc<Weights>) -> Facts<'a> {
        self.parameters.push((part, Parameter::Matrix(weights)));
        self
    }

    fn vector(
        mut self,
        part: &'static str,
        vector: impl Into<Option<&'a Arc<Vector>>>,
    ) -> Facts<'a> {
        let vector = vector
            .into()
            .map(|vector| (part, Parameter::Vector(vector)));
        self.parameters.extend(vector);
        self
    }

    fn norm(self, norm: Option<&'a Norm>) -> Facts<'a> {
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

    fn product(self, product: &'a MatMul) -> Facts<'a> {
        let MatMul {
            x: _,
            weights,
            bias,
            activation: _,
            residual,
        } = product;
        let product = self.and(*residual).matrix("weight", weights);
        product.vector("bias", bias.as_ref())
    }
}

impl Op {
    fn facts(&self) -> Facts<'_> {
        match self {
            Op::Floats(_) => Facts::outside("floats", &[]),
            Op::Ids(_) => Facts::outside("ids", &[]),
            Op::Embed { table, ids } => Facts::value("embed", &[*ids]).matrix("weight", table),
            Op::RmsNorm {
                x,
                gain,
                eps: _,
                heads: _,
            } => Facts::value("rms_norm", &[*x]).vector("gain", gain),
            Op::LayerNorm {
                x,
                gain,
                bias,
                eps: _,
            } => {
                let norm = Facts::value("layer_norm", &[*x]).vector("gain", gain);
                norm.vector("bias", bias)
            }
            Op::MatMul(product) => Facts::value("matmul", &[product.x]).product(product),
            Op::Normed(Normed { norm, product }) => Facts::value("norm_matmul", &[product.x])
                .norm(Some(norm))
                .product(product),
            Op::Gate(Gate {
                x,
                norm,
                gate,
                up,
                curve: _,
            }) => Facts::value("gate", &[*x])
                .norm(norm.as_ref())
                .matrix("gate.weight", gate)
                .matrix("up.weight", up),
            Op::Heads(Heads {
                x,
                norm,
                parts,
                turn: _,
                positions,
                store,
            }) => {
                let mut inputs = vec![*x, *positions];
                if let Store::Paged { pages: _, slots } = store {
                    inputs.push(*slots);
                }
                let mut heads = Facts::outside("heads", &inputs).norm(norm.as_ref());
                for (part, [weight, bias, gain]) in parts.iter().zip(PARTS) {
                    let Part {
                        weights,
                        bias: own,
                        norm,
                    } = part;
                    heads = heads.matrix(weight, weights).vector(bias, own.as_ref());
                    heads = heads.vector(gain, norm.as_ref().map(|(gain, _)| gain));
                }
                heads
            }
            Op::Add { a, b } => Facts::value("add", &[*a, *b]),
            Op::Mul { a, b } => Facts::value("mul", &[*a, *b]),
            Op::Scale { x, by: _ } => Facts::value("scale", &[*x]),
            Op::Curve { x, curve: _ } => Facts::value("curve", &[*x]),
            Op::Gated { gate, up, curve: _ } => Facts::value("gated", &[*gate, *up]),
            Op::Softmax { x } => Facts::value("softmax", &[*x]),
            Op::Rotate(Rotation {
                q,
                k,
                positions,
                head_dim: _,
                table: _,
                pairing: _,
            }) => Facts::value("rotate", &[*q, *k, *positions]),
            Op::RotatedKeys { rotation, k: _ } => Facts::value("rotated_keys", &[*rotation]),
            Op::Append { k, v, to, cache: _ } => {
                let positions = match to {
                    At::Positions(positions) | At::Rows(positions) => Some(*positions),
                    At::From(_) => None,
                };
                Facts::outside("append", &[*k, *v]).and(positions)
            }
            Op::Attend(Attention {
                q,
                visible,
                cache: _,
                heads: _,
                scale: _,
                seen: _,
                sources,
            }) => Facts::value("attend", &[*q, *visible]).and(*sources),
            Op::PagedAppend(PagedAppend {
                k,
                v,
                positions,
                slots,
                pages: _,
            }) => Facts::outside("append_paged", &[*k, *v, *positions, *slots]),
            Op::PagedAttend(PagedAttention {
                q,
                visible,
                slots,
                pages: _,
                heads: _,
                scale: _,
                rows: _,
            }) => Facts::value("attend_paged", &[*q, *visible, *slots]),
            Op::Rows { x, from: _ } => Facts::value("rows", &[*x]),
            Op::ArgMax { x } => Facts::value("argmax", &[*x]),
            Op::Draw { logits, sampler: _ } => Facts::outside("draw", &[*logits]),
            Op::Convolve(Convolution {
                x,
                weights,
                bias,
                stride: _,
                activation: _,
                residual,
            }) => {
                let convolution = Facts::value("convolve", &[*x]).and(*residual);
                let convolution = convolution.matrix("weight", weights);
                convolution.vector("bias", bias.as_ref())
            }
            Op::Decide {
                logits,
                decision: _,
            } => Facts::outside("decide", &[*logits]),
            Op::Follow {
                lines: _,
                parents: _,
            } => Facts::outside("follow", &[]),
            Op::LogProbability {
                logits,
                ids,
                limit: _,
            } => Facts::value("log_probability", &[*logits, *ids]),
            Op::Look(Looks {
                q,
                chosen,
                cache: _,
                len: _,
                scale: _,
            }) => Facts::value("look", &[*q, *chosen]),
            Op::Absorbed => Facts::outside("absorbed", &[]),
        }
    }

    /// What it is called: `matmul`.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }

    /// The operands that are nodes.
    pub fn inputs(&self) -> Vec<Node> {
        self.facts().inputs
    }

    /// The parameters, each with what it is to the operation.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, Parameter<'_>)> {
        self.facts().parameters
    }

    /// Whether it does nothing but give its value.
    pub(crate) fn only_a_value(&self) -> bool {
        self.facts().effect == Effect::Value
    }
}
