//! Graphs: captured, built by hand, changed, launched.

use super::{
    super::{
        graph::*,
        node::*,
        raw::{Host, HostFunction, In, Out, Text},
        rows::Rows,
    },
    copy::{Boxes, Kind, places},
    error::{Code, well},
    state::{host_of, kernel, part, ready},
};
use crate::table::Handle;
use std::ffi::{c_int, c_uint, c_void};

/// Whether the headers of the program are those of CUDA 12, where some functions have no data of edges.
fn twelve() -> bool {
    super::version() < 13000
}

/// Parameters as the driver takes them: its own handle of the kernel.
fn drivers(params: In<Kernel>) -> Result<Kernel, Code> {
    let params = params.value()?;
    let (_, handle) = kernel(params.function())?;
    Ok(params.with_function(handle))
}

/// A copy without rows, as rows.
fn line(to: u64, from: u64, bytes: usize, kind: c_int) -> Result<Rows, Code> {
    let (to, from) = places(Kind::of(kind)?, to, from);
    Ok(Rows {
        from: from.side([0; 3], bytes, 1),
        to: to.side([0; 3], bytes, 1),
        width: bytes,
        height: 1,
        depth: 1,
    })
}

/// Where a node goes.
#[derive(Clone, Copy)]
struct New {
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
}

impl New {
    fn copy(self, rows: Rows) -> Result<(), Code> {
        ready()?;
        let New {
            out,
            graph,
            after,
            count,
        } = self;
        let rows = In::from(&rows);
        well(cuGraphAddMemcpyNode(
            out,
            graph,
            after,
            count,
            rows,
            Handle::NULL,
        ))
    }

    fn kernel(self, params: In<Kernel>) -> Result<(), Code> {
        let params = drivers(params)?;
        let New {
            out,
            graph,
            after,
            count,
        } = self;
        well(cuGraphAddKernelNode(
            out,
            graph,
            after,
            count,
            In::from(&params),
        ))
    }

    /// By `cudaGraphNodeParams`: the kind, three reserved words, and what the kind needs. Kernels and copies are other than
    /// the driver's.
    fn any(self, params: In<[u64; 32]>) -> Result<(), Code> {
        let kind = params.cast::<c_int>().value()?;
        let body = params.behind(16);
        match kind {
            0 => self.kernel(body.cast()),
            // Flags, a reserved word, the context, the copy.
            1 => self.copy(body.behind(16).cast::<Boxes>().value()?.rows()?),
            _ => {
                ready()?;
                let New {
                    out,
                    graph,
                    after,
                    count,
                } = self;
                well(cuGraphAddNode(out, graph, after, count, params))
            }
        }
    }
}

/// A change of a node that is ready to run, or of one that is not.
fn change(exec: Option<Handle>, node: Handle, rows: Rows) -> Result<(), Code> {
    ready()?;
    let rows = In::from(&rows);
    well(match exec {
        Some(exec) => cuGraphExecMemcpyNodeSetParams(exec, node, rows, Handle::NULL),
        None => cuGraphMemcpyNodeSetParams(node, rows),
    })
}

