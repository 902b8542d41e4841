//! Scopes: who is executing, and so what may be done together.
//!
//! Holding `&mut Cta` means that every thread of the CTA is here, so they may synchronise; `&mut Warp` that every lane
//! of the warp is here, so they may shuffle; `&mut Lane` promises nothing. A closure of a control-flow method gets the
//! scope that is still whole.

use crate::{
    agreed::Agreed,
    ahead::Ahead,
    build::{EntryValue, Negated, Rep, with},
    slot::Slot,
    state::{State, mapped},
    uni::{self, Uni},
    val::Val,
};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{
    ir::{Imm, RegId},
    op::Op,
    qual::Qual,
    special::Special,
    types::Type,
};

pub(crate) type Brand<'k> = PhantomData<(fn(&'k ()) -> &'k (), *const ())>;

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// The whole CTA is executing.
///
/// ```
/// use warpsmith_kernel::kernel;
///
/// kernel! {
///     /// The largest element and where it is first: `y = [most, index]`.
///     pub struct ArgMax(ArgMaxArgs { x: In<f32>[n], y: Out<f32>[2], n: Scalar<u32> });
///     grid(a) = a.n.min(1);
///     body(cta, a) {
///         let most = cta.max(f32::NEG_INFINITY, a.n, |i| a.x.at(i)); // the same in the whole CTA
///         // The least index of those that have it: a maximum of negated indices.
///         let first = -cta.max(f32::NEG_INFINITY, a.n, |i| {
///             a.x.at(i).equals(most).select(-i.f32(), f32::NEG_INFINITY)
///         });
///         cta.leader(|_| {
///             a.y.set(0, most);
///             a.y.set(1, first);
///         });
///     }
/// }
/// # use warpsmith_kernel::{Options, build};
/// # build(&ArgMax, warpsmith_ptx::target::Target::sm(70), Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Cta<'k> {
    brand: Brand<'k>,
    /// Of a work item: its tile, and how many there are.
    tile: Option<[Val<'k, u32, uni::Cta>; 2]>,
    /// What was fetched for it.
    ahead: Option<Ahead<'k>>,
}

/// A whole warp is executing.
///
/// ```
/// use warpsmith_kernel::{Val, kernel, steps};
///
/// kernel! {
///     /// A warp for each row: the sum of its absolute values.
///     pub struct Norm1(Norm1Args { x: In<f32>[rows, n], y: Out<f32>[rows], rows: Scalar<u32>, n: Scalar<u32> });
///     grid(a) = a.rows.div_ceil(8);
///     body(cta, a) {
///         let first = cta.id() * 8;
///         cta.each_warp(|warp| {
///             let row = first + warp.id(); // the same in the warp, so its lanes may go on together
///             warp.if_all(row.lt(a.rows), |warp| {
///                 let x = a.x.row(row);
///                 let own = steps(warp.lane(), a.n, 32); // lane l has elements l, l + 32, ...
///                 let own = warp.fold_lanes(own, Val::constant(0.0), |_, i, sum| sum + x.at(i).abs());
///                 let sum = warp.sum(own); // the same in the warp
///                 warp.leader(|_| a.y.set(row, sum));
///             });
///         });
///     }
/// }
/// # use warpsmith_kernel::{Options, build};
/// # build(&Norm1, warpsmith_ptx::target::Target::sm(70), Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Warp<'k>(pub(crate) Brand<'k>);

/// Some threads are executing.
#[derive(Debug)]
pub struct Lane<'k>(Brand<'k>);

