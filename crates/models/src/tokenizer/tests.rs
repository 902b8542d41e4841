//! Tests on vocabularies made here; those on real files are in `tests/tokenizer.rs`.
use super::*;
use proptest::prelude::*;

/// A byte-level vocabulary: all bytes, then one token a merge, then control tokens.
fn bpe_fields(pre: &str, merges: &[&str]) -> Fields {
    let mut tokens: Vec<String> = (0..=255)
        .map(|b| alphabet::to_char(b).to_string())
        .collect();
    tokens.extend(merges.iter().map(|m| m.replace(' ', "")));
    let mut types = vec![1; tokens.len()];
    for (text, kind) in [
        ("<s>", 3),
        ("</s>", 3),
        ("<|im_end|>", 3),
        ("<user>", 4),
        ("<|im_end", 3),
    ] {
        tokens.push(text.to_owned());
        types.push(kind);
    }
    let first = (256 + merges.len()) as u32;
    Fields {
        model: "gpt2".to_owned(),
        pre: Some(pre.to_owned()),
        tokens,
        types: Some(types),
        merges: Some(merges.iter().map(|m| (*m).to_owned()).collect()),
        bos: Some(first),
        eos: Some(first + 1),
        ..Fields::default()
    }
}

/// A SentencePiece vocabulary with byte tokens: 3 for `<unk> <s> </s>`, 256 bytes, then `pieces`.
fn spm_fields(pieces: &[(&str, f32)]) -> Fields {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).to_vec();
    let mut types = vec![2, 3, 3];
    let mut scores = vec![0.0; 3 + 256];
    for byte in 0..=255u8 {
        tokens.push(format!("<0x{byte:02X}>"));
        types.push(6);
    }
    for (piece, score) in pieces {
        tokens.push((*piece).to_owned());
        types.push(1);
        scores.push(*score);
    }
    Fields {
        model: "llama".to_owned(),
        tokens,
        types: Some(types),
        scores: Some(scores),
        bos: Some(1),
        eos: Some(2),
        unknown: Some(0),
        ..Fields::default()
    }
}

fn plain(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer.encode(text, Special::Plain).unwrap()
}

#[test]
fn merges_go_by_rank_and_then_from_the_left() {
    let tokenizer =
        Tokenizer::from_fields(bpe_fields("gpt-2", &["b c", "a b", "a a", "aa aa"])).unwrap();
    let pieces = |text| -> Vec<String> {
        let ids = plain(&tokenizer, text);
        ids.iter()
            .map(|&id| tokenizer.piece(id).unwrap().to_owned())
            .collect()
    };
    assert_eq!(pieces("abc"), ["a", "bc"]);
    assert_eq!(pieces("aaa"), ["aa", "a"]);
    assert_eq!(pieces("aaaaab"), ["aaaa", "ab"]);
    assert_eq!(pieces(" ab"), ["Ġ", "ab"]);
}

#[test]
fn control_tokens_are_parsed_only_when_asked() {
    let tokenizer = Tokenizer::from_fields(bpe_fields("gpt-2", &[])).unwrap();
    let text = "a<|im_end|><user>";
    let parsed = tokenizer.encode(text, Special::Parse).unwrap();
    assert_eq!(
        parsed,
        [u32::from(b'a'), 258, 259],
        "the longest token wins"
    );
    let plain = plain(&tokenizer, text);
    assert_eq!(plain.len(), 1 + "<|im_end|>".len() + 1);
    assert_eq!(tokenizer.decode(&parsed).unwrap(), "a<user>");
    assert_eq!(tokenizer.decode(&plain).unwrap(), text);
}

