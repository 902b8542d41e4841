//! The checker: what it knows of a machine's memory, launches and CTAs.

use super::{
    Access, Checks, Finding, Observer, Place,
    cell::Cell,
    clock::{Before, Known, SyncPlace, WarpClock},
    cluster::Meeting,
    copies::{Bounds, Pending},
    history::History,
    holes::Holes,
    lost::Lost,
    memory::Global,
    order::LaunchOrder,
    pages::Pages,
    proxy::Proxy,
    report::{Findings, New},
    subject::Subject,
    tensor::Tensor,
    undefined::Origins,
};
use crate::{ids::SpanId, memory::Own, view::LaunchView};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use warpsmith_ptx::ir::Name;

/// Who runs: the program, the launch, the warp and its lanes.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) view: &'a LaunchView,
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    pub(crate) span: SpanId,
}

impl At<'_> {
    pub(super) fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..32).filter(move |lane| mask >> lane & 1 != 0)
    }

    pub(crate) fn place(&self, lane: u32, access: Option<Access>) -> Place {
        Place {
            kernel: self.subject.name.clone(),
            span: self.subject.span(self.span),
            cta: self.view.cta,
            thread: thread(self.view.block, self.warp * 32 + lane),
            access,
        }
    }
}

/// A thread's place in its CTA.
pub(super) fn thread(block: [u32; 3], index: u32) -> [u32; 3] {
    let [x, y, _] = block.map(|n| n.max(1));
    [index % x, index / x % y, index / x / y]
}

/// The place of a thread of a CTA, by their numbers.
pub(super) fn place_in(at: &At<'_>, cta: u32, index: u32, span: SpanId) -> Place {
    let [x, y, _] = at.view.grid.map(|n| n.max(1));
    Place {
        kernel: at.subject.name.clone(),
        span: at.subject.span(span),
        cta: [cta % x, cta / x % y, cta / x / y],
        thread: thread(at.view.block, index),
        access: None,
    }
}

/// The cell of an access of a warp, as long as the warp's phase is the same.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) phase: u32,
    pub(super) cell: Cell,
}

/// What is known of a CTA.
#[derive(Default)]
pub(super) struct Cta {
    pub(super) shared: Vec<u8>,
    /// What of it is known to be written.
    pub(super) pages: Pages,
    pub(super) local: Vec<u8>,
    pub(super) history: History,
    pub(super) warps: Vec<WarpClock>,
    /// By warp, access and memory.
    pub(super) marks: Vec<Mark>,
    /// What the threads that have come to each barrier know, and what they have fenced.
    pub(super) barriers: [[Known; 2]; 16],
    pub(super) pending: Vec<Vec<Pending>>,
    pub(super) groups: Vec<[u32; 32]>,
    /// Whether two copies have been on their way to one place.
    pub(super) crossed: bool,
    pub(super) origins: Origins,
    /// Where `mbarrier` objects are, with the thread that began each and its place.
    pub(super) objects: FxHashMap<u64, (u32, SpanId)>,
    /// What the asynchronous proxy knows of shared memory.
    pub(super) proxy: Proxy,
    /// What is known of tensor memory.
    pub(super) tensor: Tensor,
    /// What stores left undefined, of shared memory, and of the local memories thread after thread.
    pub(super) holes: [Holes; 2],
}

/// A launch that later ones may clash with.
pub(super) struct Launched {
    pub(super) number: u32,
    pub(super) subject: Arc<Subject>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) order: LaunchOrder,
}

