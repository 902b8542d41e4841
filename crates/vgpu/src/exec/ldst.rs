//! `ld` and `st` in every state space: one block move where lanes are neighbours, lane by lane otherwise.

use super::{
    Ctx, Handler, MicroOp, columns,
    flow::SPIN_COST,
    lane::{Cell, first_of_run, lanes},
    mov, operand,
};
use crate::{
    Tier,
    error::Error,
    lower::{Dst, Lowerer, Src, roles},
    memory::{Window, Word},
};
use std::{
    marker::PhantomData,
    sync::atomic::{Ordering, fence},
};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// A memory element: its width and how it widens to a cell.
pub(super) trait Element: 'static {
    type Mem: Word;
    type Cell: Cell;
    fn widen(value: Self::Mem) -> Self::Cell;
    fn narrow(cell: Self::Cell) -> Self::Mem;
    /// Hands out the rows of all lanes as registers.
    #[inline(always)]
    fn columns<const N: usize>(
        block: &[[Self::Mem; N]; 32],
        mut put: impl FnMut(usize, [Self::Cell; 32]),
    ) {
        for k in 0..N {
            put(k, lanes(|i| Self::widen(block[i][k])));
        }
    }
    /// The inverse of [`Element::columns`].
    #[inline(always)]
    fn rows<const N: usize>(columns: [&[Self::Cell; 32]; N]) -> [[Self::Mem; N]; 32] {
        let mut block = [[Self::Mem::default(); N]; 32];
        for (k, column) in columns.into_iter().enumerate() {
            for i in 0..32 {
                block[i][k] = Self::narrow(column[i]);
            }
        }
        block
    }
}

/// Columns and rows of words, by `four` and `rows` where there are four to a lane.
macro_rules! words {
    ($four:path, $rows:path) => {
        #[inline(always)]
        fn columns<const N: usize>(block: &[[u32; N]; 32], mut put: impl FnMut(usize, [u32; 32])) {
            if let Ok(block) = <&[u32; 128]>::try_from(block.as_flattened()) {
                for (k, column) in $four(block).into_iter().enumerate() {
                    put(k, column);
                }
                return;
            }
            for k in 0..N {
                put(k, lanes(|i| block[i][k]));
            }
        }
        #[inline(always)]
        fn rows<const N: usize>(columns: [&[u32; 32]; N]) -> [[u32; N]; 32] {
            let mut block = [[0; N]; 32];
            if let (&[a, b, c, d], Ok(to)) = (
                &columns[..],
                <&mut [u32; 128]>::try_from(block.as_flattened_mut()),
            ) {
                *to = $rows([a, b, c, d]);
                return block;
            }
            for (k, column) in columns.into_iter().enumerate() {
                for i in 0..32 {
                    block[i][k] = column[i];
                }
            }
            block
        }
    };
}

macro_rules! elements {
    ($($name:ident, $mem:ty, $cell:ty, $via:ty { $($more:item)* };)*) => {$(
        pub(super) struct $name;
        impl Element for $name {
            type Mem = $mem;
            type Cell = $cell;
            #[inline(always)]
            fn widen(value: $mem) -> $cell {
                value as $via as $cell
            }
            #[inline(always)]
            fn narrow(cell: $cell) -> $mem {
                cell as $mem
            }
            $($more)*
        }
    )*};
}
elements! {
    Byte, u8, u32, u8 {};
    Half, u16, u32, u16 {};
    Single, u32, u32, u32 { words!(columns::four, columns::rows); };
    // The same for the AVX-512 tier.
    Wide, u32, u32, u32 { words!(columns::four_wide, columns::rows_wide); };
    Double, u64, u64, u64 {};
}

/// State spaces as `aux` of an access holds them.
pub(super) mod place {
    pub(in crate::exec) const GLOBAL: u32 = 0;
    pub(in crate::exec) const SHARED: u32 = 1;
    pub(in crate::exec) const LOCAL: u32 = 2;
    pub(in crate::exec) const GENERIC: u32 = 3;
}

