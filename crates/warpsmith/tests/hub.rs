//! Models by name, from a mirror of our own that answers as huggingface.co does.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A mirror, and what it was asked.
struct Mirror {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// What it serves: files by `OWNER/NAME/FILE`. Those of `gated` want a token; the first answer for bytes of `broken` ends
/// half-way.
fn mirror(files: BTreeMap<String, Vec<u8>>) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    thread::spawn(move || {
        let files = Arc::new(files);
        for stream in listener.incoming().flatten() {
            let (files, log) = (Arc::clone(&files), Arc::clone(&log));
            thread::spawn(move || answer(&stream, &files, &log));
        }
    });
    Mirror { address, asked }
}

fn answer(mut stream: &TcpStream, files: &BTreeMap<String, Vec<u8>>, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        let named = head.iter().filter_map(|line| line.split_once(": "));
        let mut named = named.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.to_owned())
    };
    let mut words = first.split(' ');
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let range = header("range");
    let token = header("authorization");
    let before = {
        let mut log = log.lock().expect("a log");
        let before = log.iter().filter(|line| line.contains(path)).count();
        log.push(format!(
            "{method} {path} {}",
            range.as_deref().unwrap_or("-")
        ));
        before
    };
    let mut send = |status: &str, headers: &str, body: &[u8], sent: usize| {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
        );
        let _ = stream.write_all(text.as_bytes());
        if method == "GET" {
            let _ = stream.write_all(&body[..sent.min(length)]);
        }
    };
    let all = usize::MAX;
    let path = path.replace("%20", " ");
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts[..] {
        ["api", "models", owner, name, "revision", "main"] => {
            let repository = format!("{owner}/{name}/");
            let own = files
                .keys()
                .filter_map(|file| file.strip_prefix(&repository));
            let siblings: Vec<Value> = own.map(|file| json!({"rfilename": file})).collect();
            let body = json!({"id": repository, "sha": COMMIT, "siblings": siblings}).to_string();
            match (siblings.is_empty(), owner, token.as_deref()) {
                (true, ..) => send(
                    "401 Unauthorized",
                    "X-Error-Code: RepoNotFound\r\n",
                    b"{}",
                    all,
                ),
                (_, "gated", None) => send(
                    "401 Unauthorized",
                    "X-Error-Code: GatedRepo\r\n",
                    b"{}",
                    all,
                ),
                (_, "gated", Some("Bearer right")) => send("200 OK", "", body.as_bytes(), all),
                (_, "gated", Some(_)) => {
                    send("403 Forbidden", "X-Error-Code: GatedRepo\r\n", b"{}", all)
                }
                _ => send("200 OK", "", body.as_bytes(), all),
            }
        }
        [owner, name, "resolve", commit, ref file @ ..] => {
            let file = format!("{owner}/{name}/{}", file.join("/"));
            let commit_header = format!("X-Repo-Commit: {commit}\r\n");
            match files.get(&file) {
                Some(bytes) if file.ends_with(".gguf") => {
                    // As of large files: elsewhere.
                    let (length, place) = (bytes.len(), file.replace(['/', ' '], "_"));
                    let headers = format!(
                        "{commit_header}X-Linked-Size: {length}\r\nX-Linked-Etag: \"{}\"\r\n\
                        ETag: \"other\"\r\nLocation: /store/{place}\r\n",
                        etag(bytes)
                    );
                    send("302 Found", &headers, b"", all);
                }
                Some(bytes) => {
                    let headers = format!("{commit_header}ETag: W/\"{}\"\r\n", etag(bytes));
                    send("200 OK", &headers, bytes, all);
                }
                None => send("404 Not Found", "X-Error-Code: EntryNotFound\r\n", b"", all),
            }
        }
        ["store", place] => {
            let found = files
                .iter()
                .find(|(file, _)| file.replace(['/', ' '], "_") == place);
            let bytes = found.map_or(&[][..], |(_, bytes)| bytes);
            let start = range.and_then(|range| {
                range
                    .strip_prefix("bytes=")?
                    .strip_suffix('-')?
                    .parse::<usize>()
                    .ok()
            });
            let sent = match place.starts_with("broken") && before == 0 {
                true => bytes.len() / 2,
                false => all,
            };
            match start {
                Some(start) => send("206 Partial Content", "", &bytes[start..], sent),
                None => send("200 OK", "", bytes, sent),
            }
        }
        _ => send("404 Not Found", "", b"", all),
    }
}

/// Something that names bytes.
fn etag(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(7u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    });
    format!("{sum:040x}")
}

struct Run {
    status: Option<i32>,
    out: String,
    err: String,
}

