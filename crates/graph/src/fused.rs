//! Operations that passes put in the place of several.

use crate::{
    graph::{MatMul, Node},
    pages::Pages,
    resource::{Cache, Table, Vector, Weights},
};
use std::sync::Arc;
use warpsmith_library::{attention::History, pointwise::Curve, rope::Pairing};

/// A norm that rows go through before they are multiplied.
#[derive(Clone, Debug)]
pub(crate) enum Norm {
    Rms {
        gain: Arc<Vector>,
        eps: f32,
    },
    Layer {
        gain: Arc<Vector>,
        shift: Arc<Vector>,
        eps: f32,
    },
}

/// A product whose `x` is what the norm is made of.
#[derive(Clone, Debug)]
pub(crate) struct Normed {
    pub(crate) norm: Norm,
    pub(crate) product: MatMul,
}

/// `curve(norm(x) G^T) * (norm(x) U^T)`.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) x: Node,
    pub(crate) norm: Option<Norm>,
    pub(crate) gate: Arc<Weights>,
    pub(crate) up: Arc<Weights>,
    pub(crate) curve: Curve,
}

/// One of the matrices of [`Heads`].
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) weights: Arc<Weights>,
    pub(crate) bias: Option<Arc<Vector>>,
    /// Gain and epsilon of an RMSNorm of each head.
    pub(crate) norm: Option<(Arc<Vector>, f32)>,
}

/// Queries, keys and values of the same rows: queries are the value, keys and values go to the cache.
#[derive(Clone, Debug)]
pub(crate) struct Heads {
    pub(crate) x: Node,
    pub(crate) norm: Option<Norm>,
    /// Queries, keys, values.
    pub(crate) parts: [Part; 3],
    pub(crate) turn: Option<(Arc<Table>, Pairing)>,
    pub(crate) positions: Node,
    pub(crate) store: Store,
}

/// Where keys and values go.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    Own {
        cache: Arc<Cache>,
        history: History,
    },
    Paged {
        pages: Arc<Pages>,
        /// The sequence of each row.
        slots: Node,
    },
}

impl Store {
    pub(crate) fn head_dim(&self) -> u32 {
        match self {
            Store::Own { cache, history: _ } => cache.head_dim,
            Store::Paged { pages, slots: _ } => pages.sizes.head_dim,
        }
    }
}