#[test]
fn beginning_and_end_tokens_are_added_once() {
    let mut fields = bpe_fields("llama-bpe", &[]);
    assert_eq!(
        plain(&Tokenizer::from_fields(fields.clone()).unwrap(), ""),
        [256]
    );
    fields.add_eos = Some(true);
    let tokenizer = Tokenizer::from_fields(fields.clone()).unwrap();
    assert_eq!(tokenizer.encode("<s>", Special::Parse).unwrap(), [256, 257]);
    assert_eq!(plain(&tokenizer, "!"), [256, 33, 257]);
    fields.add_bos = Some(false);
    let tokenizer = Tokenizer::from_fields(fields).unwrap();
    assert_eq!(tokenizer.encode("<s>", Special::Parse).unwrap(), [256, 257]);
    assert_eq!(plain(&tokenizer, "!"), [33, 257]);
}

#[test]
fn generation_ends_at_named_ids_and_at_control_tokens_known_by_text() {
    let mut fields = bpe_fields("gpt-2", &["< /", "</ s"]);
    fields.eot = Some(7);
    let tokenizer = Tokenizer::from_fields(fields).unwrap();
    let ends: Vec<u32> = (0..tokenizer.vocab_len() as u32)
        .filter(|&id| tokenizer.is_end_of_generation(id))
        .collect();
    assert_eq!(ends, [7, 259, 260]);
    assert!(
        tokenizer
            .with_end_of_generation(&[3])
            .is_end_of_generation(3)
    );
}

#[test]
fn qwen2_composes_characters_and_others_do_not() {
    let decomposed = "e\u{301}";
    let of = |pre| {
        let tokenizer = Tokenizer::from_fields(bpe_fields(pre, &[])).unwrap();
        tokenizer.decode(&plain(&tokenizer, decomposed)).unwrap()
    };
    assert_eq!(of("qwen2"), "é");
    assert_eq!(of("gpt-2"), decomposed);
}

#[test]
fn spm_merges_by_score_and_falls_back_to_bytes() {
    let fields = spm_fields(&[
        ("\u{2581}", -9.0),
        ("a", -8.0),
        ("b", -8.0),
        ("\u{2581}a", -3.0),
        ("ab", -1.0),
        ("\u{2581}ab", -5.0),
    ]);
    let tokenizer = Tokenizer::from_fields(fields.clone()).unwrap();
    assert_eq!(
        plain(&tokenizer, "ab"),
        [1, 264],
        "ab first, then with its space"
    );
    assert_eq!(plain(&tokenizer, "a b"), [1, 262, 259, 261]);
    assert_eq!(plain(&tokenizer, ""), [1]);
    assert_eq!(plain(&tokenizer, "é"), [1, 259, 3 + 0xC3, 3 + 0xA9]);
    assert_eq!(
        tokenizer.encode("a</s>a", Special::Parse).unwrap(),
        [1, 262, 2, 262]
    );
    for text in ["a b", " ab ", "é🙂", "  ", ""] {
        assert_eq!(tokenizer.decode(&plain(&tokenizer, text)).unwrap(), text);
    }
    let mut decoder = tokenizer.decoder_after(&[1, 262]);
    assert_eq!(
        decoder.push(262).unwrap(),
        " a",
        "a continuation keeps its space"
    );
    assert_eq!(tokenizer.decoder_after(&[1]).push(262).unwrap(), "a");

    let without = Fields {
        add_space_prefix: Some(false),
        ..fields
    };
    let tokenizer = Tokenizer::from_fields(without).unwrap();
    assert_eq!(plain(&tokenizer, "ab"), [1, 263]);
    assert_eq!(tokenizer.decode(&[262]).unwrap(), " a");
}

#[test]
fn spm_pieces_may_span_words() {
    let pieces = [
        ("\u{2581}", -9.0),
        ("a", -8.0),
        ("\u{2581}a", -3.0),
        ("a\u{2581}a", -1.0),
    ];
    let within = Tokenizer::from_fields(spm_fields(&pieces[..3])).unwrap();
    assert_eq!(plain(&within, "a a  a"), [1, 261, 261, 259, 261]);
    let across = Tokenizer::from_fields(spm_fields(&pieces)).unwrap();
    assert_eq!(plain(&across, "a a"), [1, 261, 261]);
    assert_eq!(plain(&across, "aa a"), [1, 261, 262]);
}

