//! Lowering: from a kernel of a verified module to ops for one block shape, with what a checked program adds.

mod deferred;
mod depends;
mod describe;
mod guess;
mod held;
mod instrument;
mod lost;
mod preds;
mod reach;

pub(crate) use crate::{
    analysis::{Block, Term, immediate, roles},
    build::{Dst, Input, Lowerer, Piece},
    op::{Compiled, Program, Value},
};

use crate::{
    analysis::{Code, blocks, uniform},
    build::{Flow, Need, allocate},
    error::Error,
    exec,
    op::{BlockInfo, Pred, Slot},
};
use warpsmith_ptx::{ir::Stmt, types::Type};

/// Bytes of [`Slot::SCRATCH`].
const SCRATCH_BYTES: u32 = 256;

/// Lowers a kernel.
pub(crate) fn lower(input: &Input<'_>) -> Result<Program, Error> {
    let function = input.function;
    let body = function.body.as_deref().unwrap_or(&[]);
    let blocks = blocks(function, body, input.apart)?;
    let shape = uniform::LaunchShape {
        dims: input.block,
        has_local: input.layout.local_bytes != 0,
        apart: input.apart,
    };
    let uniformity = uniform::analyze(function, body, &blocks, shape);
    let mut l = Lowerer::new(input, Slot::SCRATCH.0 + SCRATCH_BYTES);
    l.find_aliases(body, &blocks, &uniformity);
    let needs: Vec<Need> = function
        .regs
        .iter()
        .enumerate()
        .map(|(i, reg)| match reg.ty {
            Type::Pred => Need::Nothing,
            _ if uniformity.regs[i] || l.is_alias(i) => Need::Nothing,
            ty if ty.bits() <= 32 => Need::Narrow,
            ty if ty.bits() == 64 => Need::Wide,
            _ => Need::Nothing,
        })
        .collect();
    let flow = Flow {
        body,
        blocks: &blocks,
        convergent: &uniformity.convergent,
    };
    let (slots, end) = allocate(&needs, flow, l.next);
    l.next = end;
    l.place(&needs, &slots);
    let mut shadows = input
        .checked
        .then(|| instrument::Shadows::new(&mut l, function, body, &blocks));
    let mut lost = if input.checked {
        lost::Lost::new(&mut l, function, body, &blocks)
    } else {
        None
    };
    let mut infos = Vec::with_capacity(blocks.len());
    let mut ends = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        infos.push(BlockInfo {
            first: l.ops.len() as u32,
            convergent: uniformity.convergent[at],
        });
        if input.counted {
            l.at(block.span);
            exec::emit_count(&mut l, block.stmts.len() + 1);
        }
        if let Some(shadows) = &mut shadows {
            if at == 0 {
                instrument::enter(&mut l, shadows);
            }
            instrument::enter_block(shadows, at);
        }
        ends.push(lower_block(&mut l, body, block, (&mut shadows, &mut lost))?);
    }
    let code = Code::new(body, &blocks, l.homes());
    let native = input.compile.and_then(|compile| {
        let firsts = infos.iter().map(|info| info.first).collect();
        let [x, y, z] = input.block;
        // Where the last warp is not whole, no block is run by all lanes of it.
        let whole = (u64::from(x) * u64::from(y) * u64::from(z)).is_multiple_of(32);
        let convergent: Vec<bool> = uniformity
            .convergent
            .iter()
            .map(|convergent| *convergent && whole)
            .collect();
        let places = (&l.pieces[..], firsts, ends);
        compile(&l, body, &blocks, places, &convergent, &l.ops)
    });
    let mut program = l.finish(infos, code);
    if let Some(native) = native {
        program.install(native);
    }
    Ok(program)
}

/// Lowers a block; the first of the ops that end it.
fn lower_block(
    l: &mut Lowerer<'_>,
    body: &[Stmt],
    block: &Block,
    (shadows, lost): (&mut Option<instrument::Shadows>, &mut Option<lost::Lost>),
) -> Result<u32, Error> {
    let flush = |l: &mut Lowerer<'_>, lost: &mut Option<lost::Lost>| {
        l.flush();
        if let Some(lost) = lost {
            lost.flush(l);
        }
    };
    let mut guard = None;
    l.pieces.push(Vec::new());
    for (i, inst) in uniform::insts(block, body) {
        l.at(body[block.stmts.start + i].span);
        let aliased = l.is_aliased(inst);
        if aliased && shadows.is_none() {
            continue;
        }
        if let Some(shadows) = shadows {
            instrument::enter_stmt(shadows, block.stmts.start + i);
        }
        let wanted = inst.guard;
        if guard.map(|(g, _)| g) != wanted
            && let Some((_, start)) = guard.take()
        {
            flush(l, lost);
            exec::end_guard(l, start);
        }
        if let Some(g) = wanted
            && guard.is_none()
        {
            flush(l, lost);
            if let Some(shadows) = shadows {
                instrument::guard(l, shadows, g);
                l.flush();
            }
            let pred = Pred {
                mask: l.slot_of(g.reg),
                flip: if g.negated { !0 } else { 0 },
            };
            guard = Some((g, exec::begin_guard(l, pred)));
        }
        if let Some(shadows) = shadows {
            instrument::before_all(l, shadows)?;
        }
        if let Some(lost) = lost {
            lost.before(l, inst)?;
        }
        match shadows {
            // From here on, though not before, the register counts as written.
            Some(shadows) if aliased => instrument::after(l, shadows, inst, None)?,
            Some(shadows) => {
                let access = instrument::before(l, shadows, inst)?;
                exec::lower(l, inst)?;
                exec::mark(l, inst);
                instrument::after(l, shadows, inst, access)?;
            }
            None => {
                let first = l.ops.len() as u32;
                exec::lower(l, inst)?;
                exec::mark(l, inst);
                l.piece(block.stmts.start + i, first);
            }
        }
        if let Some(lost) = lost {
            lost.after(l, inst)?;
        }
        // A guard that its own instruction changed no longer covers the next one.
        let mut changed = false;
        roles::each_def(inst, &mut |reg| {
            changed |= wanted.is_some_and(|g| g.reg == reg)
        });
        if changed && let Some((_, start)) = guard.take() {
            flush(l, lost);
            exec::end_guard(l, start);
        }
    }
    flush(l, lost);
    if let Some((_, start)) = guard {
        exec::end_guard(l, start);
    }
    l.at(block.span);
    if let Some(shadows) = shadows {
        instrument::end_block(l, shadows, &block.term);
        l.flush();
    }
    if let Some(lost) = lost {
        lost.end_block(l, &block.term);
    }
    let end = l.ops.len() as u32;
    exec::emit_flow(l, &block.term)?;
    Ok(end)
}
