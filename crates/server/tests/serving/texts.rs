//! Text over the wire is what a session writes: whole, streamed, alone, with others.

use crate::{
    client::{begin, get, post},
    support::{NAME, Running, alone, completion, endless, with},
};
use serde_json::{Value, json};
use std::thread;

const PROMPTS: [&str; 4] = [
    "Hello, world! This is a test of the licence 12345.",
    "one two three",
    "Hello, world! This is",
    "Grüße aus Köln",
];
const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

/// All text of the events of a choice.
fn joined(events: &[Value], choice: usize, chat: bool) -> String {
    let choices = events.iter().flat_map(|event| event["choices"].as_array());
    let own = choices
        .flatten()
        .filter(|one| one["index"] == json!(choice));
    let text = own.map(|one| match chat {
        true => one["delta"]["content"].as_str().unwrap_or_default(),
        false => one["text"].as_str().unwrap_or_default(),
    });
    text.collect()
}

#[test]
fn completions_are_what_a_session_writes_whole_and_streamed() {
    let (server, bundle) = Running::usual();
    for prompt in PROMPTS {
        let want = alone(&bundle, prompt, 24);
        let body = completion(prompt, 24);
        let whole = post(server.address, COMPLETIONS, &body).ok();
        assert_eq!(whole["choices"][0]["text"], want, "{prompt}");
        assert_eq!(whole["object"], "text_completion");
        assert_eq!(whole["model"], NAME);
        let made = whole["usage"]["completion_tokens"]
            .as_u64()
            .expect("a number");
        let finish = if made == 24 { "length" } else { "stop" };
        assert_eq!(whole["choices"][0]["finish_reason"], finish);
        let stream = json!({"stream": true, "stream_options": {"include_usage": true}});
        let answer = post(server.address, COMPLETIONS, &with(body, stream));
        assert!(answer.text().ends_with("data: [DONE]\n\n"));
        let events = answer.events();
        assert_eq!(joined(&events, 0, false), want);
        let last = events.last().expect("events");
        assert_eq!(last["usage"], whole["usage"]);
        assert_eq!(last["choices"], json!([]));
        assert!(events[0]["usage"].is_null());
    }
}

#[test]
fn conversations_go_through_the_template_and_several_choices_have_seeds_of_their_own() {
    let (server, bundle) = Running::usual();
    let messages = json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    ]);
    let written = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
        <|im_start|>assistant\n";
    let want = alone(&bundle, written, 16);
    let body = json!({"model": NAME, "messages": messages, "max_tokens": 16, "temperature": 0});
    let whole = post(server.address, CHAT, &body).ok();
    assert_eq!(whole["object"], "chat.completion");
    let choice = &whole["choices"][0];
    assert_eq!(choice["message"]["content"], want);
    assert_eq!(choice["message"]["role"], "assistant");
    let events = post(
        server.address,
        CHAT,
        &with(body.clone(), json!({"stream": true})),
    )
    .events();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(joined(&events, 0, true), want);
    let last = events.last().expect("events");
    assert_eq!(last["choices"][0]["finish_reason"], choice["finish_reason"]);
    // Draws: n answers are those of n seeds.
    let warm = with(body, json!({"temperature": 1.0, "seed": 7, "n": 3}));
    let all = post(server.address, CHAT, &warm).ok();
    assert_eq!(all["choices"].as_array().map(Vec::len), Some(3));
    let events = post(
        server.address,
        CHAT,
        &with(warm.clone(), json!({"stream": true})),
    )
    .events();
    for at in 0..3 {
        let one = with(warm.clone(), json!({"seed": 7 + at, "n": 1}));
        let one = post(server.address, CHAT, &one).ok();
        let text = &one["choices"][0]["message"]["content"];
        assert_eq!(*text, all["choices"][at]["message"]["content"]);
        assert_eq!(*text, joined(&events, at, true));
    }
    assert_ne!(all["choices"][0]["message"], all["choices"][1]["message"]);
}

#[test]
fn sixteen_others_change_nothing() {
    let (server, bundle) = Running::usual();
    let want: Vec<String> = PROMPTS
        .iter()
        .map(|prompt| alone(&bundle, prompt, 40))
        .collect();
    let address = server.address;
    let threads: Vec<_> = (0..17)
        .map(|at| {
            thread::spawn(move || {
                let prompt = PROMPTS[at % PROMPTS.len()];
                let body = completion(prompt, 40);
                let answer = post(address, COMPLETIONS, &body).ok();
                answer["choices"][0]["text"]
                    .as_str()
                    .expect("text")
                    .to_owned()
            })
        })
        .collect();
    for (at, thread) in threads.into_iter().enumerate() {
        let got = thread.join().expect("an answer");
        assert_eq!(got, want[at % want.len()], "request {at}");
    }
    server.wait("warpsmith_pages_used", 0.0);
}

