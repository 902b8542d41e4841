//! Atomics: one element of an array that several threads change, each change whole.

use crate::{
    build::with,
    elem::Elem,
    memory::{Global, Index, Pointer, Write, space_qual},
    scope::{Lane, Scope},
    slot::Slot,
    uni::{self, Uni},
    val::{Arg, Ty, Val},
};
use half::{bf16, f16};
use smallvec::SmallVec;
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{
    ir::RegId,
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// Which threads see the changes of an atomic as whole (PTX ISA, "Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of the CTA.
    Cta,
    /// Those of the device.
    Gpu,
    /// Those of all devices and of the host.
    System,
}

/// What an atomic or a fence orders besides itself (PTX ISA, "Release and acquire patterns").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Relaxed,
    /// What follows sees what was written before the release that is read here.
    Acquire,
    /// What was written before is seen by who acquires this.
    Release,
    /// Both.
    AcquireRelease,
}

impl Reach {
    pub(crate) fn qual(self) -> Qual {
        match self {
            Reach::Cta => Qual::Cta,
            Reach::Gpu => Qual::Gpu,
            Reach::System => Qual::Sys,
        }
    }
}

impl Order {
    fn qual(self) -> Qual {
        match self {
            Order::Relaxed => Qual::Relaxed,
            Order::Acquire => Qual::Acquire,
            Order::Release => Qual::Release,
            Order::AcquireRelease => Qual::AcqRel,
        }
    }
}

/// An element that is changed atomically: relaxed and seen on the whole device, unless told otherwise.
///
/// Every method gives what was there before; where nobody uses that, the instruction is a `red`.
///
/// ```
/// # use warpsmith_kernel::{Cta, InKernel, Reach, Order, args};
/// # args! { struct Counts { seen: InOut<u32>[n], n: Scalar<u32> } }
/// fn count<'k>(cta: &mut Cta<'k>, a: Counts<InKernel<'k>>) {
///     cta.each(a.n, |_, i| {
///         a.seen.atomic(i).add(1);
///         a.seen.atomic(i).reach(Reach::System).order(Order::Release).max(7);
///     });
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Atomic<'k, T> {
    pointer: Pointer,
    how: Option<(Order, Reach)>,
    mark: PhantomData<(fn(&'k ()) -> &'k (), T)>,
}

/// An element with `atom.add`.
pub trait AtomicAdd: Elem {
    /// The type that the instruction names.
    const ADD: Type;
}

/// An element with `atom.min` and `atom.max`.
pub trait AtomicOrder: Elem {
    /// The type that the instruction names.
    const ORDER: Type;
}

/// An element with `atom.exch` and `atom.cas`.
pub trait AtomicSwap: Elem {
    /// The type that the instruction names.
    const BITS: Type;
}

/// An element with `atom.and`, `atom.or` and `atom.xor`.
pub trait AtomicBits: AtomicSwap {}

macro_rules! atomics {
    ($($trait:ident $name:ident: $($elem:ident $ty:ident),*;)*) => {$($(
        impl $trait for $elem {
            const $name: Type = Type::$ty;
        }
    )*)*};
}

atomics! {
    AtomicAdd ADD: u32 U32, i32 S32, u64 U64, i64 U64, f32 F32, f64 F64, f16 F16, bf16 BF16;
    AtomicOrder ORDER: u32 U32, i32 S32, u64 U64, i64 S64;
    AtomicSwap BITS: u32 B32, i32 B32, u64 B64, i64 B64, f32 B32, f64 B64;
}

impl AtomicBits for u32 {}
impl AtomicBits for i32 {}
impl AtomicBits for u64 {}
impl AtomicBits for i64 {}

impl<'k, T: Elem, U: Uni> Global<'k, T, Write, U> {
    /// The element at `index`, to be changed atomically.
    #[track_caller]
    pub fn atomic(self, index: impl Index<'k>) -> Atomic<'k, T> {
        Atomic::new(self.element(Location::caller(), index))
    }
}

impl<'k, T: Elem> Atomic<'k, T> {
    pub(crate) fn new(pointer: Pointer) -> Self {
        Atomic {
            pointer,
            how: None,
            mark: PhantomData,
        }
    }

    /// With what it orders.
    pub fn order(self, order: Order) -> Self {
        let (_, reach) = self.how.unwrap_or((order, self.widest()));
        Atomic {
            how: Some((order, reach)),
            ..self
        }
    }

