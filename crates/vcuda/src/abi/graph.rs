//! Captures, and graphs as wholes.

use super::raw::{Host, HostCall, HostFunction, In, Out, Text};
use crate::{
    driver::{driver, usable},
    graph::{Exec, Graph, UserObject},
    status::Status,
    stream::{Before, Capture},
    table::{Handle, lock},
};
use std::{
    ffi::{c_int, c_uint, c_void},
    sync::{Arc, Mutex},
};

fn instantiate(out: Out<Handle>, graph: Handle) -> Result<(), Status> {
    let out = out.wanted()?;
    let context = usable()?;
    let driver = driver()?;
    let graph = driver.graphs.find(graph)?;
    if !Arc::ptr_eq(&graph.core, &context.core) {
        return Err(Status::InvalidValue);
    }
    let exec = Exec::new(&*context.null_stream()?, &graph)?;
    out.put(driver.execs.insert(Arc::new(exec)))
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Instantiate {
    flags: u64,
    upload: Handle,
    node: Handle,
    result: c_int,
}

/// Where a capture's state goes.
struct Info {
    state: Out<c_int>,
    id: Out<u64>,
    graph: Out<Handle>,
    nodes: Out<*const Handle>,
    edges: Out<*const c_void>,
    count: Out<usize>,
}

fn info(stream: Handle, to: Info) -> Result<(), Status> {
    let stream = usable()?.stream(stream)?;
    let (on, broken) = stream.capture_state();
    to.state.put(match (on, broken) {
        (false, _) => 0,
        (true, false) => 1,
        (true, true) => 2,
    })?;
    let capture: Option<Arc<Capture>> = stream.capture().filter(|_| !broken);
    let Some(capture) = capture else {
        return Ok(());
    };
    to.id.put_if_wanted(capture.id);
    to.graph.put_if_wanted(capture.handle);
    if to.nodes.is_wanted() || to.count.is_wanted() {
        let (nodes, count) = stream.show_last(&capture);
        to.nodes.put_if_wanted(nodes);
        to.count.put_if_wanted(count);
        // All edges are plain ones.
        to.edges.put_if_wanted(std::ptr::null());
    }
    Ok(())
}

fn come_after(
    stream: Handle,
    nodes: In<Handle>,
    count: usize,
    flags: c_uint,
) -> Result<(), Status> {
    let nodes = super::node::handles(nodes, count)?;
    let before = match flags {
        0 => Before::Kept,
        1 => Before::Replaced,
        _ => return Err(Status::InvalidValue),
    };
    usable()?.stream(stream)?.come_after(nodes, before)
}

fn begin(stream: Handle, mode: c_int) -> Result<(), Status> {
    if !(0..=2).contains(&mode) {
        return Err(Status::InvalidValue);
    }
    let context = usable()?;
    let stream = context.stream(stream)?;
    let driver = driver()?;
    let graph = Arc::new(Graph::new(&context.core));
    let handle = driver.graphs.insert(graph.clone());
    let begun = stream.begin_capture(graph, &driver.nodes, handle, Vec::new());
    if begun.is_err() {
        driver.graphs.remove(handle)?;
    }
    begun
}

/// The program gives references to an object up.
fn let_go(object: Handle, count: c_uint) -> Result<(), Status> {
    let driver = driver()?;
    let found = driver.user_objects.find(object)?;
    let left = {
        let mut all = lock(&found.count);
        *all = all
            .checked_sub(u64::from(count))
            .ok_or(Status::InvalidValue)?;
        *all
    };
    if left == 0 {
        driver.user_objects.remove(object)?;
    }
    Ok(())
}

stream_entries! {
    /// All modes are as `CU_STREAM_CAPTURE_MODE_RELAXED`.
    cuStreamBeginCapture_v2(stream: Handle, mode: c_int) {
        begin(stream, mode)
    }

    cuStreamBeginCapture(stream: Handle) {
        begin(stream, 0)
    }

    cuStreamBeginCaptureToGraph(
        stream: Handle,
        graph: Handle,
        nodes: In<Handle>,
        _edges: In<c_void>,
        count: usize,
        mode: c_int,
    ) {
        if !(0..=2).contains(&mode) {
            return Err(Status::InvalidValue);
        }
        let found = driver()?.graphs.find(graph)?;
        let after = super::node::handles(nodes, count)?;
        usable()?.stream(stream)?.begin_capture(found, &driver()?.nodes, graph, after)
    }

    cuStreamEndCapture(stream: Handle, graph: Out<Handle>) {
        let out = graph.wanted()?;
        let context = usable()?;
        let graph = context.stream(stream)?.end_capture();
        out.put(graph.inspect_err(|_| out.put_if_wanted(Handle::NULL))?)
    }

    cuStreamIsCapturing(stream: Handle, state: Out<c_int>) {
        let (on, broken) = usable()?.stream(stream)?.capture_state();
        state.put(match (on, broken) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        })
    }

    cuStreamGetCaptureInfo(stream: Handle, state: Out<c_int>, id: Out<u64>) {
        info(stream, Info {
            state,
            id,
            graph: Out::nowhere(),
            nodes: Out::nowhere(),
            edges: Out::nowhere(),
            count: Out::nowhere(),
        })
    }

    cuStreamGetCaptureInfo_v2(
        stream: Handle,
        state: Out<c_int>,
        id: Out<u64>,
        graph: Out<Handle>,
        nodes: Out<*const Handle>,
        count: Out<usize>,
    ) {
        info(stream, Info { state, id, graph, nodes, edges: Out::nowhere(), count })
    }

    cuStreamGetCaptureInfo_v3(
        stream: Handle,
        state: Out<c_int>,
        id: Out<u64>,
        graph: Out<Handle>,
        nodes: Out<*const Handle>,
        edges: Out<*const c_void>,
        count: Out<usize>,
    ) {
        info(stream, Info { state, id, graph, nodes, edges, count })
    }

    cuStreamUpdateCaptureDependencies(stream: Handle, nodes: In<Handle>, count: usize, flags: c_uint) {
        come_after(stream, nodes, count, flags)
    }

    cuStreamUpdateCaptureDependencies_v2(
        stream: Handle,
        nodes: In<Handle>,
        _edges: In<c_void>,
        count: usize,
        flags: c_uint,
    ) {
        come_after(stream, nodes, count, flags)
    }

    cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) {
        driver()?;
        // Relaxed.
        mode.put(2)
    }

    cuGraphCreate(graph: Out<Handle>, flags: c_uint) {
        let out = graph.wanted()?;
        if flags != 0 {
            return Err(Status::InvalidValue);
        }
        let graph = Graph::new(&usable()?.core);
        out.put(driver()?.graphs.insert(Arc::new(graph)))
    }

    cuGraphClone(clone: Out<Handle>, graph: Handle) {
        let out = clone.wanted()?;
        let driver = driver()?;
        let (copy, _) = driver.graphs.find(graph)?.copy(&driver.nodes);
        out.put(driver.graphs.insert(Arc::new(copy)))
    }

    cuGraphInstantiateWithFlags(exec: Out<Handle>, graph: Handle, _flags: u64) {
        instantiate(exec, graph)
    }

    cuGraphInstantiate(exec: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _len: usize) {
        instantiate(exec, graph)
    }

    cuGraphInstantiate_v2(exec: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _len: usize) {
        instantiate(exec, graph)
    }

    cuGraphInstantiateWithParams(exec: Out<Handle>, graph: Handle, params: Out<Instantiate>) {
        let given = params.as_in().value()?;
        instantiate(exec, graph)?;
        params.put(Instantiate { node: Handle::NULL, result: 0, ..given })
    }

    cuGraphLaunch(exec: Handle, stream: Handle) {
        let context = usable()?;
        let exec = driver()?.execs.find(exec)?;
        if !Arc::ptr_eq(&exec.core, &context.core) {
            return Err(Status::InvalidValue);
        }
        let ready = exec.ready(&*context.null_stream()?)?;
        context.ordered(stream)?.replay(&ready.pieces, ready.launches)
    }

    /// Nothing has to be sent ahead.
    cuGraphUpload(exec: Handle, stream: Handle) {
        driver()?.execs.find(exec)?;
        usable()?.stream(stream).map(drop)
    }

    cuGraphExecUpdate_v2(exec: Handle, graph: Handle, result: Out<[usize; 3]>) {
        let driver = driver()?;
        let (exec, graph) = (driver.execs.find(exec)?, driver.graphs.find(graph)?);
        match exec.update(&graph)? {
            Ok(()) => {
                result.put_if_wanted([0; 3]);
                Ok(())
            }
            Err(node) => {
                // The topology changed.
                result.put_if_wanted([2, node.0, 0]);
                Err(Status::GraphExecUpdateFailure)
            }
        }
    }

    cuGraphExecUpdate(exec: Handle, graph: Handle, node: Out<Handle>, result: Out<c_int>) {
        let driver = driver()?;
        let (exec, graph) = (driver.execs.find(exec)?, driver.graphs.find(graph)?);
        match exec.update(&graph)? {
            Ok(()) => {
                result.put_if_wanted(0);
                Ok(())
            }
            Err(differs) => {
                node.put_if_wanted(differs);
                result.put_if_wanted(2);
                Err(Status::GraphExecUpdateFailure)
            }
        }
    }

    cuGraphExecGetFlags(exec: Handle, flags: Out<u64>) {
        driver()?.execs.find(exec)?;
        flags.put(0)
    }

    cuGraphDebugDotPrint(graph: Handle, path: Text, _flags: c_uint) {
        let graph = driver()?.graphs.find(graph)?;
        let mut text = "digraph {\n".to_owned();
        for (handle, node) in lock(&graph.nodes).iter() {
            text.push_str(&format!("  \"{:x}\" [label=\"{}\"];\n", handle.0, lock(&node.work).number()));
            for before in lock(&node.after).iter() {
                text.push_str(&format!("  \"{:x}\" -> \"{:x}\";\n", before.0, handle.0));
            }
        }
        text.push_str("}\n");
        std::fs::write(path.to_string()?, text).map_err(|_| Status::OperatingSystem)
    }

    cuUserObjectCreate(out: Out<Handle>, data: Host, gone: HostFunction, count: c_uint, _flags: c_uint) {
        let out = out.wanted()?;
        if count == 0 {
            return Err(Status::InvalidValue);
        }
        let object = UserObject { gone: HostCall::new(gone, data)?, count: Mutex::new(count.into()) };
        out.put(driver()?.user_objects.insert(Arc::new(object)))
    }

    cuUserObjectRetain(object: Handle, count: c_uint) {
        let object = driver()?.user_objects.find(object)?;
        *lock(&object.count) += u64::from(count);
        Ok(())
    }

    cuUserObjectRelease(object: Handle, count: c_uint) {
        let_go(object, count)
    }

    /// With the flag the program's own references become the graph's.
    cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) {
        let driver = driver()?;
        let graph = driver.graphs.find(graph)?;
        lock(&graph.kept).push((object, driver.user_objects.find(object)?));
        if flags & 1 != 0 { let_go(object, count) } else { Ok(()) }
    }

    cuGraphReleaseUserObject(graph: Handle, object: Handle, _count: c_uint) {
        let driver = driver()?;
        let graph = driver.graphs.find(graph)?;
        let mut kept = lock(&graph.kept);
        let at = kept.iter().position(|(handle, _)| *handle == object).ok_or(Status::InvalidValue)?;
        let gone = kept.swap_remove(at);
        drop(kept);
        drop(gone);
        Ok(())
    }

    cuGraphDestroy(graph: Handle) {
        let driver = driver()?;
        let graph = driver.graphs.remove(graph)?;
        for (node, _) in lock(&graph.nodes).iter() {
            let _gone_with_its_graph = driver.nodes.remove(*node);
        }
        Ok(())
    }

    cuGraphExecDestroy(exec: Handle) {
        driver()?.execs.remove(exec).map(drop)
    }
}
