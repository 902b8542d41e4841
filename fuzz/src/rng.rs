//! A small random generator (SplitMix64), so that inputs depend on the seed alone.

/// The state: one word that walks by an odd constant.
pub(crate) struct Rng(u64);

impl Rng {
    /// The generator of input `index` under `seed`; generators of different inputs are unrelated.
    pub(crate) fn of_input(seed: u64, index: u64) -> Self {
        let mut outer = Rng(seed);
        let mixed = outer.next() ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut inner = Rng(mixed);
        inner.next();
        inner
    }

    /// The next word, uniform over all 64-bit values.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0 where `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.next() % bound as u64) as usize
        }
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_index_give_the_same_words_and_others_do_not() {
        let words = |seed, index| {
            let mut rng = Rng::of_input(seed, index);
            [rng.next(), rng.next(), rng.next()]
        };
        assert_eq!(words(1, 2), words(1, 2));
        assert_ne!(words(1, 2), words(1, 3));
        assert_ne!(words(1, 2), words(2, 2));
    }

    #[test]
    fn below_reaches_every_value_and_none_beyond() {
        let mut rng = Rng::of_input(7, 0);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[rng.below(5)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
