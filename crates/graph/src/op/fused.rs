//! Operations that passes put in the place of several.

use super::MatMul;
use crate::{
    node::Node,
    resource::{Cache, Pages, Table, Vector, Weights},
};
use std::sync::Arc;
use warpsmith_library::{attention::History, pointwise::Curve, rope::Pairing};

/// A norm that rows go through before they are multiplied.
#[derive(Clone, Debug)]
pub enum Norm {
    /// Root mean square.
    Rms {
        /// As long as a row.
        gain: Arc<Vector>,
        /// Added under the root.
        eps: f32,
    },
    /// Mean and variance.
    Layer {
        /// As long as a row.
        gain: Arc<Vector>,
        /// As long as a row.
        shift: Arc<Vector>,
        /// Added under the root.
        eps: f32,
    },
}

/// A product whose `x` is what the norm is made of.
#[derive(Clone, Debug)]
pub struct Normed {
    /// The norm of `x`.
    pub norm: Norm,
    /// The product.
    pub product: MatMul,
}

/// `curve(norm(x) G^T) * (norm(x) U^T)`.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Rows.
    pub x: Node,
    /// What they go through first.
    pub norm: Option<Norm>,
    /// G.
    pub gate: Arc<Weights>,
    /// U.
    pub up: Arc<Weights>,
    /// Of the gate.
    pub curve: Curve,
}

/// One of the matrices of [`Heads`].
#[derive(Clone, Debug)]
pub struct HeadsMatrix {
    /// The matrix.
    pub weights: Arc<Weights>,
    /// One number for each output.
    pub bias: Option<Arc<Vector>>,
    /// Gain and epsilon of an RMSNorm of each head.
    pub norm: Option<(Arc<Vector>, f32)>,
}

/// Queries, keys and values of the same rows: queries are the value, keys and values go to the cache.
#[derive(Clone, Debug)]
pub struct Heads {
    /// Rows.
    pub x: Node,
    /// What they go through first.
    pub norm: Option<Norm>,
    /// Queries, keys, values.
    pub parts: [HeadsMatrix; 3],
    /// The rotation of queries and keys.
    pub turn: Option<(Arc<Table>, Pairing)>,
    /// Position of each row.
    pub positions: Node,
    /// Where keys and values go.
    pub store: Store,
}

/// Where keys and values go.
#[derive(Clone, Debug)]
pub enum Store {
    /// To a cache.
    Own {
        /// The cache.
        cache: Arc<Cache>,
        /// Whose history each row goes on with.
        history: History,
    },
    /// To pages that sequences share.
    Paged {
        /// The pages.
        pages: Arc<Pages>,
        /// The sequence of each row.
        slots: Node,
    },
}

impl Store {
    /// Dimensions of a head.
    pub fn head_dim(&self) -> u32 {
        match self {
            Store::Own { cache, history: _ } => cache.head_dim,
            Store::Paged { pages, slots: _ } => pages.sizes.head_dim,
        }
    }
}