/// Bytes from the first address of the shared window to the end of the local one.
const WINDOWS: u64 = crate::memory::LOCAL_BASE + crate::memory::WINDOW - crate::memory::SHARED_BASE;

/// The window of an address and the address in it, for one lane.
#[inline(always)]
pub(super) fn window(ctx: &Ctx, place: u32, address: u64, lane: u32) -> (Window, u64) {
    match place {
        place::GLOBAL => (ctx.global, address),
        place::SHARED => (ctx.shared, address),
        place::LOCAL => (ctx.local, ctx.local_address(address, lane)),
        _ => {
            let (window, address) = ctx.generic(address, lane);
            (*window, address)
        }
    }
}

/// The same where lanes share memory; `None` where each has its own.
#[inline(always)]
pub(super) fn common(ctx: &Ctx, place: u32, address: u64) -> Option<(Window, u64)> {
    let local = match place {
        place::GLOBAL | place::SHARED => false,
        place::LOCAL => true,
        _ => address.wrapping_sub(crate::memory::LOCAL_BASE) < crate::memory::WINDOW,
    };
    if local {
        None
    } else {
        Some(window(ctx, place, address, 0))
    }
}

/// Where the 32 accesses of `step` bytes start, if the active lanes' are neighbours in order.
#[inline(always)]
fn start<C: Cell>(ctx: &Ctx, op: &MicroOp, step: u64) -> Option<u64> {
    let base = first_of_run(ctx.cells::<C>(op.a), step as u32, ctx.mask)?;
    let base = C::narrow(base.widen().wrapping_add(op.imm)).widen();
    base.is_multiple_of(step).then_some(base)
}

#[inline(always)]
fn slots(op: &MicroOp) -> [u32; 4] {
    [op.dst, op.more[0], op.more[1], op.more[2]]
}

/// `N` elements per lane from varying addresses in `a` plus `imm`.
pub(super) struct Load<E, C, const N: usize>(PhantomData<(E, C)>);

/// Neighbours' elements from `address` on, which lies in a memory that all lanes share; `false` if they do not.
#[inline(always)]
pub(super) fn load_run<E: Element, const N: usize>(
    ctx: &mut Ctx,
    window: Window,
    address: u64,
    slots: [u32; 4],
) -> bool {
    let mut block = [[E::Mem::default(); N]; 32];
    let read = window.read_block_of_run(address, &mut block);
    if read {
        E::columns(&block, |k, column| ctx.put_cells(slots[k], column));
    }
    read
}

impl<E: Element, C: Cell, const N: usize> Handler for Load<E, C, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let step = (N * size_of::<E::Mem>()) as u64;
        if let Some(address) = start::<C>(ctx, op, step)
            && let Some((window, address)) = common(ctx, op.aux, address)
        {
            let mut block = [[E::Mem::default(); N]; 32];
            // Global memory is mostly read on and on; the caches are slow to notice where a warp reads two rows in turn.
            let read = if op.aux == place::GLOBAL {
                window.read_block_of_run(address, &mut block)
            } else {
                window.read_block(address, &mut block)
            };
            if read {
                E::columns(&block, |k, column| ctx.put_cells(slots(op)[k], column));
                return;
            }
        }
        load_apart::<E, C, N>(ctx, op);
    }
}

