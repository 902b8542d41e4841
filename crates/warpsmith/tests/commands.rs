//! The commands that run no model, and what wrong input leads to.

mod common;
mod facts;

use common::{model, warpsmith, warpsmith_with};
use facts::{MODELS, facts, ids};
use std::{fs, process::Command};
use warpsmith::ptx;

#[test]
fn tokens_are_the_references() {
    for name in MODELS {
        let facts = facts(name);
        for vector in facts["tokenizer_vectors"].as_array().expect("vectors") {
            let text = vector["text"].as_str().expect("text");
            let want = ["ids_reference_library", "ids_llamacpp"]
                .iter()
                .find_map(|key| vector.get(*key));
            let run = warpsmith_with(&["tokenize", "--model", &model(name), "--json"], text);
            assert_eq!(
                ids(&run.json()["ids"]),
                ids(want.expect("ids")),
                "{name} {text:?}"
            );
        }
    }
}

#[test]
fn control_tokens_are_text_if_asked_for() {
    let path = model("tiny-qwen2");
    let count = |more: &[&str]| {
        let run = warpsmith(&[&["tokenize", "--model", &path, "<|im_end|>"], more].concat());
        run.ok().lines().count()
    };
    assert_eq!(count(&[]), 1);
    assert!(count(&["--no-special"]) > 1);
}

#[test]
fn inspect_tells_every_tensor_and_abbreviates_arrays() {
    for name in MODELS {
        let shown = warpsmith(&["inspect", "--json", &model(name)]).json();
        let text = warpsmith(&["inspect", &model(name)]).ok();
        let tensors = shown["tensors"].as_array().expect("tensors");
        let bytes: u64 = tensors
            .iter()
            .filter_map(|tensor| tensor["bytes"].as_u64())
            .sum();
        assert_eq!(shown["bytes"], bytes);
        assert!(bytes > 500_000 && tensors.len() > 20, "{name}");
        for tensor in tensors {
            assert!(
                text.contains(tensor["name"].as_str().expect("a name")),
                "{name}"
            );
        }
        let tokens = &shown["metadata"]["tokenizer.ggml.tokens"];
        assert!(
            tokens["length"].as_u64() >= Some(900)
                && tokens["first"].as_array().map(Vec::len) == Some(4)
        );
        assert!(text.lines().all(|line| line.len() < 400), "{name}");
    }
}

#[test]
fn the_virtual_gpu_is_always_there() {
    let found = warpsmith(&["devices", "--json"]).json();
    assert_eq!(found["virtual_gpu"]["device"], "virtual");
    assert!(found["virtual_gpu"]["threads"].as_u64() > Some(0));
    assert!(
        found["cards"]
            .as_array()
            .is_some_and(|cards| !cards.is_empty())
            || found["no_cards_because"].is_string()
    );
    assert!(warpsmith(&["devices"]).ok().contains("virtual"));
}

#[test]
fn no_driver_is_told_each_clause_once() {
    let found = warpsmith(&["devices", "--json"]).json();
    if let Some(why) = found["no_cards_because"].as_str() {
        for library in ["libcuda.so.1:", "libcuda.so:"] {
            assert_eq!(why.matches(library).count(), 1, "{why}");
        }
        assert_eq!(found["auto"], "virtual");
    }
}

#[test]
fn a_device_that_no_kernel_is_built_for_is_refused_in_a_line() {
    let model = model(MODELS[0]);
    let run = warpsmith(&[
        "generate",
        "--model",
        &model,
        "--device",
        "virtual:sm50",
        "--raw",
        "a",
    ]);
    assert_eq!(run.status, 1);
    let error = run.err;
    assert!(
        error.len() < 300 && error.contains("sm_70 or later"),
        "{error}"
    );
}

