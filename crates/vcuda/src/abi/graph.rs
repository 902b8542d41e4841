//! Captures and graphs.

use super::raw::{In, Out};
use crate::{
    context::usable,
    driver::driver,
    graph::{Exec, Graph},
    status::Status,
    table::Handle,
};
use std::{
    ffi::{c_int, c_void},
    sync::Arc,
};

fn instantiate(out: Out<Handle>, graph: Handle) -> Result<(), Status> {
    let out = out.wanted()?;
    let context = usable()?;
    let driver = driver()?;
    let graph = driver.graphs.find(graph)?;
    if !Arc::ptr_eq(&graph.core, &context.core) {
        return Err(Status::InvalidValue);
    }
    let exec = Exec::new(&context, &graph)?;
    out.put(driver.execs.insert(Arc::new(exec)))
}

entries! {
    /// All modes are as `CU_STREAM_CAPTURE_MODE_RELAXED`.
    cuStreamBeginCapture_v2(stream: Handle, mode: c_int) {
        if !(0..=2).contains(&mode) {
            return Err(Status::InvalidValue);
        }
        usable()?.stream(stream)?.begin_capture()
    }

    cuStreamEndCapture(stream: Handle, graph: Out<Handle>) {
        let out = graph.wanted()?;
        let context = usable()?;
        let steps = context.stream(stream)?.end_capture();
        let steps = steps.inspect_err(|_| out.put_if_wanted(Handle::NULL))?;
        let core = context.core.clone();
        out.put(driver()?.graphs.insert(Arc::new(Graph { core, steps })))
    }

    cuStreamIsCapturing(stream: Handle, state: Out<c_int>) {
        let (on, broken) = usable()?.stream(stream)?.capture_state();
        state.put(match (on, broken) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        })
    }

    cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) {
        driver()?;
        // Relaxed.
        mode.put(2)
    }

    cuGraphInstantiateWithFlags(exec: Out<Handle>, graph: Handle, _flags: u64) {
        instantiate(exec, graph)
    }

    cuGraphInstantiate_v2(exec: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _len: usize) {
        instantiate(exec, graph)
    }

    cuGraphLaunch(exec: Handle, stream: Handle) {
        let context = usable()?;
        let exec = driver()?.execs.find(exec)?;
        if !Arc::ptr_eq(&exec.core, &context.core) {
            return Err(Status::InvalidValue);
        }
        context.ordered(stream)?.replay(&exec.pieces, exec.launches)
    }

    /// Nothing has to be sent ahead.
    cuGraphUpload(exec: Handle, stream: Handle) {
        driver()?.execs.find(exec)?;
        usable()?.stream(stream).map(drop)
    }

    /// How many nodes there are; the nodes themselves have no handles here.
    cuGraphGetNodes(graph: Handle, nodes: In<c_void>, count: Out<usize>) {
        let graph = driver()?.graphs.find(graph)?;
        if !nodes.is_null() {
            return Err(Status::NotSupported);
        }
        count.put(graph.steps.len())
    }

    cuGraphDestroy(graph: Handle) {
        driver()?.graphs.remove(graph).map(drop)
    }

    cuGraphExecDestroy(exec: Handle) {
        driver()?.execs.remove(exec).map(drop)
    }
}
