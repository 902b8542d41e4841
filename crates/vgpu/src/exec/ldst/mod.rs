//! `ld` and `st` in every state space: one block move where lanes are neighbours, lane by lane otherwise.

mod lower;

pub(super) use lower::{At, address, items, lower, memory_of, space_of};

use super::{
    Base, Ctx, Handler, Micro, Slot, args, columns,
    lane::{Cell, first_of_run, lanes},
};
pub(super) use crate::op::Memory;
use crate::op::SPIN_COST;
use crate::{
    error::{FaultKind, Misuse},
    memory::{Window, Word},
};
use std::{
    marker::PhantomData,
    sync::atomic::{Ordering, fence},
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

args! {
    /// A load or a store.
    pub(super) struct Transfer {
        /// Where the elements of each lane go, or come from.
        pub(super) data: [Slot; 4],
        /// The addresses, and what is added to them.
        pub(super) at: Slot,
        pub(super) memory: Memory,
        pub(super) offset: u64,
    }

    /// A load of parameters.
    struct ParamTransfer {
        dst: Slot,
        /// Whether that has cells of 64 bits.
        wide: bool,
        at: Base,
        offset: u64,
        bytes: u32,
        /// From how many bits the sign is extended, or 0.
        signed: u32,
    }
}

/// Bytes from the first address of the shared window to the end of that of parameters, behind the local one.
const WINDOWS: u64 = crate::memory::PARAM_BASE + crate::memory::WINDOW - crate::memory::SHARED_BASE;

/// The window of an address and the address in it, for one lane.
#[inline(always)]
pub(super) fn window(ctx: &Ctx, memory: Memory, address: u64, lane: u32) -> (Window, u64) {
    match memory {
        Memory::Global => (ctx.global, address),
        Memory::Shared => (ctx.shared, address),
        Memory::Local => (ctx.local, ctx.local_address(address, lane)),
        Memory::Generic => {
            let (window, address) = ctx.generic(address, lane);
            (*window, address)
        }
    }
}

/// The same where lanes share memory; `None` where each has its own, and for parameters, which are not written.
#[inline(always)]
pub(super) fn common(ctx: &Ctx, memory: Memory, address: u64) -> Option<(Window, u64)> {
    let local = match memory {
        Memory::Global | Memory::Shared => false,
        Memory::Local => true,
        Memory::Generic => {
            address.wrapping_sub(crate::memory::LOCAL_BASE) < 2 * crate::memory::WINDOW
        }
    };
    if local {
        None
    } else {
        Some(window(ctx, memory, address, 0))
    }
}

/// Where the 32 accesses of `step` bytes start, if the active lanes' are neighbours in order.
#[inline(always)]
fn start<C: Cell>(ctx: &Ctx, op: &Micro<Transfer>, step: u64) -> Option<u64> {
    let base = first_of_run(ctx.cells::<C>(op.at), step as u32, ctx.mask)?;
    let base = C::narrow(base.widen().wrapping_add(op.offset)).widen();
    base.is_multiple_of(step).then_some(base)
}

/// `N` elements per lane from varying addresses.
pub(super) struct Load<E, C, const N: usize>(PhantomData<(E, C)>);

/// Neighbours' elements from `address` on in memory that all lanes share; `false` if not all of them are inside.
#[inline(always)]
pub(super) fn load_run<E: Element, const N: usize>(
    ctx: &mut Ctx,
    window: Window,
    address: u64,
    slots: [Slot; 4],
    global: bool,
) -> bool {
    let mut block = [[E::Mem::default(); N]; 32];
    // Global memory is mostly read on and on; the caches are slow to notice where a warp reads two rows in turn.
    let read = if global {
        window.read_block_of_run(address, &mut block)
    } else {
        window.read_block(address, &mut block)
    };
    if read {
        E::columns(&block, |k, column| ctx.put_cells(slots[k], column));
    }
    read
}

impl<E: Element, C: Cell, const N: usize> Handler for Load<E, C, N> {
    type Args = Transfer;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Transfer>) {
        let step = (N * size_of::<E::Mem>()) as u64;
        if let Some(address) = start::<C>(ctx, op, step)
            && let Some((window, address)) = common(ctx, op.memory, address)
            && load_run::<E, N>(ctx, window, address, op.data, op.memory == Memory::Global)
        {
            return;
        }
        load_apart::<E, C, N>(ctx, op);
    }
}

