//! The persistent kernel: the whole plan of a token, again and again, in one cooperative launch.
//!
//! Each step of a plan is a row of `records`: which body, how many tiles, where its arguments are, which step it waits for.
//! Every CTA walks all steps, takes its share of the tiles of each, and then counts itself in at `arrived`; a step that
//! needs what another wrote waits until all CTAs have arrived there. While it waits, and between tiles, the first weights of
//! its next tile may be on their way to shared memory ([`Prefetch`]): no step writes weights. After the last step one CTA
//! tells the host the token, decides whether another one follows, and looks at the host's flag: after it told the token and
//! before any step of the next one, so that the token being made when the flag is written is the last.

use crate::values::Uniform;
use std::sync::Arc;
use warpsmith_kernel::{
    Ahead, BuildError, Built, Cta, Global, InKernel, PIECE, Scope, Val, Write, args,
    item::{Body, Tile, Work, build_items, free_after},
    steps, uni, upto,
};
use warpsmith_ptx::target::Target;

args! {
    /// `records` has [`RECORD`] words a step: body, tiles, offset of the arguments in `table`, 1 + the step it waits for or
    /// 0. `arrived` and `claimed` start at zero, one for each step, `arrived` with one more. `token` and `position` are
    /// what a step leaves: the token drawn last, with what else is told of it, and a position. `ends` are tokens after
    /// which nothing follows, `shared` has [`shared::RING`] words and a ring of `capacity` tokens. At most `tokens` are
    /// made, and none after one that leaves `context` or more as position.
    pub struct PersistentArgs {
        records: In<u32>[steps, record_words], table: In<u8>[table_bytes],
        arrived: InOut<u32>[steps + 1], claimed: InOut<u32>[steps], verdict: InOut<u32>[1],
        token: InOut<u32>[token_words], position: InOut<u32>[1], ends: In<u32>[ends_len], shared: InOut<u32>[shared_words],
        steps: Scalar<u32>, record_words: Scalar<u32>, table_bytes: Scalar<u32>, ends_len: Scalar<u32>,
        shared_words: Scalar<u32>, token_words: Scalar<u32>, capacity: Scalar<u32>, tokens: Scalar<u32>, context: Scalar<u32>,
    }
}

/// Words of a step's record.
pub const RECORD: u32 = 4;

/// The words that the host and the kernel both see.
pub mod shared {
    /// Not zero: the token being made is the last (from the host).
    pub const STOP: u32 = 0;
    /// Tokens made so far.
    pub const MADE: u32 = 1;
    /// Why the kernel ended, an [`End`](super::End); 0 while it runs.
    pub const STATUS: u32 = 2;
    /// The first token; token n is `n % capacity` times the words of a token later.
    pub const RING: u32 = 16;
}

/// Why the kernel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum End {
    /// All tokens that were asked for are made.
    Tokens = 1,
    /// A token after which nothing follows.
    Token = 2,
    /// The host asked for it.
    Stopped = 3,
    /// The context is full: the token made last has no place in it.
    Context = 4,
}

impl End {
    /// What the kernel wrote; `None` while it runs.
    pub fn of(status: u32) -> Option<End> {
        [End::Tokens, End::Token, End::Stopped, End::Context]
            .into_iter()
            .find(|end| *end as u32 == status)
    }
}

/// How tiles come to CTAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// CTA i takes tiles i, i + CTAs, ...
    #[default]
    Static,
    /// Whoever is free takes the next (`atom.add`).
    Claimed,
}

/// Whether a CTA fetches the first weights of its next tile while it waits for others, or for what a tile is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// It loads them when it computes: what suits processors whose loads take no time that could be used, as the virtual
    /// GPU's, where each copy is one more instruction.
    #[default]
    Off,
    /// By `cp.async`, up to [`PREFETCHED`] pieces of 16 bytes a thread, where the target has it: a card waits for a grid's
    /// last CTA as long as for thousands of instructions, in which its memory would be idle.
    On,
}

