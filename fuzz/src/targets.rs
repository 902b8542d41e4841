//! The list of everything that is fuzzed: each parser of bytes that come from outside, with inputs it accepts.

mod seeds;

use crate::Target;
use warpsmith_formats::{gguf::Gguf, safetensors::Safetensors};
use warpsmith_models::{
    chat::{ChatTemplate, GenerationPrompt, Message},
    tokenizer::{Special, Tokenizer},
};
use warpsmith_ptx::{parse::parse, print::print, verify::verify};

/// Every registered target.
pub fn targets() -> Vec<Box<dyn Target>> {
    PARSERS
        .iter()
        .map(|parser| Box::new(*parser) as Box<dyn Target>)
        .collect()
}

/// A parser and what is done with what it accepts.
#[derive(Clone, Copy)]
struct Parser {
    name: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    dictionary: &'static [&'static str],
    /// Whether the input was accepted.
    takes: fn(&[u8]) -> bool,
}

impl Target for Parser {
    fn name(&self) -> &'static str {
        self.name
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        (self.seeds)()
    }

    fn run(&self, input: &[u8]) {
        (self.takes)(input);
    }

    fn dictionary(&self) -> Vec<Vec<u8>> {
        self.dictionary
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect()
    }
}

const PARSERS: [Parser; 6] = [
    Parser {
        name: "gguf",
        seeds: seeds::gguf,
        dictionary: &[
            "GGUF",
            "general.alignment",
            "split.count",
            "split.no",
            "split.tensors.count",
        ],
        takes: takes_gguf,
    },
    Parser {
        name: "safetensors",
        seeds: seeds::safetensors,
        dictionary: &[
            "\"data_offsets\":[0,4]",
            "\"dtype\":\"F32\"",
            "\"shape\":[]",
            "__metadata__",
            "18446744073709551615",
        ],
        takes: takes_safetensors,
    },
    Parser {
        name: "ptx",
        seeds: seeds::ptx,
        dictionary: &[
            ".version 7.8",
            ".target sm_90a",
            ".address_size 64",
            ".visible .entry",
            ".reg .b32",
            ".shared .align 16",
            "ld.global.nc.v4.f32",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "bar.sync 0;",
            "@!%p1 bra",
            "0f3f800000",
            "/*",
            "*/",
            "%tid.x",
            "<8>",
            ".param .u64",
        ],
        takes: takes_ptx,
    },
    Parser {
        name: "tokenizer-json",
        seeds: seeds::tokenizer_json,
        dictionary: &[
            "\"ByteLevel\"",
            "\"Metaspace\"",
            "\"Split\"",
            "\"Sequence\"",
            "\"Replace\"",
            "\"NFC\"",
            "\"Unigram\"",
            "\"WordPiece\"",
            "\"byte_fallback\":true",
            "\"special\":true",
            "\"dropout\":0.1",
            "\"Regex\":\"(a*)*b\"",
        ],
        takes: takes_tokenizer_json,
    },
    Parser {
        name: "tokenizer-gguf",
        seeds: seeds::tokenizer_gguf,
        dictionary: &[
            "tokenizer.ggml.model",
            "gpt2",
            "llama-bpe",
            "qwen2",
            "smollm",
            "<0x0A>",
            "\u{2581}",
            "\u{120}",
        ],
        takes: takes_tokenizer_gguf,
    },
    Parser {
        name: "chat-template",
        seeds: seeds::chat_template,
        dictionary: &[
            "{% for m in messages %}",
            "{% endfor %}",
            "{% if ",
            "{% set x = ",
            "{% macro f(a) %}",
            "{{ f(",
            "| tojson",
            "| trim",
            "namespace(",
            "raise_exception(",
            ".split(",
            ".format(",
            "* 99999999",
            "range(10000)",
            "loop.index0",
            "strftime_now(",
        ],
        takes: takes_chat_template,
    },
];

/// What tokenizers are tried on.
const TEXT: &str = "Hello, <|im_end|> na\u{ef}ve 123\n\n \u{1f642}\u{4f60}\u{597d} </s>";

fn takes_gguf(input: &[u8]) -> bool {
    let Ok(file) = Gguf::parse(input.to_vec()) else {
        return false;
    };
    for tensor in file.tensors() {
        assert_eq!(file.data(tensor).len() as u64, tensor.bytes);
        let _ = file.check_finite(tensor);
    }
    true
}

fn takes_safetensors(input: &[u8]) -> bool {
    let Ok(file) = Safetensors::parse(input.to_vec()) else {
        return false;
    };
    for tensor in file.tensors() {
        assert_eq!(file.data(tensor).len() as u64, tensor.bytes);
        let _ = file.check_finite(tensor);
    }
    true
}

fn takes_ptx(input: &[u8]) -> bool {
    let Ok(module) = parse(&String::from_utf8_lossy(input)) else {
        return false;
    };
    let text = print(&module);
    match parse(&text) {
        Ok(again) => assert_eq!(
            again, module,
            "what is printed reads as the same module:\n{text}"
        ),
        Err(found) => panic!("what is printed is refused: {}\n{text}", found[0]),
    }
    verify(module).is_ok()
}

/// Tokens of a text, and the text again; whether the tokenizer could.
fn takes_text(tokenizer: &Tokenizer) -> bool {
    [Special::Parse, Special::Plain].into_iter().all(|special| {
        tokenizer.encode(TEXT, special).is_ok_and(|ids| {
            let mut decoder = tokenizer.decoder();
            tokenizer.decode(&ids).is_ok()
                & ids.iter().all(|id| decoder.push(*id).is_ok())
                & decoder.finish().is_ok()
        })
    })
}

fn takes_tokenizer_json(input: &[u8]) -> bool {
    Tokenizer::from_json(input).is_ok_and(|tokenizer| takes_text(&tokenizer))
}

fn takes_tokenizer_gguf(input: &[u8]) -> bool {
    let Ok(file) = Gguf::parse(input.to_vec()) else {
        return false;
    };
    Tokenizer::from_gguf(file.metadata()).is_ok_and(|tokenizer| takes_text(&tokenizer))
}

fn takes_chat_template(input: &[u8]) -> bool {
    let Ok(template) = ChatTemplate::from_source(&String::from_utf8_lossy(input)) else {
        return false;
    };
    let message = |role: &str, content: &str| Message {
        role: role.to_owned(),
        content: content.to_owned(),
    };
    let messages = [
        message("system", "Be kind."),
        message("user", "Hi {{ 1 }}"),
        message("assistant", "\u{1f642}"),
        message("user", ""),
    ];
    template
        .at_time(1_700_000_000)
        .render(&messages, GenerationPrompt::Add)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_accepted() {
        for parser in PARSERS {
            for (index, seed) in parser.seeds().iter().enumerate() {
                assert!(
                    (parser.takes)(seed),
                    "{} seed {index}: {}",
                    parser.name,
                    seed.escape_ascii()
                );
            }
        }
    }
}
