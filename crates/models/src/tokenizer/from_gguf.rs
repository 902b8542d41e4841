//! The tokenizer's keys in GGUF metadata.

use warpsmith_formats::gguf::Metadata;

use super::vocab::Fields;
use crate::Error;

impl Fields {
    /// Reads every key of the tokenizer; types are checked here, contents later.
    pub(super) fn from_gguf(metadata: &Metadata) -> Result<Self, Error> {
        Ok(Self {
            model: metadata.str("tokenizer.ggml.model")?.to_owned(),
            pre: metadata.opt_str("tokenizer.ggml.pre")?.map(str::to_owned),
            tokens: metadata.strings("tokenizer.ggml.tokens")?.to_vec(),
            scores: metadata
                .opt_f32s("tokenizer.ggml.scores")?
                .map(<[f32]>::to_vec),
            types: metadata
                .opt_i32s("tokenizer.ggml.token_type")?
                .map(<[i32]>::to_vec),
            merges: metadata
                .opt_strings("tokenizer.ggml.merges")?
                .map(<[String]>::to_vec),
            bos: metadata.opt_u32("tokenizer.ggml.bos_token_id")?,
            eos: metadata.opt_u32("tokenizer.ggml.eos_token_id")?,
            eot: metadata.opt_u32("tokenizer.ggml.eot_token_id")?,
            eom: metadata.opt_u32("tokenizer.ggml.eom_token_id")?,
            unknown: metadata.opt_u32("tokenizer.ggml.unknown_token_id")?,
            add_bos: metadata.opt_bool("tokenizer.ggml.add_bos_token")?,
            add_eos: metadata.opt_bool("tokenizer.ggml.add_eos_token")?,
            add_space_prefix: metadata.opt_bool("tokenizer.ggml.add_space_prefix")?,
        })
    }
}
