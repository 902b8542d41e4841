//! A driver that lacks functions: each that we call is missed by name, before it is called.

use crate::library::Folder;

/// Uses everything that the back end has.
const ALL: [&str; 14] = [
    "cards", "cuda:0", "stream", "free", "alloc", "launch", "sync", "y", "capture", "replay",
    "sync", "x", "load", "close",
];

/// What [`ALL`] comes to where nothing is missing.
const WELL: [&str; 14] = [
    "1 cards",
    "Cuda { index: 0 } None",
    "done",
    "MemoryInfo { free: 268435456, total: 268435456 }",
    "done",
    "done",
    "done",
    "7 same true",
    "done",
    "done",
    "done",
    "7 same true",
    "done",
    "done",
];

fn lacks(names: &[&str]) -> String {
    format!(
        "NoDriver {{ tried: [\"libcuda.so.1: lacks {}\"] }}",
        names.join(", ")
    )
}

#[test]
fn each_function_that_we_call_is_missed_by_name_and_no_other() {
    let (folder, copy) = Folder::of_copy();
    let all: Vec<&str> = warpsmith_vcuda::functions().collect();
    copy.hide(&all);
    let [found] = &folder.script(&[], &["cuda:0"])[..] else {
        panic!("one line")
    };
    let names = found.strip_prefix("NoDriver { tried: [\"libcuda.so.1: lacks ");
    let names = names.and_then(|names| names.strip_suffix("\"] }"));
    let needed: Vec<&str> = names.expect("the missing functions").split(", ").collect();
    assert_eq!(*found, lacks(&needed));
    assert!(needed.len() > 40, "{needed:?}");
    assert!(needed.iter().all(|name| all.contains(name)), "{needed:?}");
    // With these alone everything works: no other is ever called.
    let others: Vec<&str> = all
        .into_iter()
        .filter(|name| !needed.contains(name))
        .collect();
    assert!(others.len() > 20, "{others:?}");
    copy.hide(&others);
    assert_eq!(folder.script(&[], &ALL), WELL);
    assert_eq!(folder.script(&[("POOLS", "0")], &ALL), WELL);
    for name in needed {
        copy.hide(&[name]);
        assert_eq!(
            folder.script(&[], &["cuda:0", "cards"]),
            [lacks(&[name]), lacks(&[name])]
        );
    }
}
