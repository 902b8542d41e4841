//! Engines: many sequences at once, which join and leave between steps (Orca, Yu et al., 2022), in pages of memory.
//!
//! Running sequences have the first slots: slot r is row r of every array on the device, and of a step. One that leaves
//! is replaced by the last one, within the device. What a step needs of the host is an entry of the table where a
//! sequence begins a new page; what comes back is a token of each sequence.

mod bias;
mod extend;
mod join;
mod options;
mod passes;
mod pool;
mod sequence;
mod step;

pub use options::{EngineOptions, EngineReport, Event, Penalties, Request, SequenceId, WhenFull};

use super::{
    cache::{CacheNeeds, cache_type},
    model::Model,
};
use crate::{Error, sampling::SamplerConfig, watch::Watch};
use bias::Bias;
use passes::{Over, Passes, With};
use pool::Pool;
use sequence::Sequence;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use warpsmith_device::{Buffer, Stream};
use warpsmith_graph::{PageSizes, PageStore, Pages, SamplerState, SharedDispatch};
use warpsmith_library::sample::Settings;

/// Tokens that the repetition penalty looks back at.
const WINDOW: usize = 64;
/// The context of an engine that does not say.
const DEFAULT_CONTEXT: u32 = 4096;
/// The position of a row that is nobody's: nothing is written for it.
const NOWHERE: u32 = u32::MAX;

/// Many sequences of one model. A server calls [`Engine::submit`] as requests come and [`Engine::step`] in a loop.
///
/// ```
/// use std::path::Path;
/// use warpsmith_device::{Device, Selector};
/// use warpsmith_models::llama::{Bundle, Engine, EngineOptions, Event, Request};
///
/// # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/synth/tiny-llama3.gguf"));
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let bundle = Bundle::load(&device, path, &mut |_, _| {})?;
/// let options = EngineOptions { sequences: 4, context: 64, ..EngineOptions::default() };
/// let mut engine = Engine::new(&bundle.model, &options)?;
/// for prompt in [vec![1, 2, 3], vec![1, 2, 9, 9]] {
///     engine.submit(Request { prompt, max_tokens: 5, ..Request::default() })?;
/// }
/// let (mut tokens, mut finished) = (0, 0);
/// while finished < 2 {
///     for event in engine.step()? {
///         match event {
///             Event::Token { .. } => tokens += 1,
///             Event::Finished { .. } => finished += 1,
///             Event::Failed { id, error } => panic!("{id}: {error}"),
///         }
///     }
/// }
/// assert_eq!(tokens, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    model: Arc<Model>,
    stream: Stream,
    options: EngineOptions,
    /// Pages of one sequence.
    blocks: usize,
    stores: Vec<PageStore>,
    layers: Vec<Arc<Pages>>,
    /// The pages of each slot.
    table: Buffer<u32>,
    state: SamplerState,
    /// What is added to logits; from the first sequence on that asks for it.
    bias: Option<Bias>,
    /// What the tokens of the last step were drawn from, of sequences that want to know.
    logits: BTreeMap<SequenceId, Vec<f32>>,
    passes: Passes,
    watch: Watch,
    pool: Pool,
    /// The slot behind all others, where a sequence is while its prompt is evaluated.
    staging: u32,
    waiting: VecDeque<Sequence>,
    /// Those that ran and have tokens to be evaluated first, with their pages.
    extended: VecDeque<Sequence>,
    joining: Option<Sequence>,
    running: Vec<Sequence>,
    /// Events of what never runs.
    early: Vec<Event>,
    next: u64,
    joins: u64,
    counts: EngineReport,
}

