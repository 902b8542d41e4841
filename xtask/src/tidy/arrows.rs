//! The arrows between our crates: each depends only on rooms below it.

use super::graph::{Graph, Kind, Package};
use super::{SourceFile, Violation};

/// What a crate may depend on.
enum May {
    /// These of ours; tests of the crate too.
    Use(&'static [&'static str]),
    /// All of ours: it stands on the roof and nothing depends on it.
    UseAll,
}

/// The house, from the ground up. A crate that is not here is refused.
const HOUSE: &[(&str, May)] = &[
    ("warpsmith-ptx", May::Use(&[])),
    ("warpsmith-formats", May::Use(&[])),
    ("warpsmith-audio", May::Use(&[])),
    ("warpsmith-kernel", May::Use(&["warpsmith-ptx"])),
    ("warpsmith-x86", May::Use(&[])),
    (
        "warpsmith-vgpu",
        May::Use(&["warpsmith-ptx", "warpsmith-x86"]),
    ),
    (
        "warpsmith-vcuda",
        May::Use(&["warpsmith-ptx", "warpsmith-vgpu"]),
    ),
    (
        "warpsmith-device",
        May::Use(&["warpsmith-ptx", "warpsmith-kernel", "warpsmith-vgpu"]),
    ),
    (
        "warpsmith-library",
        May::Use(&["warpsmith-ptx", "warpsmith-kernel", "warpsmith-formats"]),
    ),
    (
        "warpsmith-tensor",
        May::Use(&["warpsmith-device", "warpsmith-library", "warpsmith-kernel"]),
    ),
    (
        "warpsmith-graph",
        May::Use(&[
            "warpsmith-ptx",
            "warpsmith-tensor",
            "warpsmith-device",
            "warpsmith-library",
            "warpsmith-kernel",
            "warpsmith-formats",
        ]),
    ),
    (
        "warpsmith-models",
        May::Use(&[
            "warpsmith-graph",
            "warpsmith-tensor",
            "warpsmith-device",
            "warpsmith-library",
            "warpsmith-formats",
            "warpsmith-audio",
        ]),
    ),
    (
        "warpsmith-server",
        May::Use(&[
            "warpsmith-audio",
            "warpsmith-device",
            "warpsmith-graph",
            "warpsmith-models",
        ]),
    ),
    (
        "warpsmith",
        May::Use(&[
            "warpsmith-ptx",
            "warpsmith-formats",
            "warpsmith-audio",
            "warpsmith-kernel",
            "warpsmith-vgpu",
            "warpsmith-vcuda",
            "warpsmith-device",
            "warpsmith-library",
            "warpsmith-tensor",
            "warpsmith-graph",
            "warpsmith-models",
            "warpsmith-server",
        ]),
    ),
    ("warpsmith-python", May::Use(&["warpsmith"])),
    ("check-a-kernel", May::Use(&["warpsmith"])),
    ("ten-kernels", May::Use(&["warpsmith"])),
    ("small-model", May::Use(&["warpsmith"])),
    ("chat", May::Use(&["warpsmith"])),
    ("transcribe", May::Use(&["warpsmith"])),
    ("rust-faults", May::Use(&[])),
    ("warpsmith-suite", May::UseAll),
    ("warpsmith-bench", May::UseAll),
    ("warpsmith-fuzz", May::UseAll),
    ("xtask", May::Use(&[])),
];

/// Checks every dependency between packages of ours, declared in any way.
pub(super) fn check(graph: &Graph, files: &[SourceFile]) -> Vec<Violation> {
    let ours: Vec<&Package> = graph
        .packages
        .iter()
        .filter(|package| package.member)
        .collect();
    let mut found = Vec::new();
    for package in &ours {
        let mut report = |line, text| {
            found.push(Violation {
                file: package.manifest.clone(),
                line,
                rule: "arrow",
                text,
            });
        };
        let Some((_, may)) = HOUSE.iter().find(|(name, _)| *name == package.name) else {
            report(
                1,
                format!(
                    "`{}` has no place in the house; add it to the table in tidy",
                    package.name
                ),
            );
            continue;
        };
        for declared in package
            .declared
            .iter()
            .filter(|dep| ours.iter().any(|own| own.name == dep.name))
        {
            let name = &declared.name;
            let line = line_of(files, &package.manifest, name);
            match may {
                May::UseAll => {}
                May::Use(below) if below.contains(&name.as_str()) => {}
                May::Use(_) => report(
                    line,
                    format!(
                        "`{}` may not {} `{name}`",
                        package.name,
                        verb(declared.kind)
                    ),
                ),
            }
            let roof = HOUSE
                .iter()
                .any(|(own, may)| own == name && matches!(may, May::UseAll));
            if roof {
                report(
                    line,
                    format!("`{name}` is on the roof: nothing depends on it"),
                );
            }
        }
    }
    found
}

fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Normal => "use",
        Kind::Dev => "be tested with (that test belongs into suite)",
        Kind::Build => "be built with",
    }
}

/// The line of the manifest that declares `name`.
fn line_of(files: &[SourceFile], manifest: &str, name: &str) -> usize {
    let declares = |line: &str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    let file = files.iter().find(|file| file.path == manifest);
    file.and_then(|file| file.text.lines().position(declares))
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::graph::tests::graph;

    fn found(packages: &[(&str, &[(&str, &str)])]) -> Vec<String> {
        check(&graph(packages), &[])
            .into_iter()
            .map(|violation| violation.text)
            .collect()
    }

    #[test]
    fn arrows_that_go_down_are_fine() {
        let packages: &[(&str, &[(&str, &str)])] = &[
            (
                "warpsmith-kernel",
                &[("warpsmith-ptx", "normal"), ("half", "normal")],
            ),
            (
                "warpsmith-suite",
                &[("warpsmith-kernel", "dev"), ("warpsmith-ptx", "normal")],
            ),
            ("warpsmith-ptx", &[]),
            ("half", &[]),
        ];
        assert_eq!(found(packages), [""; 0]);
    }

    #[test]
    fn an_arrow_that_goes_up_is_seen_for_tests_too() {
        for kind in ["normal", "dev", "build"] {
            let text = found(&[
                ("warpsmith-ptx", &[("warpsmith-device", kind)]),
                ("warpsmith-device", &[]),
            ]);
            assert_eq!(text.len(), 1, "{kind}");
            assert!(
                text[0].starts_with("`warpsmith-ptx` may not"),
                "{}",
                text[0]
            );
        }
    }

    #[test]
    fn a_new_crate_and_a_user_of_the_roof_are_seen() {
        assert!(found(&[("warpsmith-cellar", &[])])[0].contains("has no place"));
        let text = found(&[
            ("warpsmith-bench", &[("warpsmith-suite", "normal")]),
            ("warpsmith-suite", &[]),
        ]);
        assert!(text[0].contains("on the roof"), "{text:?}");
    }

    #[test]
    fn the_line_is_the_one_that_declares_it() {
        let text = "[dependencies]\nwarpsmith-ptx.workspace = true\nwarpsmith.workspace = true\n";
        let files = [SourceFile {
            path: "a/Cargo.toml".to_owned(),
            text: text.to_owned(),
        }];
        assert_eq!(line_of(&files, "a/Cargo.toml", "warpsmith"), 3);
    }
}
