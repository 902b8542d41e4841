//! The floor: how fast this machine could be if nothing but reading weights or multiplying took time.

use super::model::load;
use crate::{Failed, args::Args};
use serde::{Deserialize, Serialize};
use warpsmith::{models::llama::Config, roof::Roof};

/// What the machine does, and what a token needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Floor {
    /// Bytes of all weights, each of which a token reads.
    pub(crate) weight_bytes: u64,
    /// Floating-point operations of a prompt, by token.
    pub(crate) prefill_flops: f64,
    /// Bytes a second of reading as many bytes as the weights have, over and over, with all threads.
    pub(crate) read_bytes_s: f64,
    /// f32 operations a second of fused multiply-adds with all threads, two for each.
    pub(crate) fma_flops_s: f64,
}

impl Floor {
    pub(crate) fn decode_tok_s(&self) -> f64 {
        self.read_bytes_s / self.weight_bytes as f64
    }

    pub(crate) fn prefill_tok_s(&self) -> f64 {
        self.fma_flops_s / self.prefill_flops
    }
}

pub(crate) fn measure(args: &Args) -> Result<Floor, Failed> {
    let (weight_bytes, prefill_flops) = {
        let bundle = load(args)?;
        let config = bundle.model.config();
        (bundle.model.bytes(), flops(config, args.prefill as f64))
    };
    let Roof {
        bytes_s,
        operations_s,
    } = Roof::of_host(weight_bytes as usize, args.threads);
    Ok(Floor {
        weight_bytes,
        prefill_flops,
        read_bytes_s: bytes_s,
        fma_flops_s: operations_s,
    })
}

/// Multiplications and additions of `tokens` tokens, by token: matrices, scores and weighted sums of attention under
/// the causal mask. The head is computed for the last token alone.
fn flops(config: &Config, tokens: f64) -> f64 {
    let [width, feed_forward, vocab] =
        [config.width, config.feed_forward, config.vocab].map(f64::from);
    let (queries, keys) = (
        f64::from(config.heads * config.head_dim),
        f64::from(config.kv_heads * config.head_dim),
    );
    let matrices = width * (2.0 * queries + 2.0 * keys + 3.0 * feed_forward);
    let attention = 2.0 * queries * (tokens + 1.0) / 2.0;
    2.0 * (f64::from(config.layers) * (matrices + attention) + vocab * width / tokens)
}
