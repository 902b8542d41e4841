//! Graphs: work with its order, captured or built by hand, and work that is ready to run.

use crate::{
    core::Core,
    event::{Event, Mark},
    host::HostCall,
    module::Function,
    status::Status,
    step::Step,
    stream::Stream,
    table::{Handle, Table, lock},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex};
use warpsmith_vgpu as vgpu;

/// What a node does.
#[derive(Clone)]
pub(crate) enum Work {
    /// A launch, whose function the program may ask for.
    Kernel(Arc<Function>, Box<vgpu::Launch>),
    Copy(Step),
    Fill(Step),
    Call(Step),
    Child(Arc<Graph>),
    Nothing,
    Record(Arc<Event>),
    Wait(Arc<Event>),
}

impl Work {
    /// What a step of a stream is as a node.
    pub(crate) fn of(step: Step) -> Work {
        match step {
            Step::Launch(function, launch) => Work::Kernel(function, launch),
            step @ Step::Fill { .. } => Work::Fill(step),
            step @ (Step::Call(_) | Step::WaitValue { .. }) => Work::Call(step),
            step @ (Step::Write { .. }
            | Step::Read { .. }
            | Step::WriteTo { .. }
            | Step::ReadFrom { .. }
            | Step::Staged { .. }
            | Step::Host { .. }
            | Step::Copy { .. }
            | Step::Between { .. }
            | Step::Many(_)) => Work::Copy(step),
        }
    }

    /// `CUgraphNodeType`.
    pub(crate) fn number(&self) -> i32 {
        match self {
            Work::Kernel(..) => 0,
            Work::Copy(_) => 1,
            Work::Fill(_) => 2,
            Work::Call(_) => 3,
            Work::Child(_) => 4,
            Work::Nothing => 5,
            Work::Wait(_) => 6,
            Work::Record(_) => 7,
        }
    }
}

/// A node.
pub(crate) struct Node {
    pub(crate) core: Arc<Core>,
    pub(crate) work: Mutex<Work>,
    pub(crate) after: Mutex<Vec<Handle>>,
    /// Parameters and pointers to them, as the program was shown them last.
    pub(crate) shown: Mutex<Vec<Box<[usize]>>>,
}

/// Something of the program's that it is told of when nobody has it any more.
pub(crate) struct UserObject {
    pub(crate) gone: HostCall,
    /// How often the program has it.
    pub(crate) count: Mutex<u64>,
}

impl Drop for UserObject {
    fn drop(&mut self) {
        self.gone.run();
    }
}

/// Nodes in the order they were added.
pub(crate) struct Graph {
    pub(crate) core: Arc<Core>,
    pub(crate) nodes: Mutex<Vec<(Handle, Arc<Node>)>>,
    /// What lives as long as it does, and as what is made of it.
    pub(crate) kept: Mutex<Vec<(Handle, Arc<UserObject>)>>,
    /// Of a copy: nodes of what it was made of, and its own that stand for them.
    copies: Vec<(Handle, Handle)>,
}

impl Graph {
    pub(crate) fn new(core: &Arc<Core>) -> Graph {
        Graph {
            core: core.clone(),
            nodes: Mutex::default(),
            kept: Mutex::default(),
            copies: Vec::new(),
        }
    }

    /// The node that stands for one of the graph of which this is a copy.
    pub(crate) fn copy_of(&self, node: Handle) -> Option<Handle> {
        let (_, copy) = self.copies.iter().find(|(old, _)| *old == node)?;
        let nodes = lock(&self.nodes);
        nodes.iter().any(|(own, _)| own == copy).then_some(*copy)
    }

    /// Whether all that `ends` has comes before `last`, or is that: what is not here is nothing.
    pub(crate) fn leads_to(&self, ends: &[Handle], last: &[Handle]) -> bool {
        let nodes: FxHashMap<Handle, Arc<Node>> = lock(&self.nodes).iter().cloned().collect();
        let (mut known, mut next) = (FxHashSet::default(), last.to_vec());
        while let Some(node) = next.pop() {
            if known.insert(node)
                && let Some(node) = nodes.get(&node)
            {
                next.extend(lock(&node.after).iter().copied());
            }
        }
        let joined = |end: &Handle| known.contains(end) || !nodes.contains_key(end);
        ends.iter().all(joined)
    }