/// The addresses of the active lanes in the window they share, those of the others being that of an active one;
/// `None` where windows differ.
#[inline(always)]
fn addresses<C: Cell>(ctx: &Ctx, op: &Micro<Transfer>) -> Option<(Window, [u64; 32])> {
    let at = ctx.cells::<C>(op.at);
    let mask = ctx.mask;
    let first = at[mask.trailing_zeros() as usize & 31];
    let full = |i: usize| C::narrow(at[i].widen().wrapping_add(op.offset)).widen();
    let all = if mask == !0 {
        lanes(full)
    } else {
        let spare = C::narrow(first.widen().wrapping_add(op.offset)).widen();
        lanes(|i| if mask >> i & 1 != 0 { full(i) } else { spare })
    };
    match op.memory {
        Memory::Global => Some((ctx.global, all)),
        Memory::Shared => Some((ctx.shared, all)),
        Memory::Local => {
            let own = |i: usize| ctx.local_address(all[i], i as u32);
            (mask == !0).then(|| (ctx.local, lanes(own)))
        }
        Memory::Generic => {
            let special = |at: u64| at.wrapping_sub(crate::memory::SHARED_BASE) < WINDOWS;
            (!all.iter().any(|at| special(*at))).then_some((ctx.global, all))
        }
    }
}

#[inline(always)]
fn load_apart<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &Micro<Transfer>) {
    if let Some((window, at)) = addresses::<C>(ctx, op)
        && let Some(block) = window.gather::<E::Mem, N>(&at)
    {
        E::columns(&block, |k, column| ctx.put_cells(op.data[k], column));
        return;
    }
    load_one_by_one::<E, C, N>(ctx, op);
}

#[inline(never)]
fn load_one_by_one<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &Micro<Transfer>) {
    let at = *ctx.cells::<C>(op.at);
    let mut out = [[E::Cell::default(); 32]; N];
    let mut last: Option<(C, u32)> = None;
    let mut rest = ctx.mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let own = at[lane as usize];
        if let Some((seen, from)) = last
            && seen == own
            && common(ctx, op.memory, own.widen()).is_some()
        {
            for column in &mut out {
                column[lane as usize] = column[from as usize];
            }
            continue;
        }
        let address = C::narrow(own.widen().wrapping_add(op.offset)).widen();
        let (window_of, place) = window(ctx, op.memory, address, lane);
        match load_row::<E, N>(&window_of, place) {
            Ok(row) => {
                for k in 0..N {
                    out[k][lane as usize] = E::widen(row[k]);
                }
            }
            Err(bad) => {
                let bytes = (N * size_of::<E::Mem>()) as u32;
                ctx.refuse(op.span(), bad, lane, address, bytes);
            }
        }
        last = Some((own, lane));
    }
    for (k, slot) in op.data.into_iter().take(N).enumerate() {
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

/// `N` elements from one address, to scalars.
struct LoadScalar<E, C, const N: usize>(PhantomData<(E, C)>);

impl<E: Element, C: Cell, const N: usize> Handler for LoadScalar<E, C, N> {
    type Args = Transfer;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Transfer>) {
        let address = C::narrow(ctx.scalar(op.at).wrapping_add(op.offset)).widen();
        let lane = ctx.mask.trailing_zeros() & 31;
        let (window_of, place) = window(ctx, op.memory, address, lane);
        let row = load_row::<E, N>(&window_of, place).unwrap_or_else(|bad| {
            let bytes = (N * size_of::<E::Mem>()) as u32;
            ctx.refuse(op.span(), bad, lane, address, bytes);
            [E::Mem::default(); N]
        });
        for (k, slot) in op.data.into_iter().take(N).enumerate() {
            ctx.set_scalar(slot, E::widen(row[k]).widen());
        }
    }
}

/// `N` elements per lane to varying addresses.
struct Store<E, C, const N: usize>(PhantomData<(E, C)>);

impl<E: Element, C: Cell, const N: usize> Handler for Store<E, C, N> {
    type Args = Transfer;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Transfer>) {
        let step = (N * size_of::<E::Mem>()) as u64;
        if ctx.mask == !0
            && let Some(address) = start::<C>(ctx, op, step)
            && let Some((window, address)) = common(ctx, op.memory, address)
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
fn values<E: Element, const N: usize>(ctx: &Ctx, op: &Micro<Transfer>) -> [[E::Mem; N]; 32] {
    let slots = op.data;
    E::rows(std::array::from_fn::<_, N, _>(|k| ctx.cells(slots[k])))
}

#[inline(always)]
fn store_apart<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &Micro<Transfer>) {
    if let Some((window, at)) = addresses::<C>(ctx, op) {
        let block = values::<E, N>(ctx, op);
        if window.scatter::<E::Mem, N>(&at, &block, ctx.mask) {
            return;
        }
    }
    store_one_by_one::<E, C, N>(ctx, op);
}

