//! Running sums that begin anew where a flag says so.

use warpsmith::kernel::{kernel, upto};

kernel! {
    /// In each row, `y[i] = x[s] + .. + x[i]`, s being the last place up to i with `starts[s] != 0`, or 0. A CTA for each row,
    /// which it takes in chunks of as many elements as it has threads.
    pub struct SegmentedScan(SegmentedScanArgs {
        x: In<f32>[rows, n], starts: In<u8>[rows, n], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>,
    });
    grid(a) = a.rows;
    body(cta, a) {
        let (x, starts, y) = (a.x.row(cta.id()), a.starts.row(cta.id()), a.y.row(cta.id()));
        let (thread, last) = (cta.thread(), cta.threads() - 1);
        let mut carried = cta.array::<f32>(1);
        cta.step(&mut carried, |cta, carried| cta.leader(|_| carried.set(0, 0.0)));
        let chunks = a.n.div_ceil(cta.threads());
        cta.for_(upto(chunks), |cta, chunk| {
            let i = chunk * cta.threads() + thread;
            let inside = i.lt(a.n);
            let (own, starts) = cta.either(
                inside,
                |_| (x.at(i), starts.at(i).differs(0)),
                |_| (0.0.into(), false.into()),
            );
            let own = cta.step(&mut carried, |cta, carried| {
                let first = thread.equals(0) & !starts;
                cta.either(first, |_| own + carried.at(0), |_| own)
            });
            let sum = cta.scan_segments(own, starts, |a, b| a + b);
            cta.step(&mut carried, |cta, carried| {
                cta.if_(thread.equals(last), |_| carried.set(0, sum));
            });
            cta.if_(inside, |_| y.set(i, sum));
        });
    }
}
