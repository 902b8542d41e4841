//! The tokenizer against openai-whisper's.

use std::io::Read;

use serde_json::Value;

use super::*;

fn reference(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference/whisper/"
    );
    std::fs::read(format!("{folder}{name}")).expect("reference data")
}

/// The tokens of a vocabulary, as a ggml file has them: a count, then a length and bytes of each.
fn tokens(name: &str) -> Vec<Vec<u8>> {
    let packed = reference(&format!("{name}.tokens.gz"));
    let mut bytes = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(&packed[..]);
    reader.read_to_end(&mut bytes).expect("sound");
    let mut rest = &bytes[..];
    let (count, tail) = rest.split_first_chunk::<4>().expect("sound");
    let count = u32::from_le_bytes(*count);
    rest = tail;
    let mut list = Vec::new();
    for _ in 0..count {
        let (head, tail) = rest.split_first_chunk::<4>().expect("sound");
        let (token, tail) = tail.split_at(u32::from_le_bytes(*head) as usize);
        list.push(token.to_vec());
        rest = tail;
    }
    assert!(rest.is_empty());
    list
}

/// The tokenizer of a multilingual model.
pub(in crate::whisper) fn tokenizer() -> Tokenizer {
    Tokenizer::from_tokens(51_865, &tokens("multilingual")).expect("sound")
}

fn goldens() -> Value {
    serde_json::from_slice(&reference("tokenizer.json")).expect("JSON")
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("ids")
}

fn words(value: &Value) -> Vec<Word> {
    let list = value.as_array().expect("a list");
    list.iter()
        .map(|word| Word {
            text: word["word"].as_str().expect("text").to_owned(),
            tokens: ids(&word["tokens"]),
        })
        .collect()
}

/// Each vocabulary with its goldens.
fn each(mut check: impl FnMut(&Tokenizer, &Value)) {
    let goldens = goldens();
    for (name, list) in [
        ("english", "english"),
        ("multilingual99", "multilingual"),
        ("multilingual100", "multilingual"),
    ] {
        let golden = &goldens[name];
        let n_vocab = golden["n_vocab"].as_u64().expect("a number") as u32;
        let tokenizer = Tokenizer::from_tokens(n_vocab, &tokens(list)).expect("sound");
        check(&tokenizer, golden);
    }
}

#[test]
fn special_tokens_are_at_the_reference_places() {
    each(|tokenizer, golden| {
        let special = tokenizer.special();
        for (name, id) in [
            ("eot", special.end),
            ("sot", special.start),
            ("translate", special.translate),
            ("transcribe", special.transcribe),
            ("sot_lm", special.start_of_lm),
            ("sot_prev", special.previous),
            ("no_speech", special.no_speech),
            ("no_timestamps", special.no_timestamps),
            ("timestamp_begin", special.timestamps),
        ] {
            assert_eq!(golden["special"][name], id, "{name}");
        }
        let start = special.sequence("en", Task::Transcribe, Start::Timestamps);
        assert_eq!(start.expect("known"), ids(&golden["sot_sequence"]));
        if let Some(languages) = golden["languages"].as_object() {
            assert_eq!(languages.len(), special.languages as usize);
            for (code, id) in languages {
                let token = special.language(code).expect("known");
                assert_eq!(id, token);
                assert_eq!(special.language_of(token), Some(code.as_str()));
            }
            let start = special.sequence("Japanese", Task::Translate, Start::Timestamps);
            assert_eq!(start.expect("known"), ids(&golden["ja"]["sot_sequence"]));
        }
    });
}

#[test]
fn texts_give_the_reference_ids_and_come_back() {
    each(|tokenizer, golden| {
        for text in golden["texts"].as_array().expect("a list") {
            let (text, want) = (text["text"].as_str().expect("text"), ids(&text["ids"]));
            let got = tokenizer.encode(text);
            assert_eq!(got, want, "{text:?}");
            assert_eq!(tokenizer.decode(&got), text);
        }
    });
}

