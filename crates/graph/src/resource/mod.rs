//! Resources: what a graph refers to and does not own: weights, vectors, caches, tables.

mod lines;
mod pages;

pub use lines::{LineSizes, LineState, Lines};
pub use pages::{PageSizes, PageStore, Pages};

use crate::{
    error::Error,
    span::{Planned, Span},
};
use std::ops::Range;
use warpsmith_device::{Buffer, Stream};
use warpsmith_formats::quant::WeightType;
use warpsmith_library::{
    attention::CacheType,
    weights::{Layout, Packed, Planes, pack},
};

/// A weight matrix on the device: `rows` outputs by `columns` inputs.
///
/// ```
/// use std::sync::Arc;
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_graph::{Graph, MatMul, Plan, Precision, Weights};
/// use warpsmith_library::epilogue::Activation;
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let weights = Weights::of_floats(&stream, "w", &[1.0, 0.0, 1.0, 1.0], [2, 2])?; // two outputs of two inputs
/// let x = stream.upload_new(&[3.0f32, 4.0])?;
/// let mut graph = Graph::new();
/// let x = graph.floats(&x, 1, 2)?;
/// let weights = Arc::new(weights);
/// let y = graph.matmul(MatMul { x, weights, bias: None, activation: Activation::None, residual: None })?;
/// graph.keep(y)?;
/// let plan = Plan::new(&stream, &graph, Precision::Exact)?;
/// plan.run(&stream)?;
/// assert_eq!(stream.download(plan.floats(y)?)?.wait()?, [3.0, 7.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Weights {
    pub(crate) name: String,
    pub(crate) ty: WeightType,
    pub(crate) layout: Layout,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) padded: u32,
    pub(crate) codes: Buffer<u32>,
    pub(crate) high: Option<Buffer<u32>>,
    pub(crate) sub: Option<Buffer<u8>>,
    pub(crate) scales: Option<Buffer<u16>>,
}

impl Weights {
    /// Uploads a packed matrix: one transfer for each plane that its layout has.
    ///
    /// # Errors
    /// Out of memory, or another device error.
    pub fn upload(
        stream: &Stream,
        name: impl Into<String>,
        packed: &Packed,
    ) -> Result<Weights, Error> {
        fn plane<T: warpsmith_kernel::Elem + bytemuck::Pod>(
            stream: &Stream,
            data: &[T],
        ) -> Result<Option<Buffer<T>>, Error> {
            Ok(if data.is_empty() {
                None
            } else {
                Some(stream.upload_new(data)?)
            })
        }
        Ok(Weights {
            name: name.into(),
            ty: packed.ty,
            layout: Layout::of(packed.ty),
            rows: packed.rows,
            columns: packed.columns,
            padded: packed.padded,
            codes: stream.upload_new(&packed.codes)?,
            high: plane(stream, &packed.high)?,
            sub: plane(stream, &packed.sub)?,
            scales: plane(stream, &packed.scales)?,
        })
    }

    /// A matrix of f32 values, row by row: `[rows, columns]`. A product with it is `x W^T`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are as many values; out of memory, or another device error.
    pub fn of_floats(
        stream: &Stream,
        name: impl Into<String>,
        values: &[f32],
        [rows, columns]: [u32; 2],
    ) -> Result<Weights, Error> {
        let shape = |want: u64| Error::Shape {
            op: "weights",
            what: "length",
            want,
            got: values.len() as u64,
        };
        let want = u64::from(rows) * u64::from(columns);
        if values.len() as u64 != want {
            return Err(shape(want));
        }
        let packed = pack(WeightType::F32, bytemuck::cast_slice(values), rows, columns);
        Weights::upload(stream, name, &packed.map_err(|_| shape(want))?)
    }

    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Outputs.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Inputs.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// The type of its elements.
    pub fn ty(&self) -> WeightType {
        self.ty
    }

    /// How its planes are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Its planes as an argument of a launch.
    pub fn planes(&self) -> Planes<Planned> {
        Planes::of(self.layout, self.rows, self.columns).with(
            Span::of(&self.codes),
            self.high.as_ref().map(Span::of),
            self.sub.as_ref().map(Span::of),
            self.scales.as_ref().map(Span::of),
        )
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.codes.bytes()
            + self.high.as_ref().map_or(0, Buffer::bytes)
            + self.sub.as_ref().map_or(0, Buffer::bytes)
            + self.scales.as_ref().map_or(0, Buffer::bytes)
    }
}

/// A vector of f32 on the device: a norm's gain, a bias.
#[derive(Debug)]
pub struct Vector {
    pub(crate) buffer: Buffer<f32>,
}

