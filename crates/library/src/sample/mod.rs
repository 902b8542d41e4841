//! Choosing the next token on the device: penalty, temperature, top-k, top-p, min-p, one draw.

mod advance;
mod candidates;
mod reference;
mod whole;

pub use advance::{Advance, AdvanceArgs};
pub use reference::{Settings, sample_reference, uniform};

use crate::{
    case::{AnyCase, Random},
    finite::{NOT_FINITE, class, is_drawable},
    quad::Quad,
    team::spread,
    values::{F32, Uniform, Word},
};
use warpsmith_kernel::{
    Cta, Global, InKernel, Kernel, LaunchError, Read, Scope, Val, Write, args, limits, steps, uni,
    uni::{Join, Uni},
};

args! {
    /// A token for each row of logits, [`NOT_FINITE`] where none can be drawn from them. The settings of a row are read on the device, so a replayed graph can be given
    /// new ones: `floats` is temperature, top-p, min-p, penalty; `integers` is top-k and the seed's low and high word.
    /// `steps` numbers the draws. `recent` is a ring to which `seen` ids have been written so far. `scratch` is scratch.
    pub struct SampleArgs {
        logits: In<f32>[rows, vocab], floats: In<f32>[rows, 4], integers: In<u32>[rows, 3],
        steps: In<u32>[rows], recent: In<u32>[rows, window], seen: In<u32>[rows],
        y: Out<u32>[rows], scratch: Out<f32>[rows * 2, vocab],
        rows: Scalar<u32>, vocab: Scalar<u32>, window: Scalar<u32>,
    }
}

/// The sampler: a CTA for each row.
///
/// It agrees with [`sample_reference`] but where a decision hangs on less than the error of f32. Tokens less than
/// e^-40 as probable as the best count as impossible where there are more than 512 above them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// Threads of the CTA: 256 suit the virtual GPU, 1024 a card.
    pub threads: u32,
}

type Row<'k> = Global<'k, f32, Write>;

/// What the passes over one row need.
#[derive(Clone, Copy)]
struct Draw<'k> {
    /// Logits after the penalty, without NaN and negative zero.
    logits: Row<'k>,
    /// `exp((logit - max) / temperature)`.
    weights: Row<'k>,
    vocab: Uniform<'k, u32>,
    /// The key of the highest logit.
    top: Uniform<'k, u32>,
    /// Where it is first.
    place: Uniform<'k, u32>,
    /// 0 where top-k is off.
    top_k: Uniform<'k, u32>,
    top_p: Uniform<'k, f32>,
    min_p: Uniform<'k, f32>,
    /// The uniform number.
    u: Uniform<'k, f32>,
    /// The sum of all weights, and of those that min-p keeps.
    total: Uniform<'k, f32>,
    likely: Uniform<'k, f32>,
}

/// The integer whose order is that of the float, which is not NaN.
#[track_caller]
fn key_of<'k, U>(x: Val<'k, f32, U>) -> Val<'k, u32, U>
where
    U: Uni + Join<uni::Cta, Out = U> + Join<U, Out = U>,
{
    let bits = x.to_bits();
    let negative: Val<bool, U> = bits.ge::<u32>(0x8000_0000);
    let mask: Val<u32, U> = negative.select::<u32, u32, u32>(u32::MAX, 0x8000_0000);
    bits ^ mask
}

/// The float of a key.
#[track_caller]
fn float_of<'k>(key: Uniform<'k, u32>) -> Uniform<'k, f32> {
    let negative = key.lt(0x8000_0000);
    (key ^ negative.select(u32::MAX, 0x8000_0000)).as_f32()
}

/// The key of minus infinity, the lowest there is.
const LOWEST: u32 = 0x007f_ffff;

/// One output of the counter-based generator (see [`uniform`]).
fn pcg<'k>(input: Uniform<'k, u32>) -> Uniform<'k, u32> {
    let state = input * 747_796_405 + 2_891_336_453;
    let word = ((state >> ((state >> 28) + 4)) ^ state) * 277_803_737;
    (word >> 22) ^ word
}

impl Kernel for Sample {
    type Args = SampleArgs;