/// The most pieces of a thread: 32 KiB of a CTA of 256 threads.
pub const PREFETCHED: u32 = 8;

/// What a persistent kernel is made of.
#[derive(Debug)]
pub struct Persistent<'a> {
    /// Threads of a CTA.
    pub threads: u32,
    /// How tiles come to CTAs.
    pub schedule: Schedule,
    /// What CTAs do while they wait.
    pub prefetch: Prefetch,
    /// The bodies, by the numbers that records have.
    pub bodies: &'a [Arc<dyn Body>],
}

/// Its entry.
pub const NAME: &str = "persistent";

/// One step as its record says.
struct Step<'k> {
    index: Uniform<'k>,
    kind: Uniform<'k>,
    tiles: Uniform<'k>,
    arguments: Val<'k, u64, uni::Cta>,
    /// Tokens before this one.
    token: Uniform<'k>,
    claimed: Global<'k, u32, Write>,
}

impl<'k> Step<'k> {
    fn tile(&self, index: Uniform<'k>) -> Tile<'k> {
        let count = self.tiles;
        Tile { index, count }
    }
}

impl Persistent<'_> {
    /// The kernel for `target`.
    ///
    /// # Errors
    /// A body that the target lacks something for, or a refusal by the verifier.
    pub fn build(&self, target: Target) -> Result<Built, BuildError> {
        self.bodies
            .iter()
            .try_for_each(|body| body.supports(target))?;
        build_items::<PersistentArgs>(NAME.into(), self.threads, target, |cta, a| {
            self.body(cta, a)
        })
    }

    /// Bytes of a CTA's shared memory for what it fetches ahead on `target`.
    pub fn prefetched(&self, target: Target) -> u32 {
        match self.prefetch {
            Prefetch::On if target.sm >= Ahead::FIRST_SM => self.pieces() * PIECE * self.threads,
            Prefetch::On | Prefetch::Off => 0,
        }
    }

    fn pieces(&self) -> u32 {
        let bodies = self.bodies.iter().map(|body| body.pieces_ahead());
        bodies.max().unwrap_or_default()
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PersistentArgs<InKernel<'k>>) {
        let ctas = cta.tiles();
        let none = Uniform::constant(0);
        let ahead = match self.prefetch {
            Prefetch::Off => None,
            Prefetch::On => cta.reserve_ahead(self.pieces()),
        };
        let verdict = a.tokens.equals(0).select(End::Tokens as u32, none);
        let (_, verdict) = cta.while_all(
            (none, verdict),
            |_, (_, verdict)| verdict.equals(0),
            |cta, (token, _)| {
                let arrivals = (token + 1) * ctas;
                cta.for_(upto(a.steps), |cta, index| {
                    let record = a.records.row(index);
                    let [kind, tiles, arguments, wait] = [0u32, 1, 2, 3].map(|at| record.at(at));
                    let step = Step {
                        index,
                        kind,
                        tiles,
                        arguments: a.table.from(arguments).address(),
                        token,
                        claimed: a.claimed,
                    };
                    let first = self.tile(cta, &step, None);
                    if ahead.is_some() {
                        self.each_body(cta, &step, ahead, &mut |cta, work| {
                            let any = first.lt(step.tiles);
                            cta.if_all(any, |cta| work.fetch(cta, step.tile(first)));
                        });
                    }
                    cta.if_all(wait.gt(0), |cta| {
                        cta.wait_for(a.arrived, wait - 1, arrivals);
                    });
                    self.step(cta, &step, first, ahead);
                    cta.signal(a.arrived, index);
                });
                let verdict = turn(cta, &a, token, arrivals);
                (token + 1, verdict)
            },
        );
        cta.if_all(cta.id().equals(0), |cta| {
            cta.leader(|_| a.shared.set_system(shared::STATUS, verdict));
        });
    }