#[test]
fn every_command_has_a_manual_page_and_is_completed_in_every_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("man1");
    warpsmith(&["man", "--out", out.to_str().expect("a path")]).ok();
    let help = warpsmith(&["--help"]).ok();
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|command| !command.is_empty() && *command != "help")
        .collect();
    assert!(commands.len() > 10, "{help}");
    let completions = ["bash", "zsh", "fish", "powershell", "elvish"]
        .map(|shell| warpsmith(&["completions", shell]).ok());
    for command in commands {
        let page = out.join(format!("warpsmith-{command}.1"));
        let page = fs::read_to_string(page).expect("a page for each command");
        assert_eq!(warpsmith(&["man", command]).ok(), page);
        for text in &completions {
            assert!(text.contains(command), "{command}");
        }
    }
    // Each page takes the place of the old one as a whole; one that cannot be written is named.
    let page = out.join("warpsmith.1");
    let old = fs::hard_link(&page, folder.path().join("old"));
    old.expect("a second name");
    fs::write(&page, "old").expect("written");
    warpsmith(&["man", "--out", out.to_str().expect("a path")]).ok();
    let kept = fs::read_to_string(folder.path().join("old"));
    assert_eq!(kept.expect("the old page"), "old");
    assert_eq!(
        warpsmith(&["man"]).ok(),
        fs::read_to_string(&page).expect("a page")
    );
    fs::remove_file(&page).expect("removed");
    fs::create_dir(&page).expect("a folder");
    let run = warpsmith(&["man", "--out", out.to_str().expect("a path")]);
    assert_eq!(run.status, 1);
    let want = format!("cannot write {}", page.display());
    assert!(run.err.contains(&want), "{}", run.err);
    let unknown = warpsmith(&["man", "nothing"]).err;
    assert!(unknown.contains("warpsmith-generate"), "{unknown}");
}

#[test]
fn emitted_kernels_are_modules_that_verify() {
    let listed = warpsmith(&["kernels", "list"]).ok();
    for family in ["softmax", "norm"] {
        let names: Vec<&str> = listed
            .lines()
            .skip_while(|line| !line.starts_with(&format!("{family}:")))
            .skip(1)
            .map_while(|line| line.strip_prefix("    "))
            .collect();
        assert!(!names.is_empty(), "{listed}");
        // One module with all of them, or a file for each.
        let all = warpsmith(&["kernels", "emit", family, "--sm", "75"]).ok();
        let all = ptx::parse::parse(&all).unwrap_or_else(|found| panic!("{family}: {found:?}"));
        assert_eq!(all.functions.len(), names.len(), "{family}");
        ptx::verify::verify(all.clone()).unwrap_or_else(|found| panic!("{family}: {found:?}"));
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("ptx").display().to_string();
        let shown = warpsmith(&["kernels", "emit", family, "--sm", "75", "--out", &out]).ok();
        assert_eq!(shown, "");
        for name in names {
            let text = warpsmith(&["kernels", "emit", name, "--sm", "75"]).ok();
            let path = folder.path().join("ptx").join(name).with_extension("ptx");
            assert_eq!(std::fs::read_to_string(path).expect("written"), text);
            let module =
                ptx::parse::parse(&text).unwrap_or_else(|found| panic!("{name}: {found:?}"));
            assert_eq!(module.target, ptx::target::Target::sm(75), "{name}");
            assert!(all.functions.contains(&module.functions[0]), "{name}");
            ptx::verify::verify(module).unwrap_or_else(|found| panic!("{name}: {found:?}"));
        }
    }
}

/// The arguments of a run, its status, and what its error line contains.
type Wrong<'a> = (&'a [&'a str], i32, &'a str);

