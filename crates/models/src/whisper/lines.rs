//! Lines: sequences that are decoded together, one greedy one, several samples, or beams.

use super::{
    decoder::Inputs,
    kv::KvCache,
    session::{Candidate, Pass, Rulebook, Shared},
};
use crate::{Error, llama::Run};
use std::sync::Arc;
use warpsmith_device::Stream;
use warpsmith_graph::{At, Decision, Graph, LineSizes, LineState, Persistent, Until};
use warpsmith_library::{
    decoding::{Parents, Pick, Rules},
    finite::NOT_FINITE,
};

/// A way in which sequences are decoded together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// So many sequences, each drawn on its own: at temperature 0 the most probable tokens.
    Samples(u32),
    /// So many beams; the host picks among the candidates of each.
    Beams(u32),
    /// No sequence: the most probable of these tokens after a prompt.
    Among {
        /// The tokens.
        ids: Vec<u32>,
        /// How many come back.
        count: u32,
    },
}

/// The most beams whose candidates and choices are 64 bytes for each.
pub const MOST_BEAMS: u32 = 6;

impl Mode {
    /// Sequences.
    pub fn rows(&self) -> u32 {
        match self {
            Mode::Samples(rows) | Mode::Beams(rows) => *rows,
            Mode::Among { .. } => 1,
        }
    }

    fn pick(&self) -> Pick {
        match self {
            Mode::Samples(_) => Pick::Draw,
            Mode::Beams(rows) => Pick::Top(rows + 1),
            Mode::Among { ids: _, count } => Pick::Top(*count),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let (what, got, most) = match self {
            Mode::Samples(rows) => ("samples", *rows, 32),
            Mode::Beams(rows) => ("beams", *rows, MOST_BEAMS),
            Mode::Among { ids: _, count } => ("candidates", *count, 16),
        };
        if (1..=most).contains(&got) {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: format!("{got} {what}, expected 1 to {most}"),
        })
    }
}

/// What a row has in the place of a token where none is allowed.
const NO_TOKEN: u32 = u32::MAX;

/// Sequences with their plans.
pub(crate) struct LineSet {
    mode: Mode,
    state: LineState,
    first: Pass,
    step: Option<Pass>,
    /// All steps of a window in one launch: of a single sequence, if asked for.
    persistent: Option<Persistent>,
}

fn mask(ids: &[u32], vocab: u32) -> Result<Vec<u32>, Error> {
    let mut words = vec![0; vocab.div_ceil(32) as usize];
    for id in ids {
        let word = words.get_mut(*id as usize / 32).filter(|_| *id < vocab);
        let word = word.ok_or(Error::TokenId {
            what: "suppressed token",
            id: *id,
            vocab: vocab as usize,
        })?;
        *word |= 1 << (id % 32);
    }
    Ok(words)
}

/// Refuses what is no token.
fn check(id: u32, sequence: Option<u64>, position: u32) -> Result<(), Error> {
    match id {
        NOT_FINITE => Err(Error::NotFinite {
            sequence,
            position,
            found: None,
        }),
        NO_TOKEN => Err(Error::NoToken { position }),
        _ => Ok(()),
    }
}

impl LineSet {
    pub(crate) fn new(shared: &Shared, cache: &KvCache, mode: &Mode) -> Result<LineSet, Error> {
        mode.check()?;
        let dims = shared.model.dims();
        let stream = &shared.stream;
        let Rulebook {
            rules,
            vocabulary,
            suppress,
            suppress_first,
            no_speech: _,
        } = &shared.options.rules;
        let (rows, pick) = (mode.rows(), mode.pick());
        let mut state = LineState::new(
            stream,
            LineSizes {
                rows,
                max_len: cache.capacity(),
                vocab: dims.n_vocab,
                candidates: pick.count(),
            },
        )?;
        let (mut banned, mut banned_first) = (
            mask(suppress, dims.n_vocab)?,
            mask(suppress_first, dims.n_vocab)?,
        );
        let mut rules = *rules;
        if let Mode::Among { ids, count: _ } = mode {
            banned = mask(ids, dims.n_vocab)?.iter().map(|word| !word).collect();
            banned_first = vec![0; banned.len()];
            rules = Rules::Free;
        }
        stream.upload(&mut state.banned, &banned)?;
        stream.upload(&mut state.banned_first, &banned_first)?;
        let lines = Arc::new(state.lines(vocabulary.timestamps));
        let decision = || Decision {
            lines: Arc::clone(&lines),
            rules,
            pick,
            vocabulary: *vocabulary,
        };
        let mut graph = Graph::new();
        let logits = graph.floats(&shared.logits, 1, dims.n_vocab)?;
        graph.name(logits, "logits")?;
        graph.decide(logits, decision())?;
        let first = shared.pass(&graph)?;
        let step = match mode {
            Mode::Among { .. } => None,
            Mode::Samples(_) | Mode::Beams(_) => {
                let parents = match pick {
                    Pick::Draw => Parents::Own,
                    Pick::Top(_) => Parents::Chosen,
                };
                let frames = shared.frames(rows)?;
                let mut graph = Graph::new();
                let ids = graph.follow(&lines, parents)?;
                let positions = graph.ids(&state.positions);
                let one = rows == 1;
                let inputs = Inputs {
                    ids,
                    places: positions,
                    to: if one {
                        At::Positions(positions)
                    } else {
                        At::Rows(positions)
                    },
                    visible: graph.ids(&state.visible),
                    sources: (!one).then(|| graph.ids(&state.sources)),
                    frames: graph.ids(&frames),
                    own: cache,
                    audio: &shared.audio,
                };
                let logits = shared.logits_of(&mut graph, inputs, None)?;
                graph.decide(logits, decision())?;
                Some(shared.pass(&graph)?)
            }
        };
        let persistent = match (mode, &step, shared.options.run) {
            (Mode::Samples(1), Some(step), Run::Persistent) => {
                let until = Until {
                    token: &state.choices,
                    position: &state.positions,
                    // Nothing follows where no token can be drawn.
                    ends: &[vocabulary.end, NOT_FINITE, NO_TOKEN],
                    // A step leaves the position of the token that it took.
                    context: cache.capacity() - 1,
                    most: cache.capacity(),
                };
                let shape = shared.options.shape;
                Some(Persistent::new(stream, &step.plan, &until, shape)?)
            }
            _ => None,
        };
        Ok(LineSet {
            mode: mode.clone(),
            state,
            first,
            step,
            persistent,
        })
    }

