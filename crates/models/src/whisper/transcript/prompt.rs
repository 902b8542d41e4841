//! What stands before a window: what was said before, and the tokens that begin a sequence.

use super::{Options, Sizes};
use crate::whisper::tokenizer::Special;

/// What was said so far, and since when it counts.
#[derive(Clone, Debug)]
pub struct Prompt {
    said: Vec<u32>,
    since: usize,
    /// How many tokens at the front are the initial prompt, carried before every window; 0 if it is not.
    carried: usize,
    most: usize,
}

impl Prompt {
    pub(super) fn new(options: &Options, sizes: Sizes) -> Prompt {
        Prompt {
            said: options.initial_prompt.clone(),
            since: 0,
            carried: if options.carry_initial_prompt {
                options.initial_prompt.len()
            } else {
                0
            },
            most: most(sizes.n_text_ctx),
        }
    }

    /// The prompt of the next window.
    pub(super) fn tokens(&self) -> Vec<u32> {
        let since = self.since.max(self.carried);
        let said = &self.said[since..];
        let initial = last(&self.said[..self.carried], self.most);
        let said = last(said, self.most - initial.len());
        [initial, said].concat()
    }

    pub(super) fn extend(&mut self, tokens: impl Iterator<Item = u32>) {
        self.said.extend(tokens);
    }

    /// Forgets what was said so far.
    pub(super) fn reset(&mut self) {
        self.since = self.said.len();
    }
}

/// The most tokens of a prompt.
fn most(n_text_ctx: u32) -> usize {
    (n_text_ctx as usize / 2).saturating_sub(1)
}

fn last(tokens: &[u32], most: usize) -> &[u32] {
    &tokens[tokens.len().saturating_sub(most)..]
}

/// The tokens that a window's decoding begins with: the prompt behind its mark, if there is one, then
/// the start `sequence`, then `prefix`, which the text goes on from.
pub fn initial_tokens(
    special: &Special,
    n_text_ctx: u32,
    prompt: &[u32],
    sequence: &[u32],
    prefix: &[u32],
) -> Vec<u32> {
    let mut tokens = Vec::new();
    if !prompt.is_empty() {
        tokens.push(special.previous);
        tokens.extend(last(prompt, most(n_text_ctx)));
    }
    tokens.extend(sequence);
    tokens.extend(prefix);
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes {
        window: 3000,
        stride: 2,
        n_text_ctx: 12,
    };

    fn prompt(initial: &[u32], carry: bool) -> Prompt {
        let options = Options {
            initial_prompt: initial.to_vec(),
            carry_initial_prompt: carry,
            ..Options::default()
        };
        Prompt::new(&options, SIZES)
    }

    #[test]
    fn the_last_of_what_was_said_is_the_prompt() {
        let mut prompt = prompt(&[], false);
        assert!(prompt.tokens().is_empty());
        prompt.extend(1..=4);
        assert_eq!(prompt.tokens(), [1, 2, 3, 4]);
        prompt.extend(5..=9);
        assert_eq!(prompt.tokens(), [5, 6, 7, 8, 9]);
        prompt.reset();
        assert!(prompt.tokens().is_empty());
        prompt.extend(10..=11);
        assert_eq!(prompt.tokens(), [10, 11]);
    }

    #[test]
    fn an_initial_prompt_is_forgotten_unless_it_is_carried() {
        let mut once = prompt(&[1, 2], false);
        let mut carried = prompt(&[1, 2], true);
        assert_eq!((once.tokens(), carried.tokens()), (vec![1, 2], vec![1, 2]));
        for prompt in [&mut once, &mut carried] {
            prompt.extend(3..=7);
        }
        assert_eq!(once.tokens(), [3, 4, 5, 6, 7]);
        assert_eq!(carried.tokens(), [1, 2, 5, 6, 7]);
        for prompt in [&mut once, &mut carried] {
            prompt.reset();
        }
        assert!(once.tokens().is_empty());
        assert_eq!(carried.tokens(), [1, 2]);
        // Longer than all there is room for.
        assert_eq!(
            prompt(&[1, 2, 3, 4, 5, 6, 7], true).tokens(),
            [3, 4, 5, 6, 7]
        );
    }

    #[test]
    fn a_sequence_begins_with_the_prompt_behind_its_mark() {
        let special = Special::new(51_865).expect("a size");
        let tokens = |prompt: &[u32]| initial_tokens(&special, 12, prompt, &[special.start], &[8]);
        assert_eq!(tokens(&[]), [special.start, 8]);
        let long = tokens(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(long, [special.previous, 2, 3, 4, 5, 6, special.start, 8]);
    }
}
