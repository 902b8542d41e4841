//! The commands `run`, `check` and `kernels check`: their outputs and exit statuses.

use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// What a run of the program left.
struct Run {
    status: i32,
    out: String,
    err: String,
}

fn warpsmith(args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(args)
        .output()
        .expect("the program runs");
    Run {
        status: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// `y[i] = x[i] * f` for `i < n`, without looking at `n` if `faulty`.
fn scale(faulty: bool) -> String {
    let guard = if faulty {
        ""
    } else {
        "setp.ge.u32 %p1, %r1, %r2;\n@%p1 bra done;"
    };
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 f, .param .u32 n) {{\n\
         .reg .pred %p<2>; .reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.f32 %f1, [f];\nld.param.u32 %r2, [n];\n\
         mov.u32 %r1, %tid.x;\n{guard}\nmul.wide.u32 %rd3, %r1, 4;\n\
         add.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\nld.global.f32 %f2, [%rd1];\n\
         mul.f32 %f2, %f2, %f1;\nst.global.f32 [%rd2], %f2;\ndone:\nret;\n}}\n"
    )
}

/// A folder with files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    folder
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A file of the kernels with planted faults.
fn case(kind: &str, name: &str) -> String {
    let folder = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/cases/faults"
    ));
    folder.join(kind).join(name).display().to_string()
}

/// Runs a script; exit status and JSON.
fn script(path: &str, more: &[&str]) -> (i32, Value) {
    let run = warpsmith(&[&["run", "--script", path, "--format", "json"], more].concat());
    let json =
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.err));
    (run.status, json)
}

#[test]
fn one_launch_from_the_command_line() {
    let data = floats(&[1.0, 2.0, 3.0]);
    let folder = folder(&[("k.ptx", scale(false).as_bytes()), ("x.bin", &data)]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let args = [
        "run".to_owned(),
        at("k.ptx"),
        "--entry=scale".to_owned(),
        "--block=32".to_owned(),
        format!("--arg=in:{}", at("x.bin")),
        format!("--arg=out:{}:12", at("y.bin")),
        "--arg=f32:0.5".to_owned(),
        "--arg=u32:3".to_owned(),
        "--check".to_owned(),
    ];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = warpsmith(&args);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let left = fs::read(at("y.bin")).expect("written");
    assert_eq!(left, floats(&[0.5, 1.0, 1.5]));
    // The same without the comparison.
    fs::write(at("k.ptx"), scale(true)).expect("written");
    let run = warpsmith(&args);
    assert_eq!(run.status, 1, "{}{}", run.out, run.err);
    let line = scale(true)
        .lines()
        .position(|line| line.starts_with("ld.global"))
        .expect("there")
        + 1;
    let json = warpsmith(&[&args[..], &["--format=json"]].concat());
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    let found = json["findings"].as_array().expect("findings");
    let lines: Vec<(&str, u64)> = found
        .iter()
        .map(|one| {
            (
                one["kind"].as_str().unwrap_or(""),
                one["line"].as_u64().unwrap_or(0),
            )
        })
        .collect();
    assert!(lines.contains(&("oob_global", line as u64)), "{lines:?}");
    assert!(
        run.out
            .contains(&format!("{line} | ld.global.f32 %f2, [%rd1];")),
        "{}",
        run.out
    );
    assert!(
        run.out.contains('^') && !run.out.contains('\x1b'),
        "{}",
        run.out
    );
}

#[test]
fn what_a_kernel_prints_comes_before_its_report() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
        .global .b8 format[9] = {110, 9, 61, 32, 37, 117, 27, 10, 0};\n\
        .visible .entry k(.param .u32 n)\n{\n.reg .b32 %r;\n.reg .b64 %d;\n.local .align 8 .b8 list[8];\n\
        .param .b64 x;\n.param .b64 y;\n.param .b32 z;\nld.param.u32 %r, [n];\nst.local.u32 [list], %r;\n\
        mov.u64 %d, format;\ncvta.global.u64 %d, %d;\nst.param.b64 [x], %d;\nmov.u64 %d, list;\n\
        cvta.local.u64 %d, %d;\nst.param.b64 [y], %d;\ncall.uni (z), vprintf, (x, y);\nret;\n}\n";
    let folder = folder(&[("k.ptx", text.as_bytes())]);
    let path = folder.path().join("k.ptx").display().to_string();
    let args = [
        "run",
        &path,
        "--entry=k",
        "--block=2",
        "--arg=u32:7",
        "--check",
    ];
    let run = warpsmith(&args);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    // A terminal is not told what to do by a kernel.
    let line = "n\t= 7\\u{1b}\n";
    assert_eq!(run.out, format!("{line}{line}{path}: clean\n"));
    let json = warpsmith(&[&args[..], &["--format=json"]].concat());
    let value: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(value["printed"], json!("n\t= 7\u{1b}\nn\t= 7\u{1b}\n"));
}

