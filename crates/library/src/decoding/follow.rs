//! Sequences take their next tokens: counters and histories move on, and forked sequences go on from their parents.

use super::HISTORY;
use crate::case::{AnyCase, Case, Expected, Random, Updated};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, Val, args, limits, steps};

args! {
    /// `choices[row]` is the token that the row takes, and the row that it continues. Of each row the position of its
    /// next token and the keys it sees become one more than the parent's, its history the parent's with the token behind
    /// it, and `sources` the parent's with the row itself at the new position.
    pub struct FollowArgs {
        choices: In<u32>[rows, 2], tokens: Out<u32>[rows],
        positions: InOut<u32>[rows], visible: InOut<u32>[rows], history: InOut<u32>[rows, 4],
        sources: InOut<u32>[rows, max_len],
        rows: Scalar<u32>, max_len: Scalar<u32>, timestamps: Scalar<u32>,
    }
}

/// Which row a row continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parents {
    /// Itself; the second word of a choice means something else.
    Own,
    /// The one that its choice names.
    Chosen,
}

/// The kernel, one CTA for all rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Follow {
    /// Which row a row continues.
    pub parents: Parents,
    /// Rows, 1 to 32.
    pub rows: u32,
}

impl Kernel for Follow {
    type Args = FollowArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        let parents = match self.parents {
            Parents::Own => "own",
            Parents::Chosen => "chosen",
        };
        format!("follow_{parents}_{}", self.rows)
    }

    fn threads(&self) -> u32 {
        64
    }

    fn grid(&self, a: &FollowArgs) -> Result<u64, LaunchError> {
        limits! {
            a.rows: a.rows == self.rows && (1..=32).contains(&a.rows), "the kernel's, 1 to 32";
            a.max_len: (1..1 << 31).contains(&a.max_len), "at least 1 and below 2^31";
        }
        Ok(1)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FollowArgs<InKernel<'k>>) {
        let rows = self.rows;
        let parent = |row: Val<'k, u32>| match self.parents {
            Parents::Own => row,
            Parents::Chosen => a.choices.row(row).at(1).min(rows - 1),
        };
        // A thread for each row. All that is read is read before anything is written.
        let row = cta.thread().min(rows - 1);
        let from = parent(row);
        let position = a.positions.at(from);
        let visible = a.visible.at(from);
        let history = a.history.row(from);
        let [count, last, _, last_time] = [0u32, 1, 2, 3].map(|at| history.at(at));
        let token = a.choices.row(row).at(0);
        // A thread for each position: it has the sources of all rows in hand before it writes them in their new order.
        let parents: Vec<Val<'k, u32>> = (0..rows).map(|row| parent(Val::constant(row))).collect();
        let starts: Vec<Val<'k, u32>> = parents.iter().map(|from| a.positions.at(*from)).collect();
        // Behind the new positions nothing is used.
        let nothing: Val<'k, u32> = Val::constant(0);
        let end = starts.iter().fold(nothing, |end, start| end.max(*start));
        let range = steps(cta.thread(), (end + 2).min(a.max_len), cta.threads());
        cta.barrier();
        cta.fold_lanes(range, (), |lane, at, ()| {
            let inherited: Vec<Val<'k, u32>> = parents
                .iter()
                .map(|from| a.sources.row(*from).at(at))
                .collect();
            for (row, inherited) in inherited.into_iter().enumerate() {
                let row = row as u32;
                let next = starts[row as usize] + 1;
                let value = at.equals(next).select(row, inherited);
                lane.if_(at.le(next), |_| {
                    a.sources.row(row).set(at, value);
                });
            }
        });
        let own = cta.thread().lt(rows);
        cta.if_(own, |_| {
            a.tokens.set(row, token);
            a.positions.set(row, position + 1);
            a.visible.set(row, visible + 1);
            let time = token.ge(a.timestamps).select(token, last_time);
            let history = a.history.row(row);
            for (at, value) in [count + 1, token, last, time].into_iter().enumerate() {
                history.set(at as u32, value);
            }
        });
    }
}

fn updated(before: Vec<u32>, after: Vec<u32>) -> Updated<u32> {
    Updated {
        before: before.into(),
        after: Expected::exact(after.into_iter().map(f64::from).collect()),
    }
}

/// Permutations and repetitions of rows, full caches, text and timestamps.
pub(super) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    for (rows, max_len, parents) in [
        (1, 7, Parents::Own),
        (5, 130, Parents::Own),
        (1, 1, Parents::Chosen),
        (5, 448, Parents::Chosen),
        (32, 65, Parents::Chosen),
    ] {
        let timestamps = 100;
        let mut ints =
            |n: u32, most: u32| -> Vec<u32> { (0..n).map(|_| rng.range(0, most)).collect() };
        let choices = ints(rows * 2, 200);
        let choices: Vec<u32> = choices
            .chunks(2)
            .flat_map(|pair| [pair[0], pair[1] % rows])
            .collect();
        let history = ints(rows * HISTORY, 200);
        let sources = ints(rows * max_len, rows - 1);
        // Beams are as long as each other; the last position of the cache is one of the cases.
        let position = if rows == 32 { max_len - 1 } else { max_len / 2 };
        let (positions, visible) = (
            vec![position; rows as usize],
            vec![position + 1; rows as usize],
        );
        let (mut history_after, mut sources_after) = (history.clone(), sources.clone());
        for row in 0..rows as usize {
            let [token, chosen] = [choices[2 * row], choices[2 * row + 1]];
            let parent = match parents {
                Parents::Own => row,
                Parents::Chosen => chosen as usize,
            };
            let [count, last, _, time] = [0, 1, 2, 3].map(|at| history[4 * parent + at]);
            let time = if token >= timestamps { token } else { time };
            history_after[4 * row..4 * row + 4].copy_from_slice(&[count + 1, token, last, time]);
            for at in 0..max_len.min(position + 2) as usize {
                let width = max_len as usize;
                sources_after[row * width + at] = if at as u32 == position + 1 {
                    row as u32
                } else {
                    sources[parent * width + at]
                };
            }
        }
        let tokens = choices.iter().step_by(2).map(|token| f64::from(*token));
        let next = |before: &[u32]| before.iter().map(|x| x + 1).collect::<Vec<_>>();
        cases.push(Box::new(Case {
            label: format!("{rows} rows of {max_len}"),
            kernel: Follow { parents, rows },
            args: FollowArgs {
                tokens: Expected::exact(tokens.collect()),
                choices: choices.into(),
                positions: updated(positions.clone(), next(&positions)),
                visible: updated(visible.clone(), next(&visible)),
                history: updated(history, history_after),
                sources: updated(sources, sources_after),
                rows,
                max_len,
                timestamps,
            },
        }));
    }
}
