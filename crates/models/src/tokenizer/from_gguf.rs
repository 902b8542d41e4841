//! The tokenizer's keys in GGUF metadata.

use warpsmith_formats::gguf::Metadata;

use super::vocab::Fields;
use crate::{
    Error,
    settings::{Fact, Known, Neutral},
};

/// Where the keys of tokenizers stand.
const SPACE: &str = "tokenizer.ggml.";
/// What such keys end in that name a token.
const TOKEN: &str = "_token_id";

/// Keys that are read, without [`SPACE`] in front.
const READ: [&str; 9] = [
    "add_bos_token",
    "add_eos_token",
    "add_space_prefix",
    "merges",
    "model",
    "pre",
    "scores",
    "token_type",
    "tokens",
];

/// Refuses keys that would change how text is cut and that nothing here does; gives those that name tokens.
fn check(metadata: &Metadata) -> Result<Vec<(String, u32)>, Error> {
    let known = Known {
        read: &READ,
        // segments are for models that are given two texts
        idle: &["token_type_count"],
        neutral: vec![
            ("add_sep_token", Neutral::Bool(false)),
            ("precompiled_charsmap", Neutral::Absent),
            ("remove_extra_whitespaces", Neutral::Bool(false)),
            ("suppress_tokens", Neutral::Absent),
        ],
    };
    let mut named = Vec::new();
    for (key, value) in metadata.iter() {
        let Some(name) = key.strip_prefix(SPACE) else {
            continue;
        };
        match name.ends_with(TOKEN) {
            true => named.push((key.to_owned(), metadata.u32(key)?)),
            false => known.check(name, key, &Fact::of_gguf(value))?,
        }
    }
    Ok(named)
}

impl Fields {
    /// Reads every key of the tokenizer; types are checked here, contents later.
    pub(super) fn from_gguf(metadata: &Metadata) -> Result<Self, Error> {
        Ok(Self {
            named: check(metadata)?,
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
