//! `wmma`: fragments whose layout is ours (PTX ISA 9.7.14.4 leaves it open).
//!
//! A fragment's elements are numbered lane by lane; element `i` is the matrix's element `i` in rows, and
//! those beyond the matrix repeat it. Products take k in ascending order from C, fused, in f32.

use super::super::{
    Ctx, Handler, MicroOp, checked,
    half::{Bf16, F16},
    ldst::{self, items},
    operand,
};
use crate::{
    check,
    error::Error,
    lower::Lowerer,
    memory::{Bad, Window},
};
use warpsmith_ptx::{
    ir::Inst,
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// The element types, as ops hold them.
mod kind {
    pub(super) const F16: u32 = 0;
    pub(super) const BF16: u32 = 1;
    pub(super) const F32: u32 = 2;
    pub(super) const S32: u32 = 3;
    pub(super) const U8: u32 = 4;
    pub(super) const S8: u32 = 5;
}

fn kind_of(ty: Type) -> Option<u32> {
    Some(match ty {
        Type::F16 => kind::F16,
        Type::BF16 => kind::BF16,
        Type::F32 => kind::F32,
        Type::S32 => kind::S32,
        Type::U8 => kind::U8,
        Type::S8 => kind::S8,
        _ => return None,
    })
}

fn bits_of(kind: u32) -> u32 {
    match kind {
        kind::F16 | kind::BF16 => 16,
        kind::U8 | kind::S8 => 8,
        _ => 32,
    }
}

/// Rows, columns of A and columns of the result.
fn shape(inst: &Inst) -> Option<[u32; 3]> {
    let has = |word| inst.quals.has(word);
    if has(Qual::M16n16k16) {
        Some([16, 16, 16])
    } else if has(Qual::M8n32k16) {
        Some([8, 32, 16])
    } else if has(Qual::M32n8k16) {
        Some([32, 8, 16])
    } else {
        None
    }
}

/// A fragment in registers: their slots stand in the program's extra table.
#[derive(Clone, Copy)]
struct Fragment {
    at: u32,
    regs: u32,
    kind: u32,
}

impl Fragment {
    fn per_lane(self) -> u32 {
        self.regs * 32 / bits_of(self.kind)
    }

    /// Register, lane and shift of element `i`.
    fn place(self, i: u32) -> (u32, usize, u32) {
        let bits = bits_of(self.kind);
        let (lane, own) = (i / self.per_lane(), i % self.per_lane());
        (own * bits / 32, (lane % 32) as usize, own * bits % 32)
    }

    fn get(self, ctx: &Ctx, i: u32) -> u32 {
        let (reg, lane, shift) = self.place(i);
        let slot = ctx.extra(self.at, self.regs as usize)[reg as usize];
        let bits = ctx.cells::<u32>(slot)[lane] >> shift;
        bits & (u32::MAX >> (32 - bits_of(self.kind)))
    }

    fn set(self, ctx: &mut Ctx, i: u32, value: u32) {
        let (reg, lane, shift) = self.place(i);
        let slot = ctx.extra(self.at, self.regs as usize)[reg as usize];
        let mask = (u32::MAX >> (32 - bits_of(self.kind))) << shift;
        let cell = &mut ctx.cells_mut::<u32>(slot)[lane];
        *cell = *cell & !mask | value << shift & mask;
    }

    fn float(self, ctx: &Ctx, i: u32) -> f32 {
        let bits = self.get(ctx, i);
        match self.kind {
            kind::F16 => F16(bits as u16).to_f32(),
            kind::BF16 => Bf16(bits as u16).to_f32(),
            _ => f32::from_bits(bits),
        }
    }

    fn int(self, ctx: &Ctx, i: u32) -> i64 {
        let bits = self.get(ctx, i);
        match self.kind {
            kind::U8 => i64::from(bits as u8),
            kind::S8 => i64::from(bits as i8),
            _ => i64::from(bits as i32),
        }
    }
}

/// A fragment from or to memory: `b` the stride in elements (lanes), `c` rows and columns, `dst` the
/// fragment's place in the extra table, `more` registers, kind, space and flags: 1 for columns first, 2 for
/// a store, 4 for 64-bit addresses; description `aux` is of its accesses.
struct Move;
impl Handler for Move {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        moves(ctx, op);
    }
}