runtime_entries! {
    cudaGraphCreate(graph: Out<Handle>, flags: c_uint) {
        ready()?;
        well(cuGraphCreate(graph, flags))
    }

    cudaGraphClone(clone: Out<Handle>, graph: Handle) {
        ready()?;
        well(cuGraphClone(clone, graph))
    }

    cudaGraphDestroy(graph: Handle) {
        ready()?;
        well(cuGraphDestroy(graph))
    }

    cudaGraphExecDestroy(exec: Handle) {
        ready()?;
        well(cuGraphExecDestroy(exec))
    }

    cudaGraphInstantiate(exec: Out<Handle>, graph: Handle, flags: u64) {
        ready()?;
        well(cuGraphInstantiateWithFlags(exec, graph, flags))
    }

    cudaGraphInstantiateWithFlags(exec: Out<Handle>, graph: Handle, flags: u64) {
        ready()?;
        well(cuGraphInstantiateWithFlags(exec, graph, flags))
    }

    cudaGraphExecGetFlags(exec: Handle, flags: Out<u64>) {
        ready()?;
        well(cuGraphExecGetFlags(exec, flags))
    }

    cudaGraphExecUpdate(exec: Handle, graph: Handle, result: Out<[usize; 3]>) {
        ready()?;
        well(cuGraphExecUpdate_v2(exec, graph, result))
    }

    cudaGraphDebugDotPrint(graph: Handle, path: Text, flags: c_uint) {
        ready()?;
        well(cuGraphDebugDotPrint(graph, path, flags))
    }

    cudaGraphAddKernelNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Kernel>) {
        New { out, graph, after, count }.kernel(params)
    }

    cudaGraphKernelNodeGetParams(node: Handle, params: Out<Kernel>) {
        let out = params.wanted()?;
        ready()?;
        well(cuGraphKernelNodeGetParams(node, out))?;
        let params = out.as_in().value()?;
        if let Some(host) = host_of(params.function())? {
            out.put(params.with_function(host))?;
        }
        Ok(())
    }

    cudaGraphKernelNodeSetParams(node: Handle, params: In<Kernel>) {
        let params = drivers(params)?;
        well(cuGraphKernelNodeSetParams(node, In::from(&params)))
    }

    cudaGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: In<Kernel>) {
        let params = drivers(params)?;
        well(cuGraphExecKernelNodeSetParams(exec, node, In::from(&params)))
    }

    cudaGraphAddMemcpyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, boxes: In<Boxes>) {
        New { out, graph, after, count }.copy(boxes.value()?.rows()?)
    }

    cudaGraphAddMemcpyNode1D(
        out: Out<Handle>,
        graph: Handle,
        after: In<Handle>,
        count: usize,
        to: u64,
        from: u64,
        bytes: usize,
        kind: c_int,
    ) {
        New { out, graph, after, count }.copy(line(to, from, bytes, kind)?)
    }

    cudaGraphAddMemcpyNodeToSymbol(
        out: Out<Handle>,
        graph: Handle,
        after: In<Handle>,
        count: usize,
        symbol: usize,
        from: u64,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let to = part(symbol, offset, bytes)?;
        New { out, graph, after, count }.copy(line(to, from, bytes, kind)?)
    }

    cudaGraphAddMemcpyNodeFromSymbol(
        out: Out<Handle>,
        graph: Handle,
        after: In<Handle>,
        count: usize,
        to: u64,
        symbol: usize,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let from = part(symbol, offset, bytes)?;
        New { out, graph, after, count }.copy(line(to, from, bytes, kind)?)
    }

    cudaGraphMemcpyNodeSetParams(node: Handle, boxes: In<Boxes>) {
        change(None, node, boxes.value()?.rows()?)
    }

    cudaGraphMemcpyNodeSetParams1D(node: Handle, to: u64, from: u64, bytes: usize, kind: c_int) {
        change(None, node, line(to, from, bytes, kind)?)
    }

    cudaGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, boxes: In<Boxes>) {
        change(Some(exec), node, boxes.value()?.rows()?)
    }

    cudaGraphExecMemcpyNodeSetParams1D(exec: Handle, node: Handle, to: u64, from: u64, bytes: usize, kind: c_int) {
        change(Some(exec), node, line(to, from, bytes, kind)?)
    }

    cudaGraphAddMemsetNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Fill>) {
        ready()?;
        well(cuGraphAddMemsetNode(out, graph, after, count, params, Handle::NULL))
    }

    cudaGraphMemsetNodeSetParams(node: Handle, params: In<Fill>) {
        ready()?;
        well(cuGraphMemsetNodeSetParams(node, params))
    }

    cudaGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: In<Fill>) {
        ready()?;
        well(cuGraphExecMemsetNodeSetParams(exec, node, params, Handle::NULL))
    }

    cudaGraphAddHostNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Call>) {
        ready()?;
        well(cuGraphAddHostNode(out, graph, after, count, params))
    }

    cudaGraphHostNodeSetParams(node: Handle, params: In<Call>) {
        ready()?;
        well(cuGraphHostNodeSetParams(node, params))
    }

    cudaGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: In<Call>) {
        ready()?;
        well(cuGraphExecHostNodeSetParams(exec, node, params))
    }

    cudaGraphAddChildGraphNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, of: Handle) {
        ready()?;
        well(cuGraphAddChildGraphNode(out, graph, after, count, of))
    }

    cudaGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>) {
        ready()?;
        well(cuGraphChildGraphNodeGetGraph(node, graph))
    }

    cudaGraphAddEmptyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        ready()?;
        well(cuGraphAddEmptyNode(out, graph, after, count))
    }

    cudaGraphAddEventRecordNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle) {
        ready()?;
        well(cuGraphAddEventRecordNode(out, graph, after, count, event))
    }

    cudaGraphAddEventWaitNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle) {
        ready()?;
        well(cuGraphAddEventWaitNode(out, graph, after, count, event))
    }

    cudaGraphDestroyNode(node: Handle) {
        ready()?;
        well(cuGraphDestroyNode(node))
    }

    cudaGraphNodeGetType(node: Handle, kind: Out<c_int>) {
        ready()?;
        well(cuGraphNodeGetType(node, kind))
    }

    cudaGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        ready()?;
        well(cuGraphGetNodes(graph, nodes, count))
    }

    cudaGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        ready()?;
        well(cuGraphGetRootNodes(graph, nodes, count))
    }

    cudaUserObjectCreate(out: Out<Handle>, data: Host, gone: HostFunction, count: c_uint, flags: c_uint) {
        ready()?;
        well(cuUserObjectCreate(out, data, gone, count, flags))
    }

    cudaUserObjectRetain(object: Handle, count: c_uint) {
        ready()?;
        well(cuUserObjectRetain(object, count))
    }

    cudaUserObjectRelease(object: Handle, count: c_uint) {
        ready()?;
        well(cuUserObjectRelease(object, count))
    }

    cudaGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) {
        ready()?;
        well(cuGraphRetainUserObject(graph, object, count, flags))
    }

    cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) {
        ready()?;
        well(cuGraphReleaseUserObject(graph, object, count))
    }

    cudaThreadExchangeStreamCaptureMode(mode: Out<c_int>) {
        ready()?;
        well(cuThreadExchangeStreamCaptureMode(mode))
    }
}

