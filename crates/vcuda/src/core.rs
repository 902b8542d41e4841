//! A card, and what the objects of a context share: its machine, its memory, the error that stays.

use crate::{
    pool::Pool,
    settings::Settings,
    status::Status,
    table::{Handle, lock},
};
use rustc_hash::FxHashMap;
use std::{
    collections::{BTreeMap, hash_map::Entry},
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use warpsmith_vgpu::{
    self as vgpu, Config, Machine,
    check::{Checks, Observer},
};

/// What a context's objects share with it.
pub(crate) struct Core {
    pub(crate) settings: &'static Settings,
    pub(crate) card: &'static Card,
    pub(crate) machine: Arc<Machine>,
    sticky: OnceLock<Status>,
    /// Memory that copies may touch.
    blocks: Mutex<Blocks>,
}

/// Blocks by where they start, and how much of them is of each pool.
#[derive(Debug, Default)]
struct Blocks {
    by_start: BTreeMap<u64, Block>,
    pooled: FxHashMap<Handle, u64>,
}

impl Blocks {
    fn insert(&mut self, start: u64, block: Block) {
        if let Owner::Pool(pool) = block.owner {
            *self.pooled.entry(pool).or_default() += block.bytes;
        }
        self.by_start.insert(start, block);
    }

    fn remove(&mut self, start: u64) {
        let removed = self.by_start.remove(&start);
        if let Some((block, Owner::Pool(pool))) = removed.map(|block| (block, block.owner))
            && let Entry::Occupied(mut given) = self.pooled.entry(pool)
        {
            *given.get_mut() -= block.bytes;
            if *given.get() == 0 {
                given.remove();
            }
        }
    }
}

/// Which memory was to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaks {
    /// That of the context: there are others on its card.
    Own,
    OfCard,
}

/// What becomes of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Runs,
    Faults,
}

impl Core {
    pub(crate) fn new(settings: &'static Settings, card: &'static Card) -> Result<Core, Status> {
        if let Some(lost) = card.lost.get() {
            return Err(*lost);
        }
        Ok(Core {
            settings,
            card,
            machine: card.machine(settings)?,
            sticky: OnceLock::new(),
            blocks: Mutex::default(),
        })
    }

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
    pub(crate) fn leaks(&self, which: Leaks) {
        if self.well().is_err() {
            return;
        }
        let by_name = |checks: &Checks| *checks != Checks::default();
        let wanted = self.settings.checks.as_ref();
        if wanted.is_some_and(|checks| by_name(checks) || !crate::host::is_interpreter()) {
            self.machine.check_leaks(|address| match which {
                Leaks::Own => lock(&self.blocks).by_start.contains_key(&address),
                Leaks::OfCard => true,
            });
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

    /// Counts a block as memory that copies may touch.
    pub(crate) fn holds_now(&self, address: u64, bytes: u64, owner: Owner) {
        lock(&self.blocks).insert(address, Block { bytes, owner });
    }

    /// No longer counts it.
    pub(crate) fn holds_no_more(&self, address: u64) {
        lock(&self.blocks).remove(address);
    }

    /// Takes a block of the program out of the list, to be freed.
    pub(crate) fn release(&self, address: u64) -> Result<(), Status> {
        let mut blocks = lock(&self.blocks);
        match blocks.by_start.get(&address) {
            Some(block) if block.owner.is_own_block() => {
                blocks.remove(address);
                Ok(())
            }
            Some(_) | None => Err(Status::InvalidValue),
        }
    }

    /// The block that `bytes` from `address` on lie in.
    pub(crate) fn block(&self, address: u64, bytes: u64) -> Result<(u64, Block), Status> {
        let blocks = &lock(&self.blocks).by_start;
        let (start, block) = blocks
            .range(..=address)
            .next_back()
            .ok_or(Status::InvalidValue)?;
        let mut whole = *block;
        let end = address.checked_add(bytes).ok_or(Status::InvalidValue)?;
        if block.owner == Owner::Mapped && address < start + block.bytes {
            // What is mapped side by side is one.
            let next = |at: &u64| blocks.get(at).filter(|next| next.owner == Owner::Mapped);
            while let Some(next) =
                next(&(start + whole.bytes)).filter(|_| end > start + whole.bytes)
            {
                whole.bytes += next.bytes;
            }
        }
        if end <= start + whole.bytes && address < start + whole.bytes {
            Ok((*start, whole))
        } else {
            Err(Status::InvalidValue)
        }
    }

    /// Bytes that a pool has given out.
    pub(crate) fn pooled(&self, pool: Handle) -> u64 {
        lock(&self.blocks).pooled.get(&pool).copied().unwrap_or(0)
    }

    /// Gives back what the program allocated and did not free.
    pub(crate) fn free_all(&self) {
        let blocks = std::mem::take(&mut *lock(&self.blocks));
        for (address, block) in blocks.by_start {
            if block.owner.is_own_block() {
                // It was allocated there and not freed.
                drop(self.machine.free(address));
            }
        }
    }
}

/// Whose a block of memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Program,
    /// The program's, from the pool with this handle.
    Pool(Handle),
    /// The program's, which the host uses as its own and copies do not wait for.
    Pinned,
    /// The program's, which both sides use.
    Managed,
    /// Of an array, whose address the program is not told.
    Array,
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

/// One card.
pub(crate) struct Card {
    pub(crate) index: usize,
    /// The pool that it has by itself.
    pub(crate) pool: Pool,
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
    pub(crate) fn new(index: usize) -> Card {
        Card {
            index,
            pool: Pool::new(index),
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
