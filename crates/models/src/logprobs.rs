//! How probable tokens are by the logits as they are: natural logarithms of a softmax.

/// Logits and the logarithm of the sum of their exponentials.
#[derive(Clone, Copy, Debug)]
pub struct Logprobs<'a> {
    logits: &'a [f32],
    sum: f64,
}

impl<'a> Logprobs<'a> {
    /// Of logits of which one is finite.
    pub fn of(logits: &'a [f32]) -> Logprobs<'a> {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let most = f64::from(most);
        let sum: f64 = logits.iter().map(|x| (f64::from(*x) - most).exp()).sum();
        Logprobs {
            logits,
            sum: most + sum.ln(),
        }
    }

    /// Of one token; minus infinity of what is none.
    pub fn token(&self, id: u32) -> f64 {
        let logit = self.logits.get(id as usize);
        logit.map_or(f64::NEG_INFINITY, |x| f64::from(*x) - self.sum)
    }

    /// The most probable tokens, lower ids first among equals.
    pub fn best(&self, most: usize) -> Vec<u32> {
        let logits = self.logits;
        let order = |a: &u32, b: &u32| {
            let (x, y) = (logits[*a as usize], logits[*b as usize]);
            y.total_cmp(&x).then(a.cmp(b))
        };
        let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
        if most < ids.len() {
            ids.select_nth_unstable_by(most, order);
            ids.truncate(most);
        }
        ids.sort_unstable_by(order);
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::Logprobs;

    #[test]
    fn the_best_are_in_order_and_probabilities_add_up_to_one() {
        let logits = [0.5, 3.0, -1.0, 3.0, f32::NEG_INFINITY, 900.0];
        let of = Logprobs::of(&logits);
        for (most, want) in [(0, &[][..]), (3, &[5, 1, 3]), (9, &[5, 1, 3, 0, 2, 4])] {
            assert_eq!(of.best(most), want);
        }
        assert_eq!(of.token(9), f64::NEG_INFINITY);
        let logits = [0.5, 3.0, -1.0, 3.0, f32::NEG_INFINITY];
        let of = Logprobs::of(&logits);
        let all: f64 = (0..5).map(|id| of.token(id).exp()).sum();
        assert!((all - 1.0).abs() < 1e-12, "{all}");
    }
}
