//! Nodes of graphs: made, changed, and asked about.

use super::{
    launch::{Wanted, gathered},
    raw::{Host, HostCall, HostFunction, In, Out, Pointers},
    rows::{Rows, rows},
};
use crate::{
    context::Context,
    driver::{driver, usable},
    graph::{Graph, Node, Work},
    status::Status,
    step::{Step, Unit},
    table::{Handle, lock},
};
use std::{
    ffi::{c_int, c_uint, c_void},
    sync::Arc,
};

/// The handles of an array.
pub(super) fn handles(array: In<Handle>, count: usize) -> Result<Vec<Handle>, Status> {
    (0..count).map(|at| array.at(at)).collect()
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Kernel {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared: c_uint,
    params: Pointers,
    extra: Pointers,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`, which goes on with a kernel and a context.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct WiderKernel {
    kernel: Kernel,
    library_kernel: Handle,
    context: Handle,
}

impl WiderKernel {
    fn narrow(self) -> Kernel {
        let function = if self.kernel.function == Handle::NULL {
            self.library_kernel
        } else {
            self.kernel.function
        };
        Kernel {
            function,
            ..self.kernel
        }
    }
}

/// `CUDA_MEMSET_NODE_PARAMS_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Fill {
    to: u64,
    pitch: usize,
    value: c_uint,
    size: c_uint,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Call {
    function: HostFunction,
    data: Host,
}

impl Kernel {
    /// The handle of its function.
    pub(super) fn function(&self) -> Handle {
        self.function
    }

    pub(super) fn with_function(self, function: Handle) -> Kernel {
        Kernel { function, ..self }
    }

    fn work(self) -> Result<Work, Status> {
        let wanted = Wanted {
            function: self.function,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
            stream: Handle::NULL,
            cooperative: false,
            cluster: None,
        };
        let (function, launch) = gathered(&wanted, self.params, self.extra)?;
        Ok(Work::Kernel(function, Box::new(launch)))
    }
}

impl Fill {
    fn work(self, context: &Context) -> Result<Work, Status> {
        let unit = match self.size {
            1 => Unit::One(self.value as u8),
            2 => Unit::Two(self.value as u16),
            4 => Unit::Four(self.value),
            _ => return Err(Status::InvalidValue),
        };
        let row = (self.width as u64)
            .checked_mul(u64::from(self.size))
            .ok_or(Status::InvalidValue)?;
        let fills = (0..self.height.max(1) as u64).map(|y| {
            let address = self
                .to
                .checked_add(y * self.pitch as u64)
                .ok_or(Status::InvalidValue)?;
            context.core.block(address, row)?;
            Ok(Step::Fill {
                address,
                unit,
                bytes: row,
            })
        });
        let mut fills = fills.collect::<Result<Vec<Step>, Status>>()?;
        Ok(Work::Fill(match fills.len() {
            1 => fills.swap_remove(0),
            _ => Step::Many(fills.into()),
        }))
    }
}

/// A node of a graph, and where its handle goes.
struct New {
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
}

impl New {
    fn add(self, work: Work) -> Result<(), Status> {
        let out = self.out.wanted()?;
        let driver = driver()?;
        let graph = driver.graphs.find(self.graph)?;
        let after = handles(self.after, self.count)?;
        out.put(graph.add(&driver.nodes, work, after)?)
    }
}

fn child(graph: Handle) -> Result<Work, Status> {
    let driver = driver()?;
    let (copy, _) = driver.graphs.find(graph)?.copy(&driver.nodes);
    Ok(Work::Child(Arc::new(copy)))
}

/// Changes what a node does, to something of its kind.
pub(super) fn set(node: Handle, work: Work) -> Result<(), Status> {
    let node = driver()?.nodes.find(node)?;
    let mut old = lock(&node.work);
    if old.number() != work.number() {
        return Err(Status::InvalidValue);
    }
    *old = work;
    Ok(())
}

/// Copies handles to an array that has room for `count`, or says how many there are.
fn show(all: &[Handle], out: Out<Handle>, count: Out<usize>) -> Result<(), Status> {
    if out.is_wanted() {
        let room = count.as_in().value()?;
        for (at, handle) in all.iter().take(room).enumerate() {
            out.at(at).put(*handle)?;
        }
        for at in all.len()..room {
            out.at(at).put(Handle::NULL)?;
        }
        return count.put(
            all.len()
                .min(room)
                .max(usize::from(room > 0) * all.len().min(room)),
        );
    }
    count.put(all.len())
}

fn graph_of(node: Handle) -> Result<Arc<Graph>, Status> {
    let all = driver()?.graphs.all();
    let has = |graph: &Arc<Graph>| lock(&graph.nodes).iter().any(|(handle, _)| *handle == node);
    all.into_iter().find(has).ok_or(Status::InvalidHandle)
}

fn edges(graph: Handle) -> Result<Vec<(Handle, Handle)>, Status> {
    let graph = driver()?.graphs.find(graph)?;
    let nodes = lock(&graph.nodes);
    let pairs = nodes.iter().flat_map(|(to, node)| {
        let after = lock(&node.after).clone();
        after.into_iter().map(|from| (from, *to))
    });
    Ok(pairs.collect())
}

fn show_edges(
    graph: Handle,
    from: Out<Handle>,
    to: Out<Handle>,
    count: Out<usize>,
) -> Result<(), Status> {
    let (starts, ends): (Vec<Handle>, Vec<Handle>) = edges(graph)?.into_iter().unzip();
    if from.is_wanted() != to.is_wanted() {
        return Err(Status::InvalidValue);
    }
    if from.is_wanted() {
        let room = count.as_in().value()?;
        show(&starts, from, count)?;
        count.put(room)?;
    }
    show(&ends, to, count)
}

fn before(node: Handle) -> Result<Vec<Handle>, Status> {
    let node: Arc<Node> = driver()?.nodes.find(node)?;
    let after = lock(&node.after).clone();
    Ok(after)
}

fn behind(node: Handle) -> Result<Vec<Handle>, Status> {
    let graph = graph_of(node)?;
    let nodes = lock(&graph.nodes);
    let behind = nodes
        .iter()
        .filter(|(_, other)| lock(&other.after).contains(&node));
    Ok(behind.map(|(handle, _)| *handle).collect())
}

/// Adds or takes away that nodes come after others.
fn connect(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    count: usize,
    join: Join,
) -> Result<(), Status> {
    let graph = driver()?.graphs.find(graph)?;
    let nodes = lock(&graph.nodes);
    let find = |handle: Handle| {
        let found = nodes.iter().find(|(other, _)| *other == handle);
        found
            .map(|(_, node)| node.clone())
            .ok_or(Status::InvalidValue)
    };
    for at in 0..count {
        let (from, to) = (from.at(at)?, find(to.at(at)?)?);
        find(from)?;
        let mut after = lock(&to.after);
        let known = after.iter().position(|one| *one == from);
        match (join, known) {
            (Join::Add, None) => after.push(from),
            (Join::Remove, Some(at)) => {
                after.remove(at);
            }
            (Join::Add, Some(_)) | (Join::Remove, None) => return Err(Status::InvalidValue),
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Add,
    Remove,
}

/// A kernel node's parameters, and pointers to them that stay good.
fn kernel_of(node: Handle) -> Result<Kernel, Status> {
    let driver = driver()?;
    let node = driver.nodes.find(node)?;
    let work = lock(&node.work);
    let Work::Kernel(function, launch) = &*work else {
        return Err(Status::InvalidValue);
    };
    let handle = driver
        .functions
        .handle_of(function)
        .ok_or(Status::InvalidHandle)?;
    // Each parameter at the start of words of its own.
    let params = function.kernel.params();
    let mut words: Vec<usize> = Vec::new();
    let mut starts = Vec::new();
    for param in &params {
        starts.push(words.len());
        let bytes = &launch.params[param.offset as usize..(param.offset + param.size) as usize];
        words.extend(bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            usize::from_le_bytes(word)
        }));
    }
    let words = words.into_boxed_slice();
    let pointers: Box<[usize]> = starts
        .iter()
        .map(|at| words[*at..].as_ptr() as usize)
        .collect();
    let params = Pointers::of_shown(&pointers);
    lock(&node.shown).extend([words, pointers]);
    Ok(Kernel {
        function: handle,
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: launch.dynamic_shared,
        params,
        extra: Pointers::NONE,
    })
}

entries! {
    cuGraphAddKernelNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Kernel>) {
        New { out, graph, after, count }.add(params.value()?.work()?)
    }

    cuGraphAddKernelNode_v2(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<WiderKernel>) {
        New { out, graph, after, count }.add(params.value()?.narrow().work()?)
    }

    cuGraphAddMemcpyNode(
        out: Out<Handle>,
        graph: Handle,
        after: In<Handle>,
        count: usize,
        params: In<Rows>,
        _context: Handle,
    ) {
        New { out, graph, after, count }.add(Work::Copy(rows(&*usable()?, params.value()?)?))
    }

    cuGraphAddMemsetNode(
        out: Out<Handle>,
        graph: Handle,
        after: In<Handle>,
        count: usize,
        params: In<Fill>,
        _context: Handle,
    ) {
        New { out, graph, after, count }.add(params.value()?.work(&*usable()?)?)
    }

    cuGraphAddHostNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Call>) {
        let Call { function, data } = params.value()?;
        let call = HostCall::new(function, data)?;
        New { out, graph, after, count }.add(Work::Call(Step::Call(call)))
    }

    cuGraphAddChildGraphNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, of: Handle) {
        New { out, graph, after, count }.add(child(of)?)
    }

    cuGraphAddEmptyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        New { out, graph, after, count }.add(Work::Nothing)
    }

    cuGraphAddEventRecordNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle) {
        let event = driver()?.events.find(event)?;
        New { out, graph, after, count }.add(Work::Record(event))
    }

    cuGraphAddEventWaitNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle) {
        let event = driver()?.events.find(event)?;
        New { out, graph, after, count }.add(Work::Wait(event))
    }

    /// By a structure that begins with the kind.
    cuGraphAddNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<[u64; 32]>) {
        New { out, graph, after, count }.add(any(params)?)
    }

    cuGraphAddNode_v2(
        out: Out<Handle>,
        graph: Handle,
        after: In<Handle>,
        _edges: In<c_void>,
        count: usize,
        params: In<[u64; 32]>,
    ) {
        New { out, graph, after, count }.add(any(params)?)
    }

    cuGraphDestroyNode(node: Handle) {
        let driver = driver()?;
        let graph = graph_of(node)?;
        let mut nodes = lock(&graph.nodes);
        nodes.retain(|(handle, _)| *handle != node);
        for (_, other) in nodes.iter() {
            lock(&other.after).retain(|one| *one != node);
        }
        driver.nodes.remove(node).map(drop)
    }

    cuGraphKernelNodeGetParams(node: Handle, params: Out<Kernel>) {
        params.put(kernel_of(node)?)
    }

    cuGraphKernelNodeGetParams_v2(node: Handle, params: Out<WiderKernel>) {
        let kernel = kernel_of(node)?;
        params.put(WiderKernel { kernel, library_kernel: Handle::NULL, context: Handle::NULL })
    }

    cuGraphKernelNodeSetParams(node: Handle, params: In<Kernel>) {
        set(node, params.value()?.work()?)
    }

    cuGraphKernelNodeSetParams_v2(node: Handle, params: In<WiderKernel>) {
        set(node, params.value()?.narrow().work()?)
    }

    cuGraphMemcpyNodeSetParams(node: Handle, params: In<Rows>) {
        set(node, Work::Copy(rows(&*usable()?, params.value()?)?))
    }

    cuGraphMemsetNodeSetParams(node: Handle, params: In<Fill>) {
        set(node, params.value()?.work(&*usable()?)?)
    }

    cuGraphHostNodeSetParams(node: Handle, params: In<Call>) {
        let Call { function, data } = params.value()?;
        set(node, Work::Call(Step::Call(HostCall::new(function, data)?)))
    }

    cuGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: In<Kernel>) {
        driver()?.execs.find(exec)?.change(node, params.value()?.work()?)
    }

    cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: In<WiderKernel>) {
        driver()?.execs.find(exec)?.change(node, params.value()?.narrow().work()?)
    }

    cuGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, params: In<Rows>, _context: Handle) {
        let work = Work::Copy(rows(&*usable()?, params.value()?)?);
        driver()?.execs.find(exec)?.change(node, work)
    }

    cuGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: In<Fill>, _context: Handle) {
        let work = params.value()?.work(&*usable()?)?;
        driver()?.execs.find(exec)?.change(node, work)
    }

    cuGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: In<Call>) {
        let Call { function, data } = params.value()?;
        let work = Work::Call(Step::Call(HostCall::new(function, data)?));
        driver()?.execs.find(exec)?.change(node, work)
    }

    cuGraphNodeGetType(node: Handle, kind: Out<c_int>) {
        let node = driver()?.nodes.find(node)?;
        kind.put(lock(&node.work).number())
    }

    cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        let graph = driver()?.graphs.find(graph)?;
        let all: Vec<Handle> = lock(&graph.nodes).iter().map(|(handle, _)| *handle).collect();
        show(&all, nodes, count)
    }

    cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        let graph = driver()?.graphs.find(graph)?;
        let nodes_of = lock(&graph.nodes);
        let roots = nodes_of.iter().filter(|(_, node)| lock(&node.after).is_empty());
        let all: Vec<Handle> = roots.map(|(handle, _)| *handle).collect();
        show(&all, nodes, count)
    }

    cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        show_edges(graph, from, to, count)
    }

    cuGraphGetEdges_v2(graph: Handle, from: Out<Handle>, to: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
        show_edges(graph, from, to, count)?;
        if edges.is_wanted() && from.is_wanted() {
            let all = count.as_in().value()?;
            return (0..all).try_for_each(|at| edges.at(at).put([0; 8]));
        }
        Ok(())
    }

    cuGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        show(&before(node)?, nodes, count)
    }

    cuGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
        show(&before(node)?, nodes, count)?;
        plain(edges, nodes, count)
    }

    cuGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        show(&behind(node)?, nodes, count)
    }

    cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
        show(&behind(node)?, nodes, count)?;
        plain(edges, nodes, count)
    }

    cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        connect(graph, from, to, count, Join::Add)
    }

    cuGraphAddDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _edges: In<c_void>, count: usize) {
        connect(graph, from, to, count, Join::Add)
    }

    cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        connect(graph, from, to, count, Join::Remove)
    }

    cuGraphRemoveDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _edges: In<c_void>, count: usize) {
        connect(graph, from, to, count, Join::Remove)
    }

    cuGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>) {
        let out = graph.wanted()?;
        let driver = driver()?;
        let node = driver.nodes.find(node)?;
        let Work::Child(graph) = &*lock(&node.work) else {
            return Err(Status::InvalidValue);
        };
        let known = driver.graphs.handle_of(graph);
        out.put(known.unwrap_or_else(|| driver.graphs.insert(graph.clone())))
    }
}

