//! One window to tokens: greedy, the best of several samples, or beams, ranked as the reference implementation does.

use super::{
    lines::Mode,
    session::{Candidate, Session},
};
use crate::Error;
use std::collections::BTreeMap;

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
pub struct Decoded {
    /// Tokens, timestamps among them, without the end.
    pub tokens: Vec<u32>,
    /// Mean log-probability of the tokens and the end.
    pub mean_log_probability: f64,
    /// The probability that nobody speaks.
    pub no_speech: f32,
    /// The temperature it was decoded at.
    pub temperature: f32,
}

/// A sequence with the sum of its log-probabilities.
#[derive(Clone, Debug, Default)]
struct Line {
    tokens: Vec<u32>,
    sum: f64,
    ended: bool,
}

impl Line {
    fn take(&mut self, next: Candidate, end: u32) {
        if self.ended {
            return;
        }
        self.sum += f64::from(next.log_probability);
        if next.id == end {
            self.ended = true;
        } else {
            self.tokens.push(next.id);
        }
    }
}

impl Session {
    /// Reads `prompt` and decodes what follows. `start` is how many tokens before the prompt's end the transcript starts
    /// (0 is the last token).
    ///
    /// # Errors
    /// As [`Session::prompt`] and [`Session::step`]; a mode that decodes nothing.
    pub fn decode(
        &mut self,
        prompt: &[u32],
        start: usize,
        options: &DecodeOptions,
    ) -> Result<Decoded, Error> {
        self.prompt(prompt)?;
        let no_speech = self.no_speech(start)?;
        let room = (self.cache().capacity() as usize).saturating_sub(prompt.len());
        let most = options.most.min(room);
        let lines = match self.mode(options.mode)? {
            Mode::Samples(_) => {
                self.draw(options.mode, options.temperature, options.seed)?;
                self.sampled(options.mode, most)?
            }
            Mode::Beams(beams) => self.beamed(options, beams as usize, most)?,
            Mode::Among { .. } => {
                return Err(Error::Unsupported {
                    what: "decoding in a mode that only compares tokens".into(),
                });
            }
        };
        let best = best(lines, options.length_penalty);
        Ok(Decoded {
            mean_log_probability: best.sum / (best.tokens.len() + 1) as f64,
            tokens: best.tokens,
            no_speech,
            temperature: options.temperature,
        })
    }

    /// Every row goes on until all have ended.
    fn sampled(&mut self, mode: usize, most: usize) -> Result<Vec<Line>, Error> {
        let end = self.end();
        let mut next = self.first(mode)?;
        let mut lines = vec![Line::default(); next.len()];
        for step in 0..most {
            for (line, next) in lines.iter_mut().zip(&next) {
                line.take(next[0], end);
            }
            if step + 1 == most || lines.iter().all(|line| line.ended) {
                break;
            }
            next = self.step(mode, None)?;
        }
        Ok(lines)
    }

    fn beamed(
        &mut self,
        options: &DecodeOptions,
        beams: usize,
        most: usize,
    ) -> Result<Vec<Line>, Error> {
        let end = self.end();
        let wanted = (beams as f32 * options.patience).round().max(1.0) as usize;
        let mut next = self.first(options.mode)?;
        let mut lines = vec![Line::default(); beams];
        let mut ended: Vec<Line> = Vec::new();
        for step in 0..most {
            let (kept, newly) = grown(&lines, &next, end, beams);
            let room = wanted.saturating_sub(ended.len());
            ended.extend(newly.into_iter().take(room));
            // Nothing may follow any beam: what they are is all there is.
            if kept.is_empty() {
                break;
            }
            let mut choices: Vec<[u32; 2]> = Vec::new();
            lines = Vec::new();
            for (line, parent) in kept {
                let last = line.tokens.last().copied().unwrap_or(end);
                choices.push([last, parent as u32]);
                lines.push(line);
            }
            while lines.len() < beams {
                choices.push(choices[0]);
                lines.push(Line {
                    sum: f64::NEG_INFINITY,
                    ..lines[0].clone()
                });
            }
            if ended.len() >= wanted || step + 1 == most {
                break;
            }
            next = self.step(options.mode, Some(&choices))?;
        }
        if ended.len() < beams {
            lines.sort_by(|a, b| b.sum.total_cmp(&a.sum));
            let room = beams - ended.len();
            ended.extend(lines.into_iter().take(room));
        }
        Ok(ended)
    }
}

