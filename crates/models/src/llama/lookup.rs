//! Speculative decoding by prompt lookup (Saxena, 2023): what followed the last few tokens earlier in the text is a guess
//! at what follows now, and one pass checks all of it.

use super::{
    forward::{Inputs, Memory, hidden, logits},
    generate::{Ended, given},
    session::{Last, Run, Session, SessionOptions},
};
use crate::Error;
use std::{collections::BTreeMap, ops::ControlFlow};
use warpsmith_device::{Buffer, Replay, Slice, Stream};
use warpsmith_graph::{Graph, Node, Plan};

/// Tokens at the end that must have been there before.
const NGRAMS: [usize; 2] = [3, 2];
/// Most guesses of a pass.
const MOST: u32 = 63;

/// What guessing brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupReport {
    /// Passes of the model: without guesses there would be one for each token.
    pub passes: u64,
    /// Tokens that were guessed.
    pub guessed: u64,
    /// Guesses that were right.
    pub accepted: u64,
}

/// The passes that check guesses.
pub(super) struct Lookup {
    /// By their rows: the token drawn last, and guesses.
    passes: BTreeMap<u32, Check>,
    /// Ids, positions and keys to see of a pass, one array behind the other.
    input: Buffer<u32>,
    report: LookupReport,
}

struct Check {
    plan: Plan,
    replay: Option<Replay>,
    /// The most probable token of each row.
    best: Node,
    logits: Node,
}

impl Lookup {
    pub(super) fn new(stream: &Stream, options: &SessionOptions) -> Result<Lookup, Error> {
        let unsupported = |what: String| Err(Error::Unsupported { what });
        if options.lookup > MOST {
            return unsupported(format!(
                "a lookup of {} tokens, more than {MOST}",
                options.lookup
            ));
        }
        if options.lookup > 0 && options.run == Run::Persistent {
            return unsupported("lookup in a persistent run".into());
        }
        Ok(Lookup {
            passes: BTreeMap::new(),
            input: stream.alloc(3 * (options.lookup as usize + 1))?,
            report: LookupReport::default(),
        })
    }

    /// The logits of one row of a pass.
    pub(super) fn logits(&self, rows: u32, row: u32) -> Result<Slice<'_, f32>, Error> {
        let check = self.passes.get(&rows).ok_or(Error::NoLogits)?;
        let all = check.plan.floats(check.logits)?;
        let vocab = all.len() / rows as usize;
        let start = row as usize * vocab;
        Ok(all.range(start..start + vocab)?)
    }
}

/// At most `most` tokens that followed the last few earlier in `tokens`: those of the latest place with enough of them
/// behind it, else of the place with most.
fn guesses(tokens: &[u32], most: usize) -> &[u32] {
    for n in NGRAMS {
        let Some(end) = tokens.len().checked_sub(n) else {
            continue;
        };
        let last = &tokens[end..];
        let found = |start: &usize| tokens[*start..].starts_with(last);
        let enough = end.saturating_sub(most.saturating_sub(1));
        let place = (0..enough).rev().find(found);
        if let Some(start) = place.or_else(|| (0..end).find(found)) {
            let behind = start + n;
            return &tokens[behind..tokens.len().min(behind + most)];
        }
    }
    &[]
}

impl Session {
    /// What guessing brought so far.
    pub fn lookup_report(&self) -> LookupReport {
        self.lookup.report
    }

    /// Guesses are checked against the most probable token, so that must be what is drawn.
    pub(super) fn lookup_fits(&self) -> Result<(), Error> {
        let config = self.config;
        if self.options.lookup > 0 && (config.temperature != 0.0 || config.repeat_penalty != 1.0) {
            let what = format!(
                "lookup with temperature {} and repeat_penalty {}: it needs 0 and 1, as only the most probable token can \
                 be guessed",
                config.temperature, config.repeat_penalty
            );
            return Err(Error::Unsupported { what });
        }
        Ok(())
    }

