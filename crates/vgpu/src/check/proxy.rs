//! The asynchronous proxy: bulk copies and products of warp groups, which read and write shared memory by another way than
//! threads do (PTX ISA 8.9, 9.7.13.4).
//!
//! - What a thread stores to shared memory is seen by them only behind a `fence.proxy.async`: of the thread, or of one that
//!   knows of the store. Of each 16 bytes the last store that no such fence came behind is kept.
//! - What a copy brings is there once its `mbarrier`'s phase ends (`copies.rs`); what a copy or a product reads stays lent
//!   until its group is waited for.

use super::{
    Access, Kind, Place,
    access::{AccessInfo, MOST, Stored},
    checker::{At, Checker, place_in},
    clock::{Moment, Order},
    copies::{Lent as Source, Pending},
    look::Stores,
    memory::state,
    report::New,
    states::slice,
};
use crate::{check::Request, ids::SpanId};
use rustc_hash::FxHashMap;

/// Bytes that are looked at as one.
const SECTOR: u64 = 16;

/// A store that nothing has made known to the asynchronous proxy.
struct Store {
    thread: u32,
    moment: Moment,
    span: SpanId,
}

/// Who reads what is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reader {
    /// A bulk copy of a thread.
    Copy,
    /// A product of a warp.
    Product,
    /// A product into tensor memory, or a copy to it, of a thread.
    Tensor,
}

/// Shared memory that is still read.
struct Lent {
    from: u64,
    to: u64,
    reader: Reader,
    thread: u32,
    group: Option<u32>,
    /// The objects that a reader into tensor memory arrives at.
    objects: Vec<u64>,
    span: SpanId,
}

/// Registers of a product that are its own until its group is waited for.
struct Sums {
    warp: u32,
    regs: Vec<u32>,
    group: Option<u32>,
    span: SpanId,
}

/// What the asynchronous proxy knows of a CTA's shared memory.
#[derive(Default)]
pub(super) struct Proxy {
    stores: FxHashMap<u64, Store>,
    lent: Vec<Lent>,
    held: Vec<Sums>,
    /// Groups that each thread has committed.
    groups: FxHashMap<(Reader, u32), u32>,
    /// Bytes that each `mbarrier` expects in its phase, and those that came.
    pub(super) transactions: FxHashMap<u64, [u32; 2]>,
}

impl Proxy {
    pub(super) fn clear(&mut self) {
        self.stores.clear();
        self.lent.clear();
        self.held.clear();
        self.groups.clear();
        self.transactions.clear();
    }
}

impl Proxy {
    /// What a thread reads into tensor memory is read once an object's phase ends.
    pub(super) fn commit_to(&mut self, thread: u32, object: u64) {
        let mine = |lent: &&mut Lent| lent.reader == Reader::Tensor && lent.thread == thread;
        let lent = self.lent.iter_mut().filter(mine);
        lent.for_each(|lent| lent.objects.push(object));
    }

    /// A phase of an object has ended.
    pub(super) fn returns(&mut self, object: u64) {
        self.lent.retain(|lent| !lent.objects.contains(&object));
    }
}

/// A store of which nothing more is known.
struct Whole;
impl Stored for Whole {
    fn undefined(&self, _: usize) -> Option<[u32; 32]> {
        None
    }

    fn same(&self) -> u32 {
        0
    }

    fn lent(&self) -> Option<Source> {
        None
    }
}

/// The sectors of a range.
fn sectors(from: u64, len: u64) -> impl Iterator<Item = u64> {
    from / SECTOR..from.saturating_add(len).div_ceil(SECTOR)
}

/// The thread that a group is of: of products it is the warp.
fn owner(reader: Reader, warp: u32, lane: u32) -> u32 {
    match reader {
        Reader::Copy | Reader::Tensor => warp * 32 + lane,
        Reader::Product => warp * 32,
    }
}

impl Checker {
    /// An access to all of a range, by what an access of the program says; whether it may be made.
    pub(crate) fn stretch(
        &mut self,
        at: &At<'_>,
        number: u32,
        lane: u32,
        (from, len): (u64, u64),
    ) -> bool {
        let unit = SECTOR.min(1 << (from | len | SECTOR).trailing_zeros());
        let known = &at.subject.accesses[number as usize];
        let info = AccessInfo {
            element: unit as u32,
            // Reductions are atomic for each element.
            order: Order {
                strong: known.access == Access::Atomic,
                ..known.order
            },
            ..known.clone()
        };
        let request = Request {
            info: &info,
            number,
            defined: true,
        };
        let stores = Stores {
            gaps: [0; MOST],
            stored: &Whole,
        };
        let mut units = (from..from.saturating_add(len)).step_by(unit as usize);
        units.all(|address| self.lane(at, &request, (lane, address), &stores).is_some())
    }

