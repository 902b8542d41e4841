//! `wmma`: fragments whose layout is ours (PTX ISA 9.7.14.4 leaves it open).
//!
//! A fragment's elements are numbered lane by lane; element `i` is the matrix's element `i` in rows, and
//! those beyond the matrix repeat it. Products take k in ascending order from C, fused, in f32.

use super::super::{
    AccessId, Ctx, Handler, Micro, Offset, Slot, Words, args, checked, choices,
    half::{Bf16, F16},
    ldst::{self, Memory, items},
    operand,
    show::Show,
};
use crate::{
    build::Lowerer,
    check,
    error::Error,
    memory::{Bad, Window},
    op::Frame,
};
use warpsmith_ptx::{
    ir::Inst,
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

choices! {
    /// The element types.
    enum Kind {
        F16,
        Bf16,
        F32,
        S32,
        U8,
        S8,
    }
}

fn kind_of(ty: Type) -> Option<Kind> {
    Some(match ty {
        Type::F16 => Kind::F16,
        Type::BF16 => Kind::Bf16,
        Type::F32 => Kind::F32,
        Type::S32 => Kind::S32,
        Type::U8 => Kind::U8,
        Type::S8 => Kind::S8,
        _ => return None,
    })
}

/// By their number in the extra table.
const KINDS: [Kind; 6] = [
    Kind::F16,
    Kind::Bf16,
    Kind::F32,
    Kind::S32,
    Kind::U8,
    Kind::S8,
];

fn bits_of(kind: Kind) -> u32 {
    match kind {
        Kind::F16 | Kind::Bf16 => 16,
        Kind::U8 | Kind::S8 => 8,
        Kind::F32 | Kind::S32 => 32,
    }
}

/// Rows, columns of A and columns of the result.
fn shape(inst: &Inst) -> Option<[u8; 3]> {
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
    at: Words,
    regs: u16,
    kind: Kind,
}

impl Show for Fragment {
    fn show(&self, frame: &Frame) -> String {
        let (at, kind) = (self.at.show(frame), self.kind.show(frame));
        format!("{}x{kind}:{at}", self.regs)
    }
}

impl Fragment {
    fn per_lane(self) -> u32 {
        u32::from(self.regs) * 32 / bits_of(self.kind)
    }

    /// Register, lane and shift of element `i`.
    fn place(self, i: u32) -> (u32, usize, u32) {
        let bits = bits_of(self.kind);
        let (lane, own) = (i / self.per_lane(), i % self.per_lane());
        (own * bits / 32, (lane % 32) as usize, own * bits % 32)
    }

    fn get(self, ctx: &Ctx, i: u32) -> u32 {
        let (reg, lane, shift) = self.place(i);
        let slot = ctx.extra(self.at, usize::from(self.regs))[reg as usize];
        let bits = ctx.cells::<u32>(Slot(slot))[lane] >> shift;
        bits & (u32::MAX >> (32 - bits_of(self.kind)))
    }

    fn set(self, ctx: &mut Ctx, i: u32, value: u32) {
        let (reg, lane, shift) = self.place(i);
        let slot = ctx.extra(self.at, usize::from(self.regs))[reg as usize];
        let mask = (u32::MAX >> (32 - bits_of(self.kind))) << shift;
        let cell = &mut ctx.cells_mut::<u32>(Slot(slot))[lane];
        *cell = *cell & !mask | value << shift & mask;
    }

    fn float(self, ctx: &Ctx, i: u32) -> f32 {
        let bits = self.get(ctx, i);
        match self.kind {
            Kind::F16 => F16(bits as u16).to_f32(),
            Kind::Bf16 => Bf16(bits as u16).to_f32(),
            Kind::F32 | Kind::S32 | Kind::U8 | Kind::S8 => f32::from_bits(bits),
        }
    }

    fn int(self, ctx: &Ctx, i: u32) -> i64 {
        let bits = self.get(ctx, i);
        match self.kind {
            Kind::U8 => i64::from(bits as u8),
            Kind::S8 => i64::from(bits as i8),
            Kind::F16 | Kind::Bf16 | Kind::F32 | Kind::S32 => i64::from(bits as i32),
        }
    }
}

args! {
    struct Motion {
        fragment: Fragment,
        /// Of the matrix.
        rows: u8,
        columns: u8,
        memory: Memory,
        by_columns: bool,
        stores: bool,
        /// Addresses of 64 bits.
        wide: bool,
        at: Slot,
        /// Elements from one row or column to the next: lanes.
        stride: Slot,
        offset: Offset,
        access: AccessId,
    }

    struct Multiplication {
        /// The fragments of D, A, B and C: three words each.
        fragments: Words,
        m: u8,
        n: u8,
        k: u8,
        saturates: bool,
    }
}

/// A fragment from or to memory.
struct Move;
impl Handler for Move {
    type Args = Motion;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Motion>) {
        moves(ctx, op);
    }
}

