//! The asynchronous proxy: bulk copies and copies of tensors, which complete transactions of `mbarrier`s (PTX ISA 9.7.9.25.4,
//! 9.7.9.27), and asynchronous stores.
//!
//! A copy is done when it is issued, so that whoever waits for it finds it complete.

mod emit;
mod reduce;
mod tensor;
mod watch;

pub(super) use emit::lower;
pub(crate) use reduce::Combine;
pub(super) use reduce::apply as combine;
pub(crate) use watch::{emit_stored, is_read_by_proxy};
pub(super) use watch::{may, may_read};

use super::{
    AccessId, Ctx, Handler, Micro, OptSlot, Slot, SpanId, Words, args, choices, ldst,
    rare::complete,
};
use crate::{
    error::{FaultKind, Misuse},
    memory::{Bad, RANK, Window},
    op::Memory,
    tensor_map::{self, Field, TensorMap, field},
};
use tensor::Rows;

choices! {
    /// From where to where.
    enum Way {
        GlobalToShared,
        SharedToShared,
        SharedToGlobal,
        TensorToShared,
        SharedToTensor,
    }
}

args! {
    struct Bulk {
        way: Way,
        /// How what is there and what comes become one.
        combine: Combine,
        /// Dimensions of a tensor, and offsets of its pixels.
        rank: u8,
        offsets: u8,
        /// Places: see [`Place`]. Behind that of a tensor map are the slots of coordinates and offsets.
        to: Words,
        from: Words,
        bar: Words,
        size: OptSlot,
        /// CTAs of the cluster that get a copy.
        mask: OptSlot,
        reads: AccessId,
        writes: AccessId,
    }

    struct Store {
        /// Places of the value and the object, and the slots of the value.
        to: Words,
        bar: Words,
        values: Words,
        count: u32,
        bytes: u32,
        combine: Combine,
        writes: AccessId,
    }
}

args! {
    struct Replacement {
        map: Words,
        memory: Memory,
        field: Field,
        ordinal: u32,
        value: Slot,
    }

    struct Publication {
        to: Words,
        from: Words,
    }
}

/// A field of tensor maps.
struct Replaces;
impl Handler for Replaces {
    type Args = Replacement;
    fn run(ctx: &mut Ctx, op: &Micro<Replacement>) {
        for lane in active(ctx) {
            let address = place(ctx, op.map, lane);
            let value = ctx.cells::<u64>(op.value)[lane as usize];
            let (at, bytes) = field(op.field, op.ordinal, value);
            let (memory, inside) = ldst::window(ctx, op.memory, address, lane);
            let parts = [(at, &bytes[..]), (tensor_map::MARK.0, &tensor_map::MARK.1)];
            let mut parts = parts.into_iter();
            if !parts.all(|(at, part)| memory.write(inside.wrapping_add(at as u64), part)) {
                let bytes = tensor_map::BYTES as u32;
                ctx.refuse(op.span(), Bad::Bounds, lane, address, bytes);
            }
        }
        ctx.changes += 1;
    }
}

/// A tensor map from shared to device memory, by the whole warp.
struct Publishes;
impl Handler for Publishes {
    type Args = Publication;
    fn run(ctx: &mut Ctx, op: &Micro<Publication>) {
        let lane = ctx.mask.trailing_zeros() & 31;
        let (to, from) = (place(ctx, op.to, lane), place(ctx, op.from, lane));
        let data = read(&ctx.shared, from, tensor_map::BYTES);
        let done = data.and_then(|data| put(&ctx.global, to, &data, Combine::Nothing));
        if let Err(Refused {
            bad,
            address,
            bytes,
        }) = done
        {
            ctx.refuse(op.span(), bad, lane, address, bytes);
        }
        ctx.changes += 1;
    }
}

