//! Orders of CTAs, warps and lanes by a seed.

/// A small generator (Steele, Lea and Flood, 2014: SplitMix64).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order(u64);

impl Order {
    /// For a seed and something that it is to differ by.
    pub(crate) fn new(seed: u64, by: u64) -> Order {
        let mut order = Order(seed ^ by.rotate_left(32));
        order.next();
        order
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Shuffles.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Place `index` of `total` in the order of a seed: multiplied by a number without a common factor, and shifted.
pub(crate) fn permuted(seed: u64, index: u64, total: u64) -> u64 {
    let mut order = Order::new(seed, total);
    let shift = order.below(total);
    let mut factor = order.below(total).max(1);
    let common = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    while common(factor, total) != 1 {
        factor = factor % total + 1;
    }
    let product = u128::from(index) * u128::from(factor) + u128::from(shift);
    (product % u128::from(total.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::permuted;

    #[test]
    fn every_place_comes_once() {
        for total in [1, 2, 7, 36, 1000] {
            for seed in 0..5 {
                let mut all: Vec<u64> = (0..total).map(|i| permuted(seed, i, total)).collect();
                all.sort_unstable();
                assert_eq!(all, (0..total).collect::<Vec<_>>());
            }
        }
    }
}
