//! The driver as a whole: its settings, its cards, and the objects that handles stand for.

use crate::{
    context::{Context, Core},
    event::Event,
    graph::{Exec, Graph, Node, UserObject},
    library::{Library, LibraryKernel},
    link::Link,
    module::{Function, Module},
    reserve::{Backing, Pool, Span},
    settings::{PREFIX, Settings},
    status::Status,
    stream::Stream,
    table::{Handle, Table, lock},
};
use std::sync::{
    Arc, Mutex, OnceLock, Weak,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use warpsmith_vgpu::{Config, Machine, check::Observer};

/// All there is once `cuInit` has succeeded.
pub(crate) struct Driver {
    /// The process that initialised it.
    process: u32,
    pub(crate) settings: Settings,
    pub(crate) cards: Vec<Card>,
    pub(crate) contexts: Table<Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) libraries: Table<Library>,
    pub(crate) kernels: Table<LibraryKernel>,
    pub(crate) pools: Table<Pool>,
    pub(crate) spans: Table<Span>,
    pub(crate) backings: Table<Backing>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) nodes: Table<Node>,
    pub(crate) user_objects: Table<UserObject>,
    pub(crate) execs: Table<Exec>,
    pub(crate) links: Table<Link>,
}

static DRIVER: OnceLock<Result<Driver, Status>> = OnceLock::new();
/// What the program set by a call.
static WORDS: Mutex<String> = Mutex::new(String::new());

/// Sets `NAME=value` pairs before the driver is initialised.
pub(crate) fn configure(words: &str) -> Result<(), Status> {
    if DRIVER.get().is_some() {
        return Err(Status::InvalidValue);
    }
    let mut all = lock(&WORDS);
    all.push(' ');
    all.push_str(words);
    Settings::read(|name| set(&all, name)).map_err(|_| Status::InvalidValue)?;
    Ok(())
}

