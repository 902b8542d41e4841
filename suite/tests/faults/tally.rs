//! How many faults there are: by way of writing, kind, and reach.

use crate::{
    compiled, language, scripts,
    table::{Planted, Reach},
};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn faults_are_spread_over_ways_kinds_reaches_and_sizes() {
    let ways = [
        ("ptx", scripts::planted()),
        ("language", language::planted()),
        ("cuda", compiled::planted()),
    ];
    for (way, faults) in &ways {
        let kinds: BTreeSet<&str> = faults.iter().map(|one| one.kind.name()).collect();
        println!("{way}: {} faults of {} kinds", faults.len(), kinds.len());
        assert!(faults.len() >= 35 && kinds.len() >= 12, "{way}");
    }
    let all: Vec<&Planted> = ways.iter().flat_map(|(_, faults)| faults).collect();
    let mut reaches: BTreeMap<Reach, usize> = BTreeMap::new();
    let mut table: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for one in &all {
        *reaches.entry(one.reach).or_default() += 1;
    }
    for (way, (_, faults)) in ways.iter().enumerate() {
        for one in faults {
            table.entry(one.kind.name()).or_default()[way] += 1;
        }
    }
    for (kind, counts) in table {
        println!("{kind}: {counts:?}");
    }
    println!("{reaches:?}");
    let awkward = all.iter().filter(|one| one.awkward).count();
    println!("{awkward} of {} at awkward sizes only", all.len());
    assert!(all.len() >= 150, "{}", all.len());
    // Copies in flight and proxies go wrong at any size, so it is less than a third.
    assert!(10 * awkward >= 3 * all.len(), "{awkward} of {}", all.len());
    assert!(
        reaches.len() == 4 && reaches.values().all(|n| *n >= 10),
        "{reaches:?}"
    );
}