/// The addresses of the active lanes in the window they share, those of the others being that of an active one;
/// `None` where windows differ.
#[inline(always)]
fn addresses<C: Cell>(ctx: &Ctx, op: &MicroOp) -> Option<(Window, [u64; 32])> {
    let at = ctx.cells::<C>(op.a);
    let mask = ctx.mask;
    let first = at[mask.trailing_zeros() as usize & 31];
    let full = |i: usize| C::narrow(at[i].widen().wrapping_add(op.imm)).widen();
    let all = if mask == !0 {
        lanes(full)
    } else {
        let spare = C::narrow(first.widen().wrapping_add(op.imm)).widen();
        lanes(|i| if mask >> i & 1 != 0 { full(i) } else { spare })
    };
    match op.aux {
        place::GLOBAL => Some((ctx.global, all)),
        place::SHARED => Some((ctx.shared, all)),
        place::LOCAL => {
            let own = |i: usize| ctx.local_address(all[i], i as u32);
            (mask == !0).then(|| (ctx.local, lanes(own)))
        }
        _ => {
            let special = |at: u64| at.wrapping_sub(crate::memory::SHARED_BASE) < WINDOWS;
            (!all.iter().any(|at| special(*at))).then_some((ctx.global, all))
        }
    }
}

#[inline(always)]
fn load_apart<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &MicroOp) {
    if let Some((window, at)) = addresses::<C>(ctx, op)
        && let Some(block) = window.gather::<E::Mem, N>(&at)
    {
        E::columns(&block, |k, column| ctx.put_cells(slots(op)[k], column));
        return;
    }
    load_one_by_one::<E, C, N>(ctx, op);
}

#[inline(never)]
fn load_one_by_one<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &MicroOp) {
    let at = *ctx.cells::<C>(op.a);
    let mut out = [[E::Cell::default(); 32]; N];
    let mut last: Option<(C, u32)> = None;
    let mut rest = ctx.mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let own = at[lane as usize];
        if let Some((seen, from)) = last
            && seen == own
            && common(ctx, op.aux, own.widen()).is_some()
        {
            for column in &mut out {
                column[lane as usize] = column[from as usize];
            }
            continue;
        }
        let address = C::narrow(own.widen().wrapping_add(op.imm)).widen();
        let (window_of, place) = window(ctx, op.aux, address, lane);
        match load_row::<E, N>(&window_of, place) {
            Ok(row) => {
                for k in 0..N {
                    out[k][lane as usize] = E::widen(row[k]);
                }
            }
            Err(bad) => {
                let bytes = (N * size_of::<E::Mem>()) as u32;
                ctx.refuse(op, bad, lane, address, bytes);
            }
        }
        last = Some((own, lane));
    }
    for (k, slot) in slots(op).into_iter().take(N).enumerate() {
        ctx.put_cells(slot, out[k]);
    }
}

#[inline(always)]
fn load_row<E: Element, const N: usize>(
    window: &Window,
    address: u64,
) -> Result<[E::Mem; N], crate::memory::Bad> {
    let size = size_of::<E::Mem>() as u64;
    let mut row = [E::Mem::default(); N];
    if N > 1 && !address.is_multiple_of(N as u64 * size) {
        return Err(crate::memory::Bad::Align);
    }
    for (k, value) in row.iter_mut().enumerate() {
        *value = window.load(address.wrapping_add(k as u64 * size))?;
    }
    Ok(row)
}

/// `N` elements from the scalar address in `a` plus `imm`, to scalars.
struct LoadScalar<E, C, const N: usize>(PhantomData<(E, C)>);

impl<E: Element, C: Cell, const N: usize> Handler for LoadScalar<E, C, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let address = C::narrow(ctx.scalar(op.a).wrapping_add(op.imm)).widen();
        let lane = ctx.mask.trailing_zeros() & 31;
        let (window_of, place) = window(ctx, op.aux, address, lane);
        let row = load_row::<E, N>(&window_of, place).unwrap_or_else(|bad| {
            let bytes = (N * size_of::<E::Mem>()) as u32;
            ctx.refuse(op, bad, lane, address, bytes);
            [E::Mem::default(); N]
        });
        for (k, slot) in slots(op).into_iter().take(N).enumerate() {
            ctx.set_scalar(slot, E::widen(row[k]).widen());
        }
    }
}

/// `N` elements per lane to varying addresses in `a` plus `imm`; the values are in `dst` and `more`.
struct Store<E, C, const N: usize>(PhantomData<(E, C)>);

