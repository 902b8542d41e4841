//! The list of everything that is fuzzed: each parser of bytes that come from outside, with inputs it accepts.

mod seeds;

use crate::Target;
use warpsmith_audio::{Padding, Spectrogram, Window};
use warpsmith_formats::{
    gguf::Gguf, quant::check_finite, safetensors::Safetensors, whisper::WhisperFile,
};
use warpsmith_models::{
    chat::{ChatTemplate, GenerationPrompt, Message},
    tokenizer::{Special, Tokenizer},
    whisper::tokenizer::Tokenizer as Speech,
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

const PARSERS: [Parser; 11] = [
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
    Parser {
        name: "whisper-ct2",
        seeds: seeds::whisper_ct2,
        dictionary: &[
            "WhisperSpec\0",
            "decoder/projection/weight\0",
            "decoder/embeddings/weight\0",
            "encoder/num_heads\0",
            "layer_0",
            "linear_0",
        ],
        takes: takes_whisper,
    },
    Parser {
        name: "whisper-ggml",
        seeds: seeds::whisper_ggml,
        dictionary: &["lmgg", "encoder.conv1.weight", "decoder.blocks.0."],
        takes: takes_whisper,
    },
    Parser {
        name: "whisper-safetensors",
        seeds: seeds::whisper_safetensors,
        dictionary: &[
            "model.encoder.layers.0.",
            "\"shape\":[1,1,3]",
            "\"dtype\":\"F16\"",
            "proj_out.weight",
        ],
        takes: takes_whisper,
    },
    Parser {
        name: "whisper-tokenizer-json",
        seeds: seeds::whisper_tokenizer_json,
        dictionary: &["\"added_tokens\":[]", "\u{120}", "50257", "\"id\":50258"],
        takes: takes_speech_tokenizer,
    },
    Parser {
        name: "sound",
        seeds: seeds::sound,
        dictionary: &[
            "RIFF",
            "WAVE",
            "fmt ",
            "data",
            "fLaC",
            "OggS",
            "ID3",
            "ftyp",
            "moov",
            "\u{1}vorbis",
        ],
        takes: takes_sound,
    },
];

/// What tokenizers are tried on.
const TEXT: &str = "Hello, <|im_end|> na\u{ef}ve 123\n\n \u{1f642}\u{4f60}\u{597d} </s>";

fn takes_gguf(input: &[u8]) -> bool {
    let Ok(file) = Gguf::parse(input.to_vec()) else {
        return false;
    };
    let mut data = Vec::new();
    for tensor in file.tensors() {
        file.read(tensor, &mut data).expect("bytes in memory");
        assert_eq!(data.len() as u64, tensor.bytes);
        let _ = check_finite(&tensor.name, tensor.dtype, &data);
    }
    true
}

fn takes_safetensors(input: &[u8]) -> bool {
    let Ok(file) = Safetensors::parse(input.to_vec()) else {
        return false;
    };
    let mut data = Vec::new();
    for tensor in file.tensors() {
        file.read(tensor, &mut data).expect("bytes in memory");
        assert_eq!(data.len() as u64, tensor.bytes);
        let _ = check_finite(&tensor.name, tensor.dtype, &data);
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

/// A Whisper model; safetensors with the configuration of the seeds.
fn takes_whisper(input: &[u8]) -> bool {
    let config = seeds::whisper_config();
    let Ok(file) = WhisperFile::parse(input.to_vec(), Some(&config)) else {
        return false;
    };
    let mut data = Vec::new();
    for tensor in file.tensors() {
        file.read(tensor, &mut data).expect("bytes in memory");
        assert_eq!(data.len() as u64, tensor.bytes);
        let _ = check_finite(&tensor.name, tensor.dtype, &data);
    }
    true
}

fn takes_speech_tokenizer(input: &[u8]) -> bool {
    let Ok(tokenizer) = Speech::from_json(51_865, input) else {
        return false;
    };
    let mut ids = tokenizer.encode(TEXT);
    ids.push(tokenizer.special().end);
    let words = tokenizer.split_words(&ids, "en");
    let count: usize = words.iter().map(|word| word.tokens.len()).sum();
    assert_eq!(count, ids.len(), "every token is in a word");
    tokenizer.suppressed();
    true
}

fn takes_sound(input: &[u8]) -> bool {
    let Ok(mut spectrogram) = Spectrogram::of_bytes(input.to_vec(), 8) else {
        return false;
    };
    let window = Window {
        first: 0,
        frames: 100,
        end: u64::MAX,
        padding: Padding::Silence,
    };
    let mut mel = vec![0.0; 8 * 100];
    spectrogram.window(window, &mut mel).expect("was read once");
    assert!(mel.iter().all(|x| x.is_finite()));
    true
}

fn takes_chat_template(input: &[u8]) -> bool {
    let Ok(template) = ChatTemplate::from_source(&String::from_utf8_lossy(input)) else {
        return false;
    };
    let message = |role: &str, content: &str| Message::new(role, content);
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
