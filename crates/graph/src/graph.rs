//! The graph: nodes that carry their operands, with shapes checked as they are added.

use crate::{
    error::{Error, equal},
    names::Names,
    node::{Extent, Kind, Node},
    op::Op,
};
use std::{
    fmt::Display,
    sync::atomic::{AtomicU32, Ordering},
};

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) op: Op,
    pub(crate) extent: Extent,
    pub(crate) kind: Kind,
    pub(crate) kept: bool,
}

/// A graph under construction. Nodes are added in the order in which they run.
///
/// ```
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_graph::{Graph, Plan, Precision};
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let x = stream.upload_new(&[1.0f32, 2.0, 3.0, 4.0])?;
/// let mut graph = Graph::new();
/// let x = graph.floats(&x, 2, 2)?;
/// let shares = graph.softmax(x)?; // [2, 2]
/// let doubled = graph.scale(shares, 2.0)?;
/// graph.keep(doubled)?; // so that it can be read
/// assert_eq!(graph.operations(), 2);
///
/// let plan = Plan::new(&stream, &graph, Precision::Exact)?;
/// plan.run(&stream)?;
/// let y = stream.download(plan.floats(doubled)?)?.wait()?;
/// assert!((y[0] + y[1] - 2.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) id: u32,
    pub(crate) names: Names,
    pub(crate) entries: Vec<Entry>,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Graph {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            names: Names::default(),
            entries: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, op: Op, kind: Kind, rows: u32, columns: u32) -> Node {
        self.entries.push(Entry {
            op,
            extent: Extent { rows, columns },
            kind,
            kept: false,
        });
        Node {
            index: self.entries.len() as u32 - 1,
            graph: self.id,
        }
    }

    /// The node of an entry.
    pub(crate) fn node(&self, at: usize) -> Node {
        Node {
            index: at as u32,
            graph: self.id,
        }
    }

    pub(crate) fn entry(
        &self,
        op: &'static str,
        operand: &'static str,
        node: Node,
        kind: Kind,
    ) -> Result<Extent, Error> {
        let entry = self
            .entries
            .get(node.index as usize)
            .filter(|_| node.graph == self.id);
        let entry = entry.ok_or(Error::Foreign { op, operand })?;
        if entry.kind != kind {
            return Err(Error::Kind {
                op,
                operand,
                want: kind.name(),
                got: entry.kind.name(),
            });
        }
        Ok(entry.extent)
    }

    pub(crate) fn floats_of(
        &self,
        op: &'static str,
        operand: &'static str,
        node: Node,
    ) -> Result<Extent, Error> {
        self.entry(op, operand, node, Kind::F32)
    }

    /// Rows and columns of a node.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    pub fn extent(&self, node: Node) -> Result<Extent, Error> {
        let entry = self
            .entries
            .get(node.index as usize)
            .filter(|_| node.graph == self.id);
        entry.map(|entry| entry.extent).ok_or(Error::Foreign {
            op: "extent",
            operand: "node",
        })
    }

    /// Operations, leaves not counted.
    pub fn operations(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| !matches!(entry.op, Op::Floats(_) | Op::Ids(_) | Op::Absorbed))
            .count()
    }

    /// Leaves: values that come from outside.
    pub fn leaves(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.op, Op::Floats(_) | Op::Ids(_)))
            .count()
    }

    /// Keeps a value to the end of the run, so that it can be read from the plan.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    pub fn keep(&mut self, node: Node) -> Result<(), Error> {
        self.extent(node)?;
        self.entries[node.index as usize].kept = true;
        Ok(())
    }

    pub(crate) fn same(&mut self, op: &'static str, a: Node, b: Node) -> Result<Extent, Error> {
        let (first, second) = (
            self.floats_of(op, "first", a)?,
            self.floats_of(op, "second", b)?,
        );
        equal(op, "rows", first.rows, second.rows)?;
        equal(op, "columns", first.columns, second.columns)?;
        Ok(first)
    }

    /// Names a node, for observers: the prefixes of [`Graph::within`], then `name`.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    pub fn name(&mut self, node: Node, name: impl Display) -> Result<Node, Error> {
        self.extent(node)?;
        self.names.set(node, name);
        Ok(node)
    }

    /// Names that `add` gives begin with `prefix` and a dot.
    ///
    /// # Errors
    /// Those of `add`.
    pub fn within<R, E>(
        &mut self,
        prefix: impl Display,
        add: impl FnOnce(&mut Graph) -> Result<R, E>,
    ) -> Result<R, E> {
        let outer = self.names.enter(prefix);
        let added = add(self);
        self.names.leave(outer);
        added
    }
}