impl Vector {
    /// Uploads it: one transfer.
    ///
    /// # Errors
    /// Out of memory, or another device error.
    pub fn upload(stream: &Stream, data: &[f32]) -> Result<Vector, Error> {
        Ok(Vector {
            buffer: stream.upload_new(data)?,
        })
    }

    /// Its elements, as an argument of a launch.
    pub fn span(&self) -> Span<f32> {
        Span::of(&self.buffer)
    }

    /// Elements.
    pub fn len(&self) -> u32 {
        self.buffer.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// Keys and values of one layer, each `[sequences, kv_heads, max_len, head_dim]`.
#[derive(Debug)]
pub struct Cache {
    pub(crate) keys: Span<u8>,
    pub(crate) values: Span<u8>,
    pub(crate) sequences: u32,
    pub(crate) kv_heads: u32,
    pub(crate) head_dim: u32,
    pub(crate) max_len: u32,
    pub(crate) ty: CacheType,
}

impl Cache {
    /// An empty cache; its contents are undefined until written. No transfer.
    ///
    /// # Errors
    /// Out of memory; [`Error::Value`] where the sizes are zero or the bytes of a head exceed 2^31.
    pub fn new(stream: &Stream, ty: CacheType, shape: [u32; 3]) -> Result<Cache, Error> {
        Cache::of_sequences(stream, ty, 1, shape)
    }

    /// A cache of several sequences, whose rows may be forked from each other.
    ///
    /// # Errors
    /// As [`Cache::new`].
    pub fn of_sequences(
        stream: &Stream,
        ty: CacheType,
        sequences: u32,
        [kv_heads, max_len, head_dim]: [u32; 3],
    ) -> Result<Cache, Error> {
        let row = u64::from(max_len) * u64::from(head_dim) * u64::from(ty.bytes());
        if sequences == 0 || kv_heads == 0 || row == 0 || row >= 1 << 31 {
            let got = format!("{sequences} x {kv_heads} x {max_len} x {head_dim}");
            return Err(Error::Value {
                op: "cache",
                what: "shape",
                want: "positive, below 2^31 bytes a head",
                got,
            });
        }
        let bytes = row as usize * kv_heads as usize * sequences as usize;
        let (keys, values) = (stream.alloc::<u8>(bytes)?, stream.alloc::<u8>(bytes)?);
        Ok(Cache {
            keys: Span::of(&keys),
            values: Span::of(&values),
            sequences,
            kv_heads,
            head_dim,
            max_len,
            ty,
        })
    }

    /// Keys and values, as arguments of a launch.
    pub fn spans(&self) -> [Span<u8>; 2] {
        [self.keys.clone(), self.values.clone()]
    }

    /// Positions it holds.
    pub fn max_len(&self) -> u32 {
        self.max_len
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        (self.keys.len() + self.values.len()) as u64
    }
}

/// Rotary frequencies on the device.
#[derive(Debug)]
pub struct Table {
    /// Radians a position, one for each rotated pair.
    pub(crate) inverse_frequencies: Buffer<f32>,
    /// Factor of sine and cosine (1 without YaRN).
    pub(crate) magnitude: f32,
}

impl Table {
    /// Uploads `inverse_frequencies`: one transfer.
    ///
    /// # Errors
    /// Out of memory, or another device error.
    pub fn upload(
        stream: &Stream,
        inverse_frequencies: &[f32],
        magnitude: f32,
    ) -> Result<Table, Error> {
        Ok(Table {
            inverse_frequencies: stream.upload_new(inverse_frequencies)?,
            magnitude,
        })
    }
}

/// What drawing tokens needs, on the device, for each of some rows: settings, counters, recent tokens.
///
/// A step reads and moves all of it on the device, so a replayed graph needs nothing from the host between tokens.
#[derive(Debug)]
pub struct Sampler {
    pub(crate) rows: u32,
    pub(crate) floats: Span<f32>,
    pub(crate) integers: Span<u32>,
    pub(crate) recent: Span<u32>,
    pub(crate) seen: Span<u32>,
    pub(crate) output: Span<u32>,
    pub(crate) written: Span<u32>,
    pub(crate) token: Span<u32>,
    pub(crate) position: Span<u32>,
    pub(crate) length: Span<u32>,
}

/// The buffers behind a [`Sampler`]; the caller keeps them, to write settings and read tokens.
#[derive(Debug)]
pub struct SamplerState {
    /// Temperature, top-p, min-p, repetition penalty.
    pub floats: Buffer<f32>,
    /// Top-k, the seed's low and high word.
    pub integers: Buffer<u32>,
    /// Ring of recent tokens.
    pub recent: Buffer<u32>,
    /// Tokens ever put in the ring.
    pub seen: Buffer<u32>,
    /// Ring of drawn tokens.
    pub output: Buffer<u32>,
    /// Tokens ever drawn.
    pub written: Buffer<u32>,
    /// The token drawn last.
    pub token: Buffer<u32>,
    /// Its position.
    pub position: Buffer<u32>,
    /// Tokens of the sequence with it; numbers the draws. A row of length 0 is nobody's: drawing leaves it as it is.
    pub length: Buffer<u32>,
    rows: u32,
}

impl SamplerState {
    /// Buffers for one sequence that penalises the last `window` tokens.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, window: usize, capacity: usize) -> Result<SamplerState, Error> {
        SamplerState::of_rows(stream, 1, window, capacity)
    }

    /// Buffers for several sequences, a row of each array for each.
    ///
    /// # Errors
    /// Out of memory.
    pub fn of_rows(
        stream: &Stream,
        rows: u32,
        window: usize,
        capacity: usize,
    ) -> Result<SamplerState, Error> {
        let n = rows as usize;
        let mut state = SamplerState {
            floats: stream.alloc(4 * n)?,
            integers: stream.alloc(3 * n)?,
            recent: stream.alloc(window * n)?,
            seen: stream.alloc(n)?,
            output: stream.alloc(capacity * n)?,
            written: stream.alloc(n)?,
            token: stream.alloc(n)?,
            position: stream.alloc(n)?,
            length: stream.alloc(n)?,
            rows,
        };
        for counter in [
            &mut state.recent,
            &mut state.seen,
            &mut state.output,
            &mut state.written,
        ] {
            stream.fill_zero(counter)?;
        }
        Ok(state)
    }

    /// The sampler's buffers as an operand of [`Graph::draw`](crate::Graph::draw).
    pub fn sampler(&self) -> Sampler {
        Sampler {
            rows: self.rows,
            floats: Span::of(&self.floats),
            integers: Span::of(&self.integers),
            recent: Span::of(&self.recent),
            seen: Span::of(&self.seen),
            output: Span::of(&self.output),
            written: Span::of(&self.written),
            token: Span::of(&self.token),
            position: Span::of(&self.position),
            length: Span::of(&self.length),
        }
    }

    /// Some of the rows as an operand.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not so many.
    pub fn sampler_of(&self, rows: Range<u32>) -> Result<Sampler, Error> {
        fn some<T: warpsmith_kernel::Elem>(
            buffer: &Buffer<T>,
            all: u32,
            rows: &Range<u32>,
        ) -> Result<Span<T>, Error> {
            let each = buffer.len() / all.max(1) as usize;
            let part = rows.start as usize * each..rows.end as usize * each;
            Span::of(buffer).part("sampler_of", part)
        }
        let all = self.rows;
        Ok(Sampler {
            rows: rows.end.saturating_sub(rows.start),
            floats: some(&self.floats, all, &rows)?,
            integers: some(&self.integers, all, &rows)?,
            recent: some(&self.recent, all, &rows)?,
            seen: some(&self.seen, all, &rows)?,
            output: some(&self.output, all, &rows)?,
            written: some(&self.written, all, &rows)?,
            token: some(&self.token, all, &rows)?,
            position: some(&self.position, all, &rows)?,
            length: some(&self.length, all, &rows)?,
        })
    }

    /// Copies the state of row `from` to row `to`, within the device.
    ///
    /// # Errors
    /// A row that is not there, or one onto itself; device errors.
    pub fn copy_row(&mut self, stream: &Stream, from: u32, to: u32) -> Result<(), Error> {
        fn one<T: warpsmith_kernel::Elem>(
            stream: &Stream,
            buffer: &mut Buffer<T>,
            all: u32,
            rows: [u32; 2],
        ) -> Result<(), Error> {
            let each = buffer.len() / all.max(1) as usize;
            let [from, to] = rows.map(|row| row as usize * each..(row as usize + 1) * each);
            let mut parts = buffer.disjoint_mut(&[from, to])?;
            let (from, to) = parts.split_at_mut(1);
            if let (Some(from), Some(to)) = (from.first(), to.first_mut()) {
                stream.copy(to.reborrow(), from.view())?;
            }
            Ok(())
        }
        let (all, rows) = (self.rows, [from, to]);
        one(stream, &mut self.floats, all, rows)?;
        for buffer in [
            &mut self.integers,
            &mut self.recent,
            &mut self.seen,
            &mut self.output,
            &mut self.written,
            &mut self.token,
            &mut self.position,
            &mut self.length,
        ] {
            one(stream, buffer, all, rows)?;
        }
        Ok(())
    }
}