fn warpsmith(home: &Path, endpoint: &str, more: &[(&str, &str)], args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(args)
        .env_remove("HF_TOKEN")
        .env_remove("HF_HUB_CACHE")
        .env("HF_HOME", home)
        .env("HF_ENDPOINT", endpoint)
        .envs(more.iter().copied())
        .output()
        .expect("it starts");
    Run {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn model() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/reference");
    folder.join("synth/tiny-llama3.gguf")
}

fn served() -> BTreeMap<String, Vec<u8>> {
    let model = fs::read(model()).expect("a model");
    let mut files = BTreeMap::new();
    for name in [
        "tiny/one/tiny-llama3.gguf",
        "tiny/two/a.gguf",
        "tiny/two/deep/b c.gguf",
        "gated/one/x.gguf",
        "broken/one/x.gguf",
    ] {
        files.insert(name.to_owned(), model.clone());
    }
    files.insert("tiny/one/README.md".to_owned(), b"text".to_vec());
    files.insert("tiny/none/README.md".to_owned(), b"text".to_vec());
    files
}

const TEXT: &str = "Hello, world!";

#[test]
fn models_are_fetched_by_name_once_and_found_again() {
    let (home, other) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let mirror = mirror(served());
    let want = warpsmith(
        home.path(),
        "",
        &[],
        &["tokenize", "--model", &model().display().to_string(), TEXT],
    );
    assert_eq!(want.status, Some(0), "{}", want.err);
    let tokens = |home: &Path, endpoint: &str, more: &[(&str, &str)], name: &str| {
        warpsmith(home, endpoint, more, &["tokenize", "--model", name, TEXT])
    };
    let run = tokens(home.path(), &mirror.address, &[], "hf:tiny/one");
    assert_eq!((run.status, &run.out), (Some(0), &want.out), "{}", run.err);
    // The layout is that of the hub's other programs.
    let folder = home.path().join("hub/models--tiny--one");
    assert_eq!(
        fs::read_to_string(folder.join("refs/main")).expect("a ref"),
        COMMIT
    );
    let file = folder
        .join("snapshots")
        .join(COMMIT)
        .join("tiny-llama3.gguf");
    let blob = fs::read_link(&file).expect("a link");
    assert!(blob.starts_with("../../blobs/"), "{}", blob.display());
    assert_eq!(
        fs::read_dir(folder.join("blobs")).expect("blobs").count(),
        1
    );
    let asked = mirror.asked.lock().expect("a log").len();
    let run = tokens(home.path(), &mirror.address, &[], "hf:tiny/one");
    assert_eq!((run.status, &run.out), (Some(0), &want.out), "{}", run.err);
    // Only whether it is still the newest was asked.
    assert_eq!(mirror.asked.lock().expect("a log").len(), asked + 1);
    // Without a network, and where none is wanted, what is there is used, and nothing else is.
    let nowhere = "http://127.0.0.1:9";
    let run = tokens(home.path(), nowhere, &[], "hf:tiny/one");
    assert_eq!((run.status, &run.out), (Some(0), &want.out), "{}", run.err);
    assert!(
        run.err.contains("cannot reach http://127.0.0.1:9"),
        "{}",
        run.err
    );
    let offline = [("HF_HUB_OFFLINE", "1")];
    let run = tokens(
        home.path(),
        nowhere,
        &offline,
        "hf:tiny/one:tiny-llama3.gguf",
    );
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
    for (more, says) in [
        (&offline[..], "HF_HUB_OFFLINE"),
        (&[], "cannot reach http://127.0.0.1:9"),
    ] {
        let run = tokens(other.path(), nowhere, more, "hf:tiny/one");
        assert_eq!(run.status, Some(1));
        assert!(run.err.contains(says), "{}", run.err);
    }
    // One of several, in a folder, with a space.
    let run = tokens(
        home.path(),
        &mirror.address,
        &[],
        "hf:tiny/two:deep/b c.gguf",
    );
    assert_eq!((run.status, &run.out), (Some(0), &want.out), "{}", run.err);
    // One that breaks off is gone on with.
    let run = tokens(home.path(), &mirror.address, &[], "hf:broken/one");
    assert_eq!(run.status, Some(1));
    assert!(run.err.contains("broke off after"), "{}", run.err);
    let run = tokens(home.path(), &mirror.address, &[], "hf:broken/one");
    assert_eq!((run.status, &run.out), (Some(0), &want.out), "{}", run.err);
    let asked = mirror.asked.lock().expect("a log").clone();
    let again = asked
        .iter()
        .filter(|line| line.contains("broken_one") && line.contains("bytes="));
    assert_eq!(again.count(), 1, "{asked:?}");
    // A token opens what is gated, and does not go elsewhere.
    let right = [("HF_TOKEN", "right")];
    let run = tokens(home.path(), &mirror.address, &right, "hf:gated/one");
    assert_eq!((run.status, &run.out), (Some(0), &want.out), "{}", run.err);

    let listed = warpsmith(home.path(), "", &[], &["models", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    let names: Vec<&Value> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| &line["name"])
        .collect();
    assert_eq!(names, ["broken/one", "gated/one", "tiny/one", "tiny/two"]);
    let size = fs::metadata(&file).expect("a file").len();
    let bytes = listed[2]["bytes"].as_u64().expect("bytes");
    assert!((size..size + 100).contains(&bytes), "{bytes}");
    assert_eq!(listed[3]["files"], json!(["deep/b c.gguf"]));
    let text = warpsmith(home.path(), "", &[], &["models", "list"]);
    assert!(
        text.out.contains("tiny/one") && text.out.lines().count() == 4,
        "{}",
        text.out
    );
    for (args, status) in [
        (&["models", "rm", "tiny/one"][..], 1),
        (&["models", "rm", "--yes", "tiny/three"], 1),
        (&["models", "rm", "--yes", "../hub"], 1),
        (&["models", "rm", "--yes", "tiny/one", "hf:tiny/two"], 0),
    ] {
        let run = warpsmith(home.path(), "", &[], args);
        assert_eq!(run.status, Some(status), "{args:?}: {}", run.err);
    }
    assert!(!folder.exists());
    let left = warpsmith(home.path(), "", &[], &["models", "list"]);
    assert_eq!(left.out.lines().count(), 2, "{}", left.out);
}

/// As README has it: nothing is there but the program and a name.
#[test]
fn a_first_start_fetches_a_model_and_serves_it() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("README");
    let lines = readme
        .lines()
        .map(|line| line.split(" #").next().unwrap_or(line));
    let mut served_there =
        lines.filter(|line| line.contains("serve") && line.contains("hf:OWNER/NAME"));
    let line = served_there
        .next()
        .expect("a line that serves a model by its name");
    let line = line.replace("OWNER/NAME:FILE.gguf", "tiny/one:tiny-llama3.gguf");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..3], ["warpsmith", "serve", "--model"], "{line}");
    let home = tempfile::tempdir().expect("a folder");
    let mirror = mirror(served());
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(&words[1..])
        .args(["--port", "0", "--device", "virtual"])
        .env_remove("HF_TOKEN")
        .env_remove("HF_HUB_CACHE")
        .env("HF_HOME", home.path())
        .env("HF_ENDPOINT", &mirror.address)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = String::new();
    let out = child.stdout.as_mut().expect("piped");
    BufReader::new(out).read_line(&mut said).expect("a line");
    let answered = said
        .trim_end()
        .strip_prefix("tiny-llama3 at http://")
        .map(|address| {
            let body = r#"{"model": "tiny-llama3", "prompt": "Hello", "max_tokens": 3}"#;
            let length = body.len();
            let mut stream = TcpStream::connect(address).expect("a connection");
            write!(
                stream,
                "POST /v1/completions HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("UTF-8");
            answer
        });
    let _ = child.kill();
    let _ = child.wait();
    let answer = answered.unwrap_or_else(|| panic!("no address: {said:?}"));
    assert!(answer.contains("\"text_completion\""), "{answer}");
}