#[test]
fn outputs_that_differ_are_named() {
    let script_text = |mode: Value| {
        json!({
            "ptx": "k.ptx",
            "buffers": {
                "x": {"dtype": "f32", "count": 3, "init": {"file": "x.bin"}, "expect": "unchanged"},
                "y": {"dtype": "f32", "count": 3, "init": {"uninitialized": true}, "expect": "y.bin", "check": mode},
            },
            "launches": [{"kernel": "scale", "grid": [1], "block": [4, 1, 1], "args": [
                {"kind": "ptr", "buffer": "x"}, {"kind": "ptr", "buffer": "y"},
                {"kind": "scalar", "type": "f32", "value": 2.0},
                {"kind": "scalar", "type": "u32", "hex": "03000000"}]}],
            "host_reads": ["y"],
        })
        .to_string()
    };
    let folder = folder(&[
        ("k.ptx", scale(false).as_bytes()),
        ("x.bin", &floats(&[1.0, 2.0, 3.0])),
        ("y.bin", &floats(&[2.0, 4.5, 6.0])),
    ]);
    let path = folder.path().join("s.json");
    let run = |mode: Value| {
        fs::write(&path, script_text(mode)).expect("written");
        script(&path.display().to_string(), &["--check"])
    };
    let (status, json) = run(json!({"mode": "exact"}));
    assert_eq!(status, 1);
    assert_eq!(json["status"], "findings");
    assert_eq!(json["findings"], json!([]));
    assert_eq!(
        json["outputs"],
        json!([
            {"buffer": "x", "ok": true, "first_difference": null},
            {"buffer": "y", "ok": false, "first_difference": {"index": 1, "got": 4.0, "wanted": 4.5}},
        ])
    );
    for mode in [
        json!({"mode": "tol", "abs": [0.5]}),
        json!({"mode": "tol", "rel": [0.12]}),
        json!({"mode": "none"}),
    ] {
        let (status, json) = run(mode);
        assert_eq!((status, &json["status"]), (0, &json!("clean")));
    }
}