#[inline(never)]
fn moves(ctx: &mut Ctx, op: &MicroOp) {
    let [regs, kind, space, flags] = op.more;
    let fragment = Fragment {
        at: op.dst,
        regs,
        kind,
    };
    let (rows, columns) = (op.c >> 16, op.c & 0xFFFF);
    let bytes = bits_of(kind) / 8;
    let is_store = flags & 2 != 0;
    // Elements beyond the matrix are loaded again and stored once.
    let lanes_of = |own: u32| {
        let inside = |lane: &u32| lane * fragment.per_lane() + own < rows * columns;
        (0..32u32)
            .filter(move |lane| !is_store || inside(lane))
            .fold(0, |lanes, lane| lanes | 1 << lane)
    };
    // What is loaded may replace the address, so that all are found first.
    let all: Vec<[u64; 32]> = (0..fragment.per_lane())
        .map(|own| {
            std::array::from_fn(|lane| address(ctx, op, lane as u32 * fragment.per_lane() + own))
        })
        .collect();
    for (own, addresses) in (0..).zip(&all) {
        let mut mask = ctx.mask & lanes_of(own);
        if ctx.checker.is_some() {
            mask &= !checked::each_of_many(ctx, op, mask, addresses);
        }
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let i = lane * fragment.per_lane() + own;
            let address = addresses[lane as usize];
            let (window, at) = ldst::window(ctx, space, address, lane);
            let done = if is_store {
                store(&window, at, bytes, fragment.get(ctx, i))
            } else {
                load(&window, at, bytes).map(|value| fragment.set(ctx, i, value))
            };
            if let Err(bad) = done {
                ctx.refuse(op, bad, lane, address, bytes);
                return;
            }
        }
    }
}

/// The address of element `i` of a fragment.
fn address(ctx: &Ctx, op: &MicroOp, i: u32) -> u64 {
    let [regs, kind, _, flags] = op.more;
    let (rows, columns) = (op.c >> 16, op.c & 0xFFFF);
    let lane = i / (regs * 32 / bits_of(kind));
    let element = i % (rows * columns);
    let (row, column) = (element / columns, element % columns);
    let stride = u64::from(ctx.cells::<u32>(op.b)[lane as usize]);
    let index = if flags & 1 != 0 {
        u64::from(column) * stride + u64::from(row)
    } else {
        u64::from(row) * stride + u64::from(column)
    };
    let offset = op.imm.wrapping_add(index * u64::from(bits_of(kind) / 8));
    if flags & 4 != 0 {
        ctx.cells::<u64>(op.a)[lane as usize].wrapping_add(offset)
    } else {
        u64::from(ctx.cells::<u32>(op.a)[lane as usize].wrapping_add(offset as u32))
    }
}

fn load(window: &Window, at: u64, bytes: u32) -> Result<u32, Bad> {
    match bytes {
        1 => window.load::<u8>(at).map(u32::from),
        2 => window.load::<u16>(at).map(u32::from),
        _ => window.load::<u32>(at),
    }
}

fn store(window: &Window, at: u64, bytes: u32, value: u32) -> Result<(), Bad> {
    match bytes {
        1 => window.store(at, value as u8),
        2 => window.store(at, value as u16),
        _ => window.store(at, value),
    }
}

/// `d = a b + c`: `a` and `b` of the op are where the fragments' slots begin in the extra table; `imm` packs
/// m, n, k in bytes; `aux` is 1 to saturate.
struct Product;
impl Handler for Product {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        product(ctx, op);
    }
}

#[inline(never)]
fn product(ctx: &mut Ctx, op: &MicroOp) {
    let [m, n, k] = [0, 8, 16].map(|shift| (op.imm >> shift) as u32 & 0xFF);
    let fragments: [Fragment; 4] = std::array::from_fn(|i| {
        let head = ctx.extra(op.a + 3 * i as u32, 3);
        Fragment {
            at: head[0],
            regs: head[1],
            kind: head[2],
        }
    });
    let [d, a, b, c] = fragments;
    let mut out = Vec::with_capacity((m * n) as usize);
    for row in 0..m {
        for column in 0..n {
            let at = row * n + column;
            out.push(if c.kind == kind::S32 {
                let sum = (0..k).fold(c.int(ctx, at), |sum, i| {
                    sum + a.int(ctx, row * k + i) * b.int(ctx, i * n + column)
                });
                if op.aux == 1 {
                    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
                } else {
                    sum as u32
                }
            } else {
                let sum = (0..k).fold(c.float(ctx, at), |sum, i| {
                    a.float(ctx, row * k + i)
                        .mul_add(b.float(ctx, i * n + column), sum)
                });
                match d.kind {
                    kind::F16 => u32::from(F16::from_f32(sum).0),
                    _ if sum.is_nan() => 0x7FFF_FFFF,
                    _ => sum.to_bits(),
                }
            });
        }
    }
    for i in 0..32 * d.per_lane() {
        d.set(ctx, i, out[(i % (m * n)) as usize]);
    }
}

