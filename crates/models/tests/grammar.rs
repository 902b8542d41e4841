//! Texts that follow grammars, over vocabularies of each kind: whatever is drawn, the text is what the grammar describes.

use serde_json::{Value, json};
use std::{path::Path, sync::Arc};
use warpsmith_formats::gguf::Gguf;
use warpsmith_models::{
    Error,
    grammar::{Advance, Constraint, Grammar, Grammars, Guide, Then, advance_all},
    text::{StopMatcher, Streamed, Written},
    tokenizer::Tokenizer,
};

/// A vocabulary of bytes, one of SentencePiece, and one of a `tokenizer.json`.
fn tokenizers() -> Vec<(&'static str, Arc<Tokenizer>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/reference/synth");
    let mut all: Vec<_> = ["tiny-llama3", "tiny-llama2spm", "tiny-qwen2"]
        .into_iter()
        .map(|name| {
            let file = Gguf::open(&folder.join(format!("{name}.gguf"))).expect("a file");
            let tokenizer = Tokenizer::from_gguf(file.metadata()).expect("a tokenizer");
            (name, Arc::new(tokenizer))
        })
        .collect();
    all.push(("json", Arc::new(bytes_of_json())));
    all
}

/// All bytes, a few merges, a control token at the end.
fn bytes_of_json() -> Tokenizer {
    let mut next = 0x100;
    let letters = (0..=255u32).map(|byte| match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => char::from_u32(byte).expect("a letter"),
        _ => {
            next += 1;
            char::from_u32(next - 1).expect("a letter")
        }
    });
    let mut words: Vec<String> = letters.map(String::from).collect();
    let merges = [
        ["{", "\""],
        ["\"", ":"],
        ["a", "b"],
        ["ab", "c"],
        ["\"", "}"],
    ];
    words.extend(merges.iter().map(|pair| pair.concat()));
    let vocab: serde_json::Map<String, Value> = words
        .iter()
        .zip(0..)
        .map(|(word, id)| (word.clone(), json!(id)))
        .collect();
    let end = words.len();
    let json = json!({
        "version": "1.0",
        "added_tokens": [{"id": end, "content": "</s>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocab, "merges": merges.map(|pair| pair.join(" "))},
    });
    Tokenizer::from_json(json.to_string().as_bytes()).expect("a tokenizer")
}

/// Numbers that look like chance (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n as u64) as usize
    }
}

fn allowed(mask: &[u32]) -> Vec<u32> {
    let bits =
        (0..mask.len() as u32 * 32).filter(|id| mask[*id as usize / 32] >> (id % 32) & 1 == 1);
    bits.collect()
}

/// A text of tokens drawn by chance from what is allowed, with up to `room` forced ones at once: its tokens and itself.
/// None where it is not at its end after `most` tokens.
fn drawn(
    tokenizer: &Tokenizer,
    mut constraint: Constraint,
    chance: &mut Chance,
    room: usize,
    most: usize,
) -> Option<(Vec<u32>, String)> {
    let bos = tokenizer
        .encode("x", warpsmith_models::tokenizer::Special::Plain)
        .expect("tokens");
    let mut written = Written::after(&bos, tokenizer, StopMatcher::new([""; 0]).expect("none"));
    let (mut tokens, mut text) = (Vec::new(), String::new());
    let mut advance = constraint.begin(room).expect("a grammar");
    while tokens.len() < most {
        for id in std::mem::take(&mut advance.forced) {
            tokens.push(id);
            match written.push(id).expect("text") {
                Streamed::Text(more) => text += &more,
                Streamed::Stopped { .. } => unreachable!("there are no stops"),
            }
        }
        let Then::Draw(mask) = advance.then else {
            text += &written.finish().expect("text");
            return Some((tokens, text));
        };
        let may = allowed(&mask);
        assert!(!may.is_empty(), "nothing may follow {text:?}");
        // What ends a text is taken where it may be, so that texts end.
        let end = may.iter().find(|id| tokenizer.is_end_of_generation(**id));
        let token = end.copied().unwrap_or_else(|| may[chance.below(may.len())]);
        advance = constraint.advance(token, room).expect("an allowed token");
        advance.forced.insert(0, token);
    }
    None
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 6},
            "kind": {"enum": ["cat", "dog", "猫", "na\u{ef}ve \"quoted\""]},
            "age": {"type": "integer", "minimum": 0, "maximum": 30},
            "tags": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
            "more": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/more"}]},
        },
        "required": ["name", "kind", "age", "tags"],
        "additionalProperties": false,
        "$defs": {"more": {"const": {"a b": [1, 2.5, "x"]}}},
    })
}