#[inline(never)]
fn moves(ctx: &mut Ctx, op: &Micro<Motion>) {
    let (fragment, is_store) = (op.fragment, op.stores);
    let (rows, columns) = (u32::from(op.rows), u32::from(op.columns));
    let bytes = bits_of(fragment.kind) / 8;
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
            mask &= !checked::each_of_many(ctx, op.span(), op.access, mask, addresses);
        }
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let i = lane * fragment.per_lane() + own;
            let address = addresses[lane as usize];
            let (window, at) = ldst::window(ctx, op.memory, address, lane);
            let done = if is_store {
                store(&window, at, bytes, fragment.get(ctx, i))
            } else {
                load(&window, at, bytes).map(|value| fragment.set(ctx, i, value))
            };
            if let Err(bad) = done {
                ctx.refuse(op.span(), bad, lane, address, bytes);
                return;
            }
        }
    }
}

/// The address of element `i` of a fragment.
fn address(ctx: &Ctx, op: &Motion, i: u32) -> u64 {
    let (rows, columns) = (u32::from(op.rows), u32::from(op.columns));
    let lane = i / op.fragment.per_lane();
    let element = i % (rows * columns);
    let (row, column) = (element / columns, element % columns);
    let stride = u64::from(ctx.cells::<u32>(op.stride)[lane as usize]);
    let index = if op.by_columns {
        u64::from(column) * stride + u64::from(row)
    } else {
        u64::from(row) * stride + u64::from(column)
    };
    let bytes = u64::from(bits_of(op.fragment.kind) / 8);
    let offset = op.offset.get().wrapping_add(index * bytes);
    if op.wide {
        ctx.cells::<u64>(op.at)[lane as usize].wrapping_add(offset)
    } else {
        u64::from(ctx.cells::<u32>(op.at)[lane as usize].wrapping_add(offset as u32))
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

/// `d = a b + c`.
struct Product;
impl Handler for Product {
    type Args = Multiplication;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Multiplication>) {
        product(ctx, op);
    }
}

#[inline(never)]
fn product(ctx: &mut Ctx, op: &Micro<Multiplication>) {
    let [m, n, k] = [op.m, op.n, op.k].map(u32::from);
    let fragments: [Fragment; 4] = std::array::from_fn(|i| {
        let head = ctx.extra(op.fragments.behind(3 * i as u32), 3);
        Fragment {
            at: Words(head[0]),
            regs: head[1] as u16,
            kind: KINDS[head[2] as usize % KINDS.len()],
        }
    });
    let [d, a, b, c] = fragments;
    let mut out = Vec::with_capacity((m * n) as usize);
    for row in 0..m {
        for column in 0..n {
            let at = row * n + column;
            out.push(if c.kind == Kind::S32 {
                let sum = (0..k).fold(c.int(ctx, at), |sum, i| {
                    sum + a.int(ctx, row * k + i) * b.int(ctx, i * n + column)
                });
                if op.saturates {
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
                    Kind::F16 => u32::from(F16::from_f32(sum).0),
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
    kind: Kind,
    is_target: bool,
) -> Result<Fragment, Error> {
    let regs = items(operand(l, inst, index)?);
    let mut slots = Vec::with_capacity(regs.len());
    for reg in regs {
        let slot = if is_target {
            l.dst(reg)?.slot
        } else {
            l.src32(reg)?
        };
        slots.push(slot.0);
    }
    Ok(Fragment {
        regs: slots.len() as u16,
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
            Kind::F16
        } else {
            kind_of(types[1])?
        };
        return Some(mma(l, inst, shape, [d, ab, ab, c]));
    }
    let kind = kind_of(*types.first()?)?;
    Some(moving(l, inst, shape, kind))
}

fn mma(l: &mut Lowerer, inst: &Inst, shape: [u8; 3], kinds: [Kind; 4]) -> Result<(), Error> {
    let mut heads = Vec::new();
    for (i, kind) in kinds.into_iter().enumerate() {
        let Fragment { at, regs, kind } = fragment(l, inst, i, kind, i == 0)?;
        heads.extend([at.0, u32::from(regs), kind as u32]);
    }
    let [m, n, k] = shape;
    let args = Multiplication {
        fragments: l.extra(&heads),
        m,
        n,
        k,
        saturates: inst.quals.has(Qual::Satfinite),
    };
    l.emit(l.cold::<Product>(args));
    Ok(())
}

fn moving(l: &mut Lowerer, inst: &Inst, shape: [u8; 3], kind: Kind) -> Result<(), Error> {
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
    let (memory, named) = match ldst::space_of(l, inst, place) {
        Space::Global => (Memory::Global, check::Space::Global),
        Space::Shared => (Memory::Shared, check::Space::Shared),
        Space::Generic => (Memory::Generic, check::Space::Generic),
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
    let access = checked::many(l, named, access, bits_of(kind) / 8, !is_store);
    let args = Motion {
        fragment,
        rows,
        columns,
        memory,
        by_columns,
        stores: is_store,
        wide: at.wide,
        at: a,
        stride: b,
        offset: Offset::new(at.offset),
        access,
    };
    l.emit(l.cold::<Move>(args));
    Ok(())
}
