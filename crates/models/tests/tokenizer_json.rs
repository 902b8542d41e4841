//! Whatever a `tokenizer.json` asks for, it is read, or refused by the part that cannot be done: nothing panics.

use serde_json::{Value, json};
use std::path::Path;
use warpsmith_models::{
    Error,
    tokenizer::{Special, Tokenizer},
};

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tokenizers");
    let text = std::fs::read(path.join(name)).expect("a case");
    serde_json::from_slice(&text).expect("JSON")
}

fn load(json: &Value) -> Result<Tokenizer, Error> {
    Tokenizer::from_json(&serde_json::to_vec(json).expect("JSON"))
}

/// A tokenizer of three tokens with some of its parts replaced.
fn with(parts: &Value) -> Value {
    let mut json = json!({ "version": "1.0", "added_tokens": [], "model": {
        "type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"] } });
    let (Value::Object(json), Value::Object(parts)) = (&mut json, parts) else {
        panic!("objects");
    };
    json.extend(parts.clone());
    Value::Object(json.clone())
}

fn check(json: &Value, part: &str) {
    let said = load(json).expect_err(part).to_string();
    assert!(
        said.starts_with(&format!("tokenizer.json: {part}: ")),
        "{part}: {said}"
    );
}

#[test]
fn parts_that_cannot_be_done_are_refused_by_their_place() {
    check(&read("fixed_length_0.json"), "pre_tokenizer.length");
    check(&read("replace_empty.json"), "normalizer.pattern.String");
    check(&read("subword_prefix.json"), "model.merges[0]");
    check(
        &read("template_token.json"),
        "post_processor.single[0].SpecialToken.id",
    );
    let replace = json!({"type": "Replace", "pattern": {"Regex": ""}, "content": "x"});
    let split = json!({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false});
    let single = |piece: Value| json!({"type": "TemplateProcessing", "single": [piece], "pair": [], "special_tokens": {}});
    let sequence = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    let special = json!({"SpecialToken": {"id": "</s>", "type_id": 0}});
    for (parts, place) in [
        (
            json!({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, replace]}}),
            "normalizer.normalizers[1].pattern.Regex",
        ),
        (
            json!({"decoder": {"type": "Sequence", "decoders": [replace]}}),
            "decoder.decoders[0].pattern.Regex",
        ),
        (
            json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split]}}),
            "pre_tokenizer.pretokenizers[0].pattern.String",
        ),
        (
            json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "FixedLength", "length": 0}]}}),
            "pre_tokenizer.pretokenizers[0].length",
        ),
        (
            json!({"post_processor": single(sequence("B"))}),
            "post_processor.single[0].Sequence.id",
        ),
        (
            json!({"post_processor": single(special.clone())}),
            "post_processor.single[0].SpecialToken.id",
        ),
        (
            json!({"post_processor": {"type": "Sequence", "processors": [single(special)]}}),
            "post_processor.processors[0].single[0].SpecialToken.id",
        ),
        (
            json!({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}),
            "normalizer",
        ),
        (
            json!({"model": {"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}}),
            "model.dropout",
        ),
        (
            json!({"model": {"type": "BPE", "continuing_subword_prefix": "é", "vocab": {"a": 0, "é": 1, "aé": 2},
            "merges": [["a", "\u{ea}"]]}}),
            "model.merges[0]",
        ),
    ] {
        check(&with(&parts), place);
    }
}

#[test]
fn what_cannot_be_foreseen_is_an_error_at_the_call() {
    let template = json!({"type": "TemplateProcessing", "special_tokens": {}, "pair": [], "single": [
        {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}}]});
    // The second of them is given three texts.
    let twice = json!({"post_processor": {"type": "Sequence", "processors": [template, template]}});
    let error = load(&with(&twice)).expect_err("a panic inside");
    assert!(matches!(error, Error::TokenizerPanic { .. }), "{error}");
    // Cut off at the end of a token that is shorter than that.
    let strip = json!({"decoder": {"type": "Strip", "content": "b", "start": 0, "stop": 3}});
    let tokenizer = load(&with(&strip)).expect("a tokenizer");
    let error = tokenizer.decode(&[1]).expect_err("a panic inside");
    assert!(matches!(error, Error::TokenizerPanic { .. }), "{error}");
    assert_eq!(tokenizer.decode(&[0]).expect("nothing to cut off"), "a");
    let error = tokenizer.decoder().push(1).expect_err("a panic inside");
    assert!(matches!(error, Error::TokenizerPanic { .. }), "{error}");
}