#[test]
fn wrong_input_is_an_error_of_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        path.display().to_string()
    };
    let good = &model("tiny-qwen2");
    let whole = fs::read(good).expect("read");
    let missing = &folder.path().join("missing.gguf").display().to_string();
    let garbage = &file("garbage.gguf", b"neither a model nor anything else");
    let empty = &file("empty.gguf", b"");
    let cut = &file("cut.gguf", &whole[..whole.len() / 2]);
    let header = &file(
        "header.gguf",
        b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x7f",
    );
    let no_list = &file("no-list.json", b"{\"role\": \"user\"}");
    let no_messages = &file("none.json", b"[]");
    let no_json = &file("text.json", b"hello\n[");
    let latin = &file("latin.txt", b"caf\xe9");
    let nothing = &file("nothing.txt", b"");
    let here = &folder.path().display().to_string();
    let unwritable = &folder
        .path()
        .join("no/such/folder.f32")
        .display()
        .to_string();
    let wrong: &[Wrong<'_>] = &[
        (
            &["generate", "--model", missing, "hi"],
            1,
            "missing.gguf: there is no such file or folder; hf:OWNER/NAME[:FILE] is",
        ),
        (&["generate", "--model", garbage, "hi"], 1, "GGUF"),
        (&["generate", "--model", empty, "hi"], 1, "empty.gguf"),
        (&["generate", "--model", cut, "hi"], 1, "cut.gguf"),
        (&["generate", "--model", header, "hi"], 1, "header.gguf"),
        (&["generate", "--model", here, "hi"], 1, here),
        (&["inspect", garbage], 1, "GGUF"),
        (&["inspect", header], 1, "header.gguf"),
        (&["tokenize", "--model", cut, "hi"], 1, "cut.gguf"),
        (&["tokenize", "--model", no_list, "hi"], 1, "tokenizer.json"),
        (
            &[
                "generate",
                "--model",
                good,
                "--ctx-size",
                "4",
                "--raw",
                "Hello, world, again and again",
            ],
            1,
            "context holds 4",
        ),
        (&["generate", "--model", good, ""], 1, "prompt is empty"),
        (&["generate", "--model", good], 1, "prompt is empty"),
        (
            &["generate", "--model", good, "--prompt-file", nothing],
            1,
            "prompt is empty",
        ),
        (
            &["generate", "--model", good, "--prompt-file", latin],
            1,
            "UTF-8",
        ),
        (
            &["generate", "--model", good, "--prompt-file", missing],
            1,
            "missing.gguf",
        ),
        (
            &["generate", "--model", good, "--messages", no_list],
            1,
            "list of",
        ),
        (
            &["generate", "--model", good, "--messages", no_messages],
            1,
            "no messages",
        ),
        (
            &["generate", "--model", good, "--messages", no_json],
            1,
            "line 1",
        ),
        (
            &["generate", "--model", good, "--temperature", "-1", "hi"],
            1,
            "temperature",
        ),
        (
            &["generate", "--model", good, "--temperature", "nan", "hi"],
            1,
            "temperature",
        ),
        (
            &["generate", "--model", good, "--top-p", "0", "hi"],
            1,
            "top_p",
        ),
        (
            &["generate", "--model", good, "--min-p", "1", "hi"],
            1,
            "min_p",
        ),
        (
            &["generate", "--model", good, "--repeat-penalty", "0", "hi"],
            1,
            "repeat_penalty",
        ),
        (
            &["generate", "--model", good, "--stop", "", "hi"],
            1,
            "stop string",
        ),
        (
            &["generate", "--model", good, "--device", "cuda:99", "hi"],
            1,
            "device",
        ),
        (
            &[
                "logits", "--model", good, "--raw", "hi", "--out", unwritable,
            ],
            1,
            "folder.f32",
        ),
        (
            &["kernels", "emit", "no_such_kernel", "--sm", "90"],
            1,
            "no_such_kernel",
        ),
        (
            &["generate", "--model", good, "--device", "gpu", "hi"],
            2,
            "gpu",
        ),
        (
            &["generate", "--model", good, "--threads", "0", "hi"],
            2,
            "threads",
        ),
        (
            &["generate", "--model", good, "--raw", "--chat", "hi"],
            2,
            "--raw",
        ),
        (
            &["generate", "--model", good, "--messages", no_messages, "hi"],
            2,
            "--messages",
        ),
        (&["generate", "hi"], 2, "--model"),
        (&["logits", "--model", good, "hi"], 2, "--out"),
        (&["kernels", "emit", "softmax", "--sm", "1"], 2, "sm_70"),
        (
            &["kernels", "emit", "softmax", "--sm", "61"],
            2,
            "no kernels for sm_61",
        ),
        (&["check"], 2, "check"),
        (&[], 2, "Usage"),
    ];
    for (args, status, text) in wrong {
        let run = warpsmith(args);
        assert_eq!(run.status, *status, "{args:?}: {}", run.err);
        assert!(run.err.contains(text), "{args:?}: {}", run.err);
        assert_eq!(run.out, "", "{args:?}");
        if *status == 1 {
            assert!(
                run.err.starts_with("error: ") && run.err.lines().count() == 1,
                "{args:?}: {}",
                run.err
            );
        }
    }
}

