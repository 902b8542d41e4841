//! Tokens that are known: appended to a running sequence without being drawn, and evaluated together, as of a prompt.

use super::{Engine, options::Event};
use crate::Error;

impl Engine {
    /// Tokens that [`Engine::extend`] would take for a sequence now: none while a prompt is evaluated, whose place it needs,
    /// and as many as leave one to be drawn.
    pub fn room(&self, id: super::SequenceId) -> usize {
        let running = self.running.iter().find(|other| other.id == id);
        match running {
            Some(sequence) if self.joining.is_none() => {
                sequence.room(self.options.context as usize)
            }
            Some(_) | None => 0,
        }
    }

    /// Appends tokens to a running sequence behind the one that was drawn last. They count as drawn, no event tells of them,
    /// and the next step evaluates all of them at once before it draws. The first [`Engine::room`] tokens are taken: their
    /// number comes back.
    ///
    /// # Errors
    /// A token that is none; device errors.
    pub fn extend(&mut self, id: super::SequenceId, tokens: &[u32]) -> Result<usize, Error> {
        let vocab = self.model.config().vocab;
        if let Some(id) = tokens.iter().find(|id| **id >= vocab) {
            return Err(Error::TokenId {
                what: "token id",
                id: *id,
                vocab: vocab as usize,
            });
        }
        let count = tokens.len().min(self.room(id));
        let slot = self.running.iter().position(|other| other.id == id);
        let Some(slot) = slot.filter(|_| count > 0) else {
            return Ok(0);
        };
        let mut sequence = self.detach(slot)?;
        sequence.append(&tokens[..count]);
        self.extended.push_back(sequence);
        Ok(count)
    }

    /// Has the next sequence with known tokens joined again, if there is one and it finds pages: whether it is on its way.
    pub(super) fn rejoin(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        while let Some(mut sequence) = self.extended.pop_front() {
            let page = self.options.page as usize;
            let first = sequence.cached / page;
            let all = sequence.tokens.len().div_ceil(page);
            let mut pages = std::mem::take(&mut sequence.pages);
            let mut found = true;
            for block in first..all {
                found = found && self.own(&mut pages, self.staging, block)?;
            }
            if found {
                let at = self.staging as usize * self.blocks;
                let row = self.table.view_mut().range(at..at + all)?;
                self.stream.upload(row, &pages)?;
                sequence.pages = pages;
                self.joining = Some(sequence);
                return Ok(true);
            }
            self.give(&pages);
            self.without_page(sequence, events);
        }
        Ok(false)
    }
}
