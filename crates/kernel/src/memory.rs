//! Global memory: typed views of the arrays that a kernel was given.

use crate::{
    build::{Builder, Rep, with},
    elem::Elem,
    slot::Slot,
    uni::{self, Join, Uni},
    val::{Arg, Ty, Val, binary},
};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{
    ir::{Imm, RegId},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

type At = &'static Location<'static>;

/// An address in a named state space: a register plus bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub(crate) space: Space,
    pub(crate) base: RegId,
    pub(crate) offset: i64,
    /// Loads may use the read-only path (`ld.global.nc`).
    pub(crate) read_only: bool,
}

/// An element index: 32 or 64 bits wide.
pub trait Index<'k> {
    /// The threads that agree on it.
    type U: Uni;
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn add_to(self, at: At, pointer: Pointer, size: u32) -> Pointer;
}

impl<'k, U: Uni> Index<'k> for Val<'k, u32, U> {
    type U = U;

    #[allow(private_interfaces)]
    fn add_to(self, at: At, pointer: Pointer, size: u32) -> Pointer {
        if let Some(known) = self.known(at) {
            return Pointer {
                offset: pointer.offset + known * i64::from(size),
                ..pointer
            };
        }
        let base = with(|b| {
            let index = self.rep().slot();
            let sources = [index, Slot::int(i64::from(size)), Slot::reg(pointer.base)];
            match pointer.space {
                Space::Shared if size == 1 => {
                    let sources = [self.rep().slot(), Slot::reg(pointer.base)];
                    b.def(at, Op::Add, &[Qual::T(Type::U32)], Type::U32, &sources)
                }
                Space::Shared => b.def(
                    at,
                    Op::Mad,
                    &[Qual::Lo, Qual::T(Type::U32)],
                    Type::U32,
                    &sources,
                ),
                _ => b.def(
                    at,
                    Op::Mad,
                    &[Qual::Wide, Qual::T(Type::U32)],
                    Type::U64,
                    &sources,
                ),
            }
        });
        Pointer { base, ..pointer }
    }
}

impl<'k, U: Uni> Index<'k> for Val<'k, u64, U> {
    type U = U;

    #[allow(private_interfaces)]
    fn add_to(self, at: At, pointer: Pointer, size: u32) -> Pointer {
        if let Some(known) = self.known(at) {
            return Pointer {
                offset: pointer.offset + known * i64::from(size),
                ..pointer
            };
        }
        debug_assert_ne!(
            pointer.space,
            Space::Shared,
            "shared memory is indexed with 32 bits"
        );
        let base = with(|b| {
            let size = Slot::int(i64::from(size));
            let sources = [self.rep().slot(), size, Slot::reg(pointer.base)];
            b.def(
                at,
                Op::Mad,
                &[Qual::Lo, Qual::T(Type::U64)],
                Type::U64,
                &sources,
            )
        });
        Pointer { base, ..pointer }
    }
}

impl<'k> Index<'k> for u32 {
    type U = uni::Cta;

    #[allow(private_interfaces)]
    fn add_to(self, _: At, pointer: Pointer, size: u32) -> Pointer {
        Pointer {
            offset: pointer.offset + i64::from(self) * i64::from(size),
            ..pointer
        }
    }
}

fn vector(n: usize) -> Option<Qual> {
    match n {
        2 => Some(Qual::V2),
        4 => Some(Qual::V4),
        _ => None,
    }
}

pub(crate) fn space_qual(space: Space) -> Qual {
    match space {
        Space::Global => Qual::Global,
        Space::Shared => Qual::Shared,
        Space::Local => Qual::Local,
        Space::Const => Qual::Const,
        Space::Param | Space::Generic => Qual::Param,
    }
}

impl Pointer {
    pub(crate) fn slot(self) -> Slot {
        Slot::at(self.base, self.offset)
    }

    /// The qualifiers of an access, and how many there are.
    fn quals(self, n: usize, memory: Type, load: Option<&Builder>) -> ([Qual; 4], usize) {
        let space = space_qual(self.space);
        let ty = Qual::T(memory);
        let nc = load
            .is_some_and(|b| self.read_only && b.read_only_cache && self.space == Space::Global);
        match (nc, vector(n)) {
            (false, None) => ([space, ty, ty, ty], 2),
            (false, Some(vector)) => ([space, vector, ty, ty], 3),
            (true, None) => ([space, Qual::Nc, ty, ty], 3),
            (true, Some(vector)) => ([space, Qual::Nc, vector, ty], 4),
        }
    }

    /// Loads `N` neighbours of memory type `memory` into registers of type `register`.
    pub(crate) fn load<const N: usize>(self, at: At, memory: Type, register: Type) -> [RegId; N] {
        with(|b| {
            let (quals, count) = self.quals(N, memory, Some(b));
            b.defs(at, Op::Ld, &quals[..count], register, &[self.slot()])
        })
    }

