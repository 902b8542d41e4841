//! Nodes of graphs: whether they run, which they are in a clone, which events they record or wait for.

use super::raw::Out;
use crate::{driver::driver, event::Event, graph::Work, status::Status, table::Handle};
use std::{ffi::c_uint, sync::Arc};

/// The work of a node, given the event; its kind says which that is.
type Kind = fn(Arc<Event>) -> Work;

/// The event of a node of this kind.
fn event(node: Handle, kind: Kind, out: Out<Handle>) -> Result<(), Status> {
    let out = out.wanted()?;
    let driver = driver()?;
    let node = driver.nodes.find(node)?;
    let work = crate::table::lock(&node.work).clone();
    let (Work::Record(event) | Work::Wait(event)) = &work else {
        return Err(Status::InvalidValue);
    };
    if kind(event.clone()).number() != work.number() {
        return Err(Status::InvalidValue);
    }
    out.put(
        driver
            .events
            .handle_of(event)
            .ok_or(Status::InvalidHandle)?,
    )
}

fn set_event(node: Handle, kind: Kind, event: Handle) -> Result<(), Status> {
    super::node::set(node, kind(driver()?.events.find(event)?))
}

fn set_event_of(exec: Handle, node: Handle, kind: Kind, event: Handle) -> Result<(), Status> {
    let driver = driver()?;
    let work = kind(driver.events.find(event)?);
    driver.execs.find(exec)?.change(node, work)
}

entries! {
    /// A kernel, a copy or a fill is left out of a graph's launches, or is there again.
    cuGraphNodeSetEnabled(exec: Handle, node: Handle, enabled: c_uint) {
        let exec = driver()?.execs.find(exec)?;
        if enabled == 0 { exec.leave_out(node) } else { exec.take_in(node) }
    }

    cuGraphNodeGetEnabled(exec: Handle, node: Handle, enabled: Out<c_uint>) {
        let exec = driver()?.execs.find(exec)?;
        enabled.put(exec.has(node)?.into())
    }

    cuGraphNodeFindInClone(out: Out<Handle>, node: Handle, clone: Handle) {
        let out = out.wanted()?;
        let clone = driver()?.graphs.find(clone)?;
        out.put(clone.copy_of(node).ok_or(Status::InvalidValue)?)
    }

    cuGraphEventRecordNodeGetEvent(node: Handle, out: Out<Handle>) {
        event(node, Work::Record, out)
    }

    cuGraphEventWaitNodeGetEvent(node: Handle, out: Out<Handle>) {
        event(node, Work::Wait, out)
    }

    cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        set_event(node, Work::Record, event)
    }

    cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        set_event(node, Work::Wait, event)
    }

    cuGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event: Handle) {
        set_event_of(exec, node, Work::Record, event)
    }

    cuGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event: Handle) {
        set_event_of(exec, node, Work::Wait, event)
    }
}
