//! Sessions: one sequence with its cache, evaluated in chunks and continued token by token.

use super::{
    forward::{Inputs, hidden, logits},
    model::Model,
};
use crate::{Error, sampling::SamplerConfig};
use std::sync::Arc;
use warpsmith_device::{Buffer, Replay, Stream};
use warpsmith_graph::{Cache, Graph, Node, Plan, Precision};
use warpsmith_library::attention::CacheType;

/// How decode steps run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// A launch for each operation.
    Eager,
    /// One replay of the captured launches.
    #[default]
    Replay,
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
}

/// Tokens of a prompt that are evaluated together.
const CHUNK: usize = 512;
/// The context of a session that does not say.
const DEFAULT_CONTEXT: u32 = 4096;

/// One sequence on a device.
pub struct Session {
    model: Arc<Model>,
    stream: Stream,
    options: SessionOptions,
    context: u32,
    caches: Vec<Arc<Cache>>,
    length: u32,
    /// The last token, its position, and the keys that it sees, as a decode step reads them.
    token: Buffer<u32>,
    position: Buffer<u32>,
    visible: Buffer<u32>,
    last: Option<Last>,
    decode: Option<Decode>,
}

/// Logits of the last position, on the device.
enum Last {
    Prefill {
        plan: Plan,
        logits: Node,
        best: Node,
    },
    Decode,
}

/// The plan of a decode step.
struct Decode {
    plan: Plan,
    replay: Option<Replay>,
    logits: Node,
    best: Node,
}

