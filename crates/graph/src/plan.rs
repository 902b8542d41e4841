//! Plans: a graph with its kernels, its memory and every launch fixed; run eagerly or replayed.

use crate::{
    dispatch::{self, Dispatch, Walk},
    error::Error,
    graph::Graph,
    lower,
    memory::{Block, Life, Memory, Place, assign},
    node::Node,
    observe::{Observer, Visible},
    step::Step,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use warpsmith_device::{Buffer, Replay, Slice, Stream};
use warpsmith_library::gemm::Precision;

/// What a plan does, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanReport {
    /// Launches of a run.
    pub launches: usize,
    /// Bytes of the arena.
    pub arena: u64,
    /// Bytes that all values and scratch would take without sharing.
    pub unshared: u64,
}

/// A graph that is ready to run on a device.
///
/// ```
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_graph::{Graph, Plan, Precision};
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let mut input = stream.upload_new(&[1.0f32, 2.0])?;
/// let mut graph = Graph::new();
/// let x = graph.floats(&input, 1, 2)?;
/// let y = graph.scale(x, 3.0)?;
/// graph.keep(y)?;
/// let plan = Plan::new(&stream, &graph, Precision::Exact)?; // kernels, memory and launches are fixed here
/// assert_eq!(plan.report().launches, 1);
/// let replay = plan.capture(&stream)?;
/// for factor in [1.0f32, 2.0] {
///     stream.upload(&mut input, &[factor, 2.0 * factor])?; // the plan reads the caller's buffer
///     stream.replay(&replay)?;
///     assert_eq!(stream.download(plan.floats(y)?)?.wait()?, [3.0 * factor, 6.0 * factor]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Plan {
    steps: Vec<Box<dyn Step>>,
    names: Vec<&'static str>,
    kept: BTreeMap<u32, (Place, u64)>,
    arena: Buffer<u8>,
    offsets: Vec<u64>,
    report: PlanReport,
    visible: Box<Visible>,
    walk: Box<Walk>,
    // Scratch that must be zero before the first run, and keeps its contents between runs.
    _persistent: Vec<Arc<Buffer<u32>>>,
}

impl Plan {
    /// Fuses operations, chooses kernels for the stream's device, assigns memory, and fixes every launch. One allocation; no transfer.
    ///
    /// # Errors
    /// Out of memory, or a kernel that refuses its shapes.
    pub fn new(stream: &Stream, graph: &Graph, precision: Precision) -> Result<Plan, Error> {
        Plan::plain(stream, &graph.fused(stream, precision), precision)
    }