impl Engine {
    /// An engine without sequences: allocates all pages.
    ///
    /// # Errors
    /// [`Error::EngineOption`]; out of memory.
    pub fn new(model: &Arc<Model>, options: &EngineOptions) -> Result<Engine, Error> {
        options.validate()?;
        let mut options = *options;
        let config = model.config();
        if options.context == 0 {
            options.context = config.context.min(DEFAULT_CONTEXT);
        }
        let blocks = options.context.div_ceil(options.page);
        if options.pages == 0 {
            options.pages = blocks.saturating_mul(options.sequences);
        }
        let stream = model.device().stream()?;
        let needs = CacheNeeds {
            sequences: options.sequences,
            context: options.context,
            positions: u64::from(options.pages) * u64::from(options.page),
            ty: cache_type(options.precision),
        };
        let sizes = PageSizes {
            ty: needs.ty,
            pages: options.pages,
            page: options.page,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim,
        };
        // A step has the rows of a bucket.
        let staging = passes::bucket(options.sequences);
        let slots = staging + 1;
        let mut table = stream.alloc(slots as usize * blocks as usize)?;
        stream.fill_zero(&mut table)?;
        let (mut stores, mut layers) = (Vec::new(), Vec::new());
        for layer in 0..config.layers {
            let store = PageStore::new(&stream, sizes)
                .map_err(|error| needs.refused(config, layer, error))?;
            layers.push(Arc::new(store.pages(&table, slots)?));
            stores.push(store);
        }
        let mut state = SamplerState::of_rows(&stream, slots, WINDOW, 1)?;
        stream.upload(&mut state.position, &vec![NOWHERE; slots as usize])?;
        for numbers in [&mut state.integers, &mut state.token, &mut state.length] {
            stream.fill_zero(numbers)?;
        }
        stream.fill_zero(&mut state.floats)?;
        let counts = EngineReport {
            cache_bytes: stores.iter().map(PageStore::bytes).sum(),
            ..EngineReport::default()
        };
        Ok(Engine {
            model: Arc::clone(model),
            blocks: blocks as usize,
            stores,
            layers,
            table,
            state,
            bias: None,
            logits: BTreeMap::new(),
            passes: Passes::new(&stream, slots)?,
            watch: Watch::default(),
            pool: Pool::new(options.pages),
            staging,
            waiting: VecDeque::new(),
            extended: VecDeque::new(),
            joining: None,
            running: Vec::new(),
            early: Vec::new(),
            next: 0,
            joins: 0,
            counts,
            stream,
            options,
        })
    }

    /// Takes a sequence in; it joins in a later step. No transfer.
    ///
    /// # Errors
    /// An empty prompt, one that the context does not hold, a token that is none, a setting out of its range.
    pub fn submit(&mut self, request: Request) -> Result<SequenceId, Error> {
        request.sampler.validate()?;
        request.penalties.validate()?;
        let (vocab, context) = (self.model.config().vocab, self.options.context);
        let biased = request
            .bias
            .iter()
            .map(|(id, _)| ("token id of a bias", id));
        let all = request.prompt.iter().map(|id| ("token id", id));
        if let Some((what, id)) = all.chain(biased).find(|(_, id)| **id >= vocab) {
            return Err(Error::TokenId {
                what,
                id: *id,
                vocab: vocab as usize,
            });
        }
        let odd = |by: &f32| by.is_nan() || *by == f32::INFINITY;
        if let Some((_, got)) = request.bias.iter().find(|(_, by)| odd(by)) {
            return Err(Error::Sampler {
                field: "bias",
                want: "a number or minus infinity",
                got: *got,
            });
        }
        if request.prompt.is_empty() {
            return Err(Error::NoLogits);
        }
        if request.prompt.len() > context as usize {
            return Err(Error::ContextFull {
                context,
                have: 0,
                more: request.prompt.len(),
            });
        }
        let id = self.name();
        if request.max_tokens == 0 {
            let ended = super::Ended::Length;
            self.early.push(Event::Finished { id, ended });
        } else {
            self.waiting.push_back(Sequence::new(id, request));
        }
        Ok(id)
    }

    fn name(&mut self) -> SequenceId {
        let id = SequenceId(self.next);
        self.next += 1;
        id
    }

