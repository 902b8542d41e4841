//! Runs that last: findings are shown as they come, and what was found is reported when the run is stopped.

use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// Stores behind the end of its buffer, and then changes a word for ever.
const PTX: &str = ".version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, 1;
st.global.u32 [%rd1+4096], %r1;
again:
atom.global.xor.b32 %r2, [%rd1], 1;
setp.ne.u32 %p1, %r2, 7;
@%p1 bra again;
ret;
}
";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("k.ptx"), PTX).expect("written");
        Folder(folder)
    }

    fn ptx(&self) -> PathBuf {
        self.0.path().join("k.ptx")
    }
}

fn start(folder: &Folder, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .arg("run")
        .arg(folder.ptx())
        .args([
            "--entry",
            "k",
            "--block",
            "1",
            "--arg",
            "zero:4096",
            "--check",
        ])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("the program ends");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), out)
}

#[test]
fn findings_are_shown_while_the_kernel_runs_and_a_ctrl_c_ends_it() {
    let folder = Folder::new();
    let mut child = start(&folder, &[]);
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    out.read_line(&mut first).expect("a line comes");
    assert!(first.starts_with("error[oob_global]"), "{first}");
    assert_eq!(child.try_wait().expect("asked"), None, "it still runs");
    let kill = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(kill.expect("sh runs").success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("read to the end");
    assert_eq!(end(child).0, Some(130), "{rest}");
    assert_eq!(
        rest.matches("error[oob_global]").count(),
        0,
        "told once: {rest}"
    );
    assert!(rest.contains("stopped"), "{rest}");
}

#[test]
fn what_was_found_before_the_time_is_over_is_reported_in_every_format() {
    let folder = Folder::new();
    for stop in [
        ["--timeout", "0.2"],
        ["--timeout", "1"],
        ["--budget", "100000"],
    ] {
        for format in ["text", "json", "sarif"] {
            let more = [&stop[..], &["--format", format]].concat();
            let (status, out) = end(start(&folder, &more));
            assert_eq!(status, Some(2), "{stop:?} {format}: {out}");
            match format {
                "text" => assert_eq!(out.matches("error[oob_global]").count(), 1, "{out}"),
                "json" => {
                    let json: Value = serde_json::from_str(&out).expect("JSON");
                    assert_eq!(json["status"], "error");
                    assert_eq!(json["findings"][0]["kind"], "oob_global");
                    assert_eq!(json["findings"][0]["line"], 8);
                    let line = json["failure"]["line"].as_u64().expect("where it was");
                    assert!((9..=12).contains(&line), "{out}");
                }
                _ => {
                    let json: Value = serde_json::from_str(&out).expect("JSON");
                    let results = json["runs"][0]["results"].as_array().expect("results");
                    let rules: Vec<_> = results.iter().map(|one| &one["ruleId"]).collect();
                    assert!(rules.contains(&&Value::from("oob_global")), "{out}");
                }
            }
        }
    }
}

#[test]
fn a_time_that_is_none_is_refused() {
    let folder = Folder::new();
    for none in ["0", "-1", "soon", "NaN", "1e300"] {
        let child = start(&folder, &["--timeout", none]);
        let output = child.wait_with_output().expect("the program ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{none}: {err}");
        assert!(err.contains("seconds above 0"), "{none}: {err}");
    }
}
