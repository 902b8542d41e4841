//! A kernel while it is written: statements in compact form, without what was computed before.

use crate::{
    class::class,
    effects::{Effect, Effects},
    misuse::{self, Birth, Misuse, Region},
    slot::Slot,
};
use rustc_hash::{FxHashMap, FxHasher};
use std::{hash::Hasher, ops::Range, panic::Location};
use warpsmith_ptx::{
    ir::{Guard, LabelId, RegId},
    op::Op,
    qual::{Qual, Quals},
    types::Type,
};

/// The place in the source that a statement is reported at.
pub(crate) type At = Option<&'static Location<'static>>;

/// A statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) at: At,
    pub(crate) kind: LineKind,
    pub(crate) quals: Quals,
    /// Slots from here on, as many as `len`.
    start: u32,
    len: u32,
    /// How many of them are the destination.
    results: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LineKind {
    Inst {
        op: Op,
        guard: Option<Guard>,
        /// Whether it goes when nobody reads its results.
        pure: bool,
    },
    Label(LabelId),
    /// Nothing stands here, or no longer.
    Removed,
}

/// What is known of a register. Places are one more than those of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reg {
    pub(crate) class: u8,
    /// It is written more than once: what a loop or a branch carries.
    carried: bool,
    /// How often it is read.
    pub(crate) uses: u32,
    /// Where it was written last.
    pub(crate) written: u32,
    /// Where it was read or written last.
    touched: u32,
    /// The region that it was made in.
    region: u32,
}

/// `mov to, from`, which may fold into the line that defines `from`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub(crate) line: u32,
    pub(crate) to: RegId,
    pub(crate) from: RegId,
    /// The line that defines `from`.
    pub(crate) definition: u32,
}

/// Whether what was computed before is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    Yes,
    /// For a body that writes registers of values again.
    No,
}

/// Lines, slots and registers of a kernel.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) lines: Vec<Line>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) regs: Vec<Reg>,
    pub(crate) copies: Vec<Copied>,
    /// The last line with each hash. Two that only share a hash cost a chance to reuse, no more.
    known: FxHashMap<u64, u32>,
    reuse: Reuse,
    effects: Effects,
    /// The next of [`ENTRY_LINES`] that is free.
    entry_next: usize,
    /// Where the current block starts, and where the entry block ends.
    block: u32,
    entry_end: u32,
    /// A register that stood for a value was written again.
    pub(crate) rewritten: bool,
    /// Closures of control flow, the body itself first, and the one that is running.
    regions: Vec<Region>,
    region: u32,
    /// What the body does wrong, each once.
    pub(crate) misuses: Vec<Misuse>,
}

/// Lines kept free at the start for values that are computed once at the entry.
pub(crate) const ENTRY_LINES: usize = 8;

impl Draft {
    pub(crate) fn new(reuse: Reuse) -> Draft {
        let mut lines = Vec::with_capacity(1024);
        lines.resize(ENTRY_LINES, Line::REMOVED);
        Draft {
            lines,
            slots: Vec::with_capacity(4096),
            regs: Vec::with_capacity(1024),
            copies: Vec::new(),
            known: FxHashMap::with_capacity_and_hasher(512, Default::default()),
            reuse,
            effects: Effects::default(),
            entry_next: 0,
            block: 0,
            entry_end: u32::MAX,
            rewritten: false,
            regions: vec![Region {
                construct: "body",
                made: Location::caller(),
                open: true,
                around: 0,
            }],
            region: 0,
            misuses: Vec::new(),
        }
    }

    fn register(&mut self, ty: Type, carried: bool) -> RegId {
        let id = RegId(self.regs.len() as u32);
        self.regs.push(Reg {
            class: class(ty) as u8,
            carried,
            uses: 0,
            written: 0,
            touched: 0,
            region: self.region,
        });
        id
    }

