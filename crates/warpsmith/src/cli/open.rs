//! Opens a device and loads a model onto it.

use super::{
    options::ModelArgs,
    output::{Unit, bar, printable},
};
use anyhow::{Context, Result, bail};
use std::{
    path::{Path, PathBuf},
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use warpsmith::{
    device::{Device, Fresh, Selector, Settings, VirtualCard, devices},
    formats::gguf::Gguf,
    models::{
        chat::ChatTemplate,
        llama::{Bundle, Engine, EngineOptions, Run, Session, SessionOptions},
    },
};

/// The context of a session where nothing asks for another one.
const DEFAULT_CONTEXT: u64 = 4096;

/// A model ready to run.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) device: Device,
    pub(crate) bundle: Bundle,
    /// Seconds from the opening of the device until the weights were on it.
    pub(crate) load_s: f64,
}

impl Opened {
    /// The chat template, told what time it is.
    pub(crate) fn template(&self) -> ChatTemplate {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs() as i64);
        self.bundle.template.clone().at_time(now)
    }

    /// A session for `need` tokens.
    pub(crate) fn session(&self, args: &ModelArgs, need: u64, run: Run) -> Result<Session> {
        self.guessing_session(args, need, run, 0)
    }

    /// A session for `need` tokens that guesses up to `lookup` at once.
    pub(crate) fn guessing_session(
        &self,
        args: &ModelArgs,
        need: u64,
        run: Run,
        lookup: u32,
    ) -> Result<Session> {
        let most = self.bundle.model.config().context;
        let context = match args.ctx_size {
            Some(context) => context,
            None => most.min(need.max(DEFAULT_CONTEXT).try_into().unwrap_or(u32::MAX)),
        };
        let options = SessionOptions {
            context,
            precision: args.precision.into(),
            run,
            tokens_per_launch: args.tokens_per_launch.unwrap_or(0),
            lookup,
            ..SessionOptions::default()
        };
        Session::new(&self.bundle.model, &options).context("cannot make room for the context")
    }

    /// An engine for `sequences` sequences of `need` tokens each.
    pub(crate) fn engine(&self, args: &ModelArgs, sequences: u32, need: u64) -> Result<Engine> {
        let most = self.bundle.model.config().context;
        let options = EngineOptions {
            sequences,
            context: match args.ctx_size {
                Some(context) => context,
                None => most.min(need.try_into().unwrap_or(u32::MAX)),
            },
            precision: args.precision.into(),
            run: args.run.into(),
            ..EngineOptions::default()
        };
        Engine::new(&self.bundle.model, &options).context("cannot make room for the sequences")
    }
}

/// Opens the device and loads the model, with a bar on a terminal.
pub(crate) fn open(args: &ModelArgs) -> Result<Opened> {
    let start = Instant::now();
    let settings = Settings {
        disk_cache: cache_folder(),
        fresh: Fresh::AsIs,
        ..Settings::default()
    };
    let device = Device::open_with(&selector(args)?, settings).context("cannot open the device")?;
    let bar = bar("loading", 0, Unit::Bytes);
    let bundle = Bundle::load(&device, &args.model, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .with_context(|| {
        format!(
            "cannot load {}",
            printable(&args.model.display().to_string())
        )
    });
    bar.finish_and_clear();
    Ok(Opened {
        device,
        bundle: bundle?,
        load_s: start.elapsed().as_secs_f64(),
    })
}

/// The device asked for, with the number of threads.
fn selector(args: &ModelArgs) -> Result<Selector> {
    selector_with(&args.device, args.threads)
}

/// A device with a number of threads.
pub(crate) fn selector_with(device: &Selector, threads: Option<u16>) -> Result<Selector> {
    let Some(threads) = threads else {
        return Ok(device.clone());
    };
    let workers = Some(usize::from(threads));
    Ok(match device {
        // a card needs no threads
        Selector::Auto if devices().cards.is_ok_and(|cards| !cards.is_empty()) => Selector::Auto,
        Selector::Auto => Selector::Virtual(VirtualCard {
            workers,
            ..VirtualCard::default()
        }),
        Selector::Virtual(card) => Selector::Virtual(VirtualCard {
            workers,
            ..card.clone()
        }),
        Selector::Cuda(index) => bail!("--threads is for the virtual GPU, not for cuda:{index}"),
    })
}

/// Where drivers' compiled kernels are kept: the user's cache folder.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = folder("XDG_CACHE_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(base.join("warpsmith").join("kernels"))
}

/// Whether the model at `path` brings a chat template of its own.
pub(crate) fn has_template(path: &Path) -> Result<bool> {
    let is_safetensors = path.is_dir()
        || path
            .extension()
            .is_some_and(|e| e == "safetensors" || e == "json");
    if !is_safetensors {
        return Ok(Gguf::open(path)?
            .metadata()
            .opt_str("tokenizer.chat_template")?
            .is_some());
    }
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(Path::new("."))
    };
    let settings = folder.join("tokenizer_config.json");
    let Ok(bytes) = std::fs::read(&settings) else {
        return Ok(false);
    };
    let settings: serde_json::Value =
        serde_json::from_slice(&bytes).with_context(|| settings.display().to_string())?;
    Ok(settings
        .get("chat_template")
        .is_some_and(|template| template.is_string()))
}
