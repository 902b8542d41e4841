//! Sessions: the state of one listener on a device. A window of sound is encoded, prompts are read, tokens follow.

use super::{
    block::{BlockConfig, Scratch, cache_type},
    decoder::Inputs,
    kv::{KvCache, KvSizes},
    lines::{LineSet, Mode},
    looks::LookPass,
    model::Model,
    prompt::Prompt,
};
use crate::{
    Error,
    llama::Run,
    watch::{Watch, lock},
};
use std::sync::Arc;
use warpsmith_device::{Buffer, Replay, Stream};
use warpsmith_graph::{
    Cache, Graph, PersistentShape, Plan, Precision, SharedDispatch, SharedObserver,
};
use warpsmith_library::decoding::{Rules, Vocabulary};

/// Options of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Arithmetic.
    pub precision: Precision,
    /// How passes run. [`Run::Persistent`] decodes a single sequence in one launch a window; the rest is replayed.
    pub run: Run,
    /// The form of a persistent kernel.
    pub shape: PersistentShape,
    /// What tokens may follow.
    pub rules: Rulebook,
    /// The ways in which sequences are decoded, each with its plans.
    pub modes: Vec<Mode>,
}

/// Which tokens may follow, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rulebook {
    /// Whether timestamps follow their rules.
    pub rules: Rules,
    /// The ids that rules are about.
    pub vocabulary: Vocabulary,
    /// Never allowed.
    pub suppress: Vec<u32>,
    /// Not allowed as the first token.
    pub suppress_first: Vec<u32>,
    /// The token whose probability at the start says that nobody speaks.
    pub no_speech: u32,
}

/// A token and its log-probability among all that were allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Token.
    pub id: u32,
    /// Natural logarithm.
    pub log_probability: f32,
}

/// A plan and, if passes are replayed, its capture.
pub(crate) struct Pass {
    pub(crate) plan: Plan,
    replay: Option<Replay>,
}

impl Pass {
    pub(crate) fn new(
        stream: &Stream,
        graph: &Graph,
        precision: Precision,
        run: Run,
    ) -> Result<Pass, Error> {
        let plan = Plan::new(stream, graph, precision)?;
        let replay = match run {
            Run::Eager => None,
            Run::Replay | Run::Persistent => Some(plan.capture(stream)?),
        };
        Ok(Pass { plan, replay })
    }

    fn run(&self, stream: &Stream) -> Result<(), Error> {
        match &self.replay {
            Some(replay) => Ok(stream.replay(replay)?),
            None => Ok(self.plan.run(stream)?),
        }
    }

    /// Launches of a run.
    pub(crate) fn launches(&self) -> usize {
        self.plan.report().launches
    }
}

/// What the plans of a session share.
pub(crate) struct Shared {
    pub(crate) model: Arc<Model>,
    pub(crate) stream: Stream,
    pub(crate) options: SessionOptions,
    pub(crate) audio: Vec<Arc<Cache>>,
    /// The logits from which the first tokens are taken.
    pub(crate) logits: Buffer<f32>,
    pub(crate) watch: Watch,
}

impl Shared {
    /// Runs a pass; launch by launch where somebody watches it.
    pub(crate) fn run(&self, name: &str, pass: &Pass) -> Result<(), Error> {
        if self.watch.is_on() {
            self.watch.run(&self.stream, name, &pass.plan)
        } else {
            pass.run(&self.stream)
        }
    }

    pub(crate) fn pass(&self, graph: &Graph) -> Result<Pass, Error> {
        let SessionOptions { precision, run, .. } = &self.options;
        Pass::new(&self.stream, graph, *precision, *run)
    }

    /// As many frames as there are, for each of `rows`.
    pub(crate) fn frames(&self, rows: u32) -> Result<Buffer<u32>, Error> {
        let frames = vec![self.model.dims().n_audio_ctx; rows as usize];
        Ok(self.stream.upload_new(&frames)?)
    }
}

