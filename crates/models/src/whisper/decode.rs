//! One window to tokens: greedy, the best of several samples, or beams, ranked as the reference implementation does.

use super::{
    beam::{self, Beam, Choice, Sequence},
    lines::Mode,
    session::{Candidate, Session},
};
use crate::Error;

/// How a window is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodeOptions {
    /// Which of the session's modes.
    pub mode: usize,
    /// Temperature of draws; 0 takes the most probable.
    pub temperature: f32,
    /// Seed of draws.
    pub seed: u64,
    /// Beams stop when this many times as many have ended as there are.
    pub patience: f32,
    /// Divides log-probabilities by `((5 + length) / 6)^penalty`; `None` by the length.
    pub length_penalty: Option<f32>,
    /// Tokens at most.
    pub most: usize,
}

/// What was heard in a window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// Tokens, timestamps among them, without the end.
    pub(crate) tokens: Vec<u32>,
    /// Mean log-probability of the tokens and the end.
    pub(crate) mean_log_probability: f64,
    /// The probability that nobody speaks.
    pub(crate) no_speech: f32,
}

/// A row that is drawn.
#[derive(Clone, Debug)]
struct Line {
    sequence: Sequence,
    ended: bool,
}

impl Session {
    /// Reads `prompt` and decodes what follows: the tokens without the end. `start` is how many tokens before the
    /// prompt's end the transcript starts (0 is the last token).
    ///
    /// # Errors
    /// As [`Session::prompt`] and [`Session::step`]; a mode that decodes nothing.
    pub fn decode(
        &mut self,
        prompt: &[u32],
        start: usize,
        options: &DecodeOptions,
    ) -> Result<Vec<u32>, Error> {
        Ok(self.hear(prompt, start, options)?.tokens)
    }

    pub(crate) fn hear(
        &mut self,
        prompt: &[u32],
        start: usize,
        options: &DecodeOptions,
    ) -> Result<Heard, Error> {
        self.prompt(prompt)?;
        let no_speech = self.no_speech(start)?;
        let room = (self.cache().capacity() as usize).saturating_sub(prompt.len());
        let most = options.most.min(room);
        let sequences = match self.mode(options.mode)? {
            Mode::Samples(_) => {
                self.draw(options.mode, options.temperature, options.seed)?;
                self.sampled(options.mode, most)?
            }
            Mode::Beams(beams) => {
                let beam = Beam::new(beams as usize, options.patience, self.end());
                self.beamed(options.mode, beam, most)?
            }
            Mode::Among { .. } => {
                return Err(Error::Unsupported {
                    what: "decoding in a mode that only compares tokens".into(),
                });
            }
        };
        let best = beam::best(&sequences, options.length_penalty);
        let Some(best) = best.map(|at| &sequences[at]) else {
            return Err(Error::NoLogits);
        };
        let length = (best.tokens.len() + 1) as f64;
        Ok(Heard {
            tokens: best.tokens.clone(),
            mean_log_probability: f64::from(best.sum_log_prob) / length,
            no_speech,
        })
    }

    /// Every row goes on until all have ended.
    fn sampled(&mut self, mode: usize, most: usize) -> Result<Vec<Sequence>, Error> {
        let end = self.end();
        let mut next = self.first(mode)?;
        let empty = Line {
            sequence: Sequence {
                tokens: Vec::new(),
                sum_log_prob: 0.0,
            },
            ended: false,
        };
        let mut lines = vec![empty; next.len()];
        if let ([line], [first]) = (&mut lines[..], &next[..])
            && most > 0
        {
            let mut line = line.clone();
            take(&mut line, first[0], end);
            let more = if line.ended { 0 } else { most - 1 };
            let mut each = |next| take(&mut line, next, end);
            if self.rest(mode, more, &mut each)?.is_some() {
                return Ok(vec![line.sequence]);
            }
        }
        for step in 0..most {
            for (line, next) in lines.iter_mut().zip(&next) {
                take(line, next[0], end);
            }
            if step + 1 == most || lines.iter().all(|line| line.ended) {
                break;
            }
            next = self.step(mode, None)?;
        }
        Ok(lines.into_iter().map(|line| line.sequence).collect())
    }

    fn beamed(&mut self, mode: usize, mut beam: Beam, most: usize) -> Result<Vec<Sequence>, Error> {
        let mut next = self.first(mode)?;
        for step in 0..most {
            let rows: Vec<Vec<beam::Candidate>> = next
                .iter()
                .map(|row| row.iter().filter_map(known).collect())
                .collect();
            let choices = beam.step(rows.iter().map(Vec::as_slice));
            if step + 1 == most || beam.is_done() {
                break;
            }
            let choices: Vec<[u32; 2]> = choices
                .into_iter()
                .map(|Choice { parent, token }| [token, parent as u32])
                .collect();
            next = self.step(mode, Some(&choices))?;
        }
        Ok(beam.finish())
    }
}

fn take(line: &mut Line, next: Candidate, end: u32) {
    if line.ended {
        return;
    }
    line.sequence.sum_log_prob += next.log_probability;
    if next.id == end {
        line.ended = true;
    } else {
        line.sequence.tokens.push(next.id);
    }
}

/// A candidate that there is.
fn known(candidate: &Candidate) -> Option<beam::Candidate> {
    (candidate.id != u32::MAX).then_some(beam::Candidate {
        token: candidate.id,
        log_prob: candidate.log_probability,
    })
}
