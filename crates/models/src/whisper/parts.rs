//! The weights that blocks are composed of: norms, linear layers, attentions, feed-forward parts, convolutions.

use crate::Error;
use std::sync::Arc;
use warpsmith_device::Stream;
use warpsmith_formats::quant::WeightType;
use warpsmith_graph::{Convolution, Graph, MatMul, Node, Vector, Weights};
use warpsmith_library::{conv::Stride, epilogue::Activation, weights::pack};

/// The epsilon of every norm.
pub const EPS: f32 = 1e-5;

/// A layer norm.
#[derive(Clone, Debug)]
pub struct Norm {
    /// Multiplies.
    pub gain: Arc<Vector>,
    /// Is added.
    pub bias: Arc<Vector>,
}

impl Norm {
    /// Uploads it: two transfers.
    ///
    /// # Errors
    /// Gain and bias of different lengths; device errors.
    pub fn upload(stream: &Stream, gain: &[f32], bias: &[f32]) -> Result<Norm, Error> {
        same("bias of the norm", gain.len(), bias.len())?;
        Ok(Norm {
            gain: Arc::new(Vector::upload(stream, gain)?),
            bias: Arc::new(Vector::upload(stream, bias)?),
        })
    }

    pub(crate) fn forward(&self, graph: &mut Graph, x: Node) -> Result<Node, Error> {
        Ok(graph.layer_norm(x, &self.gain, &self.bias, EPS)?)
    }

    fn check(&self, what: &'static str, width: u32) -> Result<(), Error> {
        same(what, width as usize, self.gain.len() as usize)?;
        same(what, width as usize, self.bias.len() as usize)
    }
}

/// A linear layer: `y = W x + b`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[outputs, inputs]`.
    pub weights: Arc<Weights>,
    /// One number for each output.
    pub bias: Option<Arc<Vector>>,
}

impl Linear {
    /// Uploads f32 weights `[outputs, inputs]`.
    ///
    /// # Errors
    /// Weights or a bias of another length; device errors.
    pub fn upload(
        stream: &Stream,
        weights: &[f32],
        [outputs, inputs]: [u32; 2],
        bias: Option<&[f32]>,
    ) -> Result<Linear, Error> {
        let packed = pack(
            WeightType::F32,
            bytemuck::cast_slice(weights),
            outputs,
            inputs,
        )?;
        if let Some(bias) = bias {
            same("bias", outputs as usize, bias.len())?;
        }
        Ok(Linear {
            weights: Arc::new(Weights::upload(stream, "linear", &packed)?),
            bias: bias
                .map(|bias| Vector::upload(stream, bias).map(Arc::new))
                .transpose()?,
        })
    }

    pub(crate) fn forward(
        &self,
        graph: &mut Graph,
        x: Node,
        activation: Activation,
        residual: Option<Node>,
    ) -> Result<Node, Error> {
        Ok(graph.matmul(MatMul {
            x,
            weights: Arc::clone(&self.weights),
            bias: self.bias.clone(),
            activation,
            residual,
        })?)
    }

    fn check(&self, what: &'static str, outputs: u32, inputs: u32) -> Result<(), Error> {
        same(what, outputs as usize, self.weights.rows() as usize)?;
        same(what, inputs as usize, self.weights.columns() as usize)?;
        match &self.bias {
            Some(bias) => same(what, outputs as usize, bias.len() as usize),
            None => Ok(()),
        }
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.weights.bytes()
    }
}

/// The four matrices of an attention, each `[width, width]`; heads are slices of the width.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Queries.
    pub query: Linear,
    /// Keys.
    pub key: Linear,
    /// Values.
    pub value: Linear,
    /// What follows the heads.
    pub out: Linear,
}

impl Attention {
    /// Queries, keys and values of the normed `x` itself.
    pub(crate) fn project(&self, graph: &mut Graph, x: Node) -> Result<[Node; 3], Error> {
        let mut linear = |layer: &Linear, name| {
            let y = layer.forward(graph, x, Activation::None, None)?;
            Ok::<_, Error>(graph.name(y, name)?)
        };
        Ok([
            linear(&self.query, "attn.q")?,
            linear(&self.key, "attn.k")?,
            linear(&self.value, "attn.v")?,
        ])
    }

    /// What the heads of attention `name` gave, through the last matrix and onto `residual`.
    pub(crate) fn join(
        &self,
        graph: &mut Graph,
        name: &str,
        heads: Node,
        residual: Node,
    ) -> Result<Node, Error> {
        graph.name(heads, format_args!("{name}.heads"))?;
        let y = self
            .out
            .forward(graph, heads, Activation::None, Some(residual))?;
        Ok(graph.name(y, format_args!("{name}.out"))?)
    }

    pub(crate) fn check(&self, width: u32) -> Result<(), Error> {
        self.query.check("query weights", width, width)?;
        self.key.check("key weights", width, width)?;
        self.value.check("value weights", width, width)?;
        self.out.check("output weights", width, width)
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let parts = [&self.query, &self.key, &self.value, &self.out];
        parts.map(Linear::bytes).iter().sum()
    }
}

/// A feed-forward part: `W2 gelu(W1 x + b1) + b2`.
#[derive(Clone, Debug)]
pub struct Mlp {
    /// `[inner, width]`.
    pub up: Linear,
    /// `[width, inner]`.
    pub down: Linear,
}

impl Mlp {
    pub(crate) fn forward(
        &self,
        graph: &mut Graph,
        x: Node,
        residual: Node,
    ) -> Result<Node, Error> {
        let inner = self.up.forward(graph, x, Activation::Gelu, None)?;
        graph.name(inner, "mlp.up")?;
        let y = self
            .down
            .forward(graph, inner, Activation::None, Some(residual))?;
        Ok(graph.name(y, "mlp.down")?)
    }

    pub(crate) fn check(&self, width: u32) -> Result<(), Error> {
        let inner = self.up.weights.rows();
        self.up.check("first feed-forward weights", inner, width)?;
        self.down.check("second feed-forward weights", width, inner)
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.up.bytes() + self.down.bytes()
    }
}

/// The norm in front of a part, checked against the width.
pub(crate) fn check_norm(norm: &Norm, what: &'static str, width: u32) -> Result<(), Error> {
    norm.check(what, width)
}

/// A convolution over time with GELU behind it.
#[derive(Clone, Debug)]
pub struct Conv {
    /// `[outputs, 3 * channels]`, a tap after the other.
    pub weights: Arc<Weights>,
    /// One number for each output.
    pub bias: Arc<Vector>,
    /// Step in time.
    pub stride: Stride,
}

impl Conv {
    pub(crate) fn forward(
        &self,
        graph: &mut Graph,
        x: Node,
        residual: Option<Node>,
    ) -> Result<Node, Error> {
        Ok(graph.convolve(Convolution {
            x,
            weights: Arc::clone(&self.weights),
            bias: Some(Arc::clone(&self.bias)),
            stride: self.stride,
            activation: Activation::Gelu,
            residual,
        })?)
    }
}

pub(crate) fn same(what: &'static str, want: usize, got: usize) -> Result<(), Error> {
    if want == got {
        Ok(())
    } else {
        Err(Error::Size { what, want, got })
    }
}