    /// A register that is written once.
    #[inline]
    pub(crate) fn reg(&mut self, ty: Type) -> RegId {
        self.register(ty, false)
    }

    /// A register that may be written again and again.
    pub(crate) fn carried(&mut self, ty: Type) -> RegId {
        self.register(ty, true)
    }

    /// Opens a region: what is made from here on is used inside of it alone.
    pub(crate) fn open(&mut self, construct: &'static str, made: &'static Location<'static>) {
        let around = self.region;
        self.region = self.regions.len() as u32;
        misuse::run(self.region);
        self.regions.push(Region {
            construct,
            made,
            open: true,
            around,
        });
    }

    /// Closes the region that was opened last.
    pub(crate) fn close(&mut self) {
        let region = &mut self.regions[self.region as usize];
        region.open = false;
        self.region = region.around;
        misuse::run(self.region);
    }

    /// Makes a register one of the whole body, wherever it was asked for first.
    pub(crate) fn globally(&mut self, reg: RegId) {
        self.regs[reg.index()].region = 0;
    }

    #[cold]
    fn escaped(&mut self, region: u32, used: At) {
        let Region {
            construct, made, ..
        } = self.regions[region as usize];
        let misuse = Misuse::Escaped {
            construct,
            made,
            used: used.unwrap_or(made),
        };
        if !self.misuses.contains(&misuse) {
            self.misuses.push(misuse);
        }
    }

    /// Notes that a constant is used.
    pub(crate) fn constant(&mut self, at: At, birth: Birth) {
        if is_closed(&self.regions, birth.region()) {
            self.escaped(birth.region(), at);
        }
    }

    /// A register that escaped from its region: reported once.
    #[cold]
    fn escaped_reg(&mut self, reg: RegId, used: At) {
        let region = std::mem::replace(&mut self.regs[reg.index()].region, 0);
        self.escaped(region, used);
    }

    /// The slots of a line.
    #[inline]
    fn slots(&self, line: &Line) -> &[Slot] {
        &self.slots[line.range()]
    }

    /// The destination of the line at `at`, to be renamed.
    pub(crate) fn results_mut(&mut self, at: u32) -> &mut [Slot] {
        let line = &self.lines[at as usize];
        &mut self.slots[line.start as usize..(line.start + line.results) as usize]
    }

    pub(crate) fn place(&mut self, at: At, label: LabelId) {
        let here = self.lines.len() as u32;
        self.lines.push(Line {
            at,
            kind: LineKind::Label(label),
            ..Line::REMOVED
        });
        self.block = here + 1;
        self.entry_end = self.entry_end.min(here);
    }

    /// A branch, after which another block begins.
    pub(crate) fn branch(&mut self, at: At, guard: Option<Guard>, label: LabelId) {
        self.line(at, Op::Bra, &[], guard, Effect::Acts, |slots| {
            slots.push(Slot::label(label));
        });
        let here = self.lines.len() as u32;
        self.block = here;
        self.entry_end = self.entry_end.min(here);
    }

    /// An instruction of `slots`, destination first.
    pub(crate) fn inst(
        &mut self,
        at: At,
        op: Op,
        quals: &[Qual],
        slots: impl FnOnce(&mut Vec<Slot>),
    ) {
        let effect = self.effects.of(op, quals);
        self.line(at, op, quals, None, effect, slots);
    }

    /// Registers with what `op` makes of `sources`: new registers, or ones that already hold it. Several form one vector operand.
    #[inline]
    pub(crate) fn def<const N: usize>(
        &mut self,
        at: At,
        op: Op,
        quals: &[Qual],
        ty: Type,
        sources: &[Slot],
    ) -> [RegId; N] {
        let effect = self.effects.of(op, quals);
        let hash = match effect {
            Effect::Same if self.reuse == Reuse::Yes => hash(op, quals, ty, sources),
            _ => None,
        };
        if let Some(hash) = hash {
            if let Some(found) = self.find(hash, op, quals, ty, sources) {
                return found;
            }
            self.known.insert(hash, self.lines.len() as u32);
        }
        let regs = std::array::from_fn(|_| self.reg(ty));
        self.line(at, op, quals, None, effect, |slots| {
            if N > 1 {
                slots.push(Slot::group(N as u32));
            }
            slots.extend(regs.map(Slot::reg));
            slots.extend_from_slice(sources);
        });
        regs
    }

