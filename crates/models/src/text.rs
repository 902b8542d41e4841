//! Tokens to the text that is certain, up to a stop string.

use crate::{
    Error,
    tokenizer::{Decoder, Tokenizer},
};

/// What turns the tokens of one continuation into text, up to a stop string.
#[derive(Debug)]
pub struct Written<'a> {
    tokenizer: &'a Tokenizer,
    decoder: Decoder<'a>,
    stops: StopMatcher,
}

impl<'a> Written<'a> {
    /// Of tokens that follow `prompt`.
    pub fn after(prompt: &[u32], tokenizer: &'a Tokenizer, stops: StopMatcher) -> Written<'a> {
        Written {
            tokenizer,
            decoder: tokenizer.decoder_after(prompt),
            stops,
        }
    }

    /// The text that is certain with the next token. One that ends the text has none, and neither has an id that the model
    /// knows and the tokenizer does not.
    ///
    /// # Errors
    /// Only for a `tokenizer.json` whose decoder fails.
    pub fn push(&mut self, token: u32) -> Result<Streamed, Error> {
        let known = (token as usize) < self.tokenizer.vocab_len();
        if self.tokenizer.is_end_of_generation(token) || !known {
            return Ok(Streamed::Text(String::new()));
        }
        Ok(self.stops.push(&self.decoder.push(token)?))
    }

    /// The text that was held back, where no stop string came.
    ///
    /// # Errors
    /// As [`Written::push`].
    pub fn finish(mut self) -> Result<String, Error> {
        Ok(match self.stops.push(&self.decoder.finish()?) {
            Streamed::Text(text) => text + &self.stops.finish(),
            Streamed::Stopped { text, stop: _ } => text,
        })
    }
}

/// Watches streamed text for the first of several stop strings.
///
/// Text that may be the beginning of a stop string is held back, so nothing of a stop string is
/// ever shown, however the text is cut into pieces. The stop string that is complete first wins;
/// of two that end together, the one that began first.
///
/// ```
/// use warpsmith_models::text::{StopMatcher, Streamed};
///
/// let mut stops = StopMatcher::new(["\nUser:"])?;
/// assert_eq!(stops.push("Yes.\nUs"), Streamed::Text("Yes.".into()));
/// assert_eq!(stops.push("er: ok"), Streamed::Stopped { text: "".into(), stop: 0 });
/// # Ok::<(), warpsmith_models::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StopMatcher {
    stops: Vec<String>,
    held: String,
    stopped: Option<usize>,
}

/// What a piece of text led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Streamed {
    /// Text that is certain to precede any stop string; may be empty.
    Text(String),
    /// A stop string is complete.
    Stopped {
        /// The text before it that was not yet shown.
        text: String,
        /// Its place in the list.
        stop: usize,
    },
}

impl StopMatcher {
    /// A matcher for `stops`; with none, all text passes at once.
    ///
    /// # Errors
    /// An empty stop string.
    pub fn new<S: Into<String>>(stops: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let stops: Vec<String> = stops.into_iter().map(Into::into).collect();
        match stops.iter().position(String::is_empty) {
            Some(index) => Err(Error::EmptyStop { index }),
            None => Ok(Self {
                stops,
                held: String::new(),
                stopped: None,
            }),
        }
    }

    /// Takes the next piece of text. After a stop, everything is swallowed.
    pub fn push(&mut self, text: &str) -> Streamed {
        if let Some(stop) = self.stopped {
            return Streamed::Stopped {
                text: String::new(),
                stop,
            };
        }
        self.held.push_str(text);
        let first = self
            .stops
            .iter()
            .enumerate()
            .filter_map(|(stop, text)| {
                let start = self.held.find(text.as_str())?;
                Some((start + text.len(), start, stop))
            })
            .min();
        if let Some((_, start, stop)) = first {
            self.held.truncate(start);
            self.stopped = Some(stop);
            return Streamed::Stopped {
                text: std::mem::take(&mut self.held),
                stop,
            };
        }
        let tail = self.held.split_off(self.certain());
        Streamed::Text(std::mem::replace(&mut self.held, tail))
    }

