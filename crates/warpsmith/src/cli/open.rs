//! Opens a device and loads a model onto it.

use super::{
    context, kind,
    options::ModelArgs,
    output::{Unit, bar, note, printable, warn},
};
use anyhow::{Context, Result, bail};
use std::{
    path::PathBuf,
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use warpsmith::{
    device::{Device, Fresh, Selector, Settings, VirtualCard, devices},
    formats::Kind,
    models::{
        Rounded,
        chat::ChatTemplate,
        llama::{Bundle, Engine, EngineOptions, Run, Session, SessionOptions},
    },
};

/// A model ready to run.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) device: Device,
    pub(crate) bundle: Bundle,
    /// Seconds from the opening of the device until the weights were on it.
    pub(crate) load_s: f64,
}

impl Opened {
    /// The error of a full context with the option that makes it larger.
    pub(crate) fn named(&self, error: anyhow::Error) -> anyhow::Error {
        context::named(error, self.bundle.model.config().context)
    }

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

    /// A session for exactly `context` tokens, evaluated and not continued.
    pub(crate) fn session_of(&self, args: &ModelArgs, context: u32) -> Result<Session> {
        let options = SessionOptions {
            context,
            precision: args.precision.into(),
            run: Run::Eager,
            ..SessionOptions::default()
        };
        Session::new(&self.bundle.model, &options).context("cannot make room for the context")
    }

    /// A session for `need` tokens that guesses up to `lookup` at once.
    pub(crate) fn guessing_session(
        &self,
        args: &ModelArgs,
        need: u64,
        run: Run,
        lookup: u32,
    ) -> Result<Session> {
        let trained = self.bundle.model.config().context;
        let options = SessionOptions {
            context: context::of_session(args, trained, need),
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
        let trained = self.bundle.model.config().context;
        let options = EngineOptions {
            sequences,
            context: context::of_sequences(args, trained, need),
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
    kind::expect(&args.model, Kind::Text)?;
    let settings = Settings {
        disk_cache: cache_folder(),
        fresh: Fresh::AsIs,
        ..Settings::default()
    };
    let device = Device::open_with(&selector(args)?, settings).context("cannot open the device")?;
    let bar = bar("loading", 0, Unit::Bytes);
    let bundle = Bundle::load(&device, args.files(), &mut |done, total| {
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
    let bundle = bundle?;
    tell_rounded(bundle.model.rounded());
    for warning in bundle.model.warnings() {
        warn(&format!("warning: {}", printable(&warning.to_string())));
    }
    Ok(Opened {
        device,
        bundle,
        load_s: start.elapsed().as_secs_f64(),
    })
}

/// Says what became of a model's matrices, where they were to be rounded.
pub(crate) fn tell_rounded(rounded: Option<&Rounded>) {
    if let Some(rounded) = rounded {
        note(&format!("weights: {rounded}"));
    }
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
