//! `serve`: answers are what `generate` and `transcribe` write; OpenAI's own client, curl and signals.

mod common;
mod rewritten;

use common::{model, reference, warpsmith};
use rewritten::rewritten;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

/// A server in a process of its own.
struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`
    address: String,
    /// The line that it printed.
    line: String,
}

impl Server {
    fn start(args: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .args(["serve", "--port", "0"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let Some((_, address)) = line.trim_end().rsplit_once(" at ") else {
            let mut said = String::new();
            let err = child.stderr.as_mut().expect("piped");
            err.read_to_string(&mut said).expect("UTF-8");
            panic!("no address: {line:?}, {said}");
        };
        Server {
            address: address.to_owned(),
            line: line.clone(),
            child,
        }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        post(&self.address, path, body)
    }

    /// Sends a signal and waits for the end: its status.
    fn end(mut self, signal: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn post(address: &str, path: &str, body: &Value) -> Value {
    let answer = ask(address, "POST", path, &body.to_string());
    serde_json::from_str(&answer).expect("JSON")
}

/// The body of an answer that is fine.
fn ask(address: &str, method: &str, path: &str, body: &str) -> String {
    let place = address.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(place).expect("a connection");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("written");
    stream.write_all(body.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    body.to_owned()
}

/// The pictures are those of `graph` and of `profile`, with what they say in words.
fn pictures(address: &str, path: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().join("graph.svg").display().to_string();
    let precision = ["--precision", "exact", "--device", "virtual"];
    let drawn = ["graph", "--model", path, "--svg", &svg];
    let words = warpsmith(&[&drawn[..], &precision].concat());
    let want = fs::read_to_string(svg).expect("a picture");
    let (begin, rest) = want.split_once('>').expect("an element");
    let name = "Operations of a step of tiny-llama3";
    let want = format!(
        "{begin}><title>{name}</title><desc>{}</desc>{rest}",
        words.ok()
    );
    assert_eq!(ask(address, "GET", "/pictures/graph/tiny-llama3", ""), want);
    let roofline = ask(address, "GET", "/pictures/roofline/tiny-llama3", "");
    let begin = "<title>Roofline of tiny-llama3</title><desc>";
    assert!(roofline.contains(begin), "{roofline}");
    assert!(roofline.contains("layer.*.attn"), "{roofline}");
}

/// The real model, where `cargo xtask fetch` puts it.
fn cached(file: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let path = cache.or_else(home).expect("a home folder");
    let path = path.join("warpsmith/models").join(file);
    let shown = path.display();
    assert!(path.exists(), "{shown} is missing: run `cargo xtask fetch`");
    path
}

fn smollm2() -> String {
    let named = std::env::var_os("WARPSMITH_SMOLLM2").map(PathBuf::from);
    let path = named.unwrap_or_else(|| cached("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"));
    path.display().to_string()
}

/// What `generate` writes behind a text.
fn generated(model: &str, precision: &str, text: &str, most: usize) -> String {
    let most = most.to_string();
    let run = warpsmith(&[
        "generate",
        "--model",
        model,
        "--device",
        "virtual",
        "--precision",
        precision,
        "--temperature",
        "0",
        "--max-tokens",
        &most,
        "--json",
        "--raw",
        "--prompt",
        text,
    ]);
    run.json()["text"].as_str().expect("text").to_owned()
}

#[test]
fn an_answer_is_what_generate_writes_and_signals_end_it_well() {
    let path = model("tiny-llama3");
    for (signal, want, option, devices) in [
        ("-TERM", Some(0), "--device", "virtual"),
        ("-INT", Some(130), "--devices", "virtual,virtual"),
    ] {
        let server = Server::start(&["--model", &path, "--precision", "exact", option, devices]);
        assert!(
            server.line.starts_with("tiny-llama3 at http://127.0.0.1:"),
            "{}",
            server.line
        );
        let prompt = "Hello, world! This is";
        let body = json!({"prompt": prompt, "max_tokens": 20, "temperature": 0});
        let answer = server.post("/v1/completions", &body);
        assert_eq!(
            answer["choices"][0]["text"],
            generated(&path, "exact", prompt, 20)
        );
        if option == "--device" {
            pictures(&server.address, &path);
        }
        // One that is being answered is answered to its end.
        let address = server.address.clone();
        let body = json!({"prompt": prompt, "max_tokens": 400, "temperature": 0});
        let begun = thread::spawn(move || post(&address, "/v1/completions", &body));
        thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(server.end(signal), want, "{signal}");
        let answer = begun.join().expect("an answer");
        assert!(answer["choices"][0]["finish_reason"].is_string());
    }
}

#[test]
fn what_cannot_be_served_is_said_before_anything_is() {
    let path = model("tiny-llama3");
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("keys.txt");
    fs::write(&empty, "\n \n").expect("a file");
    let empty = empty.display().to_string();
    let speech = cached("whisper-tiny.en").display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let cases: [(&[&str], &str); 7] = [
        (
            &["--model", &path, "--api-key-file", &empty],
            "there are no keys",
        ),
        (&["--model", &path, "--api-key", ""], "--api-key is empty"),
        (
            &["--model", &path, "--port", &port],
            "cannot listen at 127.0.0.1:",
        ),
        (
            &["--model", &path, "--model", &path, "--port", "0"],
            "two models are called `tiny-llama3`",
        ),
        (&["--model", &speech, "--port", "0"], "is a Whisper model"),
        (&["--whisper", &path, "--port", "0"], "is a language model"),
        (
            &["--model", &path, "--port", "0", "--cors", "a\nb"],
            "is no origin",
        ),
    ];
    for (args, says) in cases {
        let all = [&["serve", "--device", "virtual"], args].concat();
        let run = warpsmith(&all);
        assert_eq!(run.status, 1, "{args:?}: {}", run.err);
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
        assert_eq!(run.out, "");
    }
    assert_eq!(warpsmith(&["serve"]).status, 2);
}

/// Blocks of a document in a language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let pieces = document.split(&fence).skip(1);
    let ends = pieces.filter_map(|piece| piece.split("```").next());
    ends.map(str::to_owned).collect()
}

