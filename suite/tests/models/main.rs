//! Whole models against independent engines: tokens, logits, greedy continuations.

mod assembled;
mod checked;
mod engine;
mod examples;
mod finite;
mod flat;
mod lookup;
mod paged;
mod perplexity;
mod persistent;
mod returns;
mod smollm2;
mod steps;
mod support;
mod synth;
mod threads;
mod told;
mod ways;
