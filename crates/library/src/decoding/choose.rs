//! The next tokens of each sequence: rules, log-softmax, then the most probable ones or a draw.

use super::{LOWEST, clean, key_of, ln};
use crate::{
    finite::{NOT_FINITE, class, is_drawable},
    quad::{At, Quad, Width},
    values::{F32, Uniform, Word},
};
use warpsmith_kernel::{
    Cta, Global, InKernel, Kernel, Lane, LaunchError, Read, Scope, Val, args, limits, state, steps,
    uni,
};

args! {
    /// Row i has the logits of its own, or the only ones there are: sequences that begin alike. `banned` has a bit for each id that is never allowed, `banned_first` for those that may not come first.
    /// `settings` is the bits of the temperature (0 takes the most probable), and the seed's low and high word.
    /// `y[row]` is `count` pairs: an id and the bits of its log-probability among all that is allowed; id 2^32 - 1 where
    /// less than `count` are. Where the logits are not such that a token can be drawn from them, all ids are [`NOT_FINITE`]
    /// and all log-probabilities minus infinity.
    pub struct ChooseArgs {
        logits: In<f32>[logit_rows, vocab], history: In<u32>[rows, 4],
        banned: In<u32>[mask_words], banned_first: In<u32>[mask_words], settings: In<u32>[3],
        y: Out<u32>[rows, count, 2],
        rows: Scalar<u32>, logit_rows: Scalar<u32>, vocab: Scalar<u32>, mask_words: Scalar<u32>, count: Scalar<u32>,
        end: Scalar<u32>, timestamps: Scalar<u32>, first_limit: Scalar<u32>,
    }
}

/// What may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// All that is not banned.
    Free,
    /// Timestamps as [`super::Allowed::by_rules`] says; and where together they are more probable than any other token,
    /// only they.
    Timestamps,
}

/// How tokens are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pick {
    /// So many of the most probable, in their order; lower ids first among equals.
    Top(u32),
    /// One, drawn at the temperature.
    Draw,
}

impl Pick {
    /// Pairs of a row.
    pub fn count(self) -> u32 {
        match self {
            Pick::Top(count) => count,
            Pick::Draw => 1,
        }
    }
}

/// The kernel: a CTA for each row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choose {
    /// What may follow.
    pub rules: Rules,
    /// How tokens are taken.
    pub pick: Pick,
    /// Threads of the CTA: 256 suit the virtual GPU, 1024 a card.
    pub threads: u32,
}

/// The most candidates of a row.
const MOST: u32 = 16;

/// What the passes over one row need.
#[derive(Clone, Copy)]
struct Row<'k> {
    logits: Global<'k, f32, Read>,
    banned: Global<'k, u32, Read>,
    banned_first: Global<'k, u32, Read>,
    vocab: Uniform<'k, u32>,
    /// Tokens before.
    count: Uniform<'k, u32>,
    first: Uniform<'k, bool>,
    /// Allowed ids: text from .. to, times from .. to.
    text: [Uniform<'k, u32>; 2],
    times: [Uniform<'k, u32>; 2],
}

/// How the noise of a draw is made; nothing where the temperature is 0.
#[derive(Clone, Copy)]
struct Noise<'k> {
    warm: Uniform<'k, bool>,
    temperature: Uniform<'k, f32>,
    base: Uniform<'k, u32>,
}

fn pcg<'k, U>(input: Val<'k, u32, U>) -> Val<'k, u32, U>
where
    U: uni::Join<U, Out = U>,
{
    let state = input * 747_796_405 + 2_891_336_453;
    let word = ((state >> ((state >> 28) + 4)) ^ state) * 277_803_737;
    (word >> 22) ^ word
}

impl<'k> Noise<'k> {
    /// Of the token after `count` others of row `row`.
    fn of(a: &ChooseArgs<InKernel<'k>>, count: Uniform<'k, u32>, row: Uniform<'k, u32>) -> Self {
        let [bits, low, high] = [0u32, 1, 2].map(|at| a.settings.at(at));
        let temperature = bits.as_f32();
        Noise {
            warm: temperature.gt(0.0),
            temperature,
            base: pcg(pcg(pcg(pcg(low) ^ high) ^ count) ^ row),
        }
    }

    /// The score of a logit: itself, or over the temperature with [`super::gumbel`] noise.
    fn score(self, lane: &mut Lane<'k>, id: Word<'k>, x: F32<'k>) -> F32<'k> {
        lane.either(
            self.warm,
            |_| {
                let bits = pcg(id + self.base);
                // Multiplied apart, small numbers keep their precision.
                let w = (bits.f32() + 0.5) * (1.0 / (1u64 << 32) as f32);
                let near = (w * 0.25 + 1.0 / 3.0) * w + 0.5;
                let small = (near * w + 1.0) * w;
                let large = -ln(-w + 1.0);
                let exponential = w.lt(1.0 / 64.0).select(small, large);
                let scored = x / self.temperature - ln(exponential);
                x.equals(f32::NEG_INFINITY).select(x, scored)
            },
            |_| x,
        )
    }
}

/// What the logits of a row come to.
struct Weighed<'k> {
    drawable: Uniform<'k, bool>,
    /// The logarithm of the sum over what is allowed.
    log_sum: Uniform<'k, f32>,
}