    /// Plans the graph as it is, without passes: also the operations whose values nobody reads, for tests and timings.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plain(stream: &Stream, graph: &Graph, precision: Precision) -> Result<Plan, Error> {
        let _span = tracing::debug_span!("plan", operations = graph.operations()).entered();
        let lowered = lower::lower(stream, graph, precision)?;
        let mut lives: Vec<Life> = lowered
            .sizes
            .iter()
            .map(|bytes| Life {
                bytes: *bytes,
                first: usize::MAX,
                last: 0,
            })
            .collect();
        let end = lowered.steps.len();
        for (at, step) in lowered.steps.iter().enumerate() {
            for block in &step.uses {
                let life = &mut lives[block.0 as usize];
                life.first = life.first.min(at);
                life.last = life.last.max(at);
            }
        }
        for (place, _) in lowered.kept.values() {
            if let Place::Planned(block, _) = place {
                lives[block.0 as usize].last = end;
            }
        }
        extend(&mut lives, graph, &lowered.values);
        for life in &mut lives {
            life.first = life.first.min(life.last);
        }
        let (offsets, total) = assign(&lives);
        let arena: Buffer<u8> = stream.alloc(total as usize)?;
        let memory = Memory {
            address: arena.address(),
            allocation: Some(Arc::clone(arena.allocation())),
            offsets,
        };
        let offsets = memory.offsets.clone();
        let report = PlanReport {
            launches: lowered.steps.len(),
            arena: total,
            unshared: lives.iter().map(|life| life.bytes).sum(),
        };
        tracing::debug!(
            launches = report.launches,
            arena = report.arena,
            unshared = report.unshared,
            "planned"
        );
        let visible = Box::new(Visible::of(graph, &lowered.values, &memory));
        let needed = needed(&lowered);
        let walk = Box::new(Walk::of(graph, &lowered.values, &memory, &needed));
        drop(needed);
        let names = lowered.steps.iter().map(|step| step.name).collect();
        let steps = lowered
            .steps
            .into_iter()
            .map(|step| (step.make)(&memory))
            .collect();
        Ok(Plan {
            steps,
            names,
            kept: lowered.kept,
            arena,
            offsets,
            report,
            visible,
            walk,
            _persistent: lowered.persistent,
        })
    }

    pub(crate) fn steps(&self) -> &[Box<dyn Step>] {
        &self.steps
    }

    /// What it does.
    pub fn report(&self) -> PlanReport {
        self.report
    }

    /// The operation behind each launch, in order.
    pub fn launches(&self) -> &[&'static str] {
        &self.names
    }

    /// Enqueues every launch; never waits, allocates nothing.
    ///
    /// # Errors
    /// Device errors of the launches.
    pub fn run(&self, stream: &Stream) -> Result<(), Error> {
        self.steps
            .iter()
            .try_for_each(|step| step.enqueue(stream))
            .map_err(Error::from)
    }

    /// Enqueues operation by operation: each goes to `dispatch` first, and to the library's kernels if that leaves it.
    ///
    /// # Errors
    /// [`Error::Dispatch`] with the operation's name; as [`Plan::run`].
    pub fn run_dispatched(
        &self,
        stream: &Stream,
        dispatch: &mut dyn Dispatch,
    ) -> Result<(), Error> {
        self.walk.run(&self.steps, stream, dispatch)
    }

    /// Runs every launch, with a look at every value when it is there: waits for each launch, allocates nothing on the
    /// device, and makes no transfer that counts.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn run_observed(&self, stream: &Stream, observer: &mut dyn Observer) -> Result<(), Error> {
        self.visible.run(&self.steps, stream, observer)
    }

    /// Shows every weight, bias and gain, called after the node that uses it first, such as `encoder.3.attn.q.weight`.
    /// Quantised weights are shown as what they stand for.
    ///
    /// # Errors
    /// Device errors.
    pub fn observe_parameters(
        &self,
        stream: &Stream,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        self.visible.show_parameters(stream, observer)
    }

    /// Captures the same launches for replay. Kernels are loaded before the capture begins, as a driver compiles and
    /// moves code for that.
    ///
    /// # Errors
    /// Device errors of the capture.
    pub fn capture(&self, stream: &Stream) -> Result<Replay, Error> {
        self.steps
            .iter()
            .try_for_each(|step| step.load(stream.device()))?;
        stream.capture(|stream| self.run(stream))
    }

    /// The memory of a kept f32 node, in rows.
    ///
    /// # Errors
    /// [`Error::NotKept`].
    pub fn floats(&self, node: Node) -> Result<Slice<'_, f32>, Error> {
        Ok(self.bytes(node)?.cast()?)
    }

    /// The memory of a kept u32 node.
    ///
    /// # Errors
    /// [`Error::NotKept`].
    pub fn ids(&self, node: Node) -> Result<Slice<'_, u32>, Error> {
        Ok(self.bytes(node)?.cast()?)
    }

    fn bytes(&self, node: Node) -> Result<Slice<'_, u8>, Error> {
        let not_kept = Error::NotKept { node: node.index };
        let Some((Place::Planned(block, at), len)) = self.kept.get(&node.index) else {
            return Err(not_kept);
        };
        let from = (self.offsets[block.0 as usize] + at) as usize;
        Ok(self.arena.view().range(from..from + 4 * *len as usize)?)
    }
}

fn block(place: &Place) -> Option<Block> {
    match place {
        Place::Planned(block, _) => Some(*block),
        Place::Outside(..) => None,
    }
}

/// Has what an operation reads and gives be alive through all of its steps: whichever kernels run it, they find its
/// operands whole, and no output lies where an operand is.
fn extend(lives: &mut [Life], graph: &Graph, places: &[(u32, usize, Place)]) {
    let mut blocks = vec![None; graph.entries.len()];
    for (at, _, place) in places {
        blocks[*at as usize] = block(place);
    }
    for own in dispatch::lowered(places) {
        if own.steps.is_empty() {
            continue;
        }
        let at = own.at as usize;
        let nodes = graph.entries[at].op.inputs().into_iter();
        let nodes = nodes.chain(dispatch::outputs(graph, at));
        for block in nodes.filter_map(|node| blocks[node.index as usize]) {
            let life: &mut Life = &mut lives[block.0 as usize];
            life.first = life.first.min(own.steps.start);
            life.last = life.last.max(own.steps.end - 1);
        }
    }
}

/// Whether step `at` makes a piece that steps from `end` on use, values of the graph left out.
fn needed(lowered: &lower::Lowered) -> impl Fn(usize, usize) -> bool {
    let values = lowered.values.iter().filter_map(|(_, _, of)| block(of));
    let values: BTreeSet<Block> = values.collect();
    let mut uses: BTreeMap<Block, [usize; 2]> = BTreeMap::new();
    for (at, step) in lowered.steps.iter().enumerate() {
        for block in step.uses.iter().filter(|block| !values.contains(block)) {
            let [_, last] = uses.entry(*block).or_insert([at, at]);
            *last = at;
        }
    }
    let mut reach = vec![0; lowered.steps.len()];
    for [first, last] in uses.into_values() {
        reach[first] = last.max(reach[first]);
    }
    move |at, end| reach[at] >= end
}