    /// The text still held back when the stream ends without a stop.
    pub fn finish(self) -> String {
        self.held
    }

    /// The length of the text that cannot be part of a stop string.
    fn certain(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(1);
        let earliest = self.held.len().saturating_sub(longest - 1);
        (earliest..self.held.len())
            .filter(|&at| self.held.is_char_boundary(at))
            .find(|&at| {
                let tail = &self.held[at..];
                self.stops.iter().any(|stop| stop.starts_with(tail))
            })
            .unwrap_or(self.held.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All text shown and the stop found.
    fn stream<'t>(
        stops: &[&str],
        pieces: impl IntoIterator<Item = &'t str>,
    ) -> (String, Option<usize>) {
        let mut matcher = StopMatcher::new(stops.iter().copied()).unwrap();
        let mut shown = String::new();
        for piece in pieces {
            match matcher.push(piece) {
                Streamed::Text(text) => shown.push_str(&text),
                Streamed::Stopped { text, stop } => {
                    shown.push_str(&text);
                    return (shown, Some(stop));
                }
            }
        }
        shown.push_str(&matcher.finish());
        (shown, None)
    }

    #[test]
    fn a_stop_string_across_pieces_is_never_shown() {
        assert_eq!(
            stream(&["STOP"], ["a ST", "O", "P b"]),
            ("a ".into(), Some(0))
        );
        assert_eq!(
            stream(&["STOP"], ["a ST", "O", "X b"]),
            ("a STOX b".into(), None)
        );
        assert_eq!(
            stream(&["aab"], ["a", "a", "a", "b"]),
            ("a".into(), Some(0))
        );
        assert_eq!(stream(&["→→"], ["x→", "y→", "→"]), ("x→y".into(), Some(0)));
        assert_eq!(stream(&[], ["a", "b"]), ("ab".into(), None));
    }

    #[test]
    fn the_stop_that_is_complete_first_wins() {
        assert_eq!(stream(&["abc", "b"], ["xabc"]), ("xa".into(), Some(1)));
        assert_eq!(stream(&["bc", "abc"], ["xabc"]), ("x".into(), Some(1)));
    }

    #[test]
    fn text_that_cannot_be_a_stop_is_shown_at_once() {
        let mut matcher = StopMatcher::new(["\n\n"]).unwrap();
        assert_eq!(matcher.push("line\n"), Streamed::Text("line".into()));
        assert_eq!(matcher.push("next"), Streamed::Text("\nnext".into()));
    }

    #[test]
    fn nothing_comes_after_a_stop() {
        let mut matcher = StopMatcher::new(["."]).unwrap();
        matcher.push("a.");
        let stopped = Streamed::Stopped {
            text: String::new(),
            stop: 0,
        };
        assert_eq!(matcher.push("b"), stopped);
        assert_eq!(matcher.finish(), "");
    }

    #[test]
    fn an_empty_stop_string_is_refused() {
        let error = StopMatcher::new(["a", ""]).unwrap_err();
        assert!(matches!(error, Error::EmptyStop { index: 1 }));
    }

    proptest! {
        #[test]
        fn how_text_is_cut_changes_nothing(
            stops in prop::collection::vec("[abé]{1,4}", 0..3),
            pieces in prop::collection::vec("[abé]{0,3}", 0..12),
        ) {
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let whole = pieces.concat();
            let got = stream(&stops, pieces.iter().map(String::as_str));
            prop_assert_eq!(&got, &stream(&stops, [whole.as_str()]));
            let ends = stops.iter().filter_map(|s| whole.find(s).map(|at| (at + s.len(), at))).min();
            let want = ends.map_or(whole.as_str(), |(_, at)| &whole[..at]);
            prop_assert_eq!(got.0, want);
        }
    }
}
