//! The usual draw: a few hundred candidates are found by narrowing a threshold, then ranked against each other.

use super::{Draw, float_of};
use crate::values::{F32, Uniform, Word};
use warpsmith_kernel::{Cta, Global, Scope, Tile, Val, View, Warp, Write, steps, uni, upto};

/// Candidates that are ranked at most.
const MOST: u32 = 512;

/// A threshold and how many logits reach it.
#[derive(Clone, Copy)]
pub(super) struct Found<'k> {
    threshold: Uniform<'k, u32>,
    count: Uniform<'k, u32>,
    /// 1 if the token is sure to be among them.
    pub(super) enough: Uniform<'k, u32>,
}

impl<'k> Draw<'k> {
    /// A threshold that few logits reach, but enough to decide the draw. `possible` logits are at least `floor`.
    pub(super) fn narrow(
        &self,
        cta: &mut Cta<'k>,
        floor: Uniform<'k, u32>,
        possible: Uniform<'k, u32>,
    ) -> Found<'k> {
        let few = possible.le(MOST);
        let by_count = self.top_k.gt(0);
        // The weight that decides: what top-p keeps of all, or what the draw reaches. Under top-k only the count does,
        // since top-p is a part of the weight of all k.
        let needed = self
            .top_p
            .lt(1.0)
            .select(self.top_p * self.total, self.u * self.likely);
        let goal = by_count.select(f32::INFINITY, needed);
        // Sums of other orders must reach it too.
        let goal = goal * 1.000_01;
        let state = (
            floor,
            few.select(floor, self.top + 1),
            few.select(possible, 0u32),
            few.select(1u32, 0u32),
        );
        let (_, threshold, count, enough) = cta.while_all(
            state,
            |_, (low, high, _, enough)| enough.equals(0) & (high - low).gt(1),
            |cta, (low, high, count, _)| {
                let middle = low + ((high - low) >> 1);
                let (inside, weight) = self.at_least(cta, float_of(middle));
                let fits = inside.le(MOST);
                let enough = (by_count & inside.ge(self.top_k)) | weight.gt(goal);
                (
                    fits.select(low, middle),
                    fits.select(middle, high),
                    fits.select(inside, count),
                    (fits & enough).select(1u32, 0u32),
                )
            },
        );
        Found {
            threshold,
            count,
            enough,
        }
    }

    /// Draws from the logits that reach the threshold.
    pub(super) fn among_candidates(
        &self,
        cta: &mut Cta<'k>,
        found: Found<'k>,
        y: Global<'k, u32, Write>,
    ) {
        let count = found.count;
        let mut tile = cta.tile::<u32>(4 * MOST);
        let gathered = self.gather(cta, float_of(found.threshold), &mut tile);
        let mut tile = cta.tile::<u32>(2 * MOST);
        let ranked = rank(cta, gathered, count, &mut tile);
        let candidate = |i: Word<'k>| {
            let [id, _, weight, _] = gathered.words::<4, _>(i * 4);
            let [rank, sum] = ranked.words::<2, _>(i * 2);
            (id, weight.as_f32(), rank, sum.as_f32())
        };

        let by_count = self.top_k.gt(0);
        let counted = |rank: Word<'k>| rank.le(self.top_k) | self.top_k.equals(0);
        let best = cta.sum(count, |i| {
            let (_, weight, rank, _) = candidate(i);
            counted(rank).select(weight, 0.0)
        });
        let limit = self.top_p * by_count.select(best, self.total);
        let kept = |(_, weight, rank, sum): (Word<'k>, F32<'k>, Word<'k>, F32<'k>)| {
            let front = (sum - weight).lt(limit) | self.top_p.ge(1.0);
            (counted(rank) & front & weight.ge(self.min_p)) | rank.equals(1)
        };
        let sum = cta.sum(count, |i| {
            let own = candidate(i);
            kept(own).select(own.1, 0.0)
        });
        let cut = by_count | self.top_p.lt(1.0);
        let target = self.u * cut.select(sum, self.likely);
        let range = steps(cta.thread(), count.varying(), cta.threads());
        let start: (Word, Word) = (Val::constant(u32::MAX), Val::constant(0));
        let (first, last) = cta.fold_lanes(range, start, |_, i, (first, last)| {
            let own = candidate(i);
            let here = kept(own);
            let beyond = here & own.3.gt(target);
            (
                first.min(beyond.select(own.2, u32::MAX)),
                last.max(here.select(own.2, 0u32)),
            )
        });
        let first = cta.reduce(first, |a, b| a.min(b));
        let last = cta.reduce(last, |a, b| a.max(b));
        let chosen = first.equals(u32::MAX).select(last, first);
        cta.each(count, |lane, i| {
            let (id, _, rank, _) = candidate(i);
            lane.if_(rank.equals(chosen), |_| y.set(0u32, id));
        });
    }

    /// The candidates in order of warps: index, logit, weight, nothing.
    fn gather<'t>(
        &self,
        cta: &mut Cta<'k>,
        least: Uniform<'k, f32>,
        tile: &'t mut Tile<'k, u32>,
    ) -> View<'t, 'k, u32> {
        let (thread, threads) = (cta.thread(), cta.threads());
        let rounds = (self.vocab + (threads - 1)) / threads;
        let picked = |round: Val<'k, u32, uni::Warp>| {
            let i = round * threads + thread;
            let inside = i.lt(self.vocab);
            // Threads past the end look at the last one in vain.
            let x = self.logits.at(i.min(self.vocab - 1));
            (i, x, inside & x.ge(least))
        };
        let mut counts = cta.tile::<u32>(cta.warps());
        let counts = counts.fill(cta, |cta, slots| {
            cta.each_warp(|warp| {
                let zero: Val<u32, uni::Warp> = Val::constant(0);
                let own = warp.fold(upto(rounds), zero, |warp, round, count| {
                    let (_, _, pick) = picked(round);
                    count + warp.ballot(pick).count_ones()
                });
                let (first, slot) = (warp.lane().equals(0), warp.id());
                warp.if_(first, |_| slots.set(slot, own));
            });
        });
        let warps = cta.warps();
        tile.fill(cta, |cta, slots| {
            cta.each_warp(|warp| {
                let mut base: Val<u32, uni::Warp> = Val::constant(0);
                for other in 0..warps {
                    let earlier = warp.id().gt(other);
                    base += earlier.select(counts.at(other), 0u32);
                }
                let lane = warp.lane();
                warp.fold(upto(rounds), base, |warp, round, base| {
                    let (i, x, pick) = picked(round);
                    let mask = warp.ballot(pick);
                    let below = mask & ((Word::constant(1) << lane) - 1);
                    let slot = below.count_ones() + base;
                    warp.if_(pick, |_| {
                        let weight = self.weights.at(i);
                        let words = [i, x.to_bits(), weight.to_bits(), Word::constant(0)];
                        slots.set_words(slot * 4, words);
                    });
                    base + mask.count_ones()
                });
            });
        })
    }
}