#[test]
fn help_has_examples_and_no_commands_to_come() {
    let help = warpsmith(&["--help"]).ok();
    for word in [
        "generate", "logits", "chat", "inspect", "tokenize", "devices", "kernels", "Examples",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    for command in [
        "generate", "logits", "chat", "inspect", "tokenize", "devices",
    ] {
        assert!(
            warpsmith(&[command, "--help"]).ok().contains("Example"),
            "{command}"
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["kernels", "list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// Exit status, standard output and standard error of a short generation.
fn logged(log: Option<&str>) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    let path = model("tiny-llama3");
    command.args([
        "generate", "--model", &path, "--device", "virtual", "--run", "eager",
    ]);
    command.args(["--temperature", "0", "--max-tokens", "2", "--raw", "hello"]);
    match log {
        Some(log) => command.env("RUST_LOG", log),
        None => command.env_remove("RUST_LOG"),
    };
    let output = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let status = output.status.code().expect("not killed");
    (status, text(output.stdout), text(output.stderr))
}

/// Lines of a level.
fn lines<'a>(text: &'a str, level: &str) -> Vec<&'a str> {
    let level = format!(" {level} ");
    text.lines().filter(|line| line.contains(&level)).collect()
}

#[test]
fn the_log_has_what_was_asked_for_and_the_text_stays_the_same() {
    let (status, text, quiet) = logged(None);
    assert_eq!(status, 0, "{quiet}");
    for level in ["INFO", "DEBUG", "TRACE"] {
        assert!(lines(&quiet, level).is_empty(), "{quiet}");
    }

    let (_, same, info) = logged(Some("info"));
    assert_eq!(same, text);
    let info = lines(&info, "INFO");
    assert!(
        info.iter()
            .any(|line| line.contains("tiny-llama3.gguf") && line.contains("layers="))
    );
    assert!(
        info.iter().any(|line| line.contains("time.busy")),
        "{info:?}"
    );

    let (_, _, all) = logged(Some("warpsmith_device=trace,warpsmith_graph=debug"));
    assert!(lines(&all, "INFO").is_empty(), "{all}");
    let debug = lines(&all, "DEBUG");
    // The prompt, the first token, the steps.
    assert_eq!(
        debug
            .iter()
            .filter(|line| line.contains("planned launches="))
            .count(),
        3,
        "{all}"
    );
    assert!(
        debug.iter().any(|line| line.contains("build{kernel=")),
        "{all}"
    );
    // The prompt's layers are launched one by one, too.
    assert!(
        lines(&all, "TRACE")
            .iter()
            .filter(|line| line.contains("launch kernel="))
            .count()
            > 20
    );
}

#[test]
fn a_log_that_is_not_understood_is_an_error() {
    let (status, text, error) = logged(Some("warpsmith=loud"));
    assert_eq!((status, text.as_str()), (1, ""));
    assert!(
        error.starts_with("error: RUST_LOG=warpsmith=loud: "),
        "{error}"
    );
}
