//! Sessions: one sequence with its cache, evaluated in chunks and continued token by token.

use super::{
    cache::{CacheNeeds, cache_type},
    evaluate::{Evaluated, check_logits, count_odd},
    forward::{Inputs, Memory, hidden, logits},
    lookup::Lookup,
    model::Model,
};
use crate::{
    Error,
    sampling::SamplerConfig,
    watch::{Watch, lock},
};
use std::sync::Arc;
use warpsmith_device::{Buffer, Replay, Stream};
use warpsmith_graph::{
    Cache, Graph, Node, Persistent, PersistentShape, Plan, Precision, Sampler, SamplerState,
    SharedDispatch, SharedObserver,
};
use warpsmith_library::{finite::NOT_FINITE, sample::Settings};

/// How decode steps run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// A launch for each operation.
    Eager,
    /// One replay of the captured launches.
    #[default]
    Replay,
    /// [`Session::generate`] makes all tokens in one launch of one kernel; single steps are eager.
    Persistent,
}

/// Options of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// Positions the cache holds; 0 takes the model's context, at most 4096.
    pub context: u32,
    /// Arithmetic.
    pub precision: Precision,
    /// How decode steps run.
    pub run: Run,
    /// Most tokens of one launch of a persistent kernel; 0 is as many as are asked for.
    pub tokens_per_launch: u32,
    /// The form of a persistent kernel.
    pub shape: PersistentShape,
    /// Most tokens that [`Session::generate`] guesses from earlier text and checks in one pass; 0 guesses none.
    pub lookup: u32,
}

/// The context of a session that does not say.
const DEFAULT_CONTEXT: u32 = 4096;

/// Tokens that the repetition penalty looks back at.
const WINDOW: usize = 64;
/// Drawn tokens that stay on the device.
const OUTPUT: usize = 256;

/// One sequence on a device.
///
/// ```
/// use std::path::Path;
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_models::llama::{Bundle, Session, SessionOptions};
///
/// # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/synth/tiny-llama3.gguf"));
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let bundle = Bundle::load(&device, path, &mut |_, _| {})?;
/// let options = SessionOptions { context: 64, ..SessionOptions::default() };
/// let mut session = Session::new(&bundle.model, &options)?;
/// session.prefill(&[1, 2, 3], &mut |_, _| {})?;
/// let first = session.sample()?; // drawn on the device
/// let second = session.step()?; // one replay; 4 bytes come back
/// assert_eq!(session.len(), 4); // the last token is drawn and not yet evaluated
/// session.truncate(3); // back to behind the prompt
/// # let _ = (first, second);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    pub(super) model: Arc<Model>,
    pub(super) stream: Stream,
    pub(super) options: SessionOptions,
    pub(super) context: u32,
    pub(super) caches: Vec<Arc<Cache>>,
    /// The tokens of the sequence; their keys and values are in the caches.
    pub(super) history: Vec<u32>,
    /// The token drawn last, which the next step appends.
    pub(super) drawn: Option<u32>,
    pub(super) state: SamplerState,
    sampler: Arc<Sampler>,
    pub(super) last: Option<Last>,
    pub(super) decode: Option<Decode>,
    /// The decode step as one kernel, with the tokens that end its runs.
    pub(super) persistent: Option<(Vec<u32>, Persistent)>,
    pub(super) watch: Watch,
    pub(super) lookup: Lookup,
    /// The settings of the sampler.
    pub(super) config: SamplerConfig,
    /// Whether the counters on the device are those of an earlier token.
    pub(super) stale: bool,
}

/// Logits of the last position, on the device.
pub(super) enum Last {
    Prefill(Evaluated),
    Decode,
    /// Row `row` of a pass that checked guesses.
    Checked {
        rows: u32,
        row: u32,
    },
}

/// The plan of a decode step.
pub(super) struct Decode {
    pub(super) plan: Plan,
    pub(super) replay: Option<Replay>,
    logits: Node,
}