    /// Adds a node that comes after others of this graph.
    pub(crate) fn add(
        &self,
        nodes: &Table<Node>,
        work: Work,
        after: Vec<Handle>,
    ) -> Result<Handle, Status> {
        let mut all = lock(&self.nodes);
        if !after
            .iter()
            .all(|one| all.iter().any(|(node, _)| node == one))
        {
            return Err(Status::InvalidValue);
        }
        let node = Arc::new(Node {
            core: self.core.clone(),
            work: Mutex::new(work),
            after: Mutex::new(after),
            shown: Mutex::default(),
        });
        let handle = nodes.insert(node.clone());
        all.push((handle, node));
        Ok(handle)
    }

    /// A copy whose nodes are its own, and which of the copy's nodes stands for which.
    pub(crate) fn copy(&self, nodes: &Table<Node>) -> (Graph, Vec<(Handle, Handle)>) {
        let all = lock(&self.nodes).clone();
        let mut pairs: Vec<(Handle, Handle)> = Vec::with_capacity(all.len());
        let mut copies = Vec::with_capacity(all.len());
        for (old, node) in &all {
            let copy = Arc::new(Node {
                core: node.core.clone(),
                work: Mutex::new(lock(&node.work).clone()),
                after: Mutex::default(),
                shown: Mutex::default(),
            });
            let handle = nodes.insert(copy.clone());
            pairs.push((*old, handle));
            copies.push((handle, copy));
        }
        let new_of: FxHashMap<Handle, Handle> = pairs.iter().copied().collect();
        for ((_, node), (_, copy)) in all.iter().zip(&copies) {
            let after = lock(&node.after);
            *lock(&copy.after) = after
                .iter()
                .filter_map(|one| new_of.get(one).copied())
                .collect();
        }
        let graph = Graph {
            core: self.core.clone(),
            nodes: Mutex::new(copies),
            kept: Mutex::new(lock(&self.kept).clone()),
            copies: pairs.clone(),
        };
        (graph, pairs)
    }

    /// Its nodes, each behind those it comes after; among those that could come next the one that was added first does.
    ///
    /// # Errors
    /// If they go in a circle.
    fn in_order(&self) -> Result<Vec<(Handle, Arc<Node>)>, Status> {
        let mut left = lock(&self.nodes).clone();
        let mut done: Vec<(Handle, Arc<Node>)> = Vec::with_capacity(left.len());
        let mut known = std::collections::HashSet::with_capacity(left.len());
        while !left.is_empty() {
            let before = left.len();
            left.retain(|(handle, node)| {
                let ready = lock(&node.after).iter().all(|one| known.contains(&one.0));
                if ready {
                    known.insert(handle.0);
                    done.push((*handle, node.clone()));
                }
                !ready
            });
            if left.len() == before {
                return Err(Status::InvalidValue);
            }
        }
        Ok(done)
    }

    /// All work in order, that of child graphs in their places.
    fn work(&self) -> Result<Vec<(Handle, Work)>, Status> {
        let mut all = Vec::new();
        for (handle, node) in self.in_order()? {
            let work = lock(&node.work).clone();
            match work {
                Work::Child(graph) => all.extend(graph.work()?),
                work => all.push((handle, work)),
            }
        }
        Ok(all)
    }
}

/// Work that was checked.
pub(crate) struct Exec {
    pub(crate) core: Arc<Core>,
    work: Mutex<Vec<(Handle, Work)>>,
    /// Nodes that launches leave out.
    out: Mutex<FxHashSet<Handle>>,
    _kept: Vec<(Handle, Arc<UserObject>)>,
    ready: Mutex<Option<Arc<Ready>>>,
}

/// What a launch of a graph enqueues.
pub(crate) struct Ready {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) launches: u64,
}

impl Exec {
    pub(crate) fn new(stream: &Stream, graph: &Graph) -> Result<Exec, Status> {
        let exec = Exec {
            core: graph.core.clone(),
            work: Mutex::new(graph.work()?),
            out: Mutex::default(),
            _kept: lock(&graph.kept).clone(),
            ready: Mutex::default(),
        };
        exec.ready(stream)?;
        Ok(exec)
    }

    /// What it enqueues, prepared again where it was changed.
    pub(crate) fn ready(&self, stream: &Stream) -> Result<Arc<Ready>, Status> {
        let mut ready = lock(&self.ready);
        if let Some(ready) = &*ready {
            return Ok(ready.clone());
        }
        let out = lock(&self.out);
        let mut work = lock(&self.work).clone();
        work.retain(|(node, _)| !out.contains(node));
        let fresh = Arc::new(prepare(stream, &work)?);
        Ok(ready.insert(fresh).clone())
    }