#[inline(never)]
fn store_one_by_one<E: Element, C: Cell, const N: usize>(ctx: &mut Ctx, op: &Micro<Transfer>) {
    let at = *ctx.cells::<C>(op.at);
    let mut rest = ctx.mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        let address = C::narrow(at[lane as usize].widen().wrapping_add(op.offset)).widen();
        store_row::<E, N>(ctx, op, address, lane, lane);
    }
}

/// The values of lane `from`, as `lane`'s access.
#[inline(always)]
fn store_row<E: Element, const N: usize>(
    ctx: &mut Ctx,
    op: &Micro<Transfer>,
    address: u64,
    lane: u32,
    from: u32,
) {
    let size = size_of::<E::Mem>() as u64;
    if op.memory == Memory::Generic && Ctx::is_param(address) {
        let kind = FaultKind::Misuse(Misuse::ParameterStore);
        ctx.fault(op.span(), kind, lane, Some(address));
        return;
    }
    let (window_of, place) = window(ctx, op.memory, address, lane);
    let mut done = Ok(());
    if N > 1 && !place.is_multiple_of(N as u64 * size) {
        done = Err(crate::memory::Bad::Align);
    }
    for (k, slot) in op.data.into_iter().take(N).enumerate() {
        let value = E::narrow(ctx.cells::<E::Cell>(slot)[from as usize]);
        done = done.and_then(|()| window_of.store(place.wrapping_add(k as u64 * size), value));
    }
    if let Err(bad) = done {
        ctx.refuse(op.span(), bad, lane, address, (N as u64 * size) as u32);
    }
}

/// `N` elements to one address: the last lane's stay.
struct StoreScalar<E, C, const N: usize>(PhantomData<(E, C)>);

impl<E: Element, C: Cell, const N: usize> Handler for StoreScalar<E, C, N> {
    type Args = Transfer;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Transfer>) {
        let address = C::narrow(ctx.scalar(op.at).wrapping_add(op.offset)).widen();
        if common(ctx, op.memory, address).is_some() {
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

/// Bytes of parameters.
struct LoadParam;

impl Handler for LoadParam {
    type Args = ParamTransfer;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<ParamTransfer>) {
        load_param(ctx, op);
    }
}

#[inline(never)]
fn load_param(ctx: &mut Ctx, op: &Micro<ParamTransfer>) {
    let bytes = op.bytes;
    let read = |ctx: &mut Ctx, offset: u64, lane: u32| {
        let mut value = [0u8; 8];
        let range = usize::try_from(offset)
            .ok()
            .and_then(|at| ctx.view.params.get(at..at.checked_add(bytes as usize)?));
        match range {
            Some(range) => value[..bytes as usize].copy_from_slice(range),
            None => ctx.refuse(op.span(), crate::memory::Bad::Bounds, lane, offset, bytes),
        }
        extend(u64::from_le_bytes(value), op.signed)
    };
    if op.at.scalar {
        let offset = ctx.scalar(op.at.slot).wrapping_add(op.offset);
        let value = read(ctx, offset, 0);
        ctx.set_scalar(op.dst, value);
        return;
    }
    let mut out = [0u64; 32];
    for lane in 0..32u32 {
        if ctx.mask >> lane & 1 == 0 {
            continue;
        }
        let own = if op.at.wide {
            ctx.cells::<u64>(op.at.slot)[lane as usize]
        } else {
            u64::from(ctx.cells::<u32>(op.at.slot)[lane as usize])
        };
        out[lane as usize] = read(ctx, own.wrapping_add(op.offset), lane);
    }
    if op.wide {
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
    type Args = ();
    #[inline(always)]
    fn run(ctx: &mut Ctx, _: &Micro<()>) {
        fence(Ordering::Acquire);
        ctx.fuel -= SPIN_COST;
    }
}

struct Release;
impl Handler for Release {
    type Args = ();
    #[inline(always)]
    fn run(_: &mut Ctx, _: &Micro<()>) {
        fence(Ordering::Release);
    }
}