    /// With who sees it.
    pub fn reach(self, reach: Reach) -> Self {
        let (order, _) = self.how.unwrap_or((Order::Relaxed, reach));
        Atomic {
            how: Some((order, reach)),
            ..self
        }
    }

    /// The reach that is meant where none is named.
    fn widest(&self) -> Reach {
        if self.pointer.space == Space::Shared {
            Reach::Cta
        } else {
            Reach::Gpu
        }
    }

    fn quals(&self, op: &[Qual], ty: Type) -> SmallVec<[Qual; 6]> {
        let mut quals = SmallVec::new();
        if let Some((order, reach)) = self.how {
            quals.extend([order.qual(), reach.qual()]);
        }
        quals.push(space_qual(self.pointer.space));
        quals.extend_from_slice(op);
        quals.push(Qual::T(ty));
        quals
    }

    fn change(
        self,
        at: &'static Location<'static>,
        op: &[Qual],
        ty: Type,
        sources: &[Slot],
    ) -> Val<'k, T::Reg, uni::Lane> {
        let quals = self.quals(op, ty);
        let slots: SmallVec<[Slot; 3]> = std::iter::once(self.pointer.slot())
            .chain(sources.iter().copied())
            .collect();
        Val::from_reg(with(|b| b.def(at, Op::Atom, &quals, T::Reg::TYPE, &slots)))
    }

    /// What is there (`ld.relaxed`, or `ld.acquire`).
    #[track_caller]
    pub fn load(self) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        let (order, reach) = self.how.unwrap_or((Order::Relaxed, self.widest()));
        let order = match order {
            Order::Acquire | Order::AcquireRelease => Qual::Acquire,
            Order::Relaxed | Order::Release => Qual::Relaxed,
        };
        let quals = [
            order,
            reach.qual(),
            space_qual(self.pointer.space),
            Qual::T(T::MEMORY),
        ];
        let slots = [self.pointer.slot()];
        Val::from_reg(with(|b| b.def(at, Op::Ld, &quals, T::Reg::TYPE, &slots)))
    }

    /// Writes (`st.relaxed`, or `st.release`).
    #[track_caller]
    pub fn store(self, value: impl Arg<'k, T::Reg>) {
        let at = Location::caller();
        let (order, reach) = self.how.unwrap_or((Order::Relaxed, self.widest()));
        let order = match order {
            Order::Release | Order::AcquireRelease => Qual::Release,
            Order::Relaxed | Order::Acquire => Qual::Relaxed,
        };
        let quals = [
            order,
            reach.qual(),
            space_qual(self.pointer.space),
            Qual::T(T::MEMORY),
        ];
        let value = register(at, value);
        with(|b| b.push(at, Op::St, &quals, &[self.pointer.slot(), value]));
    }
}

fn register<'k, T: Ty>(at: &'static Location<'static>, value: impl Arg<'k, T>) -> Slot {
    Slot::reg(with(|b| b.to_reg(at, T::TYPE, value.val().rep())))
}

/// `.add`, with what 16-bit floats must say.
fn add(ty: Type) -> &'static [Qual] {
    match ty {
        Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2 => &[Qual::Add, Qual::Noftz],
        _ => &[Qual::Add],
    }
}

impl<'k, T: AtomicAdd> Atomic<'k, T> {
    /// Adds. Integers wrap; floats are rounded to nearest even (bf16: sm_90).
    #[allow(clippy::should_implement_trait)] // the instruction's name; it is no operator
    #[track_caller]
    pub fn add(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, add(T::ADD), T::ADD, &[register(at, value)])
    }
}

macro_rules! pairs {
    ($($half:ident $ty:ident;)*) => {$(
        impl<'k> Atomic<'k, $half> {
            /// Adds to this element and to the next, at an even index: two atomic additions in one instruction. What was
            /// there, as a word with the first in its low half (bf16: sm_90).
            #[track_caller]
            pub fn add_pair(
                self,
                first: impl Arg<'k, $half>,
                second: impl Arg<'k, $half>,
            ) -> Val<'k, u32, uni::Lane> {
                let at = Location::caller();
                let (first, second) = (register(at, first), register(at, second));
                let pair = [Slot::group(2), first, second];
                let word = with(|b| b.def(at, Op::Mov, &[Qual::T(Type::B32)], Type::B32, &pair));
                let quals = self.quals(add(Type::$ty), Type::$ty);
                let slots = [self.pointer.slot(), Slot::reg(word)];
                Val::from_reg(with(|b| b.def(at, Op::Atom, &quals, Type::B32, &slots)))
            }
        }
    )*};
}