/// What every scope can do: branch and loop.
pub trait Scope<'k>: Sized {
    /// The threads that agree here.
    type U: Uni;

    /// A lane's view of this scope.
    #[doc(hidden)]
    fn lane_scope(&mut self) -> Lane<'k> {
        Lane(PhantomData)
    }

    /// Runs `body` in the threads where `condition` holds.
    #[track_caller]
    fn if_<U: Uni>(&mut self, condition: Val<'k, bool, U>, body: impl FnOnce(&mut Lane<'k>)) {
        let mut lane = self.lane_scope();
        branch("if_", Location::caller(), condition.reg(), || {
            body(&mut lane)
        });
    }

    /// Runs `body` if `condition`, on which all threads of the scope agree, holds.
    #[track_caller]
    fn if_all(&mut self, condition: impl Agreed<'k, bool, Self::U>, body: impl FnOnce(&mut Self)) {
        branch(
            "if_all",
            Location::caller(),
            condition.agreed().reg(),
            || body(self),
        );
    }

    /// `then` where `condition` holds and `otherwise` elsewhere; both give values of the same kind.
    #[track_caller]
    fn either<U: Uni, S: State<'k>>(
        &mut self,
        condition: Val<'k, bool, U>,
        then: impl FnOnce(&mut Lane<'k>) -> S,
        otherwise: impl FnOnce(&mut Lane<'k>) -> S,
    ) -> S {
        let at = Location::caller();
        let mut lane = self.lane_scope();
        let predicate = condition.reg();
        let (other, end) = with(|b| (b.label(), b.label()));
        with(|b| {
            b.branch(at, Some((predicate, Negated::Yes)), other);
            b.open("either", at);
        });
        let yes = then(&mut lane);
        let result = fresh(&yes);
        assign(at, &result, &yes);
        with(|b| {
            b.close();
            b.branch(at, None, end);
            b.place(at, other);
            b.open("either", at);
        });
        outlive(&result);
        let no = otherwise(&mut lane);
        assign(at, &result, &no);
        with(|b| {
            b.close();
            b.place(at, end);
        });
        result
    }

    /// `state = body(i, state)` for `i` in `from`, `from + step`, ... below `to`, on which the scope agrees.
    #[track_caller]
    fn fold<S: State<'k>>(
        &mut self,
        range: Steps<'k, Self::U>,
        state: S,
        body: impl FnOnce(&mut Self, Val<'k, u32, Self::U>, S) -> S,
    ) -> S {
        looped("fold", Location::caller(), range, state, |i, state| {
            body(self, i, state)
        })
    }

    /// `body(i)` for each `i` of the range.
    #[track_caller]
    fn for_(
        &mut self,
        range: Steps<'k, Self::U>,
        body: impl FnOnce(&mut Self, Val<'k, u32, Self::U>),
    ) {
        looped("for_", Location::caller(), range, (), |i, ()| body(self, i));
    }

    /// A per-thread loop: each thread with its own bounds.
    #[track_caller]
    fn fold_lanes<S: State<'k>>(
        &mut self,
        range: Steps<'k, uni::Lane>,
        state: S,
        body: impl FnOnce(&mut Lane<'k>, Val<'k, u32, uni::Lane>, S) -> S,
    ) -> S {
        let mut lane = self.lane_scope();
        looped(
            "fold_lanes",
            Location::caller(),
            range,
            state,
            |i, state| body(&mut lane, i, state),
        )
    }

    /// `state = body(state)` while `condition(state)`; each thread leaves on its own.
    #[track_caller]
    fn while_<S: State<'k>, U: Uni>(
        &mut self,
        state: S,
        condition: impl FnOnce(&mut Lane<'k>, S) -> Val<'k, bool, U>,
        body: impl FnOnce(&mut Lane<'k>, S) -> S,
    ) -> S {
        let at = Location::caller();
        let mut lane = self.lane_scope();
        let carried = fresh(&state);
        assign(at, &carried, &state);
        let (head, exit) = with(|b| (b.label(), b.label()));
        with(|b| {
            b.place(at, head);
            b.loop_depth += 1;
            b.open("while_", at);
        });
        let go = condition(&mut lane, carried.clone()).reg();
        with(|b| b.branch(at, Some((go, Negated::Yes)), exit));
        let next = body(&mut lane, carried.clone());
        assign(at, &carried, &next);
        with(|b| {
            b.close();
            b.loop_depth -= 1;
            b.branch(at, None, head);
            b.place(at, exit);
        });
        carried
    }

    /// `state = body(state)` while `condition(state)`, on which all threads of the scope agree: they stay together.
    #[track_caller]
    fn while_all<S: State<'k>>(
        &mut self,
        state: S,
        condition: impl FnOnce(&mut Self, S) -> Val<'k, bool, Self::U>,
        body: impl FnOnce(&mut Self, S) -> S,
    ) -> S {
        let at = Location::caller();
        let carried = fresh(&state);
        assign(at, &carried, &state);
        let (head, exit) = with(|b| (b.label(), b.label()));
        with(|b| {
            b.place(at, head);
            b.loop_depth += 1;
            b.open("while_all", at);
        });
        let go = condition(self, carried.clone()).reg();
        with(|b| b.branch(at, Some((go, Negated::Yes)), exit));
        let next = body(self, carried.clone());
        assign(at, &carried, &next);
        with(|b| {
            b.close();
            b.loop_depth -= 1;
            b.branch(at, None, head);
            b.place(at, exit);
        });
        carried
    }
}

/// The indices of a loop: `from`, `from + step`, ... below `to`. Bounds stay below 2^31.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'k, U> {
    from: Val<'k, u32, U>,
    to: Val<'k, u32, U>,
    step: u32,
}

/// `from..to` in steps of `step`.
pub fn steps<'k, U: Uni>(
    from: impl Agreed<'k, u32, U>,
    to: impl Agreed<'k, u32, U>,
    step: u32,
) -> Steps<'k, U> {
    Steps {
        from: from.agreed(),
        to: to.agreed(),
        step,
    }
}