    /// Whether launches have a node of the graph it was made of.
    pub(crate) fn has(&self, node: Handle) -> Result<bool, Status> {
        self.can_be_left_out(node)?;
        Ok(!lock(&self.out).contains(&node))
    }

    /// Launches leave a node out.
    pub(crate) fn leave_out(&self, node: Handle) -> Result<(), Status> {
        self.can_be_left_out(node)?;
        let mut ready = lock(&self.ready);
        lock(&self.out).insert(node);
        *ready = None;
        Ok(())
    }

    /// Launches have a node again.
    pub(crate) fn take_in(&self, node: Handle) -> Result<(), Status> {
        self.can_be_left_out(node)?;
        let mut ready = lock(&self.ready);
        lock(&self.out).remove(&node);
        *ready = None;
        Ok(())
    }

    /// Kernels, copies and fills can.
    fn can_be_left_out(&self, node: Handle) -> Result<(), Status> {
        let work = lock(&self.work);
        let found = work.iter().find(|(handle, _)| *handle == node);
        match found {
            Some((_, Work::Kernel(..) | Work::Copy(_) | Work::Fill(_))) => Ok(()),
            Some((
                _,
                Work::Call(_) | Work::Child(_) | Work::Nothing | Work::Record(_) | Work::Wait(_),
            ))
            | None => Err(Status::InvalidValue),
        }
    }

    /// Changes what a node of the graph it was made of does here.
    ///
    /// # Errors
    /// If there is no such node, or it is of another kind.
    pub(crate) fn change(&self, node: Handle, new: Work) -> Result<(), Status> {
        let mut work = lock(&self.work);
        let found = work.iter_mut().find(|(handle, _)| *handle == node);
        let (_, old) = found.ok_or(Status::InvalidValue)?;
        if old.number() != new.number() {
            return Err(Status::InvalidValue);
        }
        *old = new;
        *lock(&self.ready) = None;
        Ok(())
    }

    /// Takes over what another graph of the same form does; the first node that differs, else.
    pub(crate) fn update(&self, graph: &Graph) -> Result<Result<(), Handle>, Status> {
        let new = graph.work()?;
        let mut work = lock(&self.work);
        if new.len() != work.len() {
            return Ok(Err(new.first().map_or(Handle::NULL, |(node, _)| *node)));
        }
        let differs = new
            .iter()
            .zip(&*work)
            .find(|((_, a), (_, b))| a.number() != b.number());
        if let Some(((node, _), _)) = differs {
            return Ok(Err(*node));
        }
        for ((_, old), (_, new)) in work.iter_mut().zip(new) {
            *old = new;
        }
        *lock(&self.ready) = None;
        Ok(Ok(()))
    }
}

/// Neighbouring launches become one list.
fn prepare(stream: &Stream, work: &[(Handle, Work)]) -> Result<Ready, Status> {
    let (mut pieces, mut launches, mut count) = (Vec::new(), Vec::new(), 0);
    let close = |launches: &mut Vec<vgpu::Launch>, pieces: &mut Vec<Piece>| {
        if !launches.is_empty() {
            pieces.push(Piece::Launches(stream.prepare(std::mem::take(launches))?));
        }
        Ok::<_, Status>(())
    };
    for (_, work) in work {
        if let Work::Kernel(_, launch) = work {
            count += 1;
            launches.push((**launch).clone());
            continue;
        }
        close(&mut launches, &mut pieces)?;
        match work {
            Work::Copy(step) | Work::Fill(step) | Work::Call(step) => {
                pieces.push(Piece::Step(step.clone()));
            }
            Work::Record(event) => pieces.push(Piece::Record(event.clone())),
            Work::Wait(event) => pieces.push(Piece::Wait(event.clone())),
            Work::Nothing | Work::Child(_) | Work::Kernel(..) => {}
        }
    }
    close(&mut launches, &mut pieces)?;
    Ok(Ready {
        pieces,
        launches: count,
    })
}

/// A piece of a graph that is ready to run: neighbouring launches are one list.
pub(crate) enum Piece {
    Launches(vgpu::Prepared),
    Step(Step),
    Record(Arc<Event>),
    Wait(Arc<Event>),
}

impl Piece {
    /// Enqueues what is no launch and no step: events.
    pub(crate) fn mark(event: &Event, stream: &vgpu::Stream) {
        event.set(Mark::Reached(stream.record()));
    }
}