    /// Stores `N` neighbours.
    pub(crate) fn store<const N: usize>(self, at: At, memory: Type, values: [RegId; N]) {
        with(|b| {
            let (quals, count) = self.quals(N, memory, None);
            b.line(at, Op::St, &quals[..count], |slots| {
                slots.push(self.slot());
                if N > 1 {
                    slots.push(Slot::group(N as u32));
                }
                slots.extend(values.map(Slot::reg));
            });
        });
    }
}

/// The array is only read during the launch.
#[derive(Clone, Copy, Debug)]
pub struct Read;
/// The array is written during the launch, so what is read from it may differ between threads.
#[derive(Clone, Copy, Debug)]
pub struct Write;

/// How an access marker shows in loads.
pub trait AccessMark: Copy + 'static {
    /// What is known of a value loaded at an index that a `U` agrees on.
    type Loaded<U: Uni>: Uni;
    /// Whether the read-only path may be used.
    const READ_ONLY: bool;
}

impl AccessMark for Read {
    type Loaded<U: Uni> = U;
    const READ_ONLY: bool = true;
}

impl AccessMark for Write {
    type Loaded<U: Uni> = uni::Lane;
    const READ_ONLY: bool = false;
}

/// A row-major array in global memory, or a part of one that starts where a `U` agrees.
///
/// ```
/// use warpsmith_kernel::kernel;
///
/// kernel! {
///     /// `y[r][c] = x[r][c] + bias[c]`, where there is a bias.
///     pub struct Shift(ShiftArgs {
///         x: In<f32>[rows, n], bias: In<f32>[n], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>,
///     });
///     grid(a) = a.rows;
///     body(cta, a) {
///         let (x, y) = (a.x.row(cta.id()), a.y.row(cta.id())); // a row of an array of two dimensions
///         cta.each(a.n, |_, i| y.set(i, x.at(i) + a.bias.at(i))); // only what is `Out` or `InOut` has `set`
///     }
/// }
/// # use warpsmith_kernel::{Options, build};
/// # build(&Shift, warpsmith_ptx::target::Target::sm(70), Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Global<'k, T, A, U = uni::Cta> {
    pointer: Rep,
    offset: i64,
    row: Option<Rep>,
    mark: PhantomData<(fn(&'k ()) -> &'k (), T, A, U)>,
}

impl<T, A, U> Clone for Global<'_, T, A, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A, U> Copy for Global<'_, T, A, U> {}

impl<'k, T: Elem, A> Global<'k, T, A> {
    pub(crate) fn new(pointer: Val<'k, u64, uni::Cta>, row: Option<Rep>) -> Self {
        Global {
            pointer: pointer.rep(),
            offset: 0,
            row,
            mark: PhantomData,
        }
    }
}

impl<'k, T: Elem, A: AccessMark, U: Uni> Global<'k, T, A, U> {
    pub(crate) fn pointer(self, at: At) -> Pointer {
        let base = with(|b| b.to_reg(at, Type::U64, self.pointer));
        Pointer {
            space: Space::Global,
            base,
            offset: self.offset,
            read_only: A::READ_ONLY,
        }
    }

    /// The address of the element at `index`.
    pub(crate) fn element(self, at: At, index: impl Index<'k>) -> Pointer {
        index.add_to(at, self.pointer(at), T::MEMORY.bytes())
    }

