//! Whisper (Radford et al., 2022): speech to text. Sizes from tiny to large-v3 and turbo are configurations of one.
//!
//! What is decided on the host: [`tokenizer`] has the tokens and what they mean, [`beam`] which sequences
//! go on, [`fallback`] whether a result is good enough, [`transcript`] the loop over windows that seeks by
//! timestamps, [`words`] the times of words.

pub mod beam;
pub mod fallback;
pub mod tokenizer;
pub mod transcript;
pub mod words;
