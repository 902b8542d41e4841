//! Findings collected: one for each pair of places, counted.

use super::{Checks, Finding, Kind, Observer, Place, Verdict};
use rustc_hash::FxHashMap;
use warpsmith_ptx::ir::{Name, Span};

/// Bytes from the nearest end of a block to an address: 0 inside.
pub(crate) fn distance(address: u64, start: u64, bytes: u64) -> i64 {
    let capped = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    match address.checked_sub(start) {
        None => -capped(start - address),
        Some(past) => match past.checked_sub(bytes) {
            None => 0,
            Some(behind) => capped(behind).saturating_add(1),
        },
    }
}

type Key = (Kind, Name, Spot, Option<Spot>);

/// A place that can be a key: a line and a column, of PTX or of a Rust file.
pub(super) type Spot = (u32, u32, &'static str);

pub(super) fn spot(span: Span) -> Spot {
    match span {
        Span::None => (0, 0, ""),
        Span::Ptx { line, column } => (line, column, ""),
        Span::Rust(at) => (at.line(), at.column(), at.file()),
    }
}

/// What was found so far, in the order of its first sight.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    checks: Checks,
    races: bool,
    copies: bool,
    observer: Option<Observer>,
    all: Vec<Finding>,
    index: FxHashMap<Key, usize>,
}

/// A new finding, without what follows from its kind.
pub(crate) struct New {
    pub(crate) kind: Kind,
    pub(crate) place: Place,
    pub(crate) other: Option<Place>,
    pub(crate) address: Option<u64>,
    pub(crate) allocation: Option<super::Allocation>,
    pub(crate) message: String,
}

impl Findings {
    pub(crate) fn new(checks: Checks, observer: Option<Observer>) -> Findings {
        let races = checks.any(&[Kind::RaceShared, Kind::RaceGlobal, Kind::BenignRace]);
        Findings {
            races,
            copies: races || checks.any(&[Kind::AsyncEarly]),
            checks,
            observer,
            ..Findings::default()
        }
    }

    /// Whether races are looked for.
    #[inline(always)]
    pub(crate) fn wants_races(&self) -> bool {
        self.races
    }

    /// Whether it matters that asynchronous copies take their time.
    #[inline(always)]
    pub(crate) fn wants_copies(&self) -> bool {
        self.copies
    }

    /// Whether a kind is wanted.
    pub(crate) fn wants(&self, kind: Kind) -> bool {
        self.checks.kinds.contains(&kind)
    }

    /// Adds one, or counts it where its places were seen before.
    pub(crate) fn add(&mut self, new: New) {
        let New {
            kind,
            place,
            other,
            address,
            allocation,
            message,
        } = new;
        if !self.wants(kind) {
            return;
        }
        let key = (
            kind,
            place.kernel.clone(),
            spot(place.span),
            other.as_ref().map(|other| spot(other.span)),
        );
        if let Some(at) = self.index.get(&key) {
            self.all[*at].count += 1;
            return;
        }
        self.index.insert(key, self.all.len());
        self.all.push(Finding {
            kind,
            place,
            other,
            address,
            allocation,
            count: 1,
            message,
            help: help(kind),
            verdict: Verdict::Bug,
        });
        if let (Some(observer), Some(finding)) = (&self.observer, self.all.last()) {
            observer.tell(finding);
        }
    }

    /// Takes them.
    pub(crate) fn take(&mut self) -> Vec<Finding> {
        self.index.clear();
        std::mem::take(&mut self.all)
    }
}

fn help(kind: Kind) -> &'static str {
    match kind {
        Kind::OobGlobal | Kind::OobShared | Kind::OobLocal | Kind::OobConst | Kind::OobParam => {
            "compare the index with the size before the access"
        }
        Kind::Misaligned => "vector accesses need addresses that are multiples of their size",
        Kind::UninitGlobal | Kind::UninitShared | Kind::UninitLocal => {
            "write the memory before it is read, or leave out the read"
        }
        Kind::UninitRegister => "give the register a value on every path",
        Kind::RaceShared => {
            "put a barrier (bar.sync, or bar.warp.sync inside of a warp) between the two"
        }
        Kind::RaceGlobal => {
            "CTAs of a launch are not ordered: use atomics with fences, or two launches"
        }
        Kind::BarrierDivergence => "move the barrier to where all lanes of the warp come",
        Kind::BarrierCount => "the count is a multiple of 32, and as many threads must come",
        Kind::Deadlock => {
            "each waits for threads that wait elsewhere, have left, or have no room to begin"
        }
        Kind::ShflInactive => {
            "the lane that is read from must run the same shuffle, or what it gives must be dropped"
        }
        Kind::Mask => "a thread's own bit belongs into its member mask",
        Kind::AsyncEarly => {
            "wait with cp.async.wait_group and a barrier before the data are read, written to again, or their source is"
        }
        Kind::ProxyFence => {
            "put fence.proxy.async behind the stores, before the barrier that the one who starts the copy or product waits at"
        }
        Kind::WgmmaEarly => {
            "put wgmma.wait_group between the product and what has its registers; other products may add to them"
        }
        Kind::Tcgen05Early => {
            "commit products to an mbarrier and wait for its phase; put tcgen05.wait::st behind stores"
        }
        Kind::UseAfterFree => "the memory was given back before this launch",
        Kind::UnwrittenOutput => {
            "every element needs a value: is the last part covered, and was what it was made of written?"
        }
        Kind::BadSpace => {
            "convert the address with cvta, name the space it belongs to, and keep it in its CTA or thread"
        }
        Kind::SharedLimit => "ask for more dynamic shared memory at the launch",
        Kind::BenignRace => "the value is the same, the order is not: use one thread, or an atomic",
        Kind::Leak => "give the memory back",
    }
}
