//! Servers over the synthetic models, and what sessions give for the same prompts.

use serde_json::{Value, json};
use std::{
    net::{SocketAddr, TcpListener},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::JoinHandle,
    time::Duration,
};
use warpsmith_device::{Device, Selector};
use warpsmith_graph::Precision;
use warpsmith_models::{
    llama::{Bundle, Engine, EngineOptions, Session, SessionOptions, WhenFull},
    text::{StopMatcher, Streamed, Written},
    tokenizer::Special,
    whisper::{self, ListenOptions, Transcriber},
};
use warpsmith_server::{Limits, Options, Server, SpeechModel, TextModel};

pub(crate) const CONTEXT: u32 = 2048;
pub(crate) const NAME: &str = "tiny-llama3";

pub(crate) fn reference(file: &str) -> PathBuf {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference"
    ))
    .join(file)
}

pub(crate) fn device() -> Device {
    Device::open(&Selector::virtual_gpu()).expect("a virtual GPU")
}

pub(crate) fn bundle() -> Arc<Bundle> {
    let path = reference("synth/tiny-llama3.gguf");
    let bundle = Bundle::load(&device(), path.as_path(), &mut |_, _| {});
    Arc::new(bundle.expect("a model"))
}

pub(crate) fn engine_options() -> EngineOptions {
    EngineOptions {
        sequences: 20,
        context: CONTEXT,
        pages: 600,
        precision: Precision::Exact,
        when_full: WhenFull::Evict,
        ..EngineOptions::default()
    }
}

/// A model to be served with these options.
pub(crate) fn model(bundle: &Arc<Bundle>, options: EngineOptions) -> TextModel {
    let own = Arc::clone(&bundle.model);
    let session = Arc::clone(&bundle.model);
    TextModel {
        name: NAME.to_owned(),
        bundle: Arc::clone(bundle),
        engines: vec![Box::new(move || Engine::new(&own, &options))],
        devices: vec![bundle.model.device().clone()],
        sequences: options.sequences,
        page: options.page,
        waiting: 20,
        embeddings: Some(Box::new(move || Session::new(&session, &session_options()))),
        pictures: None,
    }
}

pub(crate) fn session_options() -> SessionOptions {
    SessionOptions {
        context: CONTEXT,
        precision: Precision::Exact,
        ..SessionOptions::default()
    }
}

/// The smallest real speech model, where `cargo xtask fetch` puts it, to be served.
pub(crate) fn speech() -> SpeechModel {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let path = cache.or_else(home).expect("a home folder");
    let path = path.join("warpsmith/models/whisper-tiny.en");
    let path_shown = path.display();
    assert!(
        path.exists(),
        "{path_shown} is missing: run `cargo xtask fetch`"
    );
    let device = device();
    let bundle = whisper::Bundle::load(&device, path.as_path(), &mut |_, _| {});
    let bundle = Arc::new(bundle.expect("a speech model"));
    let options = listen_options();
    let (own, first) = (Arc::clone(&bundle), options.clone());
    SpeechModel {
        name: "whisper-tiny.en".to_owned(),
        bundle,
        make: Box::new(move || Transcriber::new(&own, first.clone())),
        options,
        device,
        waiting: 4,
    }
}

pub(crate) fn listen_options() -> ListenOptions {
    ListenOptions {
        temperatures: vec![0.0],
        ..ListenOptions::default()
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn new(
        texts: Vec<TextModel>,
        speech: Vec<SpeechModel>,
        options: Options,
    ) -> Running {
        let server = Server::new(texts, speech, options).expect("a server");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            server
                .run(listener, move || asked.load(SeqCst))
                .expect("it serves");
        });
        Running {
            address,
            stop,
            thread: Some(thread),
        }
    }

    /// One model without keys.
    pub(crate) fn usual() -> (Running, Arc<Bundle>) {
        let bundle = bundle();
        let texts = vec![model(&bundle, engine_options())];
        (Running::new(texts, vec![], options()), bundle)
    }

    /// Tells it to stop.
    pub(crate) fn stop(&self) {
        self.stop.store(true, SeqCst);
    }

    /// Waits for its end.
    pub(crate) fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends well");
        }
    }

    /// The value of a figure, of all its labels together.
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let answer = crate::client::get(self.address, "/metrics");
        let lines = answer.text().lines();
        let named = lines.filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        let values = named.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    }

    /// Waits until a figure is this.
    pub(crate) fn wait(&self, name: &str, want: f64) {
        self.wait_until(name, |figure| figure == want);
    }

    /// Waits until a figure is as wanted.
    pub(crate) fn wait_until(&self, name: &str, wanted: impl Fn(f64) -> bool) {
        for _ in 0..1200 {
            if wanted(self.figure(name)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("{name} stays {}", self.figure(name));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        let Some(thread) = self.thread.take() else {
            return;
        };
        if thread.join().is_err() && !std::thread::panicking() {
            panic!("the server panicked");
        }
    }
}

pub(crate) fn options() -> Options {
    Options {
        limits: Limits {
            body: 1 << 20,
            audio: 4 << 20,
            patience: Duration::from_secs(5),
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// What a session writes behind a text, most probable tokens first.
pub(crate) fn alone(bundle: &Bundle, prompt: &str, most: usize) -> String {
    let tokenizer = &bundle.tokenizer;
    let ids = tokenizer.encode(prompt, Special::Parse).expect("tokens");
    let mut session = Session::new(&bundle.model, &session_options()).expect("a session");
    session.prefill(&ids, &mut |_, _| {}).expect("a prompt");
    let stops = StopMatcher::new::<String>([]).expect("no stops");
    let mut written = Written::after(&ids, tokenizer, stops);
    let mut text = String::new();
    let mut each = |token| {
        match written.push(token).expect("text") {
            Streamed::Text(more) | Streamed::Stopped { text: more, .. } => text += &more,
        }
        ControlFlow::Continue(())
    };
    session
        .generate(most, tokenizer.end_of_generation(), &mut each)
        .expect("tokens");
    text + &written.finish().expect("text")
}

/// No token ends the text: it is as long as is asked for.
pub(crate) fn endless(bundle: &Bundle) -> Value {
    let ends = bundle.tokenizer.end_of_generation();
    ends.iter()
        .map(|id| (id.to_string(), json!(-100)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

pub(crate) fn completion(prompt: &str, most: usize) -> Value {
    json!({"prompt": prompt, "max_tokens": most, "temperature": 0})
}

pub(crate) fn with(mut body: Value, more: Value) -> Value {
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body
}