/// The lanes that run an op.
fn active(ctx: &Ctx) -> impl Iterator<Item = u32> + use<> {
    let mask = ctx.mask;
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// Words of a place: the slot of an address, what is added to it, and whether it is of 32 bits.
const PLACE: usize = 4;

/// The address of a lane.
fn place(ctx: &Ctx, words: Words, lane: u32) -> u64 {
    let &[slot, low, high, narrow] = ctx.extra(words, PLACE) else {
        return u64::MAX;
    };
    let offset = u64::from(low) | u64::from(high) << 32;
    let base = ctx.cells::<u64>(Slot(slot))[lane as usize];
    if narrow == 0 {
        return base.wrapping_add(offset);
    }
    base.wrapping_add(offset) & 0xFFFF_FFFF
}

/// What was refused of a copy.
struct Refused {
    bad: Bad,
    address: u64,
    bytes: u32,
}

/// A shared memory that is copied to, and where in it data and object are.
struct Target {
    /// The CTA, if it is another one.
    peer: Option<u32>,
    memory: Window,
    to: u64,
    object_memory: Window,
    object: u64,
}

/// Does something for each active lane, and tells of what is refused.
fn each(ctx: &mut Ctx, span: SpanId, mut run: impl FnMut(&mut Ctx, u32) -> Result<(), Refused>) {
    for lane in active(ctx) {
        if let Err(Refused {
            bad,
            address,
            bytes,
        }) = run(ctx, lane)
        {
            ctx.refuse(span, bad, lane, address, bytes);
        }
    }
    ctx.changes += 1;
}

/// Copies of the lanes.
struct Copies;
impl Handler for Copies {
    type Args = Bulk;
    fn run(ctx: &mut Ctx, op: &Micro<Bulk>) {
        each(ctx, op.span(), |ctx, lane| copy(ctx, op, lane));
    }
}

/// One lane's copy.
fn copy(ctx: &mut Ctx, op: &Micro<Bulk>, lane: u32) -> Result<(), Refused> {
    match op.way {
        Way::GlobalToShared => {
            let (from, len) = (place(ctx, op.from, lane), size(ctx, op, lane));
            aligned(from, len)?;
            if !watch::may(ctx, (op.span(), op.reads), lane, (from, len as u64)) {
                return Ok(());
            }
            let data = read(&ctx.global, from, len)?;
            deliver(ctx, op, lane, &Rows::flat(len), &data)
        }
        Way::SharedToShared => {
            let (from, len) = (place(ctx, op.from, lane), size(ctx, op, lane));
            aligned(from, len)?;
            let by = (op.span(), op.reads);
            if !watch::may_read(ctx, by, lane, (from, len as u64), false) {
                return Ok(());
            }
            let data = read(&ctx.shared, from, len)?;
            deliver(ctx, op, lane, &Rows::flat(len), &data)
        }
        Way::SharedToGlobal => {
            let (from, len) = (place(ctx, op.from, lane), size(ctx, op, lane));
            let to = place(ctx, op.to, lane);
            aligned(from, len)?;
            aligned(to, len)?;
            let range = (from, len as u64);
            if !watch::may_read(ctx, (op.span(), op.reads), lane, range, true)
                || !watch::may(ctx, (op.span(), op.writes), lane, (to, len as u64))
            {
                return Ok(());
            }
            let data = read(&ctx.shared, from, len)?;
            put(&ctx.global, to, &data, op.combine)
        }
        Way::TensorToShared => {
            let Some((map, rows)) = rows(ctx, op, op.from, lane) else {
                return Ok(());
            };
            let mut data = vec![0; rows.bytes()];
            for (row, to) in rows.starts.iter().zip(data.chunks_mut(rows.row)) {
                tensor::fill(to, &map);
                let Some(start) = row else {
                    continue;
                };
                let (first, last) = rows.inside;
                let from = start.wrapping_add(first as u64);
                let range = (from, (last - first) as u64);
                if !watch::may(ctx, (op.span(), op.reads), lane, range) {
                    return Ok(());
                }
                to[first..last].copy_from_slice(&read(&ctx.global, from, last - first)?);
                tensor::flush(&mut to[first..last], &map);
            }
            deliver(ctx, op, lane, &rows, &data)
        }
        Way::SharedToTensor => {
            let Some((map, rows)) = rows(ctx, op, op.to, lane) else {
                return Ok(());
            };
            let Some(combine) = op.combine.of(map.element) else {
                let kind = FaultKind::Misuse(Misuse::TensorReduction);
                ctx.fault(op.span(), kind, lane, None);
                return Ok(());
            };
            let from = place(ctx, op.from, lane);
            tile_aligned(from)?;
            let range = (from, rows.bytes() as u64);
            if !watch::may_read(ctx, (op.span(), op.reads), lane, range, true) {
                return Ok(());
            }
            let data = rows.gather(&ctx.shared, from).ok_or(Refused {
                bad: Bad::Bounds,
                address: from,
                bytes: rows.bytes() as u32,
            })?;
            let (first, last) = rows.inside;
            for (row, from) in rows.starts.iter().zip(data.chunks(rows.row)) {
                if let Some(start) = row {
                    let to = start.wrapping_add(first as u64);
                    let range = (to, (last - first) as u64);
                    if !watch::may(ctx, (op.span(), op.writes), lane, range) {
                        return Ok(());
                    }
                    put(&ctx.global, to, &from[first..last], combine)?;
                }
            }
            Ok(())
        }
    }
}

fn size(ctx: &Ctx, op: &Bulk, lane: u32) -> usize {
    let slot = op.size.get();
    slot.map_or(0, |slot| ctx.cells::<u32>(slot)[lane as usize] as usize)
}

/// Addresses and sizes of bulk copies are multiples of 16.
fn aligned(address: u64, len: usize) -> Result<(), Refused> {
    if address.is_multiple_of(16) && len.is_multiple_of(16) {
        return Ok(());
    }
    Err(Refused {
        bad: Bad::Align,
        address,
        bytes: 16,
    })
}

/// Tiles begin at multiples of 128.
fn tile_aligned(address: u64) -> Result<(), Refused> {
    if address.is_multiple_of(128) {
        return Ok(());
    }
    Err(Refused {
        bad: Bad::Align,
        address,
        bytes: 128,
    })
}

fn read(memory: &Window, address: u64, len: usize) -> Result<Vec<u8>, Refused> {
    let mut data = vec![0; len];
    if memory.read(address, &mut data) {
        return Ok(data);
    }
    Err(Refused {
        bad: Bad::Bounds,
        address,
        bytes: len as u32,
    })
}

/// Writes data, or combines it with what is there.
fn put(memory: &Window, address: u64, data: &[u8], combine: Combine) -> Result<(), Refused> {
    let done = match combine {
        Combine::Nothing if memory.write(address, data) => Ok(()),
        Combine::Nothing => Err(Bad::Bounds),
        combine => reduce::apply(memory, address, data, combine),
    };
    done.map_err(|bad| Refused {
        bad,
        address,
        bytes: data.len() as u32,
    })
}

/// The tensor map at an operand, and the rows that a copy is of; a fault if there is no map.
fn rows(ctx: &mut Ctx, op: &Micro<Bulk>, words: Words, lane: u32) -> Option<(TensorMap, Rows)> {
    let address = place(ctx, words, lane);
    let (memory, inside) = ctx.generic(address, lane);
    let mut bytes = [0; tensor_map::BYTES];
    let found = memory.read(inside, &mut bytes);
    let map = TensorMap::decode(&bytes).filter(|map| found && map.rank == op.rank);
    let Some(map) = map.filter(|_| address.is_multiple_of(64)) else {
        let kind = FaultKind::Misuse(Misuse::TensorMap);
        ctx.fault(op.span(), kind, lane, Some(address));
        return None;
    };
    let count = usize::from(op.rank) + usize::from(op.offsets);
    let slots = ctx.extra(words.behind(PLACE as u32), count);
    let value = |at: usize| {
        let slot = slots.get(at).copied();
        slot.map_or(0, |slot| ctx.cells::<u32>(Slot(slot))[lane as usize])
    };
    let rank = usize::from(op.rank);
    let mut coordinates = [0i64; 5];
    for (at, to) in coordinates.iter_mut().enumerate().take(rank) {
        *to = i64::from(value(at) as i32);
    }
    let offsets = std::array::from_fn(|at| i64::from(value(rank + at) as u16));
    match Rows::new(&map, coordinates, offsets) {
        Some(rows) => Some((map, rows)),
        None => {
            let kind = FaultKind::Misuse(Misuse::TensorMap);
            ctx.fault(op.span(), kind, lane, Some(address));
            None
        }
    }
}

/// The other CTA of the cluster that an address in its window is of.
fn other(ctx: &Ctx, address: u64) -> Option<u32> {
    let rank = (address >> RANK).checked_sub(1)?;
    let peer = ctx.view.peers.get(rank as usize)?;
    (rank != u64::from(ctx.view.rank())).then_some(peer.index)
}

/// The memories that a copy goes to: the one that the addresses name, or those of the CTAs of the mask.
fn targets(ctx: &Ctx, op: &Bulk, lane: u32) -> Vec<Target> {
    let (to, object) = (place(ctx, op.to, lane), place(ctx, op.bar, lane));
    let Some(mask) = op.mask.get() else {
        let peer = other(ctx, to);
        let (memory, to) = ctx.shared_at(to);
        let (object_memory, object) = ctx.shared_at(object);
        return vec![Target {
            peer,
            memory: *memory,
            to,
            object_memory: *object_memory,
            object,
        }];
    };
    let mask = ctx.cells::<u32>(mask)[lane as usize] & 0xFFFF;
    let within = |address: u64| address & ((1 << RANK) - 1);
    let each = (0..16).filter(|rank| mask >> rank & 1 != 0).map(|rank| {
        let alone = ctx.view.peers.is_empty() && rank == 0;
        let peer = ctx.view.peers.get(rank).map(|peer| peer.shared);
        let memory = peer.unwrap_or(if alone { ctx.shared } else { Window::EMPTY });
        Target {
            peer: other(ctx, (rank as u64 + 1) << RANK),
            memory,
            to: within(to),
            object_memory: memory,
            object: within(object),
        }
    });
    each.collect()
}

/// Brings data to shared memory, and completes transactions there.
fn deliver(
    ctx: &mut Ctx,
    op: &Micro<Bulk>,
    lane: u32,
    rows: &Rows,
    data: &[u8],
) -> Result<(), Refused> {
    let bytes = data.len() as u32;
    for target in targets(ctx, op, lane) {
        let refused = |bad, address| Refused {
            bad,
            address,
            bytes,
        };
        let by = (op.span(), op.writes);
        if !watch::may_write(ctx, by, lane, (&target, data.len() as u64)) {
            continue;
        }
        if rows.is_flat() {
            aligned(target.to, 16)?;
            put(&target.memory, target.to, data, op.combine)?;
        } else {
            tile_aligned(target.to)?;
            if !rows.scatter(&target.memory, target.to, data) {
                return Err(refused(Bad::Bounds, target.to));
            }
        }
        finish(ctx, (op.span(), op.writes), lane, (&target, bytes))?;
    }
    Ok(())
}

/// Completes the transactions of so many bytes.
fn finish(
    ctx: &mut Ctx,
    (span, writes): (SpanId, AccessId),
    lane: u32,
    (target, bytes): (&Target, u32),
) -> Result<(), Refused> {
    let done = complete(&target.object_memory, target.object, bytes);
    let (fits, ended) = done.map_err(|bad| Refused {
        bad,
        address: target.object,
        bytes: 8,
    })?;
    if !fits {
        let kind = FaultKind::Misuse(Misuse::Transactions);
        ctx.fault(span, kind, lane, Some(target.object));
    }
    watch::came(ctx, (span, writes), lane, (target, u64::from(bytes), ended));
    Ok(())
}

/// Values to the shared memory of a cluster, which complete transactions of their bytes there.
struct Stores;
impl Handler for Stores {
    type Args = Store;
    fn run(ctx: &mut Ctx, op: &Micro<Store>) {
        each(ctx, op.span(), |ctx, lane| store(ctx, op, lane));
    }
}

fn store(ctx: &mut Ctx, op: &Micro<Store>, lane: u32) -> Result<(), Refused> {
    let (to, object) = (place(ctx, op.to, lane), place(ctx, op.bar, lane));
    let each = op.bytes / op.count;
    let mut data = Vec::with_capacity(op.bytes as usize);
    for slot in ctx.extra(op.values, op.count as usize) {
        let value = if each == 8 {
            ctx.cells::<u64>(Slot(*slot))[lane as usize]
        } else {
            u64::from(ctx.cells::<u32>(Slot(*slot))[lane as usize])
        };
        data.extend_from_slice(&value.to_le_bytes()[..each as usize]);
    }
    let (memory, inside) = ctx.shared_at(to);
    if !inside.is_multiple_of(u64::from(op.bytes)) {
        return Err(Refused {
            bad: Bad::Align,
            address: to,
            bytes: op.bytes,
        });
    }
    let peer = other(ctx, to);
    let (memory, object_memory) = (*memory, *ctx.shared_at(object).0);
    let target = Target {
        peer,
        memory,
        to: inside,
        object_memory,
        object: ctx.shared_at(object).1,
    };
    let by = (op.span(), op.writes);
    if !watch::may_write(ctx, by, lane, (&target, data.len() as u64)) {
        return Ok(());
    }
    put(&target.memory, inside, &data, op.combine)?;
    finish(ctx, by, lane, (&target, op.bytes))
}