/// The slots of a fragment's registers, in the extra table.
fn fragment(
    l: &mut Lowerer,
    inst: &Inst,
    index: usize,
    kind: u32,
    is_target: bool,
) -> Result<Fragment, Error> {
    let regs = items(operand(l, inst, index)?);
    let mut slots = Vec::with_capacity(regs.len());
    for reg in regs {
        slots.push(if is_target {
            l.dst(reg)?.slot
        } else {
            l.src32(reg)?
        });
    }
    Ok(Fragment {
        regs: slots.len() as u32,
        at: l.extra(&slots),
        kind,
    })
}

/// `wmma`; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    if inst.op != Op::Wmma {
        return None;
    }
    let shape = shape(inst)?;
    let types: Vec<Type> = inst.quals.types().collect();
    if inst.quals.has(Qual::Mma) {
        let [d, c] = [kind_of(*types.first()?)?, kind_of(*types.last()?)?];
        // Of halves the types of A and B are not written.
        let ab = if types.len() == 2 {
            kind::F16
        } else {
            kind_of(types[1])?
        };
        return Some(mma(l, inst, shape, [d, ab, ab, c]));
    }
    let kind = kind_of(*types.first()?)?;
    Some(moving(l, inst, shape, kind))
}

fn mma(l: &mut Lowerer, inst: &Inst, shape: [u32; 3], kinds: [u32; 4]) -> Result<(), Error> {
    let mut heads = Vec::new();
    for (i, kind) in kinds.into_iter().enumerate() {
        let Fragment { at, regs, kind } = fragment(l, inst, i, kind, i == 0)?;
        heads.extend([at, regs, kind]);
    }
    let [m, n, k] = shape.map(u64::from);
    let a = l.extra(&heads);
    l.emit(MicroOp {
        a,
        imm: m | n << 8 | k << 16,
        aux: u32::from(inst.quals.has(Qual::Satfinite)),
        ..l.cold::<Product>()
    });
    Ok(())
}

fn moving(l: &mut Lowerer, inst: &Inst, shape: [u32; 3], kind: u32) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let [m, n, k] = shape;
    let is_store = has(Qual::Store);
    let (rows, columns) = if has(Qual::A) {
        (m, k)
    } else if has(Qual::B) {
        (k, n)
    } else {
        (m, n)
    };
    let by_columns = has(Qual::Col);
    let place = operand(l, inst, usize::from(!is_store))?;
    let (space, named) = match ldst::space_of(l, inst, place) {
        Space::Global => (ldst::place::GLOBAL, check::Space::Global),
        Space::Shared => (ldst::place::SHARED, check::Space::Shared),
        Space::Generic => (ldst::place::GENERIC, check::Space::Generic),
        Space::Local | Space::Const | Space::Param => return Err(l.unsupported(inst)),
    };
    let at = ldst::address(l, place)?;
    let a = if at.wide {
        l.splat::<u64>(at.src).slot
    } else {
        l.splat::<u32>(at.src).slot
    };
    let b = match inst.operands.get(2) {
        Some(stride) => l.src32(stride)?,
        None => {
            let tight = l.constant(u64::from(if by_columns { rows } else { columns }));
            l.splat::<u32>(tight).slot
        }
    };
    let fragment = fragment(l, inst, usize::from(is_store), kind, !is_store)?;
    let access = if is_store {
        check::Access::Write
    } else {
        check::Access::Read
    };
    let aux = checked::many(l, named, access, bits_of(kind) / 8, !is_store);
    let flags = u32::from(by_columns) | u32::from(is_store) << 1 | u32::from(at.wide) << 2;
    l.emit(MicroOp {
        dst: fragment.at,
        a,
        b,
        c: rows << 16 | columns,
        imm: at.offset,
        aux,
        more: [fragment.regs, kind, space, flags],
        ..l.cold::<Move>()
    });
    Ok(())
}