/// All of it, for one machine.
pub(crate) struct Checker {
    pub(super) findings: Findings,
    pub(crate) global: Global,
    /// The number of the launch.
    pub(super) launch: u32,
    /// The launch, and those before it that are not known to have ended before it began.
    pub(super) launches: Vec<Launched>,
    /// Launches before this one, of those in `launches`.
    pub(super) before: Before,
    pub(super) history: History,
    pub(super) sync: FxHashMap<(Option<u32>, u64), SyncPlace>,
    /// Whether the launch has clusters, their barriers, and the marks of accesses that CTAs make to the memory of others.
    pub(super) clustered: bool,
    pub(super) meetings: FxHashMap<u32, Meeting>,
    pub(super) peer_marks: FxHashMap<(u32, u32), Vec<Mark>>,
    /// The CTA that runs, by its number.
    pub(super) current: Option<(u32, Box<Cta>)>,
    /// Those between their turns.
    waiting: FxHashMap<u32, Box<Cta>>,
    /// To be used again.
    spare: Vec<Box<Cta>>,
    pub(super) warps: u32,
    /// Where copies in flight may read, and where the constants of the program are.
    pub(super) lent: Bounds,
    /// The places of copies that were not waited for, where that was told.
    pub(super) told: FxHashSet<SpanId>,
    pub(super) constants: Bounds,
    pub(super) lost: Lost,
}

/// The number of a CTA in its launch.
pub(super) fn linear(view: &LaunchView) -> u32 {
    view.cta[0] + view.grid[0] * (view.cta[1] + view.grid[1] * view.cta[2])
}

impl Checker {
    pub(crate) fn new(
        checks: Checks,
        observer: Option<Observer>,
        (base, size): (u64, u64),
    ) -> std::io::Result<Checker> {
        Ok(Checker {
            findings: Findings::new(checks, observer),
            global: Global::new(base, size)?,
            launch: 0,
            launches: Vec::new(),
            before: Before::default(),
            history: History::mapped(base, size)?,
            sync: FxHashMap::default(),
            clustered: false,
            meetings: FxHashMap::default(),
            peer_marks: FxHashMap::default(),
            current: None,
            waiting: FxHashMap::default(),
            spare: Vec::new(),
            warps: 1,
            lent: Bounds::default(),
            told: FxHashSet::default(),
            constants: Bounds::default(),
            lost: Lost::default(),
        })
    }

    /// What was found since the last call.
    pub(crate) fn take(&mut self) -> Vec<Finding> {
        self.findings.take()
    }

    pub(crate) fn add(&mut self, new: New) {
        self.findings.add(new);
    }

    /// A launch begins.
    pub(crate) fn start_launch(
        &mut self,
        subject: &Arc<Subject>,
        view: &LaunchView,
        order: LaunchOrder,
    ) {
        self.launch += 1;
        let comes_after = |launched: &Launched| order.comes_after(&launched.order);
        if self.launches.iter().all(comes_after) {
            self.launches.clear();
            self.history.settle();
        } else {
            self.history.start_launch();
        }
        let before = self
            .launches
            .iter()
            .filter(|launched| comes_after(launched));
        self.before = Before(before.map(|launched| launched.number).collect());
        self.launches.push(Launched {
            number: self.launch,
            subject: Arc::clone(subject),
            grid: view.grid,
            block: view.block,
            order,
        });
        self.sync.clear();
        self.clustered = view.cluster_size() > 1;
        self.meetings.clear();
        self.peer_marks.clear();
        self.lent = Bounds::default();
        self.told.clear();
        self.constants = Bounds::default();
        for (start, bytes) in &subject.constants {
            self.constants.add(*start, start + bytes);
        }
        self.lost.clear();
        self.waiting.clear();
        self.current = None;
        self.warps = view.block.iter().product::<u32>().div_ceil(32).max(1);
    }