fn set(words: &str, name: &str) -> Option<String> {
    let mut pairs = words
        .split_whitespace()
        .rev()
        .filter_map(|word| word.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// Initialises once; later calls return what the first did.
pub(crate) fn init() -> Result<(), Status> {
    match DRIVER.get_or_init(start) {
        Ok(_) => driver().map(drop),
        Err(status) => Err(*status),
    }
}

/// A setting of the environment.
fn variable(name: &str) -> Option<String> {
    std::env::var(format!("{PREFIX}{name}")).ok()
}

/// What the program and its environment ask for.
fn wanted() -> Result<Settings, Status> {
    let words = lock(&WORDS).clone();
    let lookup = |name: &str| set(&words, name).or_else(|| variable(name));
    Settings::read(lookup).map_err(|_| Status::InvalidValue)
}

/// The version of CUDA that the driver reports, which is known before it is initialised.
pub(crate) fn version() -> Result<i32, Status> {
    match driver() {
        Ok(driver) => Ok(driver.settings.driver),
        Err(_not_initialised) => Ok(wanted()?.driver),
    }
}

fn start() -> Result<Driver, Status> {
    let settings = wanted()?;
    if settings.faults.init != 0 {
        return Err(Status::of_code(settings.faults.init).unwrap_or(Status::Unknown));
    }
    if settings.devices == 0 {
        return Err(Status::NoDevice);
    }
    crate::report::begin(&settings);
    crate::abi::at_exit(ends);
    Ok(Driver {
        process: std::process::id(),
        cards: (0..settings.devices).map(Card::new).collect(),
        settings,
        contexts: Table::default(),
        streams: Table::default(),
        events: Table::default(),
        modules: Table::default(),
        functions: Table::default(),
        libraries: Table::default(),
        kernels: Table::default(),
        pools: Table::default(),
        spans: Table::default(),
        backings: Table::default(),
        graphs: Table::default(),
        nodes: Table::default(),
        user_objects: Table::default(),
        execs: Table::default(),
        links: Table::default(),
    })
}

/// The process ends.
extern "C" fn ends() {
    if let Ok(driver) = driver() {
        // A panic must not get into the code that ends a process.
        let _lost = std::panic::catch_unwind(|| driver.ends());
    }
}

/// The driver, if it is initialised.
pub(crate) fn driver() -> Result<&'static Driver, Status> {
    match DRIVER.get() {
        // A process that was forked off has none of the threads.
        Some(Ok(driver)) if driver.process == std::process::id() => Ok(driver),
        Some(_) | None => Err(Status::NotInitialized),
    }
}

impl Driver {
    /// The context whose memory an address is in.
    pub(crate) fn holder(&self, address: u64) -> Option<Arc<Context>> {
        let mut all = self.contexts.all().into_iter();
        all.find(|context| context.block(address, 0).is_ok())
    }

    pub(crate) fn card(&self, index: i32) -> Result<&Card, Status> {
        let index = usize::try_from(index).map_err(|_| Status::InvalidDevice)?;
        self.cards.get(index).ok_or(Status::InvalidDevice)
    }

    /// Forgets all objects of a context.
    pub(crate) fn forget(&self, core: &Arc<Core>) {
        let of_it = |other: &Arc<Core>| Arc::ptr_eq(other, core);
        self.execs.forget(|exec| of_it(&exec.core));
        self.graphs.forget(|graph| of_it(&graph.core));
        self.nodes.forget(|node| of_it(&node.core));
        self.libraries.each(|library| library.forget(core));
        self.events.forget(|event| of_it(&event.core));
        self.streams.forget(|stream| of_it(&stream.core));
        self.functions
            .forget(|function| of_it(&function.module.core));
        self.modules.forget(|module| of_it(&module.core));
    }
}

impl Driver {
    /// What is to be told when the process ends: of contexts that were not destroyed, what was printed and what leaked.
    pub(crate) fn ends(&self) {
        for context in self.contexts.all() {
            context.tell();
            if context.is_done() {
                context.core.leaks();
            }
        }
    }
}

/// One card.
pub(crate) struct Card {
    pub(crate) index: usize,
    /// There while a context is.
    machine: Mutex<Weak<Machine>>,
    pub(crate) primary: Mutex<Primary>,
    /// Set when the card is lost.
    pub(crate) lost: OnceLock<Status>,
    pub(crate) launches: AtomicU64,
    allocations: AtomicU64,
}

/// The primary context and how often it was retained.
#[derive(Default)]
pub(crate) struct Primary {
    pub(crate) context: Option<Handle>,
    pub(crate) users: usize,
    pub(crate) flags: u32,
}

impl Card {
    fn new(index: usize) -> Card {
        Card {
            index,
            machine: Mutex::default(),
            primary: Mutex::default(),
            lost: OnceLock::new(),
            launches: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
        }
    }

    /// The machine behind the card, shared by its contexts.
    pub(crate) fn machine(&self, settings: &Settings) -> Result<Arc<Machine>, Status> {
        let mut machine = lock(&self.machine);
        if let Some(machine) = machine.upgrade() {
            return Ok(machine);
        }
        let fresh = Arc::new(Machine::new(Config {
            name: settings.name.clone(),
            target: settings.target,
            sms: settings.sms,
            memory: settings.memory_of(self.index),
            workers: settings.workers,
            shared_per_block: crate::card::shared_limit(settings),
            max_ptx: settings.ptx_limit,
            poison: settings.poison,
            unified: true,
            checks: settings.checks.clone(),
            seed: settings.seed,
            budget: settings.budget,
            observer: settings
                .report
                .is_some()
                .then(|| Observer::new(crate::report::found)),
            ..Config::default()
        })?);
        *machine = Arc::downgrade(&fresh);
        Ok(fresh)
    }

    /// Counts an allocation.
    pub(crate) fn allocates(&self, settings: &Settings) -> Result<(), Status> {
        let number = self.allocations.fetch_add(1, Relaxed) + 1;
        match settings.faults.fail_alloc {
            Some(first) if number >= first => Err(Status::OutOfMemory),
            Some(_) | None => Ok(()),
        }
    }
}
