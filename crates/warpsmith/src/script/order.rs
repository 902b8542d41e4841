//! Runs of a script in several orders of CTAs, warps and lanes: what they leave must be the same.

use super::{
    Mode, Script, Settings,
    compare::{Difference, compare},
    run::{Kept, once},
};
use crate::report::{Issue, Level, Report, Spot};
use warpsmith_vgpu::check::Verdict;

/// The kind of an output that depends on the order.
const KIND: &str = "schedule";

/// Runs a script as the settings say.
pub(super) fn run(script: &Script, settings: &Settings) -> (Report, Kept) {
    if settings.schedules == 0 {
        return once(script, settings, settings.seed, false);
    }
    let first = settings.seed.unwrap_or(0);
    let orders = (0..settings.schedules).map(|at| first.wrapping_add(u64::from(at)));
    let several = settings.schedules > 1;
    let (mut report, kept) = once(script, settings, Some(first), several);
    for order in orders.skip(1) {
        if settings.stop.is_stopped() {
            break;
        }
        let (other, left) = once(script, settings, Some(order), several);
        if report.failure.is_none() {
            for at in 0..script.buffers.len() {
                if let Some(difference) = differs(script, at, &kept, &left) {
                    let issue = issue(script, &report, at, difference, [first, order]);
                    merge(&mut report, issue);
                }
            }
        }
        for output in other.outputs {
            let known = report
                .outputs
                .iter_mut()
                .find(|o| o.buffer == output.buffer);
            if let Some(known) = known {
                known.difference = known.difference.or(output.difference);
            }
        }
        report.failure = report.failure.or(other.failure);
        other
            .issues
            .into_iter()
            .for_each(|issue| merge(&mut report, issue));
    }
    (report, kept)
}

/// Adds what no order before has shown.
fn merge(report: &mut Report, issue: Issue) {
    if !report.issues.iter().any(|known| known.is_same(&issue)) {
        report.issues.push(issue);
    }
}

/// Where two orders leave different contents of a buffer, as its comparison sees them.
fn differs(script: &Script, at: usize, one: &Kept, two: &Kept) -> Option<Difference> {
    let buffer = &script.buffers[at];
    let mode = buffer
        .wanted
        .as_ref()
        .map_or(&Mode::Exact, |wanted| &wanted.mode);
    compare(buffer.element, mode, one[at].as_ref()?, two[at].as_ref()?)
}

fn issue(
    script: &Script,
    report: &Report,
    at: usize,
    difference: Difference,
    orders: [u64; 2],
) -> Issue {
    let Difference {
        index,
        got,
        wanted,
        count,
    } = difference;
    let [one, two] = orders;
    let name = &script.buffers[at].name;
    let kernel = script.launches.last().map(|launch| launch.kernel.clone());
    let kernel = kernel.unwrap_or_default();
    let entry_line = report.source.entry_line(&kernel);
    Issue {
        kind: KIND,
        level: Level::Error,
        entry_line,
        place: Spot {
            line: entry_line,
            ..Spot::default()
        },
        kernel,
        other: None,
        address: None,
        allocation: None,
        count: count as u64,
        message: format!(
            "`{name}` depends on the order of CTAs, warps and lanes: [{index}] is {got} in order {one} and {wanted} in order {two}"
        ),
        help: "order the accesses, or make the result independent of who comes first; `--schedules 1 --seed S` runs order S alone".to_owned(),
        verdict: Verdict::Bug,
    }
}