#[test]
fn what_cannot_be_fetched_is_said_by_name() {
    let home = tempfile::tempdir().expect("a folder");
    let mirror = mirror(served());
    let wrong = [("HF_TOKEN", "wrong")];
    for (more, name, says) in [
        (&[][..], "hf:tiny/none", "there is no GGUF"),
        (&[], "hf:no/such", "there is no such repository"),
        (&[], "hf:tiny/two", "a.gguf, deep/b c.gguf"),
        (
            &[],
            "hf:tiny/one:b.gguf",
            "there is no b.gguf, but tiny-llama3.gguf",
        ),
        (&[], "hf:gated/one", "HF_TOKEN"),
        (&wrong, "hf:gated/one", "has no access"),
        (&[], "hf:tiny", "expected hf:OWNER/NAME"),
    ] {
        for command in ["tokenize", "generate", "serve"] {
            let args = match command {
                "serve" => vec!["serve", "--port", "0", "--model", name],
                _ => vec![command, "--model", name, TEXT],
            };
            let run = warpsmith(home.path(), &mirror.address, more, &args);
            assert_eq!(
                (run.status, run.out.as_str()),
                (Some(1), ""),
                "{name}: {}",
                run.err
            );
            assert!(run.err.contains(says), "{name}: {}", run.err);
            assert_eq!(run.err.trim_end().lines().count(), 1, "{}", run.err);
        }
    }
    assert!(
        !home.path().join("hub").exists()
            || fs::read_dir(home.path().join("hub"))
                .expect("a folder")
                .count()
                == 0
    );
    let run = warpsmith(
        home.path(),
        "ftp://x",
        &[],
        &["tokenize", "--model", "hf:a/b", TEXT],
    );
    assert!(run.err.contains("HF_ENDPOINT is ftp://x"), "{}", run.err);
}