/// The Python that has OpenAI's client, where `cargo xtask fetch clients` puts it.
fn python() -> PathBuf {
    let named = std::env::var_os("WARPSMITH_CLIENTS").map(PathBuf::from);
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/clients/bin/python");
    let path = named.unwrap_or(usual);
    let shown = path.display();
    assert!(
        path.exists(),
        "{shown} is missing: run `cargo xtask fetch clients`"
    );
    path
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A small model whose template knows tools.
fn with_tools(folder: &Path) -> PathBuf {
    let template = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.role }}: {{ m.content }}\
        {% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}\n{% endfor %}assistant: ";
    let keys = [("tokenizer.chat_template", template.into())];
    let made = rewritten(folder, "tiny-llama3", &keys, &|_, _| {});
    let path = folder.join("tools.gguf");
    fs::rename(made, &path).expect("a file of another name");
    path
}

/// LangChain's client, and LiteLLM where `cargo xtask clients` says where it is, get the same.
fn others(address: &str, chat: &Value, heard: &str, sound: &Path) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let run = |python: PathBuf, script: &str, args: &[&str]| -> Value {
        let mut command = Command::new(python);
        command.arg(scripts.join(script)).arg(address).args(args);
        serde_json::from_str(&output(&mut command)).expect("JSON")
    };
    let mut all = vec![run(
        python(),
        "of_langchain.py",
        &["smollm2", "tools", "none"],
    )];
    if let Some(python) = std::env::var_os("WARPSMITH_LITELLM") {
        let sound = sound.display().to_string();
        let args = ["smollm2", "tools", "whisper-tiny.en", &sound, "none"];
        let found = run(python.into(), "of_litellm.py", &args);
        assert_eq!(found["text"], heard);
        all.push(found);
    }
    for found in all {
        assert_eq!([&found["chat"], &found["stream"]], [chat, chat], "{found}");
    }
}

