//! Biases: what is added to the logits of sequences before tokens are drawn, a row of the vocabulary for each slot. Minus
//! infinity forbids a token.

use super::sequence::Sequence;
use crate::Error;
use std::ops::Range;
use warpsmith_device::{Buffer, Stream};
use warpsmith_graph::{Graph, Node};

/// A row for each slot on the device, and which of them are not all zero.
pub(super) struct Bias {
    rows: Buffer<f32>,
    vocab: u32,
    set: Vec<bool>,
}

impl Bias {
    /// Rows of zeros.
    pub(super) fn new(stream: &Stream, slots: u32, vocab: u32) -> Result<Bias, Error> {
        let mut rows = stream.alloc(slots as usize * vocab as usize)?;
        stream.fill_zero(&mut rows)?;
        Ok(Bias {
            rows,
            vocab,
            set: vec![false; slots as usize],
        })
    }

    /// Whether one of these slots has a bias.
    pub(super) fn is_any(&self, slots: Range<usize>) -> bool {
        self.set[slots].contains(&true)
    }

    /// Writes the row of a sequence in its slot: one transfer where it changes.
    pub(super) fn set(
        &mut self,
        stream: &Stream,
        slot: usize,
        sequence: &Sequence,
    ) -> Result<(), Error> {
        let needed = sequence.is_biased();
        if !needed && !self.set[slot] {
            return Ok(());
        }
        let row = sequence.bias_row(self.vocab as usize);
        let range = self.range(slot);
        stream.upload(self.rows.view_mut().range(range)?, &row)?;
        self.set[slot] = needed;
        Ok(())
    }

    /// Copies the row of one slot to another one, within the device.
    pub(super) fn copy(&mut self, stream: &Stream, from: usize, to: usize) -> Result<(), Error> {
        if self.set[from] || self.set[to] {
            let ranges = [self.range(from), self.range(to)];
            let mut parts = self.rows.disjoint_mut(&ranges)?;
            let (from, to) = parts.split_at_mut(1);
            stream.copy(to[0].reborrow(), from[0].view())?;
        }
        self.set[to] = self.set[from];
        Ok(())
    }

    /// Logits with the rows of some slots added.
    pub(super) fn add(
        &self,
        graph: &mut Graph,
        logits: Node,
        slots: &Range<u32>,
    ) -> Result<Node, Error> {
        let all = graph.floats(&self.rows, self.set.len() as u32, self.vocab)?;
        let rows = graph.rows(all, slots.start, slots.end - slots.start)?;
        Ok(graph.add(logits, rows)?)
    }

    fn range(&self, slot: usize) -> Range<usize> {
        let vocab = self.vocab as usize;
        slot * vocab..(slot + 1) * vocab
    }
}
