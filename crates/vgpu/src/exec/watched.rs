//! Programs that are looked at: which blocks they run, which words they poll, and what they change of memory.
//!
//! A program has a twin for this (`Program::watched`), op for op the same: only the ops named here run through
//! [`Watched`]. So nothing is added to programs that are not looked at, and a warp may go from one to the other at the
//! end of any turn.

use super::{Ctx, Flow, MicroOp, Run, ldst, rare};
use crate::{
    Tier,
    error::Awaited,
    lower::{Lowerer, Program},
    memory::WINDOW,
    tier,
};
use rustc_hash::FxHashMap;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual};

/// Where the lanes of an op access memory: addresses `a` plus `offset`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaches {
    /// As `aux` of an access holds it.
    pub(crate) place: u32,
    pub(crate) wide: bool,
    pub(crate) scalar: bool,
    pub(crate) offset: u64,
    /// Bytes of each lane.
    pub(crate) bytes: u32,
    /// Whether it is an `mbarrier` that stands there.
    pub(crate) object: bool,
}

/// What an op does, as far as others may see it or it waits for others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// It reads, and may wait for what it reads.
    Reads(Reaches),
    /// It writes.
    Writes(Reaches),
    /// It reads and writes, and may wait for what it reads.
    Swaps(Reaches),
    /// It changes what others see.
    Changes,
    /// It may do the work of the ops behind it, which do it as well.
    Shortens,
    None,
}

/// An op of a watched program.
#[derive(Clone, Copy)]
pub(crate) struct Noted {
    run: Run,
    /// The block that begins with it.
    block: Option<u32>,
    note: Note,
}

/// The ops that are looked at, by their index.
pub(crate) type Notes = FxHashMap<u32, Noted>;

/// What a warp did since someone last looked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// Blocks it ran.
    pub(crate) visited: Vec<bool>,
    /// Lanes that ran.
    pub(crate) ran: u32,
    /// The word that each lane read last.
    pub(crate) polled: [Option<Polled>; 32],
}

/// A word that a lane read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// The index of its place in the program's spans.
    pub(crate) span: u32,
    /// As the instruction names it.
    pub(crate) place: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) object: bool,
}

/// The address of each lane.
fn addresses(ctx: &Ctx, op: &MicroOp, reaches: &Reaches) -> [u64; 32] {
    let base: [u64; 32] = match (reaches.scalar, reaches.wide) {
        (true, _) => [ctx.scalar(op.a); 32],
        (false, true) => *ctx.cells::<u64>(op.a),
        (false, false) => ctx.cells::<u32>(op.a).map(u64::from),
    };
    let width = if reaches.wide { u64::MAX } else { 0xFFFF_FFFF };
    base.map(|base| base.wrapping_add(reaches.offset) & width)
}

/// Whether a lane's address is in memory that only its thread sees.
fn is_own(ctx: &Ctx, place: u32, address: u64, lane: u32) -> bool {
    match place {
        ldst::place::LOCAL => true,
        ldst::place::GENERIC => {
            let start = ctx.view.own.local(ctx.warp.index * 32 + lane);
            address.wrapping_sub(start) < WINDOW
        }
        _ => false,
    }
}

/// What stands at the addresses of the active lanes, in memory that others see.
fn words(ctx: &Ctx, addresses: &[u64; 32], reaches: &Reaches) -> Vec<u64> {
    let mut words = Vec::new();
    for lane in (0..32).filter(|lane| ctx.mask >> lane & 1 != 0) {
        let address = addresses[lane as usize];
        let own = is_own(ctx, reaches.place, address, lane);
        let bytes = if own { 0 } else { reaches.bytes };
        let mut at = 0;
        while at < bytes {
            let (word, len) = part(ctx, reaches.place, address + u64::from(at), bytes - at);
            words.push(word);
            at += len;
        }
    }
    words
}

/// The largest whole word of at most `most` bytes at an address, and its bytes. What is refused changes nothing.
fn part(ctx: &Ctx, place: u32, address: u64, most: u32) -> (u64, u32) {
    let (window, at) = ldst::window(ctx, place, address, 0);
    let fits = |bytes: u32| most >= bytes && at.is_multiple_of(u64::from(bytes));
    if fits(8) {
        (window.load::<u64>(at).unwrap_or(0), 8)
    } else if fits(4) {
        (window.load::<u32>(at).map_or(0, u64::from), 4)
    } else if fits(2) {
        (window.load::<u16>(at).map_or(0, u64::from), 2)
    } else {
        (window.load::<u8>(at).map_or(0, u64::from), 1)
    }
}