state! {
    /// The largest allowed logits of text and of timestamps, and the highest class of any logit.
    struct Most<'k> {
        text: F32<'k>,
        time: F32<'k>,
        class: Word<'k>,
    }

    /// A token and the integer that orders its score.
    struct Best<'k> {
        key: Word<'k>,
        id: Word<'k>,
    }
}

impl Best<'_> {
    fn none() -> Self {
        Best {
            key: Val::constant(LOWEST),
            id: Val::constant(u32::MAX),
        }
    }
}

impl<'k> Row<'k> {
    /// What the rules leave of row `row`.
    fn of(rules: Rules, a: &ChooseArgs<InKernel<'k>>, row: Uniform<'k, u32>) -> Row<'k> {
        let history = a.history.row(row);
        let [count, last, before, last_time] = [0u32, 1, 2, 3].map(|at| history.at(at));
        let first = count.equals(0);
        let zero = Uniform::<u32>::constant(0);
        let (text, times) = match rules {
            Rules::Free => ([zero, a.vocab], [a.vocab, a.vocab]),
            Rules::Timestamps => {
                let after_time = last.ge(a.timestamps);
                let after_pair = count.lt(2) | before.ge(a.timestamps);
                let opens = after_time & !after_pair;
                let next = last_time + opens.select(0u32, 1u32);
                let next = last_time.equals(0).select(a.timestamps, next);
                let next = (after_time & after_pair).select(a.vocab, next);
                let limit = a.first_limit.min(a.vocab - a.timestamps) + 1 + a.timestamps;
                let text = first.select(a.timestamps, opens.select(a.end, zero));
                let from = first.select(a.timestamps, next);
                let to = first.select(limit.min(a.vocab), a.vocab);
                ([text, a.timestamps], [from, to])
            }
        };
        Row {
            logits: a.logits.row(row.min(a.logit_rows - 1)),
            banned: a.banned,
            banned_first: a.banned_first,
            vocab: a.vocab,
            count,
            first,
            text,
            times,
        }
    }

    /// `logits` from `i` on, minus infinity where the id is not allowed.
    fn allowed(&self, i: Word<'k>, logits: Quad<'k>) -> Quad<'k> {
        let word = i >> 5;
        let first = self.first.select(u32::MAX, 0u32);
        let banned = self.banned.at(word) | (self.banned_first.at(word) & first);
        let bits = banned >> (i & 31);
        let allowed = |at: u32| {
            let id = i + at;
            let text = id.ge(self.text[0]) & id.lt(self.text[1]);
            let time = id.ge(self.times[0]) & id.lt(self.times[1]);
            (text | time) & (bits & (1 << at)).equals(0)
        };
        logits.map_at(|at, x| allowed(at).select(clean(x), f32::NEG_INFINITY))
    }

    /// `state = body(lane, i, logits, state)` over the part of the row that belongs to `member` of `size`; what follows
    /// from `i` are neighbours.
    fn walk<S: warpsmith_kernel::State<'k>, C: Scope<'k>>(
        &self,
        scope: &mut C,
        (member, size): (Word<'k>, u32),
        state: S,
        body: impl Fn(&mut Lane<'k>, Word<'k>, Quad<'k>, S) -> S,
    ) -> S {
        let n = self.vocab.varying();
        let aligned = self.logits.aligned(16).varying();
        let whole = aligned.select(n & !3, 0u32);
        let read = |i, width| Quad::read(self.logits, At::neighbours(i, width));
        let fours = steps(member * 4, whole, size * 4);
        let state = scope.fold_lanes(fours, state, |lane, i, state| {
            body(lane, i, read(i, Width::Four), state)
        });
        scope.fold_lanes(steps(member + whole, n, size), state, |lane, i, state| {
            body(lane, i, read(i, Width::One), state)
        })
    }

    /// Maxima and sums over what is allowed; where timestamps win, text no longer is.
    fn weigh(&mut self, cta: &mut Cta<'k>) -> Weighed<'k> {
        let own = members(cta);
        let least: F32 = Val::constant(f32::NEG_INFINITY);
        let is_time = |id: Word<'k>| id.ge(self.text[1]);
        let start = Most {
            text: least,
            time: least,
            class: Val::constant(0),
        };
        let most = self.walk(cta, own, start, |_, i, logits, most| {
            let class = logits.fold(most.class, |highest, x| highest.max(class(x)));
            let values = self.allowed(i, logits).places(i);
            values.fold(Most { class, ..most }, |most, (id, x)| {
                let is_time = is_time(id);
                Most {
                    text: most.text.max(is_time.select(f32::NEG_INFINITY, x)),
                    time: most.time.max(is_time.select(x, f32::NEG_INFINITY)),
                    ..most
                }
            })
        });
        let drawable = is_drawable(cta.reduce(most.class, |a, b| a.max(b)));
        let most_text = cta.reduce(most.text, |a, b| a.max(b));
        let most = cta.reduce(most.time, |a, b| a.max(b)).max(most_text);
        // Nothing allowed at all: subtracting 0 then avoids inf - inf.
        let most = most.equals(f32::NEG_INFINITY).select(0.0, most);
        let none: [F32; 2] = [Val::constant(0.0); 2];
        let sums = self.walk(cta, own, none, |_, i, logits, sums| {
            let values = self.allowed(i, logits).places(i);
            values.fold(sums, |[text, time], (id, x)| {
                // An infinite maximum has weight 1 like any other maximum.
                let weight = x.equals(most).select(1.0, (x - most).exp());
                let is_time = is_time(id);
                let text = text + is_time.select(0.0, weight);
                [text, time + is_time.select(weight, 0.0)]
            })
        });
        let [sum_text, sum_time] = sums.map(|own| cta.reduce(own, |a, b| a + b));
        // Together more probable than any one token of text: only timestamps then.
        let wins = sum_time.gt((most_text - most).exp());
        let sum = wins.select(sum_time, sum_time + sum_text);
        self.text[0] = wins.select(self.text[1], self.text[0]);
        Weighed {
            drawable,
            log_sum: most + ln(sum),
        }
    }

    /// The best of this thread's tokens, of those behind `after` if there is one.
    fn best(
        &self,
        lane: &mut Lane<'k>,
        own: (Word<'k>, u32),
        noise: Option<Noise<'k>>,
        after: Option<Best<'k>>,
    ) -> Best<'k> {
        self.walk(lane, own, Best::none(), |lane, i, logits, best| {
            let values = self.allowed(i, logits).places(i);
            values.fold(best, |best, (id, x)| {
                let x = match noise {
                    Some(noise) => noise.score(lane, id, x),
                    None => x,
                };
                let key = key_of(x);
                let mut better = key.gt(best.key);
                if let Some(last) = &after {
                    let equal = key.equals(last.key) & id.gt(last.id);
                    better &= key.lt(last.key) | equal;
                }
                Best {
                    key: better.select(key, best.key),
                    id: better.select(id, best.id),
                }
            })
        })
    }
}

/// This thread, and how many there are.
fn members<'k>(cta: &Cta<'k>) -> (Word<'k>, u32) {
    (cta.thread(), cta.threads())
}

impl Kernel for Choose {
    type Args = ChooseArgs;

    fn name(&self) -> String {
        let rules = match self.rules {
            Rules::Free => "free",
            Rules::Timestamps => "timestamps",
        };
        let pick = match self.pick {
            Pick::Top(count) => format!("top{count}"),
            Pick::Draw => "draw".into(),
        };
        format!("choose_{rules}_{pick}_{}", self.threads)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn resized(&self, threads: u32) -> Option<Self> {
        Some(Choose {
            threads,
            ..self.clone()
        })
    }

    fn grid(&self, a: &ChooseArgs) -> Result<u64, LaunchError> {
        limits! {
            a.vocab: (1..1 << 24).contains(&a.vocab), "at least 1 and below 2^24";
            a.mask_words: a.mask_words == a.vocab.div_ceil(32), "vocab / 32 rounded up";
            a.count: a.count == self.pick.count() && (1..=MOST).contains(&a.count), "the kernel's, 1 to 16";
            a.timestamps: a.end <= a.timestamps && a.timestamps <= a.vocab, "from the end token to vocab";
            a.logit_rows: a.logit_rows == a.rows || a.logit_rows == 1, "1 or rows";
            a.rows: a.rows < 1 << 31, "below 2^31";
        }
        Ok(a.rows.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ChooseArgs<InKernel<'k>>) {
        let row = cta.id();
        let mut known = Row::of(self.rules, &a, row);
        let Weighed { drawable, log_sum } = known.weigh(cta);
        let noise = (self.pick == Pick::Draw).then(|| Noise::of(&a, known.count, row));
        let (y, own) = (a.y.row(row), members(cta));
        let always = Val::<bool, uni::Cta>::constant(true);
        let mut best = cta.either(
            always,
            |lane| known.best(lane, own, noise, None),
            |_| Best::none(),
        );
        for round in 0..self.pick.count() {
            let top = cta.reduce(best.key, |a, b| a.max(b));
            let id = best.key.equals(top).select(best.id, u32::MAX);
            let taken = cta.reduce(id, |a, b| a.min(b));
            cta.leader(|lane| {
                let x = lane.either(
                    taken.lt(a.vocab) & drawable,
                    |_| clean(known.logits.at(taken).varying()),
                    |_| Val::constant(f32::NEG_INFINITY),
                );
                let value = drawable.select(x - log_sum, f32::NEG_INFINITY);
                y.set(2 * round, drawable.select(taken, NOT_FINITE));
                y.set(2 * round + 1, value.to_bits());
            });
            if round + 1 < self.pick.count() {
                // Only the thread whose candidate was taken looks for another.
                let mine = best.id.equals(taken) & taken.lt(a.vocab);
                let last = Best {
                    key: top.varying(),
                    id: taken.varying(),
                };
                best = cta.either(
                    mine,
                    |lane| known.best(lane, own, noise, Some(last)),
                    |_| best.clone(),
                );
            }
        }
    }
}
