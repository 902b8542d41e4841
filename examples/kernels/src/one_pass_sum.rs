//! A sum over the whole grid in one launch: the last CTA to arrive adds up what the others left.

use warpsmith::kernel::{kernel, steps};

/// Elements that a CTA adds up.
pub const CHUNK: u32 = 1 << 13;

kernel! {
    /// `sum[0] = x[0] + x[1] + ..` in f64. `parts` has a place for each CTA, and `arrived[0]` is 0 before and after.
    pub struct OnePassSum(OnePassSumArgs {
        x: In<f32>[n], parts: InOut<f64>[n.div_ceil(8192)], arrived: InOut<u32>[1], sum: Out<f64>[1], n: Scalar<u32>,
    });
    grid(a) = a.n.div_ceil(CHUNK);
    body(cta, a) {
        let from = cta.id() * CHUNK;
        let own = steps(cta.thread() + from, (from + CHUNK).min(a.n), cta.threads());
        let own = cta.fold_lanes(own, 0.0.into(), |_, i, sum| sum + a.x.at(i).to::<f64>());
        let (id, ctas) = (cta.id(), cta.tiles());
        let part = cta.reduce(own, |a, b| a + b);
        cta.leader(|_| a.parts.set(id, part));
        let last = cta.arrive_last(a.arrived, ctas);
        cta.if_all(last, |cta| {
            let total = cta.sum(ctas, |i| a.parts.at(i));
            cta.leader(|_| a.sum.set(0, total));
        });
    }
}
