//! Streams: work in order, or collected.

use crate::{
    core::{Core, Fate},
    event::{Event, Mark},
    graph::{Graph, Node, Piece, Work},
    host::StreamCall,
    module::Function,
    report::Launched,
    status::Status,
    step::Step,
    table::{Handle, Table, lock},
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use warpsmith_vgpu as vgpu;

/// What becomes of what captured work came after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Kept,
    Replaced,
}

/// How a stream stands to the null stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    /// They wait for each other.
    Blocking,
    Independent,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) core: Arc<Core>,
    pub(crate) kind: Kind,
    inner: vgpu::Stream,
    /// A number that no other has.
    pub(crate) id: u64,
    capture: Mutex<Option<Taking>>,
}

/// How a stream takes part in a capture: what it adds next comes after these nodes.
#[derive(Clone)]
struct Taking {
    capture: Arc<Capture>,
    last: Last,
}

/// The last launch of which frames of the program are kept where nothing is checked.
const WITH_FRAMES: u64 = 1000;

/// What the next work of a stream comes after.
type Last = Arc<Mutex<Vec<Handle>>>;

/// Work that streams collect.
pub(crate) struct Capture {
    pub(crate) graph: Arc<Graph>,
    /// All nodes that have handles.
    known: &'static Table<Node>,
    pub(crate) handle: Handle,
    pub(crate) id: u64,
    broken: AtomicBool,
    ended: AtomicBool,
    /// Of all streams that have taken part, first of the one in which it was begun.
    lasts: Mutex<Vec<Last>>,
    /// What the program was shown of the nodes that come before; it may look at all of them until the end.
    shown: Mutex<Vec<Box<[Handle]>>>,
}

/// Numbers for streams and captures.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

impl Stream {
    pub(crate) fn new(core: &Arc<Core>, kind: Kind) -> Result<Stream, Status> {
        let inner = core.machine.stream()?;
        let fails = core.clone();
        inner.on_error(move |error| fails.fault(error));
        Ok(Stream {
            core: core.clone(),
            kind,
            inner,
            id: number(),
            capture: Mutex::default(),
        })
    }