#[test]
fn a_fault_is_reported_in_every_format_and_can_be_suppressed() {
    let path = case("race_shared", "warps.json");
    let text = fs::read_to_string(case("race_shared", "warps.ptx")).expect("readable");
    let line = text
        .lines()
        .position(|line| line.contains("// fault"))
        .expect("marked") as u64
        + 1;
    let (status, json) = script(&path, &["--check"]);
    assert_eq!(status, 1);
    let finding = &json["findings"][0];
    assert_eq!(finding["kind"], "race_shared");
    let keys = [
        "kind",
        "kernel",
        "entry_line",
        "line",
        "source",
        "other_line",
        "other_source",
        "block",
        "thread",
        "address",
        "allocation",
        "count",
        "message",
        "verdict",
    ];
    let members = finding.as_object().expect("an object");
    assert_eq!(members.len(), keys.len());
    assert!(keys.iter().all(|key| members.contains_key(*key)));
    assert!([&finding["line"], &finding["other_line"]].contains(&&json!(line)));
    let (status, json) = script(&path, &["--check=deadlock,leak"]);
    assert_eq!((status, &json["findings"]), (0, &json!([])));
    for kinds in [
        "--check=leak,race_shared",
        "--check=race_shared, leak",
        "--check=race_shared",
    ] {
        assert_eq!(script(&path, &[kinds]).0, 1, "{kinds}");
    }
    for kinds in ["--check=bogus", "--check=leak,bogus", "--check="] {
        assert_eq!(
            warpsmith(&["run", "--script", &path, kinds]).status,
            2,
            "{kinds}"
        );
    }
    let known = folder(&[("known", b"race_shared k *\n")]);
    let known = known.path().join("known").display().to_string();
    assert_eq!(script(&path, &["--check", "--suppress", &known]).0, 0);
    let sarif = warpsmith(&["run", "--script", &path, "--check", "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&sarif.out).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "race_shared");
    assert!(result["locations"][0]["physicalLocation"]["region"]["startLine"].is_u64());
}

#[test]
fn several_orders_show_what_depends_on_them() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {\n.reg .b32 %r<3>; .reg .b64 %rd<2>;\n\
        ld.param.u64 %rd1, [a];\nmov.u32 %r1, %ctaid.x;\natom.global.exch.b32 %r2, [%rd1], %r1;\nret;\n}\n";
    let text = json!({"ptx": "k.ptx", "buffers": {"a": {"dtype": "u32", "count": 1, "init": {"fill": 0}}},
        "launches": [{"kernel": "k", "grid": [16], "block": [1], "args": [{"kind": "ptr", "buffer": "a"}]}]});
    let folder = folder(&[
        ("k.ptx", ptx.as_bytes()),
        ("s.json", text.to_string().as_bytes()),
    ]);
    let path = folder.path().join("s.json").display().to_string();
    let (status, json) = script(&path, &["--check", "--schedules", "8", "--seed", "1"]);
    assert_eq!(
        (status, &json["findings"][0]["kind"]),
        (1, &json!("schedule"))
    );
    assert_eq!(
        script(&path, &["--check", "--schedules", "1", "--seed", "1"]).0,
        0
    );
}

#[test]
fn what_cannot_run_says_why() {
    let good = json!({"ptx": "k.ptx", "buffers": {"a": {"bytes": 4, "init": {"fill": 0}}},
        "launches": [{"kernel": "scale", "grid": [1], "block": [1], "args": []}]});
    let folder = folder(&[
        ("k.ptx", scale(false).as_bytes()),
        ("no.ptx", b"nonsense"),
        ("a.bin", b"123"),
    ]);
    let path = folder.path().join("s.json");
    let mut wrong: Vec<(String, &str)> = vec![
        ("{".to_owned(), "not JSON"),
        ("[]".to_owned(), "$: expected an object, found a list of 0"),
        (
            good.to_string(),
            "$.launches[0].args: expected 4 arguments, found 0",
        ),
    ];
    let mut with = |pointer: &str, value: Value, says: &'static str| {
        let mut json = good.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a path");
        json.pointer_mut(parent).expect("there")[key] = value;
        wrong.push((json.to_string(), says));
    };
    with("/ptx", json!(7), "$.ptx: expected text, found 7");
    with("/ptx", json!("gone.ptx"), "cannot read");
    with("/ptx", json!("no.ptx"), "line 1");
    with("/target", json!("sm_1"), "$.target: expected a target");
    with(
        "/target",
        json!("sm_75"),
        "the module is for sm_80, the device is sm_75",
    );
    with(
        "/buffers/a",
        json!({"bytes": -1}),
        "$.buffers.a.bytes: expected a whole number",
    );
    with(
        "/buffers/a",
        json!({"bytes": 1u64 << 60}),
        "$.buffers.a.bytes: expected a whole number",
    );
    with(
        "/buffers/a",
        json!({"count": 1u64 << 62, "dtype": "f64"}),
        "$.buffers.a.count",
    );
    with(
        "/buffers/a",
        json!({"bytes": 4, "init": {"file": "a.bin"}}),
        "expected a file of 4 bytes",
    );
    with(
        "/buffers/a",
        json!({"bytes": 4, "init": {"fill": 256}}),
        "$.buffers.a.init.fill",
    );
    with(
        "/buffers/a",
        json!({"bytes": 4, "init": {"fill": 0, "pointers": [{"offset": 0, "buffer": "a"}]}}),
        "at least 8 bytes",
    );
    with(
        "/buffers/a",
        json!({"bytes": 4, "dtype": "f33"}),
        "$.buffers.a.dtype",
    );
    with(
        "/launches",
        json!([{"kernel": "x", "grid": [1], "block": [1]}]),
        "$.launches[0].kernel: expected a kernel",
    );
    with(
        "/launches",
        json!([{"kernel": "scale", "grid": [], "block": [1]}]),
        "$.launches[0].grid",
    );
    with(
        "/launches",
        json!([{"kernel": "scale", "grid": [1], "block": [1], "args": [{"kind": "ptr", "buffer": "z"}]}]),
        "$.launches[0].args[0].buffer: expected the name of a buffer, found \"z\"",
    );
    with(
        "/launches",
        json!([{"kernel": "scale", "grid": [1], "block": [1], "args": [{"kind": "scalar", "type": "u8", "value": 256}]}]),
        "$.launches[0].args[0].value: expected a number that fits .u8",
    );
    for (text, says) in wrong {
        fs::write(&path, &text).expect("written");
        let run = warpsmith(&["run", "--script", &path.display().to_string(), "--check"]);
        assert_eq!(run.status, 2, "{text}: {}{}", run.out, run.err);
        let said = format!("{}{}", run.out, run.err);
        assert!(said.contains(says), "{says}: {said}");
    }
}

