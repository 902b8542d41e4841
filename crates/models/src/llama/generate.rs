//! Generation: token after token by single steps, or all in one launch of a persistent kernel.

use super::session::{Last, Run, Session};
use crate::Error;
use std::ops::ControlFlow;
use warpsmith_graph::{End, Persistent, Until};
use warpsmith_library::finite::NOT_FINITE;

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As many tokens as were asked for.
    Length,
    /// The last token is one of the ends.
    Token,
    /// The caller asked for it.
    Stopped,
    /// The last token has no place in the context.
    Context,
}

/// Gives a token to `each`; why the generation is over with it, if it is.
pub(super) fn given(
    token: u32,
    ends: &[u32],
    each: &mut dyn FnMut(u32) -> ControlFlow<()>,
) -> Option<Ended> {
    let stopped = each(token).is_break();
    if ends.contains(&token) {
        Some(Ended::Token)
    } else if stopped {
        Some(Ended::Stopped)
    } else {
        None
    }
}

impl Session {
    /// Draws a token from the last logits and goes on until `most` tokens are made, one of `ends` comes, the context is
    /// full, or `each`, which gets each token in turn, breaks. Nothing goes up between tokens; with
    /// [`Run::Persistent`] nothing is launched between them either, and `each` is called while the kernel runs.
    ///
    /// With [`SessionOptions::lookup`](super::SessionOptions::lookup) tokens are guessed from earlier text, and those that
    /// prove right come several at once.
    ///
    /// After a break the tokens given to `each` are the session's, whatever the kernel made beyond them.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a prompt, [`Error::NotFinite`] where no token can be drawn, [`Error::Unsupported`] for
    /// guesses with a sampler that is not greedy, device errors.
    pub fn generate(
        &mut self,
        most: usize,
        ends: &[u32],
        each: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Ended, Error> {
        if most == 0 {
            return Ok(Ended::Length);
        }
        self.lookup_fits()?;
        let first = self.sample()?;
        let mut made = 1;
        if let Some(ended) = given(first, ends, each) {
            return Ok(ended);
        }
        while made < most {
            if self.len() == self.context {
                return Ok(Ended::Context);
            }
            if self.options.lookup > 0 && !self.watch.is_on() {
                if let Some(ended) = self.guess(most, &mut made, ends, each)? {
                    return Ok(ended);
                }
                continue;
            }
            if self.options.run == Run::Persistent && !self.watch.is_on() {
                if let Some(ended) = self.launch(most, &mut made, ends, each)? {
                    return Ok(ended);
                }
                continue;
            }
            let token = self.step()?;
            made += 1;
            if let Some(ended) = given(token, ends, each) {
                return Ok(ended);
            }
        }
        Ok(Ended::Length)
    }

    /// Enqueues the work of the next `tokens` tokens, step by step, and goes on: what they cost the host. What they are is
    /// not told, and the session then needs a new prompt.
    ///
    /// # Errors
    /// [`Error::NoLogits`] before a token was drawn, [`Error::ContextFull`], device errors.
    pub fn enqueue(&mut self, tokens: u32) -> Result<(), Error> {
        self.drawn.ok_or(Error::NoLogits)?;
        if u64::from(self.len()) + u64::from(tokens) > u64::from(self.context) {
            return Err(Error::ContextFull {
                context: self.context,
                have: self.len(),
                more: tokens as usize,
            });
        }
        if self.decode.is_none() {
            self.decode = Some(self.plan_decode()?);
        }
        (self.drawn, self.last) = (None, None);
        let decode = self.decode.as_ref().ok_or(Error::NoLogits)?;
        for _ in 0..tokens {
            match &decode.replay {
                Some(replay) if !self.watch.is_on() => self.stream.replay(replay)?,
                Some(_) | None => self.run("step", &decode.plan)?,
            }
        }
        Ok(())
    }

    /// One launch of the persistent kernel; why the generation is over, if it is.
    fn launch(
        &mut self,
        most: usize,
        made: &mut usize,
        ends: &[u32],
        each: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Option<Ended>, Error> {
        self.compile(ends)?;
        let (Some((_, persistent)), Some(mut drawn)) = (&mut self.persistent, self.drawn) else {
            return Err(Error::NoLogits);
        };
        let wanted = u32::try_from(most - *made).unwrap_or(u32::MAX);
        let tokens = match self.options.tokens_per_launch {
            0 => wanted,
            limit => wanted.min(limit),
        };
        // Until the kernel has ended well, what is on the device is not what a step goes on from.
        (self.drawn, self.last) = (None, None);
        let mut running = persistent.start(tokens)?;
        let mut taken = 0;
        let mut stopped = false;
        while !stopped && let Some(token) = running.token()? {
            self.history.push(drawn);
            drawn = token;
            taken += 1;
            // Nothing follows it: it is one of the ends.
            stopped = token == NOT_FINITE || each(token).is_break();
        }
        if stopped {
            running.stop();
        }
        let (end, all) = running.finish()?;
        *made += taken;
        if all as usize == taken {
            self.last = Some(Last::Decode);
            self.take(drawn)?;
        }
        Ok(match end {
            Some(End::Token) if all as usize == taken => Some(Ended::Token),
            _ if stopped => Some(Ended::Stopped),
            Some(End::Token) => Some(Ended::Token),
            Some(End::Stopped) => Some(Ended::Stopped),
            Some(End::Context) => Some(Ended::Context),
            Some(End::Tokens) | None => None,
        })
    }

    /// Has the kernel ready whose runs end with `ends`.
    fn compile(&mut self, ends: &[u32]) -> Result<(), Error> {
        if self.decode.is_none() {
            self.decode = Some(self.plan_decode()?);
        }
        let known = self.persistent.as_ref();
        if known.is_none_or(|(known, _)| known != ends)
            && let Some(decode) = &self.decode
        {
            // Nor does anything follow where no token can be drawn.
            let mut all = ends.to_vec();
            all.push(NOT_FINITE);
            let until = Until {
                token: &self.state.token,
                position: &self.state.position,
                ends: &all,
                context: self.context,
                most: self.context,
            };
            let shape = self.options.shape;
            let persistent = Persistent::new(&self.stream, &decode.plan, &until, shape)?;
            self.persistent = Some((ends.to_vec(), persistent));
        }
        Ok(())
    }

    /// The persistent kernel whose runs end with `ends`, made now if it was not.
    ///
    /// # Errors
    /// Those of making it.
    pub fn persistent(&mut self, ends: &[u32]) -> Result<&Persistent, Error> {
        self.compile(ends)?;
        let made = self.persistent.as_ref().map(|(_, persistent)| persistent);
        made.ok_or(Error::NoLogits)
    }
}