    /// A thread stores to shared memory.
    pub(crate) fn wrote(&mut self, at: &At<'_>, lane: u32, (inside, len): (u64, u64)) {
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        let thread = at.warp * 32 + lane;
        let moment = cta.warps[at.warp as usize].moment();
        for sector in sectors(inside, len) {
            let store = Store {
                thread,
                moment: moment.clone(),
                span: at.span,
            };
            cta.proxy.stores.insert(sector, store);
        }
        let lent = |lent: &&Lent| lent.from < inside + len && inside < lent.to;
        let Some(lent) = cta.proxy.lent.iter().find(lent) else {
            return;
        };
        let other = Place {
            access: Some(Access::Read),
            ..place_in(at, *index, lent.thread, lent.span)
        };
        let what = match lent.reader {
            Reader::Copy => "the bulk copy that reads this address was not waited for",
            Reader::Product | Reader::Tensor => {
                "the product that reads this address was not waited for"
            }
        };
        self.findings.add(New {
            kind: Kind::AsyncEarly,
            place: at.place(lane, Some(Access::Write)),
            other: Some(other),
            address: Some(inside),
            allocation: at.subject.shared.nearest(inside),
            message: what.to_owned(),
        });
    }

    /// `fence.proxy.async`: the asynchronous proxy sees what these threads stored, and what they know of.
    pub(crate) fn proxy_fence(&mut self, at: &At<'_>) {
        let Some(cta) = self.cta() else {
            return;
        };
        let clock = &cta.warps[at.warp as usize];
        cta.proxy.stores.retain(|_, store| {
            let own = store.thread / 32 == at.warp;
            let mine = own && at.mask >> (store.thread % 32) & 1 != 0;
            let lane = at.mask.trailing_zeros() & 31;
            let knows = if own {
                clock.knows_lane(lane, store.thread % 32, &store.moment)
            } else {
                clock.knows(&store.moment)
            };
            !(mine || knows)
        });
    }

    /// The asynchronous proxy reads shared memory, for a thread.
    pub(crate) fn proxy_reads(&mut self, at: &At<'_>, lane: u32, (inside, len): (u64, u64)) {
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        if cta.proxy.stores.is_empty() {
            return;
        }
        let found = sectors(inside, len).find_map(|sector| {
            let store = cta.proxy.stores.get(&sector)?;
            Some((sector * SECTOR, store.thread, store.span))
        });
        let Some((address, thread, span)) = found else {
            return;
        };
        let other = Place {
            access: Some(Access::Write),
            ..place_in(at, *index, thread, span)
        };
        self.findings.add(New {
            kind: Kind::ProxyFence,
            place: at.place(lane, Some(Access::Read)),
            other: Some(other),
            address: Some(address),
            allocation: at.subject.shared.nearest(address),
            message: format!(
                "shared 0x{address:x} is read by the asynchronous proxy, and no fence.proxy.async came behind the store to it"
            ),
        });
    }

    /// Shared memory is lent to a reader until its group is waited for.
    pub(crate) fn lend(
        &mut self,
        at: &At<'_>,
        (reader, lane): (Reader, u32),
        (inside, len): (u64, u64),
    ) {
        if !self.findings.wants_copies() {
            return;
        }
        if let Some(cta) = self.cta() {
            cta.proxy.lent.push(Lent {
                from: inside,
                to: inside + len,
                reader,
                thread: owner(reader, at.warp, lane),
                group: None,
                objects: Vec::new(),
                span: at.span,
            });
        }
    }