/// Whether a text is what [`schema`] describes, by hand.
fn holds(text: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let all = schema();
    let Some(map) = value.as_object() else {
        return false;
    };
    let known = map.keys().all(|key| all["properties"].get(key).is_some());
    let name = value["name"]
        .as_str()
        .is_some_and(|name| name.chars().count() <= 6);
    let kind = all["properties"]["kind"]["enum"]
        .as_array()
        .expect("kinds")
        .contains(&value["kind"]);
    let age = value["age"].as_u64().is_some_and(|age| age <= 30);
    let tags = value["tags"].as_array();
    let tags = tags
        .is_some_and(|tags| (1..=3).contains(&tags.len()) && tags.iter().all(Value::is_boolean));
    let more = value
        .get("more")
        .is_none_or(|more| more.is_null() || *more == all["$defs"]["more"]["const"]);
    known && name && kind && age && tags && more
}

#[test]
fn whatever_is_drawn_a_text_is_what_the_schema_describes() {
    for (name, tokenizer) in tokenizers() {
        let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
        let constraint = grammars
            .compile(&Grammar::Schema(schema()))
            .expect("a schema");
        let mut ended = 0;
        for seed in 0..12 {
            let one = drawn(&tokenizer, constraint.clone(), &mut Chance(seed), 0, 400);
            if let Some((_, text)) = &one {
                assert!(holds(text), "{name}, seed {seed}: {text}");
                ended += 1;
            }
            // With tokens taken at once it is a text of the schema, too.
            if let Some((_, text)) =
                drawn(&tokenizer, constraint.clone(), &mut Chance(seed), 64, 400)
            {
                assert!(holds(&text), "{name}, seed {seed}: {text}");
            }
        }
        assert!(ended > 7, "{name}: {ended} of 12 texts ended");
        // All of a constant is known beforehand.
        let constant = json!({"const": {"abcabc": "abcabcabc"}});
        let constraint = grammars.compile(&Grammar::Schema(constant));
        let begun = constraint.expect("a schema").begin(64).expect("a text");
        assert_eq!(begun.then, Then::Done, "{name}");
        assert_eq!(
            tokenizer.decode(&begun.forced).expect("text"),
            "{\"abcabc\": \"abcabcabc\"}"
        );
    }
}

/// Draws by the text alone: the same choice for the same text, however it came about.
#[test]
fn tokens_that_are_forced_are_those_that_would_have_been_drawn() {
    for (name, tokenizer) in tokenizers() {
        let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
        let constraint = grammars
            .compile(&Grammar::Schema(schema()))
            .expect("a schema");
        for seed in 0..8 {
            let all = [0, 5, 64].map(|room| {
                let mut constraint = constraint.clone();
                let begun = constraint.begin(room).expect("a text");
                let mut tokens = begun.forced;
                let mut then = begun.then;
                while tokens.len() < 200 {
                    let Then::Draw(mask) = &then else { break };
                    let may = allowed(mask);
                    let mut chance = Chance(seed * 1000 + tokens.len() as u64);
                    let token = may[chance.below(may.len())];
                    tokens.push(token);
                    let room = room.min(200 - tokens.len());
                    let advance = constraint.advance(token, room).expect("allowed");
                    tokens.extend(&advance.forced);
                    then = advance.then;
                }
                tokens
            });
            assert_eq!(all[0], all[1], "{name}, seed {seed}");
            assert_eq!(all[0], all[2], "{name}, seed {seed}");
        }
    }
}

#[test]
fn grammars_and_regular_expressions_are_followed_to_their_end() {
    for (name, tokenizer) in tokenizers() {
        let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
        let lark =
            "start: greeting \" \" NAME\ngreeting: \"Hi\" | \"Hello\"\nNAME: /[A-Z][a-z]{1,5}/\n";
        let list: [(Grammar, fn(&str) -> bool); 3] = [
            (Grammar::Lark(lark.to_owned()), |text| {
                let rest = text
                    .strip_prefix("Hi ")
                    .or_else(|| text.strip_prefix("Hello "));
                rest.is_some_and(|rest| {
                    (2..=6).contains(&rest.len())
                        && rest.starts_with(|c: char| c.is_ascii_uppercase())
                        && rest[1..].bytes().all(|c| c.is_ascii_lowercase())
                })
            }),
            (Grammar::Regex("(ja|nein)!{2,3}".to_owned()), |text| {
                let rest = text
                    .strip_prefix("ja")
                    .or_else(|| text.strip_prefix("nein"));
                rest.is_some_and(|rest| rest == "!!" || rest == "!!!")
            }),
            (Grammar::Object, |text| {
                // Numbers may be beyond those that are read.
                match serde_json::from_str::<Value>(text) {
                    Ok(value) => value.is_object(),
                    Err(error) => error.to_string().starts_with("number out of range"),
                }
            }),
        ];
        for (grammar, holds) in list {
            let constraint = grammars.compile(&grammar).expect("a grammar");
            let mut ended = 0;
            for seed in 0..12 {
                let one = drawn(&tokenizer, constraint.clone(), &mut Chance(seed), 8, 120);
                if let Some((_, text)) = one {
                    assert!(holds(&text), "{name}, {grammar:?}: {text:?}");
                    ended += 1;
                }
            }
            // Objects of anything may go on for long.
            assert!(
                ended > 0 || grammar == Grammar::Object,
                "{name}, {grammar:?}"
            );
        }
    }
}

