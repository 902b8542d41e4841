//! Profiles: what each operation of a model's passes takes, beside what its operands need and the machine could do.
//!
//! A [`Profiler`] takes part in a session's passes as a dispatcher that leaves every operation to the library, and writes
//! down what it costs by its operands. The timeline of the same work says how long each launch ran; [`Profile::new`] puts
//! both together. Layers are one row: `layer.3.attn.out` and its like are `layer.*.attn.out`.

mod json;
mod picture;
mod text;

use crate::{
    device::{Stream, TimedWork, Work},
    graph::{Cost, Dispatch, Failure, Lengths, Operation, Taken},
    roof::Roof,
};
use std::collections::BTreeMap;

/// What can be wrong with a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The timeline is not that of the passes.
    #[error("{timed} kernels were timed, the passes launched {launched}")]
    Launches {
        /// Kernels of the timeline.
        timed: usize,
        /// Launches of the operations.
        launched: usize,
    },
}

/// An operation as it ran.
#[derive(Clone, Debug)]
struct Ran {
    op: &'static str,
    name: String,
    cost: Cost,
    launches: usize,
}

/// A pass as it ran.
#[derive(Clone, Debug)]
struct Passed {
    name: String,
    operations: Vec<Ran>,
}

/// Sees what runs. Give it to a session, and keep a timeline of the device meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    lengths: Lengths,
    passes: Vec<Passed>,
}

impl Dispatch for Profiler {
    fn pass(&mut self, name: &str) {
        self.lengths = Lengths::default();
        self.passes.push(Passed {
            name: name.to_owned(),
            operations: Vec::new(),
        });
    }

    fn operation(&mut self, operation: &Operation<'_>, stream: &Stream) -> Result<Taken, Failure> {
        let ran = Ran {
            op: operation.op().name(),
            name: one_for_all_layers(operation.name()),
            cost: operation.cost(stream, &mut self.lengths)?,
            launches: operation.launches(),
        };
        if self.passes.is_empty() {
            self.pass("run");
        }
        if let Some(pass) = self.passes.last_mut() {
            pass.operations.push(ran);
        }
        Ok(Taken::Left)
    }
}

/// Numbers between dots are the layers'.
fn one_for_all_layers(name: &str) -> String {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.split('.');
    let parts: Vec<&str> = parts
        .map(|part| if number(part) { "*" } else { part })
        .collect();
    parts.join(".")
}

/// The work of some launches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Operations that ran.
    pub count: u64,
    /// Launches.
    pub launches: u64,
    /// Seconds in kernels.
    pub seconds: f64,
    /// Bytes and arithmetic that the operands need.
    pub cost: Cost,
}

impl Total {
    fn add(&mut self, other: Total) {
        self.count += other.count;
        self.launches += other.launches;
        self.seconds += other.seconds;
        self.cost += other.cost;
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.cost.read + self.cost.written
    }

    /// Bytes a second.
    pub fn bytes_s(&self) -> f64 {
        per(self.bytes() as f64, self.seconds)
    }

    /// Arithmetic operations a second.
    pub fn operations_s(&self) -> f64 {
        per(self.cost.operations as f64, self.seconds)
    }

    /// Operations a byte.
    pub fn intensity(&self) -> f64 {
        per(self.cost.operations as f64, self.bytes() as f64)
    }

    /// The least time under a roof by the time it took: 1 is as fast as can be.
    pub fn of_roof(&self, roof: &Roof) -> f64 {
        per(
            roof.seconds(self.bytes(), self.cost.operations),
            self.seconds,
        )
    }
}

fn per(value: f64, of: f64) -> f64 {
    if of > 0.0 { value / of } else { 0.0 }
}

/// An operation of every layer.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is: `matmul`.
    pub op: &'static str,
    /// What the model calls its value, a star in the place of the layer.
    pub name: String,
    /// Kernels that ran for it, each with its launches.
    pub kernels: BTreeMap<String, u64>,
    /// All of it.
    pub total: Total,
}