impl<E: Element, C: Cell, const N: usize> Handler for Store<E, C, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let step = (N * size_of::<E::Mem>()) as u64;
        if ctx.mask == !0
            && let Some(address) = start::<C>(ctx, op, step)
            && let Some((window, address)) = common(ctx, op.aux, address)
        {
            let block = values::<E, N>(ctx, op);
            if window.write_block(address, &block) {
                return;
            }
        }
        store_apart::<E, C, N>(ctx, op);
    }
}

/// What each lane stores.
#[inline(always)]
fn values<E: Element, const N: usize>(ctx: &Ctx, op: &MicroOp) -> [[E::Mem; N]; 32] {
    let slots = slots(op);
    E::rows(std::array::from_fn::<_, N, _>(|k| ctx.cells(slots[k])))
}

#[inline(always)]
fn store_apart<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &MicroOp) {
    if let Some((window, at)) = addresses::<C>(ctx, op) {
        let block = values::<E, N>(ctx, op);
        if window.scatter::<E::Mem, N>(&at, &block, ctx.mask) {
            return;
        }
    }
    store_one_by_one::<E, C, N>(ctx, op);
}

#[inline(never)]
fn store_one_by_one<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &MicroOp) {
    let at = *ctx.cells::<C>(op.a);
    let mut rest = ctx.mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let address = C::narrow(at[lane as usize].widen().wrapping_add(op.imm)).widen();
        store_row::<E, N>(ctx, op, address, lane, lane);
    }
}

/// The values of lane `from`, as `lane`'s access.
#[inline(always)]
fn store_row<E: Element, const N: usize>(
    ctx: &mut Ctx,
    op: &MicroOp,
    address: u64,
    lane: u32,
    from: u32,
) {
    let size = size_of::<E::Mem>() as u64;
    let (window_of, place) = window(ctx, op.aux, address, lane);
    let mut done = Ok(());
    if N > 1 && !place.is_multiple_of(N as u64 * size) {
        done = Err(crate::memory::Bad::Align);
    }
    for (k, slot) in slots(op).into_iter().take(N).enumerate() {
        let value = E::narrow(ctx.cells::<E::Cell>(slot)[from as usize]);
        done = done.and_then(|()| window_of.store(place.wrapping_add(k as u64 * size), value));
    }
    if let Err(bad) = done {
        ctx.refuse(op, bad, lane, address, (N as u64 * size) as u32);
    }
}

/// `N` elements to the scalar address in `a` plus `imm`: the last lane's stay.
struct StoreScalar<E, C, const N: usize>(PhantomData<(E, C)>);

impl<E: Element, C: Cell, const N: usize> Handler for StoreScalar<E, C, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let address = C::narrow(ctx.scalar(op.a).wrapping_add(op.imm)).widen();
        if common(ctx, op.aux, address).is_some() {
            let lane = 31 - ctx.mask.leading_zeros().min(31);
            store_row::<E, N>(ctx, op, address, lane, lane);
            return;
        }
        let mut rest = ctx.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            store_row::<E, N>(ctx, op, address, lane, lane);
        }
    }
}

/// Parameter bytes at offset `imm` plus the lanes (or, if `b` is 1, the scalar) of `a`; `c` bytes each,
/// sign-extended from `aux` bits where that is not 0.
struct LoadParam;

impl Handler for LoadParam {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        load_param(ctx, op);
    }
}

