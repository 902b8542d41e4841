//! Operations on f32 tensors: each enqueues its kernels and returns a new resident tensor.

use crate::{
    error::Error,
    kernels::Order,
    tensor::Tensor,
    weight::{Linear, Weight, WeightRef},
};
use warpsmith_library::{
    epilogue::Activation,
    norm::{LayerNorm, LayerNormArgs, RmsNorm, RmsNormArgs},
    pointwise::{Curve, Op, Pointwise, PointwiseArgs},
    softmax::{Softmax, SoftmaxArgs},
    team::Rows,
};

impl Tensor<f32> {
    /// Who works on rows of `n` elements.
    fn rows_for(&self, n: u32) -> Rows {
        Rows::for_width(n, self.stream().device().info().hardware())
    }

    fn pointwise(
        &self,
        op: Op,
        other: Option<&Tensor<f32>>,
        by: f32,
    ) -> Result<Tensor<f32>, Error> {
        let mut y = Tensor::uninit(self.stream(), self.shape())?;
        if !y.is_empty() {
            y.launch(&Pointwise { op }, |y| PointwiseArgs {
                x: self.view(),
                other: other.map(Tensor::view),
                n: y.len() as u64,
                y,
                by,
            })?;
        }
        Ok(y)
    }

    /// `x * by`.
    ///
    /// # Errors
    /// Those of the device, as for all operations.
    pub fn scale(&self, by: f32) -> Result<Tensor<f32>, Error> {
        self.pointwise(Op::Scale, None, by)
    }

    /// `x + other`, element by element.
    ///
    /// # Errors
    /// [`Error::Shape`] unless both have the same shape.
    pub fn add(&self, other: &Tensor<f32>) -> Result<Tensor<f32>, Error> {
        other.operand("add", "other").exactly(self.shape())?;
        self.pointwise(Op::Add, Some(other), 0.0)
    }

    /// `x * other`, element by element.
    ///
    /// # Errors
    /// [`Error::Shape`] unless both have the same shape.
    pub fn mul(&self, other: &Tensor<f32>) -> Result<Tensor<f32>, Error> {
        other.operand("mul", "other").exactly(self.shape())?;
        self.pointwise(Op::Mul, Some(other), 0.0)
    }

