//! Dispatch: the operations of a plan in order, each run by whoever takes it.
//!
//! [`Plan::run_dispatched`](crate::Plan::run_dispatched) walks the graph of a plan. A [`Dispatch`] gets every operation that has work, with its
//! operands and where their values are, and runs it with a kernel of its own or leaves it to the library. Nothing else
//! changes: values are where the plan put them, and a stream that captures captures the other kernels too.

use crate::{
    error::{Error, Failure},
    graph::Graph,
    memory::{Memory, Place},
    node::{Extent, Kind, Node},
    op::Op,
    span::Span,
    step::Step,
};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};
use warpsmith_device::Stream;

/// A dispatcher that its owner shares with a session.
pub type SharedDispatch = Arc<Mutex<dyn Dispatch>>;

/// Who runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The dispatcher: what gives the operation's values is enqueued.
    Here,
    /// Not the dispatcher: the library's kernels run.
    Left,
}

/// Runs operations with kernels of its own. A closure of the method's type is one, too.
///
/// ```
/// use warpsmith_device::{Device, Selector, Stream};
/// use warpsmith_graph::{Failure, Graph, Operation, Plan, Precision, Recording, Taken};
///
/// // Leaves all to the library; a kernel of one's own is launched here, and the answer is `Taken::Here`.
/// let left = |_: &Operation<'_>, _: &Stream| -> Result<Taken, Failure> { Ok(Taken::Left) };
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let x = stream.upload_new(&[1.0f32, 2.0])?;
/// let mut graph = Graph::new();
/// let x = graph.floats(&x, 1, 2)?;
/// let y = graph.softmax(x)?;
/// graph.keep(y)?;
/// let plan = Plan::new(&stream, &graph, Precision::Exact)?;
/// let mut who = Recording::new(left);
/// plan.run_dispatched(&stream, &mut who)?;
/// assert_eq!((who.operations()[0].op, who.operations()[0].taken), ("softmax", Taken::Left));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Dispatch: Send {
    /// A model begins a pass, such as `prefill` or `step`.
    fn pass(&mut self, name: &str) {
        let _ = name;
    }

    /// Enqueues an operation on `stream`, which its inputs' work is enqueued on, or leaves it to the library.
    ///
    /// # Errors
    /// Whatever went wrong; the walk ends there.
    fn operation(&mut self, operation: &Operation<'_>, stream: &Stream) -> Result<Taken, Failure>;
}

impl<F> Dispatch for F
where
    F: FnMut(&Operation<'_>, &Stream) -> Result<Taken, Failure> + Send,
{
    fn operation(&mut self, operation: &Operation<'_>, stream: &Stream) -> Result<Taken, Failure> {
        self(operation, stream)
    }
}

/// Leaves every operation to the library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

impl Dispatch for Library {
    fn operation(&mut self, _: &Operation<'_>, _: &Stream) -> Result<Taken, Failure> {
        Ok(Taken::Left)
    }
}

/// An operation that a [`Recording`] saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What it is: `matmul`.
    pub op: &'static str,
    /// What the model calls its value.
    pub name: String,
    /// Shapes of the operands that are nodes.
    pub inputs: Vec<Extent>,
    /// Shape of its value.
    pub output: Extent,
    /// Who ran it.
    pub taken: Taken,
    /// Launches: the library's, or those of the device while the other dispatcher had the operation.
    pub launches: u64,
}

/// Writes down what runs, and lets another dispatcher, or else the library, run it.
#[derive(Clone, Debug, Default)]
pub struct Recording<D = Library> {
    inner: D,
    operations: Vec<Recorded>,
}

impl<D> Recording<D> {
    /// Of what `inner` runs and leaves.
    pub fn new(inner: D) -> Recording<D> {
        Recording {
            inner,
            operations: Vec::new(),
        }
    }

    /// What ran so far, in order.
    pub fn operations(&self) -> &[Recorded] {
        &self.operations
    }
}

impl<D: Dispatch> Dispatch for Recording<D> {
    fn pass(&mut self, name: &str) {
        self.inner.pass(name);
    }

    fn operation(&mut self, operation: &Operation<'_>, stream: &Stream) -> Result<Taken, Failure> {
        let before = stream.device().stats();
        let taken = self.inner.operation(operation, stream)?;
        let own = (stream.device().stats() - before).launches;
        let inputs = operation.op().inputs().into_iter();
        self.operations.push(Recorded {
            op: operation.op().name(),
            name: operation.name().to_owned(),
            inputs: inputs
                .map(|input| operation.extent(input))
                .collect::<Result<_, _>>()?,
            output: operation.extent(operation.output())?,
            taken,
            launches: match taken {
                Taken::Here => own,
                Taken::Left => operation.launches() as u64,
            },
        });
        Ok(taken)
    }
}

/// An operation as a dispatcher gets it. Spans are arguments of a launch in the mode [`Planned`](crate::Planned).
#[derive(Clone, Copy)]
pub struct Operation<'a> {
    walk: &'a Walk,
    own: &'a Performed,
}