    /// The registers in which this was computed before: earlier in the block, or in the entry block from what never
    /// changes.
    fn find<const N: usize>(
        &self,
        hash: u64,
        op: Op,
        quals: &[Qual],
        ty: Type,
        sources: &[Slot],
    ) -> Option<[RegId; N]> {
        let at = *self.known.get(&hash)?;
        let line = &self.lines[at as usize];
        let (results, read) = self.slots(line).split_at(line.results());
        let mut regs = sources.iter().filter_map(Slot::named);
        let kept = if at >= self.block {
            // A place is one more than the line's: what was written there or later has changed since.
            regs.all(|reg| !self.reg_of(reg).carried || self.reg_of(reg).written <= at)
        } else {
            at < self.entry_end && regs.all(|reg| !self.reg_of(reg).carried)
        };
        let same = matches!(line.kind, LineKind::Inst { op: own, .. } if own == op)
            && read == sources
            && line.quals.as_slice() == quals;
        if !kept || !same {
            return None;
        }
        let mut found = results.iter().filter_map(Slot::is_reg);
        let mut all = [RegId(0); N];
        for one in &mut all {
            *one = found.next()?;
        }
        let fits = usize::from(self.reg_of(all[0]).class) == class(ty) && found.next().is_none();
        fits.then_some(all)
    }

    #[inline]
    fn reg_of(&self, reg: RegId) -> &Reg {
        &self.regs[reg.index()]
    }

    /// `mov to, from` into a carried register, or from a constant.
    pub(crate) fn mov(&mut self, at: At, quals: &[Qual], to: RegId, from: Slot) {
        let line = self.lines.len() as u32;
        if let Some(from) = from.is_reg()
            && let (target, source) = (self.reg_of(to), self.reg_of(from))
            // Lines count from 0 and places from 1; `from` is defined in this block, and `to` untouched since.
            && source.written > self.block
            && target.touched <= source.written
            && !source.carried
            && to != from
            // A copy between register classes is a reinterpretation of bits.
            && target.class == source.class
        {
            let definition = source.written - 1;
            self.copies.push(Copied {
                line,
                to,
                from,
                definition,
            });
        }
        self.line(at, Op::Mov, quals, None, Effect::Same, |slots| {
            slots.extend([Slot::reg(to), from]);
        });
    }

    #[inline]
    fn line(
        &mut self,
        at: At,
        op: Op,
        quals: &[Qual],
        guard: Option<Guard>,
        effect: Effect,
        slots: impl FnOnce(&mut Vec<Slot>),
    ) {
        let (start, place) = (self.slots.len(), self.lines.len() as u32 + 1);
        slots(&mut self.slots);
        let results = self.note(at, start, place, effect);
        if let Some(guard) = guard {
            let reg = &mut self.regs[guard.reg.index()];
            reg.uses += 1;
            reg.touched = place;
            let region = reg.region;
            if is_closed(&self.regions, region) {
                self.escaped_reg(guard.reg, at);
            }
        }
        let pure = effect.is_pure();
        self.lines.push(Line {
            at,
            kind: LineKind::Inst { op, guard, pure },
            quals: Quals::new(quals),
            start: start as u32,
            len: (self.slots.len() - start) as u32,
            results,
        });
    }