pub(super) mod edges {
    //! What has data of edges in CUDA 13, and under another name in 12. Those of 12 have one argument less, or the same.

    use super::*;

    runtime_entries! {
        cudaGraphAddNode(
            out: Out<Handle>,
            graph: Handle,
            after: In<Handle>,
            fourth: usize,
            fifth: usize,
            sixth: In<[u64; 32]>,
        ) {
            if twelve() {
                let params = In::at_address(fifth);
                return New { out, graph, after, count: fourth }.any(params);
            }
            New { out, graph, after, count: fifth }.any(sixth)
        }

        cudaGraphAddNode_v2(
            out: Out<Handle>,
            graph: Handle,
            after: In<Handle>,
            _edges: usize,
            count: usize,
            params: In<[u64; 32]>,
        ) {
            New { out, graph, after, count }.any(params)
        }

        cudaGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
            ready()?;
            well(if twelve() {
                cuGraphGetEdges(graph, from, to, edges.cast())
            } else {
                cuGraphGetEdges_v2(graph, from, to, edges, count)
            })
        }

        cudaGraphGetEdges_v2(graph: Handle, from: Out<Handle>, to: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
            ready()?;
            well(cuGraphGetEdges_v2(graph, from, to, edges, count))
        }

        cudaGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
            ready()?;
            well(if twelve() {
                cuGraphNodeGetDependencies(node, nodes, edges.cast())
            } else {
                cuGraphNodeGetDependencies_v2(node, nodes, edges, count)
            })
        }

        cudaGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
            ready()?;
            well(cuGraphNodeGetDependencies_v2(node, nodes, edges, count))
        }

        cudaGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
            ready()?;
            well(if twelve() {
                cuGraphNodeGetDependentNodes(node, nodes, edges.cast())
            } else {
                cuGraphNodeGetDependentNodes_v2(node, nodes, edges, count)
            })
        }

        cudaGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, edges: Out<[u8; 8]>, count: Out<usize>) {
            ready()?;
            well(cuGraphNodeGetDependentNodes_v2(node, nodes, edges, count))
        }

        cudaGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, fourth: usize, fifth: usize) {
            ready()?;
            well(cuGraphAddDependencies(graph, from, to, if twelve() { fourth } else { fifth }))
        }

        cudaGraphAddDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _edges: usize, count: usize) {
            ready()?;
            well(cuGraphAddDependencies(graph, from, to, count))
        }

        cudaGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, fourth: usize, fifth: usize) {
            ready()?;
            well(cuGraphRemoveDependencies(graph, from, to, if twelve() { fourth } else { fifth }))
        }

        cudaGraphRemoveDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _edges: usize, count: usize) {
            ready()?;
            well(cuGraphRemoveDependencies(graph, from, to, count))
        }
    }
}