/// `0..to`.
pub fn upto<'k, U: Uni>(to: impl Agreed<'k, u32, U>) -> Steps<'k, U> {
    steps(0, to, 1)
}

fn branch(
    construct: &'static str,
    at: &'static Location<'static>,
    predicate: RegId,
    body: impl FnOnce(),
) {
    let end = with(|b| {
        let end = b.label();
        b.branch(at, Some((predicate, Negated::Yes)), end);
        b.open(construct, at);
        end
    });
    body();
    with(|b| {
        b.close();
        b.place(at, end);
    });
}

/// Takes the registers of a state out of the region that they were made in.
fn outlive<'k, S: State<'k>>(state: &S) {
    mapped(state, |_, rep| {
        if let Rep::Reg(reg) = rep {
            with(|b| b.keep(reg));
        }
        rep
    });
}

/// A state of the same kind in registers of its own.
fn fresh<'k, S: State<'k>>(like: &S) -> S {
    mapped(like, |ty, _| Rep::Reg(with(|b| b.carried(ty))))
}

/// Copies `from` into the registers of `to` as if all at once.
fn assign<'k, S: State<'k>>(at: &'static Location<'static>, to: &S, from: &S) {
    let mut targets = Vec::new();
    mapped(to, |ty, rep| {
        targets.push((ty, rep));
        rep
    });
    let mut sources = Vec::new();
    mapped(from, |_, rep| {
        sources.push(rep);
        rep
    });
    with(|b| {
        // A source that an earlier copy of this group overwrites is saved first. Most sources are newer than all targets.
        let newest = targets.iter().filter_map(|(_, target)| target.reg()).max();
        for at_source in 0..sources.len() {
            let source = sources[at_source];
            let clobbered = source.reg().is_some_and(|reg| Some(reg) <= newest)
                && targets[..at_source]
                    .iter()
                    .any(|(_, target)| *target == source);
            if clobbered {
                let ty = targets[at_source].0;
                let saved = b.carried(ty);
                b.mov(at, ty, saved, sources[at_source]);
                sources[at_source] = Rep::Reg(saved);
            }
        }
        for ((ty, target), source) in targets.into_iter().zip(sources) {
            let Rep::Reg(reg) = target else { continue };
            if target != source {
                b.mov(at, ty, reg, source);
            }
        }
    });
}

pub(crate) fn looped<'k, U: Uni, S: State<'k>>(
    construct: &'static str,
    at: &'static Location<'static>,
    range: Steps<'k, U>,
    state: S,
    body: impl FnOnce(Val<'k, u32, U>, S) -> S,
) -> S {
    let Steps { from, to, step } = range;
    let carried = fresh(&state);
    assign(at, &carried, &state);
    let end = to.slot();
    with(|b| [from.rep(), to.rep()].map(|rep| b.seen(at, rep)));
    let known = match (from.rep(), to.rep()) {
        (Rep::Imm(Imm::Int(from), _), Rep::Imm(Imm::Int(to), _)) => Some(from < to),
        _ => None,
    };
    if known == Some(false) {
        return carried;
    }
    let (index, head, exit) = with(|b| {
        let index = b.carried(Type::U32);
        b.mov(at, Type::U32, index, from.rep());
        let (head, exit) = (b.label(), b.label());
        if known.is_none() {
            let quals = [Qual::Ge, Qual::T(Type::U32)];
            let none = b.def(at, Op::Setp, &quals, Type::Pred, &[Slot::reg(index), end]);
            b.branch(at, Some((none, Negated::No)), exit);
        }
        b.place(at, head);
        b.loop_depth += 1;
        b.open(construct, at);
        (index, head, exit)
    });
    let next = body(Val::from_reg(index), carried.clone());
    assign(at, &carried, &next);
    with(|b| {
        b.close();
        b.loop_depth -= 1;
        let sources = [
            Slot::reg(index),
            Slot::reg(index),
            Slot::int(i64::from(step)),
        ];
        b.push(at, Op::Add, &[Qual::T(Type::U32)], &sources);
        let quals = [Qual::Lt, Qual::T(Type::U32)];
        let more = b.def(at, Op::Setp, &quals, Type::Pred, &[Slot::reg(index), end]);
        b.branch(at, Some((more, Negated::No)), head);
        b.place(at, exit);
    });
    carried
}

impl<'k> Scope<'k> for Cta<'k> {
    type U = uni::Cta;
}

impl<'k> Scope<'k> for Warp<'k> {
    type U = uni::Warp;
}

impl<'k> Scope<'k> for Lane<'k> {
    type U = uni::Lane;
}

