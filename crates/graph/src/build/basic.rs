//! Leaves, embeddings, norms, products, element-wise functions, choices.

use crate::{
    error::{Error, equal},
    graph::Graph,
    node::{Extent, Kind, Node},
    op::{MatMul, Op},
    resource::{Sampler, Vector, Weights},
    span::Span,
};
use std::{ops::Range, sync::Arc};
use warpsmith_device::Buffer;
use warpsmith_library::pointwise::Curve;

impl Graph {
    /// An f32 matrix in a buffer of the caller's.
    ///
    /// # Errors
    /// [`Error::Shape`] if the buffer has another size.
    pub fn floats(&mut self, buffer: &Buffer<f32>, rows: u32, columns: u32) -> Result<Node, Error> {
        let want = u64::from(rows) * u64::from(columns);
        if buffer.len() as u64 != want {
            return Err(Error::Shape {
                op: "floats",
                what: "length",
                want,
                got: buffer.len() as u64,
            });
        }
        Ok(self.push(Op::Floats(Span::of(buffer)), Kind::F32, rows, columns))
    }

    /// Integers (token ids, positions, lengths) in a buffer of the caller's, one for each row.
    pub fn ids(&mut self, buffer: &Buffer<u32>) -> Node {
        self.push(Op::Ids(Span::of(buffer)), Kind::U32, buffer.len() as u32, 1)
    }

    /// Integers of a part of a buffer, one for each row.
    ///
    /// # Errors
    /// [`Error::Shape`] if the part does not lie in the buffer.
    pub fn ids_in(&mut self, buffer: &Buffer<u32>, part: Range<usize>) -> Result<Node, Error> {
        let rows = part.len() as u32;
        let span = Span::of(buffer).part("ids_in", part)?;
        Ok(self.push(Op::Ids(span), Kind::U32, rows, 1))
    }

    /// Rows of `table` by `ids`: `[rows, columns of the table]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn embed(&mut self, table: &Arc<Weights>, ids: Node) -> Result<Node, Error> {
        let Extent { rows, columns: _ } = self.entry("embed", "ids", ids, Kind::U32)?;
        Ok(self.push(
            Op::Embed {
                table: Arc::clone(table),
                ids,
            },
            Kind::F32,
            rows,
            table.columns,
        ))
    }

    /// RMSNorm of each row, or of each of `heads` equal parts of it.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn rms_norm(
        &mut self,
        x: Node,
        gain: &Arc<Vector>,
        eps: f32,
        heads: u32,
    ) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("rms_norm", "x", x)?;
        equal("rms_norm", "columns", gain.len() * heads, columns)?;
        Ok(self.push(
            Op::RmsNorm {
                x,
                gain: Arc::clone(gain),
                eps,
                heads,
            },
            Kind::F32,
            rows,
            columns,
        ))
    }

    /// LayerNorm of each row.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn layer_norm(
        &mut self,
        x: Node,
        gain: &Arc<Vector>,
        bias: &Arc<Vector>,
        eps: f32,
    ) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("layer_norm", "x", x)?;
        equal("layer_norm", "columns", gain.len(), columns)?;
        equal("layer_norm", "bias", gain.len(), bias.len())?;
        let op = Op::LayerNorm {
            x,
            gain: Arc::clone(gain),
            bias: Arc::clone(bias),
            eps,
        };
        Ok(self.push(op, Kind::F32, rows, columns))
    }

    /// A matrix product with its epilogue: `[rows, rows of W]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn matmul(&mut self, product: MatMul) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("matmul", "x", product.x)?;
        equal("matmul", "columns", product.weights.columns, columns)?;
        let outputs = product.weights.rows;
        if let Some(bias) = &product.bias {
            equal("matmul", "bias", outputs, bias.len())?;
        }
        if let Some(residual) = product.residual {
            let residual = self.floats_of("matmul", "residual", residual)?;
            equal("matmul", "rows of the residual", rows, residual.rows)?;
            equal(
                "matmul",
                "columns of the residual",
                outputs,
                residual.columns,
            )?;
        }
        Ok(self.push(Op::MatMul(product), Kind::F32, rows, outputs))
    }

    /// `a + b`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn add(&mut self, a: Node, b: Node) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("add", a, b)?;
        Ok(self.push(Op::Add { a, b }, Kind::F32, rows, columns))
    }

    /// `a * b`, element by element.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn mul(&mut self, a: Node, b: Node) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("mul", a, b)?;
        Ok(self.push(Op::Mul { a, b }, Kind::F32, rows, columns))
    }

    /// `x * by`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn scale(&mut self, x: Node, by: f32) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("scale", "x", x)?;
        Ok(self.push(Op::Scale { x, by }, Kind::F32, rows, columns))
    }

    /// An activation of each element.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn curve(&mut self, x: Node, curve: Curve) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("curve", "x", x)?;
        Ok(self.push(Op::Curve { x, curve }, Kind::F32, rows, columns))
    }

    /// `curve(gate) * up`; with SiLU this is SwiGLU.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn gated(&mut self, gate: Node, up: Node, curve: Curve) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("gated", gate, up)?;
        Ok(self.push(Op::Gated { gate, up, curve }, Kind::F32, rows, columns))
    }

    /// Softmax of each row.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn softmax(&mut self, x: Node) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("softmax", "x", x)?;
        Ok(self.push(Op::Softmax { x }, Kind::F32, rows, columns))
    }

    /// `count` rows from `from` on, without a copy.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn rows(&mut self, x: Node, from: u32, count: u32) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("rows", "x", x)?;
        if u64::from(from) + u64::from(count) > rows.into() {
            let got = u64::from(from) + u64::from(count);
            return Err(Error::Shape {
                op: "rows",
                what: "end",
                want: rows.into(),
                got,
            });
        }
        Ok(self.push(Op::Rows { x, from }, Kind::F32, count, columns))
    }

    /// The index of each row's largest element, the lowest on ties; [`NOT_FINITE`](warpsmith_library::finite::NOT_FINITE)
    /// for a row with NaN or plus infinity, or with nothing but minus infinity.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn argmax(&mut self, x: Node) -> Result<Node, Error> {
        let Extent { rows, columns: _ } = self.floats_of("argmax", "x", x)?;
        Ok(self.push(Op::ArgMax { x }, Kind::U32, rows, 1))
    }

    /// Draws a token from each row of logits and moves the sampler's counters on: tokens are in its buffer,
    /// [`NOT_FINITE`](warpsmith_library::finite::NOT_FINITE) where none can be drawn.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn draw(&mut self, logits: Node, sampler: &Arc<Sampler>) -> Result<Node, Error> {
        let Extent { rows, columns: _ } = self.floats_of("draw", "logits", logits)?;
        equal("draw", "rows", sampler.rows, rows)?;
        let op = Op::Draw {
            logits,
            sampler: Arc::clone(sampler),
        };
        Ok(self.push(op, Kind::U32, rows, 1))
    }
}
