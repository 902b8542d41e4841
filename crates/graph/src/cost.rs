//! What an operation costs at least: bytes and arithmetic, from its operands.
//!
//! Every operand counts as read once and every output as written once, whatever caches hold and kernels repeat. An
//! addition, a multiplication, a comparison, a root, an exponential count as one operation each. Weights count with the
//! bytes of their type, as they lie in a file.

use crate::{
    dispatch::Operation,
    error::Error,
    node::{Extent, Node},
    op::{
        Attention, Convolution, Looks, MatMul, Op, PagedAppend, PagedAttention, Rotation, Seen,
        fused::{Gate, Heads, Norm, Normed, Store},
    },
    resource::{Cache, PageSizes, Vector, Weights},
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::{Add, AddAssign},
};
use warpsmith_device::Stream;
use warpsmith_library::epilogue::Activation;

/// Bytes and arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of weights that are read.
    pub weights: u64,
    /// All bytes that are read, weights with them.
    pub read: u64,
    /// Bytes that are written.
    pub written: u64,
    /// Arithmetic operations.
    pub operations: u64,
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            weights: self.weights + other.weights,
            read: self.read + other.read,
            written: self.written + other.written,
            operations: self.operations + other.operations,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

/// Integers that were looked up on the device: how many keys rows see. Forget it where they change.
#[derive(Clone, Debug, Default)]
pub struct Lengths(BTreeMap<u32, Vec<u32>>);

impl Cost {
    fn reading(bytes: u64) -> Cost {
        Cost {
            read: bytes,
            ..Cost::default()
        }
    }

    fn writing(bytes: u64) -> Cost {
        Cost {
            written: bytes,
            ..Cost::default()
        }
    }

    fn operations(operations: u64) -> Cost {
        Cost {
            operations,
            ..Cost::default()
        }
    }

    fn of_weights(weights: &Weights) -> Cost {
        Cost::of_rows(weights, weights.rows.into())
    }

    fn of_rows(weights: &Weights, rows: u64) -> Cost {
        let elements = rows * u64::from(weights.columns);
        // Whole blocks: a matrix that is not cannot be packed.
        let bytes = weights.ty.bytes_of(elements).unwrap_or_default();
        Cost {
            weights: bytes,
            ..Cost::reading(bytes)
        }
    }

    fn of_vector(vector: &Vector) -> Cost {
        Cost::reading(4 * u64::from(vector.len()))
    }

    fn of_norm(norm: Option<&Norm>, elements: u64) -> Cost {
        match norm {
            None => Cost::default(),
            Some(Norm::Rms { gain, eps: _ }) => {
                Cost::of_vector(gain) + Cost::operations(RMS * elements)
            }
            Some(Norm::Layer {
                gain,
                shift,
                eps: _,
            }) => {
                let vectors = Cost::of_vector(gain) + Cost::of_vector(shift);
                vectors + Cost::operations(LAYER * elements)
            }
        }
    }

    /// `rows` rows times a matrix, with a bias.
    fn of_product(rows: u64, weights: &Weights, bias: Option<&Vector>) -> Cost {
        let outputs = rows * u64::from(weights.rows);
        let product = Cost::operations(2 * outputs * u64::from(weights.columns));
        let bias = bias.map(|bias| Cost::of_vector(bias) + Cost::operations(outputs));
        Cost::of_weights(weights) + product + bias.unwrap_or_default()
    }
}

/// Operations an element of an RMSNorm: square, sum, scale, gain.
const RMS: u64 = 4;
/// Of a LayerNorm: sum, difference, square, sum, scale, gain, bias.
const LAYER: u64 = 7;
/// Of a softmax: maximum, difference, exponential, sum, quotient.
const SOFTMAX: u64 = 5;
/// Of a rotation: four products and two sums make two elements.
const TURN: u64 = 3;

fn elements(extent: Extent) -> u64 {
    u64::from(extent.rows) * u64::from(extent.columns)
}

/// Operations after a product, an element.
fn after(activation: Activation, residual: Option<Node>) -> u64 {
    u64::from(activation != Activation::None) + u64::from(residual.is_some())
}

/// Bytes of keys and values at one position.
fn position(cache: &Cache) -> u64 {
    2 * u64::from(cache.kv_heads) * u64::from(cache.head_dim) * u64::from(cache.ty.bytes())
}