/// One listener on a device.
pub struct Session {
    shared: Shared,
    mel: Buffer<f32>,
    encode: Pass,
    cache: KvCache,
    prompts: Vec<Prompt>,
    lines: Vec<LineSet>,
    /// Those that were needed so far.
    looks: Vec<LookPass>,
}

/// Sizes that prompts are padded to, so that a session plans once.
const PROMPTS: [u32; 4] = [8, 32, 96, 256];

impl Session {
    /// Allocates caches and plans every pass.
    ///
    /// # Errors
    /// No modes, or one without rows; out of memory.
    pub fn new(model: &Arc<Model>, options: &SessionOptions) -> Result<Session, Error> {
        let dims = *model.dims();
        let stream = model.device().stream()?;
        let precision = options.precision;
        let decoder = model.decoder();
        let shape = [decoder.heads, dims.n_audio_ctx, decoder.head_dim];
        let audio = (0..dims.n_text_layer)
            .map(|_| Cache::new(&stream, cache_type(precision), shape).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let most = options.modes.iter().map(Mode::rows).max();
        let sizes = KvSizes {
            layers: dims.n_text_layer,
            sequences: most.unwrap_or(0),
            heads: decoder.heads,
            capacity: dims.n_text_ctx,
            head_dim: decoder.head_dim,
        };
        let cache = KvCache::new(&stream, sizes, precision)?;
        let mut mel: Buffer<f32> =
            stream.alloc(2 * dims.n_audio_ctx as usize * dims.n_mels as usize)?;
        stream.fill_zero(&mut mel)?;
        let logits = stream.alloc(dims.n_vocab as usize)?;
        let shared = Shared {
            model: Arc::clone(model),
            stream,
            options: options.clone(),
            audio,
            logits,
            watch: Watch::default(),
        };
        let encode = shared.plan_encoder(&mel)?;
        let room = dims.n_text_ctx.next_multiple_of(8);
        let mut sizes: Vec<u32> = PROMPTS.into_iter().filter(|size| *size < room).collect();
        if sizes.last().is_none_or(|last| *last < dims.n_text_ctx / 2) {
            sizes.push(room);
        }
        let prompts = sizes
            .into_iter()
            .map(|size| Prompt::new(&shared, &cache, size))
            .collect::<Result<_, _>>()?;
        let lines = options
            .modes
            .iter()
            .map(|mode| LineSet::new(&shared, &cache, mode))
            .collect::<Result<_, _>>()?;
        Ok(Session {
            shared,
            mel,
            encode,
            cache,
            prompts,
            lines,
            looks: Vec::new(),
        })
    }

    /// The stream its work is enqueued on.
    pub fn stream(&self) -> &Stream {
        &self.shared.stream
    }

    /// Shows `observer` every parameter now, and every value of the passes that follow, until it is `None`. Passes then run
    /// launch by launch, and wait, also where [`SessionOptions::run`] asks for another way.
    ///
    /// # Errors
    /// Device errors.
    pub fn observe(&mut self, observer: Option<SharedObserver>) -> Result<(), Error> {
        if let Some(observer) = &observer {
            let prompt = self.prompts.iter().map(|prompt| prompt.plan()).take(1);
            for plan in [&self.encode.plan].into_iter().chain(prompt) {
                plan.observe_parameters(&self.shared.stream, &mut *lock(observer))?;
            }
        }
        self.shared.watch.observer = observer;
        Ok(())
    }

    /// Gives `dispatch` every operation of the passes that follow before the library's kernels run it, until it is `None`.
    /// Passes then run launch by launch, also where [`SessionOptions::run`] asks for another way; where somebody observes,
    /// nobody dispatches.
    pub fn dispatch(&mut self, dispatch: Option<SharedDispatch>) {
        self.shared.watch.dispatch = dispatch;
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.shared.model
    }

    /// The resident cache of the decoder.
    pub fn cache(&self) -> &KvCache {
        &self.cache
    }

    /// Mode `at`.
    ///
    /// # Errors
    /// There are not so many.
    pub fn mode(&self, at: usize) -> Result<Mode, Error> {
        let modes = &self.shared.options.modes;
        modes.get(at).cloned().ok_or_else(|| Error::Unsupported {
            what: format!("mode {at} of {}", modes.len()),
        })
    }

    /// What plans share, the cache, and the passes over whole texts.
    pub(crate) fn parts(&mut self) -> (&Shared, &KvCache, &mut Vec<LookPass>) {
        self.cache.reset();
        (&self.shared, &self.cache, &mut self.looks)
    }

    /// The token that ends a transcript.
    pub(crate) fn end(&self) -> u32 {
        self.shared.options.rules.vocabulary.end
    }

    /// Launches of an encoder pass.
    pub fn encoder_launches(&self) -> usize {
        self.encode.launches()
    }

    /// Launches of a step of mode `at`.
    pub fn step_launches(&self, at: usize) -> usize {
        self.lines[at].launches()
    }

    /// Sends a window: mel frames `[2 * n_audio_ctx, n_mels]`, a frame after the other. One transfer.
    ///
    /// # Errors
    /// Another length; device errors.
    pub fn listen(&mut self, mel: &[f32]) -> Result<(), Error> {
        super::parts::same("mel window", self.mel.len(), mel.len())?;
        Ok(self.shared.stream.upload(&mut self.mel, mel)?)
    }

    /// Encodes the window: keys and values of the audio are then on the device. No transfer.
    ///
    /// # Errors
    /// Device errors.
    pub fn encode(&mut self) -> Result<(), Error> {
        self.cache.reset();
        self.shared.run("encoder", &self.encode)
    }

    /// Reads a prompt, from the first position on: the logits of its last token are then on the device. A few small
    /// transfers.
    ///
    /// # Errors
    /// [`Error::ContextFull`], [`Error::TokenId`]; an empty prompt; device errors.
    pub fn prompt(&mut self, ids: &[u32]) -> Result<(), Error> {
        let vocab = self.shared.model.dims().n_vocab;
        if let Some(id) = ids.iter().find(|id| **id >= vocab) {
            return Err(Error::TokenId {
                what: "token id",
                id: *id,
                vocab: vocab as usize,
            });
        }
        if ids.is_empty() {
            return Err(Error::NoLogits);
        }
        self.cache.reset();
        self.cache.extend(ids.len() as u32)?;
        let fits = |prompt: &&mut Prompt| prompt.size() as usize >= ids.len();
        let Some(prompt) = self.prompts.iter_mut().find(fits) else {
            return Err(Error::ContextFull {
                context: self.cache.capacity(),
                have: 0,
                more: ids.len(),
            });
        };
        prompt.run(&self.shared, ids)?;
        let Shared { stream, logits, .. } = &mut self.shared;
        Ok(stream.copy(logits, prompt.last_logits()?)?)
    }

    /// The raw logits of the last token of the prompt: one transfer, for tests and tools.
    ///
    /// # Errors
    /// Device errors.
    pub fn logits(&self) -> Result<Vec<f32>, Error> {
        Ok(self.shared.stream.download(&self.shared.logits)?.wait()?)
    }

    /// The probability that nobody speaks: of the no-speech token after the token `back` places from the prompt's end
    /// (0 is the last). 16 bytes come back.
    ///
    /// # Errors
    /// A `back` above 3 or past the prompt's start; [`Error::NotFinite`]; device errors.
    pub fn no_speech(&self, back: usize) -> Result<f32, Error> {
        let len = self.cache.len();
        let prompt = self.prompts.iter().find(|prompt| prompt.size() >= len);
        let prompt = prompt
            .filter(|_| back < len as usize)
            .ok_or(Error::NoLogits)?;
        prompt.no_speech(&self.shared.stream, len, back)
    }

    /// The first tokens after the prompt, in mode `at`.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a prompt; [`Error::NotFinite`] and [`Error::NoToken`] where no token can be taken; device
    /// errors.
    pub fn first(&mut self, at: usize) -> Result<Vec<Vec<Candidate>>, Error> {
        if self.cache.is_empty() {
            return Err(Error::NoLogits);
        }
        let Session {
            shared,
            cache,
            lines,
            ..
        } = self;
        lines[at].first(shared, cache.len())
    }

    /// Each row takes its token and gives the next ones: the token it drew, or the one that `choices` names with the row
    /// that is continued.
    ///
    /// At most 64 bytes cross for each row.
    ///
    /// # Errors
    /// [`Error::ContextFull`]; choices of another number; as [`Session::first`]; device errors.
    pub fn step(
        &mut self,
        at: usize,
        choices: Option<&[[u32; 2]]>,
    ) -> Result<Vec<Vec<Candidate>>, Error> {
        self.cache.extend(1)?;
        let position = self.cache.len() - 1;
        self.lines[at].step(&self.shared, position, choices)
    }

    /// The tokens after the first, at most `most`, in one launch: how many, or `None` where mode `at` runs step by step.
    pub(crate) fn rest(
        &mut self,
        at: usize,
        most: usize,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<Option<u32>, Error> {
        if self.shared.watch.is_on() {
            return Ok(None);
        }
        let room = self.cache.capacity() - self.cache.len();
        let most = most.min(room as usize) as u32;
        let made = self.lines[at].rest(self.cache.len(), most, each)?;
        if let Some(made) = made {
            self.cache.extend(made)?;
        }
        Ok(made)
    }

    /// Sets the temperature (0 takes the most probable) and the seed of draws in mode `at`.
    ///
    /// # Errors
    /// A temperature that is not a number from 0; device errors.
    pub fn draw(&mut self, at: usize, temperature: f32, seed: u64) -> Result<(), Error> {
        self.lines[at].draw(&self.shared.stream, temperature, seed)
    }

    /// Which of these tokens is the most probable after the prompt: the `count` best, with probabilities among them alone.
    ///
    /// # Errors
    /// No such mode ([`Mode::Among`]) in the session; [`Error::NoLogits`] before a prompt; device errors.
    pub fn among(&mut self) -> Result<Vec<Candidate>, Error> {
        let found = self.lines.iter().position(|set| set.is_among());
        let at = found.ok_or(Error::NoLogits)?;
        let mut rows = self.first(at)?;
        Ok(rows.swap_remove(0))
    }
}

impl Shared {
    fn plan_encoder(&self, mel: &Buffer<f32>) -> Result<Pass, Error> {
        let dims = self.model.dims();
        let config = BlockConfig {
            width: dims.n_audio_state,
            heads: dims.n_audio_head,
        };
        let precision = self.options.precision;
        let scratch = Scratch::new(&self.stream, config, dims.n_audio_ctx, precision)?;
        let mut graph = Graph::new();
        let mel = graph.floats(mel, 2 * dims.n_audio_ctx, dims.n_mels)?;
        graph.name(mel, "mel")?;
        let taps = self.model.encoder().forward(&mut graph, mel, &scratch)?;
        let decoder = self.model.decoder();
        decoder.audio(&mut graph, taps.output, &self.audio)?;
        self.pass(&graph)
    }

    /// The logits of each row of `inputs`, or of its last rows.
    pub(crate) fn logits_of(
        &self,
        graph: &mut Graph,
        inputs: Inputs<'_>,
        last: Option<u32>,
    ) -> Result<warpsmith_graph::Node, Error> {
        let decoder = self.model.decoder();
        let hidden = decoder.hidden(graph, inputs)?.output;
        let rows = graph.extent(hidden)?.rows;
        let hidden = match last {
            Some(count) => graph.rows(hidden, rows - count, count)?,
            None => hidden,
        };
        decoder.logits(graph, hidden)
    }
}
