//! Joining: a prompt is evaluated in the slot behind all others, then its sequence gets a slot among them.

use super::{
    Engine, NOWHERE, WINDOW,
    bias::Bias,
    options::{Event, WhenFull},
    passes::{Kind, MOST_ROWS, With, bucket, taken},
    sequence::Sequence,
};
use crate::Error;
use warpsmith_library::finite::NOT_FINITE;

impl Engine {
    /// Evaluates tokens of the prompts that wait: [`MOST_ROWS`], or as many as running sequences shall wait for.
    pub(super) fn join(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        let mut budget = if self.running.is_empty() {
            MOST_ROWS as usize
        } else {
            self.options.prompt_tokens as usize
        };
        while budget > 0 {
            if self.joining.is_none() && !self.rejoin(events)? {
                self.admit(events)?;
            }
            let Some(mut sequence) = self.joining.take() else {
                return Ok(());
            };
            let rest = sequence.tokens.len() - sequence.cached;
            let count = taken(u32::try_from(rest.min(budget)).unwrap_or(MOST_ROWS)) as usize;
            budget -= count;
            self.chunk(&mut sequence, count)?;
            if count < rest {
                self.joining = Some(sequence);
                continue;
            }
            let staging = self.staging as usize;
            let token = self.state.token.view().range(staging..staging + 1)?;
            let token = self.stream.download(token)?.wait()?[0];
            if token == NOT_FINITE {
                events.push(sequence.not_finite());
                self.give(&sequence.pages);
                continue;
            }
            let id = sequence.id;
            events.push(Event::Token { id, token });
            if let Some(ended) = sequence.push(token, self.options.context as usize) {
                events.push(Event::Finished { id, ended });
                self.give(&sequence.pages);
                continue;
            }
            self.move_slot(self.staging, self.running.len() as u32)?;
            // One that ran before keeps its age.
            if sequence.joined == 0 {
                sequence.joined = self.joined();
            }
            let penalised = sequence.penalties.is_any();
            self.running.push(sequence);
            if penalised {
                self.write_bias(self.running.len() - 1)?;
            }
        }
        Ok(())
    }

    /// Enqueues the next `count` tokens of a prompt; the last ones with a draw.
    fn chunk(&mut self, sequence: &mut Sequence, count: usize) -> Result<(), Error> {
        let start = sequence.cached;
        let end = start + count;
        let kind = if end == sequence.tokens.len() {
            self.counters(sequence)?;
            Kind::PromptEnd
        } else {
            Kind::Prompt
        };
        let rows = bucket(count as u32);
        // Rows that are nobody's come first, so that the last row is always the last token.
        let pad = rows as usize - count;
        let nobody = |value: u32| std::iter::repeat_n(value, pad);
        let positions = start as u32..end as u32;
        let mut input: Vec<u32> = Vec::with_capacity(4 * rows as usize);
        input.extend(nobody(0).chain(sequence.tokens[start..end].iter().copied()));
        input.extend(nobody(NOWHERE).chain(positions.clone()));
        input.extend(nobody(0).chain(positions.map(|position| position + 1)));
        input.extend(std::iter::repeat_n(self.staging, rows as usize));
        let to = self.passes.input.view_mut().range(0..input.len())?;
        self.stream.upload(to, &input)?;
        let mut with = With::default();
        if kind == Kind::PromptEnd {
            let staging = self.staging as usize;
            let bias = self.bias.as_ref();
            with = With {
                bias: bias.is_some_and(|bias| bias.is_any(staging..staging + 1)),
                logits: sequence.logits,
            };
        }
        self.pass(kind, rows, with)?;
        self.counts.prompt_passes += 1;
        if with.logits {
            self.fetch((kind, rows, with), &[(0, sequence.id)])?;
        }
        sequence.cached = end;
        Ok(())
    }

    /// Writes what drawing the first token needs: counters as if the last token of the prompt had been drawn.
    fn counters(&mut self, sequence: &Sequence) -> Result<(), Error> {
        let length = sequence.tokens.len() as u32;
        let mut recent = [0; WINDOW];
        for (at, id) in sequence.tokens.iter().enumerate().rev().take(WINDOW) {
            recent[at % WINDOW] = *id;
        }
        let slot = self.staging;
        self.settings(&sequence.sampler, slot)?;
        self.make_bias(sequence.is_biased())?;
        if let Some(bias) = &mut self.bias {
            bias.set(&self.stream, slot as usize, sequence)?;
        }
        self.put(slot, |state| &mut state.recent, &recent)?;
        self.put(slot, |state| &mut state.seen, &[length])?;
        self.put(slot, |state| &mut state.position, &[length - 1])?;
        self.put(slot, |state| &mut state.length, &[length])
    }

    /// Makes room for biases, if there is none yet and some are needed.
    pub(super) fn make_bias(&mut self, needed: bool) -> Result<(), Error> {
        if self.bias.is_none() && needed {
            let vocab = self.model.config().vocab;
            self.bias = Some(Bias::new(&self.stream, self.staging + 1, vocab)?);
        }
        Ok(())
    }

    /// Gives the first sequence that waits pages for its tokens, if there is a place for it and pages are free.
    fn admit(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        let page = self.options.page as usize;
        loop {
            if self.taken() >= self.options.sequences as usize {
                return Ok(());
            }
            let Some(mut sequence) = self.waiting.pop_front() else {
                return Ok(());
            };
            let all = sequence.tokens.len().div_ceil(page);
            if all > self.pool.pages() as usize {
                events.push(self.out_of_pages(&sequence));
                continue;
            }
            let (source, common) = self.begins_like(&sequence);
            let whole = common / page;
            // Those that run need pages, too.
            let reserve = match self.options.when_full {
                WhenFull::Fail => 0,
                WhenFull::Evict => self.running.len(),
            };
            if all - whole + reserve > self.pool.free() {
                self.waiting.push_front(sequence);
                return Ok(());
            }
            for block in 0..all {
                let shared = (block * page < common).then(|| self.running[source].pages[block]);
                let page = match shared {
                    Some(shared) if block < whole => {
                        self.pool.share(shared);
                        shared
                    }
                    Some(_) | None => {
                        let Some(own) = self.pool.take() else {
                            // Counted above.
                            return Err(Error::OutOfPages {
                                sequence: sequence.id.0,
                                pages: self.pool.pages(),
                            });
                        };
                        if let Some(shared) = shared {
                            self.copy_page(shared, own)?;
                        }
                        own
                    }
                };
                sequence.pages.push(page);
            }
            sequence.cached = common;
            self.counts.shared_tokens += common as u64;
            let at = self.staging as usize * self.blocks;
            let row = self.table.view_mut().range(at..at + all)?;
            self.stream.upload(row, &sequence.pages)?;
            self.joining = Some(sequence);
            return Ok(());
        }
    }

    /// The running sequence that begins with most of the same tokens, and how many of them it is worth to share: whole
    /// pages, and of the page behind them a half or more, which is copied.
    fn begins_like(&self, sequence: &Sequence) -> (usize, usize) {
        // The last token is evaluated in any case, as its logits are needed.
        let wanted = &sequence.tokens[..sequence.tokens.len() - 1];
        let found = self.running.iter().map(|other| other.common(wanted));
        let (source, common) = found
            .enumerate()
            .max_by_key(|(slot, common)| (*common, std::cmp::Reverse(*slot)))
            .unwrap_or((0, 0));
        let page = self.options.page as usize;
        let rest = common % page;
        (
            source,
            if 2 * rest < page {
                common - rest
            } else {
                common
            },
        )
    }
}