/// For each candidate how many are at least as good, itself among them, and their weight. Among equals, lower ids are.
fn rank<'t, 'k>(
    cta: &mut Cta<'k>,
    gathered: View<'_, 'k, u32>,
    count: Uniform<'k, u32>,
    tile: &'t mut Tile<'k, u32>,
) -> View<'t, 'k, u32> {
    let ahead = |warp: &mut Warp<'k>, own: Word<'k>| {
        let [id, logit, ..] = gathered.words::<4, _>(own.min(count - 1) * 4);
        let logit = logit.as_f32();
        let start: (Word, F32) = (Val::constant(0), Val::constant(0.0));
        warp.fold(upto(count), start, |_, j, (rank, sum)| {
            let [other, x, weight, _] = gathered.words::<4, _>(j * 4);
            let x = x.as_f32();
            let ahead = logit.lt(x) | (logit.equals(x) & id.ge(other));
            (
                rank + ahead.select(1u32, 0u32),
                sum + ahead.select(weight.as_f32(), 0.0),
            )
        })
    };
    tile.fill(cta, |cta, slots| {
        cta.for_(steps(0, count, cta.threads()), |cta, first| {
            let own = first + cta.thread();
            cta.each_warp(|warp| {
                warp.if_all((first + warp.id() * 32).lt(count), |warp| {
                    let (rank, sum) = ahead(warp, own);
                    warp.if_(own.lt(count), |_| {
                        slots.set_words(own * 2, [rank, sum.to_bits()]);
                    });
                });
            });
        });
    })
}