/// Edges without data of their own.
fn plain(edges: Out<[u8; 8]>, nodes: Out<Handle>, count: Out<usize>) -> Result<(), Status> {
    if !edges.is_wanted() || !nodes.is_wanted() {
        return Ok(());
    }
    let all = count.as_in().value()?;
    (0..all).try_for_each(|at| edges.at(at).put([0; 8]))
}

/// `CUgraphNodeParams`: the kind, three reserved words, and what the kind needs.
fn any(params: In<[u64; 32]>) -> Result<Work, Status> {
    let kind = params.cast::<c_int>().value()?;
    let body = params.behind(16);
    match kind {
        0 => body.cast::<WiderKernel>().value()?.narrow().work(),
        // Flags, a reserved word, the context, the copy.
        1 => Ok(Work::Copy(rows(
            &*usable()?,
            body.behind(16).cast::<Rows>().value()?,
        )?)),
        2 => body.cast::<Fill>().value()?.work(&*usable()?),
        3 => {
            let Call { function, data } = body.cast::<Call>().value()?;
            Ok(Work::Call(Step::Call(HostCall::new(function, data)?)))
        }
        4 => child(body.cast::<Handle>().value()?),
        5 => Ok(Work::Nothing),
        6 => Ok(Work::Wait(
            driver()?.events.find(body.cast::<Handle>().value()?)?,
        )),
        7 => Ok(Work::Record(
            driver()?.events.find(body.cast::<Handle>().value()?)?,
        )),
        kind => {
            crate::report::lacks(&format!("graph nodes of kind {kind}"));
            Err(Status::NotSupported)
        }
    }
}
