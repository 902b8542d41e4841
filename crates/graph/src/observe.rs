//! Observers: who sees the values of a run on the host, in place of printing from inside a forward pass.
//!
//! A model names its nodes ([`Graph::name`], [`Graph::within`]); [`Plan::run_observed`](crate::Plan::run_observed) shows
//! each value after the launch that made it, before later launches take its memory; [`Plan::observe_parameters`](crate::Plan::observe_parameters) shows
//! weights, biases and gains. Looks are uncounted and unforbidden copies ([`Stream::peek`]), so what a run moves is
//! counted as without them. A run that nobody observes pays nothing.

use crate::{
    error::Error,
    graph::Graph,
    memory::{Memory, Place},
    node::Kind,
    op::{Op, Parameter},
    resource::{Vector, Weights},
    span::Span,
    step::Step,
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};
use warpsmith_device::{Buffer, Stream};
use warpsmith_kernel::Elem;
use warpsmith_library::weights::Packed;

/// Sees values.
///
/// ```
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_graph::{Graph, Observed, Observer, Plan, Precision, Statistics};
///
/// struct Means(Vec<(String, f64)>);
/// impl Observer for Means {
///     fn value(&mut self, value: Observed<'_>) {
///         self.0.push((value.name.to_owned(), Statistics::of(value.values).mean));
///     }
/// }
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let x = stream.upload_new(&[1.0f32, 3.0])?;
/// let mut graph = Graph::new();
/// let x = graph.floats(&x, 1, 2)?;
/// graph.name(x, "input")?;
/// let y = graph.scale(x, 2.0)?;
/// graph.name(y, "doubled")?;
/// graph.keep(y)?;
/// let plan = Plan::new(&stream, &graph, Precision::Exact)?;
/// let mut means = Means(Vec::new());
/// plan.run_observed(&stream, &mut means)?;
/// assert_eq!(means.0, [("input".to_owned(), 2.0), ("doubled".to_owned(), 4.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Send {
    /// A model begins a pass, such as `encoder` or `step`.
    fn pass(&mut self, name: &str) {
        let _ = name;
    }

    /// A value is there.
    fn value(&mut self, value: Observed<'_>);
}

/// An observer that its owner shares with a session.
pub type SharedObserver = Arc<Mutex<dyn Observer>>;

/// A value as an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed<'a> {
    /// As the model calls it, `encoder.3.attn.q`; for what it does not name, the operation and its place in the graph.
    pub name: &'a str,
    /// Where it comes from.
    pub origin: Origin<'a>,
    /// Rows and columns.
    pub shape: [u32; 2],
    /// The elements, row by row.
    pub values: &'a [f32],
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// An operation computed it; a leaf of the graph is `floats`.
    Operation(&'static str),
    /// It is a parameter, of a tensor of this name where it has one.
    Parameter(&'a str),
}

/// Mean, standard deviation and extremes of the finite elements, and how many are not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Elements.
    pub count: u64,
    /// Of them NaN or infinite; the rest leaves them out.
    pub non_finite: u64,
    /// 0 without finite elements, as the others.
    pub mean: f64,
    /// Of the population: `sqrt(sum((x - mean)^2) / n)`.
    pub deviation: f64,
    /// Least.
    pub min: f32,
    /// Greatest.
    pub max: f32,
}

impl Statistics {
    /// Of `values`, summed in f64 in two passes.
    pub fn of(values: &[f32]) -> Statistics {
        let finite = || values.iter().copied().filter(|x| x.is_finite());
        let n = finite().count();
        let mean_of = |sum: f64| if n == 0 { 0.0 } else { sum / n as f64 };
        let mean = mean_of(finite().map(f64::from).sum());
        let squares = finite().map(|x| (f64::from(x) - mean).powi(2)).sum();
        Statistics {
            count: values.len() as u64,
            non_finite: (values.len() - n) as u64,
            mean,
            deviation: mean_of(squares).sqrt(),
            min: finite().reduce(f32::min).unwrap_or(0.0),
            max: finite().reduce(f32::max).unwrap_or(0.0),
        }
    }
}

/// What of a plan an observer sees.
pub(crate) struct Visible {
    values: Vec<Value>,
    parameters: Vec<Named>,
}

impl Visible {
    pub(crate) fn of(graph: &Graph, places: &[(u32, usize, Place)], memory: &Memory) -> Visible {
        Visible {
            values: values(graph, places, memory),
            parameters: parameters(graph),
        }
    }
}

/// A value of a plan: its name, its memory, and after how many launches it is there.
struct Value {
    name: String,
    op: &'static str,
    shape: [u32; 2],
    span: Span<f32>,
    after: usize,
}

