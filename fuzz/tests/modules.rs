//! Mutated modules: most parse, many verify, and none panics or hangs.

use warpsmith_fuzz::modules::{Bench, Reached, mutated, texts};

#[test]
fn mutated_modules_go_through_and_most_still_parse() {
    let texts = texts();
    assert!(texts.len() > 100, "{}", texts.len());
    let mut bench = Bench::new();
    let count = 1500;
    let reached: Vec<Reached> = (0..count)
        .map(|index| bench.take(&mutated(&texts, 42, index)))
        .collect();
    let at_least = |least| reached.iter().filter(|one| **one >= least).count() as u64;
    let (parsed, verified) = (at_least(Reached::Parsed), at_least(Reached::Verified));
    assert!(2 * parsed >= count, "{parsed} of {count} parse");
    assert!(4 * verified >= count, "{verified} of {count} verify");
    assert!(at_least(Reached::Ran) > count / 10);
}