#[test]
fn the_decoder_waits_for_whole_characters() {
    let tokenizer = Tokenizer::from_fields(bpe_fields("gpt-2", &[])).unwrap();
    let ids = plain(&tokenizer, "é🙂");
    let mut decoder = tokenizer.decoder();
    let got: Vec<String> = ids.iter().map(|&id| decoder.push(id).unwrap()).collect();
    assert_eq!(got, ["", "é", "", "", "", "🙂"]);
    let mut decoder = tokenizer.decoder();
    assert_eq!(decoder.push(ids[0]).unwrap(), "");
    assert_eq!(decoder.finish().unwrap(), "\u{FFFD}");
    let broken = [ids[2], ids[0], ids[1]];
    assert_eq!(tokenizer.decode(&broken).unwrap(), "\u{FFFD}é");
}

#[test]
fn hostile_metadata_is_refused_with_its_values() {
    type Damage = fn(&mut Fields);
    let cases: [(Damage, &str); 16] = [
        (|f| f.tokens.clear(), "the vocabulary is empty"),
        (
            |f| f.model = "bert".into(),
            "unsupported: tokenizer model \"bert\"",
        ),
        (
            |f| f.pre = Some("falcon".into()),
            "unsupported: pre-tokenizer \"falcon\"",
        ),
        (
            |f| f.types = Some(vec![1]),
            "tokenizer.ggml.token_type has 1 entries, expected 262, one a token",
        ),
        (
            |f| f.scores = Some(vec![]),
            "tokenizer.ggml.scores has 0 entries, expected 262, one a token",
        ),
        (
            |f| f.types.as_mut().unwrap()[5] = 7,
            "token 5 has type 7, expected 1 to 6",
        ),
        (
            |f| f.types.as_mut().unwrap()[0] = i32::MIN,
            "token 0 has type -2147483648, expected 1 to 6",
        ),
        (
            |f| f.merges = None,
            "the tokenizer lacks tokenizer.ggml.merges",
        ),
        (
            |f| f.merges = Some(vec!["a b".into(), "ab q".into()]),
            "merge 1 is \"ab q\": \"abq\" is not a token",
        ),
        (
            |f| f.merges = Some(vec!["xy z".into()]),
            "merge 0 is \"xy z\": \"xy\" is not a token",
        ),
        (
            |f| f.merges = Some(vec!["ab".into()]),
            "merge 0 is \"ab\", expected two pieces with a space between",
        ),
        (
            |f| f.merges = Some(vec!["a b c".into()]),
            "merge 0 is \"a b c\", expected two pieces with a space between",
        ),
        (
            |f| f.bos = Some(262),
            "tokenizer.ggml.bos_token_id is 262, expected less than 262",
        ),
        (
            |f| f.eot = Some(u32::MAX),
            "tokenizer.ggml.eot_token_id is 4294967295, expected less than 262",
        ),
        (
            |f| {
                f.add_bos = Some(true);
                f.bos = None
            },
            "the tokenizer lacks tokenizer.ggml.bos_token_id",
        ),
        (
            |f| {
                f.add_eos = Some(true);
                f.eos = None
            },
            "the tokenizer lacks tokenizer.ggml.eos_token_id",
        ),
    ];
    for (damage, want) in cases {
        let mut fields = bpe_fields("gpt-2", &["a b"]);
        damage(&mut fields);
        assert_eq!(
            Tokenizer::from_fields(fields).unwrap_err().to_string(),
            want
        );
    }
    let cases: [(Damage, &str); 4] = [
        (
            |f| f.scores = None,
            "the tokenizer lacks tokenizer.ggml.scores",
        ),
        (
            |f| f.scores.as_mut().unwrap()[9] = f32::NAN,
            "token 9 has score NaN, expected a finite number",
        ),
        (
            |f| f.tokens[3] = "<0xé>".into(),
            "byte token 3 is \"<0xé>\", expected <0xHH>",
        ),
        (
            |f| {
                f.types.as_mut().unwrap().fill(1);
                f.unknown = None
            },
            "the tokenizer lacks a token for every byte, or one for the unknown",
        ),
    ];
    for (damage, want) in cases {
        let mut fields = spm_fields(&[("a", 0.0)]);
        damage(&mut fields);
        assert_eq!(
            Tokenizer::from_fields(fields).unwrap_err().to_string(),
            want
        );
    }
}