    /// One pass over the token drawn last and guesses; why the generation is over, if it is.
    pub(super) fn guess(
        &mut self,
        most: usize,
        made: &mut usize,
        ends: &[u32],
        each: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Option<Ended>, Error> {
        let drawn = self.drawn.ok_or(Error::NoLogits)?;
        let room = (self.context - self.len()) as usize - 1;
        let limit = room.min(most - *made - 1).min(self.options.lookup as usize);
        let mut tokens = self.history.clone();
        tokens.push(drawn);
        let guessed = guesses(&tokens, limit).to_vec();
        let best = self.check_guesses(drawn, &guessed)?;
        let pairs = guessed.iter().zip(&best);
        let accepted = pairs.take_while(|(guess, best)| guess == best).count();
        let report = &mut self.lookup.report;
        report.passes += 1;
        report.guessed += guessed.len() as u64;
        report.accepted += accepted as u64;
        self.stale = true;
        for (row, token) in best.iter().take(accepted + 1).enumerate() {
            self.history.extend(self.drawn.take());
            self.last = Some(Last::Checked {
                rows: best.len() as u32,
                row: row as u32,
            });
            self.take(*token)?;
            *made += 1;
            if let Some(ended) = given(*token, ends, each) {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    /// The most probable token behind `drawn` and behind each guess.
    fn check_guesses(&mut self, drawn: u32, guessed: &[u32]) -> Result<Vec<u32>, Error> {
        let rows = guessed.len() as u32 + 1;
        let n = rows as usize;
        let start = self.len();
        let mut input = vec![drawn];
        input.extend(guessed);
        input.extend(start..start + rows);
        input.extend(start + 1..start + rows + 1);
        let to = self.lookup.input.view_mut().range(0..3 * n)?;
        self.stream.upload(to, &input)?;
        if !self.lookup.passes.contains_key(&rows) {
            let check = self.plan_check(n)?;
            self.lookup.passes.insert(rows, check);
        }
        let check = &self.lookup.passes[&rows];
        match &check.replay {
            Some(replay) => self.stream.replay(replay)?,
            None => check.plan.run(&self.stream)?,
        }
        Ok(self.stream.download(check.plan.ids(check.best)?)?.wait()?)
    }

    fn plan_check(&self, n: usize) -> Result<Check, Error> {
        let mut graph = Graph::new();
        let input = &self.lookup.input;
        let inputs = Inputs {
            ids: graph.ids_in(input, 0..n)?,
            positions: graph.ids_in(input, n..2 * n)?,
            visible: graph.ids_in(input, 2 * n..3 * n)?,
            start: None,
        };
        inputs.name(&mut graph)?;
        let hidden = hidden(&mut graph, &self.model, Memory::Own(&self.caches), inputs)?;
        let logits = logits(&mut graph, &self.model, hidden)?;
        let best = graph.argmax(logits)?;
        graph.keep(logits)?;
        graph.keep(best)?;
        let plan = Plan::new(&self.stream, &graph, self.options.precision)?;
        let replay = match self.options.run {
            Run::Eager | Run::Persistent => None,
            Run::Replay => Some(plan.capture(&self.stream)?),
        };
        Ok(Check {
            plan,
            replay,
            best,
            logits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::guesses;

    #[test]
    fn guesses_are_what_followed_the_last_tokens_before() {
        let cases: [(&[u32], usize, &[u32]); 7] = [
            (&[1, 2, 3, 4, 5, 1, 2, 3], 2, &[4, 5]),
            // three tokens are better than two, the later place better than the earlier
            (&[1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3], 1, &[7]),
            (&[2, 3, 7, 9, 2, 3, 8, 1, 2, 3], 2, &[8, 1]),
            // a place with enough behind it, or else with most
            (&[5, 5, 5, 5, 5, 5], 2, &[5, 5]),
            (&[5, 5, 5, 5], 9, &[5]),
            (&[1, 2, 3], 4, &[]),
            (&[], 4, &[]),
        ];
        for (tokens, most, want) in cases {
            assert_eq!(guesses(tokens, most), want, "{tokens:?}");
        }
    }
}