#[test]
fn a_stop_string_across_tokens_is_never_shown() {
    let (server, bundle) = Running::usual();
    let all = alone(&bundle, PROMPTS[0], 40);
    let letters: Vec<char> = all.chars().collect();
    assert!(letters.len() > 20, "{all:?}");
    // Every piece of five letters, wherever tokens are cut.
    for start in [3, 4, 5, 6, 9, 12] {
        let stop: String = letters[start..start + 5].iter().collect();
        let before = &all[..all.find(&stop).expect("it is there")];
        let body = with(
            completion(PROMPTS[0], 40),
            json!({"stop": [stop, "\u{1f980}"]}),
        );
        let whole = post(server.address, COMPLETIONS, &body).ok();
        assert_eq!(whole["choices"][0]["text"], before, "stop {stop:?}");
        assert_eq!(whole["choices"][0]["finish_reason"], "stop");
        let events = post(
            server.address,
            COMPLETIONS,
            &with(body, json!({"stream": true})),
        )
        .events();
        assert_eq!(joined(&events, 0, false), before, "stop {stop:?}");
    }
    server.wait("warpsmith_pages_used", 0.0);
}

#[test]
fn probabilities_are_told_and_biases_change_what_is_drawn() {
    let (server, bundle) = Running::usual();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 6,
        "temperature": 0, "logprobs": true, "top_logprobs": 3});
    let whole = post(server.address, CHAT, &body).ok();
    let told = whole["choices"][0]["logprobs"]["content"].clone();
    let list = told.as_array().expect("a list");
    assert!(!list.is_empty());
    for one in list {
        let top = one["top_logprobs"].as_array().expect("a list");
        assert_eq!(top.len(), 3);
        for field in ["token", "logprob", "bytes"] {
            assert_eq!(top[0][field], one[field], "{one}");
        }
        let logprob = |at: usize| top[at]["logprob"].as_f64().expect("a number");
        assert!(logprob(0) >= logprob(1) && logprob(1) >= logprob(2) && logprob(0) < 0.0);
    }
    let events = post(
        server.address,
        CHAT,
        &with(body.clone(), json!({"stream": true})),
    )
    .events();
    let each = events
        .iter()
        .filter_map(|event| event["choices"][0]["logprobs"]["content"].as_array());
    assert_eq!(json!(each.flatten().collect::<Vec<_>>()), told);
    // One token that is wanted above all, one that is forbidden; others beside them go on as before.
    let tokenizer = &bundle.tokenizer;
    let ids = post(server.address, "/tokenize", &json!({"content": "abc"})).ok()["tokens"].clone();
    let wanted = ids[0].as_u64().expect("an id") as u32;
    let want = tokenizer.decode(&[wanted; 5]).expect("text");
    let address = server.address;
    let long = with(
        completion(PROMPTS[1], 200),
        json!({"logit_bias": endless(&bundle)}),
    );
    let beside = begin(
        address,
        COMPLETIONS,
        &with(completion(PROMPTS[0], 40), json!({"logprobs": 0})),
    );
    let other = begin(address, COMPLETIONS, &long);
    let bias = json!({"logit_bias": {wanted.to_string(): 100}});
    let got = post(address, COMPLETIONS, &with(completion(PROMPTS[0], 5), bias)).ok();
    assert_eq!(got["choices"][0]["text"], want);
    let other = other.answer().ok();
    assert_eq!(other["usage"]["completion_tokens"], 200);
    let beside = beside.answer().ok();
    assert_eq!(beside["choices"][0]["text"], alone(&bundle, PROMPTS[0], 40));
    let logprobs = &beside["choices"][0]["logprobs"];
    let count = logprobs["tokens"].as_array().map(Vec::len);
    assert_eq!(logprobs["token_logprobs"].as_array().map(Vec::len), count);
    let first = post(
        address,
        COMPLETIONS,
        &with(completion(PROMPTS[0], 1), json!({"logprobs": 2})),
    )
    .ok();
    let top = first["choices"][0]["logprobs"]["top_logprobs"][0].as_object();
    assert_eq!(top.map(serde_json::Map::len), Some(2));
}

#[test]
fn prompts_may_be_lists_and_tokens() {
    let (server, bundle) = Running::usual();
    let ids = |text: &str| {
        post(server.address, "/tokenize", &json!({"content": text})).ok()["tokens"].clone()
    };
    let want: Vec<String> = PROMPTS[..2]
        .iter()
        .map(|prompt| alone(&bundle, prompt, 8))
        .collect();
    for prompt in [
        json!(PROMPTS[..2]),
        json!([ids(PROMPTS[0]), ids(PROMPTS[1])]),
    ] {
        let body = json!({"prompt": prompt, "max_tokens": 8, "temperature": 0});
        let answer = post(server.address, COMPLETIONS, &body).ok();
        for at in 0..2 {
            assert_eq!(answer["choices"][at]["text"], want[at]);
            assert_eq!(answer["choices"][at]["index"], at);
        }
    }
    let one = json!({"prompt": ids(PROMPTS[0]), "max_tokens": 8, "temperature": 0});
    let one = post(server.address, COMPLETIONS, &one).ok();
    assert_eq!(one["choices"][0]["text"], want[0]);
    let tokens = ids(PROMPTS[3]);
    let back = post(server.address, "/detokenize", &json!({"tokens": tokens})).ok();
    assert_eq!(back["content"], PROMPTS[3]);
    let models = get(server.address, "/v1/models").ok();
    assert_eq!(models["data"][0]["id"], NAME);
    assert_eq!(
        get(server.address, "/v1/models/tiny-llama3").ok()["id"],
        NAME
    );
    let error = get(server.address, "/v1/models/other").error();
    assert_eq!(error["code"], "model_not_found");
}
