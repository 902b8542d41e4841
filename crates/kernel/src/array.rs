//! Arrays in shared memory that are changed in place, step by step: a barrier ends each step.

use crate::{
    atomic::Atomic,
    build::with,
    elem::Elem,
    memory::{Index, Pointer},
    scope::{Cta, Warp},
    shared::{Place, arena},
    slot::Slot,
    state::State,
    uni::{self, Uni},
    val::{Arg, Ty, Val},
};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

type At = &'static Location<'static>;

/// An array in the CTA's shared memory. It is read and written inside of steps: what one step wrote, by any thread, the next
/// one sees. Nothing is in it at first.
///
/// Within one step, two threads may not touch the same element unless both read it or both change it atomically: that is a
/// race, which the checker finds. A [`Tile`](crate::Tile), which is filled and then only read, has no such step.
///
/// ```
/// # use warpsmith_kernel::{Cta, InKernel, args};
/// # args! { struct Histogram { x: In<u8>[n], counts: InOut<u32>[256], n: Scalar<u32> } }
/// fn histogram<'k>(cta: &mut Cta<'k>, a: Histogram<InKernel<'k>>) {
///     let mut bins = cta.array::<u32>(256);
///     cta.step(&mut bins, |cta, bins| cta.each(256, |_, i| bins.set(i, 0)));
///     cta.step(&mut bins, |cta, bins| {
///         cta.each(a.n, |_, i| {
///             bins.atomic(a.x.at(i)).add(1);
///         });
///     });
///     cta.step(&mut bins, |cta, bins| {
///         cta.each(256, |_, i| {
///             a.counts.atomic(i).add(bins.at(i));
///         });
///     });
/// }
/// ```
#[derive(Debug)]
pub struct Array<'k, T> {
    offset: u32,
    len: u32,
    mark: PhantomData<(fn(&'k ()) -> &'k (), T)>,
}

/// The elements of an [`Array`] during a step.
#[derive(Debug)]
pub struct Cells<'t, 'k, T> {
    place: Place,
    mark: PhantomData<(&'t (), fn(&'k ()) -> &'k (), T)>,
}

impl<T> Clone for Cells<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cells<'_, '_, T> {}

/// What a step works on: an array, or a tuple of up to four.
pub trait Arrays<'t, 'k> {
    /// Their elements.
    type Cells;
    #[doc(hidden)]
    fn cells(self) -> Self::Cells;
}

impl<'t, 'k, T: Elem> Arrays<'t, 'k> for &'t mut Array<'k, T> {
    type Cells = Cells<'t, 'k, T>;
    fn cells(self) -> Self::Cells {
        Cells::new(arena(self.offset))
    }
}

macro_rules! several {
    ($(($($name:ident $field:ident),*);)*) => {$(
        impl<'t, 'k, $($name: Arrays<'t, 'k>),*> Arrays<'t, 'k> for ($($name,)*) {
            type Cells = ($($name::Cells,)*);
            fn cells(self) -> Self::Cells {
                let ($($field,)*) = self;
                ($($field.cells(),)*)
            }
        }
    )*};
}

several! { (A a, B b); (A a, B b, C c); (A a, B b, C c, D d); }

impl<'k> Cta<'k> {
    /// Reserves shared memory for `len` elements. Above 48 KiB in all it is dynamic shared memory, whose size each launch is
    /// told; a kernel's specialisation decides how much it is.
    pub fn array<T: Elem>(&mut self, len: u32) -> Array<'k, T> {
        let bytes = len.saturating_mul(T::MEMORY.bytes());
        Array {
            offset: with(|b| b.shared(bytes, 16)),
            len,
            mark: PhantomData,
        }
    }

    /// Lets all threads work on the arrays, then waits for all.
    #[track_caller]
    pub fn step<'t, A: Arrays<'t, 'k>, S: State<'k>>(
        &mut self,
        arrays: A,
        body: impl FnOnce(&mut Cta<'k>, A::Cells) -> S,
    ) -> S {
        let given = body(self, arrays.cells());
        self.barrier();
        given
    }
}

