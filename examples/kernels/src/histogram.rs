//! How often each byte occurs: counted in shared memory first, so that few atomics reach global memory.

use warpsmith::kernel::{kernel, steps};

/// Bytes that a CTA counts.
pub const CHUNK: u32 = 1 << 14;

kernel! {
    /// `counts[b] +=` how many of `x` are b.
    pub struct Histogram(HistogramArgs { x: In<u8>[n], counts: InOut<u32>[256], n: Scalar<u32> });
    grid(a) = a.n.div_ceil(CHUNK);
    body(cta, a) {
        let mut bins = cta.array::<u32>(256);
        cta.step(&mut bins, |cta, bins| cta.each(256, |_, i| bins.set(i, 0)));
        let from = cta.id() * CHUNK;
        let own = steps(cta.thread() + from, (from + CHUNK).min(a.n), cta.threads());
        cta.step(&mut bins, |cta, bins| {
            cta.fold_lanes(own, (), |_, i, ()| {
                bins.atomic(a.x.at(i)).add(1);
            });
        });
        cta.step(&mut bins, |cta, bins| {
            cta.each(256, |lane, i| {
                let count = bins.at(i);
                lane.if_(count.gt(0), |_| {
                    a.counts.atomic(i).add(count);
                });
            });
        });
    }
}