/// The best continuations of all beams that go on, with the beam each continues, and those that end; both best first.
fn grown(
    lines: &[Line],
    next: &[Vec<Candidate>],
    end: u32,
    beams: usize,
) -> (Vec<(Line, usize)>, Vec<Line>) {
    // Beams that are alike give one continuation.
    let mut grown: BTreeMap<(Vec<u32>, u32), (f64, usize)> = BTreeMap::new();
    for (at, (line, next)) in lines.iter().zip(next).enumerate() {
        for candidate in next.iter().filter(|candidate| candidate.id != u32::MAX) {
            let sum = line.sum + f64::from(candidate.log_probability);
            let sequence = (line.tokens.clone(), candidate.id);
            if grown.get(&sequence).is_none_or(|(other, _)| *other <= sum) {
                grown.insert(sequence, (sum, at));
            }
        }
    }
    let mut ranked: Vec<_> = grown.into_iter().collect();
    ranked.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (mut kept, mut ended) = (Vec::new(), Vec::new());
    for ((mut tokens, id), (sum, at)) in ranked {
        if id == end {
            ended.push(Line {
                tokens,
                sum,
                ended: true,
            });
            continue;
        }
        tokens.push(id);
        let line = Line {
            tokens,
            sum,
            ended: false,
        };
        kept.push((line, at));
        if kept.len() == beams {
            break;
        }
    }
    (kept, ended)
}

/// The line of the highest log-probability for its length, the first among equals.
fn best(lines: Vec<Line>, penalty: Option<f32>) -> Line {
    let score = |line: &Line| {
        let len = line.tokens.len() as f64;
        let by = match penalty {
            Some(penalty) => ((5.0 + len) / 6.0).powf(penalty.into()),
            None => len.max(1.0),
        };
        line.sum / by
    };
    let mut best: Option<(f64, Line)> = None;
    for line in lines {
        let score = score(&line);
        if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
            best = Some((score, line));
        }
    }
    best.map(|(_, line)| line).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: u32, log_probability: f32) -> Candidate {
        Candidate {
            id,
            log_probability,
        }
    }

    #[test]
    fn beams_grow_by_their_sums_and_equal_ones_count_once() {
        let line = |tokens: &[u32], sum| Line {
            tokens: tokens.to_vec(),
            sum,
            ended: false,
        };
        let alike = [line(&[1], -1.0), line(&[1], -1.0)];
        let next = [
            vec![candidate(5, -0.1), candidate(9, -0.2), candidate(6, -3.0)],
            vec![candidate(5, -0.1), candidate(9, -0.2), candidate(6, -3.0)],
        ];
        let (kept, ended) = grown(&alike, &next, 9, 2);
        let tokens: Vec<_> = kept.iter().map(|(line, _)| line.tokens.clone()).collect();
        assert_eq!(tokens, [vec![1, 5], vec![1, 6]]);
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0].tokens, [1]);
        let apart = [line(&[1], -1.0), line(&[2], -5.0)];
        let (kept, ended) = grown(&apart, &next, 9, 2);
        let parents: Vec<_> = kept.iter().map(|(_, parent)| *parent).collect();
        assert_eq!(parents, [0, 0], "the second beam is too far behind");
        assert_eq!(ended.len(), 1);
    }

    #[test]
    fn the_best_line_is_so_for_its_length() {
        let line = |len: usize, sum| Line {
            tokens: vec![7; len],
            sum,
            ended: true,
        };
        let lines = vec![line(1, -1.0), line(10, -5.0), line(2, -1.8)];
        assert_eq!(best(lines.clone(), None).tokens.len(), 10);
        assert_eq!(best(lines, Some(0.0)).tokens.len(), 1);
        assert!(best(Vec::new(), None).tokens.is_empty());
    }
}