#[inline(never)]
fn load_param(ctx: &mut Ctx, op: &MicroOp) {
    let bytes = op.c;
    let read = |ctx: &mut Ctx, offset: u64, lane: u32| {
        let mut value = [0u8; 8];
        let range = usize::try_from(offset)
            .ok()
            .and_then(|at| ctx.view.params.get(at..at.checked_add(bytes as usize)?));
        match range {
            Some(range) => value[..bytes as usize].copy_from_slice(range),
            None => ctx.refuse(op, crate::memory::Bad::Bounds, lane, offset, bytes),
        }
        extend(u64::from_le_bytes(value), op.aux)
    };
    if op.b == 1 {
        let offset = ctx.scalar(op.a).wrapping_add(op.imm);
        let value = read(ctx, offset, 0);
        ctx.set_scalar(op.dst, value);
        return;
    }
    let wide = op.more[0] == 1;
    let mut out = [0u64; 32];
    for lane in 0..32u32 {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let own = if op.more[1] == 1 {
            ctx.cells::<u64>(op.a)[lane as usize]
        } else {
            u64::from(ctx.cells::<u32>(op.a)[lane as usize])
        };
        out[lane as usize] = read(ctx, own.wrapping_add(op.imm), lane);
    }
    if wide {
        ctx.put_cells(op.dst, out);
    } else {
        ctx.put_cells(op.dst, lanes(|i| out[i] as u32));
    }
}

/// Sign-extends from `bits` where that is not 0.
pub(crate) fn extend(value: u64, bits: u32) -> u64 {
    match bits {
        1..=63 => ((value << (64 - bits)) as i64 >> (64 - bits)) as u64,
        _ => value,
    }
}

struct Acquire;
impl Handler for Acquire {
    #[inline(always)]
    fn run(ctx: &mut Ctx, _: &MicroOp) {
        fence(Ordering::Acquire);
        ctx.fuel -= SPIN_COST;
    }
}

struct Release;
impl Handler for Release {
    #[inline(always)]
    fn run(_: &mut Ctx, _: &MicroOp) {
        fence(Ordering::Release);
    }
}

/// What an access says apart from its operands.
struct Access {
    space: Space,
    ty: Type,
    count: usize,
    ordered: bool,
}

/// The address operand: a slot plus a constant.
pub(super) struct At {
    pub(super) src: Src,
    pub(super) wide: bool,
    pub(super) offset: u64,
}

/// The slot and constant of an address in `space`.
pub(super) fn address(l: &mut Lowerer, operand: &Operand) -> Result<At, Error> {
    let Operand::Addr(Address { base, offset }) = operand else {
        return Err(l.refuse("an address of this form".to_owned()));
    };
    let offset = *offset as u64;
    Ok(match base {
        Base::Reg(reg) => {
            let bits = l.type_of(*reg).bits();
            let src = l.src(&Operand::Reg(*reg), bits)?;
            At {
                src,
                wide: bits > 32,
                offset,
            }
        }
        Base::Var(var) => {
            let src = l.src(&Operand::Var(*var, 0), 64)?;
            At {
                src,
                wide: true,
                offset,
            }
        }
        Base::Absolute => At {
            src: l.constant(0),
            wide: true,
            offset,
        },
    })
}

/// The space an access is in: named, or that of the variable it names.
pub(super) fn space_of(l: &Lowerer, inst: &Inst, operand: &Operand) -> Space {
    match (roles::space(inst), operand) {
        (
            Space::Generic,
            Operand::Addr(Address {
                base: Base::Var(var),
                ..
            }),
        ) => l.space_of(*var).unwrap_or(Space::Generic),
        (space, _) => space,
    }
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let Some(ty) = q.types().next() else {
        return Err(l.unsupported(inst));
    };
    let is_store = inst.op == Op::St;
    let place = operand(l, inst, usize::from(!is_store))?;
    let access = Access {
        space: space_of(l, inst, place),
        ty,
        count: if q.has(Qual::V8) {
            8
        } else if q.has(Qual::V4) {
            4
        } else if q.has(Qual::V2) {
            2
        } else {
            1
        },
        ordered: [
            Qual::Volatile,
            Qual::Acquire,
            Qual::Relaxed,
            Qual::Mmio,
            Qual::Release,
        ]
        .iter()
        .any(|word| q.has(*word)),
    };
    if access.count == 8 || ty.bytes() > 8 || ty == Type::Pred {
        return Err(l.unsupported(inst));
    }
    if is_store {
        lower_store(l, inst, &access)
    } else {
        lower_load(l, inst, &access)
    }
}

