//! One sequence of an engine, as the host knows it.

use super::{
    super::generate::Ended,
    options::{Event, Penalties, Request, SequenceId},
};
use crate::{Error, sampling::SamplerConfig};
use std::collections::BTreeMap;

/// A sequence: its tokens, and where their keys and values are.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) id: SequenceId,
    /// The prompt and what was drawn.
    pub(super) tokens: Vec<u32>,
    /// Tokens whose keys and values are in the pages: of a running sequence all but the last.
    pub(super) cached: usize,
    /// The page of each block of positions.
    pub(super) pages: Vec<u32>,
    pub(super) sampler: SamplerConfig,
    /// What is added to its logits.
    pub(super) bias: Vec<(u32, f32)>,
    /// What is taken from the logits of tokens that were drawn before.
    pub(super) penalties: Penalties,
    /// Which tokens may come next.
    pub(super) mask: Option<Vec<u32>>,
    /// Whether its logits are told.
    pub(super) logits: bool,
    /// Tokens drawn.
    made: u32,
    most: u32,
    ends: Vec<u32>,
    /// Numbers the sequences in the order in which they joined.
    pub(super) joined: u64,
}

impl Sequence {
    pub(super) fn new(id: SequenceId, request: Request) -> Sequence {
        let Request {
            prompt,
            sampler,
            max_tokens,
            ends,
            bias,
            penalties,
            mask,
            logits,
        } = request;
        Sequence {
            id,
            tokens: prompt,
            cached: 0,
            pages: Vec::new(),
            sampler,
            bias,
            penalties,
            mask,
            logits,
            made: 0,
            most: max_tokens,
            ends,
            joined: 0,
        }
    }

    /// Appends a token that was drawn; why it is the last, if it is.
    pub(super) fn push(&mut self, token: u32, context: usize) -> Option<Ended> {
        self.tokens.push(token);
        self.made += 1;
        if self.ends.contains(&token) {
            Some(Ended::Token)
        } else if self.made >= self.most {
            Some(Ended::Length)
        } else if self.cached >= context {
            Some(Ended::Context)
        } else {
            None
        }
    }

    /// Whether something is added to its logits.
    pub(super) fn is_biased(&self) -> bool {
        !self.bias.is_empty() || self.mask.is_some() || self.is_penalised()
    }

    /// Whether some of its tokens are less probable than they were.
    fn is_penalised(&self) -> bool {
        self.penalties.is_any() && self.made > 0
    }

    /// Tokens that may be appended without being drawn: one is left to be drawn, and has a place.
    pub(super) fn room(&self, context: usize) -> usize {
        let left = (self.most - self.made).saturating_sub(1) as usize;
        left.min(context.saturating_sub(self.tokens.len()))
    }

    /// Appends tokens that were not drawn, and count as if they were.
    pub(super) fn append(&mut self, tokens: &[u32]) {
        self.tokens.extend(tokens);
        self.made += tokens.len() as u32;
    }

    /// The row of what is added to its logits.
    pub(super) fn bias_row(&self, vocab: usize) -> Vec<f32> {
        let mut row = vec![0.0; vocab];
        for (id, by) in &self.bias {
            row[*id as usize] = *by;
        }
        if self.is_penalised() {
            let Penalties {
                presence,
                frequency,
            } = self.penalties;
            let drawn = &self.tokens[self.tokens.len() - self.made as usize..];
            let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
            drawn
                .iter()
                .for_each(|id| *counts.entry(*id).or_default() += 1);
            for (id, count) in counts {
                row[id as usize] -= presence + frequency * count as f32;
            }
        }
        if let Some(mask) = &self.mask {
            for (at, x) in row.iter_mut().enumerate() {
                let word = mask.get(at / 32).copied().unwrap_or(0);
                if word >> (at % 32) & 1 == 0 {
                    *x = f32::NEG_INFINITY;
                }
            }
        }
        row
    }

    /// That no token can be drawn behind those in the pages.
    pub(super) fn not_finite(&self) -> Event {
        Event::Failed {
            id: self.id,
            error: Error::NotFinite {
                sequence: Some(self.id.0),
                position: self.cached.saturating_sub(1) as u32,
                found: None,
            },
        }
    }

    /// Tokens at its beginning that are those of `other`, with keys and values there.
    pub(super) fn common(&self, other: &[u32]) -> usize {
        let own = self.tokens[..self.cached].iter();
        own.zip(other).take_while(|(a, b)| a == b).count()
    }
}