pub(super) mod on_streams {
    use super::*;

    runtime_stream_entries! {
        cudaGraphLaunch(exec: Handle, stream: Handle) {
            ready()?;
            well(cuGraphLaunch(exec, stream))
        }

        cudaGraphUpload(exec: Handle, stream: Handle) {
            ready()?;
            well(cuGraphUpload(exec, stream))
        }

        cudaGraphInstantiateWithParams(exec: Out<Handle>, graph: Handle, params: Out<Instantiate>) {
            ready()?;
            well(cuGraphInstantiateWithParams(exec, graph, params))
        }

        cudaStreamBeginCapture(stream: Handle, mode: c_int) {
            ready()?;
            well(cuStreamBeginCapture_v2(stream, mode))
        }

        cudaStreamBeginCaptureToGraph(
            stream: Handle,
            graph: Handle,
            nodes: In<Handle>,
            edges: In<c_void>,
            count: usize,
            mode: c_int,
        ) {
            ready()?;
            well(cuStreamBeginCaptureToGraph(stream, graph, nodes, edges, count, mode))
        }

        cudaStreamEndCapture(stream: Handle, graph: Out<Handle>) {
            ready()?;
            well(cuStreamEndCapture(stream, graph))
        }

        cudaStreamIsCapturing(stream: Handle, state: Out<c_int>) {
            ready()?;
            well(cuStreamIsCapturing(stream, state))
        }

        /// As the headers of CUDA 13 have it; those of 12 call the others.
        cudaStreamGetCaptureInfo(
            stream: Handle,
            state: Out<c_int>,
            id: Out<u64>,
            graph: Out<Handle>,
            nodes: Out<*const Handle>,
            edges: Out<*const c_void>,
            count: Out<usize>,
        ) {
            ready()?;
            well(cuStreamGetCaptureInfo_v3(stream, state, id, graph, nodes, edges, count))
        }

        cudaStreamGetCaptureInfo_v2(
            stream: Handle,
            state: Out<c_int>,
            id: Out<u64>,
            graph: Out<Handle>,
            nodes: Out<*const Handle>,
            count: Out<usize>,
        ) {
            ready()?;
            well(cuStreamGetCaptureInfo_v2(stream, state, id, graph, nodes, count))
        }

        cudaStreamGetCaptureInfo_v3(
            stream: Handle,
            state: Out<c_int>,
            id: Out<u64>,
            graph: Out<Handle>,
            nodes: Out<*const Handle>,
            edges: Out<*const c_void>,
            count: Out<usize>,
        ) {
            ready()?;
            well(cuStreamGetCaptureInfo_v3(stream, state, id, graph, nodes, edges, count))
        }

        /// Of CUDA 12 it has no data of edges.
        cudaStreamUpdateCaptureDependencies(
            stream: Handle,
            nodes: In<Handle>,
            third: usize,
            fourth: usize,
            flags: c_uint,
        ) {
            ready()?;
            well(if twelve() {
                cuStreamUpdateCaptureDependencies(stream, nodes, third, fourth as c_uint)
            } else {
                cuStreamUpdateCaptureDependencies(stream, nodes, fourth, flags)
            })
        }

        cudaStreamUpdateCaptureDependencies_v2(
            stream: Handle,
            nodes: In<Handle>,
            _edges: usize,
            count: usize,
            flags: c_uint,
        ) {
            ready()?;
            well(cuStreamUpdateCaptureDependencies(stream, nodes, count, flags))
        }
    }
}
