//! Perplexity of a text: which tokens are scored behind how many others, in windows that a model's context holds.

use super::session::Session;
use crate::Error;

/// How a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Windows of `context` tokens, each `stride` behind the one before; a token is scored in the first that has it. Each
    /// token but the first is scored once, all but those of the first window behind `context - stride` others or more: the
    /// way of Hugging Face's guide to perplexity.
    Sliding {
        /// Tokens of a window, at least 2.
        context: u32,
        /// Tokens from one window to the next: 1 to `context - 1`.
        stride: u32,
    },
    /// Windows of `context` tokens side by side, the second half of each scored, an incomplete one left out; where there is
    /// a `bos`, it stands in the place of each one's first token: the way of llama.cpp's `llama-perplexity`.
    Chunks {
        /// Tokens of a window, at least 4.
        context: u32,
        /// The token that begins texts, where the model wants one.
        bos: Option<u32>,
    },
}

/// Tokens that are evaluated together, and those of them that are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first token.
    pub start: usize,
    /// The first token that is scored, behind the first.
    pub scored: usize,
    /// The end, behind the last.
    pub end: usize,
    /// What stands in the place of the first token.
    pub first: Option<u32>,
}

/// The mean over scored tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Perplexity {
    /// Tokens scored.
    pub scored: u64,
    sum: f64,
    squares: f64,
}

impl Windows {
    /// The windows over a text of `tokens`.
    ///
    /// # Errors
    /// A context or stride out of its range; a text without a token to score.
    pub fn over(self, tokens: usize) -> Result<Vec<Window>, Error> {
        let wrong = |what: String| Err(Error::Unsupported { what });
        match self {
            Windows::Sliding { context, stride } => {
                if context < 2 || stride == 0 || stride >= context {
                    return wrong(format!(
                        "a stride of {stride} for windows of {context} tokens, expected 1 to {}",
                        context.saturating_sub(1)
                    ));
                }
                if tokens < 2 {
                    return wrong(format!(
                        "perplexity of {tokens} tokens, expected at least 2"
                    ));
                }
                let (context, stride) = (context as usize, stride as usize);
                let mut windows = Vec::new();
                let (mut start, mut scored) = (0, 1);
                while scored < tokens {
                    let end = tokens.min(start + context);
                    let first = None;
                    windows.push(Window {
                        start,
                        scored,
                        end,
                        first,
                    });
                    (start, scored) = (start + stride, end);
                }
                Ok(windows)
            }
            Windows::Chunks { context, bos } => {
                if context < 4 {
                    return wrong(format!("chunks of {context} tokens, expected at least 4"));
                }
                let context = context as usize;
                if tokens < context {
                    return wrong(format!(
                        "perplexity of {tokens} tokens in chunks of {context}, expected at least one chunk"
                    ));
                }
                let starts = (0..tokens / context).map(|chunk| chunk * context);
                Ok(starts
                    .map(|start| Window {
                        start,
                        scored: start + context / 2 + 1,
                        end: start + context,
                        first: bos,
                    })
                    .collect())
            }
        }
    }
}

impl Perplexity {
    /// Adds a window's log-probabilities.
    pub fn add(&mut self, log_probabilities: &[f32]) {
        for p in log_probabilities.iter().map(|p| f64::from(*p)) {
            self.scored += 1;
            self.sum -= p;
            self.squares += p * p;
        }
    }

    /// The mean negative log-likelihood of a token, natural; 0 of none.
    pub fn mean(&self) -> f64 {
        self.sum / (self.scored.max(1)) as f64
    }

    /// `exp(mean)`: as if the model had to choose among so many equally probable tokens each time.
    pub fn value(&self) -> f64 {
        self.mean().exp()
    }

    /// The standard error of the value, as far as tokens are independent; 0 of fewer than two.
    pub fn error(&self) -> f64 {
        if self.scored < 2 {
            return 0.0;
        }
        let n = self.scored as f64;
        let variance = (self.squares / n - self.mean() * self.mean()).max(0.0);
        (variance / (n - 1.0)).sqrt() * self.value()
    }
}