    fn name(&self) -> String {
        format!("sample_{}", self.threads)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn resized(&self, threads: u32) -> Option<Self> {
        Some(Sample { threads })
    }

    fn grid(&self, a: &SampleArgs) -> Result<u64, LaunchError> {
        limits! {
            a.vocab: (1..1 << 24).contains(&a.vocab), "at least 1 and below 2^24";
            a.rows: a.rows < 1 << 31, "below 2^31";
            a.window: a.window < 1 << 31, "below 2^31";
        }
        Ok(a.rows.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: SampleArgs<InKernel<'k>>) {
        let row = cta.id();
        let (floats, integers) = (a.floats.row(row), a.integers.row(row));
        let [temperature, top_p, min_p, penalty] = [0u32, 1, 2, 3].map(|at| floats.at(at));
        let [top_k, seed_low, seed_high] = [0u32, 1, 2].map(|at| integers.at(at));
        let logits = a.scratch.row(row * 2);
        let weights = a.scratch.row(row * 2 + 1);
        let drawable = cleaned(cta, a.logits.row(row), logits, a.vocab);
        cta.if_all(penalty.differs(1.0), |cta| {
            cta.barrier();
            let filled = a.seen.at(row).min(a.window);
            punish(cta, logits, a.vocab, penalty, a.recent.row(row), filled);
        });
        cta.barrier();
        let (top, place) = highest(cta, logits, a.vocab);
        let greedy = temperature.equals(0.0) | !drawable;
        let best = drawable.select(place, NOT_FINITE);
        cta.if_all(greedy, |cta| cta.leader(|_| a.y.set(row, best)));
        cta.if_all(!greedy, |cta| {
            let most = float_of(top);
            // Below this nothing can be drawn within the precision of f32.
            let floor = most - (temperature * 40.0).min(1e38);
            let rate = Uniform::<f32>::constant(std::f32::consts::LOG2_E) / temperature;
            let weighed = weigh(cta, [logits, weights], a.vocab, [most, rate, floor, min_p]);
            // All threads have written their weights.
            cta.barrier();
            let h = pcg(pcg(pcg(seed_low) ^ seed_high) ^ a.steps.at(row));
            let draw = Draw {
                logits,
                weights,
                vocab: a.vocab,
                top,
                place,
                // As many as there are is all.
                top_k: top_k.lt(a.vocab).select(top_k, 0u32),
                top_p,
                min_p,
                u: (h >> 8).f32() * (1.0 / (1 << 24) as f32),
                total: weighed.total,
                likely: weighed.likely,
            };
            let found = draw.narrow(cta, key_of(floor), weighed.possible);
            let enough = found.enough.equals(1);
            cta.if_all(enough, |cta| {
                draw.among_candidates(cta, found, a.y.from(row))
            });
            cta.if_all(!enough, |cta| draw.among_all(cta, a.y.from(row)));
        });
    }
}

/// Copies logits without NaN and negative zero; whether a token can be drawn from them.
fn cleaned<'k>(
    cta: &mut Cta<'k>,
    from: Global<'k, f32, Read>,
    to: Row<'k>,
    vocab: Uniform<'k, u32>,
) -> Uniform<'k, bool> {
    let aligned = from.aligned(16) & to.aligned(16);
    let none = Word::constant(0);
    let highest = spread(cta, vocab, aligned, none, |_, at, highest| {
        let clean = |x: F32<'k>| x.equals(x).select(x, f32::NEG_INFINITY) + 0.0;
        let values = Quad::read(from, at);
        let highest = values.fold(highest, |highest, x| highest.max(class(x)));
        values.map(clean).write(to, at.i);
        highest
    });
    is_drawable(cta.reduce(highest, |a, b| a.max(b)))
}

/// Makes `filled` recent tokens less probable, each once.
fn punish<'k>(
    cta: &mut Cta<'k>,
    logits: Row<'k>,
    vocab: Uniform<'k, u32>,
    penalty: Uniform<'k, f32>,
    recent: Global<'k, u32, Read>,
    filled: Uniform<'k, u32>,
) {
    cta.each(filled, |lane, i| {
        let id = recent.at(i);
        let earlier = lane.fold_lanes(steps(0, i, 1), Word::constant(0), |_, j, count| {
            count + recent.at(j).equals(id).select(1u32, 0u32)
        });
        lane.if_(earlier.equals(0) & id.lt(vocab), |_| {
            let x = logits.at(id);
            let punished = x.gt(0.0).select(x / penalty, x * penalty);
            logits.set(id, punished + 0.0);
        });
    });
}

