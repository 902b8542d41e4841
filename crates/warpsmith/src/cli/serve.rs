//! `serve`: models behind an address, as OpenAI's clients ask for them.

use super::{
    context, hub,
    interrupt::{self, Watch},
    kind,
    open::{Opened, cache_folder, open, selector_with},
    options::{ModelArgs, PrecisionArg, RunArg},
    output, pictures, prompt,
};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::{
    net::{IpAddr, TcpListener},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use warpsmith::{
    device::{Device, Fresh, Selector, Settings},
    formats::Kind,
    models::{
        Files, Rounding,
        llama::{Engine, EngineOptions, Run, Session, SessionOptions, WhenFull},
        whisper::{self, ListenOptions, Transcriber},
    },
};
use warpsmith_server::{Cors, Limits, Options, Server, SpeechModel, TextModel};

const LIMITS: &str = "Limits";
const ACCESS: &str = "Access";

/// Serves models as OpenAI's clients ask for them: chat, completions, responses, embeddings, speech to text.
///
/// Prints the address when it answers. Ctrl-C and SIGTERM finish what was begun; a second Ctrl-C does not. What a request
/// asks for and is not done is refused by name. docs/serve.md has every route.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith serve --model smollm2.gguf
  warpsmith serve --model smollm2.gguf --whisper whisper-base --port 8000
  warpsmith serve --model smollm2.gguf --host 0.0.0.0 --api-key-file keys.txt --sequences 32
  warpsmith serve --model smollm2.gguf --devices cuda:0,cuda:1
  curl -s http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}'")]
pub(crate) struct Serve {
    /// A GGUF file, a folder with config.json, tokenizer.json and safetensors, or hf:OWNER/NAME[:FILE]; may be given several
    /// times. Requests call it by its name without the extension.
    #[arg(long, short, value_name = "FILE", required_unless_present = "whisper")]
    model: Vec<PathBuf>,
    /// A CTranslate2, ggml, GGUF or safetensors file of Whisper, a folder with one, or hf:OWNER/NAME[:FILE]; may be given
    /// several times.
    #[arg(long, value_name = "PATH")]
    whisper: Vec<PathBuf>,
    /// The address to listen at.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port; 0 takes a free one.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    /// Rounds F32, F16 and BF16 matrices to blocks of this type while they are loaded: q8_0, q5_1, q5_0, q4_1 or q4_0
    /// [default: all stay what they are in the file].
    #[arg(long, value_name = "TYPE")]
    weights: Option<Rounding>,
    /// auto (a card if there is one, else the virtual GPU), cuda:N, virtual, or virtual:SETTINGS.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Selector,
    /// Several devices: each language model has an engine on each, behind one queue. Settings of virtual ones cannot have
    /// commas here.
    #[arg(
        long,
        value_name = "DEVICE,DEVICE",
        value_delimiter = ',',
        conflicts_with = "device"
    )]
    devices: Vec<Selector>,
    /// Threads of the virtual GPU [default: one for each core].
    #[arg(long, short = 't', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// exact: f32 throughout; fast: tensor cores on f16, 8-bit activations, f16 cache.
    #[arg(long, value_name = "P", value_enum, default_value_t = PrecisionArg::Fast)]
    precision: PrecisionArg,
    /// Sequences that an engine runs at once.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=64))]
    sequences: u32,
    /// Tokens that each sequence holds [default: the model's, at most 4096].
    #[arg(long, short = 'c', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ctx_size: Option<u32>,
    /// Pages of 16 tokens that all sequences of an engine share [default: as many as they need at their longest].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pages: Option<u32>,
    /// Tokens of prompts that running sequences wait for at most, each step.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=512))]
    prompt_tokens: u32,
    /// No embeddings: saves the memory of a sequence.
    #[arg(long)]
    no_embeddings: bool,
    /// Requests that wait beside those that run; more are answered 429.
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = LIMITS)]
    max_waiting: usize,
    /// Tokens of a prompt [default: what the context holds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    max_prompt: Option<u32>,
    /// Bytes of a request without a sound, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = LIMITS)]
    max_body: u16,
    /// Bytes of a request with a sound, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096), help_heading = LIMITS)]
    max_audio: u16,
    /// Seconds that what was begun may take when the server is to stop; what is left then is cut off.
    #[arg(long, value_name = "S", default_value_t = 60, help_heading = LIMITS)]
    grace: u16,
    /// A key that requests must bring, as in `Authorization: Bearer KEY`; may be given several times. Other programs of the
    /// machine can see it: --api-key-file keeps it to itself.
    #[arg(long, value_name = "KEY", help_heading = ACCESS)]
    api_key: Vec<String>,
    /// Each line of this file is such a key.
    #[arg(long, value_name = "F", help_heading = ACCESS)]
    api_key_file: Option<PathBuf>,
    /// Origins whose pages may ask, as in https://example.org; `*` is all. May be given several times.
    #[arg(long, value_name = "ORIGIN", help_heading = ACCESS)]
    cors: Vec<String>,
}

