//! The rare draw: where more tokens matter than can be ranked, each cut is found by bisection over the whole row.

use super::{Draw, LOWEST, float_of};
use crate::{
    quad::Quad,
    team::spread,
    values::{F32, Uniform, Word},
};
use warpsmith_kernel::{Cta, Global, Scope, Val, Write};

/// The last token of a front: those of a higher key, and those of this key with an id up to this.
#[derive(Clone, Copy)]
struct Cut<'k> {
    key: Uniform<'k, u32>,
    id: Uniform<'k, u32>,
}

impl<'k> Cut<'k> {
    fn holds(self, i: Word<'k>, logit: F32<'k>) -> Val<'k, bool, warpsmith_kernel::uni::Lane> {
        let edge = float_of(self.key);
        logit.gt(edge) | (logit.equals(edge) & i.le(self.id))
    }

    /// The shorter front.
    fn or_shorter(self, other: Cut<'k>) -> Cut<'k> {
        let own = self.key.gt(other.key) | (self.key.equals(other.key) & self.id.lt(other.id));
        Cut {
            key: own.select(self.key, other.key),
            id: own.select(self.id, other.id),
        }
    }
}

impl<'k> Draw<'k> {
    /// Draws from all.
    pub(super) fn among_all(&self, cta: &mut Cta<'k>, y: Global<'k, u32, Write>) {
        let by_count = self.top_k.gt(0);
        let wanted = self.top_k.f32();
        let counted = self.front(cta, by_count, |_| Val::constant(1.0), |sum| sum.ge(wanted));
        let best = self.sum(cta, |i, x| counted.holds(i, x), |weight| weight);
        let limit = self.top_p * by_count.select(best, self.total);
        let by_weight = self.top_p.lt(1.0);
        let weighed = self.front(cta, by_weight, |weight| weight, |sum| sum.ge(limit));
        let cut = counted.or_shorter(weighed);
        let likely = |weight: F32<'k>| weight.ge(self.min_p).select(weight, 0.0);
        let target = self.u * self.sum(cta, |i, x| cut.holds(i, x), likely);
        let always = self.top_p.ge(0.0);
        let drawn = self.front(cta, always, |weight| weight, |sum| sum.gt(target));
        let drawn = drawn.or_shorter(cut);
        let id = drawn.id.lt(self.vocab).select(drawn.id, self.place);
        cta.leader(|_| y.set(0u32, id));
    }

    /// The shortest front whose sum of `measure` reaches; everything if it is not wanted.
    fn front(
        &self,
        cta: &mut Cta<'k>,
        wanted: Uniform<'k, bool>,
        measure: impl Fn(F32<'k>) -> F32<'k>,
        reaches: impl Fn(Uniform<'k, f32>) -> Uniform<'k, bool>,
    ) -> Cut<'k> {
        let lowest = Uniform::<u32>::constant(LOWEST);
        let zero = Uniform::<f32>::constant(0.0);
        // The highest key with which the sum reaches; the sum of all above it does not.
        let state = (lowest, wanted.select(self.top + 1, lowest), zero);
        let (key, _, above) = cta.while_all(
            state,
            |_, (low, high, _)| (high - low).gt(1),
            |cta, (low, high, above)| {
                let middle = low + ((high - low) >> 1);
                let least = float_of(middle);
                let sum = self.sum(cta, |_, x| x.ge(least), &measure);
                let enough = reaches(sum);
                (
                    enough.select(middle, low),
                    enough.select(high, middle),
                    enough.select(above, sum),
                )
            },
        );
        // Among equals, lower ids come first.
        let edge = float_of(key);
        let nothing = Word::constant(0);
        let aligned = self.logits.aligned(16);
        let end = spread(cta, self.vocab, aligned, nothing, |_, at, end| {
            let values = Quad::read(self.logits, at).places(at.i + 1);
            values.fold(end, |end, (behind, x)| {
                end.max(x.equals(edge).select(behind, 0u32))
            })
        });
        let end = cta.reduce(end, |a, b| a.max(b));
        let state = (Uniform::<u32>::constant(0), wanted.select(end, 0u32));
        let (_, end) = cta.while_all(
            state,
            |_, (low, high)| high.gt(low + 1),
            |cta, (low, high)| {
                let middle = low + ((high - low) >> 1);
                let inside = |i: Word<'k>, x: F32<'k>| x.equals(edge) & i.lt(middle);
                let sum = above + self.sum(cta, inside, &measure);
                let enough = reaches(sum);
                (enough.select(low, middle), enough.select(middle, high))
            },
        );
        Cut { key, id: end - 1 }
    }
}
