//! Contexts: a card's memory and streams for one program, and the error that stays.

use crate::{
    driver::{Card, Driver, driver},
    settings::Settings,
    status::Status,
    stream::{Kind, Stream},
    table::{Handle, lock},
};
use rustc_hash::FxHashMap;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, Weak, atomic::Ordering::Relaxed},
    thread::ThreadId,
};
use warpsmith_vgpu::{self as vgpu, Machine, check::Checks};

/// What a context's objects share with it.
pub(crate) struct Core {
    pub(crate) settings: &'static Settings,
    pub(crate) card: &'static Card,
    pub(crate) machine: Arc<Machine>,
    sticky: OnceLock<Status>,
}

/// What becomes of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Runs,
    Faults,
}

impl Core {
    /// Keeps the first error that makes the context unusable.
    pub(crate) fn fail(&self, status: Status) {
        let _later_ones_are_consequences = self.sticky.set(status);
    }

    /// Keeps why work of a stream failed, and tells of the first.
    pub(crate) fn fault(&self, error: &vgpu::Error) {
        if self.sticky.set(error.into()).is_ok() {
            crate::report::failed(error);
        }
    }

    /// Finds what was not given back, where that is looked for. An interpreter gives nothing back when it ends: there it
    /// must have been asked for by name. What has failed can give nothing back.
    pub(crate) fn leaks(&self) {
        if self.well().is_err() {
            return;
        }
        let by_name = |checks: &Checks| *checks != Checks::default();
        let wanted = self.settings.checks.as_ref();
        if wanted.is_some_and(|checks| by_name(checks) || !crate::abi::is_interpreter()) {
            self.machine.check_leaks();
        }
    }

    /// Shows what kernels have printed.
    pub(crate) fn show(&self) {
        crate::report::printed(&self.machine.take_printed());
    }

    /// The error that stays, if there is one.
    pub(crate) fn well(&self) -> Result<(), Status> {
        let lost = self.card.lost.get().or(self.sticky.get());
        lost.map_or(Ok(()), |status| Err(*status))
    }

    /// Counts `count` launches that are about to be enqueued.
    pub(crate) fn launches(&self, count: u64) -> Result<Fate, Status> {
        let first = self.card.launches.fetch_add(count, Relaxed) + 1;
        let among = |at: Option<u64>| at.is_some_and(|at| (first..first + count).contains(&at));
        let faults = &self.settings.faults;
        if among(faults.lose) {
            let _may_be_lost_already = self.card.lost.set(Status::Unknown);
            return Err(Status::Unknown);
        }
        if among(faults.refuse_launch) {
            return Err(Status::LaunchOutOfResources);
        }
        Ok(if among(faults.fail_launch) {
            Fate::Faults
        } else {
            Fate::Runs
        })
    }
}

/// Whose a block of memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Program,
    /// The program's, from the pool.
    Pool,
    /// The program's, which the host uses as its own and copies do not wait for.
    Pinned,
    /// The program's, which both sides use.
    Managed,
    /// Of a backing that is mapped there.
    Mapped,
    Module,
    /// A module's, which both sides use.
    Variable,
}

impl Owner {
    /// Whether the host uses it as its own.
    pub(crate) fn is_of_both_sides(self) -> bool {
        self == Owner::Pinned || self.is_managed()
    }

    pub(crate) fn is_managed(self) -> bool {
        matches!(self, Owner::Managed | Owner::Variable)
    }

    /// Whether it was allocated as a block of its own.
    fn is_own_block(self) -> bool {
        !matches!(self, Owner::Module | Owner::Variable | Owner::Mapped)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) bytes: u64,
    pub(crate) owner: Owner,
}

/// What fresh memory of the host holds, a part at a time.
const PART: usize = 1 << 16;
static ZEROS: [u8; PART] = [0; PART];

/// A context.
pub(crate) struct Context {
    pub(crate) core: Arc<Core>,
    blocks: Mutex<BTreeMap<u64, Block>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    null: Mutex<Option<Arc<Stream>>>,
    /// The default streams of threads that have their own.
    thread_streams: Mutex<FxHashMap<ThreadId, Arc<Stream>>>,
}

