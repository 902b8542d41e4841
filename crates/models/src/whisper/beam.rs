//! Beam search: which sequences go on, which are finished, which is the best.
//!
//! A step gives each of `width` sequences its `width + 1` most probable next tokens. The best of all
//! continuations go on, those that end among them are finished. The search is over when
//! `round(width · patience)` are (Kasai et al., 2022). The best has the greatest log-probability over
//! its length, or over `((5 + length) / 6)^penalty` (Wu et al., 2016).

/// A next token of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token.
    pub token: u32,
    /// Its log-probability after the sequence.
    pub log_prob: f32,
}

/// How a row goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The row that it continues.
    pub parent: usize,
    /// The token it takes.
    pub token: u32,
}

/// A finished sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// Its tokens, without the end.
    pub tokens: Vec<u32>,
    /// The sum of the log-probabilities of its tokens and the end.
    pub sum_log_prob: f32,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Beam {
    width: usize,
    wanted: usize,
    end: u32,
    rows: Vec<Sequence>,
    finished: Vec<Sequence>,
}

impl Beam {
    /// A search with `width` rows that ends sequences with `end`. At least one row and one finished
    /// sequence are asked for, whatever the numbers.
    pub fn new(width: usize, patience: f32, end: u32) -> Beam {
        let width = width.max(1);
        let row = Sequence {
            tokens: Vec::new(),
            sum_log_prob: 0.0,
        };
        Beam {
            width,
            wanted: ((width as f32 * patience).round_ties_even() as usize).max(1),
            end,
            rows: vec![row; width],
            finished: Vec::new(),
        }
    }

    /// Takes the candidates of each row, best first, and says how the rows go on.
    ///
    /// Where there are fewer continuations than rows, rows repeat the last one, at no probability.
    pub fn step<'a>(
        &mut self,
        candidates: impl IntoIterator<Item = &'a [Candidate]>,
    ) -> Vec<Choice> {
        let scored = self.continuations(candidates);
        let mut choices: Vec<Choice> = Vec::with_capacity(self.width);
        let mut rows = Vec::with_capacity(self.width);
        for &(choice, sum_log_prob) in &scored {
            let mut tokens = self.rows[choice.parent].tokens.clone();
            if choice.token == self.end {
                // Whatever comes after a full list is less probable or less patient.
                if self.finished.len() < self.wanted {
                    self.finished.push(Sequence {
                        tokens,
                        sum_log_prob,
                    });
                }
                continue;
            }
            tokens.push(choice.token);
            choices.push(choice);
            rows.push(Sequence {
                tokens,
                sum_log_prob,
            });
            if rows.len() == self.width {
                break;
            }
        }
        while rows.len() < self.width {
            let Some((choice, row)) = choices.last().copied().zip(rows.last().cloned()) else {
                // Nothing but ends: the rows stay as they are, and lead nowhere.
                let stay = |parent| Choice {
                    parent,
                    token: self.end,
                };
                for row in &mut self.rows {
                    row.sum_log_prob = f32::NEG_INFINITY;
                }
                return (0..self.width).map(stay).collect();
            };
            choices.push(choice);
            rows.push(Sequence {
                sum_log_prob: f32::NEG_INFINITY,
                ..row
            });
        }
        self.rows = rows;
        choices
    }

    /// All continuations, best first; each sequence once, though several rows may lead to it.
    fn continuations<'a>(
        &self,
        candidates: impl IntoIterator<Item = &'a [Candidate]>,
    ) -> Vec<(Choice, f32)> {
        let mut scored: Vec<(Choice, f32)> = Vec::new();
        for (parent, candidates) in candidates.into_iter().enumerate().take(self.width) {
            let row = &self.rows[parent];
            // Rows that are alike, as all are at the start, count as the first of them.
            let parent = self
                .rows
                .iter()
                .position(|other| other.tokens == row.tokens);
            let parent = parent.expect("a row is like itself");
            for candidate in candidates {
                let token = candidate.token;
                let score = row.sum_log_prob + candidate.log_prob;
                let choice = Choice { parent, token };
                match scored.iter_mut().find(|(known, _)| *known == choice) {
                    Some((_, known)) => *known = known.max(score),
                    None => scored.push((choice, score)),
                }
            }
        }
        scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        scored
    }

    /// Whether enough sequences are finished.
    pub fn is_done(&self) -> bool {
        self.finished.len() >= self.wanted
    }

    /// The finished sequences, in the order in which they ended; and the best of the others, cut
    /// short, if there are fewer than rows.
    pub fn finish(mut self) -> Vec<Sequence> {
        self.rows
            .sort_by(|a, b| b.sum_log_prob.total_cmp(&a.sum_log_prob));
        for row in self.rows {
            if self.finished.len() >= self.width {
                break;
            }
            if !self.finished.iter().any(|known| known.tokens == row.tokens) {
                self.finished.push(row);
            }
        }
        self.finished
    }
}

