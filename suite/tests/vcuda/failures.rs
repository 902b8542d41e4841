//! Drivers that fail: each failure is a typed error, and never a run on something else.

use crate::library::Folder;

/// Opens a card, and makes it ready to launch.
const READY: [&str; 3] = ["cuda:0", "stream", "alloc"];
const OPEN: &str = "Cuda { index: 0 } None";

/// Steps after [`READY`], each with what it comes to.
fn after_ready(settings: &[(&str, &str)], steps: &[(&str, &str)]) {
    let names: Vec<&str> = READY
        .into_iter()
        .chain(steps.iter().map(|(step, _)| *step))
        .collect();
    let found = Folder::new().script(settings, &names);
    assert_eq!(found[..3], [OPEN, "done", "done"], "{settings:?}");
    for ((step, want), found) in steps.iter().zip(&found[3..]) {
        assert_eq!(found, want, "{step} in {names:?} with {settings:?}");
    }
}

fn cuda(call: &str, code: u32, name: &str, text: &str, recent: &[&str]) -> String {
    format!(
        "Cuda {{ call: {call:?}, code: {code}, name: {name:?}, text: {text:?}, recent: {recent:?} }}"
    )
}

#[test]
fn no_library_is_an_error_that_names_what_was_tried() {
    let [cuda, cards, auto] = &Folder::empty().script(&[], &["cuda:0", "cards", "auto"])[..] else {
        panic!("three lines")
    };
    if cuda == OPEN {
        // This machine has a card of its own.
        return;
    }
    assert!(
        cuda.starts_with("NoDriver { tried: [\"libcuda.so.1: "),
        "{cuda}"
    );
    assert!(cuda.contains("\"libcuda.so: "), "{cuda}");
    assert_eq!(cuda, cards);
    assert!(
        auto.starts_with("Virtual Some(\"no CUDA driver; tried libcuda.so.1: "),
        "{auto}"
    );
}

#[test]
fn a_file_that_is_no_library_is_named() {
    let folder = Folder::of_bytes(b"not a library");
    let [found] = &folder.script(&[], &["cuda:0"])[..] else {
        panic!("one line")
    };
    assert!(
        found.starts_with("NoDriver { tried: [\"libcuda.so.1: "),
        "{found}"
    );
    assert!(found.contains("file too short"), "{found}");
}

#[test]
fn a_library_that_does_not_load_is_passed_over_for_the_next_and_named() {
    let folder = Folder::broken_first(b"not a library");
    let found = folder.script(&[], &["cuda:0", "passed over"]);
    assert_eq!(found[0], OPEN);
    let why = found[1].strip_prefix("[\"libcuda.so.1: ");
    let named = why.is_some_and(|why| why.ends_with("/libcuda.so.1: file too short\"]"));
    assert!(named, "{}", found[1]);
    let found = Folder::new().script(&[], &["cuda:0", "passed over"]);
    assert_eq!(found, [OPEN, "[]"]);
}

#[test]
fn a_card_older_than_any_kernel_is_passed_over_and_refuses_kernels_in_one_line() {
    let settings = [("SM", "50"), ("NAME", "old")];
    let found = Folder::new().script(&settings, &["auto", "cuda:0", "stream", "alloc", "launch"]);
    assert_eq!(
        found[..2],
        [
            "Virtual Some(\"old is sm_50; kernels need sm_70 or later\")",
            OPEN
        ]
    );
    assert_eq!(
        found[4],
        "Build(TooOld { kernel: \"next\", target: Target { sm: 50, suffix: None } })"
    );
}

#[test]
fn a_driver_without_cards_or_that_does_not_start_says_so() {
    let folder = Folder::new();
    let steps = ["cuda:0", "cards", "auto"];
    let none = "NoCard { index: 0, found: 0 }";
    let passed_over = "Virtual Some(\"no card 0: the driver lists 0\")";
    assert_eq!(
        folder.script(&[("DEVICES", "0")], &steps),
        [none, "0 cards", passed_over]
    );
    assert_eq!(
        folder.script(&[("DEVICES", "2")], &["cuda:2"]),
        ["NoCard { index: 2, found: 2 }"]
    );
    for (init, why) in [
        (
            "803",
            "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has unsupported display driver / cuda driver combination",
        ),
        ("999", "cuInit: CUDA_ERROR_UNKNOWN (999): unknown error"),
    ] {
        let want = format!("NoDriver {{ tried: [\"libcuda.so.1: {why}\"] }}");
        assert_eq!(
            folder.script(&[("INIT", init)], &steps[..2]),
            [&want[..], &want]
        );
    }
}