#[test]
fn what_could_not_run_says_nothing_of_its_outputs() {
    // Products of this shape are not here. The host reads a buffer that a kernel would have written.
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y) {\n\
         .reg .f32 %f<8>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [y];\n\
         mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r0, %r1}, \
         {%r2, %r3}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};\nst.global.f32 [%rd1], %f0;\nret;\n}\n";
    let json = json!({"ptx": "k.ptx", "host_reads": ["y"],
        "buffers": {"y": {"bytes": 4, "init": {"uninitialized": true}}},
        "launches": [{"kernel": "k", "grid": [1], "block": [32], "args": [{"kind": "ptr", "buffer": "y"}]}]});
    let folder = folder(&[
        ("k.ptx", text.as_bytes()),
        ("s.json", json.to_string().as_bytes()),
    ]);
    let path = folder.path().join("s.json").display().to_string();
    let (status, report) = script(&path, &["--check=unwritten_output"]);
    assert_eq!((status, &report["status"]), (2, &json!("unsupported")));
    assert_eq!(report["findings"], json!([]), "{report}");
}

#[test]
fn files_are_checked_without_running() {
    let clean = case("barrier_divergence", "half_warp_clean.ptx");
    let faulty = case("barrier_divergence", "half_warp.ptx");
    let check = |args: &[&str]| -> Run { warpsmith(&[&["check"], args].concat()) };
    assert_eq!(check(&[&clean]).status, 0);
    assert_eq!(check(&[&clean, &faulty]).status, 1);
    assert_eq!(check(&[&clean, "/nowhere.ptx", &faulty]).status, 2);
    assert_eq!(check(&[&clean, "--sm", "75"]).status, 1);
    assert_eq!(
        check(&[&clean, "--sm", "90", "--ptx-limit", "7.8"]).status,
        0
    );
    assert_eq!(check(&[&clean, "--ptx-limit", "7.5"]).status, 1);
    let json = check(&[&clean, &faulty, "--format", "json"]);
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["status"], "findings");
    let found = &json["findings"][0];
    assert_eq!(found["kind"], "barrier_divergence");
    assert_eq!(found["file"], json!(faulty));
    assert!(found["other_line"].is_u64());
    let folder = folder(&[("no.ptx", b"nonsense")]);
    let path = folder.path().join("no.ptx").display().to_string();
    assert_eq!(check(&[&path]).status, 2);
}