impl Operation<'_> {
    /// What it costs. How many keys rows see may be known only on the device; it is then looked up there, which waits for
    /// the stream and counts as no transfer, unless `lengths` has it already.
    ///
    /// # Errors
    /// Device errors; none where nothing is looked up.
    pub fn cost(&self, stream: &Stream, lengths: &mut Lengths) -> Result<Cost, Error> {
        let mut cost = self.own_cost(stream, lengths)?;
        for input in self.op().inputs() {
            cost += Cost::reading(4 * elements(self.extent(input)?));
        }
        // What an append gives is its operand; what it writes is in the cache.
        if !matches!(self.op(), Op::Append { .. } | Op::PagedAppend(_)) {
            for output in self.outputs() {
                cost += Cost::writing(4 * elements(self.extent(*output)?));
            }
        }
        Ok(cost)
    }

    /// Without the values that it reads and gives.
    fn own_cost(&self, stream: &Stream, lengths: &mut Lengths) -> Result<Cost, Error> {
        let output = self.extent(self.output())?;
        let (rows, all) = (u64::from(output.rows), elements(output));
        let of = |node: Node| self.extent(node).map(elements);
        Ok(match self.op() {
            Op::Floats(_)
            | Op::Ids(_)
            | Op::RotatedKeys { .. }
            | Op::Rows { .. }
            | Op::Follow { .. }
            | Op::Absorbed => Cost::default(),
            Op::Embed { table, ids: _ } => Cost::of_rows(table, rows),
            Op::RmsNorm { gain, .. } => Cost::of_vector(gain) + Cost::operations(RMS * all),
            Op::LayerNorm { gain, bias, .. } => {
                let vectors = Cost::of_vector(gain) + Cost::of_vector(bias);
                vectors + Cost::operations(LAYER * all)
            }
            Op::MatMul(product) => self.product(product, rows, all),
            Op::Normed(Normed { norm, product }) => {
                Cost::of_norm(Some(norm), of(product.x)?) + self.product(product, rows, all)
            }
            Op::Gate(Gate {
                x,
                norm,
                gate,
                up,
                curve: _,
            }) => {
                let products =
                    Cost::of_product(rows, gate, None) + Cost::of_product(rows, up, None);
                Cost::of_norm(norm.as_ref(), of(*x)?) + products + Cost::operations(2 * all)
            }
            Op::Heads(heads) => self.heads(heads, rows, of(heads.x)?),
            Op::Add { .. } | Op::Mul { .. } | Op::Scale { .. } | Op::Curve { .. } => {
                Cost::operations(all)
            }
            Op::Gated { .. } => Cost::operations(2 * all),
            Op::Softmax { .. } => Cost::operations(SOFTMAX * all),
            Op::Rotate(rotation) => {
                let Rotation {
                    q,
                    k,
                    head_dim,
                    table,
                    ..
                } = rotation;
                let pairs = table.inverse_frequencies.len() as u64;
                let heads = (of(*q)? + of(*k)?) / u64::from(*head_dim);
                Cost::reading(4 * pairs) + Cost::operations(TURN * heads * 2 * pairs)
            }
            Op::Append { cache, .. } => Cost::writing(rows * position(cache)),
            Op::PagedAppend(PagedAppend { k, pages, .. }) => {
                let sizes = pages.sizes;
                Cost::writing(2 * of(*k)? * u64::from(sizes.ty.bytes()))
            }
            Op::Attend(attention) => self.attention(attention, rows, stream, lengths)?,
            Op::PagedAttend(attention) => self.paged(attention, stream, lengths)?,
            // One comparison for each logit at least; a softmax where probabilities are needed.
            Op::ArgMax { x } | Op::Draw { logits: x, .. } => Cost::operations(of(*x)?),
            Op::Decide { logits: x, .. } | Op::LogProbability { logits: x, .. } => {
                Cost::operations(SOFTMAX * of(*x)?)
            }
            Op::Convolve(Convolution {
                weights,
                bias,
                activation,
                residual,
                ..
            }) => {
                let product = Cost::of_product(rows, weights, bias.as_deref());
                product + Cost::operations(after(*activation, *residual) * all)
            }
            Op::Look(Looks {
                chosen, cache, len, ..
            }) => {
                let heads = u64::from(self.extent(*chosen)?.rows);
                let dim = u64::from(cache.head_dim);
                let keys = heads * u64::from(*len) * dim * u64::from(cache.ty.bytes());
                Cost::reading(keys) + Cost::operations(2 * dim * all)
            }
        })
    }

    fn product(&self, product: &MatMul, rows: u64, all: u64) -> Cost {
        let MatMul {
            x: _,
            weights,
            bias,
            activation,
            residual,
        } = product;
        let cost = Cost::of_product(rows, weights, bias.as_deref());
        cost + Cost::operations(after(*activation, *residual) * all)
    }

    fn heads(&self, heads: &Heads, rows: u64, x: u64) -> Cost {
        let Heads {
            x: _,
            norm,
            parts,
            turn,
            positions: _,
            store,
        } = heads;
        let of_position = match store {
            Store::Own { cache, history: _ } => position(cache),
            Store::Paged { pages, slots: _ } => page_position(pages.sizes),
        };
        let mut cost = Cost::of_norm(norm.as_ref(), x) + Cost::writing(rows * of_position);
        let head_dim = u64::from(store.head_dim());
        let [queries, keys, _] = parts;
        for part in parts {
            cost += Cost::of_product(rows, &part.weights, part.bias.as_deref());
            if let Some((gain, _)) = &part.norm {
                let outputs = rows * u64::from(part.weights.rows);
                cost += Cost::of_vector(gain) + Cost::operations(RMS * outputs);
            }
        }
        if let Some((table, _)) = turn {
            let pairs = table.inverse_frequencies.len() as u64;
            let turned = u64::from(queries.weights.rows + keys.weights.rows) / head_dim;
            cost += Cost::reading(4 * pairs) + Cost::operations(TURN * rows * turned * 2 * pairs);
        }
        cost
    }

    /// The integers of a node, looked up once.
    fn looked_up<'l>(
        &self,
        node: Node,
        stream: &Stream,
        lengths: &'l mut Lengths,
    ) -> Result<&'l [u32], Error> {
        Ok(match lengths.0.entry(node.index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let span = self.ids(node)?;
                new.insert(stream.peek(span.view()?)?.wait()?)
            }
        })
    }

    fn attention(
        &self,
        attention: &Attention,
        rows: u64,
        stream: &Stream,
        lengths: &mut Lengths,
    ) -> Result<Cost, Error> {
        let Attention {
            q: _,
            visible,
            cache,
            heads,
            scale: _,
            seen,
            sources,
        } = attention;
        let each: Vec<u64> = match seen {
            Some(Seen::UpTo { start }) => {
                (0..rows).map(|row| u64::from(*start) + row + 1).collect()
            }
            Some(Seen::First { len }) => vec![u64::from(*len); rows as usize],
            None => {
                let seen = self.looked_up(*visible, stream, lengths)?;
                seen.iter().map(|seen| u64::from(*seen)).collect()
            }
        };
        let seen: u64 = each.iter().sum();
        // Rows of one history read the same keys.
        let read = match sources {
            Some(_) => seen,
            None => each.iter().copied().max().unwrap_or(0),
        };
        let arithmetic = arithmetic(*heads, cache.head_dim, seen);
        Ok(Cost::reading(read * position(cache)) + arithmetic)
    }

    fn paged(
        &self,
        attention: &PagedAttention,
        stream: &Stream,
        lengths: &mut Lengths,
    ) -> Result<Cost, Error> {
        let PagedAttention {
            q: _,
            visible,
            slots,
            pages,
            heads,
            scale: _,
            rows: _,
        } = attention;
        let each = self.looked_up(*visible, stream, lengths)?.to_vec();
        let slots = self.looked_up(*slots, stream, lengths)?;
        // Rows of one sequence read the same keys.
        let mut longest: BTreeMap<u32, u32> = BTreeMap::new();
        for (slot, seen) in slots.iter().zip(&each) {
            let longest = longest.entry(*slot).or_default();
            *longest = (*longest).max(*seen);
        }
        let sizes = pages.sizes;
        let read: u64 = longest.values().map(|seen| u64::from(*seen)).sum();
        let of_position = page_position(sizes);
        let seen = each.iter().map(|seen| u64::from(*seen)).sum();
        Ok(Cost::reading(read * of_position) + arithmetic(*heads, sizes.head_dim, seen))
    }
}

/// Bytes of keys and values at one position of a page.
fn page_position(sizes: PageSizes) -> u64 {
    2 * u64::from(sizes.kv_heads * sizes.head_dim * sizes.ty.bytes())
}

/// Scores, softmax and weighted sums of rows that see `seen` keys together.
fn arithmetic(heads: u32, head_dim: u32, seen: u64) -> Cost {
    Cost::operations(u64::from(heads) * seen * (4 * u64::from(head_dim) + SOFTMAX))
}