    /// An instruction among the first lines, before all others but those that came in this way.
    pub(crate) fn at_entry(&mut self, op: Op, quals: &[Qual], slots: &[Slot]) {
        let index = self.entry_next;
        debug_assert!(index < ENTRY_LINES, "entry values are few");
        self.entry_next += 1;
        let effect = self.effects.of(op, quals);
        let start = self.slots.len();
        self.slots.extend_from_slice(slots);
        let results = self.note(None, start, index as u32 + 1, effect);
        let (guard, pure) = (None, effect.is_pure());
        self.lines[index] = Line {
            at: None,
            kind: LineKind::Inst { op, guard, pure },
            quals: Quals::new(quals),
            start: start as u32,
            len: slots.len() as u32,
            results,
        };
    }

    /// Notes what an instruction at `place` with the slots from `start` on reads and writes; how many slots of
    /// destination it has.
    #[inline]
    fn note(&mut self, at: At, start: usize, place: u32, effect: Effect) -> u32 {
        let own = &self.slots[start..];
        let results = if effect.has_destination() {
            Slot::width(own)
        } else {
            0
        };
        for reg in own[..results].iter().filter_map(Slot::named) {
            let reg = &mut self.regs[reg.index()];
            if reg.written != 0 && !reg.carried {
                self.rewritten = true;
                reg.carried = true;
            }
            reg.written = place;
            reg.touched = place;
        }
        let mut escaped = None;
        for slot in &own[results..] {
            let named = slot.named();
            let region = match named {
                Some(id) => {
                    let reg = &mut self.regs[id.index()];
                    reg.uses += 1;
                    reg.touched = place;
                    reg.region
                }
                None => slot.region(),
            };
            if region != 0 && region != self.region && is_closed(&self.regions, region) {
                escaped = Some((named, region));
            }
        }
        match escaped {
            Some((Some(reg), _)) => self.escaped_reg(reg, at),
            Some((None, region)) => self.escaped(region, at),
            None => {}
        }
        results as u32
    }
}

/// Whether a region is closed: what was made in it is not for use here.
#[inline]
fn is_closed(regions: &[Region], region: u32) -> bool {
    regions
        .get(region as usize)
        .is_some_and(|region| !region.open)
}

impl Line {
    const REMOVED: Line = Line {
        at: None,
        kind: LineKind::Removed,
        quals: Quals::NONE,
        start: 0,
        len: 0,
        results: 0,
    };

    /// Where its slots are.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    /// How many of its slots are the destination.
    #[inline]
    pub(crate) fn results(&self) -> usize {
        self.results as usize
    }

    /// Whether it is an `atom` that has a twin without a result: no exchange, and nothing that acquires.
    pub(crate) fn is_read_modify_write(&self) -> bool {
        let other =
            |qual: &Qual| matches!(qual, Qual::Exch | Qual::Cas | Qual::Acquire | Qual::AcqRel);
        matches!(self.kind, LineKind::Inst { op: Op::Atom, .. })
            && !self.quals.as_slice().iter().any(other)
    }

    /// Makes an `atom` the `red` that does the same and gives nothing.
    pub(crate) fn discard_results(&mut self) {
        if let LineKind::Inst { op, .. } = &mut self.kind {
            *op = Op::Red;
        }
        self.start += self.results;
        self.len -= self.results;
        self.results = 0;
    }
}

/// A hash of an instruction that may be shared; `None` where a source may be another value each time.
#[inline]
fn hash(op: Op, quals: &[Qual], ty: Type, sources: &[Slot]) -> Option<u64> {
    let mut hasher = FxHasher::default();
    // What names the form fits in a word, but for the longest.
    let form = quals.iter().fold(op as u64, |form, qual| {
        form.rotate_left(12) ^ qual.index() as u64
    });
    hasher.write_u64(form << 4 | class(ty) as u64);
    for slot in sources {
        if slot.varies() {
            return None;
        }
        // Few slots have both a number and bits.
        let [first, second] = slot.words();
        hasher.write_u64(first ^ second.rotate_left(20));
    }
    Some(hasher.finish())
}
