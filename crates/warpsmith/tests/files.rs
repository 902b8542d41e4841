//! What commands read and write: nothing that is read is lost, nothing endless is waited for.
#![cfg(unix)]

mod common;

use common::{Run, model, warpsmith};
use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
};
use tempfile::TempDir;

/// A copy of a model that may be lost.
fn copied(folder: &TempDir) -> String {
    let path = folder.path().join("model.gguf");
    fs::copy(model("tiny-qwen2"), &path).expect("copied");
    path.display().to_string()
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Names in a folder.
fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn refused(run: &Run, said: &[&str], args: &[&str]) {
    assert_ne!(run.status, 0, "{args:?}: {}", run.out);
    assert_eq!(run.out, "", "{args:?}");
    assert_eq!(run.err.lines().count(), 1, "{args:?}: {}", run.err);
    for said in said {
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
    }
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let folder = TempDir::new().expect("a folder");
    let model = copied(&folder);
    let whole = fs::read(&model).expect("read");
    let [hard, soft, new, prompt, same, fresh] = [
        "hard.gguf",
        "soft.gguf",
        "new",
        "prompt.txt",
        "same",
        "fresh",
    ]
    .map(|name| path(&folder, name));
    fs::hard_link(&model, &hard).expect("a link");
    symlink(&model, &soft).expect("a link");
    // A link to a file that is not there yet.
    symlink(&fresh, &same).expect("a link");
    fs::write(&prompt, "Hello").expect("written");
    let around = format!("{}/../{}/new", folder.path().display(), {
        let name = folder.path().file_name().expect("a name");
        name.to_string_lossy()
    });
    let one = &folder.path().display().to_string();
    let kept = names(&folder);
    let text = ["--model", &model, "--raw"];
    let [ptx, data] = ["k.ptx", "data.bin"].map(|name| path(&folder, name));
    for args in [
        &["logits", text[0], text[1], text[2], "Hi", "--out", &model][..],
        &["logits", text[0], text[1], text[2], "Hi", "--all", &hard],
        &["logits", text[0], text[1], text[2], "Hi", "--nll", &soft],
        &["logits", text[0], &soft, text[2], "Hi", "--out", &hard],
        &[
            "logits",
            text[0],
            text[1],
            "--prompt-file",
            &prompt,
            "--out",
            &prompt,
        ],
        &[
            "logits", text[0], text[1], text[2], "Hi", "--out", &new, "--all", &new,
        ],
        &[
            "logits", text[0], text[1], text[2], "Hi", "--out", &new, "--nll", &around,
        ],
        &[
            "logits", text[0], text[1], text[2], "Hi", "--out", &same, "--nll", &fresh,
        ],
        &[
            "generate",
            text[0],
            text[1],
            text[2],
            "Hi",
            "--trace-stats",
            &model,
        ],
        &[
            "generate",
            text[0],
            text[1],
            text[2],
            "Hi",
            "--timeline",
            &hard,
        ],
        &[
            "generate",
            text[0],
            text[1],
            text[2],
            "Hi",
            "--timeline",
            &new,
            "--trace-stats",
            &around,
        ],
        &["graph", text[0], text[1], "--svg", &soft],
        &["graph", text[0], text[1], "--dot", &new, "--svg", &new],
        &[
            "run",
            &ptx,
            "--entry",
            "k",
            "--arg",
            &format!("in:{data}"),
            "--arg",
            &format!("out:{data}:4"),
        ],
        &[
            "run",
            &ptx,
            "--entry",
            "k",
            "--arg",
            &format!("inout:{data}:{data}"),
        ],
        &[
            "run",
            &ptx,
            "--entry",
            "k",
            "--arg",
            &format!("out:{ptx}:4"),
        ],
        &[
            "run",
            &ptx,
            "--entry",
            "k",
            "--arg",
            &format!("out:{new}:4"),
            "--arg",
            &format!("out:{new}:4"),
        ],
        &[
            "transcribe",
            text[0],
            text[1],
            "--timeline",
            &model,
            "x.wav",
        ],
        &["transcribe", text[0], one, "--trace-stats", &model, "x.wav"],
    ] {
        if args[0] == "run" {
            fs::write(&ptx, "no matter what").expect("written");
            fs::write(&data, "data").expect("written");
        }
        refused(&warpsmith(args), &["are the same file"], args);
        if args[0] == "run" {
            assert_eq!(fs::read_to_string(&data).expect("read"), "data");
            fs::remove_file(&ptx).expect("removed");
            fs::remove_file(&data).expect("removed");
        }
        assert_eq!(names(&folder), kept, "{args:?}");
        assert!(fs::read(&model).expect("read") == whole, "{args:?}");
    }
}

#[test]
fn an_old_result_stays_where_a_command_fails_and_is_replaced_where_it_does_not() {
    let folder = TempDir::new().expect("a folder");
    let [broken, out, stats, trace] =
        ["broken.gguf", "out.f32", "stats.jsonl", "trace.json"].map(|name| path(&folder, name));
    fs::write(&broken, "no model").expect("written");
    for old in [&out, &stats, &trace] {
        fs::write(old, "old").expect("written");
    }
    let good = model("tiny-qwen2");
    for (model, args) in [
        (&broken, &["logits", "--raw", "Hi", "--out", &out][..]),
        (&good, &["logits", "--raw", "Hi", "-c", "1", "--out", &out]),
        (
            &broken,
            &[
                "generate",
                "--raw",
                "Hi",
                "--trace-stats",
                &stats,
                "--timeline",
                &trace,
            ],
        ),
        (&broken, &["graph", "--svg", &out]),
    ] {
        let run = warpsmith(&[args, &["--model", model, "--device", "virtual"]].concat());
        assert_eq!(run.status, 1, "{args:?}: {}", run.err);
        for old in [&out, &stats, &trace] {
            assert_eq!(fs::read_to_string(old).expect("read"), "old", "{args:?}");
        }
        assert_eq!(
            names(&folder),
            ["broken.gguf", "out.f32", "stats.jsonl", "trace.json"]
        );
    }
    let args = ["--model", &good, "--device", "virtual"];
    let logits = ["logits", "--raw", "Hi", "--out", &out];
    warpsmith(&[&logits[..], &args].concat()).ok();
    assert!(fs::metadata(&out).expect("there").len() > 1000);
    let trace_both = [
        "generate",
        "--raw",
        "Hi",
        "-n",
        "1",
        "--trace-stats",
        &stats,
        "--timeline",
        &trace,
    ];
    warpsmith(&[&trace_both[..], &args].concat()).ok();
    assert!(
        fs::read_to_string(&stats)
            .expect("read")
            .starts_with("{\"kind\"")
    );
    assert!(
        fs::read_to_string(&trace)
            .expect("read")
            .starts_with("{\"displayTimeUnit\"")
    );
    assert_eq!(
        names(&folder),
        ["broken.gguf", "out.f32", "stats.jsonl", "trace.json"]
    );
}

#[test]
fn devices_and_standard_output_are_written_as_they_are() {
    let good = model("tiny-qwen2");
    let args = [
        "logits", "--raw", "Hi", "--model", &good, "--device", "virtual",
    ];
    let null = ["--out", "/dev/null", "--all", "/dev/null"];
    warpsmith(&[&args[..], &null].concat()).ok();
    let folder = TempDir::new().expect("a folder");
    let file = path(&folder, "file");
    let written = |to: &str| {
        let to = ["--out", to];
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
        let output = command.args(args).args(to).output().expect("runs");
        assert!(output.status.success());
        output.stdout
    };
    assert_eq!(written(&file), b"");
    let want = fs::read(&file).expect("read");
    assert!(want.len() > 1000 && fs::metadata("/dev/null").is_ok_and(|found| !found.is_file()));
    assert_eq!(written("/dev/stdout"), want);
    assert_eq!(written("/dev/fd/1"), want);
}

#[test]
fn nothing_waits_for_a_pipe_that_nobody_writes_to_and_nothing_endless_is_read() {
    let folder = TempDir::new().expect("a folder");
    let [pipe, socket, out] = ["pipe.gguf", "socket", "out"].map(|name| path(&folder, name));
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let here = folder.path().display().to_string();
    let good = model("tiny-qwen2");
    let k = ["run", "--entry", "k"];
    let bad = [
        (&pipe[..], "pipe"),
        ("/dev/zero", "device"),
        (&socket, "socket"),
        (&here, "directory"),
    ];
    for (path, kind) in bad {
        // What is a model is a file that can be read at any place.
        for args in [
            &["generate", "--raw", "Hi", "--model", path][..],
            &["inspect", path],
            &["tokenize", "Hi", "--model", path],
            &["transcribe", "x.wav", "--model", path],
        ] {
            let run = warpsmith(args);
            assert_eq!(run.status, 1, "{args:?}: {}", run.err);
            assert!(run.err.contains(path), "{args:?}: {}", run.err);
        }
        let input = format!("in:{path}");
        let text = path.to_owned();
        for args in [
            &["check", &text][..],
            &["run", "--script", &text],
            &[&k[..], &["/dev/null", "--arg", &input]].concat(),
            &["check", "/dev/null", "--suppress", &text],
            &["generate", "--model", &good, "--prompt-file", &text],
            &["generate", "--model", &good, "--messages", &text],
            &["generate", "--model", &good, "--prompts", &text],
        ] {
            let run = warpsmith(args);
            assert!(run.status == 1 || run.status == 2, "{args:?}: {}", run.err);
            let said = run.out + &run.err;
            assert!(
                said.contains(path) && said.contains(kind),
                "{args:?}: {said}"
            );
        }
    }
    let args = ["logits", "--raw", "Hi", "--model", &good, "--out", &pipe];
    refused(&warpsmith(&args), &["nobody reads"], &args);
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_pipe_with_a_writer_is_read_to_its_end() {
    let folder = TempDir::new().expect("a folder");
    let pipe = path(&folder, "pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let to = pipe.clone();
    let writer = std::thread::spawn(move || fs::write(to, "Hello"));
    let good = model("tiny-qwen2");
    let run = warpsmith(&[
        "generate",
        "--raw",
        "--json",
        "-n",
        "1",
        "--model",
        &good,
        "--prompt-file",
        &pipe,
    ]);
    writer.join().expect("a writer").expect("written");
    let given = warpsmith(&[
        "generate", "--raw", "--json", "-n", "1", "--model", &good, "Hello",
    ]);
    assert_eq!(run.json()["prompt_ids"], given.json()["prompt_ids"]);
}