impl Polled {
    /// What whoever reads it again and again waits for.
    pub(crate) fn awaited(&self, ctx: &Ctx) -> Awaited {
        let value = part(ctx, self.place, self.address, self.bytes.min(8)).0;
        let shared = self.in_shared(ctx);
        match shared {
            Some(address) if self.object => rare::phase(address, value),
            _ => Awaited::Word {
                address: shared.unwrap_or(self.address),
                shared: shared.is_some(),
                value,
            },
        }
    }

    /// Where it is in shared memory, if it is there.
    fn in_shared(&self, ctx: &Ctx) -> Option<u64> {
        match self.place {
            ldst::place::SHARED => Some(self.address),
            ldst::place::GENERIC => {
                let inside = self.address.wrapping_sub(ctx.view.own.shared);
                (inside < WINDOW).then_some(inside)
            }
            _ => None,
        }
    }
}

/// Notes the words that the active lanes read.
fn poll(ctx: &mut Ctx, op: &MicroOp, addresses: &[u64; 32], reaches: &Reaches) {
    let mask = ctx.mask;
    let own = std::array::from_fn::<_, 32, _>(|lane| {
        is_own(ctx, reaches.place, addresses[lane], lane as u32)
    });
    let Some(trace) = &mut ctx.warp.trace else {
        return;
    };
    for (lane, address) in addresses.iter().enumerate() {
        // What a thread reads of its own, nobody else brings.
        if mask >> lane & 1 != 0 && !own[lane] {
            trace.polled[lane] = Some(Polled {
                span: op.span,
                place: reaches.place,
                address: *address,
                bytes: reaches.bytes,
                object: reaches.object,
            });
        }
    }
}

/// An op that is looked at.
struct Watched;
impl Flow for Watched {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        watch(ctx, op)
    }
}

#[inline(never)]
fn watch(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
    let start = ctx.program.ops.as_ptr() as usize;
    let index = (std::ptr::from_ref(op) as usize - start) / size_of::<MicroOp>();
    let Noted { run, block, note } = ctx.program.notes[&(index as u32)];
    let active = ctx.warp.active;
    if let (Some(block), Some(trace)) = (block, &mut ctx.warp.trace) {
        trace.visited[block as usize] = true;
        trace.ran |= active;
    }
    match note {
        Note::None => ctx.run_as(run, op),
        Note::Shortens => std::ptr::from_ref(op).wrapping_add(1),
        Note::Changes => {
            ctx.changes += u64::from(ctx.mask != 0);
            ctx.run_as(run, op)
        }
        Note::Reads(reaches) => {
            let addresses = addresses(ctx, op, &reaches);
            poll(ctx, op, &addresses, &reaches);
            ctx.run_as(run, op)
        }
        Note::Writes(reaches) | Note::Swaps(reaches) => {
            // Looked up before: the op may write the register that holds them.
            let addresses = addresses(ctx, op, &reaches);
            if let Note::Swaps(_) = note {
                poll(ctx, op, &addresses, &reaches);
            }
            let before = words(ctx, &addresses, &reaches);
            let next = ctx.run_as(run, op);
            ctx.changes += u64::from(words(ctx, &addresses, &reaches) != before);
            next
        }
    }
}

impl Lowerer<'_> {
    /// Says what the op that was emitted last does.
    pub(crate) fn note(&mut self, note: Note) {
        if let Some(last) = self.ops.len().checked_sub(1) {
            self.note_at(last, note);
        }
    }

    /// Says what an op does.
    pub(crate) fn note_at(&mut self, at: usize, note: Note) {
        self.marks.push((at as u32, note));
    }
}

/// A program in which what the marks say is looked at.
pub(crate) fn watched(program: &Program) -> Program {
    let run = tier::pick_flow::<Watched>(Tier::Baseline);
    let mut twin = program.clone();
    twin.interpret();
    let plain = twin.ops.clone();
    let noted = |at: u32| Noted {
        run: plain[at as usize].run,
        block: None,
        note: Note::None,
    };
    for (block, info) in program.blocks.iter().enumerate() {
        let entry = twin.notes.entry(info.first);
        entry.or_insert_with(|| noted(info.first)).block = Some(block as u32);
    }
    for (at, note) in &program.marks {
        twin.notes.entry(*at).or_insert_with(|| noted(*at)).note = *note;
    }
    for at in twin.notes.keys() {
        twin.ops[*at as usize].run = run;
    }
    twin
}

/// Marks the last op of an instruction that writes memory in a way that is not looked at closely.
pub(crate) fn mark(l: &mut Lowerer, inst: &Inst) {
    let has = |word| inst.quals.has(word);
    let changes = match inst.op {
        Op::Stmatrix | Op::Call => true,
        Op::Wmma => has(Qual::Store),
        Op::Cp => inst.operands.len() >= 2,
        _ => false,
    };
    if changes {
        l.note(Note::Changes);
    }
}