    /// The exact GELU: `x/2 (1 + erf(x / sqrt 2))`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn gelu(&self) -> Result<Tensor<f32>, Error> {
        self.pointwise(Op::Curve(Curve::Gelu), None, 0.0)
    }

    /// `x * sigmoid(x)`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn silu(&self) -> Result<Tensor<f32>, Error> {
        self.pointwise(Op::Curve(Curve::Silu), None, 0.0)
    }

    /// Softmax over the last dimension; a row of minus infinities gives zeros.
    ///
    /// # Errors
    /// [`Error::Shape`] without a dimension.
    pub fn softmax(&self) -> Result<Tensor<f32>, Error> {
        let [rows, n] = self.operand("softmax", "x").rows()?;
        let kernel = Softmax {
            rows: self.rows_for(n),
        };
        let mut y = Tensor::uninit(self.stream(), self.shape())?;
        if !y.is_empty() {
            y.launch(&kernel, |y| SoftmaxArgs {
                x: self.view(),
                y,
                rows,
                n,
            })?;
        }
        Ok(y)
    }

    /// `x / sqrt(mean(x^2) + eps) * gain` over the last dimension.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `gain` is as long as the last dimension.
    pub fn rms_norm(&self, gain: &Tensor<f32>, eps: f32) -> Result<Tensor<f32>, Error> {
        let [rows, n] = self.operand("rms_norm", "x").rows()?;
        gain.operand("rms_norm", "gain").exactly(&[n as usize])?;
        let kernel = RmsNorm {
            rows: self.rows_for(n),
        };
        let mut y = Tensor::uninit(self.stream(), self.shape())?;
        if !y.is_empty() {
            y.launch(&kernel, |y| RmsNormArgs {
                x: self.view(),
                gain: gain.view(),
                y,
                rows,
                n,
                eps,
            })?;
        }
        Ok(y)
    }

    /// `(x - mean) / sqrt(variance + eps) * gain + bias` over the last dimension.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `gain` and `bias` are as long as the last dimension.
    pub fn layer_norm(
        &self,
        gain: &Tensor<f32>,
        bias: &Tensor<f32>,
        eps: f32,
    ) -> Result<Tensor<f32>, Error> {
        let [rows, n] = self.operand("layer_norm", "x").rows()?;
        gain.operand("layer_norm", "gain").exactly(&[n as usize])?;
        bias.operand("layer_norm", "bias").exactly(&[n as usize])?;
        let kernel = LayerNorm {
            rows: self.rows_for(n),
        };
        let mut y = Tensor::uninit(self.stream(), self.shape())?;
        if !y.is_empty() {
            y.launch(&kernel, |y| LayerNormArgs {
                x: self.view(),
                gain: gain.view(),
                bias: bias.view(),
                y,
                rows,
                n,
                eps,
            })?;
        }
        Ok(y)
    }

    /// `x W^T + bias`: x is `[.., k]`, the weights `[n, k]`, the result `[.., n]`. One launch with a [`Weight`], one more
    /// to lay the weights out with a tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] where shapes do not fit each other.
    pub fn linear<'a>(
        &self,
        weight: impl Into<WeightRef<'a>>,
        bias: Option<&Tensor<f32>>,
    ) -> Result<Tensor<f32>, Error> {
        self.product("linear", weight.into(), bias, Activation::None)
    }

    /// `gelu(x W^T + bias)`, the activation in the launch of the product.
    ///
    /// # Errors
    /// As [`Tensor::linear`].
    pub fn linear_gelu<'a>(
        &self,
        weight: impl Into<WeightRef<'a>>,
        bias: Option<&Tensor<f32>>,
    ) -> Result<Tensor<f32>, Error> {
        self.product("linear_gelu", weight.into(), bias, Activation::Gelu)
    }

    /// `activation(x W^T + bias)`, the activation in the launch of the product.
    ///
    /// # Errors
    /// As [`Tensor::linear`].
    pub fn linear_with<'a>(
        &self,
        weight: impl Into<WeightRef<'a>>,
        bias: Option<&Tensor<f32>>,
        activation: Activation,
    ) -> Result<Tensor<f32>, Error> {
        self.product("linear_with", weight.into(), bias, activation)
    }

    /// `x other`: x is `[.., k]`, `other` `[k, n]`, the result `[.., n]`. Two launches: one lays `other` out.
    ///
    /// # Errors
    /// [`Error::Shape`] where shapes do not fit each other.
    pub fn matmul(&self, other: &Tensor<f32>) -> Result<Tensor<f32>, Error> {
        let op = "matmul";
        let [_, k] = self.operand(op, "x").rows()?;
        other.operand(op, "other").rows_of_two(k as usize)?;
        let weight = Weight::pack(op, other, Order::Columns, self.stream())?;
        self.product(op, (&weight).into(), None, Activation::None)
    }

    fn product(
        &self,
        op: &'static str,
        weight: WeightRef<'_>,
        bias: Option<&Tensor<f32>>,
        activation: Activation,
    ) -> Result<Tensor<f32>, Error> {
        let [n, k] = weight.shape(op)?;
        let m = self.operand(op, "x").rows_of(k)?;
        if let Some(bias) = bias {
            bias.operand(op, "bias").exactly(&[n as usize])?;
        }
        let mut shape = self.shape().to_vec();
        if let Some(last) = shape.last_mut() {
            *last = n as usize;
        }
        let mut y = Tensor::uninit(self.stream(), &shape)?;
        if !y.is_empty() {
            let weight = weight.packed(op, self.stream())?;
            let linear = Linear {
                x: self.view(),
                m,
                weight: &weight,
                bias: bias.map(Tensor::view),
                activation,
            };
            linear.run(&mut y)?;
        }
        Ok(y)
    }
}