#[test]
fn ids_outside_the_vocabulary_are_refused() {
    let json = Tokenizer::from_json(GROWN.replace("GROW", "").as_bytes()).unwrap();
    for tokenizer in [
        Tokenizer::from_fields(bpe_fields("gpt-2", &[])).unwrap(),
        json,
    ] {
        for id in [tokenizer.vocab_len() as u32, u32::MAX] {
            assert!(matches!(
                tokenizer.decode(&[id]),
                Err(Error::TokenId { .. })
            ));
            assert!(matches!(
                tokenizer.decoder().push(id),
                Err(Error::TokenId { .. })
            ));
            assert_eq!(tokenizer.piece(id), None);
            assert!(!tokenizer.is_end_of_generation(id));
        }
    }
}

#[test]
fn a_megabyte_without_spaces_is_not_quadratic() {
    let text = "ab".repeat(500_000);
    let merges = ["a b", "ab ab", "abab abab", "b a"];
    let bpe = Tokenizer::from_fields(bpe_fields("gpt-2", &merges)).unwrap();
    let spm = spm_fields(&[
        ("a", -9.0),
        ("b", -9.0),
        ("ab", -1.0),
        ("abab", -2.0),
        ("abababab", -3.0),
        ("\u{2581}", -9.0),
    ]);
    let spm = Tokenizer::from_fields(spm).unwrap();
    for tokenizer in [bpe, spm] {
        let start = std::time::Instant::now();
        let ids = plain(&tokenizer, &text);
        assert!(ids.len() < 125_010);
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        let took = start.elapsed();
        assert!(took.as_secs() < 10, "{took:?}");
    }
}

const GROWN: &str = r#"{"version":"1.0","added_tokens":[],GROW
    "model":{"type":"BPE","vocab":{"h":0,"i":1,"hi":2},"merges":["h i"]}}"#;