#[test]
fn several_texts_advance_at_once_as_they_do_alone() {
    let (_, tokenizer) = tokenizers().swap_remove(0);
    let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
    let constraint = grammars
        .compile(&Grammar::Schema(schema()))
        .expect("a schema");
    let guide = Guide::begin(constraint, 65, None).expect("a text");
    let mut masks = vec![mask_of(&guide.then); 5];
    let mut texts = vec![guide; 5];
    let mut alone = texts.clone();
    for round in 0..6 {
        let tokens = masks.iter().zip(0..).map(|(mask, at)| {
            let may = allowed(mask);
            may[Chance(round * 10 + at).below(may.len())]
        });
        let tokens: Vec<u32> = tokens.collect();
        masks.clear();
        let mut all: Vec<_> = texts
            .iter_mut()
            .zip(&tokens)
            .map(|(text, token)| (text, *token, 8))
            .collect();
        let together = advance_all(&mut all);
        for ((one, token), together) in alone.iter_mut().zip(&tokens).zip(together) {
            let one = one.advance(*token, 8).expect("allowed");
            assert_eq!(one, together.expect("allowed"));
            masks.push(mask_of(&one.then));
        }
    }
}

fn mask_of(then: &Then) -> Vec<u32> {
    match then {
        Then::Draw(mask) => mask.clone(),
        Then::Done => panic!("an open text"),
    }
}

#[test]
fn one_token_is_left_to_be_drawn_and_all_are_where_probabilities_are_told() {
    let (_, tokenizer) = tokenizers().swap_remove(0);
    let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
    let grammar = Grammar::Regex("a text that is known and open[ab]*".to_owned());
    let constraint = grammars.compile(&grammar).expect("a form");
    let begun = |most: u32, logprobs: Option<usize>| {
        let guide = Guide::begin(constraint.clone(), most, logprobs);
        guide.expect("a text")
    };
    let all = begun(100, None).known;
    assert!(all.len() > 3, "{all:?}");
    for most in [0, 1, 2, all.len() as u32, all.len() as u32 + 1] {
        let room = most.saturating_sub(1) as usize;
        assert_eq!(begun(most, None).known, all[..room.min(all.len())]);
        let mut drawn = begun(most, Some(0));
        assert!(drawn.known.is_empty());
        for token in &all {
            assert!(allowed(&mask_of(&drawn.then)).contains(token));
            let advance = drawn.advance(*token, 64).expect("allowed");
            assert!(advance.forced.is_empty());
            drawn.then = advance.then;
        }
    }
    // One draw makes the rest of it known, where there is room.
    let mut open = begun(1, None);
    assert_eq!(open.advance(all[0], 64).expect("allowed").forced, all[1..]);
}

fn refused(grammar: &Grammar) -> String {
    let (_, tokenizer) = tokenizers().swap_remove(0);
    let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
    match grammars.compile(grammar) {
        Err(Error::Grammar { message, .. }) => message,
        other => panic!("{grammar:?}: {other:?}"),
    }
}

