//! Steps: a token for each running sequence.

use super::{
    Engine, NOWHERE,
    options::{Event, WhenFull},
    passes::{Kind, With, bucket},
    sequence::Sequence,
};
use crate::Error;
use warpsmith_library::finite::NOT_FINITE;

impl Engine {
    /// One pass of all running sequences.
    pub(super) fn advance(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        let mut slot = 0;
        while slot < self.running.len() {
            let block = self.running[slot].cached / self.options.page as usize;
            let mut pages = std::mem::take(&mut self.running[slot].pages);
            let own = self.own(&mut pages, slot as u32, block);
            self.running[slot].pages = pages;
            if own? {
                slot += 1;
            } else {
                // Another one may have taken the slot of the one that left.
                self.make_room(slot, events)?;
                slot = 0;
            }
        }
        let n = self.running.len();
        if n == 0 {
            return Ok(());
        }
        let told = self.running.iter().enumerate();
        let told = told.filter(|(_, sequence)| sequence.logits);
        let told: Vec<_> = told.map(|(slot, sequence)| (slot, sequence.id)).collect();
        let with = With {
            bias: self.bias.as_ref().is_some_and(|bias| bias.is_any(0..n)),
            logits: !told.is_empty(),
        };
        let rows = bucket(n as u32);
        self.pass(Kind::Step, rows, with)?;
        self.counts.steps += 1;
        self.fetch((Kind::Step, rows, with), &told)?;
        let tokens = self.state.token.view().range(0..n)?;
        let tokens = self.stream.download(tokens)?.wait()?;
        let context = self.options.context as usize;
        let mut ended = Vec::new();
        for (slot, token) in tokens.into_iter().enumerate() {
            let sequence = &mut self.running[slot];
            let id = sequence.id;
            sequence.cached += 1;
            if token == NOT_FINITE {
                events.push(sequence.not_finite());
                ended.push(slot);
                continue;
            }
            events.push(Event::Token { id, token });
            if let Some(why) = sequence.push(token, context) {
                events.push(Event::Finished { id, ended: why });
                ended.push(slot);
            }
        }
        for slot in 0..n {
            if self.running[slot].penalties.is_any() && !ended.contains(&slot) {
                self.write_bias(slot)?;
            }
        }
        // From behind, so that who takes a place is never one of them.
        for slot in ended.into_iter().rev() {
            self.leave(slot)?;
        }
        Ok(())
    }

    /// Has block `block` of a slot's pages be one that nobody else uses; `false` if there is none.
    pub(super) fn own(
        &mut self,
        pages: &mut Vec<u32>,
        slot: u32,
        block: usize,
    ) -> Result<bool, Error> {
        let known = pages.get(block).copied();
        if known.is_some_and(|page| !self.pool.is_shared(page)) {
            return Ok(true);
        }
        let Some(page) = self.pool.take() else {
            return Ok(false);
        };
        match known {
            Some(shared) => {
                self.copy_page(shared, page)?;
                self.pool.give(shared);
                pages[block] = page;
            }
            None => pages.push(page),
        }
        let at = slot as usize * self.blocks + block;
        self.stream
            .upload(self.table.view_mut().range(at..at + 1)?, &[page])?;
        Ok(true)
    }

    pub(super) fn copy_page(&mut self, from: u32, to: u32) -> Result<(), Error> {
        for store in &mut self.stores {
            store.copy(&self.stream, from, to)?;
        }
        self.counts.copied_pages += 1;
        Ok(())
    }

    /// No page is free for the sequence at `slot`: somebody leaves.
    fn make_room(&mut self, slot: usize, events: &mut Vec<Event>) -> Result<(), Error> {
        if self.options.when_full == WhenFull::Evict {
            if let Some(sequence) = self.joining.take() {
                self.give(&sequence.pages);
                self.wait_again(sequence);
                return Ok(());
            }
            let last = (0..self.running.len()).max_by_key(|slot| self.running[*slot].joined);
            if let Some(last) = last.filter(|_| self.running.len() > 1) {
                let sequence = self.leave(last)?;
                self.wait_again(sequence);
                return Ok(());
            }
        }
        let sequence = self.leave(slot)?;
        events.push(self.out_of_pages(&sequence));
        Ok(())
    }

    pub(super) fn out_of_pages(&self, sequence: &Sequence) -> Event {
        Event::Failed {
            id: sequence.id,
            error: Error::OutOfPages {
                sequence: sequence.id.0,
                pages: self.pool.pages(),
            },
        }
    }

    /// What becomes of a sequence that needs a page, has given its own and is alone in wanting one.
    pub(super) fn without_page(&mut self, sequence: Sequence, events: &mut Vec<Event>) {
        match self.options.when_full {
            WhenFull::Fail => events.push(self.out_of_pages(&sequence)),
            WhenFull::Evict => self.wait_again(sequence),
        }
    }

    /// A sequence whose pages are given waits in front of all others, to be evaluated from its beginning.
    fn wait_again(&mut self, mut sequence: Sequence) {
        self.counts.evicted += 1;
        sequence.pages.clear();
        (sequence.cached, sequence.joined) = (0, 0);
        self.waiting.push_front(sequence);
    }

    /// Takes the sequence out of its slot, which the last one gets; its pages are free.
    pub(super) fn leave(&mut self, slot: usize) -> Result<Sequence, Error> {
        let sequence = self.detach(slot)?;
        self.give(&sequence.pages);
        Ok(sequence)
    }

    /// The same with its pages.
    pub(super) fn detach(&mut self, slot: usize) -> Result<Sequence, Error> {
        let sequence = self.running.swap_remove(slot);
        let last = self.running.len();
        if slot != last {
            self.move_slot(last as u32, slot as u32)?;
        }
        self.put(last as u32, |state| &mut state.length, &[0])?;
        self.put(last as u32, |state| &mut state.position, &[NOWHERE])?;
        Ok(sequence)
    }
}
