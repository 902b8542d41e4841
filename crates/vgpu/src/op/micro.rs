//! Ops as data: the arguments of each handler are a type of its own, made together with the handler and read by it alone.
//!
//! [`MicroOp`] is what all ops are in a program: code, a [`Kind`] that says which handler that is, and room for its
//! arguments. [`Micro`] is the same seen by the handler, for which it is its arguments.
#![allow(unsafe_code)]

use super::{
    Flow, Handler, Show, SpanId,
    code::{self, Run},
};
use crate::tier::Tier;
use std::{any::TypeId, fmt, marker::PhantomData, mem::MaybeUninit, ops::Deref};

/// A place in the frame of a warp, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// The start of each frame, where masked writes are staged; an operand that has it is none.
    pub(crate) const SCRATCH: Slot = Slot(0);
}

/// A slot, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptSlot(u32);

impl OptSlot {
    pub(crate) const NONE: OptSlot = OptSlot(u32::MAX);

    #[inline(always)]
    pub(crate) fn get(self) -> Option<Slot> {
        (self.0 != u32::MAX).then_some(Slot(self.0))
    }
}

impl From<Slot> for OptSlot {
    fn from(slot: Slot) -> OptSlot {
        OptSlot(slot.0)
    }
}

impl From<Option<Slot>> for OptSlot {
    fn from(slot: Option<Slot>) -> OptSlot {
        slot.map_or(OptSlot::NONE, OptSlot::from)
    }
}

/// A predicate that is read: the slot of its lane mask, and whether it is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pred {
    pub(crate) mask: Slot,
    /// All ones where it is negated, else 0.
    pub(crate) flip: u32,
}

impl Pred {
    pub(crate) fn plain(mask: Slot) -> Pred {
        Pred { mask, flip: 0 }
    }

    pub(crate) fn negated(self) -> Pred {
        Pred {
            flip: !self.flip,
            ..self
        }
    }
}

/// A predicate that is read, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptPred {
    mask: OptSlot,
    flip: u32,
}

impl OptPred {
    pub(crate) const NONE: OptPred = OptPred {
        mask: OptSlot::NONE,
        flip: 0,
    };

    #[inline(always)]
    pub(crate) fn get(self) -> Option<Pred> {
        let flip = self.flip;
        self.mask.get().map(|mask| Pred { mask, flip })
    }
}

impl From<Option<Pred>> for OptPred {
    fn from(pred: Option<Pred>) -> OptPred {
        pred.map_or(OptPred::NONE, |pred| OptPred {
            mask: pred.mask.into(),
            flip: pred.flip,
        })
    }
}

/// Where words begin in the program's table of further operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) u32);

impl Words {
    /// Those so many words behind.
    #[inline(always)]
    pub(crate) fn behind(self, words: u32) -> Words {
        Words(self.0 + words)
    }
}

/// What is added to addresses; at multiples of 4 bytes, so that arguments have no holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Offset(u64);

impl Offset {
    pub(crate) fn new(offset: u64) -> Offset {
        Offset(offset)
    }

    #[inline(always)]
    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

/// So many ops of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ops(pub(crate) u32);

/// A value that addresses are given by: one for the warp or for each lane, of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) slot: Slot,
    pub(crate) scalar: bool,
    pub(crate) wide: bool,
}