    /// A second sequence that goes on from where a running one is, with draws of its own. They share all pages until one
    /// of them writes.
    ///
    /// # Errors
    /// [`Error::NoSequence`] unless it runs, [`Error::NoSlot`] where all places are taken; a setting out of its range.
    pub fn fork(&mut self, id: SequenceId, sampler: &SamplerConfig) -> Result<SequenceId, Error> {
        sampler.validate()?;
        let parent = self.running.iter().position(|other| other.id == id);
        let parent = parent.ok_or(Error::NoSequence { sequence: id.0 })?;
        let slot = self.running.len() as u32;
        if self.taken() == self.options.sequences as usize {
            let sequences = self.options.sequences;
            return Err(Error::NoSlot { sequences });
        }
        self.move_slot(parent as u32, slot)?;
        self.settings(sampler, slot)?;
        let mut sequence = self.running[parent].clone();
        for page in &sequence.pages {
            self.pool.share(*page);
        }
        sequence.id = self.name();
        sequence.sampler = *sampler;
        sequence.joined = self.joined();
        let id = sequence.id;
        self.running.push(sequence);
        Ok(id)
    }

    fn joined(&mut self) -> u64 {
        self.joins += 1;
        self.joins
    }

    /// Ends a sequence, wherever it is; `false` if there is none of that name. No event tells of it.
    ///
    /// # Errors
    /// Device errors.
    pub fn cancel(&mut self, id: SequenceId) -> Result<bool, Error> {
        if let Some(slot) = self.running.iter().position(|other| other.id == id) {
            self.leave(slot)?;
            return Ok(true);
        }
        if let Some(sequence) = self.joining.take_if(|other| other.id == id) {
            self.give(&sequence.pages);
            return Ok(true);
        }
        if let Some(at) = self.extended.iter().position(|other| other.id == id) {
            let sequence = self.extended.remove(at);
            sequence
                .iter()
                .for_each(|sequence| self.give(&sequence.pages));
            return Ok(true);
        }
        let before = self.waiting.len();
        self.waiting.retain(|other| other.id != id);
        Ok(self.waiting.len() < before)
    }

    /// A token for each running sequence, and tokens of prompts, up to [`EngineOptions::prompt_tokens`] where others wait for
    /// them: at most 4 bytes come back for each sequence.
    ///
    /// # Errors
    /// Device errors. What concerns one sequence is an event.
    pub fn step(&mut self) -> Result<Vec<Event>, Error> {
        self.logits.clear();
        let mut events = std::mem::take(&mut self.early);
        self.advance(&mut events)?;
        self.join(&mut events)?;
        Ok(events)
    }

    /// Gives `dispatch` every operation of the passes that follow before the library's kernels run it, until it is `None`.
    /// It is told of passes named `step` and `prompt`, which then run launch by launch.
    pub fn dispatch(&mut self, dispatch: Option<SharedDispatch>) {
        self.watch.dispatch = dispatch;
    }

    /// What the token that the last step gave a sequence was drawn from, before biases and everything else that changes what
    /// is probable: of a sequence that asked for it, see [`Request::logits`].
    pub fn logits(&self, id: SequenceId) -> Option<&[f32]> {
        self.logits.get(&id).map(Vec::as_slice)
    }

    /// Says of which tokens the next one of a sequence is drawn, until it is told otherwise: bit `id % 32` of word
    /// `id / 32` of each token that may come; `None` is all. Others are impossible, whatever biases say. `false` if there is
    /// no sequence of that name. Sends a row of the vocabulary if it runs.
    ///
    /// # Errors
    /// Device errors.
    pub fn mask(&mut self, id: SequenceId, mask: Option<Vec<u32>>) -> Result<bool, Error> {
        if let Some(slot) = self.running.iter().position(|other| other.id == id) {
            self.running[slot].mask = mask;
            self.write_bias(slot)?;
            return Ok(true);
        }
        let others = self.joining.iter_mut().chain(&mut self.waiting);
        let others = others.chain(&mut self.extended);
        let found = others.into_iter().find(|other| other.id == id);
        Ok(match found {
            Some(sequence) => {
                sequence.mask = mask;
                true
            }
            None => false,
        })
    }