/// The key of the highest logit, and where it is first.
fn highest<'k>(
    cta: &mut Cta<'k>,
    logits: Row<'k>,
    vocab: Uniform<'k, u32>,
) -> (Uniform<'k, u32>, Uniform<'k, u32>) {
    let none: (Word, Word) = (Val::constant(0), Val::constant(u32::MAX));
    let aligned = logits.aligned(16);
    let (key, place) = spread(cta, vocab, aligned, none, |_, at, best| {
        let values = Quad::read(logits, at).places(at.i);
        values.fold(best, |(key, place), (i, x)| {
            let next = key_of(x);
            let better = next.gt(key);
            (better.select(next, key), better.select(i, place))
        })
    });
    let top = cta.reduce(key, |a, b| a.max(b));
    let place = key.equals(top).select(place, u32::MAX);
    (top, cta.reduce(place, |a, b| a.min(b)))
}

/// What the weights of a row come to: their sum, that of those which min-p keeps, and how many logits are high enough.
struct Weighed<'k> {
    total: Uniform<'k, f32>,
    likely: Uniform<'k, f32>,
    possible: Uniform<'k, u32>,
}

/// Writes the weights of logits.
fn weigh<'k>(
    cta: &mut Cta<'k>,
    [logits, weights]: [Row<'k>; 2],
    vocab: Uniform<'k, u32>,
    [most, rate, floor, min_p]: [Uniform<'k, f32>; 4],
) -> Weighed<'k> {
    let aligned = logits.aligned(16) & weights.aligned(16);
    let none: (F32, F32, Word) = (Val::constant(0.0), Val::constant(0.0), Val::constant(0));
    let sums = spread(cta, vocab, aligned, none, |_, at, sums| {
        let values = Quad::read(logits, at);
        // An infinite maximum has weight 1 like any other maximum.
        let weigh = |x: F32<'k>| {
            let weight = ((x - most) * rate).exp2_approx();
            x.equals(most).select(1.0, weight)
        };
        let weighed = values.map(weigh);
        weighed.write(weights, at.i);
        let both = values.values().iter().zip(weighed.values());
        both.fold(sums, |(total, likely, count), (x, weight)| {
            (
                total + *weight,
                likely + weight.ge(min_p).select(*weight, 0.0),
                count + x.ge(floor).select(1u32, 0u32),
            )
        })
    });
    Weighed {
        total: cta.reduce(sums.0, |a, b| a + b),
        likely: cta.reduce(sums.1, |a, b| a + b),
        possible: cta.reduce(sums.2, |a, b| a + b),
    }
}

impl<'k> Draw<'k> {
    /// The sum of `measure` over the elements that `pick` takes, by index, logit and weight.
    fn sum(
        &self,
        cta: &mut Cta<'k>,
        pick: impl Fn(Word<'k>, F32<'k>) -> Val<'k, bool, uni::Lane>,
        measure: impl Fn(F32<'k>) -> F32<'k>,
    ) -> Uniform<'k, f32> {
        let aligned = self.logits.aligned(16) & self.weights.aligned(16);
        let zero = Val::constant(0.0);
        let own = spread(cta, self.vocab, aligned, zero, |_, at, sum| {
            let (x, weights) = (Quad::read(self.logits, at), Quad::read(self.weights, at));
            let both = x.places(at.i).zip(weights.values());
            both.fold(sum, |sum, ((i, x), weight)| {
                sum + pick(i, x).select(measure(*weight), 0.0)
            })
        });
        cta.reduce(own, |a, b| a + b)
    }

    /// How many logits are at least `least`, and their weight.
    fn at_least(
        &self,
        cta: &mut Cta<'k>,
        least: Uniform<'k, f32>,
    ) -> (Uniform<'k, u32>, Uniform<'k, f32>) {
        let aligned = self.logits.aligned(16) & self.weights.aligned(16);
        let none: (Word, F32) = (Val::constant(0), Val::constant(0.0));
        let own = spread(cta, self.vocab, aligned, none, |_, at, sums| {
            let (x, weights) = (Quad::read(self.logits, at), Quad::read(self.weights, at));
            let both = x.values().iter().zip(weights.values());
            both.fold(sums, |(count, sum), (x, weight)| {
                let inside = x.ge(least);
                (
                    count + inside.select(1u32, 0u32),
                    sum + inside.select(*weight, 0.0),
                )
            })
        });
        let count = cta.reduce(own.0, |a, b| a + b);
        (count, cta.reduce(own.1, |a, b| a + b))
    }
}

/// The sampler and the counters.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases = reference::cases(rng);
    advance::cases(rng, &mut cases);
    cases
}