#[test]
fn the_librarys_kernels_are_shown_in_a_table() {
    let run = warpsmith(&["kernels", "check", "argmax"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let shown = run.out;
    let rows: Vec<&str> = shown.lines().collect();
    assert!(rows.len() > 1 && rows[1].starts_with("argmax"), "{shown}");
    assert_eq!(warpsmith(&["kernels", "check", "no_such"]).status, 2);
}

#[test]
fn damaged_scripts_are_errors_or_scripts() {
    let folder = case("", "");
    let folder = Path::new(&folder).join("use_after_free");
    let whole = fs::read(folder.join("inside.json")).expect("readable");
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("s.json");
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let words: [&[u8]; 8] = [
        b"null",
        b"-1",
        b"1e99",
        b"\"a\"",
        b"[]",
        b"{}",
        b"18446744073709551615",
        b"true",
    ];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..2000 {
        let mut text = whole.clone();
        for _ in 0..=below(3) {
            let at = below(text.len());
            match below(3) {
                0 => text[at] = below(256) as u8,
                1 => text.truncate(at.max(1)),
                _ => {
                    // A number or word becomes another.
                    let digits = |byte: &u8| byte.is_ascii_alphanumeric();
                    let end = text[at..]
                        .iter()
                        .position(|byte| !digits(byte))
                        .map_or(text.len(), |n| at + n);
                    text.splice(at..end, words[below(words.len())].iter().copied());
                }
            }
        }
        fs::write(&path, &text).expect("written");
        match warpsmith::script::Script::read(&path) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(read > 5 && refused > 500, "{read} {refused}");
}

#[test]
fn a_kernel_without_end_is_stopped_by_its_budget() {
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry spin() {\nagain:\nbra again;\n}\n";
    let folder = folder(&[("spin.ptx", ptx.as_bytes())]);
    let path = folder.path().join("spin.ptx");
    let path = path.to_str().expect("UTF-8");
    let run = warpsmith(&[
        "run", path, "--entry", "spin", "--budget", "10000", "--check",
    ]);
    assert_eq!(run.status, 2, "{}{}", run.out, run.err);
    assert!(
        run.err.contains("10000") || run.out.contains("10000"),
        "{}{}",
        run.out,
        run.err
    );
    let none = warpsmith(&["run", path, "--entry", "spin", "--budget", "0"]);
    assert_eq!(none.status, 2);
}

#[test]
fn a_program_is_printed_and_not_run() {
    let script = json!({"ptx": "k.ptx", "launches": [
        {"kernel": "scale", "grid": [1], "block": [32], "args": []},
        {"kernel": "scale", "grid": [1], "block": [64], "args": []},
        {"kernel": "scale", "grid": [9], "block": [32], "args": []}]});
    let ptx = scale(false);
    let folder = folder(&[
        ("k.ptx", ptx.as_bytes()),
        ("s.json", script.to_string().as_bytes()),
    ]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (k, out) = (path("k.ptx"), path("y.bin"));
    let dump = |more: &[&str]| {
        let first = [
            "run",
            &k,
            "--entry",
            "scale",
            "--block",
            "64",
            "--dump-program",
        ];
        warpsmith(&[&first, more].concat())
    };
    let plain = dump(&[]);
    assert_eq!((plain.status, plain.err.as_str()), (0, ""), "{}", plain.out);
    assert!(plain.out.starts_with("kernel scale, 64 x 1 x 1 threads\n"));
    for part in [
        "cmp::Compare<",
        "ldst::Load<",
        "float::Mul<f32",
        "\n  line 17: mul.f32",
    ] {
        assert!(plain.out.contains(part), "{part}: {}", plain.out);
    }
    assert!(!plain.out.contains("checked::"));
    // What it would be given is not looked at, and nothing is written.
    let given = dump(&["--arg", &format!("out:{out}:4096"), "--arg", "in:/nowhere"]);
    assert_eq!((given.status, &given.out), (0, &plain.out), "{}", given.err);
    assert!(!Path::new(&out).exists());
    let checked = dump(&["--check"]);
    assert!(checked.out.contains("checked::Checked"), "{}", checked.out);
    // Each kernel once for each shape.
    let all = warpsmith(&["run", "--script", &path("s.json"), "--dump-program"]);
    assert_eq!(all.status, 0, "{}", all.err);
    let heads = all.out.lines().filter(|line| line.starts_with("kernel "));
    let wanted = [
        "kernel scale, 32 x 1 x 1 threads",
        "kernel scale, 64 x 1 x 1 threads",
    ];
    assert_eq!(heads.collect::<Vec<_>>(), wanted);
    for (more, word) in [
        (&["--block", "0"][..], "--block"),
        (&["--sm", "50"], "--sm"),
    ] {
        let first = ["run", &k, "--entry", "scale", "--dump-program"];
        let run = warpsmith(&[&first, more].concat());
        assert_eq!((run.status, run.out.as_str()), (2, ""));
        assert!(run.err.contains(word), "{}", run.err);
    }
    let run = warpsmith(&["run", &k, "--entry", "scales", "--dump-program"]);
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .contains("--entry: expected a kernel of the module, such as scale")
    );
}