impl Context {
    pub(crate) fn new(driver: &'static Driver, card: &'static Card) -> Result<Context, Status> {
        if let Some(lost) = card.lost.get() {
            return Err(*lost);
        }
        Ok(Context {
            core: Arc::new(Core {
                settings: &driver.settings,
                card,
                machine: card.machine(&driver.settings)?,
                sticky: OnceLock::new(),
            }),
            blocks: Mutex::default(),
            streams: Mutex::default(),
            null: Mutex::default(),
            thread_streams: Mutex::default(),
        })
    }

    /// Ends it: waits for its work, gives its memory back, forgets its objects.
    pub(crate) fn destroy(&self, driver: &Driver) {
        let _errors_go_with_the_context = self.synchronize();
        driver.forget(&self.core);
        drop(lock(&self.null).take());
        drop(lock(&self.thread_streams).drain());
        self.core.leaks();
        let blocks = std::mem::take(&mut *lock(&self.blocks));
        for (address, block) in blocks {
            if block.owner.is_own_block() {
                // It was allocated there and not freed.
                drop(self.core.machine.free(address));
            }
        }
    }

    pub(crate) fn alloc(&self, bytes: u64, owner: Owner) -> Result<u64, Status> {
        if bytes == 0 {
            return Err(Status::InvalidValue);
        }
        self.core.card.allocates(self.core.settings)?;
        let mut given = self.core.machine.alloc(bytes);
        if owner == Owner::Pool && matches!(given, Err(vgpu::Error::OutOfMemory { .. })) {
            // What is freed earlier in the order of the streams may be used.
            self.synchronize()?;
            given = self.core.machine.alloc(bytes);
        }
        let address = given?;
        self.holds_now(address, bytes, owner);
        if self.core.settings.checks.is_some() {
            crate::report::allocated(address, crate::abi::caller());
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

    /// Counts a block as memory that copies may touch.
    pub(crate) fn holds_now(&self, address: u64, bytes: u64, owner: Owner) {
        lock(&self.blocks).insert(address, Block { bytes, owner });
    }

    /// No longer counts it.
    pub(crate) fn holds_no_more(&self, address: u64) {
        lock(&self.blocks).remove(&address);
    }

    /// Takes a block of the program out of the list, to be freed.
    pub(crate) fn release(&self, address: u64) -> Result<(), Status> {
        let mut blocks = lock(&self.blocks);
        match blocks.get(&address) {
            Some(block) if block.owner.is_own_block() => {
                blocks.remove(&address);
                Ok(())
            }
            Some(_) | None => Err(Status::InvalidValue),
        }
    }

    /// The block that `bytes` from `address` on lie in.
    pub(crate) fn block(&self, address: u64, bytes: u64) -> Result<(u64, Block), Status> {
        let blocks = lock(&self.blocks);
        let (start, block) = blocks
            .range(..=address)
            .next_back()
            .ok_or(Status::InvalidValue)?;
        let inside = address
            .checked_add(bytes)
            .is_some_and(|end| end <= start + block.bytes && address < start + block.bytes);
        if inside {
            Ok((*start, *block))
        } else {
            Err(Status::InvalidValue)
        }
    }

    /// Bytes that the pool has given out.
    pub(crate) fn pooled(&self) -> u64 {
        let blocks = lock(&self.blocks);
        let pooled = blocks.values().filter(|block| block.owner == Owner::Pool);
        pooled.map(|block| block.bytes).sum()
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
        let stream = driver()?.streams.find(handle)?;
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
    /// The contexts of this thread, the current one last.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
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

/// Changes this thread's contexts.
pub(crate) fn with_stack<T>(f: impl FnOnce(&mut Vec<Handle>) -> T) -> T {
    STACK.with_borrow_mut(f)
}

/// The current context, whatever state it is in.
pub(crate) fn current() -> Result<Arc<Context>, Status> {
    let driver = driver()?;
    let top = with_stack(|stack| stack.last().copied()).unwrap_or(Handle::NULL);
    driver
        .contexts
        .find(top)
        .map_err(|_| Status::InvalidContext)
}

/// The current context, if it is well.
pub(crate) fn usable() -> Result<Arc<Context>, Status> {
    let context = current()?;
    context.core.well()?;
    Ok(context)
}