impl Serve {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let options = self.options()?;
        if options.keys.is_empty() && !self.host.is_loopback() {
            output::warn(&format!(
                "warning: everybody who reaches {} may ask: --api-key-file wants a key",
                self.host
            ));
        }
        let mut texts = Vec::new();
        for model in &self.model {
            texts.push(self.text(model)?);
        }
        let mut speech = Vec::new();
        for model in &self.whisper {
            speech.push(self.speech(model)?);
        }
        let listener = TcpListener::bind((self.host, self.port));
        let listener =
            listener.with_context(|| format!("cannot listen at {}:{}", self.host, self.port))?;
        let address = listener.local_addr().context("no address")?;
        let names = texts.iter().map(|model| model.name.as_str());
        let names = names.chain(speech.iter().map(|model| model.name.as_str()));
        let names = names.map(output::printable).collect::<Vec<_>>().join(", ");
        let server = Server::new(texts, speech, options).context("cannot start the models")?;
        output::print(&format!("{names} at http://{address}\n"))?;
        let watch = Watch::begin();
        server
            .run(listener, interrupt::raised)
            .context("cannot serve")?;
        Ok(match watch.raised() {
            true => interrupt::exit_code(),
            false => ExitCode::SUCCESS,
        })
    }

    fn options(&self) -> Result<Options> {
        let mut keys = self.api_key.clone();
        if let Some(path) = &self.api_key_file {
            let text = prompt::read_file(path)?;
            let before = keys.len();
            keys.extend(text.lines().map(|line| line.trim().to_owned()));
            keys.retain(|key| !key.is_empty());
            if keys.len() == before {
                let name = output::printable(&path.display().to_string());
                bail!("{name}: there are no keys");
            }
        }
        if keys.iter().any(String::is_empty) {
            bail!("--api-key is empty");
        }
        let cors = match &self.cors[..] {
            [] => Cors::No,
            all if all.iter().any(|origin| origin == "*") => Cors::Any,
            origins => Cors::Origins(origins.to_vec()),
        };
        Ok(Options {
            keys,
            cors,
            limits: Limits {
                body: usize::from(self.max_body) << 20,
                audio: usize::from(self.max_audio) << 20,
                prompt: self.max_prompt.map_or(usize::MAX, |most| most as usize),
                ..Limits::default()
            },
            grace: Duration::from_secs(self.grace.into()),
        })
    }

    /// Where models run.
    fn selectors(&self) -> &[Selector] {
        match self.devices.is_empty() {
            true => std::slice::from_ref(&self.device),
            false => &self.devices,
        }
    }

    /// A language model on each device.
    fn text(&self, given: &Path) -> Result<TextModel> {
        let path = &hub::local(given)?;
        let mut devices = Vec::new();
        let mut bundles = Vec::new();
        let mut engines: Vec<warpsmith_server::MakeEngine> = Vec::new();
        let mut context = 0;
        for device in self.selectors() {
            let args = ModelArgs {
                model: path.to_owned(),
                weights: self.weights,
                device: device.clone(),
                threads: self.threads,
                ctx_size: self.ctx_size,
                precision: self.precision,
                run: RunArg::Replay,
                tokens_per_launch: None,
            };
            let Opened { device, bundle, .. } = open(&args)?;
            context = context::of_session(&args, bundle.model.config().context, 0);
            let options = EngineOptions {
                sequences: self.sequences,
                context,
                pages: self.pages.unwrap_or(0),
                precision: self.precision.into(),
                prompt_tokens: self.prompt_tokens,
                run: Run::Replay,
                // Those that run go on, whoever needs a page.
                when_full: WhenFull::Evict,
                ..EngineOptions::default()
            };
            let model = Arc::clone(&bundle.model);
            engines.push(Box::new(move || Engine::new(&model, &options)));
            devices.push(device);
            bundles.push(Arc::new(bundle));
        }
        let bundle = bundles.swap_remove(0);
        let model = Arc::clone(&bundle.model);
        let options = SessionOptions {
            context,
            precision: self.precision.into(),
            run: Run::Eager,
            ..SessionOptions::default()
        };
        let pictures = pictures::of(&bundle, options, self.threads);
        let embeddings: warpsmith_server::MakeSession =
            Box::new(move || Session::new(&model, &options));
        Ok(TextModel {
            name: name(given, path)?,
            bundle,
            engines,
            devices,
            sequences: self.sequences,
            page: EngineOptions::default().page,
            waiting: self.max_waiting,
            embeddings: (!self.no_embeddings).then_some(embeddings),
            pictures: Some(pictures),
        })
    }

    /// A speech model, on the first device.
    fn speech(&self, given: &Path) -> Result<SpeechModel> {
        let path = &hub::local(given)?;
        kind::expect(path, Kind::Speech)?;
        let settings = Settings {
            disk_cache: cache_folder(),
            fresh: Fresh::AsIs,
            ..Settings::default()
        };
        let selector = selector_with(&self.selectors()[0], self.threads)?;
        let device = Device::open_with(&selector, settings).context("cannot open the device")?;
        let files = Files {
            path,
            rounding: self.weights,
        };
        let bundle = whisper::Bundle::load(&device, files, &mut |_, _| {});
        let bundle = bundle.with_context(|| {
            let name = output::printable(&path.display().to_string());
            format!("cannot load {name}")
        })?;
        let bundle = Arc::new(bundle);
        let options = ListenOptions {
            precision: self.precision.into(),
            ..ListenOptions::default()
        };
        let (model, first) = (Arc::clone(&bundle), options.clone());
        Ok(SpeechModel {
            name: name(given, path)?,
            bundle,
            make: Box::new(move || Transcriber::new(&model, first.clone())),
            options,
            device,
            waiting: self.max_waiting,
        })
    }
}

/// What requests call a model: its file's name without the extension, or its folder's.
fn name(given: &Path, path: &Path) -> Result<String> {
    // A folder of the cache is called by its version.
    if let (Some(name), true) = (hub::Name::of(given)?, path.is_dir()) {
        return Ok(name.short().to_owned());
    }
    let of = |path: &Path| {
        let name = match path.is_dir() {
            true => path.file_name(),
            false => path.file_stem(),
        };
        name.map(|name| name.to_string_lossy().into_owned())
    };
    // `.` is called what it is.
    let name = of(path).or_else(|| of(&path.canonicalize().ok()?));
    name.context("the model has no name")
}