/// The elements of a vector operand, or the operand alone.
pub(super) fn items(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vec(items) => items,
        _ => std::slice::from_ref(operand),
    }
}

fn lower_load(l: &mut Lowerer, inst: &Inst, access: &Access) -> Result<(), Error> {
    let to = items(operand(l, inst, 0)?);
    let at = address(l, operand(l, inst, 1)?)?;
    if to.len() != access.count {
        return Err(l.unsupported(inst));
    }
    if access.space == Space::Param {
        return load_params(l, access, to, &at);
    }
    let private = access.space == Space::Local
        || (access.space == Space::Generic && l.layout().local_bytes != 0);
    let scalar = at.src.uniform && !private;
    let mut op = MicroOp {
        imm: at.offset,
        ..pick(l, access, &at, scalar, Direction::Load)
    };
    op.a = if scalar {
        at.src.slot
    } else {
        varying_address(l, &at)
    };
    // Where each element lands, and what is left to do to bring it to its register.
    let mut places = [0u32; 4];
    let mut after = Vec::new();
    for (k, item) in to.iter().enumerate() {
        let dst = l.dst(item)?;
        let bits = l.reg_bits(item).unwrap_or(access.ty.bits());
        let direct = dst.uniform == scalar && (scalar || (bits > 32) == (access.ty.bits() > 32));
        places[k] = if direct { dst.slot } else { l.temp() };
        let extends = access.ty.is_signed() && access.ty.bits() < bits;
        if !direct || extends {
            after.push((dst, places[k], bits));
        }
    }
    op.dst = places[0];
    op.more[..3].copy_from_slice(&places[1..]);
    l.emit(op);
    for (dst, from, bits) in after {
        land(l, access.ty, scalar, dst, from, bits);
    }
    if access.ordered {
        let op = l.cold::<Acquire>();
        l.emit(op);
    }
    Ok(())
}

/// Brings an element to a register of another width or shape, and extends its sign.
fn land(l: &mut Lowerer, ty: Type, scalar: bool, dst: Dst, from: u32, bits: u32) {
    let src = if ty.is_signed() && ty.bits() < 32 {
        mov::emit_extend(l, from, scalar, ty);
        from
    } else {
        from
    };
    if scalar {
        let wide = if bits > 32 && ty.bits() < 64 && ty.is_signed() {
            let to = l.scalar_for(dst);
            mov::emit_sign_extend(l, to, src);
            to
        } else {
            src
        };
        if dst.uniform {
            if wide != dst.slot {
                mov::emit_copy_scalar(l, dst.slot, wide);
            }
        } else if bits > 32 {
            l.spread::<u64>(dst, wide);
        } else {
            l.spread::<u32>(dst, wide);
        }
    } else if dst.slot != src {
        let small = if ty.bits() < 32 && ty.is_signed() {
            Type::S32
        } else {
            ty
        };
        mov::emit_resize(l, dst.slot, src, small, bits);
    }
}

fn load_params(l: &mut Lowerer, access: &Access, to: &[Operand], at: &At) -> Result<(), Error> {
    let bytes = access.ty.bytes();
    for (k, item) in to.iter().enumerate() {
        let dst = l.dst(item)?;
        let bits = l.reg_bits(item).unwrap_or(access.ty.bits());
        let slot = if at.src.uniform {
            l.scalar_for(dst)
        } else {
            dst.slot
        };
        let op = MicroOp {
            dst: slot,
            a: at.src.slot,
            b: u32::from(at.src.uniform),
            c: bytes,
            aux: if access.ty.is_signed() { 8 * bytes } else { 0 },
            imm: at.offset.wrapping_add(k as u64 * u64::from(bytes)),
            more: [u32::from(bits > 32), u32::from(at.wide), 0, 0],
            ..l.cold::<LoadParam>()
        };
        l.emit(op);
        if at.src.uniform {
            if bits > 32 {
                l.spread::<u64>(dst, slot);
            } else {
                l.spread::<u32>(dst, slot);
            }
        }
    }
    Ok(())
}