/// The place of the best sequence: the first of equals, nothing of none.
pub fn best(sequences: &[Sequence], length_penalty: Option<f32>) -> Option<usize> {
    let score = |sequence: &Sequence| {
        let length = sequence.tokens.len().max(1) as f32;
        match length_penalty {
            None => sequence.sum_log_prob / length,
            Some(alpha) => sequence.sum_log_prob / ((5.0 + length) / 6.0).powf(alpha),
        }
    };
    let mut best: Option<(usize, f32)> = None;
    for (at, sequence) in sequences.iter().enumerate() {
        let score = score(sequence);
        if best.is_none_or(|(_, least)| score > least) {
            best = Some((at, score));
        }
    }
    best.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u32 = 9;

    fn candidates(list: &[(u32, f32)]) -> Vec<Candidate> {
        let all = list.iter();
        all.map(|&(token, log_prob)| Candidate { token, log_prob })
            .collect()
    }

    fn step(beam: &mut Beam, rows: &[&[(u32, f32)]]) -> Vec<(usize, u32)> {
        let rows: Vec<_> = rows.iter().map(|row| candidates(row)).collect();
        let choices = beam.step(rows.iter().map(Vec::as_slice));
        choices.iter().map(|c| (c.parent, c.token)).collect()
    }

    #[test]
    fn rows_that_begin_alike_take_different_tokens() {
        let mut beam = Beam::new(2, 1.0, END);
        let first: &[(u32, f32)] = &[(1, -0.5), (2, -1.0), (3, -3.0)];
        assert_eq!(step(&mut beam, &[first, first]), [(0, 1), (0, 2)]);
        // Both of the first row are better than any of the second.
        let second = [
            &[(4, -0.1), (5, -0.2), (6, -9.0)][..],
            &[(4, -0.4), (5, -2.0), (6, -9.0)],
        ];
        assert_eq!(step(&mut beam, &second), [(0, 4), (0, 5)]);
        let third = [
            &[(END, -0.1), (7, -3.0), (8, -4.0)][..],
            &[(7, -0.1), (8, -0.2), (END, -5.0)],
        ];
        assert_eq!(step(&mut beam, &third), [(1, 7), (1, 8)]);
        assert!(!beam.is_done());
        let sequences = beam.finish();
        assert_eq!(sequences.len(), 2);
        assert_eq!(sequences[0].tokens, [1, 4]);
        assert!((sequences[0].sum_log_prob + 0.7).abs() < 1e-6);
        assert_eq!(sequences[1].tokens, [1, 5, 7]);
    }

    #[test]
    fn patience_asks_for_more_or_fewer() {
        for (patience, ends) in [(0.5, 1), (1.0, 2), (2.0, 4)] {
            let mut beam = Beam::new(2, patience, END);
            let row: &[(u32, f32)] = &[(END, -0.1), (1, -0.5), (2, -0.6)];
            let mut steps = 0;
            while !beam.is_done() {
                step(&mut beam, &[row, row]);
                steps += 1;
                assert!(steps < 10);
            }
            assert_eq!(beam.finish().len().max(ends), ends.max(2));
        }
    }

    #[test]
    fn an_end_worse_than_all_rows_is_not_finished() {
        let mut beam = Beam::new(1, 1.0, END);
        assert_eq!(step(&mut beam, &[&[(1, -0.1), (END, -0.2)]]), [(0, 1)]);
        assert!(!beam.is_done());
        // The end first, then the row goes on for the sake of the search.
        assert_eq!(step(&mut beam, &[&[(END, -0.1), (2, -0.2)]]), [(0, 2)]);
        assert!(beam.is_done());
    }

    #[test]
    fn rows_without_a_way_on_lead_nowhere() {
        let mut beam = Beam::new(2, 4.0, END);
        assert_eq!(step(&mut beam, &[&[(1, -0.1)], &[]]), [(0, 1), (0, 1)]);
        let both: &[(u32, f32)] = &[(2, -0.5), (3, -0.6)];
        // The copy has no probability: the row itself counts.
        assert_eq!(step(&mut beam, &[both, both]), [(0, 2), (0, 3)]);
        assert_eq!(
            step(&mut beam, &[&[(END, -1.0)], &[]]),
            [(0, END), (1, END)]
        );
        let sequences = beam.finish();
        assert_eq!(sequences[0].tokens, [1, 2]);
        assert_eq!(sequences[1].sum_log_prob, f32::NEG_INFINITY);
    }

    #[test]
    fn the_best_is_so_by_its_length() {
        let sequence = |length: usize, sum_log_prob| Sequence {
            tokens: vec![0; length],
            sum_log_prob,
        };
        let list = [sequence(2, -1.0), sequence(8, -2.0), sequence(0, -9.0)];
        assert_eq!(best(&list, None), Some(1));
        assert_eq!(best(&list, Some(0.0)), Some(0));
        assert_eq!(best(&[sequence(1, -1.0), sequence(1, -1.0)], None), Some(0));
        assert_eq!(best(&[], None), None);
    }
}