#[test]
fn hostile_tokenizer_json_is_refused() {
    let replace = r#"{"type":"Replace","pattern":{"String":"h"},"content":"hhhhhhhhhh"}"#;
    let many = [replace; 9].join(",");
    let cases = [
        String::new(),
        "{}".to_owned(),
        "[".repeat(100_000),
        r#"{"model":{"type":"BPE","vocab":{},"merges":[]}}"#.to_owned(),
        r#"{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{"a":4294967295},"merges":[]}}"#.to_owned(),
        r#"{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}"#.to_owned(),
        r#"{"version":"1.0","added_tokens":[],"model":{"type":"Unigram","unk_id":9,"vocab":[["a",0.0]]}}"#.to_owned(),
        r#"{"version":"1.0","added_tokens":[],"model":{"type":"BPE","dropout":0.5,"vocab":{"a":0},"merges":[]}}"#.to_owned(),
        GROWN.replace("GROW", &format!(r#""normalizer":{{"type":"Sequence","normalizers":[{many}]}},"#)),
        GROWN.replace("GROW", r#""normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},"#),
        GROWN.replace("GROW", r#""pre_tokenizer":{"type":"Split","pattern":{"Regex":"(("},"behavior":"Isolated","invert":false},"#),
        GROWN.replace("GROW", r#""truncation":{"max_length":0,"stride":5,"strategy":"LongestFirst","direction":"Right"},"padding":7,"#),
    ];
    for json in cases {
        let head: String = json.chars().take(120).collect();
        assert!(Tokenizer::from_json(json.as_bytes()).is_err(), "{head}");
    }
}

#[test]
fn padding_in_a_tokenizer_json_is_not_applied() {
    let padded = GROWN.replace(
        "GROW",
        r#""padding":{"strategy":{"Fixed":1000000000000},"direction":"Right",
        "pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"h"},"#,
    );
    let tokenizer = Tokenizer::from_json(padded.as_bytes()).unwrap();
    assert_eq!(plain(&tokenizer, "hi"), [2]);
}

#[test]
fn a_missing_file_is_named() {
    let error = Tokenizer::from_json_file("no/such/tokenizer.json").unwrap_err();
    assert!(
        error.to_string().starts_with("no/such/tokenizer.json: "),
        "{error}"
    );
}

/// A byte-level tokenizer.json with control tokens and a template that adds them.
fn framed_json() -> Tokenizer {
    let mut vocab = serde_json::Map::new();
    for byte in 0..=255u8 {
        vocab.insert(alphabet::to_char(byte).to_string(), byte.into());
    }
    let special = |id: u32, content: &str| {
        serde_json::json!({"id": id, "content": content, "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false})
    };
    let byte_level = serde_json::json!({"type": "ByteLevel", "add_prefix_space": false,
        "trim_offsets": true, "use_regex": true});
    let json = serde_json::json!({
        "version": "1.0",
        "added_tokens": [special(256, "<s>"), special(257, "</s>")],
        "pre_tokenizer": byte_level, "decoder": byte_level,
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]}}},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    });
    Tokenizer::from_json(&serde_json::to_vec(&json).unwrap()).unwrap()
}

#[test]
fn a_tokenizer_json_adds_and_parses_its_control_tokens() {
    let tokenizer = framed_json();
    assert_eq!((tokenizer.bos(), tokenizer.eos()), (Some(256), Some(257)));
    assert!(tokenizer.is_end_of_generation(257) && !tokenizer.is_end_of_generation(256));
    assert_eq!(tokenizer.vocab_len(), 258);
    let a = u32::from(b'a');
    assert_eq!(
        tokenizer.encode("<s>a</s>", Special::Parse).unwrap(),
        [256, a, 257]
    );
    let plain = plain(&tokenizer, "<s>a</s>");
    assert_eq!((plain.len(), plain[0]), (9, 256));
    assert_eq!(tokenizer.decode(&plain).unwrap(), "<s>a</s>");
    let ids = self::plain(&tokenizer, "é🙂");
    let mut decoder = tokenizer.decoder_after(&ids);
    let got: Vec<String> = ids[1..]
        .iter()
        .map(|&id| decoder.push(id).unwrap())
        .collect();
    assert_eq!(got, ["", "é", "", "", "", "🙂"]);
}

proptest! {
    #[test]
    fn decoding_what_was_encoded_gives_the_text(text in "\\PC{0,24}|[ a-c<s>/|\n\t0-9']{0,40}") {
        let merges = ["a b", "ab c", "Ġ a", "Ġ Ġ"];
        for pre in ["gpt-2", "smollm", "llama-bpe"] {
            let tokenizer = Tokenizer::from_fields(bpe_fields(pre, &merges)).unwrap();
            prop_assert_eq!(&tokenizer.decode(&plain(&tokenizer, &text)).unwrap(), &text);
        }
        let spm = Tokenizer::from_fields(spm_fields(&[("\u{2581}", -9.0), ("a", -8.0), ("\u{2581}a", -1.0)])).unwrap();
        let spaced = text.replace('\u{2581}', "");
        prop_assert_eq!(&spm.decode(&plain(&spm, &spaced)).unwrap(), &spaced);
        prop_assert_eq!(&framed_json().decode(&plain(&framed_json(), &text)).unwrap(), &text);
    }

    #[test]
    fn streamed_text_is_the_text_decoded_at_once(ids in prop::collection::vec(0u32..258, 0..24)) {
        let bpe = Tokenizer::from_fields(bpe_fields("gpt-2", &[])).unwrap();
        let spm = Tokenizer::from_fields(spm_fields(&[])).unwrap();
        for tokenizer in [bpe, spm] {
            let mut decoder = tokenizer.decoder();
            let mut text = String::new();
            for &id in &ids {
                text.push_str(&decoder.push(id).unwrap());
            }
            text.push_str(&decoder.finish().unwrap());
            prop_assert_eq!(&text, &tokenizer.decode(&ids).unwrap());
        }
    }
}