#[test]
fn words_are_cut_as_the_reference_cuts_them() {
    each(|tokenizer, golden| {
        let end = tokenizer.special().end;
        for (language, texts) in [("en", &golden["texts"]), ("ja", &golden["ja"]["texts"])] {
            for text in texts.as_array().into_iter().flatten() {
                let mut ids = tokenizer.encode(text["text"].as_str().expect("text"));
                ids.push(end);
                let got = tokenizer.split_words(&ids, language);
                assert_eq!(got, words(&text["words"]), "{language} {:?}", text["text"]);
            }
        }
    });
}

#[test]
fn suppressed_tokens_are_the_reference_ones() {
    each(|tokenizer, golden| {
        assert_eq!(tokenizer.non_speech(), ids(&golden["non_speech"]));
        assert_eq!(tokenizer.suppressed(), ids(&golden["suppress_default"]));
        let mut blank = ids(&golden["blank"]);
        blank.push(tokenizer.special().end);
        assert_eq!(tokenizer.blank(), blank);
    });
}

#[test]
fn languages_go_by_code_name_and_other_names() {
    let goldens = goldens();
    for (code, name) in goldens["language_names"].as_object().expect("an object") {
        assert_eq!(language_code(code), Some(code.as_str()));
        assert_eq!(
            language_code(name.as_str().expect("text")),
            Some(code.as_str())
        );
    }
    for (name, code) in goldens["language_aliases"].as_object().expect("an object") {
        assert_eq!(language_code(&name.to_uppercase()), code.as_str());
    }
    assert_eq!(language_code("klingon"), None);
    let special = Special::new(51_865).expect("a size");
    let error = special.language("yue").expect_err("came later");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(
        Special::new(51_866)
            .expect("a size")
            .language("yue")
            .is_ok()
    );
}

#[test]
fn special_tokens_print_and_timestamps_are_left_out() {
    let tokenizer = tokenizer();
    let special = tokenizer.special();
    let mut ids = vec![special.start, special.timestamps + 54];
    ids.extend(tokenizer.encode(" Hi"));
    assert_eq!(tokenizer.decode(&ids), "<|startoftranscript|> Hi");
    let full = "<|startoftranscript|><|1.08|> Hi";
    assert_eq!(tokenizer.decode_with_timestamps(&ids), full);
    assert_eq!(tokenizer.decode(&[u32::MAX, 99_999]), "");
}

