//! Kernels whose result depends on the order of CTAs and warps are caught within eight orders; their twins are not.

use crate::{
    compiled::report,
    table::{Sizes, at},
};
use warpsmith::{
    script::Settings,
    vgpu::check::{Checks, Kind},
};

/// In `orders.cu`.
const ALL: &[(&str, Sizes)] = &[
    ("last_writer", at(8, 64, 0)),
    ("tickets", at(8, 64, 0)),
    ("float_sum", at(8, 64, 0)),
    ("neighbour", at(4, 32, 128)),
    ("chain", at(8, 64, 0)),
    ("winner", at(8, 64, 0)),
    ("other_warp", at(1, 64, 64)),
    ("lost", at(3, 32, 0)),
    ("locked", at(8, 64, 0)),
    ("list", at(8, 64, 0)),
    ("match", at(8, 64, 0)),
    ("workers", at(4, 32, 20)),
    ("leader", at(2, 128, 0)),
    ("half_way", at(8, 64, 0)),
    ("ring", at(8, 64, 0)),
    ("sweep", at(4, 32, 128)),
    ("state", at(8, 64, 0)),
    ("maximum", at(8, 64, 0)),
    ("flag", at(8, 64, 0)),
    ("warp_tickets", at(1, 128, 0)),
    ("append", at(8, 64, 0)),
    ("running", at(8, 64, 0)),
    ("turned", at(8, 64, 0)),
];

#[test]
fn each_order_that_matters_is_caught_within_eight_and_no_other() {
    assert!(ALL.len() >= 20);
    let mut wrong = Vec::new();
    for (kernel, sizes) in ALL {
        let orders = Settings {
            schedules: 8,
            seed: Some(1),
            ..Settings::default()
        };
        let found = report("orders", kernel, sizes, Kind::RaceGlobal, &orders);
        let caught = found.issues.iter().any(|issue| issue.kind == "schedule");
        if !caught || found.failure.is_some() {
            wrong.push(format!("{kernel} is not caught: {:?}", found.failure));
        }
        let orders = Settings {
            checks: Some(Checks::default()),
            ..orders
        };
        let twin = format!("{kernel}_clean");
        let found = report("orders", &twin, sizes, Kind::RaceGlobal, &orders);
        let issues = found.issues.iter();
        wrong.extend(issues.map(|one| {
            format!(
                "{twin}: {}: {} at {:?}",
                one.kind, one.message, one.place.origin
            )
        }));
        wrong.extend(found.failure.map(|failure| format!("{twin}: {failure}")));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