/// The passes of one name.
#[derive(Clone, Debug)]
pub struct Pass {
    /// `prefill`, `step`.
    pub name: String,
    /// How many there were.
    pub runs: u64,
    /// Seconds from the first kernel to the end of the last, of all runs together.
    pub wall: f64,
    /// The longest first.
    pub rows: Vec<Row>,
    /// All rows together.
    pub total: Total,
}

/// What all passes took.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The device.
    pub device: String,
    /// What it could do.
    pub roof: Roof,
    /// In the order in which they first ran.
    pub passes: Vec<Pass>,
}

impl Profile {
    /// Gives each operation the times of its launches: those of `timeline`, in order.
    ///
    /// # Errors
    /// [`Error::Launches`] unless the timeline has the launches of the passes, and no others.
    pub fn new(
        profiler: &Profiler,
        timeline: &[TimedWork],
        device: &str,
        roof: Roof,
    ) -> Result<Profile, Error> {
        let kernels = timeline.iter().filter_map(|timed| match &timed.work {
            Work::Kernel { name, .. } => Some((&**name, timed.start, timed.end)),
            Work::Replay { .. }
            | Work::Upload { .. }
            | Work::Download { .. }
            | Work::Peek { .. }
            | Work::Copy { .. }
            | Work::Fill { .. } => None,
        });
        let kernels: Vec<_> = kernels.collect();
        let operations = profiler.passes.iter().flat_map(|pass| &pass.operations);
        let launched = operations.map(|ran| ran.launches).sum();
        if launched != kernels.len() {
            let timed = kernels.len();
            return Err(Error::Launches { timed, launched });
        }
        let mut rest = kernels.as_slice();
        let mut passes: Vec<Pass> = Vec::new();
        for passed in &profiler.passes {
            let known = passes.iter().position(|pass| pass.name == passed.name);
            let at = known.unwrap_or_else(|| {
                passes.push(Pass {
                    name: passed.name.clone(),
                    runs: 0,
                    wall: 0.0,
                    rows: Vec::new(),
                    total: Total::default(),
                });
                passes.len() - 1
            });
            let pass = &mut passes[at];
            pass.runs += 1;
            let first = rest.first().map(|(_, start, _)| *start);
            let mut last = first;
            for ran in &passed.operations {
                let (own, later) = rest.split_at(ran.launches);
                rest = later;
                let took = own.iter().map(|(_, start, end)| end.saturating_sub(*start));
                let total = Total {
                    count: 1,
                    launches: ran.launches as u64,
                    seconds: took.sum::<std::time::Duration>().as_secs_f64(),
                    cost: ran.cost,
                };
                let row = pass.row(ran);
                row.total.add(total);
                for (kernel, _, _) in own {
                    *row.kernels.entry((*kernel).to_owned()).or_default() += 1;
                }
                pass.total.add(total);
                last = own.last().map(|(_, _, end)| *end).or(last);
            }
            if let (Some(first), Some(last)) = (first, last) {
                pass.wall += last.saturating_sub(first).as_secs_f64();
            }
        }
        for pass in &mut passes {
            let by_time = |a: &Row, b: &Row| b.total.seconds.total_cmp(&a.total.seconds);
            pass.rows.sort_by(by_time);
        }
        Ok(Profile {
            device: device.to_owned(),
            roof,
            passes,
        })
    }
}

impl Pass {
    /// The row of an operation, made if there is none.
    fn row(&mut self, ran: &Ran) -> &mut Row {
        let known = |row: &Row| row.op == ran.op && row.name == ran.name;
        let at = self.rows.iter().position(known).unwrap_or_else(|| {
            self.rows.push(Row {
                op: ran.op,
                name: ran.name.clone(),
                kernels: BTreeMap::new(),
                total: Total::default(),
            });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    /// A row's part of the time in kernels.
    pub fn share(&self, row: &Row) -> f64 {
        per(row.total.seconds, self.total.seconds)
    }
}

#[cfg(test)]
mod tests;