/// The f32 values of a plan, in the order in which they come to be. Views and what is written to caches are left out.
fn values(graph: &Graph, places: &[(u32, usize, Place)], memory: &Memory) -> Vec<Value> {
    let values = places.iter().filter_map(|(index, after, place)| {
        let entry = &graph.entries[*index as usize];
        let view = matches!(
            entry.op,
            Op::Rows { .. } | Op::Append { .. } | Op::PagedAppend(_)
        );
        let [rows, columns] = [entry.extent.rows, entry.extent.columns];
        let op = entry.op.name();
        (entry.kind == Kind::F32 && !view).then(|| Value {
            name: graph.names.of(*index, op),
            op,
            shape: [rows, columns],
            span: memory.span(place, u64::from(rows) * u64::from(columns)),
            after: *after,
        })
    });
    let mut values: Vec<Value> = values.collect();
    values.sort_by_key(|value| value.after);
    values
}

impl Value {
    /// Shows it, once the work enqueued so far is done.
    fn show(&self, stream: &Stream, observer: &mut dyn Observer) -> Result<(), Error> {
        let values = stream.peek(self.span.view()?)?.wait()?;
        observer.value(Observed {
            name: &self.name,
            origin: Origin::Operation(self.op),
            shape: self.shape,
            values: &values,
        });
        Ok(())
    }
}

/// A parameter of a plan, called after the node that uses it first.
struct Named {
    name: String,
    tensor: Tensor,
}

/// A parameter, kept for as long as the plan.
enum Tensor {
    Matrix(Arc<Weights>),
    Vector(Arc<Vector>),
}

/// The parameters of a graph, each once.
fn parameters(graph: &Graph) -> Vec<Named> {
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for (index, entry) in graph.entries.iter().enumerate() {
        for (part, tensor) in entry.op.parameters() {
            let (address, tensor) = match tensor {
                Parameter::Matrix(of) => (of.codes.address(), Tensor::Matrix(Arc::clone(of))),
                Parameter::Vector(of) => (of.buffer.address(), Tensor::Vector(Arc::clone(of))),
            };
            if known.insert(address) {
                let node = graph.names.of(index as u32, entry.op.name());
                let name = format!("{node}.{part}");
                all.push(Named { name, tensor });
            }
        }
    }
    all
}

impl Named {
    fn show(&self, stream: &Stream, observer: &mut dyn Observer) -> Result<(), Error> {
        let (values, shape, tensor) = match &self.tensor {
            Tensor::Matrix(weights) => {
                let shape = [weights.rows, weights.columns];
                (weights.peek(stream)?, shape, weights.name())
            }
            Tensor::Vector(vector) => {
                let values = stream.peek(&vector.buffer)?.wait()?;
                (values, [1, vector.len()], "")
            }
        };
        observer.value(Observed {
            name: &self.name,
            origin: Origin::Parameter(tensor),
            shape,
            values: &values,
        });
        Ok(())
    }
}

impl Visible {
    /// Runs the steps of a plan, with a look at every value when it is there.
    pub(crate) fn run(
        &self,
        steps: &[Box<dyn Step>],
        stream: &Stream,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let mut values = self.values.iter().peekable();
        for done in 0..=steps.len() {
            while let Some(value) = values.next_if(|value| value.after <= done) {
                value.show(stream, observer)?;
            }
            if let Some(step) = steps.get(done) {
                step.enqueue(stream)?;
            }
        }
        Ok(())
    }

    /// Shows every parameter.
    pub(crate) fn show_parameters(
        &self,
        stream: &Stream,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let mut parameters = self.parameters.iter();
        parameters.try_for_each(|parameter| parameter.show(stream, observer))
    }
}

impl Weights {
    /// What the planes on the device stand for, row by row; an uncounted look.
    fn peek(&self, stream: &Stream) -> Result<Vec<f32>, Error> {
        fn plane<T: Elem + bytemuck::Pod>(
            stream: &Stream,
            buffer: Option<&Buffer<T>>,
        ) -> Result<Vec<T>, Error> {
            Ok(match buffer {
                Some(buffer) => stream.peek(buffer)?.wait()?,
                None => Vec::new(),
            })
        }
        let packed = Packed {
            ty: self.ty,
            rows: self.rows,
            columns: self.columns,
            padded: self.padded,
            codes: plane(stream, Some(&self.codes))?,
            high: plane(stream, self.high.as_ref())?,
            sub: plane(stream, self.sub.as_ref())?,
            scales: plane(stream, self.scales.as_ref())?,
        };
        let row = |row| (0..self.columns).map(move |column| (row, column));
        let all = (0..self.rows).flat_map(row);
        Ok(all.map(|(row, column)| packed.value(row, column)).collect())
    }
}