#[test]
fn tokens_that_the_vocabulary_does_not_have_are_refused() {
    let frame = json!({"type": "TemplateProcessing", "pair": [],
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [77], "tokens": ["<s>"]}}});
    let error = load(&with(&json!({ "post_processor": frame }))).expect_err("77 is none");
    assert!(
        matches!(
            error,
            Error::TokenId {
                id: 77,
                vocab: 3,
                ..
            }
        ),
        "{error}"
    );
    let roberta = json!({"type": "RobertaProcessing", "sep": ["</s>", 78], "cls": ["<s>", 79],
        "trim_offsets": true, "add_prefix_space": false});
    let error = load(&with(&json!({ "post_processor": roberta }))).expect_err("79 is none");
    assert!(matches!(error, Error::TokenId { id: 79, .. }), "{error}");
    // Tokens that are added get the next numbers, whatever the file says.
    let added = |id: u32, content: &str| {
        json!({"added_tokens": [{"id": id, "content": content, "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false}]})
    };
    load(&with(&added(3, "<s>"))).expect("the next one");
    load(&with(&added(2, "ab"))).expect("one that is there");
    for (id, content, got) in [(4, "<s>", 3), (0, "ab", 2)] {
        let error = load(&with(&added(id, content))).expect_err("another number");
        let is = matches!(&error, Error::AddedToken { want, got: Some(found), .. } if *want == id && *found == got);
        assert!(is, "{error}");
    }
}

#[test]
fn unusual_models_are_read_or_refused() {
    for model in [
        json!({"type": "Unigram", "unk_id": 0, "vocab": []}),
        json!({"type": "Unigram", "unk_id": 5, "vocab": [["a", -1.0]]}),
        json!({"type": "Unigram", "unk_id": null, "vocab": [["a", -1.0]]}),
        json!({"type": "Unigram", "unk_id": 0, "vocab": [["", 0.0], ["a", 1e308]], "byte_fallback": true}),
        json!({"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "é", "max_input_chars_per_word": 0,
            "vocab": {"a": 0, "éb": 1}}),
        json!({"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0}}),
        json!({"type": "BPE", "unk_token": "?", "byte_fallback": true, "vocab": {"a": 0, "<0x41>": 1}, "merges": []}),
        json!({"type": "BPE", "vocab": {"a": 0, "": 1}, "merges": [["", "a"]]}),
        json!({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}),
        json!({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}),
        json!({"type": "BPE", "vocab": {"a": -1}, "merges": []}),
        json!({"type": "BPE", "end_of_word_suffix": "</w>", "vocab": {"a": 0, "a</w>": 1}, "merges": []}),
        json!({"vocab": {"a": 0}}),
        json!(null),
    ] {
        takes(&with(&json!({ "model": model })));
    }
}

/// Nothing that a tokenizer is asked for panics; what it cannot do is an error.
fn takes(json: &Value) {
    let Ok(tokenizer) = load(json) else {
        return;
    };
    for text in ["", "a", "ab ba é🙂\n  <s>x</s> ab", "\u{0}\u{301}\u{fffd}"] {
        for special in [Special::Parse, Special::Plain] {
            if let Ok(ids) = tokenizer.encode(text, special) {
                drop(tokenizer.decode(&ids));
            }
        }
    }
    for id in 0..tokenizer.vocab_len().min(40) as u32 {
        drop(tokenizer.decode(&[id, 0, id]));
        drop(tokenizer.decoder_after(&[0]).push(id));
    }
}

/// A tokenizer with a component of each sort.
fn rich() -> Value {
    let special = |id: u32, content: &str| {
        json!({"id": id, "content": content, "special": true, "single_word": false, "lstrip": true,
            "rstrip": true, "normalized": false})
    };
    json!({
        "version": "1.0",
        "truncation": {"max_length": 8, "stride": 2, "strategy": "LongestFirst", "direction": "Right"},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Left", "pad_to_multiple_of": 4, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "a"},
        "added_tokens": [special(8, "<s>"), special(9, "</s>")],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "▁"},
            {"type": "Strip", "strip_left": false, "strip_right": true},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "b"},
            {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                "lowercase": false}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "\\d{1,3}(?=(?:\\d{3})*\\b)"}, "behavior": "Isolated",
                "invert": false},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true},
            {"type": "Digits", "individual_digits": true},
            {"type": "Punctuation", "behavior": "MergedWithNext"},
            {"type": "CharDelimiterSplit", "delimiter": ","},
            {"type": "FixedLength", "length": 3},
            {"type": "UnicodeScripts"}, {"type": "Whitespace"},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]},
        "post_processor": {"type": "Sequence", "processors": [
            {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
            {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [8], "tokens": ["<s>"]}}}]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "WordPiece", "prefix": "##", "cleanup": true}, {"type": "CTC", "pad_token": "<pad>",
                "word_delimiter_token": "|", "cleanup": true},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
            {"type": "BPEDecoder", "suffix": "</w>"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": null, "unk_token": "a", "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3, "Ġ": 4, "<0x41>": 5, "1": 6, "âĸģ": 7},
            "merges": [["a", "b"]]},
    })
}

/// The places of all values, and what to put there.
fn places(json: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match json {
        Value::Object(fields) => {
            for (name, field) in fields {
                places(
                    field,
                    &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                places(value, &format!("{path}/{at}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn nothing_panics_whatever_stands_in_any_place() {
    let sound = rich();
    let tokenizer = load(&sound).expect("a tokenizer");
    assert_eq!(tokenizer.bos(), Some(8));
    let mut all = Vec::new();
    places(&sound, "", &mut all);
    assert!(all.len() > 150, "{}", all.len());
    let odd = [
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(4_294_967_295_u32),
        json!(1e300),
        json!(true),
        json!(""),
        json!("a"),
        json!("é"),
        json!("B"),
        json!(".*"),
        json!("(?=)"),
        json!("\\b|$"),
        json!("</s>"),
        json!([]),
        json!({}),
        json!([["a", "b"], ["b", "a"]]),
    ];
    // Each place gets a few of them, another few in each neighbour, so that all meet all sorts of places.
    let mut next = 0;
    for path in &all[1..] {
        for _ in 0..5 {
            let mut json = sound.clone();
            *json.pointer_mut(path).expect("a place") = odd[next % odd.len()].clone();
            takes(&json);
            next += 1;
        }
        let mut json = sound.clone();
        let (above, name) = path.rsplit_once('/').expect("not the root");
        match json.pointer_mut(above).expect("a place") {
            Value::Object(fields) => drop(fields.remove(name)),
            Value::Array(values) => {
                let at: usize = name.parse().expect("a number");
                let twice = values[at].clone();
                values.push(twice);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        takes(&json);
    }
}