    /// Whether no sequence runs or waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty()
            && self.joining.is_none()
            && self.extended.is_empty()
            && self.waiting.is_empty()
            && self.early.is_empty()
    }

    /// Sequences that run.
    pub fn running(&self) -> usize {
        self.running.len() + self.extended.len()
    }

    /// Places that sequences have, or will have.
    fn taken(&self) -> usize {
        self.running.len() + self.extended.len() + usize::from(self.joining.is_some())
    }

    /// Writes what is added to the logits of a running sequence.
    fn write_bias(&mut self, slot: usize) -> Result<(), Error> {
        self.make_bias(self.running[slot].is_biased())?;
        if let Some(bias) = &mut self.bias {
            bias.set(&self.stream, slot, &self.running[slot])?;
        }
        Ok(())
    }

    /// Positions of a sequence.
    pub fn context(&self) -> u32 {
        self.options.context
    }

    /// What it has and did.
    pub fn report(&self) -> EngineReport {
        EngineReport {
            plans: self.passes.plans(),
            pages: self.pool.pages(),
            free_pages: self.pool.free() as u32,
            shared_pages: self.pool.shared() as u32,
            ..self.counts
        }
    }

    /// Enqueues a pass.
    fn pass(&mut self, kind: passes::Kind, rows: u32, with: With) -> Result<(), Error> {
        let over = Over {
            model: &self.model,
            stream: &self.stream,
            options: &self.options,
            layers: &self.layers,
            state: &self.state,
            bias: self.bias.as_ref(),
            watch: &self.watch,
        };
        self.passes.run(&over, kind, rows, with)
    }

    /// Fetches the logits of rows of the pass that ran last, each with whose it is.
    fn fetch(
        &mut self,
        pass: (passes::Kind, u32, With),
        rows: &[(usize, SequenceId)],
    ) -> Result<(), Error> {
        for (row, id) in rows {
            let logits = self.passes.logits(pass, *row)?;
            let logits = self.stream.download(logits)?.wait()?;
            self.logits.insert(*id, logits);
        }
        Ok(())
    }

    /// Writes the settings of a sampler.
    fn settings(&mut self, sampler: &SamplerConfig, slot: u32) -> Result<(), Error> {
        let SamplerConfig {
            temperature,
            top_k,
            top_p,
            min_p,
            repeat_penalty,
            seed,
        } = *sampler;
        let settings = Settings {
            temperature,
            top_p,
            min_p,
            penalty: repeat_penalty,
            top_k,
            seed,
        };
        let floats = settings.floats();
        let start = slot as usize * floats.len();
        let to = self.state.floats.view_mut();
        self.stream
            .upload(to.range(start..start + floats.len())?, &floats)?;
        self.put(slot, |state| &mut state.integers, &settings.integers())
    }

    /// Writes the row of a slot in one of the arrays.
    fn put(
        &mut self,
        slot: u32,
        array: impl FnOnce(&mut SamplerState) -> &mut Buffer<u32>,
        row: &[u32],
    ) -> Result<(), Error> {
        let start = slot as usize * row.len();
        let to = array(&mut self.state).view_mut();
        self.stream
            .upload(to.range(start..start + row.len())?, row)?;
        Ok(())
    }

    /// Copies all that the device knows of a slot to another one.
    fn move_slot(&mut self, from: u32, to: u32) -> Result<(), Error> {
        self.state.copy_row(&self.stream, from, to)?;
        let slots = [from as usize, to as usize];
        let range = |slot: u32| slot as usize * self.blocks..(slot as usize + 1) * self.blocks;
        let mut parts = self.table.disjoint_mut(&[range(from), range(to)])?;
        let (from, to) = parts.split_at_mut(1);
        self.stream.copy(to[0].reborrow(), from[0].view())?;
        if let Some(bias) = &mut self.bias {
            bias.copy(&self.stream, slots[0], slots[1])?;
        }
        Ok(())
    }

    fn give(&mut self, pages: &[u32]) {
        for page in pages {
            self.pool.give(*page);
        }
    }
}