fn special<'k, U: Uni>(key: EntryValue, special: Special) -> Val<'k, u32, U> {
    Val::from_reg(with(|b| {
        b.at_entry(key, Type::U32, |draft, dst| {
            let slots = [Slot::reg(dst), Slot::special(special)];
            draft.at_entry(Op::Mov, &[Qual::T(Type::U32)], &slots);
        })
    }))
}

pub(crate) fn thread<'k>() -> Val<'k, u32, uni::Lane> {
    special(EntryValue::Thread, Special::TidX)
}

pub(crate) fn lane_id<'k>() -> Val<'k, u32, uni::Lane> {
    special(EntryValue::LaneId, Special::Laneid)
}

/// Every lane of the warp takes part in a `.sync` operation.
pub(crate) const FULL: Slot = Slot::int(0xffff_ffff);

pub(crate) fn warp_id<'k>() -> Val<'k, u32, uni::Warp> {
    let thread = thread().reg();
    Val::from_reg(with(|b| {
        b.at_entry(EntryValue::WarpId, Type::U32, |draft, dst| {
            let index = draft.reg(Type::U32);
            let shift = [Slot::reg(index), Slot::reg(thread), Slot::int(5)];
            draft.at_entry(Op::Shr, &[Qual::T(Type::U32)], &shift);
            // The shuffle tells every reader of the PTX that the index is the same in the whole warp.
            let quals = [Qual::Sync, Qual::Idx, Qual::T(Type::B32)];
            let (dst, index) = (Slot::reg(dst), Slot::reg(index));
            let shuffle = [dst, index, Slot::int(0), Slot::int(31), FULL];
            draft.at_entry(Op::Shfl, &quals, &shuffle);
        })
    }))
}

impl<'k> Cta<'k> {
    /// The scope at the entry of a kernel.
    pub(crate) fn entry() -> Cta<'k> {
        Cta {
            brand: PhantomData,
            tile: None,
            ahead: None,
        }
    }

    /// The scope of a body that runs as a work item: a tile and their number override index and number of CTAs.
    pub(crate) fn item(tile: [Val<'k, u32, uni::Cta>; 2], ahead: Option<Ahead<'k>>) -> Cta<'k> {
        Cta {
            brand: PhantomData,
            tile: Some(tile),
            ahead,
        }
    }

    /// Where what [`Kernel::fetch`](crate::Kernel::fetch) brings is; `None` where it was not called for this tile.
    pub fn ahead(&self) -> Option<Ahead<'k>> {
        self.ahead
    }

    /// The index of the tile this body computes.
    pub fn id(&self) -> Val<'k, u32, uni::Cta> {
        match self.tile {
            Some([tile, _]) => tile,
            None => special(EntryValue::CtaId, Special::CtaidX),
        }
    }

    /// The number of tiles of this launch.
    pub fn tiles(&self) -> Val<'k, u32, uni::Cta> {
        match self.tile {
            Some([_, tiles]) => tiles,
            None => special(EntryValue::CtaCount, Special::NctaidX),
        }
    }

    /// Threads of the CTA.
    pub fn threads(&self) -> u32 {
        with(|b| b.threads)
    }

    /// Warps of the CTA.
    pub fn warps(&self) -> u32 {
        self.threads() / WARP
    }

    /// This thread's index in the CTA.
    pub fn thread(&self) -> Val<'k, u32, uni::Lane> {
        thread()
    }

    /// Waits until every thread of the CTA is here, and makes their writes seen by each other.
    #[track_caller]
    pub fn barrier(&mut self) {
        let at = Location::caller();
        with(|b| b.push(at, Op::Bar, &[Qual::Sync], &[Slot::int(0)]));
    }

    /// Runs `body` in each warp.
    #[track_caller]
    pub fn each_warp(&mut self, body: impl FnOnce(&mut Warp<'k>)) {
        body(&mut Warp(PhantomData));
    }

    /// The value that `body` gives in each warp.
    #[track_caller]
    pub fn in_warps<R>(&mut self, body: impl FnOnce(&mut Warp<'k>) -> R) -> R {
        body(&mut Warp(PhantomData))
    }

    /// `body(i)` for each `i < n`, spread over the threads: thread t takes t, t + threads, ...
    #[track_caller]
    pub fn each(
        &mut self,
        n: impl Agreed<'k, u32, uni::Lane>,
        body: impl FnOnce(&mut Lane<'k>, Val<'k, u32, uni::Lane>),
    ) {
        let mut lane = self.lane_scope();
        let range = steps(self.thread(), n, self.threads());
        looped("each", Location::caller(), range, (), |i, ()| {
            body(&mut lane, i)
        });
    }

    /// Runs `body` in thread 0.
    #[track_caller]
    pub fn leader(&mut self, body: impl FnOnce(&mut Lane<'k>)) {
        let first = self.thread().equals(0);
        self.if_(first, body);
    }
}