    fn moved<V: Uni>(self, pointer: Pointer) -> Global<'k, T, A, V> {
        Global {
            pointer: Rep::Reg(pointer.base),
            offset: pointer.offset,
            row: None,
            mark: PhantomData,
        }
    }

    /// This view, no longer known to start at one place for all threads.
    pub fn varying(self) -> Global<'k, T, A, uni::Lane> {
        Global {
            pointer: self.pointer,
            offset: self.offset,
            row: self.row,
            mark: PhantomData,
        }
    }

    /// The same memory with elements of another type; the caller answers for alignment.
    pub fn cast<V: Elem>(self) -> Global<'k, V, A, U> {
        Global {
            pointer: self.pointer,
            offset: self.offset,
            row: None,
            mark: PhantomData,
        }
    }

    /// The array from element `index` on.
    #[track_caller]
    pub fn from<I: Index<'k>>(self, index: I) -> Global<'k, T, A, U::Out>
    where
        U: Join<I::U>,
    {
        let at = Location::caller();
        self.moved(index.add_to(at, self.pointer(at), T::MEMORY.bytes()))
    }

    /// The first element's address.
    #[track_caller]
    pub fn address(self) -> Val<'k, u64, U> {
        let at = Location::caller();
        let pointer = self.pointer(at);
        let offset = Rep::imm(Imm::Int(pointer.offset));
        let base = Rep::Reg(pointer.base);
        match pointer.offset {
            0 => Val::from_rep(base),
            _ => Val::from_rep(with(|b| binary(b, at, Op::Add, Type::U64, base, offset))),
        }
    }

    /// Whether the first element's address is a multiple of `bytes`, a power of two.
    #[track_caller]
    pub fn aligned(self, bytes: u32) -> Val<'k, bool, U> {
        let at = Location::caller();
        let pointer = self.pointer(at);
        let imm = |value| Rep::imm(Imm::Int(value));
        Val::from_reg(with(|b| {
            let base = Rep::Reg(pointer.base);
            let address = binary(b, at, Op::Add, Type::U64, base, imm(pointer.offset));
            let low = imm(i64::from(bytes) - 1);
            let low = binary(b, at, Op::And, Type::U64, address, low);
            let quals = [Qual::Eq, Qual::T(Type::U64)];
            let sources = [low.slot(), imm(0).slot()];
            b.def(at, Op::Setp, &quals, Type::Pred, &sources)
        }))
    }

    /// Row `index`: the elements that share the first coordinate. The offset is computed in 64 bits.
    #[track_caller]
    pub fn row<I: Arg<'k, u32>>(self, index: I) -> Global<'k, T, A, U::Out>
    where
        U: Join<I::U>,
    {
        let at = Location::caller();
        let index = index.val().u64().rep();
        let row = self.row.unwrap_or(Rep::imm(Imm::Int(1)));
        let start = with(|b| binary(b, at, Op::Mul, Type::U64, index, row));
        let start: Val<'k, u64, uni::Lane> = Val::from_rep(start);
        self.moved(start.add_to(at, self.pointer(at), T::MEMORY.bytes()))
    }

    /// The element at `index` in row-major order.
    #[track_caller]
    pub fn at<I: Index<'k>>(self, index: I) -> Val<'k, T::Reg, A::Loaded<U::Out>>
    where
        U: Join<I::U>,
    {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        let [reg] = pointer.load(at, T::MEMORY, T::Reg::TYPE);
        Val::from_reg(reg)
    }

    /// `N` (2 or 4) neighbouring elements from `index` on, in one access: the address is a multiple of their size.
    #[track_caller]
    pub fn vector<const N: usize, I: Index<'k>>(
        self,
        index: I,
    ) -> [Val<'k, T::Reg, A::Loaded<U::Out>>; N]
    where
        U: Join<I::U>,
    {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        pointer
            .load::<N>(at, T::MEMORY, T::Reg::TYPE)
            .map(Val::from_reg)
    }

    /// `N` (1, 2 or 4) words of 32 bits from element `index` on: the address is a multiple of `4 * N`.
    #[track_caller]
    pub fn words<const N: usize, I: Index<'k>>(
        self,
        index: I,
    ) -> [Val<'k, u32, A::Loaded<U::Out>>; N]
    where
        U: Join<I::U>,
    {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        pointer
            .load::<N>(at, Type::B32, Type::B32)
            .map(Val::from_reg)
    }

    /// Asks for the line with the element at `index`, which is read soon (`prefetch.global.L2`): it must be in the array.
    #[track_caller]
    pub fn prefetch<I: Index<'k>>(self, index: I) {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        let quals = [Qual::Global, Qual::L2];
        with(|b| b.push(at, Op::Prefetch, &quals, &[pointer.slot()]));
    }
}

impl<'k, T: Elem, U: Uni> Global<'k, T, Write, U> {
    /// Writes one element.
    #[track_caller]
    pub fn set<I: Index<'k>>(self, index: I, value: impl Arg<'k, T::Reg>) {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        let value = with(|b| b.to_reg(at, T::Reg::TYPE, value.val().rep()));
        pointer.store(at, T::MEMORY, [value]);
    }

    /// Writes `N` (2 or 4) neighbours in one access.
    #[track_caller]
    pub fn set_vector<const N: usize, I: Index<'k>, V: Uni>(
        self,
        index: I,
        values: [Val<'k, T::Reg, V>; N],
    ) {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        let values = values.map(|value| with(|b| b.to_reg(at, T::Reg::TYPE, value.rep())));
        pointer.store(at, T::MEMORY, values);
    }

    /// Writes `N` (1, 2 or 4) words of 32 bits from element `index` on.
    #[track_caller]
    pub fn set_words<const N: usize, I: Index<'k>, V: Uni>(
        self,
        index: I,
        words: [Val<'k, u32, V>; N],
    ) {
        let at = Location::caller();
        let pointer = index.add_to(at, self.pointer(at), T::MEMORY.bytes());
        let words = words.map(|word| with(|b| b.to_reg(at, Type::B32, word.rep())));
        pointer.store(at, Type::B32, words);
    }
}