#[test]
fn a_json_file_is_the_same_tokenizer() {
    let list = tokens("multilingual");
    let vocab: serde_json::Map<String, Value> = list
        .iter()
        .enumerate()
        .map(|(id, token)| {
            let text: String = token.iter().map(|&b| alphabet::to_char(b)).collect();
            (text, id.into())
        })
        .collect();
    let special = |id: u32, content: &str| serde_json::json!({ "id": id, "content": content });
    let added = [
        special(50_257, "<|endoftext|>"),
        special(50_258, "<|startoftranscript|>"),
        special(50_362, "<|nocaptions|>"),
        special(50_363, "<|notimestamps|>"),
    ];
    let file = |vocab: &serde_json::Map<String, Value>, added: &[Value]| {
        let json = serde_json::json!({ "model": { "vocab": vocab }, "added_tokens": added });
        json.to_string().into_bytes()
    };
    let json = file(&vocab, &added);
    let tokenizer = Tokenizer::from_json(51_865, &json).expect("sound");
    for (id, token) in list.iter().enumerate() {
        assert_eq!(&*tokenizer.tokens[id], &token[..]);
    }
    for (n_vocab, want) in [
        (51_864, "token <|endoftext|> is 50257, expected 50256"),
        (51_866, "token <|nospeech|> is 50362, expected 50363"),
    ] {
        let error = Tokenizer::from_json(n_vocab, &json).expect_err("other places");
        let want =
            format!("the vocabulary is not that of a Whisper model of {n_vocab} tokens: {want}");
        assert_eq!(error.to_string(), want);
    }
    for left_out in [0, 1, 3] {
        let mut added = added.to_vec();
        let text = added.remove(left_out)["content"].clone();
        let error = Tokenizer::from_json(51_865, &file(&vocab, &added)).expect_err("missing");
        let text = text.as_str().expect("a text");
        assert!(
            error.to_string().contains(&format!("{text} is not there")),
            "{error}"
        );
    }
    let twice = [&added[..], &[special(7, "<|endoftext|>")]].concat();
    let error = Tokenizer::from_json(51_865, &file(&vocab, &twice)).expect_err("twice");
    assert!(matches!(error, Error::TokenizerJson { .. }), "{error}");
    let mut fewer = vocab.clone();
    fewer.remove("\u{120}the");
    let error = Tokenizer::from_json(51_865, &file(&fewer, &added)).expect_err("one is missing");
    assert!(
        error.to_string().contains("token number 264 is not there"),
        "{error}"
    );
    let mut doubled = vocab.clone();
    doubled.insert("\u{120}a new word".to_owned(), 7.into());
    let error = Tokenizer::from_json(51_865, &file(&doubled, &added)).expect_err("two are 7");
    assert!(matches!(error, Error::TokenizerJson { .. }), "{error}");
    for json in [&b""[..], b"{}", br#"{"model":{"vocab":{"a":-1}}}"#] {
        let error = Tokenizer::from_json(51_865, json).expect_err("malformed");
        assert!(matches!(error, Error::TokenizerJson { .. }), "{error}");
    }
    for json in ["[{\"vocab\":{}},[]]", "{\"model\":[{\"a\":0}]}", "[]"] {
        let error = Tokenizer::from_json(51_865, json.as_bytes()).expect_err("a list");
        assert!(matches!(error, Error::TokenizerJson { .. }), "{error}");
    }
    for n_vocab in [0, 512, 51_863, 51_867, u32::MAX] {
        let error = Tokenizer::from_tokens(n_vocab, &list).expect_err("no such model");
        assert!(
            matches!(error, Error::Unsupported { .. }),
            "{n_vocab}: {error}"
        );
    }
}

#[test]
fn a_vocabulary_of_another_model_is_refused() {
    let (english, multilingual) = (tokens("english"), tokens("multilingual"));
    let named = |mut list: Vec<Vec<u8>>, n_vocab: u32| {
        let special = Special::new(n_vocab).expect("a size");
        list.resize(special.end as usize, Vec::new());
        list.extend((special.end..n_vocab).map(|id| special.text(id).into_bytes()));
        list
    };
    let whole = named(multilingual.clone(), 51_865);
    for (n_vocab, list) in [
        (51_864, &english),
        (51_865, &multilingual),
        (51_866, &multilingual),
        (51_865, &whole),
        (51_864, &named(english.clone(), 51_864)),
    ] {
        Tokenizer::from_tokens(n_vocab, list).expect("its own");
    }
    for (n_vocab, list, want) in [
        (
            51_865,
            &english[..50_256],
            "token \" the\" is 262, expected 264",
        ),
        (
            51_864,
            &multilingual[..50_256],
            "token \" the\" is 264, expected 262",
        ),
        (51_866, &whole, "token <|yue|> is not there, expected 50358"),
        (
            51_865,
            &named(english.clone(), 51_864),
            "token <|endoftext|> is not there, expected 50257",
        ),
        (
            51_864,
            &whole,
            "a vocabulary of 51865 tokens for a model of 51864",
        ),
        (
            51_865,
            &multilingual[..300],
            "a vocabulary of 300 tokens for a model of 51865",
        ),
    ] {
        let error = Tokenizer::from_tokens(n_vocab, list)
            .expect_err(want)
            .to_string();
        assert!(error.contains(want), "{error}");
    }
    let mut dumb = multilingual.clone();
    let z = dumb
        .iter()
        .position(|token| token == b"z")
        .expect("a token");
    dumb[z] = b"zz of another".to_vec();
    let error = Tokenizer::from_tokens(51_865, &dumb)
        .expect_err("no z")
        .to_string();
    assert!(error.contains("the byte 0x7a"), "{error}");
}