impl<'a> Operation<'a> {
    /// What it is, with its operands.
    pub fn op(&self) -> &'a Op {
        &self.own.op
    }

    /// What the model calls its value.
    pub fn name(&self) -> &'a str {
        &self.own.name
    }

    /// Its value.
    pub fn output(&self) -> Node {
        self.own.outputs[0]
    }

    /// All that it computes: of a rotation queries and keys, of every other operation its value.
    pub fn outputs(&self) -> &'a [Node] {
        &self.own.outputs
    }

    /// Kernels that the library launches for it.
    pub fn launches(&self) -> usize {
        self.own.steps.len()
    }

    fn value(&self, operand: &'static str, node: Node) -> Result<&'a Value, Error> {
        let op = self.own.op.name();
        let known = self.walk.values.get(node.index as usize);
        let known = known.filter(|_| node.graph == self.walk.graph);
        let value = known.and_then(Option::as_ref);
        value.ok_or(Error::Foreign { op, operand })
    }

    /// Rows and columns of an operand or output.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    pub fn extent(&self, node: Node) -> Result<Extent, Error> {
        Ok(self.value("extent", node)?.extent)
    }

    /// Where an f32 operand or output is, row by row. The value of a rotation, and of an append, may be where its operand
    /// is; no other output shares memory with an operand.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::Kind`].
    pub fn floats(&self, node: Node) -> Result<Span<f32>, Error> {
        let value = self.value("floats", node)?;
        value.of(self.own.op.name(), "floats", Kind::F32)
    }

    /// Where an operand or output of integers is.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::Kind`].
    pub fn ids(&self, node: Node) -> Result<Span<u32>, Error> {
        let value = self.value("ids", node)?;
        Ok(value.of(self.own.op.name(), "ids", Kind::U32)?.cast())
    }
}

/// A value and where it is.
struct Value {
    extent: Extent,
    kind: Kind,
    span: Span<f32>,
}

impl Value {
    fn of(&self, op: &'static str, operand: &'static str, want: Kind) -> Result<Span<f32>, Error> {
        if self.kind != want {
            return Err(Error::Kind {
                op,
                operand,
                want: want.name(),
                got: self.kind.name(),
            });
        }
        Ok(self.span.clone())
    }
}

/// An operation, and which steps of the plan are its own.
struct Performed {
    op: Op,
    name: String,
    outputs: Vec<Node>,
    steps: Range<usize>,
    /// Those of the steps that other operations need as well: activations in the form that several products take.
    shared: Vec<usize>,
}

/// The operations of a plan, in order, and where all values are.
pub(crate) struct Walk {
    graph: u32,
    operations: Vec<Performed>,
    values: Vec<Option<Value>>,
}

/// An operation of a lowered graph: its entry and its steps.
pub(crate) struct Lowered {
    pub(crate) at: u32,
    pub(crate) steps: Range<usize>,
}

/// The operations whose values are there after so many steps each, with the steps that are their own.
pub(crate) fn lowered(places: &[(u32, usize, Place)]) -> Vec<Lowered> {
    let mut from = 0;
    let operations = places.iter().map(|(at, after, _)| {
        let steps = from..*after;
        from = *after;
        Lowered { at: *at, steps }
    });
    operations.collect()
}

impl Walk {
    /// `needed` says of a step whether operations after `end` need what it makes besides values of the graph.
    pub(crate) fn of(
        graph: &Graph,
        places: &[(u32, usize, Place)],
        memory: &Memory,
        needed: &dyn Fn(usize, usize) -> bool,
    ) -> Walk {
        let mut values: Vec<Option<Value>> = graph.entries.iter().map(|_| None).collect();
        for (at, _, place) in places {
            let entry = &graph.entries[*at as usize];
            let len = u64::from(entry.extent.rows) * u64::from(entry.extent.columns);
            values[*at as usize] = Some(Value {
                extent: entry.extent,
                kind: entry.kind,
                span: memory.span(place, len),
            });
        }
        let operations = lowered(places).into_iter();
        let operations = operations.filter(|own| !own.steps.is_empty());
        let operations = operations.map(|Lowered { at, steps }| {
            let op = graph.entries[at as usize].op.clone();
            let shared = steps.clone().filter(|step| needed(*step, steps.end));
            Performed {
                name: graph.names.of(at, op.name()),
                outputs: outputs(graph, at as usize),
                shared: shared.collect(),
                op,
                steps,
            }
        });
        Walk {
            graph: graph.id,
            operations: operations.collect(),
            values,
        }
    }

    /// Runs the steps of a plan, operation by operation.
    pub(crate) fn run(
        &self,
        steps: &[Box<dyn Step>],
        stream: &Stream,
        dispatch: &mut dyn Dispatch,
    ) -> Result<(), Error> {
        let enqueue = |step: usize| steps[step].enqueue(stream);
        for own in &self.operations {
            let operation = Operation { walk: self, own };
            let taken = dispatch.operation(&operation, stream);
            let taken = taken.map_err(|source| Error::Dispatch {
                op: own.op.name(),
                name: own.name.clone(),
                source,
            })?;
            match taken {
                Taken::Left => own.steps.clone().try_for_each(enqueue)?,
                Taken::Here => own.shared.iter().copied().try_for_each(enqueue)?,
            }
        }
        Ok(())
    }
}

/// What an operation computes: its own value, and the keys that a rotation turns.
pub(crate) fn outputs(graph: &Graph, at: usize) -> Vec<Node> {
    let own = graph.node(at);
    let turned = graph.entries.get(at + 1).and_then(|next| match &next.op {
        Op::RotatedKeys { rotation } if *rotation == own => Some(graph.node(at + 1)),
        _ => None,
    });
    [own].into_iter().chain(turned).collect()
}
