//! Contexts: a card's memory and streams for one program, and the error that stays.

use crate::{
    core::{Core, Leaks, Owner},
    status::Status,
    stream::{Kind, Stream},
    table::{Handle, Table, lock},
};
use rustc_hash::FxHashMap;
use std::{
    cell::Cell,
    sync::{Arc, Mutex, Weak, atomic::AtomicUsize},
    thread::ThreadId,
};
use warpsmith_vgpu as vgpu;

/// What fresh memory of the host holds, a part at a time.
const PART: usize = 1 << 16;
static ZEROS: [u8; PART] = [0; PART];

/// A context.
pub(crate) struct Context {
    pub(crate) core: Arc<Core>,
    known: &'static Table<Stream>,
    streams: Mutex<Vec<Weak<Stream>>>,
    null: Mutex<Option<Arc<Stream>>>,
    /// The default streams of threads that have their own.
    thread_streams: Mutex<FxHashMap<ThreadId, Arc<Stream>>>,
    /// What it was told its limits were, by their numbers: stack, print buffer, heap, depth and number of launches by
    /// kernels. Nothing here depends on them.
    pub(crate) limits: [AtomicUsize; 5],
}

impl Context {
    /// A context over `core`; `known` are the streams that have handles.
    pub(crate) fn new(core: Core, known: &'static Table<Stream>) -> Context {
        Context {
            core: Arc::new(core),
            known,
            streams: Mutex::default(),
            null: Mutex::default(),
            thread_streams: Mutex::default(),
            limits: [1 << 10, 1 << 20, 8 << 20, 2, 2048].map(AtomicUsize::new),
        }
    }

    /// Ends it, when its work is done and its objects are forgotten: gives its memory back.
    pub(crate) fn end(&self, leaks: Leaks) {
        drop(lock(&self.null).take());
        drop(lock(&self.thread_streams).drain());
        self.core.leaks(leaks);
        self.core.free_all();
    }

    pub(crate) fn alloc(&self, bytes: u64, owner: Owner) -> Result<u64, Status> {
        if bytes == 0 {
            return Err(Status::InvalidValue);
        }
        self.core.card.allocates(self.core.settings)?;
        let mut given = self.core.machine.alloc(bytes);
        if matches!(owner, Owner::Pool(_)) && matches!(given, Err(vgpu::Error::OutOfMemory { .. }))
        {
            // What is freed earlier in the order of the streams may be used.
            self.synchronize()?;
            given = self.core.machine.alloc(bytes);
        }
        let address = given?;
        self.core.holds_now(address, bytes, owner);
        if self.core.settings.checks.is_some() {
            crate::report::allocated(address, crate::host::caller());
        }
        if owner.is_of_both_sides() {
            // The host writes there without a call, also while kernels run.
            let machine = &self.core.machine;
            machine.host_pointer(address);
            (0..bytes).step_by(PART).try_for_each(|at| {
                let len = (bytes - at).min(PART as u64) as usize;
                machine.write(address + at, &ZEROS[..len])
            })?;
        }
        Ok(address)
    }

    pub(crate) fn new_stream(&self, kind: Kind) -> Result<Arc<Stream>, Status> {
        let stream = Arc::new(Stream::new(&self.core, kind)?);
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&stream));
        Ok(stream)
    }

    /// The stream that needs no handle.
    pub(crate) fn null_stream(&self) -> Result<Arc<Stream>, Status> {
        let mut null = lock(&self.null);
        if let Some(stream) = &*null {
            return Ok(stream.clone());
        }
        let stream = self.new_stream(Kind::Null)?;
        Ok(null.insert(stream).clone())
    }

    /// The default stream of this thread.
    fn thread_stream(&self) -> Result<Arc<Stream>, Status> {
        let mut streams = lock(&self.thread_streams);
        let thread = std::thread::current().id();
        if let Some(stream) = streams.get(&thread) {
            return Ok(stream.clone());
        }
        let stream = self.new_stream(Kind::Blocking)?;
        streams.insert(thread, stream.clone());
        Ok(stream)
    }

    /// A stream by its handle; 0 and 1 are the null stream, 2 is this thread's own.
    pub(crate) fn stream(&self, handle: Handle) -> Result<Arc<Stream>, Status> {
        match handle.0 {
            0 if OWN_STREAM.get() => return self.thread_stream(),
            0 | 1 => return self.null_stream(),
            2 => return self.thread_stream(),
            _ => {}
        }
        let stream = self.known.find(handle)?;
        if Arc::ptr_eq(&stream.core, &self.core) {
            Ok(stream)
        } else {
            Err(Status::InvalidHandle)
        }
    }

    /// As [`Context::stream`], and what is enqueued there next comes after what it must wait for: the null stream and
    /// streams that block wait for each other.
    pub(crate) fn ordered(&self, handle: Handle) -> Result<Arc<Stream>, Status> {
        let stream = self.stream(handle)?;
        match stream.kind {
            Kind::Independent => {}
            Kind::Blocking => {
                let null = lock(&self.null).clone();
                null.iter().try_for_each(|null| stream.follow(null))?;
            }
            Kind::Null => {
                let blocking = self.all_streams();
                let mut blocking = blocking.iter().filter(|other| other.kind == Kind::Blocking);
                blocking.try_for_each(|other| stream.follow(other))?;
            }
        }
        Ok(stream)
    }

    fn all_streams(&self) -> Vec<Arc<Stream>> {
        lock(&self.streams)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Waits for all work, also where the context has failed.
    pub(crate) fn synchronize(&self) -> Result<(), Status> {
        let streams = self.all_streams();
        streams.iter().for_each(|stream| stream.drain());
        self.core.show();
        self.core.well()
    }

    /// Whether nothing is under way.
    pub(crate) fn is_done(&self) -> bool {
        let streams = self.all_streams();
        streams
            .iter()
            .all(|stream| stream.is_done().unwrap_or(false))
    }

    /// Shows what kernels have printed, once they are done or if they are.
    pub(crate) fn tell(&self) {
        self.core.show();
    }
}

thread_local! {
    /// Whether the default stream is this thread's own, in the call that is being made.
    static OWN_STREAM: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call in which the default stream is this thread's own.
pub(crate) fn with_own_stream<T>(f: impl FnOnce() -> T) -> T {
    OWN_STREAM.set(true);
    let result = f();
    OWN_STREAM.set(false);
    result
}
