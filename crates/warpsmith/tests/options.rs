//! Options of `run`: messages name the one that was typed.

use serde_json::Value;
use std::{fs, path::Path, process::Command};
use warpsmith::script::schema;

/// A kernel with a parameter of each kind.
const PTX: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.global .u32 table[4];\n\
    .visible .entry k(.param .u64 p, .param .u32 n, .param .f32 f, .param .b32 b, .param .align 8 .b8 s[16]) { ret; }\n\
    .visible .entry small() .reqntid 32 { ret; }\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("k.ptx"), PTX).expect("written");
    folder
}

fn warpsmith(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    let output = command
        .current_dir(folder)
        .args(args)
        .output()
        .expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let status = output.status.code().expect("not killed");
    (status, text(output.stdout), text(output.stderr))
}

#[test]
fn messages_name_the_option_that_was_typed() {
    let folder = folder();
    let run = |more: &[&str]| -> String {
        let args = [&["run", "k.ptx"], more].concat();
        let (status, out, err) = warpsmith(folder.path(), &args);
        assert_eq!(status, 2, "{args:?}: {out}{err}");
        out + &err
    };
    let args = |f: &'static str| {
        [
            "--entry", "k", "--arg", "zero:8", "--arg", "u32:7", "--arg", f, "--arg", "b32:0x10",
            "--arg", "uninit:8",
        ]
    };
    for (args, says) in [
        (
            &args("u32:3")[..],
            "--arg u32:3, argument 3: expected a .f32, the type of the parameter `f`, found a .u32",
        ),
        (
            &args("f32:3"),
            "--arg uninit:8, argument 5: expected 16 bytes",
        ),
        (&["--entry", "k"], "--arg: expected 5 arguments, found 0"),
        (
            &["--entry", "kk"],
            "--entry: expected a kernel of the module, such as k, small, found kk",
        ),
        (&["--entry", "small"], "shared"),
        (
            &["--entry", "small", "--block", "64"],
            "--block: expected 32, 1, 1, the kernel's .reqntid, found 64, 1, 1",
        ),
        (
            &["--entry", "small", "--block", "2048"],
            "--block: expected at most 1024, 1024, 64",
        ),
        (
            &["--entry", "small", "--grid", "0"],
            "--grid: expected at least 1 of each extent",
        ),
        (
            &["--entry", "small", "--arg", "x:3"],
            "expected `TYPE:VALUE",
        ),
        (
            &["--entry", "small", "--arg", "i32:x"],
            "expected a number that fits .s32, found `x`",
        ),
    ] {
        let mut args = args.to_vec();
        // More shared memory than there is.
        if says == "shared" {
            args.extend(["--shared", "200000"]);
            let (status, out, _) =
                warpsmith(folder.path(), &[&["run", "k.ptx"], &args[..]].concat());
            assert!(
                status == 1 && out.contains("expected at most 166912"),
                "{status} {out}"
            );
            continue;
        }
        let found = run(&args);
        assert!(found.contains(says), "{says}\n{found}");
    }
}

#[test]
fn the_schema_is_printed() {
    let folder = folder();
    let (status, out, err) = warpsmith(folder.path(), &["run", "--schema"]);
    assert_eq!(status, 0, "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).expect("JSON"), schema());
}

#[test]
fn of_an_option_that_is_given_twice_the_last_counts() {
    let folder = folder();
    let small = ["run", "k.ptx", "--entry", "small", "--block", "64"];
    let (status, out, err) = warpsmith(folder.path(), &small);
    assert_ne!(status, 0, "{out}{err}");
    let (status, out, err) = warpsmith(folder.path(), &[&small[..], &["--block", "32"]].concat());
    assert_eq!(status, 0, "{out}{err}");
    // Those of which there can be several are all taken.
    let all = ["--arg", "zero:8", "--arg", "u32:7", "--arg", "f32:1"];
    let more = [
        "--arg", "b32:0x10", "--arg", "b64:0", "--entry", "none", "--entry", "k",
    ];
    let (_, out, err) = warpsmith(
        folder.path(),
        &[&["run", "k.ptx"], &all[..], &more].concat(),
    );
    assert!((out + &err).contains("argument 5: expected 16 bytes"));
}

#[test]
fn a_target_that_the_module_is_not_for_has_its_option_named() {
    let folder = folder();
    let args = ["run", "k.ptx", "--entry", "small", "--sm", "75"];
    let (status, out, err) = warpsmith(folder.path(), &args);
    assert_eq!(status, 2);
    let says = "--sm: the module is for sm_80, the device is sm_75";
    assert!((out.clone() + &err).contains(says), "{out}{err}");
}

#[test]
fn a_context_too_small_for_perplexity_is_named() {
    let folder = folder();
    for (args, says) in [
        (&["-c", "1"][..], "--ctx-size is 1, expected at least 2"),
        (
            &["-c", "3", "--chunks"],
            "--ctx-size is 3, expected at least 4",
        ),
    ] {
        let args = [&["perplexity", "--model", "none.gguf", "k.ptx"], args].concat();
        let (status, _, err) = warpsmith(folder.path(), &args);
        assert_eq!((status, err.contains(says)), (1, true), "{err}");
    }
}