impl<'k> Warp<'k> {
    /// Lets the lanes work on parts of the arrays that are this warp's own, then waits for the lanes alone.
    #[track_caller]
    pub fn step<'t, A: Arrays<'t, 'k>, S: State<'k>>(
        &mut self,
        arrays: A,
        body: impl FnOnce(&mut Warp<'k>, A::Cells) -> S,
    ) -> S {
        let given = body(self, arrays.cells());
        self.sync();
        given
    }
}

impl<T> Array<'_, T> {
    /// Elements.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'t, 'k, T: Elem> Cells<'t, 'k, T> {
    fn new(place: Place) -> Self {
        Cells {
            place,
            mark: PhantomData,
        }
    }

    fn pointer(self, at: At, index: impl Index<'k>) -> Pointer {
        index.add_to(at, self.place.pointer(), T::MEMORY.bytes())
    }

    /// The elements from `index` on.
    #[track_caller]
    pub fn from(self, index: impl Index<'k>) -> Cells<'t, 'k, T> {
        let pointer = self.pointer(Location::caller(), index);
        Cells::new(Place {
            base: pointer.base,
            offset: pointer.offset,
        })
    }

    /// The element at `index`.
    #[track_caller]
    pub fn at(self, index: impl Index<'k>) -> Val<'k, T::Reg, uni::Lane> {
        let at = Location::caller();
        let [reg] = self.pointer(at, index).load(at, T::MEMORY, T::Reg::TYPE);
        Val::from_reg(reg)
    }

    /// Writes the element at `index`.
    #[track_caller]
    pub fn set(self, index: impl Index<'k>, value: impl Arg<'k, T::Reg>) {
        let at = Location::caller();
        let value = with(|b| b.to_reg(at, T::Reg::TYPE, value.val().rep()));
        self.pointer(at, index).store(at, T::MEMORY, [value]);
    }

    /// The element at `index`, to be changed atomically; seen by the CTA.
    #[track_caller]
    pub fn atomic(self, index: impl Index<'k>) -> Atomic<'k, T> {
        Atomic::new(self.pointer(Location::caller(), index))
    }

    /// `N` (2 or 4) neighbours from `index` on, in one access: the index is a multiple of `N`.
    #[track_caller]
    pub fn vector<const N: usize>(self, index: impl Index<'k>) -> [Val<'k, T::Reg, uni::Lane>; N] {
        let at = Location::caller();
        let pointer = self.pointer(at, index);
        pointer
            .load::<N>(at, T::MEMORY, T::Reg::TYPE)
            .map(Val::from_reg)
    }

    /// Writes `N` (2 or 4) neighbours from `index` on, in one access: the index is a multiple of `N`.
    #[track_caller]
    pub fn set_vector<const N: usize, V: Uni>(
        self,
        index: impl Index<'k>,
        values: [Val<'k, T::Reg, V>; N],
    ) {
        let at = Location::caller();
        let values = values.map(|value| with(|b| b.to_reg(at, T::Reg::TYPE, value.rep())));
        self.pointer(at, index).store(at, T::MEMORY, values);
    }

    /// Where the first element is in the shared window: for instructions of the raw layer.
    #[track_caller]
    pub fn shared_address(self) -> Val<'k, u32, uni::Lane> {
        Val::<u32>::from_reg(self.place.base) + self.place.offset as u32
    }

    /// The generic address of the first element: for instructions of the raw layer.
    #[track_caller]
    pub fn generic_address(self) -> Val<'k, u64, uni::Lane> {
        let at = Location::caller();
        let address = Slot::reg(self.shared_address().u64().reg());
        let quals = [Qual::Shared, Qual::T(Type::U64)];
        Val::from_reg(with(|b| b.def(at, Op::Cvta, &quals, Type::U64, &[address])))
    }
}
