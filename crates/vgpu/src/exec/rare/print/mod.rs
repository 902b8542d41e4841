//! `vprintf`, which the compiler calls for `printf` (CUDA C++ programming guide, "Formatted output").
//!
//! A call has the address of the format and that of its arguments, each at a multiple of its size: integers of 4 or 8
//! bytes, numbers and pointers of 8.

mod format;

use super::super::{
    Ctx, Handler, Micro, Slot, args,
    ldst::{self, Memory as Space},
};
use crate::{analysis::print::RESULT, build::Lowerer, error::Error, memory::Bad};
use format::{Source, formatted};
use warpsmith_ptx::ir::{Inst, Operand};

args! {
    struct Printing {
        /// Where the parts of the call are in local memory: a scalar, and what is added to it.
        at: Slot,
        offset: u64,
    }
}

/// A call.
struct Print;
impl Handler for Print {
    type Args = Printing;
    fn run(ctx: &mut Ctx, op: &Micro<Printing>) {
        print(ctx, op);
    }
}

#[cold]
#[inline(never)]
fn print(ctx: &mut Ctx, op: &Micro<Printing>) {
    let own = ctx.scalar(op.at).wrapping_add(op.offset);
    for lane in (0..32).filter(|lane| ctx.mask >> lane & 1 != 0) {
        if let Err((bad, address)) = call(ctx, lane, own) {
            ctx.refuse(op.span(), bad, lane, address, 1);
            return;
        }
    }
}

/// The call of one lane.
fn call(ctx: &Ctx, lane: u32, own: u64) -> Result<(), (Bad, u64)> {
    let (window, at) = ldst::window(ctx, Space::Local, own, lane);
    let word = |offset: u64| {
        let address = at.wrapping_add(offset);
        window.load::<u64>(address).map_err(|bad| (bad, own))
    };
    let (text, arguments) = (word(0)?, word(8)?);
    let mut memory = Memory { ctx, lane };
    let (text, result) = formatted(&mut memory, text, arguments)?;
    if let Some(printed) = &ctx.printed {
        printed.add(&text);
    }
    let done = window.store(at.wrapping_add(RESULT), result as u32);
    done.map_err(|bad| (bad, own))
}

/// Memory at generic addresses, as one lane sees it.
struct Memory<'a> {
    ctx: &'a Ctx,
    lane: u32,
}

impl Source for Memory<'_> {
    type Error = (Bad, u64);

    fn byte(&mut self, address: u64) -> Result<u8, (Bad, u64)> {
        let (window, at) = ldst::window(self.ctx, Space::Generic, address, self.lane);
        window.load::<u8>(at).map_err(|bad| (bad, address))
    }
}

/// Lowers a call: its second operand is the transfer area.
pub(in crate::exec) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let Some(area @ Operand::Addr(_)) = inst.operands.get(1) else {
        return Err(l.refuse(format!("a call of {}", l.callee(inst))));
    };
    let at = ldst::address(l, area)?;
    if !at.src.uniform {
        return Err(l.refuse("a transfer area that lanes do not share".to_owned()));
    }
    l.emit(l.cold::<Print>(Printing {
        at: at.src.slot,
        offset: at.offset,
    }));
    Ok(())
}