#[test]
fn a_driver_too_old_for_a_module_is_named_with_both_versions() {
    let too_new = "PtxTooNew { needed: PtxVersion { major: 8, minor: 0 }, driver_takes: PtxVersion { major: 6, minor: 3 } }";
    let steps = [
        ("launch", "done"),
        ("y", "7 same true"),
        ("load", too_new),
        ("launch", "done"),
    ];
    // What is built here is built for what the driver takes, whatever the card.
    after_ready(&[("DRIVER", "10.0")], &steps);
    after_ready(&[("DRIVER", "10.0"), ("SM", "75")], &steps);
}

#[test]
fn a_compiler_too_old_for_its_driver_shows_its_log_with_both_versions() {
    let refused = |module: &str, version: &str| {
        let log = format!("error: unsupported .version {version}; this driver takes up to 6.0");
        format!(
            "Jit {{ module: {module:?}, code: 222, name: \"CUDA_ERROR_UNSUPPORTED_PTX_VERSION\", log: {log:?} }}"
        )
    };
    let steps = [
        ("launch", &refused("next", "8.0")[..]),
        ("load", &refused("new", "8.0")),
    ];
    after_ready(&[("PTX_LIMIT", "6.0")], &steps);
}

#[test]
fn a_launch_that_faults_is_told_by_the_next_wait_or_by_itself_and_stays() {
    let failed = |call, recent: &[&str]| {
        cuda(
            call,
            719,
            "CUDA_ERROR_LAUNCH_FAILED",
            "unspecified launch failure",
            recent,
        )
    };
    let wait = failed("cuStreamSynchronize", &["next", "next"]);
    let fail = [("FAIL_LAUNCH", "2")];
    after_ready(
        &fail,
        &[("launch", "done"), ("launch", "done"), ("sync", &wait)],
    );
    let names = [
        &["each"][..],
        &READY,
        &["launch", "launch", "launch", "x", "free", "close", "cuda:0"],
    ]
    .concat();
    let found = Folder::new().script(&fail, &names);
    assert_eq!(found[4], "done");
    assert_eq!(found[5], failed("cuStreamSynchronize", &["next"]));
    for (step, found) in names.iter().zip(&found).skip(6).take(3) {
        assert!(
            found.starts_with("Cuda { call: ") && found.contains("code: 719"),
            "{step}: {found}"
        );
    }
    // A new context is well.
    assert_eq!(found[9..], ["done", OPEN]);
}

#[test]
fn a_wild_write_stays_with_the_context_and_says_which_kernel() {
    let text = "an illegal memory access was encountered";
    let illegal =
        |call, recent: &[&str]| cuda(call, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", text, recent);
    let names = [
        &READY[..],
        &["launch", "wild", "sync", "sync", "y", "close"],
    ]
    .concat();
    let found = Folder::new().script(&[], &names);
    assert_eq!(found[5], illegal("cuStreamSynchronize", &["next", "wild"]));
    assert!(
        found[6].contains("code: 700") && found[7].contains("code: 700"),
        "{found:?}"
    );
    assert_eq!(found[8], "done");
}

#[test]
fn a_refused_launch_leaves_the_rest_well() {
    let text = "too many resources requested for launch";
    let refused = cuda(
        "cuLaunchKernel",
        701,
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        text,
        &["next"],
    );
    let steps = [
        ("launch", "done"),
        ("launch", &refused[..]),
        ("launch", "done"),
        ("y", "7 same true"),
    ];
    after_ready(&[("REFUSE_LAUNCH", "2")], &steps);
}

#[test]
fn a_card_that_runs_out_of_memory_tells_needed_and_free() {
    for pools in ["0", "1"] {
        let settings = [("FAIL_ALLOC", "1"), ("POOLS", pools)];
        let found = Folder::new().script(&settings, &READY);
        assert_eq!(
            found[2], "OutOfMemory { needed: 400, free: 268435456 }",
            "{settings:?}"
        );
    }
}

#[test]
fn a_card_lost_in_the_middle_is_an_error_of_every_later_call() {
    for lost_at in ["launch", "replay"] {
        let names = [
            &READY[..],
            &[
                "launch", "capture", lost_at, "launch", "sync", "x", "free", "alloc", "close",
                "cuda:0",
            ],
        ]
        .concat();
        let found = Folder::new().script(&[("LOSE", "2")], &names);
        assert_eq!(found[3..5], ["done", "done"]);
        for (step, found) in names.iter().zip(&found).skip(5) {
            let lost = found.starts_with("Cuda { call: \"cu") && found.contains("code: 999");
            assert!(
                lost || (*step == "close" && found == "done"),
                "{step}: {found}"
            );
        }
    }
}

#[test]
fn settings_that_are_not_understood_stop_the_driver() {
    let want = "NoDriver { tried: [\"libcuda.so.1: cuInit: CUDA_ERROR_INVALID_VALUE (1): invalid argument\"] }";
    assert_eq!(Folder::new().script(&[("SM", "nine")], &["cuda:0"]), [want]);
}