fn varying_address(l: &mut Lowerer, at: &At) -> u32 {
    if at.wide {
        l.splat::<u64>(at.src).slot
    } else {
        l.splat::<u32>(at.src).slot
    }
}

fn lower_store(l: &mut Lowerer, inst: &Inst, access: &Access) -> Result<(), Error> {
    let at = address(l, operand(l, inst, 0)?)?;
    let from = items(operand(l, inst, 1)?);
    if from.len() != access.count || matches!(access.space, Space::Param | Space::Const) {
        return Err(l.unsupported(inst));
    }
    let mut places = [0u32; 4];
    for (k, item) in from.iter().enumerate() {
        places[k] = if access.ty.bits() > 32 {
            l.src64(item)?
        } else {
            l.src32(item)?
        };
    }
    if inst.quals.has(Qual::Release) {
        let op = l.cold::<Release>();
        l.emit(op);
    }
    let scalar = at.src.uniform;
    let mut op = MicroOp {
        a: at.src.slot,
        imm: at.offset,
        ..pick(l, access, &at, scalar, Direction::Store)
    };
    op.dst = places[0];
    op.more[..3].copy_from_slice(&places[1..]);
    l.emit(op);
    Ok(())
}

#[derive(Clone, Copy)]
enum Direction {
    Load,
    Store,
}

fn pick(l: &Lowerer, access: &Access, at: &At, scalar: bool, way: Direction) -> MicroOp {
    let op = match access.ty.bits() {
        0..=8 => by_count::<Byte>(l, access.count, at, scalar, way),
        9..=16 => by_count::<Half>(l, access.count, at, scalar, way),
        17..=32 if access.count == 4 && l.tier() == Tier::Avx512 => {
            by_count::<Wide>(l, access.count, at, scalar, way)
        }
        17..=32 => by_count::<Single>(l, access.count, at, scalar, way),
        33.. => by_count::<Double>(l, access.count, at, scalar, way),
    };
    let aux = match access.space {
        Space::Global | Space::Const | Space::Param => place::GLOBAL,
        Space::Shared => place::SHARED,
        Space::Local => place::LOCAL,
        Space::Generic => place::GENERIC,
    };
    MicroOp { aux, ..op }
}

fn by_count<E: Element>(
    l: &Lowerer,
    count: usize,
    at: &At,
    scalar: bool,
    way: Direction,
) -> MicroOp {
    match count {
        4 => by_shape::<E, 4>(l, at, scalar, way),
        2 => by_shape::<E, 2>(l, at, scalar, way),
        _ => by_shape::<E, 1>(l, at, scalar, way),
    }
}

fn by_shape<E: Element, const N: usize>(
    l: &Lowerer,
    at: &At,
    scalar: bool,
    way: Direction,
) -> MicroOp {
    match (way, scalar, at.wide) {
        (Direction::Load, false, true) => l.op::<Load<E, u64, N>>(),
        (Direction::Load, false, false) => l.op::<Load<E, u32, N>>(),
        (Direction::Load, true, true) => l.op::<LoadScalar<E, u64, N>>(),
        (Direction::Load, true, false) => l.op::<LoadScalar<E, u32, N>>(),
        (Direction::Store, false, true) => l.op::<Store<E, u64, N>>(),
        (Direction::Store, false, false) => l.op::<Store<E, u32, N>>(),
        (Direction::Store, true, true) => l.cold::<StoreScalar<E, u64, N>>(),
        (Direction::Store, true, false) => l.cold::<StoreScalar<E, u32, N>>(),
    }
}
