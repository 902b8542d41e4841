//! What a CTA fetches before it may go on: pieces of 16 bytes on their way to shared memory while it waits.
//!
//! A piece belongs to the thread that asks for it and is read by that thread alone, so its arrival needs no barrier.

use crate::{
    build::with,
    elem::Elem,
    memory::{AccessMark, Global},
    scope::{Cta, thread},
    shared::{Place, arena},
    slot::Slot,
    uni::{self, Uni},
    val::Val,
};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

/// Bytes of a piece.
pub const PIECE: u32 = 16;
/// Shared memory with a number of pieces for each thread.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<'k> {
    offset: u32,
    pieces: u32,
    mark: PhantomData<fn(&'k ()) -> &'k ()>,
}

/// Pieces that have arrived. They are what they are until the thread fetches others into their places.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'k>(Ahead<'k>);

impl<'k> Cta<'k> {
    /// Reserves `pieces` pieces for each thread; `None` for none, and where the target fetches nothing while it goes on.
    pub fn reserve_ahead(&mut self, pieces: u32) -> Option<Ahead<'k>> {
        let can = with(|b| b.target.sm >= Ahead::FIRST_SM);
        (can && pieces > 0).then(|| Ahead {
            offset: with(|b| b.shared(pieces * PIECE * b.threads, PIECE)),
            pieces,
            mark: PhantomData,
        })
    }
}

impl<'k> Ahead<'k> {
    /// The first target with `cp.async`.
    pub const FIRST_SM: u16 = 80;

    /// The thread's piece: those of neighbouring threads are neighbours.
    fn place(self, piece: u32) -> Place {
        debug_assert!(piece < self.pieces, "a piece that was reserved");
        let Place { base, offset } = arena(self.offset + piece * PIECE * with(|b| b.threads));
        let sources = [thread().slot(), Slot::int(PIECE.into()), Slot::reg(base)];
        let quals = [Qual::Lo, Qual::T(Type::U32)];
        let at = Location::caller();
        Place {
            base: with(|b| b.def(at, Op::Mad, &quals, Type::U32, &sources)),
            offset,
        }
    }

    /// Begins to copy 16 bytes from `source`, which nobody writes meanwhile (`cp.async`).
    #[track_caller]
    pub fn fetch<T: Elem, A: AccessMark, U: Uni>(self, piece: u32, source: Global<'k, T, A, U>) {
        let at = Location::caller();
        let (to, from) = (self.place(piece).pointer(), source.pointer(at));
        let quals = [Qual::Async, Qual::Cg, Qual::Shared, Qual::Global];
        let bytes = Slot::int(PIECE.into());
        let operands = [to.slot(), from.slot(), bytes];
        with(|b| b.push(at, Op::Cp, &quals, &operands));
    }

    /// Waits for all that this thread fetched.
    #[track_caller]
    pub fn arrive(self) -> Arrived<'k> {
        let at = Location::caller();
        with(|b| b.push(at, Op::Cp, &[Qual::Async, Qual::WaitAll], &[]));
        Arrived(self)
    }
}

impl<'k> Arrived<'k> {
    /// The words of a piece.
    #[track_caller]
    pub fn words(self, piece: u32) -> [Val<'k, u32, uni::Lane>; 4] {
        let from = self.0.place(piece).pointer();
        from.load(Location::caller(), Type::B32, Type::B32)
            .map(Val::from_reg)
    }
}
