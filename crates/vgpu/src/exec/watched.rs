//! Programs that are looked at: which blocks they run, which words they poll, and what they change of memory.
//!
//! A program has a twin for this (`Program::watched`), op for op the same: only the ops named here run through
//! [`Watched`]. So nothing is added to programs that are not looked at, and a warp may go from one to the other at the
//! end of any turn.

use super::{Base, Ctx, Flow, Micro, MicroOp, Note, Reaches, SpanId, ldst, rare};
use crate::{
    build::Lowerer,
    error::Awaited,
    memory::WINDOW,
    op::{Memory, Noted, Polled, Program, pick_flow},
};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual};

/// The address of each lane.
fn addresses(ctx: &Ctx, reaches: &Reaches) -> [u64; 32] {
    let Base { slot, scalar, wide } = reaches.at;
    let base: [u64; 32] = match (scalar, wide) {
        (true, _) => [ctx.scalar(slot); 32],
        (false, true) => *ctx.cells::<u64>(slot),
        (false, false) => ctx.cells::<u32>(slot).map(u64::from),
    };
    let width = if wide { u64::MAX } else { 0xFFFF_FFFF };
    base.map(|base| base.wrapping_add(reaches.offset) & width)
}

/// Whether a lane's address is in memory that only its thread sees.
fn is_own(ctx: &Ctx, memory: Memory, address: u64, lane: u32) -> bool {
    match memory {
        Memory::Local => true,
        Memory::Generic => {
            let start = ctx.view.own.local(ctx.warp.index * 32 + lane);
            address.wrapping_sub(start) < WINDOW
        }
        Memory::Global | Memory::Shared => false,
    }
}

/// What stands at the addresses of the active lanes, in memory that others see.
fn words(ctx: &Ctx, addresses: &[u64; 32], reaches: &Reaches) -> Vec<u64> {
    let mut words = Vec::new();
    for lane in (0..32).filter(|lane| ctx.mask >> lane & 1 != 0) {
        let address = addresses[lane as usize];
        let own = is_own(ctx, reaches.memory, address, lane);
        let bytes = if own { 0 } else { reaches.bytes };
        let mut at = 0;
        while at < bytes {
            let (word, len) = part(ctx, reaches.memory, address + u64::from(at), bytes - at);
            words.push(word);
            at += len;
        }
    }
    words
}

/// The largest whole word of at most `most` bytes at an address, and its bytes. What is refused changes nothing.
fn part(ctx: &Ctx, memory: Memory, address: u64, most: u32) -> (u64, u32) {
    let (window, at) = ldst::window(ctx, memory, address, 0);
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

/// What whoever reads it again and again waits for.
pub(crate) fn awaited(polled: &Polled, ctx: &Ctx) -> Awaited {
    let value = part(ctx, polled.memory, polled.address, polled.bytes.min(8)).0;
    let shared = in_shared(polled, ctx);
    match shared {
        Some(address) if polled.object => {
            let checker = ctx.checker.as_ref();
            let counts = checker.and_then(|checker| checker.transactions(address));
            rare::phase(address, value, counts)
        }
        _ => Awaited::Word {
            address: shared.unwrap_or(polled.address),
            shared: shared.is_some(),
            value,
        },
    }
}

/// Where it is in shared memory, if it is there.
fn in_shared(polled: &Polled, ctx: &Ctx) -> Option<u64> {
    match polled.memory {
        Memory::Shared => Some(polled.address),
        Memory::Generic => {
            let inside = polled.address.wrapping_sub(ctx.view.own.shared);
            (inside < WINDOW).then_some(inside)
        }
        Memory::Global | Memory::Local => None,
    }
}

/// Notes the words that the active lanes read.
fn poll(ctx: &mut Ctx, span: SpanId, addresses: &[u64; 32], reaches: &Reaches) {
    let mask = ctx.mask;
    let own = std::array::from_fn::<_, 32, _>(|lane| {
        is_own(ctx, reaches.memory, addresses[lane], lane as u32)
    });
    let Some(trace) = &mut ctx.warp.trace else {
        return;
    };
    for (lane, address) in addresses.iter().enumerate() {
        // What a thread reads of its own, nobody else brings.
        if mask >> lane & 1 != 0 && !own[lane] {
            trace.polled[lane] = Some(Polled {
                span,
                memory: reaches.memory,
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
    /// Of what an op of another handler says, nothing is read here.
    type Args = ();
    fn run(ctx: &mut Ctx, op: &Micro<()>) -> *const MicroOp {
        watch(ctx, op.plain())
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
            let addresses = addresses(ctx, &reaches);
            poll(ctx, op.span(), &addresses, &reaches);
            ctx.run_as(run, op)
        }
        Note::Writes(reaches) | Note::Swaps(reaches) => {
            // Looked up before: the op may write the register that holds them.
            let addresses = addresses(ctx, &reaches);
            if let Note::Swaps(_) = note {
                poll(ctx, op.span(), &addresses, &reaches);
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
    let run = pick_flow::<Watched>();
    let mut twin = program.clone();
    twin.interpret();
    let plain = twin.ops.clone();
    let noted = |at: u32| Noted {
        run: plain[at as usize].run(),
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
        twin.ops[*at as usize].set_run(run);
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
