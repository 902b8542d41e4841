//! Sorts rows of up to 2048 numbers in shared memory (Batcher's bitonic network).

use warpsmith::kernel::{kernel, upto};

/// Places in shared memory: rows are filled up with infinities.
pub const MOST: u32 = 2048;

kernel! {
    /// Each row of x, the smallest number first. There are no NaNs, and `n` is at most [`MOST`].
    pub struct BitonicSort(BitonicSortArgs { x: InOut<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32> });
    grid(a) = a.rows;
    body(cta, a) {
        let x = a.x.row(cta.id());
        let mut keys = cta.array::<f32>(MOST);
        cta.step(&mut keys, |cta, keys| {
            cta.each(MOST, |lane, i| {
                keys.set(i, lane.either(i.lt(a.n), |_| x.at(i), |_| f32::INFINITY.into()));
            });
        });
        // Runs of 2, 4, 8 .. are merged: up where bit `size` of the place is clear, down elsewhere.
        cta.for_(upto(MOST.ilog2()), |cta, stage| {
            cta.for_(upto(stage + 1), |cta, round| {
                let distance = 1u32 << (stage - round);
                cta.step(&mut keys, |cta, keys| {
                    cta.each(MOST / 2, |lane, pair| {
                        let low = pair * 2 - (pair & (distance - 1));
                        let high = low + distance;
                        let (a, b) = (keys.at(low), keys.at(high));
                        let down = ((low >> stage) & 2).differs(0);
                        lane.if_(a.gt(b) ^ down & a.differs(b), |_| {
                            keys.set(low, b);
                            keys.set(high, a);
                        });
                    });
                });
            });
        });
        cta.step(&mut keys, |cta, keys| cta.each(a.n, |_, i| x.set(i, keys.at(i))));
    }
}