pairs! { f16 F16x2; bf16 BF16x2; }

impl<'k, T: AtomicOrder> Atomic<'k, T> {
    /// Keeps the smaller.
    #[track_caller]
    pub fn min(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Min], T::ORDER, &[register(at, value)])
    }

    /// Keeps the larger.
    #[track_caller]
    pub fn max(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Max], T::ORDER, &[register(at, value)])
    }
}

impl<'k, T: AtomicBits> Atomic<'k, T> {
    /// Clears bits that `value` has not.
    #[track_caller]
    pub fn and(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::And], T::BITS, &[register(at, value)])
    }

    /// Sets bits that `value` has.
    #[track_caller]
    pub fn or(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Or], T::BITS, &[register(at, value)])
    }

    /// Turns bits that `value` has.
    #[track_caller]
    pub fn xor(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Xor], T::BITS, &[register(at, value)])
    }
}

impl<'k> Atomic<'k, u32> {
    /// Adds 1, but becomes 0 where it is `last` or more (`atom.inc`).
    #[track_caller]
    pub fn inc(self, last: impl Arg<'k, u32>) -> Val<'k, u32, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Inc], Type::U32, &[register(at, last)])
    }

    /// Takes 1 away, but becomes `last` where it is 0 or more than `last` (`atom.dec`).
    #[track_caller]
    pub fn dec(self, last: impl Arg<'k, u32>) -> Val<'k, u32, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Dec], Type::U32, &[register(at, last)])
    }
}

impl<'k, T: AtomicSwap> Atomic<'k, T> {
    /// Puts `value` there.
    #[track_caller]
    pub fn exchange(self, value: impl Arg<'k, T::Reg>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        self.change(at, &[Qual::Exch], T::BITS, &[register(at, value)])
    }

    /// Puts `new` there if the bits there are those of `expected` (`atom.cas`): they are if it gives `expected`.
    #[track_caller]
    pub fn compare_exchange(
        self,
        expected: impl Arg<'k, T::Reg>,
        new: impl Arg<'k, T::Reg>,
    ) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        let sources = [register(at, expected), register(at, new)];
        self.change(at, &[Qual::Cas], T::BITS, &sources)
    }

    /// Puts `f` of what is there in its place, for what has no instruction of its own: tries until no other thread came
    /// between. What was there.
    ///
    /// ```
    /// # use warpsmith_kernel::{Atomic, Lane, Val};
    /// fn atomic_max<'k>(lane: &mut Lane<'k>, most: Atomic<'k, f32>, x: Val<'k, f32>) {
    ///     most.update(lane, |most| most.max(x));
    /// }
    /// ```
    #[track_caller]
    pub fn update(
        self,
        lane: &mut Lane<'k>,
        f: impl FnOnce(Val<'k, T::Reg, uni::Lane>) -> Val<'k, T::Reg, uni::Lane>,
    ) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        let again = Val::<bool>::constant(true);
        let (seen, _) = lane.while_(
            (self.load(), again),
            |_, (_, again)| again,
            |_, (seen, _)| {
                let new = register(at, f(seen));
                let found = self.change(at, &[Qual::Cas], T::BITS, &[seen.slot(), new]);
                let other = differ(at, T::BITS, found.reg(), seen.reg());
                (found, Val::from_reg(other))
            },
        );
        seen
    }
}

/// Whether two registers have different bits.
fn differ(at: &'static Location<'static>, bits: Type, a: RegId, b: RegId) -> RegId {
    let quals = [Qual::Ne, Qual::T(bits)];
    let slots = [Slot::reg(a), Slot::reg(b)];
    with(|builder| builder.def(at, Op::Setp, &quals, Type::Pred, &slots))
}

impl<'k> Lane<'k> {
    /// What this thread wrote before is seen by the threads of `reach` before what it writes after, and the other way round
    /// for reads (`fence.acq_rel`: CUDA's `__threadfence` and its siblings).
    #[track_caller]
    pub fn fence(&mut self, reach: Reach) {
        let at = Location::caller();
        with(|b| b.push(at, Op::Fence, &[Qual::AcqRel, reach.qual()], &[]));
    }
}