impl Session {
    /// The log-probabilities of the tokens that a window of `ids` scores. What the session held is forgotten; it then holds
    /// the window but for its last token.
    ///
    /// # Errors
    /// As [`Session::score`]; a window outside of `ids`.
    pub fn score_window(&mut self, ids: &[u32], window: Window) -> Result<Vec<f32>, Error> {
        let Window {
            start,
            scored,
            end,
            first,
        } = window;
        if !(start < scored && scored <= end && end <= ids.len()) {
            return Err(Error::Size {
                what: "tokens of a window",
                want: end,
                got: ids.len(),
            });
        }
        self.reset();
        let mut own = ids[start..end].to_vec();
        if let Some(first) = first {
            own[0] = first;
        }
        let before = scored - start - 1;
        if before > 0 {
            self.prefill(&own[..before], &mut |_, _| {})?;
        }
        let last = own.len() - 1;
        self.score(&own[before..last], &own[before + 1..])
    }
}

#[cfg(test)]
mod tests {
    use super::{Perplexity, Window, Windows};

    /// The loop of Hugging Face's guide: begin, end, and how many targets count.
    fn guide(tokens: usize, context: usize, stride: usize) -> Vec<(usize, usize, usize)> {
        let mut all = Vec::new();
        let mut before = 0;
        let mut begin = 0;
        while begin < tokens {
            let end = (begin + context).min(tokens);
            all.push((begin, end, end - before));
            before = end;
            if end == tokens {
                break;
            }
            begin += stride;
        }
        all
    }

    #[test]
    fn sliding_windows_are_those_of_the_guide_and_score_each_token_once() {
        for tokens in 2..60 {
            for context in 2..24 {
                for stride in 1..context {
                    let windows = Windows::Sliding { context, stride }
                        .over(tokens)
                        .expect("windows");
                    let guide = guide(tokens, context as usize, stride as usize);
                    // The label of a window's first token is dropped by the guide's shift.
                    let found = windows.iter().map(|window| {
                        let Window {
                            start, scored, end, ..
                        } = *window;
                        (start, end, end - scored + usize::from(start == 0))
                    });
                    assert_eq!(found.collect::<Vec<_>>(), guide);
                    let scored: usize = windows.iter().map(|w| w.end - w.scored).sum();
                    assert_eq!(scored, tokens - 1, "{tokens} {context} {stride}");
                    for window in &windows[1..] {
                        assert!(window.scored - window.start >= (context - stride) as usize);
                    }
                }
            }
        }
    }

    #[test]
    fn chunks_score_their_second_halves() {
        let chunks = Windows::Chunks {
            context: 8,
            bos: Some(1),
        };
        let window = |start| Window {
            start,
            scored: start + 5,
            end: start + 8,
            first: Some(1),
        };
        assert_eq!(chunks.over(23).expect("windows"), [window(0), window(8)]);
        assert_eq!(chunks.over(8).expect("windows"), [window(0)]);
        assert!(chunks.over(7).is_err());
        let small = Windows::Chunks {
            context: 3,
            bos: None,
        };
        assert!(small.over(100).is_err());
        for (context, stride) in [(8, 0), (8, 8), (1, 1), (0, 0)] {
            assert!(Windows::Sliding { context, stride }.over(9).is_err());
        }
        let sliding = Windows::Sliding {
            context: 4,
            stride: 2,
        };
        assert!(sliding.over(1).is_err());
    }

    #[test]
    fn the_perplexity_of_equal_guesses_is_their_number() {
        let mut found = Perplexity::default();
        assert_eq!((found.mean(), found.error()), (0.0, 0.0));
        found.add(&[-(7f32.ln()); 5]);
        found.add(&[-(7f32.ln()); 4]);
        assert!((found.value() - 7.0).abs() < 1e-6 && found.error() < 1e-3);
        assert_eq!(found.scored, 9);
        let mut two = Perplexity::default();
        two.add(&[-1.0, -3.0]);
        // The mean is 2, the deviation of the mean 1.
        assert!((two.error() - 2f64.exp()).abs() < 1e-9, "{}", two.error());
    }
}
