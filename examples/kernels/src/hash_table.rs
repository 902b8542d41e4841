//! A hash table with open addressing: threads claim places by compare and swap.

use warpsmith::kernel::{Reach, kernel};

/// What is in a place that nobody has claimed; no key.
pub const EMPTY: u32 = u32::MAX;

kernel! {
    /// Counts how often each key occurs: `counts[p]` for the key `keys[p]`. The table has `places` places, a power of two and
    /// more than there are keys; at first each key is [`EMPTY`] and each count 0.
    pub struct CountKeys(CountKeysArgs {
        x: In<u32>[n], keys: InOut<u32>[places], counts: InOut<u32>[places], n: Scalar<u32>, places: Scalar<u32>,
    });
    grid(a) = a.n.div_ceil(256);
    body(cta, a) {
        let i = cta.id() * 256 + cta.thread();
        cta.if_(i.lt(a.n), |lane| {
            let (key, mask) = (a.x.at(i), a.places - 1);
            // Fibonacci hashing; then one place after the other.
            let first = (key * 0x9e37_79b9) & mask;
            let claim = |place| a.keys.atomic(place).reach(Reach::Gpu).compare_exchange(EMPTY, key);
            let (place, _) = lane.while_(
                (first, claim(first)),
                |_, (_, found)| found.differs(EMPTY) & found.differs(key),
                |_, (place, _)| {
                    let next = (place + 1) & mask;
                    (next, claim(next))
                },
            );
            a.counts.atomic(place).add(1);
        });
    }
}