    /// A group of copies or products ends.
    pub(crate) fn commit_group(&mut self, at: &At<'_>, reader: Reader) {
        let Some(cta) = self.cta() else {
            return;
        };
        let mut last = None;
        for lane in at.lanes() {
            let thread = owner(reader, at.warp, lane);
            if last.replace(thread) == Some(thread) {
                continue;
            }
            let group = cta.proxy.groups.entry((reader, thread)).or_default();
            for lent in &mut cta.proxy.lent {
                if lent.reader == reader && lent.thread == thread {
                    lent.group.get_or_insert(*group);
                }
            }
            if reader == Reader::Product {
                for sums in cta
                    .proxy
                    .held
                    .iter_mut()
                    .filter(|sums| sums.warp == at.warp)
                {
                    sums.group.get_or_insert(*group);
                }
            }
            *group += 1;
        }
    }

    /// All groups of a thread but the latest `left` are done.
    pub(crate) fn wait_groups(&mut self, at: &At<'_>, reader: Reader, left: u32) {
        let Some(cta) = self.cta() else {
            return;
        };
        for lane in at.lanes() {
            let thread = owner(reader, at.warp, lane);
            let groups = cta.proxy.groups.get(&(reader, thread));
            let groups = groups.copied().unwrap_or(0);
            let is_done = |group: Option<u32>| group.is_some_and(|group| group + left < groups);
            cta.proxy.lent.retain(|lent| {
                let mine = lent.reader == reader && lent.thread == thread;
                !(mine && is_done(lent.group))
            });
            if reader == Reader::Product {
                let stays = |sums: &Sums| sums.warp != at.warp || !is_done(sums.group);
                cta.proxy.held.retain(stays);
            }
        }
    }

    /// A product has registers for its own until its group is waited for.
    pub(crate) fn hold(&mut self, at: &At<'_>, regs: Vec<u32>) {
        if let Some(cta) = self.cta() {
            cta.proxy.held.push(Sums {
                warp: at.warp,
                regs,
                group: None,
                span: at.span,
            });
        }
    }

    /// A warp reads or writes registers.
    pub(crate) fn uses_held(&mut self, at: &At<'_>, regs: &[u32]) {
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        let lane = at.mask.trailing_zeros() & 31;
        let holds =
            |sums: &&Sums| sums.warp == at.warp && regs.iter().any(|reg| sums.regs.contains(reg));
        let Some(sums) = cta.proxy.held.iter().find(holds) else {
            return;
        };
        let other = place_in(at, *index, at.warp * 32 + lane, sums.span);
        self.findings.add(New {
            kind: Kind::WgmmaEarly,
            place: at.place(lane, None),
            other: Some(other),
            address: None,
            allocation: None,
            message: "a register is read or written that a product has until it was waited for"
                .to_owned(),
        });
    }

    /// A copy has written to shared memory, and what it wrote is there once the phase of an `mbarrier` ends.
    pub(crate) fn comes(
        &mut self,
        at: &At<'_>,
        (number, lane): (u32, u32),
        (inside, len): (u64, u64),
        object: u64,
    ) {
        let wants = self.findings.wants_copies();
        let Some(cta) = self.cta() else {
            return;
        };
        for sector in sectors(inside, len) {
            cta.proxy.stores.remove(&sector);
        }
        if !wants {
            return;
        }
        if let Some(states) = slice(&mut cta.shared, inside, len) {
            states.fill(state::PENDING);
            cta.pages.forget(inside, len);
        }
        cta.pending[at.warp as usize].push(Pending {
            lanes: 1 << lane,
            group: None,
            object: Some(object),
            together: Some((inside as u32, len as u32)),
            addresses: [inside as u32; 32],
            len: len as u32,
            lent: Source {
                addresses: [0; 32],
                bytes: [0; 32],
            },
            number,
            span: at.span,
            phase: cta.warps[at.warp as usize].phase(),
        });
    }

    /// Bytes that an `mbarrier` expects, or that came; none of either are left where its phase has ended.
    pub(crate) fn transacts(&mut self, object: u64, [expects, came]: [u32; 2], ended: bool) {
        let Some(cta) = self.cta() else {
            return;
        };
        let counts = cta.proxy.transactions.entry(object).or_default();
        counts[0] = counts[0].wrapping_add(expects);
        counts[1] = counts[1].wrapping_add(came);
        if ended {
            *counts = [0; 2];
        }
    }

    /// The bytes that an `mbarrier` of the CTA expects, and those that came.
    pub(crate) fn transactions(&self, object: u64) -> Option<[u32; 2]> {
        let (_, cta) = self.current.as_ref()?;
        cta.proxy.transactions.get(&object).copied()
    }
}