impl Session {
    /// An empty session with a greedy sampler: allocates the cache.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(model: &Arc<Model>, options: &SessionOptions) -> Result<Session, Error> {
        let config = model.config();
        let context = match options.context {
            0 => config.context.min(DEFAULT_CONTEXT),
            context => context,
        };
        let stream = model.device().stream()?;
        let needs = CacheNeeds {
            sequences: 1,
            context,
            positions: context.into(),
            ty: cache_type(options.precision),
        };
        let shape = [config.kv_heads, context, config.head_dim];
        let cache = |layer| {
            let cache = Cache::new(&stream, needs.ty, shape).map(Arc::new);
            cache.map_err(|error| needs.refused(config, layer, error))
        };
        let caches = (0..config.layers).map(cache).collect::<Result<_, _>>()?;
        let lookup = Lookup::new(&stream, options)?;
        let state = SamplerState::new(&stream, WINDOW, OUTPUT)?;
        let sampler = Arc::new(state.sampler());
        let mut session = Session {
            model: Arc::clone(model),
            stream,
            options: *options,
            context,
            caches,
            history: Vec::new(),
            drawn: None,
            state,
            sampler,
            last: None,
            decode: None,
            watch: Watch::default(),
            persistent: None,
            lookup,
            config: SamplerConfig::default(),
            stale: false,
        };
        session.sampler(&SamplerConfig::default())?;
        Ok(session)
    }

    /// Tokens in the cache.
    pub fn len(&self) -> u32 {
        self.history.len() as u32
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.history.is_empty()
    }

    /// The stream its work is enqueued on: for events around that work, and times of its kernels.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Has decode steps run this way from the next one on, which is planned anew.
    pub fn run_by(&mut self, run: Run) {
        self.options.run = run;
        self.forget_steps();
    }

    /// Drops the plans of a step, and the logits that are in their memory.
    fn forget_steps(&mut self) {
        (self.decode, self.persistent) = (None, None);
        if let Some(Last::Decode) = self.last {
            self.last = None;
        }
    }

    /// Shows `observer` every parameter now, and every value of the passes that follow, until it is `None`. Steps then run
    /// launch by launch, and wait, also where [`SessionOptions::run`] asks for another way.
    ///
    /// # Errors
    /// Those of planning a step; device errors.
    pub fn observe(&mut self, observer: Option<SharedObserver>) -> Result<(), Error> {
        self.watch.observer = observer;
        self.forget_steps();
        if let Some(observer) = self.watch.observer.clone() {
            let decode = self.plan_decode()?;
            let decode = self.decode.insert(decode);
            decode
                .plan
                .observe_parameters(&self.stream, &mut *lock(&observer))?;
        }
        Ok(())
    }

    /// Gives `dispatch` every operation of the passes that follow before the library's kernels run it, until it is `None`.
    /// Passes then run launch by launch, also where [`SessionOptions::run`] asks for another way; where somebody observes,
    /// nobody dispatches.
    pub fn dispatch(&mut self, dispatch: Option<SharedDispatch>) {
        self.watch.dispatch = dispatch;
    }

    /// A plan; where somebody observes, one in which every operation has a value to be seen.
    pub(super) fn plan(&self, graph: &Graph) -> Result<Plan, Error> {
        let precision = self.options.precision;
        Ok(match &self.watch.observer {
            Some(_) => Plan::plain(&self.stream, graph, precision)?,
            None => Plan::new(&self.stream, graph, precision)?,
        })
    }

    /// Launch by launch, watched or not.
    pub(super) fn run(&self, pass: &str, plan: &Plan) -> Result<(), Error> {
        self.watch.run(&self.stream, pass, plan)
    }

    /// The tokens in the cache.
    pub fn tokens(&self) -> &[u32] {
        &self.history
    }

    /// Positions the cache holds.
    pub fn context(&self) -> u32 {
        self.context
    }

    /// Bytes of the cache.
    pub fn cache_bytes(&self) -> u64 {
        self.caches.iter().map(|cache| cache.bytes()).sum()
    }

    /// Forgets all but the first `len` tokens. No transfer.
    pub fn truncate(&mut self, len: u32) {
        if len < self.len() {
            self.history.truncate(len as usize);
            self.last = None;
            self.drawn = None;
        }
    }

    /// Forgets all tokens. No transfer.
    pub fn reset(&mut self) {
        self.history.clear();
        self.last = None;
        self.drawn = None;
    }

    pub(super) fn check(&self, ids: &[u32]) -> Result<(), Error> {
        let vocab = self.model.config().vocab;
        if let Some(id) = ids.iter().find(|id| **id >= vocab) {
            return Err(Error::TokenId {
                what: "token id",
                id: *id,
                vocab: vocab as usize,
            });
        }
        if ids.len() as u64 + u64::from(self.len()) > u64::from(self.context) {
            let (context, have, more) = (self.context, self.len(), ids.len());
            return Err(Error::ContextFull {
                context,
                have,
                more,
            });
        }
        Ok(())
    }

    /// The logits of the last position: one transfer.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a prompt, [`Error::NotFinite`].
    pub fn logits(&mut self) -> Result<Vec<f32>, Error> {
        let logits = self.last_logits()?;
        check_logits(&logits, self.len().saturating_sub(1))?;
        Ok(logits)
    }

    /// The last logits, finite or not.
    fn last_logits(&self) -> Result<Vec<f32>, Error> {
        let slice = match (&self.last, &self.decode) {
            (Some(Last::Prefill(Evaluated { plan, logits })), _) => plan.floats(*logits)?,
            (Some(Last::Decode), Some(decode)) => decode.plan.floats(decode.logits)?,
            (Some(Last::Checked { rows, row }), _) => self.lookup.logits(*rows, *row)?,
            (None | Some(Last::Decode), _) => return Err(Error::NoLogits),
        };
        Ok(self.stream.download(slice)?.wait()?)
    }

    /// Sets how tokens are drawn from now on.
    ///
    /// # Errors
    /// A setting out of its range.
    pub fn sampler(&mut self, config: &SamplerConfig) -> Result<(), Error> {
        config.validate()?;
        self.config = *config;
        let SamplerConfig {
            temperature,
            top_k,
            top_p,
            min_p,
            repeat_penalty,
            seed,
        } = *config;
        let settings = Settings {
            temperature,
            top_p,
            min_p,
            penalty: repeat_penalty,
            top_k,
            seed,
        };
        self.stream
            .upload(&mut self.state.floats, &settings.floats())?;
        self.stream
            .upload(&mut self.state.integers, &settings.integers())?;
        Ok(())
    }

    /// Draws a token from the last logits, on the device: 4 bytes come back. After a step it is the token of that step.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a prompt, [`Error::NotFinite`] where no token can be drawn.
    pub fn sample(&mut self) -> Result<u32, Error> {
        if let Some(drawn) = self.drawn {
            return Ok(drawn);
        }
        if !matches!(self.last, Some(Last::Prefill(_))) {
            return Err(Error::NoLogits);
        }
        // The counters as if the last token of the prompt had been drawn.
        self.counters(None)?;
        let Some(Last::Prefill(Evaluated { plan, logits })) = &self.last else {
            return Err(Error::NoLogits);
        };
        let mut row: Buffer<f32> = self.stream.alloc(self.model.config().vocab as usize)?;
        self.stream.copy(&mut row, plan.floats(*logits)?)?;
        let mut graph = Graph::new();
        let row = graph.floats(&row, 1, self.model.config().vocab)?;
        graph.draw(row, &self.sampler)?;
        let plan = self.plan(&graph)?;
        self.run("sample", &plan)?;
        self.token()
    }

    /// Writes what the device knows of the sequence: its length, its last tokens, the token drawn last.
    fn counters(&mut self, drawn: Option<u32>) -> Result<(), Error> {
        // The plan of the logits reads nothing of this: it may still run.
        let tokens = || self.history.iter().copied().chain(drawn);
        let length = tokens().count() as u32;
        let mut recent = [0; WINDOW];
        let skipped = (length as usize).saturating_sub(WINDOW);
        for (at, id) in tokens().enumerate().skip(skipped) {
            recent[at % WINDOW] = id;
        }
        self.stream.upload(&mut self.state.recent, &recent)?;
        self.stream.upload(&mut self.state.seen, &[length])?;
        self.stream
            .upload(&mut self.state.position, &[length - 1])?;
        self.stream.upload(&mut self.state.length, &[length])?;
        if let Some(drawn) = drawn {
            self.stream.upload(&mut self.state.token, &[drawn])?;
        }
        self.stale = false;
        Ok(())
    }

    fn token(&mut self) -> Result<u32, Error> {
        let id = self.stream.download(&self.state.token)?.wait()?[0];
        self.take(id)?;
        Ok(id)
    }

    /// Takes what was drawn behind the tokens of the cache.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if that is no token.
    pub(super) fn take(&mut self, drawn: u32) -> Result<(), Error> {
        self.drawn = (drawn != NOT_FINITE).then_some(drawn);
        if self.drawn.is_some() {
            return Ok(());
        }
        // Only now they cross, to be counted.
        let found = self.last_logits().ok();
        Err(Error::NotFinite {
            sequence: None,
            position: self.len().saturating_sub(1),
            found: found.map(|logits| count_odd(&logits)),
        })
    }

    /// Appends the token that was drawn last and draws the next: nothing goes up, 4 bytes come back.
    ///
    /// # Errors
    /// [`Error::ContextFull`] where the cache is full, [`Error::NoLogits`] before a token was drawn, [`Error::NotFinite`]
    /// where none can be drawn.
    pub fn step(&mut self) -> Result<u32, Error> {
        let drawn = self.drawn.ok_or(Error::NoLogits)?;
        if self.len() == self.context {
            return Err(Error::ContextFull {
                context: self.context,
                have: self.len(),
                more: 1,
            });
        }
        if self.stale {
            self.counters(Some(drawn))?;
        }
        if self.decode.is_none() {
            self.decode = Some(self.plan_decode()?);
        }
        let decode = self.decode.as_ref().ok_or(Error::NoLogits)?;
        match &decode.replay {
            Some(replay) if !self.watch.is_on() => self.stream.replay(replay)?,
            Some(_) | None => self.run("step", &decode.plan)?,
        }
        self.history.push(drawn);
        self.last = Some(Last::Decode);
        self.token()
    }

    /// The graph of a decode step, as it is built.
    ///
    /// # Errors
    /// Those of building it.
    pub fn decode_graph(&self) -> Result<Graph, Error> {
        Ok(self.build_decode()?.0)
    }

    fn build_decode(&self) -> Result<(Graph, Node), Error> {
        let mut graph = Graph::new();
        let inputs = Inputs {
            ids: graph.ids(&self.state.token),
            positions: graph.ids(&self.state.position),
            visible: graph.ids(&self.state.length),
            start: None,
        };
        inputs.name(&mut graph)?;
        let hidden = hidden(&mut graph, &self.model, Memory::Own(&self.caches), inputs)?;
        let logits = logits(&mut graph, &self.model, hidden)?;
        graph.draw(logits, &self.sampler)?;
        graph.keep(logits)?;
        Ok((graph, logits))
    }

    pub(super) fn plan_decode(&self) -> Result<Decode, Error> {
        let (graph, logits) = self.build_decode()?;
        let plan = self.plan(&graph)?;
        let replay = match self.options.run {
            Run::Eager | Run::Persistent => None,
            Run::Replay => Some(plan.capture(&self.stream)?),
        };
        Ok(Decode {
            plan,
            replay,
            logits,
        })
    }

    /// Launches of a decode step.
    ///
    /// # Errors
    /// Those of planning it.
    pub fn launches_per_step(&mut self) -> Result<u64, Error> {
        if self.decode.is_none() {
            self.decode = Some(self.plan_decode()?);
        }
        Ok(self
            .decode
            .as_ref()
            .map_or(0, |decode| decode.plan.report().launches as u64))
    }
}
