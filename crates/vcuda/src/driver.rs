//! The driver as a whole: its settings, its cards, and the objects that handles stand for.

use crate::{
    context::{Context, Core},
    event::Event,
    graph::{Exec, Graph},
    module::{Function, Link, Module},
    settings::{PREFIX, Settings},
    status::Status,
    stream::Stream,
    table::{Handle, Table, lock},
};
use std::sync::{
    Arc, Mutex, OnceLock, Weak,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use warpsmith_vgpu::{Config, Machine};

/// All there is once `cuInit` has succeeded.
pub(crate) struct Driver {
    pub(crate) settings: Settings,
    pub(crate) cards: Vec<Card>,
    pub(crate) contexts: Table<Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) graphs: Table<Graph>,
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
        Ok(_) => Ok(()),
        Err(status) => Err(*status),
    }
}

/// What the program and its environment ask for.
fn wanted() -> Result<Settings, Status> {
    let words = lock(&WORDS).clone();
    let variable = |name: &str| std::env::var(format!("{PREFIX}{name}")).ok();
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
    Ok(Driver {
        cards: (0..settings.devices).map(Card::new).collect(),
        settings,
        contexts: Table::default(),
        streams: Table::default(),
        events: Table::default(),
        modules: Table::default(),
        functions: Table::default(),
        graphs: Table::default(),
        execs: Table::default(),
        links: Table::default(),
    })
}

/// The driver, if it is initialised.
pub(crate) fn driver() -> Result<&'static Driver, Status> {
    match DRIVER.get() {
        Some(Ok(driver)) => Ok(driver),
        Some(Err(_)) | None => Err(Status::NotInitialized),
    }
}

impl Driver {
    pub(crate) fn card(&self, index: i32) -> Result<&Card, Status> {
        let index = usize::try_from(index).map_err(|_| Status::InvalidDevice)?;
        self.cards.get(index).ok_or(Status::InvalidDevice)
    }

    /// Forgets all objects of a context.
    pub(crate) fn forget(&self, core: &Arc<Core>) {
        let of_it = |other: &Arc<Core>| Arc::ptr_eq(other, core);
        self.execs.forget(|exec| of_it(&exec.core));
        self.graphs.forget(|graph| of_it(&graph.core));
        self.events.forget(|event| of_it(&event.core));
        self.streams.forget(|stream| of_it(&stream.core));
        self.functions
            .forget(|function| of_it(&function.module.core));
        self.modules.forget(|module| of_it(&module.core));
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