#[test]
fn openais_and_langchains_clients_curl_and_the_examples_of_the_document_work() {
    let folder = tempfile::tempdir().expect("a folder");
    // Called as the document calls it.
    let path = folder.path().join("smollm2.gguf");
    std::os::unix::fs::symlink(smollm2(), &path).expect("a link");
    let link = path.display().to_string();
    let speech = cached("whisper-tiny.en").display().to_string();
    let tools = with_tools(folder.path()).display().to_string();
    let models = ["--model", &link, "--model", &tools, "--whisper", &speech];
    let keys = folder.path().join("keys.txt");
    fs::write(&keys, "first\n\n none \n").expect("a file");
    let keys = keys.display().to_string();
    let more = ["--api-key-file", &keys, "--device", "virtual"];
    let server = Server::start(&[&models[..], &more].concat());
    assert!(
        server
            .line
            .starts_with("smollm2, tools, whisper-tiny.en at "),
        "{}",
        server.line
    );
    let document =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md"));
    let document = document
        .expect("the document")
        .replace("http://127.0.0.1:8080", &server.address);
    let curl = blocks(&document, "sh")
        .into_iter()
        .find(|block| block.starts_with("curl"));
    let curl = curl
        .expect("an example")
        .replace("-d '", "-H 'Authorization: Bearer none' -d '");
    let answer = output(Command::new("sh").args(["-c", &curl]));
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["object"], "chat.completion", "{answer}");
    let example = &blocks(&document, "python")[0];
    let streamed = output(Command::new(python()).args(["-c", example]));
    let args = [
        "generate",
        "--model",
        &link,
        "--device",
        "virtual",
        "--temperature",
        "0",
        "--json",
    ];
    let talk = ["--max-tokens", "16", "Explain warps in one line"];
    let want = warpsmith(&[&args[..], &talk].concat()).json();
    assert_eq!(want["text"], streamed);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/talk.py");
    let sound = reference("audio/goforward.wav");
    let mut command = Command::new(python());
    command.arg(script).arg(&server.address);
    command
        .args(["smollm2", "tools", "whisper-tiny.en"])
        .arg(&sound)
        .arg("none");
    let found: Value = serde_json::from_str(&output(&mut command)).expect("JSON");
    let talk = ["--max-tokens", "12", "Name a colour"];
    let want = warpsmith(&[&args[..], &talk].concat()).json();
    for answer in ["chat", "stream", "response"] {
        assert_eq!(found[answer], want["text"], "{answer}");
    }
    let want_chat = want["text"].clone();
    let want = generated(&link, "fast", "The capital of France is", 6);
    assert_eq!(found["completion"], want);
    let heard = warpsmith(&[
        "transcribe",
        "--model",
        &speech,
        "--device",
        "virtual",
        &sound.display().to_string(),
    ]);
    let heard = heard.ok().trim().to_owned();
    assert_eq!(found["text"], heard);

    others(&server.address, &want_chat, &heard, &sound);

    // One schema in nine; all of them by hand, with 1.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/schemas.py");
    let mut command = Command::new(python());
    command.arg(script).arg(&server.address);
    command.args(["smollm2", "none", "9"]);
    let found: Value = serde_json::from_str(&output(&mut command)).expect("JSON");
    assert_eq!(found["asked"], 8, "{found}");
}

/// Prompts that all engines are compared with, as `generate` goes on with them: alone, and with 16 others. In exact
/// arithmetic: where a prompt is cut into passes decides how fast runs round.
#[test]
fn prompts_of_a_real_model_are_continued_as_by_generate_whoever_else_asks() {
    const NAMES: [&str; 3] = ["raw_space", "raw_france", "chat_sky"];
    const MOST: usize = 8;
    let path = smollm2();
    let texts = NAMES.map(|name| {
        let facts = fs::read_to_string(reference(&format!("llm/{name}.json")));
        let facts: Value = serde_json::from_str(&facts.expect("facts")).expect("JSON");
        facts["text"].as_str().expect("a text").to_owned()
    });
    let want = texts
        .each_ref()
        .map(|text| generated(&path, "exact", text, MOST));
    let exact = [
        "--device",
        "virtual",
        "--precision",
        "exact",
        "--sequences",
        "32",
        "--no-embeddings",
    ];
    let server = Server::start(&[&["--model", &path], &exact[..]].concat());
    let body = |at: usize| json!({"prompt": texts[at], "max_tokens": MOST, "temperature": 0});
    for at in 0..NAMES.len() {
        let answer = server.post("/v1/completions", &body(at));
        assert_eq!(
            answer["choices"][0]["text"], want[at],
            "{} alone",
            NAMES[at]
        );
    }
    let others: Vec<_> = (0..16)
        .map(|at| {
            let address = server.address.clone();
            let text = &texts[at % 2][..];
            let body = json!({"prompt": format!("{at} {text}"), "max_tokens": 8, "temperature": 1});
            thread::spawn(move || post(&address, "/v1/completions", &body))
        })
        .collect();
    let asked: Vec<_> = (0..NAMES.len())
        .map(|at| {
            let (address, body) = (server.address.clone(), body(at));
            thread::spawn(move || post(&address, "/v1/completions", &body))
        })
        .collect();
    for (at, asked) in asked.into_iter().enumerate() {
        let answer = asked.join().expect("an answer");
        assert_eq!(
            answer["choices"][0]["text"], want[at],
            "{} among others",
            NAMES[at]
        );
    }
    others
        .into_iter()
        .for_each(|other| drop(other.join().expect("an answer")));
}