    /// What it is collecting into.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        let mut capture = lock(&self.capture);
        // A stream that joined is let go by the end of the capture.
        capture.take_if(|taking| taking.capture.ended.load(Relaxed));
        capture.as_ref().map(|taking| taking.capture.clone())
    }

    /// What the next captured work comes after.
    fn last(&self) -> Vec<Handle> {
        lock(&self.capture)
            .as_ref()
            .map(|taking| lock(&taking.last).clone())
            .unwrap_or_default()
    }

    /// The same, where the program can look at it until the end of the capture.
    pub(crate) fn show_last(&self, capture: &Capture) -> (*const Handle, usize) {
        let last = self.last().into_boxed_slice();
        let mut shown = lock(&capture.shown);
        shown.push(last);
        shown
            .last()
            .map_or((std::ptr::null(), 0), |last| (last.as_ptr(), last.len()))
    }

    /// Changes what the next captured work comes after.
    pub(crate) fn come_after(&self, nodes: Vec<Handle>, and_before: Before) -> Result<(), Status> {
        let capture = lock(&self.capture);
        let taking = capture.as_ref().ok_or(Status::InvalidValue)?;
        let known = lock(&taking.capture.graph.nodes);
        if !nodes
            .iter()
            .all(|node| known.iter().any(|(handle, _)| handle == node))
        {
            return Err(Status::InvalidValue);
        }
        drop(known);
        match and_before {
            Before::Kept => lock(&taking.last).extend(nodes),
            Before::Replaced => *lock(&taking.last) = nodes,
        }
        Ok(())
    }

    /// Adds a node to the capture that is on.
    fn collect(&self, capture: &Capture, work: Work) -> Result<(), Status> {
        if capture.broken.load(Relaxed) {
            return Err(Status::CaptureInvalidated);
        }
        let node = capture.graph.add(capture.known, work, self.last())?;
        if let Some(taking) = &*lock(&self.capture) {
            *lock(&taking.last) = vec![node];
        }
        Ok(())
    }

    /// Fails, and spoils a capture, if one is on.
    fn uncaptured(&self) -> Result<(), Status> {
        match self.capture() {
            Some(capture) => {
                capture.broken.store(true, Relaxed);
                Err(Status::CaptureUnsupported)
            }
            None => Ok(()),
        }
    }

    /// Enqueues a step, or collects it.
    pub(crate) fn submit(&self, step: Step) -> Result<(), Status> {
        if let Some(capture) = self.capture() {
            return self.collect(&capture, Work::of(step));
        }
        let Step::Launch(function, launch) = step else {
            if matches!(step, Step::Read { .. }) {
                self.copies();
            }
            return step.enqueue(&self.core, &self.inner);
        };
        let fate = self.core.launches(1)?;
        self.begins(&function);
        match fate {
            Fate::Runs => self
                .inner
                .launch(*launch)
                .inspect_err(crate::report::failed)?,
            Fate::Faults => self.fault(),
        }
        Ok(())
    }

    /// Enqueues what was captured.
    pub(crate) fn replay(&self, pieces: &[Piece], launches: u64) -> Result<(), Status> {
        self.uncaptured()?;
        if self.core.launches(launches)? == Fate::Faults {
            self.fault();
        }
        for piece in pieces {
            match piece {
                Piece::Launches(prepared) => self.inner.replay(prepared)?,
                Piece::Step(step) => step.clone().enqueue(&self.core, &self.inner)?,
                Piece::Record(event) => Piece::mark(event, &self.inner),
                Piece::Wait(event) => {
                    if let Mark::Reached(mark) = event.mark() {
                        self.inner.wait(&mark);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks launches so that they can be replayed.
    pub(crate) fn prepare(&self, launches: Vec<vgpu::Launch>) -> Result<vgpu::Prepared, Status> {
        Ok(self
            .inner
            .prepare(launches)
            .inspect_err(crate::report::failed)?)
    }

    /// Reports name the launch that comes next.
    fn begins(&self, function: &Function) {
        if self.core.settings.report.is_none() {
            return;
        }
        crate::report::runs(&function.name.to_string_lossy(), function.module.number);
        let number = self.core.card.launches.load(Relaxed);
        // To go through the frames of a program takes several times as long as a small launch.
        let site = match self.core.settings.checks.is_some() || number <= WITH_FRAMES {
            true => Some(crate::host::caller()),
            false => crate::host::line(),
        };
        let launch = Launched { number, site };
        self.inner.call(move |_| crate::report::begins(launch));
    }

    /// Reports name the copy that comes next.
    fn copies(&self) {
        if self.core.settings.report.is_some() && self.core.settings.checks.is_some() {
            let number = 0;
            let site = Some(crate::host::caller());
            let copy = Launched { number, site };
            self.inner.call(move |_| crate::report::begins(copy));
        }
    }

    /// The program is called with how the stream fared.
    pub(crate) fn callback(&self, call: StreamCall) -> Result<(), Status> {
        self.uncaptured()?;
        let core = self.core.clone();
        self.inner.call(move |so_far| {
            let code = so_far.map_err(Status::from).and_then(|()| core.well());
            call.run(code.map_or_else(|status| status as u32, |()| 0));
        });
        Ok(())
    }

    /// The context fails when the stream comes here.
    fn fault(&self) {
        let core = self.core.clone();
        self.inner.call(move |_| core.fail(Status::LaunchFailed));
    }

    /// Gives memory back when the stream comes here.
    pub(crate) fn free(&self, address: u64) -> Result<(), Status> {
        if self.capture().is_some() {
            return Err(Status::NotSupported);
        }
        Ok(self.inner.free(address)?)
    }

    pub(crate) fn record(&self, event: &Event) {
        event.set(match self.capture() {
            Some(capture) => Mark::Captured(capture, self.last()),
            None => Mark::Reached(self.inner.record()),
        });
    }

    /// Later work waits for `event`; of a capture, this stream takes part in it.
    pub(crate) fn wait(&self, event: &Event) -> Result<(), Status> {
        match event.mark() {
            Mark::Never => Ok(()),
            Mark::Captured(capture, last) => {
                if capture.ended.load(Relaxed) {
                    return Err(Status::CapturedEvent);
                }
                let mut own = lock(&self.capture);
                match &*own {
                    Some(taking) if !Arc::ptr_eq(&taking.capture, &capture) => {
                        return Err(Status::StreamCaptureMerge);
                    }
                    Some(taking) => {
                        let mut known = lock(&taking.last);
                        for node in last {
                            if !known.contains(&node) {
                                known.push(node);
                            }
                        }
                    }
                    None => {
                        let last: Last = Arc::new(Mutex::new(last));
                        lock(&capture.lasts).push(last.clone());
                        *own = Some(Taking { capture, last });
                    }
                }
                Ok(())
            }
            Mark::Reached(mark) => {
                // What was there before a capture began is done before its replay.
                if self.capture().is_none() {
                    self.inner.wait(&mark);
                }
                Ok(())
            }
        }
    }

    /// Later work waits for all that `other` has to do now; captured work does when it is replayed.
    pub(crate) fn follow(&self, other: &Stream) -> Result<(), Status> {
        if self.capture().is_some() {
            return Ok(());
        }
        if let Some(capture) = other.capture() {
            // The null stream would come after what is captured, or that after it.
            capture.broken.store(true, Relaxed);
            return Err(Status::StreamCaptureImplicit);
        }
        // Where launches are checked, what is done was waited for only if the program says so.
        if self.core.settings.checks.is_some() || !other.inner.is_done() {
            self.inner.wait(&other.inner.record());
        }
        Ok(())
    }

    pub(crate) fn is_done(&self) -> Result<bool, Status> {
        self.uncaptured()?;
        Ok(self.inner.is_done())
    }

    /// Waits for its work.
    pub(crate) fn synchronize(&self) -> Result<(), Status> {
        self.uncaptured()?;
        self.drain();
        self.core.show();
        self.core.well()
    }

    /// Waits for its work, whatever comes of it; the context keeps the error.
    pub(crate) fn drain(&self) {
        if let Err(error) = self.inner.synchronize() {
            self.core.fault(&error);
        }
    }

    /// Collects from now on, into a graph that may have nodes already.
    pub(crate) fn begin_capture(
        &self,
        graph: Arc<Graph>,
        known: &'static Table<Node>,
        handle: Handle,
        after: Vec<Handle>,
    ) -> Result<(), Status> {
        if self.kind == Kind::Null {
            return Err(Status::CaptureUnsupported);
        }
        self.uncaptured()?;
        let last: Last = Arc::new(Mutex::new(after));
        let capture = Arc::new(Capture {
            graph,
            known,
            handle,
            id: number(),
            broken: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            lasts: Mutex::new(vec![last.clone()]),
            shown: Mutex::default(),
        });
        *lock(&self.capture) = Some(Taking { capture, last });
        Ok(())
    }

    /// The graph of the work collected since.
    ///
    /// # Errors
    /// If the capture was begun elsewhere, was spoiled, or work of other streams is none that this one waited for.
    pub(crate) fn end_capture(&self) -> Result<Handle, Status> {
        let mut own = lock(&self.capture);
        let begun_here = |taking: &mut Taking| {
            let lasts = lock(&taking.capture.lasts);
            lasts
                .first()
                .is_some_and(|first| Arc::ptr_eq(first, &taking.last))
        };
        let taking = own.take_if(begun_here).ok_or(Status::CaptureUnmatched)?;
        drop(own);
        let capture = taking.capture;
        capture.ended.store(true, Relaxed);
        if capture.broken.load(Relaxed) {
            return Err(Status::CaptureInvalidated);
        }
        let last = lock(&taking.last).clone();
        let lasts = lock(&capture.lasts);
        let ends: Vec<Handle> = lasts.iter().flat_map(|last| lock(last).clone()).collect();
        if capture.graph.leads_to(&ends, &last) {
            Ok(capture.handle)
        } else {
            Err(Status::StreamCaptureUnjoined)
        }
    }

    /// Whether a capture is on, and whether it was spoiled.
    pub(crate) fn capture_state(&self) -> (bool, bool) {
        let capture = self.capture();
        let broken = capture
            .as_ref()
            .is_some_and(|capture| capture.broken.load(Relaxed));
        (capture.is_some(), broken)
    }
}
