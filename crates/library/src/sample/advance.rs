//! The counters of generation move on, on the device: a replayed graph needs nothing from the host between tokens.

use crate::case::{AnyCase, Case, Expected, Random, Updated};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, args, limits};

args! {
    /// For each row whose step is not 0: the position and the step are one more, the id is appended to the ring of recent
    /// ids and to the ring of outputs. A row whose step is 0 is nobody's and stays as it is. `seen` and `written` count what was ever appended; item n of a ring is at n modulo its length.
    pub struct AdvanceArgs {
        ids: In<u32>[rows], positions: InOut<u32>[rows], steps: InOut<u32>[rows],
        recent: InOut<u32>[rows, window], seen: InOut<u32>[rows],
        output: InOut<u32>[rows, capacity], written: InOut<u32>[rows],
        rows: Scalar<u32>, window: Scalar<u32>, capacity: Scalar<u32>,
    }
}

/// The kernel: a thread for each row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Advance;

impl Kernel for Advance {
    type Args = AdvanceArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        "advance".into()
    }

    fn threads(&self) -> u32 {
        32
    }

    fn grid(&self, a: &AdvanceArgs) -> Result<u64, LaunchError> {
        limits! {
            a.window: a.window > 0, "at least 1";
            a.capacity: a.capacity > 0, "at least 1";
            a.rows: a.rows < 1 << 31, "below 2^31";
        }
        Ok(a.rows.div_ceil(32).into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: AdvanceArgs<InKernel<'k>>) {
        let row = cta.id() * 32 + cta.thread();
        cta.if_(row.lt(a.rows) & cta.thread().lt(32), |lane| {
            let step = a.steps.at(row);
            lane.if_(step.gt(0), |_| {
                let id = a.ids.at(row);
                a.positions.set(row, a.positions.at(row) + 1);
                a.steps.set(row, step + 1);
                let seen = a.seen.at(row);
                a.recent.row(row).set(seen % a.window, id);
                a.seen.set(row, seen + 1);
                let written = a.written.at(row);
                a.output.row(row).set(written % a.capacity, id);
                a.written.set(row, written + 1);
            });
        });
    }
}

/// Integers before, and what they become.
fn updated(before: Vec<u32>, after: &[u32]) -> Updated<u32> {
    Updated {
        before: before.into(),
        after: Expected::exact(after.iter().map(|x| f64::from(*x)).collect()),
    }
}

pub(super) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    for (rows, window, capacity) in [
        (1, 64, 256),
        (33, 1, 3),
        (rng.range(2, 90), rng.range(1, 9), rng.range(1, 9)),
    ] {
        let mut ints =
            |n: u32, most: u32| -> Vec<u32> { (0..n).map(|_| rng.range(0, most)).collect() };
        let ids = ints(rows, 50_000);
        let (positions, mut steps) = (ints(rows, 4000), ints(rows, 4000));
        // Every third row is nobody's, the first is somebody's.
        for (row, step) in steps.iter_mut().enumerate() {
            *step = if row % 3 == 1 { 0 } else { *step + 1 };
        }
        let used: Vec<u32> = steps.iter().map(|step| (*step).min(1)).collect();
        let next = |before: &[u32]| -> Vec<u32> {
            before.iter().zip(&used).map(|(x, by)| x + by).collect()
        };
        let (seen, written) = (ints(rows, 100), ints(rows, 1000));
        let appended = |ring: &[u32], counts: &[u32], len: u32| {
            let mut after = ring.to_vec();
            let rows = ids.iter().zip(counts).enumerate();
            for (row, (id, count)) in rows.filter(|(row, _)| used[*row] == 1) {
                after[row * len as usize + (count % len) as usize] = *id;
            }
            after
        };
        let (recent, output) = (ints(rows * window, 50_000), ints(rows * capacity, 50_000));
        let recent_after = appended(&recent, &seen, window);
        let output_after = appended(&output, &written, capacity);
        let counter = |before: Vec<u32>| {
            let after = next(&before);
            updated(before, &after)
        };
        cases.push(Box::new(Case {
            label: format!("{rows} rows, rings of {window} and {capacity}"),
            kernel: Advance,
            args: AdvanceArgs {
                positions: counter(positions),
                steps: counter(steps),
                recent: updated(recent, &recent_after),
                seen: counter(seen),
                output: updated(output, &output_after),
                written: counter(written),
                ids: ids.into(),
                rows,
                window,
                capacity,
            },
        }));
    }
}