    /// A CTA begins.
    pub(crate) fn start_cta(&mut self, subject: &Subject, view: &LaunchView) {
        let (index, warps) = (linear(view), self.warps);
        let threads: u32 = view.block.iter().product();
        let clock = |warp: u32| {
            let count = (threads - warp * 32).min(32);
            let number = index.wrapping_mul(warps).wrapping_add(warp);
            WarpClock::new(number, !0 >> (32 - count))
        };
        let races = self.findings.wants_races();
        let bytes = u64::from(view.shared);
        let mut cta = self.spare.pop().unwrap_or_default();
        subject
            .shared
            .states(bytes, subject.open_shared, &mut cta.shared);
        cta.pages.reset(bytes);
        let own = u64::from(subject.local_bytes);
        subject.local.states(own, None, &mut cta.local);
        cta.local = cta.local.repeat(warps as usize * 32);
        if races && !cta.history.reaches(bytes) {
            cta.history = History::owned(bytes);
        }
        cta.history.settle();
        cta.warps.clear();
        cta.warps.extend((0..warps).map(clock));
        let marks = if races { 2 * subject.accesses.len() } else { 0 };
        cta.marks.clear();
        cta.marks.resize(warps as usize * marks, Mark::default());
        cta.barriers = Default::default();
        cta.pending.clear();
        cta.pending.resize_with(warps as usize, Vec::new);
        cta.groups.clear();
        cta.groups.resize(warps as usize, [0; 32]);
        cta.crossed = false;
        cta.origins.clear();
        cta.objects.clear();
        cta.proxy.clear();
        cta.tensor.clear();
        cta.holes.iter_mut().for_each(Holes::clear);
        self.park();
        self.current = Some((index, cta));
    }

    fn park(&mut self) {
        if let Some((index, cta)) = self.current.take() {
            self.waiting.insert(index, cta);
        }
    }

    /// A CTA goes on.
    pub(crate) fn resume_cta(&mut self, view: &LaunchView) {
        let index = linear(view);
        if self
            .current
            .as_ref()
            .is_some_and(|(current, _)| *current == index)
        {
            return;
        }
        self.park();
        self.current = self.waiting.remove(&index).map(|cta| (index, cta));
    }

    /// A CTA has ended, of itself if it `came` to its end.
    pub(crate) fn end_cta(&mut self, came: bool) {
        if came {
            self.columns_left();
        }
        if let Some((index, cta)) = self.current.take() {
            if !self.peer_marks.is_empty() {
                self.peer_marks
                    .retain(|(from, to), _| *from != index && *to != index);
            }
            self.spare.push(cta);
        }
        self.copies_ended();
    }

    /// Where no copy is in flight any more, none reads anything.
    pub(super) fn copies_ended(&mut self) {
        let pending = self.current.iter().flat_map(|(_, cta)| &cta.pending);
        if self.waiting.is_empty() && pending.into_iter().all(Vec::is_empty) {
            self.lent = Bounds::default();
        }
    }

    /// Where generic addresses of a CTA's own memory start: elsewhere for each, so that one of another is noticed.
    pub(crate) fn own(&self, view: &LaunchView) -> Own {
        Own::of(self.launch, linear(view), view.block.iter().product())
    }

    /// What is found first in a CTA between its turns.
    pub(super) fn of_waiting<R>(&self, find: &impl Fn(u32, &Cta) -> Option<R>) -> Option<R> {
        let mut all = self.waiting.iter();
        all.find_map(|(index, cta)| find(*index, cta))
    }

    /// Takes a CTA between its turns, and puts it back.
    pub(super) fn take_waiting(&mut self, index: u32) -> Option<Box<Cta>> {
        self.waiting.remove(&index)
    }

    pub(super) fn put_waiting(&mut self, index: u32, cta: Box<Cta>) {
        self.waiting.insert(index, cta);
    }

    /// The CTA that runs.
    pub(super) fn cta(&mut self) -> Option<&mut Cta> {
        self.current.as_mut().map(|(_, cta)| &mut **cta)
    }
}

/// The host's own place.
pub(crate) fn nowhere() -> Place {
    Place {
        kernel: Name::Borrowed(""),
        span: warpsmith_ptx::ir::Span::None,
        cta: [0; 3],
        thread: [0; 3],
        access: None,
    }
}