#[test]
fn what_a_schema_asks_for_and_is_not_done_is_refused_by_its_keyword() {
    for (schema, says) in [
        (json!({"not": {"type": "string"}}), "\"not\""),
        (
            json!({"type": "array", "uniqueItems": true}),
            "\"uniqueItems\"",
        ),
        (
            json!({"type": "array", "contains": {"const": 1}}),
            "\"contains\"",
        ),
        (
            json!({"properties": {"a": {"if": true, "then": {"type": "null"}}}}),
            "\"if\"",
        ),
        (
            json!({"type": "object", "propertyNames": {"maxLength": 3}}),
            "\"propertyNames\"",
        ),
        (
            json!({"type": "object", "dependentRequired": {"a": ["b"]}}),
            "\"dependentRequired\"",
        ),
        (
            json!({"type": "object", "unevaluatedProperties": false}),
            "\"unevaluatedProperties\"",
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"type": "integer", "minimum": 1}]}),
            "`oneOf`",
        ),
        (
            json!({"type": "string", "format": "shoe-size"}),
            "format: shoe-size",
        ),
        (json!({"type": "colour"}), "colour"),
        (json!({"type": "string", "minLength": -1}), "'minLength'"),
        (
            json!({"type": "string", "minLength": 3, "maxLength": 2}),
            "minLength (3)",
        ),
        (
            json!({"type": "integer", "minimum": 3, "maximum": 2}),
            "minimum",
        ),
        (
            json!({"type": "array", "items": false, "minItems": 1}),
            "item",
        ),
        (json!({"$ref": "#/$defs/none"}), "none"),
        (
            json!({"$ref": "https://example.org/schema"}),
            "https://example.org/schema",
        ),
        (
            json!({"$schema": "https://example.org/my-own", "type": "null"}),
            "my-own",
        ),
        (
            json!({"x-guidance": {"lenient": true}, "not": {}}),
            "`x-guidance`",
        ),
        (json!({"const": 9_007_199_254_740_993u64}), "2^53"),
        (
            json!({"properties": {"a": {"maximum": u64::MAX}}}),
            "`maximum`",
        ),
        (
            json!({"$defs": {"a": {"$id": "http://x/a", "$ref": "#/$defs/b"}}, "$ref": "#/$defs/a"}),
            "`$id`",
        ),
        (json!(false), "false"),
        (json!(3), "3"),
        (json!([]), "[]"),
        (json!({"properties": 3}), "properties"),
        (json!({"anyOf": {}}), "anyOf"),
        (json!({"enum": []}), "anyOf"),
        (json!({"type": "string", "pattern": "(?=a)b"}), "look"),
        (json!({"type": "string", "pattern": "("}), "("),
    ] {
        let said = refused(&Grammar::Schema(schema.clone()));
        assert!(said.contains(says), "{schema}: {said}");
        assert!(!said.contains("backtrace") && !said.contains("<"), "{said}");
    }
    for grammar in [
        Grammar::Lark("start: foo".to_owned()),
        Grammar::Lark(String::new()),
        Grammar::Lark("start: \"a".to_owned()),
        Grammar::Regex("(".to_owned()),
        Grammar::Regex("a/b\n[".to_owned()),
    ] {
        let said = refused(&grammar);
        assert!(!said.is_empty() && !said.contains('\n'), "{said}");
    }
}

/// Deep and large grammars end in errors or are followed; none takes the program down.
#[test]
fn hostile_grammars_are_bounded() {
    let (_, tokenizer) = tokenizers().swap_remove(0);
    let grammars = Grammars::new(&tokenizer).expect("a vocabulary");
    let chain = |n: usize| {
        let mut defs: serde_json::Map<String, Value> = (0..n)
            .map(|at| {
                (
                    format!("d{at}"),
                    json!({"$ref": format!("#/$defs/d{}", at + 1)}),
                )
            })
            .collect();
        defs.insert(format!("d{n}"), json!({"type": "null"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    let names: Vec<String> = (0..5000).map(|at| format!("name {at}")).collect();
    let properties: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), json!({"type": "string"})))
        .collect();
    let list = [
        Grammar::Schema(chain(9000)),
        Grammar::Schema(chain(20_000)),
        Grammar::Schema(json!({"type": "string", "minLength": 4_000_000_000u32})),
        Grammar::Schema(json!({"type": "string", "maxLength": 1_000_000_000})),
        Grammar::Schema(
            json!({"type": "string", "pattern": "(((a{1,1000}){1,1000}){1,1000}){1,1000}"}),
        ),
        Grammar::Schema(json!({"type": "array", "minItems": 1_000_000_000})),
        Grammar::Schema(json!({"type": "object", "minProperties": 1_000_000_000})),
        Grammar::Schema(json!({"enum": names})),
        Grammar::Schema(json!({"properties": properties})),
        Grammar::Schema(json!({"multipleOf": 1e-300})),
        Grammar::Schema(json!({"const": 1e300})),
        Grammar::Schema(json!({"$ref": "#"})),
        Grammar::Schema(json!({"allOf": [{"$ref": "#"}, {"type": "object"}]})),
        Grammar::Lark(format!(
            "start: {}\"a\"{}",
            "(".repeat(30_000),
            ")".repeat(30_000)
        )),
        Grammar::Lark("start: \"a\" start start | start start | \"\"".to_owned()),
        Grammar::Regex("(".repeat(60_000) + &")".repeat(5)),
        Grammar::Regex("(?:a?){60}a{60}".to_owned()),
        Grammar::Regex("x".repeat(70_000)),
    ];
    for grammar in list {
        let Ok(mut constraint) = grammars.compile(&grammar) else {
            continue;
        };
        let mut advance = constraint.begin(64);
        for _ in 0..3 {
            let Ok(Advance {
                then: Then::Draw(mask),
                ..
            }) = advance
            else {
                break;
            };
            advance = constraint.advance(allowed(&mask)[0], 64);
        }
    }
}
