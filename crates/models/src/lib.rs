//! Llama-type models, tokenizers, chat templates, sampling.