    /// This CTA's first tile of a step, or the one after `last`; past the last tile if there is none.
    fn tile<'k>(
        &self,
        cta: &mut Cta<'k>,
        step: &Step<'k>,
        last: Option<Uniform<'k>>,
    ) -> Uniform<'k> {
        let ctas = cta.tiles();
        match (self.schedule, last) {
            (Schedule::Static, None) => cta.id(),
            (Schedule::Static, Some(last)) => last + ctas,
            (Schedule::Claimed, _) => {
                // For each token before, every CTA claimed once more than there were tiles.
                let before = step.token * (step.tiles + ctas);
                cta.claim(step.claimed, step.index) - before
            }
        }
    }

    /// `part` with the work of the step's body.
    fn each_body<'k>(
        &self,
        cta: &mut Cta<'k>,
        step: &Step<'k>,
        ahead: Option<Ahead<'k>>,
        part: &mut dyn FnMut(&mut Cta<'k>, &mut dyn Work<'k>),
    ) {
        for (number, body) in self.bodies.iter().enumerate() {
            cta.if_all(step.kind.equals(number as u32), |cta| {
                free_after(cta, |cta| body.record(cta, step.arguments, ahead, part));
            });
        }
    }

    /// This CTA's tiles of a step, from `first` on.
    fn step<'k>(
        &self,
        cta: &mut Cta<'k>,
        step: &Step<'k>,
        first: Uniform<'k>,
        ahead: Option<Ahead<'k>>,
    ) {
        self.each_body(cta, step, ahead, &mut |cta, work| {
            let more = |i: Uniform<'k>| i.lt(step.tiles);
            cta.while_all(
                first,
                |_, i| more(i),
                |cta, i| {
                    work.compute(cta, step.tile(i));
                    let next = self.tile(cta, step, Some(i));
                    if ahead.is_some() {
                        cta.if_all(more(next), |cta| work.fetch(cta, step.tile(next)));
                    }
                    next
                },
            );
        });
    }
}

/// Whether another token follows: decided by one CTA, told to the host and to the others.
fn turn<'k>(
    cta: &mut Cta<'k>,
    a: &PersistentArgs<InKernel<'k>>,
    token: Uniform<'k>,
    arrivals: Uniform<'k>,
) -> Uniform<'k> {
    cta.if_all(cta.id().equals(0), |cta| {
        cta.wait_for(a.arrived, a.steps - 1, arrivals);
        cta.leader(|lane| {
            let id = a.token.at(0u32);
            let known = a.ends;
            let zero: Val<'k, u32> = Val::constant(0);
            let slot = (token % a.capacity) * a.token_words + shared::RING;
            let words = steps(zero, a.token_words.varying(), 1);
            lane.for_(words, |_, at| {
                a.shared.set_system(slot + at, a.token.at(at));
            });
            let made = token.varying() + 1;
            a.shared.set_system(shared::MADE, made);
            // A host that wrote the flag before it saw this token is heard here.
            lane.meet_host();
            let range = steps(zero, a.ends_len.varying(), 1);
            let ended = lane.fold_lanes(range, zero, |_, i, ended: Val<'k, u32>| {
                ended | known.at(i).equals(id).select(1u32, 0u32)
            });
            let verdict = zero;
            // What counts most comes last.
            let full = a.position.at(0u32).ge(a.context);
            let verdict = full.select(End::Context as u32, verdict);
            let stop = a.shared.at_system(shared::STOP).differs(0);
            let verdict = stop.select(End::Stopped as u32, verdict);
            let verdict = made.ge(a.tokens).select(End::Tokens as u32, verdict);
            let verdict = ended.differs(0).select(End::Token as u32, verdict);
            a.verdict.set(0u32, verdict);
        });
        cta.signal(a.arrived, a.steps);
    });
    cta.wait_for(a.arrived, a.steps, token + 1);
    let verdict = a.verdict.at(0u32);
    cta.broadcast(verdict)
}