    pub(crate) fn is_among(&self) -> bool {
        matches!(self.mode, Mode::Among { .. })
    }

    pub(crate) fn launches(&self) -> usize {
        self.step.as_ref().map_or(0, Pass::launches)
    }

    /// Starts all rows after a prompt of `len` tokens.
    pub(crate) fn first(
        &mut self,
        shared: &Shared,
        len: u32,
    ) -> Result<Vec<Vec<Candidate>>, Error> {
        let stream = &shared.stream;
        let rows = self.mode.rows() as usize;
        stream.fill_zero(&mut self.state.history)?;
        stream.fill_zero(&mut self.state.sources)?;
        stream.upload(&mut self.state.positions, &vec![len - 1; rows])?;
        stream.upload(&mut self.state.visible, &vec![len; rows])?;
        shared.run("first", &self.first)?;
        self.read(stream, len - 1)
    }

    /// The next step, of tokens at `position`.
    pub(crate) fn step(
        &mut self,
        shared: &Shared,
        position: u32,
        choices: Option<&[[u32; 2]]>,
    ) -> Result<Vec<Vec<Candidate>>, Error> {
        let stream = &shared.stream;
        let rows = self.mode.rows() as usize;
        if let Mode::Beams(_) = self.mode {
            let choices = choices.unwrap_or_default();
            super::parts::same("choices of beams", rows, choices.len())?;
            stream.upload(&mut self.state.choices, choices.as_flattened())?;
        }
        let step = self.step.as_ref().ok_or(Error::NoLogits)?;
        shared.run("step", step)?;
        self.read(stream, position)
    }

    /// Takes the first token of the one row and makes at most `most` more in one launch; `None` where that is not how
    /// this mode runs. `each` gets them while the kernel runs. The first one has `position`.
    pub(crate) fn rest(
        &mut self,
        position: u32,
        most: u32,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<Option<u32>, Error> {
        let Some(persistent) = &mut self.persistent else {
            return Ok(None);
        };
        if most == 0 {
            return Ok(Some(0));
        }
        let mut running = persistent.start(most)?;
        let mut words = [0; 2];
        let mut right = Ok(());
        let mut at = position;
        while right.is_ok() && running.record(&mut words)? {
            right = check(words[0], None, at);
            at += 1;
            if right.is_ok() {
                each(Candidate {
                    id: words[0],
                    log_probability: f32::from_bits(words[1]),
                });
            }
        }
        let (_, made) = running.finish()?;
        right.map(|()| Some(made))
    }

    pub(crate) fn draw(
        &mut self,
        stream: &Stream,
        temperature: f32,
        seed: u64,
    ) -> Result<(), Error> {
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return Err(Error::Sampler {
                field: "temperature",
                want: "a number from 0",
                got: temperature,
            });
        }
        let settings = [temperature.to_bits(), seed as u32, (seed >> 32) as u32];
        Ok(stream.upload(&mut self.state.settings, &settings)?)
    }

    /// What came of a decision behind `position`: 8 bytes for each candidate.
    fn read(&self, stream: &Stream, position: u32) -> Result<Vec<Vec<Candidate>>, Error> {
        let (buffer, count) = match self.mode.pick() {
            Pick::Draw => (&self.state.choices, 1),
            Pick::Top(count) => (&self.state.candidates, count as usize),
        };
        let words = stream.download(buffer)?.wait()?;
        let candidate = |pair: &[u32; 2]| Candidate {
            id: pair[0],
            log_probability: f32::from_bits(pair[1]),
        };
        let rows = words.chunks_exact(2 * count);
        let several = self.mode.rows() > 1;
        for (row, words) in (0u64..).zip(rows.clone()) {
            // A beam that leads nowhere leaves its place to others.
            if words[0] != NO_TOKEN || !matches!(self.mode, Mode::Beams(_)) {
                check(words[0], several.then_some(row), position)?;
            }
        }
        Ok(rows
            .map(|row| row.as_chunks::<2>().0.iter().map(candidate).collect())
            .collect())
    }
}