impl Session {
    /// An empty session: allocates the cache; no transfer.
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
        let ty = match options.precision {
            Precision::Exact => CacheType::F32,
            Precision::Fast => CacheType::F16,
        };
        let shape = [config.kv_heads, context, config.head_dim];
        let caches = (0..config.layers)
            .map(|_| Cache::new(&stream, ty, shape).map(Arc::new))
            .collect::<Result<_, _>>()?;
        let (token, position, visible) = (stream.alloc(1)?, stream.alloc(1)?, stream.alloc(1)?);
        Ok(Session {
            model: Arc::clone(model),
            stream,
            options: *options,
            context,
            caches,
            length: 0,
            token,
            position,
            visible,
            last: None,
            decode: None,
        })
    }

    /// Tokens in the cache.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
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
        if len < self.length {
            self.length = len;
            self.last = None;
        }
    }

    /// Forgets all tokens. No transfer.
    pub fn reset(&mut self) {
        self.truncate(0);
        self.last = None;
    }

    fn check(&self, ids: &[u32]) -> Result<(), Error> {
        let vocab = self.model.config().vocab;
        if let Some(id) = ids.iter().find(|id| **id >= vocab) {
            return Err(Error::TokenId {
                what: "token id",
                id: *id,
                vocab: vocab as usize,
            });
        }
        if ids.len() as u64 + u64::from(self.length) > u64::from(self.context) {
            let (context, have, more) = (self.context, self.length, ids.len());
            return Err(Error::ContextFull {
                context,
                have,
                more,
            });
        }
        Ok(())
    }

    /// Evaluates a chunk; `heads` says of how many last rows logits are computed.
    fn chunk(&mut self, ids: &[u32], heads: u32) -> Result<(Plan, Node, Node), Error> {
        let rows = ids.len() as u32;
        let start = self.length;
        let positions: Vec<u32> = (start..start + rows).collect();
        let visible: Vec<u32> = positions.iter().map(|position| position + 1).collect();
        let (ids, positions, visible) = (
            self.stream.upload_new(ids)?,
            self.stream.upload_new(&positions)?,
            self.stream.upload_new(&visible)?,
        );
        let mut graph = Graph::new();
        let inputs = Inputs {
            ids: graph.ids(&ids),
            positions: graph.ids(&positions),
            visible: graph.ids(&visible),
            start: Some(start),
        };
        let hidden = hidden(&mut graph, &self.model, &self.caches, inputs)?;
        let rows_of_interest = graph.rows(hidden, rows - heads, heads)?;
        let logits = logits(&mut graph, &self.model, rows_of_interest)?;
        let best = graph.argmax(logits)?;
        graph.keep(logits)?;
        graph.keep(best)?;
        let plan = Plan::new(&self.stream, &graph, self.options.precision)?;
        plan.run(&self.stream)?;
        self.length += rows;
        Ok((plan, logits, best))
    }

    /// Appends tokens and computes the logits of the last one.
    ///
    /// # Errors
    /// [`Error::ContextFull`] and [`Error::TokenId`] before anything is written; device errors.
    pub fn prefill(
        &mut self,
        ids: &[u32],
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Error> {
        self.check(ids)?;
        let mut done = 0;
        for chunk in ids.chunks(CHUNK) {
            let (plan, logits, best) = self.chunk(chunk, 1)?;
            done += chunk.len();
            self.stream.synchronize()?;
            progress(done, ids.len());
            self.last = Some(Last::Prefill { plan, logits, best });
        }
        Ok(())
    }

    /// Appends tokens and gives the logits of every one: `each(first position, rows of logits)`.
    ///
    /// # Errors
    /// As [`Session::prefill`].
    pub fn evaluate(
        &mut self,
        ids: &[u32],
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Error> {
        self.check(ids)?;
        for chunk in ids.chunks(CHUNK) {
            let first = self.length as usize;
            let (plan, logits, best) = self.chunk(chunk, chunk.len() as u32)?;
            let rows = self.stream.download(plan.floats(logits)?)?.wait()?;
            each(first, &rows);
            let _ = best;
            self.last = None;
        }
        Ok(())
    }

    /// The logits of the last position: one transfer.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a prompt.
    pub fn logits(&mut self) -> Result<Vec<f32>, Error> {
        let slice = match (&self.last, &self.decode) {
            (
                Some(Last::Prefill {
                    plan,
                    logits,
                    best: _,
                }),
                _,
            ) => plan.floats(*logits)?,
            (Some(Last::Decode), Some(decode)) => decode.plan.floats(decode.logits)?,
            (None | Some(Last::Decode), _) => return Err(Error::NoLogits),
        };
        Ok(self.stream.download(slice)?.wait()?)
    }

    /// Sets how tokens are drawn.
    ///
    /// # Errors
    /// A setting out of its range.
    pub fn sampler(&mut self, config: &SamplerConfig) -> Result<(), Error> {
        config.validate()
    }

    /// Draws a token from the last logits, on the device: 4 bytes come back.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a prompt.
    pub fn sample(&mut self) -> Result<u32, Error> {
        let slice = match (&self.last, &self.decode) {
            (
                Some(Last::Prefill {
                    plan,
                    logits: _,
                    best,
                }),
                _,
            ) => plan.ids(*best)?,
            (Some(Last::Decode), Some(decode)) => decode.plan.ids(decode.best)?,
            (None | Some(Last::Decode), _) => return Err(Error::NoLogits),
        };
        let id = self.stream.download(slice)?.wait()?[0];
        self.stream.upload(&mut self.token, &[id])?;
        Ok(id)
    }

    /// Appends the token that was drawn last and draws the next.
    ///
    /// # Errors
    /// [`Error::ContextFull`] where the cache is full, [`Error::NoLogits`] before a prompt.
    pub fn step(&mut self) -> Result<u32, Error> {
        if self.length == self.context {
            return Err(Error::ContextFull {
                context: self.context,
                have: self.length,
                more: 1,
            });
        }
        if self.last.is_none() {
            return Err(Error::NoLogits);
        }
        self.stream.upload(&mut self.position, &[self.length])?;
        self.stream.upload(&mut self.visible, &[self.length + 1])?;
        if self.decode.is_none() {
            self.decode = Some(self.plan_decode()?);
        }
        let decode = self.decode.as_ref().ok_or(Error::NoLogits)?;
        match &decode.replay {
            Some(replay) => self.stream.replay(replay)?,
            None => decode.plan.run(&self.stream)?,
        }
        self.length += 1;
        self.last = Some(Last::Decode);
        self.sample()
    }

    fn plan_decode(&self) -> Result<Decode, Error> {
        let mut graph = Graph::new();
        let inputs = Inputs {
            ids: graph.ids(&self.token),
            positions: graph.ids(&self.position),
            visible: graph.ids(&self.visible),
            start: None,
        };
        let hidden = hidden(&mut graph, &self.model, &self.caches, inputs)?;
        let logits = logits(&mut graph, &self.model, hidden)?;
        let best = graph.argmax(logits)?;
        graph.keep(logits)?;
        graph.keep(best)?;
        let plan = Plan::new(&self.stream, &graph, self.options.precision)?;
        let replay = match self.options.run {
            Run::Eager => None,
            Run::Replay => Some(plan.capture(&self.stream)?),
        };
        Ok(Decode {
            plan,
            replay,
            logits,
            best,
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
