//! Evaluation: tokens are appended in chunks, with the logits of the last one, of all, or what tokens think of others.

use super::{
    forward::{Inputs, Memory, hidden, logits},
    session::{Last, Session},
};
use crate::Error;
use warpsmith_graph::{Graph, Node, Plan};
use warpsmith_library::finite::drawable;

/// Tokens that are evaluated together.
pub(super) const CHUNK: usize = 512;

/// A chunk that was evaluated.
pub(super) struct Evaluated {
    pub(super) plan: Plan,
    pub(super) logits: Node,
}

/// How many are NaN or infinite, and of how many.
pub(super) fn count_odd(logits: &[f32]) -> [usize; 2] {
    let odd = logits.iter().filter(|x| !x.is_finite());
    [odd.count(), logits.len()]
}

/// Refuses logits, those after `position`, from which no token can be drawn.
pub(super) fn check_logits(logits: &[f32], position: u32) -> Result<(), Error> {
    if drawable(logits) {
        return Ok(());
    }
    Err(Error::NotFinite {
        sequence: None,
        position,
        found: Some(count_odd(logits)),
    })
}

impl Session {
    /// The graph over a chunk, with the logits of its last `heads` rows.
    fn graph_of(&self, ids: &[u32], heads: u32) -> Result<(Graph, Node), Error> {
        let (mut graph, hidden) = self.hidden_of(ids)?;
        let rows_of_interest = graph.rows(hidden, ids.len() as u32 - heads, heads)?;
        let logits = logits(&mut graph, &self.model, rows_of_interest)?;
        Ok((graph, logits))
    }

    /// The graph over a chunk up to the normed hidden states.
    pub(super) fn hidden_of(&self, ids: &[u32]) -> Result<(Graph, Node), Error> {
        let rows = ids.len() as u32;
        let start = self.len();
        let positions: Vec<u32> = (start..start + rows).collect();
        let visible: Vec<u32> = positions.iter().map(|position| position + 1).collect();
        let (tokens, positions, visible) = (
            self.stream.upload_new(ids)?,
            self.stream.upload_new(&positions)?,
            self.stream.upload_new(&visible)?,
        );
        let mut graph = Graph::new();
        let inputs = Inputs {
            ids: graph.ids(&tokens),
            positions: graph.ids(&positions),
            visible: graph.ids(&visible),
            start: Some(start),
        };
        inputs.name(&mut graph)?;
        let hidden = hidden(&mut graph, &self.model, Memory::Own(&self.caches), inputs)?;
        Ok((graph, hidden))
    }

    /// Evaluates a chunk and keeps `kept` of its graph.
    pub(super) fn chunk(
        &mut self,
        ids: &[u32],
        mut graph: Graph,
        kept: Node,
    ) -> Result<Evaluated, Error> {
        graph.keep(kept)?;
        let plan = self.plan(&graph)?;
        self.run("prefill", &plan)?;
        self.history.extend_from_slice(ids);
        self.drawn = None;
        Ok(Evaluated { plan, logits: kept })
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
            let (graph, logits) = self.graph_of(chunk, 1)?;
            let evaluated = self.chunk(chunk, graph, logits)?;
            done += chunk.len();
            self.stream.synchronize()?;
            progress(done, ids.len());
            self.last = Some(Last::Prefill(evaluated));
        }
        Ok(())
    }

    /// Appends tokens and gives the logits of every one: `each(first position, rows of logits)`.
    ///
    /// # Errors
    /// As [`Session::prefill`]; [`Error::NotFinite`] before `each` sees such logits.
    pub fn evaluate(
        &mut self,
        ids: &[u32],
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Error> {
        self.check(ids)?;
        for chunk in ids.chunks(CHUNK) {
            let first = self.history.len();
            self.last = None;
            let (graph, logits) = self.graph_of(chunk, chunk.len() as u32)?;
            let Evaluated { plan, logits } = self.chunk(chunk, graph, logits)?;
            let rows = self.stream.download(plan.floats(logits)?)?.wait()?;
            let each_row = rows.chunks_exact(rows.len() / chunk.len());
            for (position, row) in (first as u32..).zip(each_row) {
                check_logits(row, position)?;
            }
            each(first, &rows);
        }
        Ok(())
    }

    /// Appends tokens and gives the natural logarithm of the probability of `next[i]` behind `ids[i]`, of the logits as they
    /// are. 4 bytes come back for each.
    ///
    /// # Errors
    /// As [`Session::prefill`]; lists of two lengths; [`Error::NotFinite`].
    pub fn score(&mut self, ids: &[u32], next: &[u32]) -> Result<Vec<f32>, Error> {
        self.check(ids)?;
        if ids.len() != next.len() {
            return Err(Error::Size {
                what: "tokens that follow",
                want: ids.len(),
                got: next.len(),
            });
        }
        let vocab = self.model.config().vocab;
        if let Some(id) = next.iter().find(|id| **id >= vocab) {
            return Err(Error::TokenId {
                what: "token that follows",
                id: *id,
                vocab: vocab as usize,
            });
        }
        let mut all = Vec::with_capacity(ids.len());
        for (ids, next) in ids.chunks(CHUNK).zip(next.chunks(CHUNK)) {
            let first = self.len();
            self.last = None;
            let (mut graph, logits) = self.graph_of(ids, ids.len() as u32)?;
            let wanted = self.stream.upload_new(next)?;
            let wanted = graph.ids(&wanted);
            let found = graph.log_probability(logits, wanted, vocab)?;
            let Evaluated {
                plan,
                logits: found,
            } = self.chunk(ids, graph, found)?;
            let found = self.stream.download(plan.floats(found)?)?.wait()?;
            if let Some(at) = found.iter().position(|found| found.is_nan()) {
                return Err(Error::NotFinite {
                    sequence: None,
                    position: first + at as u32,
                    found: None,
                });
            }
            all.extend(found);
        }
        Ok(all)
    }
}