/// What an op says apart from its code. [`args!`] makes them.
pub(crate) trait Args: Copy + Send + Sync + 'static {
    /// Calls `see` with the name of each and what it is.
    fn each(&self, see: &mut dyn FnMut(&'static str, &dyn Show));
}

/// Arguments of a handler: plain data with names.
macro_rules! args {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident {
        $($(#[$about:meta])* $see:vis $field:ident: $ty:ty),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        $vis struct $name {
            $($(#[$about])* $see $field: $ty,)*
        }

        impl $crate::op::Args for $name {
            fn each(&self, see: &mut dyn FnMut(&'static str, &dyn $crate::op::Show)) {
                let $name { $($field),* } = self;
                $(see(stringify!($field), $field);)*
            }
        }
    )*};
}
pub(crate) use args;

/// Nothing is said.
impl Args for () {
    fn each(&self, _: &mut dyn FnMut(&'static str, &dyn Show)) {}
}

/// Words that the arguments of an op may take.
const ROOM: usize = 9;

/// One step of a warp.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MicroOp {
    run: Run,
    kind: &'static Kind,
    args: [MaybeUninit<u32>; ROOM],
    span: SpanId,
}

const _: () = assert!(
    size_of::<MicroOp>() == 56,
    "ops are read one after the other"
);

/// Which handler an op is of, the same on all tiers.
pub(crate) struct Kind {
    handler: TypeId,
    name: fn() -> &'static str,
    show: fn(&MicroOp, &mut dyn FnMut(&'static str, &dyn Show)),
}

/// The kind of a handler with arguments `A`.
struct KindOf<H, A>(PhantomData<(H, A)>);

impl<H: 'static, A: Args> KindOf<H, A> {
    const KIND: &'static Kind = &Kind {
        handler: TypeId::of::<H>(),
        name: std::any::type_name::<H>,
        show: |op, see| {
            // SAFETY: only an op of this kind calls it.
            unsafe { op.args::<A>() }.each(see);
        },
    };
}

impl MicroOp {
    /// An op of handler `H` for a tier.
    pub(crate) fn new<H: Handler>(tier: Tier, args: H::Args, span: SpanId) -> MicroOp {
        MicroOp::put::<H, H::Args>(code::pick::<H>(tier), args, span)
    }

    /// An op of a handler that is seldom run: its code is compiled once.
    pub(crate) fn cold<H: Handler>(args: H::Args, span: SpanId) -> MicroOp {
        MicroOp::put::<H, H::Args>(code::pick_cold::<H>(), args, span)
    }

    /// An op of control flow.
    pub(crate) fn flow<F: Flow>(args: F::Args, span: SpanId) -> MicroOp {
        MicroOp::put::<F, F::Args>(code::pick_flow::<F>(), args, span)
    }

    /// An op that checks, for a tier.
    pub(crate) fn watch<F: Flow>(tier: Tier, args: F::Args, span: SpanId) -> MicroOp {
        MicroOp::put::<F, F::Args>(code::pick_watch::<F>(tier), args, span)
    }

    /// `run` is code of `H`, whose arguments are `A`.
    fn put<H: 'static, A: Args>(run: Run, own: A, span: SpanId) -> MicroOp {
        const {
            assert!(
                size_of::<A>() <= 4 * ROOM,
                "arguments with no room in an op"
            );
            assert!(align_of::<A>() <= align_of::<MicroOp>());
        }
        let mut op = MicroOp {
            run,
            kind: KindOf::<H, A>::KIND,
            args: [MaybeUninit::uninit(); ROOM],
            span,
        };
        // SAFETY: the room is large enough and as aligned as the op, behind two pointers, which was just asserted.
        unsafe { op.args.as_mut_ptr().cast::<A>().write(own) };
        op
    }

    /// Its arguments.
    ///
    /// # Safety
    /// The op was made of a handler with arguments `A`.
    #[inline(always)]
    unsafe fn args<A: Args>(&self) -> &A {
        // SAFETY: `put` wrote them there.
        unsafe { &*self.args.as_ptr().cast::<A>() }
    }

    /// Whether it is an op of `H`.
    pub(crate) fn is<H: 'static>(&self) -> bool {
        self.kind.handler == TypeId::of::<H>()
    }

    /// It with its arguments, if it is an op of `H`.
    pub(crate) fn of<H: Handler>(&self) -> Option<&Micro<H::Args>> {
        // SAFETY: an op with this kind was made of `H`.
        self.is::<H>().then(|| unsafe { Micro::seen(self) })
    }

    /// Its arguments to be changed, if it is an op of `H`.
    pub(crate) fn of_mut<H: Handler>(&mut self) -> Option<&mut H::Args> {
        // SAFETY: as in `of` and `args`.
        self.is::<H>()
            .then(|| unsafe { &mut *self.args.as_mut_ptr().cast() })
    }

    /// It with its arguments, if it is an op of `F`.
    pub(crate) fn of_flow<F: Flow>(&self) -> Option<&Micro<F::Args>> {
        // SAFETY: as in `of`.
        self.is::<F>().then(|| unsafe { Micro::seen(self) })
    }

    /// Its arguments to be changed, if it is an op of `F`.
    pub(crate) fn of_flow_mut<F: Flow>(&mut self) -> Option<&mut F::Args> {
        // SAFETY: as in `of_mut`.
        self.is::<F>()
            .then(|| unsafe { &mut *self.args.as_mut_ptr().cast() })
    }

    /// The code that runs it.
    #[inline(always)]
    pub(crate) fn run(&self) -> Run {
        self.run
    }

    /// Lets other code run it, which takes the place of the handler's.
    pub(crate) fn set_run(&mut self, run: Run) {
        self.run = run;
    }

    /// Where it stands in the text.
    pub(crate) fn span(&self) -> SpanId {
        self.span
    }

    /// This op, standing elsewhere.
    pub(crate) fn at(self, span: SpanId) -> MicroOp {
        MicroOp { span, ..self }
    }

    /// The name of its handler, with the names of types it is made of.
    pub(crate) fn name(&self) -> &'static str {
        (self.kind.name)()
    }

    /// Calls `see` with the name of each argument and what it is.
    pub(crate) fn each(&self, see: &mut dyn FnMut(&'static str, &dyn Show)) {
        (self.kind.show)(self, see);
    }
}

impl fmt::Debug for MicroOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An op as its handler sees it: its arguments, and where it stands.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Micro<A> {
    op: MicroOp,
    args: PhantomData<A>,
}

impl<A: Args> Micro<A> {
    /// What the code of a handler with arguments `A` was given.
    ///
    /// # Safety
    /// `op` is valid for as long as the result is used, and was made of a handler with arguments `A`, unless `A` is `()`.
    #[inline(always)]
    pub(crate) unsafe fn seen<'a>(op: *const MicroOp) -> &'a Micro<A> {
        // SAFETY: the two have one layout.
        unsafe { &*op.cast() }
    }

    /// As it is in the program.
    pub(crate) fn plain(&self) -> &MicroOp {
        &self.op
    }

    /// Where it stands in the text.
    #[inline(always)]
    pub(crate) fn span(&self) -> SpanId {
        self.op.span
    }

    /// The op behind it.
    #[inline(always)]
    pub(crate) fn next(&self) -> *const MicroOp {
        std::ptr::from_ref(&self.op).wrapping_add(1)
    }

    /// The op behind those that stand behind it.
    #[inline(always)]
    pub(crate) fn skip(&self, ops: Ops) -> *const MicroOp {
        self.next().wrapping_add(ops.0 as usize)
    }
}

impl<A: Args> Deref for Micro<A> {
    type Target = A;

    #[inline(always)]
    fn deref(&self) -> &A {
        // SAFETY: `seen` was told so.
        unsafe { self.op.args::<A>() }
    }
}
