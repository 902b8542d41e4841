//! Weights: matrices laid out for products, on the device.

use crate::{
    error::Error,
    kernels::{F32, Order, Pack, PackArgs},
    shape::elements,
    tensor::Tensor,
};
use std::sync::Arc;
use warpsmith_device::{Bound, Device, Slice, SliceMut, Stream};
use warpsmith_library::{
    epilogue::{Activation, Epilogue, Operand, Outputs},
    gemm::{GemmF32, GemmF32Args, Precision, Problem, Product, choose},
    gemv::{GemvF32, GemvF32Args},
    weights::Planes,
};

/// An f32 matrix `[n, k]` laid out for products, to use many times. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Weight {
    plane: Arc<Tensor<f32>>,
    rows: u32,
    columns: u32,
}

impl Weight {
    /// From `[n, k]`, a row for each output: one launch, no transfer. Enqueued on the stream of the tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are two dimensions; those of the device.
    pub fn from_rows(weight: &Tensor<f32>) -> Result<Weight, Error> {
        Weight::pack("weight", weight, Order::Rows, weight.stream())
    }

    /// From `[k, n]`, a column for each output: one launch, no transfer.
    ///
    /// # Errors
    /// As [`Weight::from_rows`].
    pub fn from_columns(weight: &Tensor<f32>) -> Result<Weight, Error> {
        Weight::pack("weight", weight, Order::Columns, weight.stream())
    }

    pub(crate) fn pack(
        op: &'static str,
        x: &Tensor<f32>,
        order: Order,
        stream: &Stream,
    ) -> Result<Weight, Error> {
        const MOST: u32 = (1 << 24) - 1;
        let [x_rows, x_columns] = x.operand(op, "weight").matrix()?;
        let (rows, columns) = match order {
            Order::Rows => (x_rows, x_columns),
            Order::Columns => (x_columns, x_rows),
        };
        // Beyond this the sizes of a plane do not fit what kernels take.
        if columns > MOST {
            return Err(Error::Dimension {
                op,
                arg: "weight",
                most: MOST as usize,
                found: columns as usize,
            });
        }
        let Planes {
            blocks, code_block, ..
        } = Planes::of(F32, rows, columns);
        let shape = [blocks as usize, code_block as usize];
        elements(op, &shape, size_of::<f32>())?;
        let mut plane = Tensor::uninit(stream, &shape)?;
        if !plane.is_empty() {
            plane.launch(&Pack { order }, |codes| PackArgs {
                x: x.view(),
                codes,
                x_rows,
                x_columns,
                blocks,
                code_block,
            })?;
        }
        Ok(Weight {
            plane: Arc::new(plane),
            rows,
            columns,
        })
    }

    /// `[n, k]`: outputs and inputs.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows as usize, self.columns as usize]
    }

    /// Bytes on the device, with the padding to whole blocks.
    pub fn bytes(&self) -> u64 {
        self.plane.bytes()
    }
}

/// The weights of a product: those laid out before, or a matrix `[n, k]` that is laid out for it by one more launch.
#[derive(Clone, Copy, Debug)]
pub enum WeightRef<'a> {
    /// Laid out before.
    Packed(&'a Weight),
    /// A matrix `[n, k]`.
    Rows(&'a Tensor<f32>),
}

impl<'a> From<&'a Weight> for WeightRef<'a> {
    fn from(weight: &'a Weight) -> Self {
        WeightRef::Packed(weight)
    }
}

impl<'a> From<&'a Tensor<f32>> for WeightRef<'a> {
    fn from(weight: &'a Tensor<f32>) -> Self {
        WeightRef::Rows(weight)
    }
}

impl WeightRef<'_> {
    /// `[n, k]`.
    pub(crate) fn shape(self, op: &'static str) -> Result<[u32; 2], Error> {
        match self {
            WeightRef::Packed(weight) => Ok([weight.rows, weight.columns]),
            WeightRef::Rows(weight) => weight.operand(op, "weight").matrix(),
        }
    }

    /// Laid out.
    pub(crate) fn packed(self, op: &'static str, stream: &Stream) -> Result<Weight, Error> {
        match self {
            WeightRef::Packed(weight) => Ok(weight.clone()),
            WeightRef::Rows(weight) => Weight::pack(op, weight, Order::Rows, stream),
        }
    }
}

/// `y = activation(x W^T + bias)` with `m` rows of x, in f32 throughout; shapes were checked.
pub(crate) struct Linear<'a> {
    pub(crate) x: Slice<'a, f32>,
    pub(crate) m: u32,
    pub(crate) weight: &'a Weight,
    pub(crate) bias: Option<Slice<'a, f32>>,
    pub(crate) activation: Activation,
}

/// The kernel of a product in f32.
enum Exact {
    Few(GemvF32),
    Many(GemmF32),
}

impl<'a> Linear<'a> {
    fn planes(&self) -> Result<Planes<Bound<'a>>, Error> {
        let codes = self.weight.plane.view().cast()?;
        let sizes = Planes::of(F32, self.weight.rows, self.weight.columns);
        Ok(sizes.with(codes, None, None, None))
    }

    fn outputs(&self, y: SliceMut<'a, f32>) -> Outputs<Bound<'a>> {
        Outputs {
            bias: self.bias,
            residual: None,
            y,
            m: self.m,
            n: self.weight.rows,
        }
    }

    fn kernel(&self, device: &Device) -> Result<Exact, Error> {
        let problem = Problem {
            m: self.m,
            n: self.weight.rows,
            k: self.weight.columns,
            layout: F32,
            epilogue: Epilogue {
                bias: match self.bias {
                    Some(_) => Operand::Present,
                    None => Operand::Absent,
                },
                activation: self.activation,
                residual: Operand::Absent,
            },
            precision: Precision::Exact,
        };
        match choose(problem, device.info().hardware()).product {
            Product::GemvF32(kernel) => Ok(Exact::Few(kernel)),
            Product::GemmF32(kernel) => Ok(Exact::Many(kernel)),
            Product::GemvQ8(_) | Product::GemvHalf(_) | Product::GemmInt(_) | Product::Gemm(_) => {
                Err(Error::Unsupported {
                    what: "a product of f32 weights with rounded activations",
                })
            }
        }
    }

    /// Enqueues it; `y` is `[m, n]`.
    pub(crate) fn run(&self, y: &mut Tensor<f32>) -> Result<(), Error> {
        let (w, columns) = (self.planes()?, self.weight.columns);
        match self.kernel(y.stream().device())? {
            Exact::Few(kernel) => y.launch(&kernel, |y| GemvF32Args {
                x: self.x,
                w,
                out: self.outputs(y),
                columns,
            }),
            Exact::Many(kernel) => y.launch(&kernel, |y| GemmF32Args {
                x: self.x,
                w,
                out: self.outputs(y),
                columns,
            }),
        }
    }
}
