//! Moves that the builder itself needs: between shapes and widths, and of clocks.

use super::{
    Lowerer,
    shape::{self, One, Un},
};
use crate::op::{Cell, Ctx, Handler, Micro, SPIN_COST, Slot, args, lane::Lane};
use std::{
    marker::PhantomData,
    time::{SystemTime, UNIX_EPOCH},
};
use warpsmith_ptx::{special::Special, types::Type};

/// The value itself.
pub(crate) struct Copy<T>(PhantomData<T>);
impl<T: Lane> Un for Copy<T> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn f(a: T) -> T {
        a
    }
}

/// From one cell to another, extended as the source's type says.
pub(crate) struct Resize<S, D>(PhantomData<(S, D)>);
macro_rules! resize {
    ($($from:ty => $to:ty;)*) => {$(
        impl Un for Resize<$from, $to> {
            type A = $from;
            type D = $to;
            #[inline(always)]
            fn f(a: $from) -> $to {
                a as $to
            }
        }
    )*};
}
resize! { u32 => u64; i32 => i64; u64 => u32; }

struct SplatScalar<C>(PhantomData<C>);
impl<C: Cell> Handler for SplatScalar<C> {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let value = C::narrow(ctx.scalar(op.a));
        ctx.put_cells(op.dst, [value; 32]);
    }
}

struct FirstLane;
impl Handler for FirstLane {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let lane = ctx.mask.trailing_zeros() & 31;
        let value = ctx.cells::<u32>(op.a)[lane as usize];
        ctx.set_scalar(op.dst, u64::from(value));
    }
}

args! {
    struct Time {
        dst: Slot,
        /// How far it is shifted right.
        shift: u32,
    }
}

/// Nanoseconds since 1970 to a scalar.
struct Clock;
impl Handler for Clock {
    type Args = Time;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Time>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |d| d.as_nanos() as u64);
        ctx.set_scalar(op.dst, nanos >> op.shift);
        ctx.fuel -= SPIN_COST;
    }
}

/// Lanes of `a` to a register of another cell width.
pub(crate) fn emit_resize(l: &mut Lowerer, dst: Slot, a: Slot, from: Type, to_bits: u32) {
    match (from.bits() > 32, to_bits > 32) {
        (false, true) if from.is_signed() => map::<Resize<i32, i64>>(l, dst, a),
        (false, true) => map::<Resize<u32, u64>>(l, dst, a),
        (true, false) => map::<Resize<u64, u32>>(l, dst, a),
        (false, false) => map::<Copy<u32>>(l, dst, a),
        (true, true) => map::<Copy<u64>>(l, dst, a),
    }
}

fn map<O: Un>(l: &mut Lowerer, dst: Slot, a: Slot) {
    l.emit(l.op::<shape::Map1<O>>(One { dst, a }));
}

/// A scalar to all lanes.
pub(crate) fn emit_splat<C: Cell>(l: &mut Lowerer, dst: Slot, a: Slot) {
    l.emit(l.op::<SplatScalar<C>>(One { dst, a }));
}

/// The first active lane to a scalar.
pub(crate) fn emit_first_lane(l: &mut Lowerer, dst: Slot, a: Slot) {
    l.emit(l.cold::<FirstLane>(One { dst, a }));
}

/// A clock to a scalar.
pub(crate) fn emit_clock(l: &mut Lowerer, special: Special, dst: Slot) {
    let high = matches!(special, Special::ClockHi | Special::GlobaltimerHi);
    let shift = if high { 32 } else { 0 };
    l.emit(l.cold::<Clock>(Time { dst, shift }));
}
