//! Generic addresses: `cvta`, and `isspacep` for what is somebody's own.
//!
//! Checked programs ask the launch where the own memory of their CTA and thread starts, so that a generic address of
//! another's is none of theirs ([`crate::memory::Own`]).

use super::{
    Ctx, Handler, Micro, Slot, args, choices,
    lane::{lanes, mask_of},
    mov::Copy,
    operand,
    shape::{self, Bin},
};
use crate::{
    analysis::roles,
    build::Lowerer,
    error::Error,
    memory::{Foreign, LOCAL_BASE, PARAM_BASE, RANK, SHARED_BASE, WINDOW},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    qual::Qual,
    types::Space,
};

struct Offset;
impl Bin for Offset {
    type A = u64;
    type B = u64;
    type D = u64;
    #[inline(always)]
    fn f(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
}

choices! {
    /// Memory with generic addresses of its own.
    enum Window {
        Shared,
        Local,
        Param,
    }
}

args! {
    struct Conversion {
        dst: Slot,
        a: Slot,
        window: Window,
        /// From generic addresses.
        to: bool,
    }

    struct Question {
        dst: Slot,
        a: Slot,
        window: Window,
        /// Of any CTA of the cluster.
        cluster: bool,
    }
}

/// Lowers `cvta`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (base, own) = match roles::space(inst) {
        Space::Global | Space::Const => (0, None),
        Space::Param => (PARAM_BASE, None),
        Space::Shared => (SHARED_BASE, Some(Window::Shared)),
        Space::Local => (LOCAL_BASE, Some(Window::Local)),
        Space::Generic => return Err(l.unsupported(inst)),
    };
    let to = inst.quals.has(Qual::To);
    let dst = l.dst(operand(l, inst, 0)?)?;
    let a = l.src(operand(l, inst, 1)?, 64)?;
    match own.filter(|_| l.is_checked()) {
        Some(window) if a.uniform && window == Window::Shared => {
            let scalar = l.scalar_for(dst);
            l.emit(l.cold::<ConvertScalar>(Conversion {
                dst: scalar,
                a: a.slot,
                window,
                to,
            }));
            l.spread::<u64>(dst, scalar);
        }
        Some(window) => {
            let a = l.splat::<u64>(a);
            l.emit(l.cold::<Convert>(Conversion {
                dst: dst.slot,
                a: a.slot,
                window,
                to,
            }));
        }
        None if base == 0 => shape::emit_un::<Copy<u64>>(l, dst, a),
        None => {
            let delta = if to { base.wrapping_neg() } else { base };
            let b = l.constant(delta);
            shape::emit_bin::<Offset>(l, dst, a, b);
        }
    }
    Ok(())
}

/// An address that becomes generic or, if `to`, one of a memory that starts at `base`; what is not in it stays.
#[inline(always)]
fn converted(address: u64, base: u64, to: bool) -> u64 {
    let inside = address.wrapping_sub(base);
    match to {
        true if inside < WINDOW => inside,
        true => address,
        false => address.wrapping_add(base),
    }
}

/// The same of shared memory: of that of the CTA itself, or of the others of its cluster.
fn of_shared(ctx: &Ctx, address: u64, to: bool) -> u64 {
    let own = ctx.view.own.shared;
    if to {
        let peers = ctx.view.peers.iter().enumerate();
        let mut others = peers.filter(|(_, peer)| peer.base != own);
        let found = others.find(|(_, peer)| address.wrapping_sub(peer.base) < WINDOW);
        return match found {
            Some((rank, peer)) => (rank as u64 + 1) << RANK | (address - peer.base),
            None => converted(address, own, to),
        };
    }
    let peer = ctx
        .view
        .peers
        .get((address >> RANK).wrapping_sub(1) as usize);
    match peer {
        Some(peer) => peer.base + (address & ((1 << RANK) - 1)),
        None => converted(address, own, to),
    }
}

/// Addresses of a memory made generic, or the reverse.
struct Convert;
impl Handler for Convert {
    type Args = Conversion;
    fn run(ctx: &mut Ctx, op: &Micro<Conversion>) {
        let own = ctx.view.own;
        let first = ctx.warp.index * 32;
        let at = ctx.cells::<u64>(op.a);
        let out = lanes(|i| {
            if op.window == Window::Local {
                converted(at[i], own.local(first + i as u32), op.to)
            } else {
                of_shared(ctx, at[i], op.to)
            }
        });
        ctx.put_cells(op.dst, out);
    }
}

/// Converts a scalar address of shared memory.
struct ConvertScalar;
impl Handler for ConvertScalar {
    type Args = Conversion;
    fn run(ctx: &mut Ctx, op: &Micro<Conversion>) {
        let address = of_shared(ctx, ctx.scalar(op.a), op.to);
        ctx.set_scalar(op.dst, address);
    }
}

/// Whether lanes are generic addresses of a memory, whoever's.
struct IsIn;
impl Handler for IsIn {
    type Args = Question;
    fn run(ctx: &mut Ctx, op: &Micro<Question>) {
        let at = ctx.cells::<u64>(op.a);
        let (start, foreign) = match op.window {
            Window::Shared => (SHARED_BASE, Some(Foreign::Shared)),
            Window::Local => (LOCAL_BASE, Some(Foreign::Local)),
            Window::Param => (PARAM_BASE, None),
        };
        let own = u64::from(ctx.view.rank());
        let bits = mask_of(|i| {
            let tagged = foreign.is_some() && Foreign::of(at[i]) == foreign;
            let inside = at[i].wrapping_sub(start);
            let is_other = op.window == Window::Shared
                && !op.cluster
                && match ctx.peer_at(at[i]) {
                    Some(peer) => peer.base != ctx.view.own.shared,
                    None => {
                        inside < WINDOW && !matches!(inside >> RANK, 0) && inside >> RANK != own + 1
                    }
                };
            (inside < WINDOW || tagged) && !is_other
        });
        ctx.put_mask(op.dst, bits);
    }
}

/// Emits whether an operand is a generic address of shared or local memory, or of a parameter.
pub(super) fn emit_is_in(
    l: &mut Lowerer,
    to: &Operand,
    address: &Operand,
    (space, cluster): (Space, bool),
) -> Result<(), Error> {
    let window = match space {
        Space::Shared => Window::Shared,
        Space::Local => Window::Local,
        Space::Param => Window::Param,
        Space::Global | Space::Const | Space::Generic => {
            return Err(l.refuse("isspacep of this space".to_owned()));
        }
    };
    let a = l.src64(address)?;
    let dst = l.dst(to)?.slot;
    l.emit(l.cold::<IsIn>(Question {
        dst,
        a,
        window,
        cluster,
    }));
    Ok(())
}
