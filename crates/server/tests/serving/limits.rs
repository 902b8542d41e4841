//! Who may ask, how much, and what is refused by name.

use crate::{
    client::{begin, get, pieces, post, raw, send},
    support::{NAME, Running, bundle, completion, endless, engine_options, model, options, with},
};
use serde_json::{Value, json};
use std::time::Duration;
use warpsmith_server::{Cors, Options};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

#[test]
fn a_key_is_wanted_where_there_are_keys() {
    let keys = vec!["secret".to_owned(), "other".to_owned()];
    let texts = vec![model(&bundle(), engine_options())];
    let server = Running::new(texts, vec![], Options { keys, ..options() });
    let status = |path: &str, header: &str| send(server.address, "GET", path, header, b"").answer();
    for wrong in [
        "",
        "Authorization: Bearer secre\r\n",
        "Authorization: Bearer secret2\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Basic secret\r\n",
        "X-Api-Key: secret\r\n",
    ] {
        let answer = status("/v1/models", wrong);
        assert_eq!(answer.status, 401, "{wrong}");
        assert_eq!(answer.error()["code"], "invalid_api_key");
        assert_eq!(status("/metrics", wrong).status, 401);
        assert_eq!(status("/health", wrong).status, 200);
    }
    for right in [
        "Authorization: Bearer secret\r\n",
        "Authorization: Bearer other\r\n",
        "Authorization: bearer other\r\n",
    ] {
        status("/v1/models", right).ok();
    }
    // A body is not even read of somebody without a key.
    let large = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n";
    assert_eq!(raw(server.address, large.as_bytes()).answer().status, 401);
}

#[test]
fn pages_of_other_origins_are_let_in_where_they_are_named() {
    let ask = |cors: Cors, origin: &str| {
        let texts = vec![model(&bundle(), engine_options())];
        let server = Running::new(
            texts,
            vec![],
            Options {
                cors,
                keys: vec!["k".into()],
                ..options()
            },
        );
        let header = format!("Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
        let answer = send(server.address, "OPTIONS", CHAT, &header, b"").answer();
        answer
            .header("access-control-allow-origin")
            .map(str::to_owned)
    };
    let named = || Cors::Origins(vec!["https://a.example".to_owned()]);
    assert_eq!(ask(Cors::No, "https://a.example"), None);
    assert_eq!(ask(Cors::Any, "https://b.example").as_deref(), Some("*"));
    assert_eq!(
        ask(named(), "https://a.example").as_deref(),
        Some("https://a.example")
    );
    assert_eq!(ask(named(), "https://b.example"), None);
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let bundle = bundle();
    let mut options = engine_options();
    options.sequences = 1;
    let mut text = model(&bundle, options);
    text.waiting = 1;
    let server = Running::new(vec![text], vec![], crate::support::options());
    let bias = json!({"logit_bias": endless(&bundle), "stream": true});
    let long = with(completion("Hello", 1500), bias);
    let mut runs = begin(server.address, COMPLETIONS, &long);
    assert_eq!(runs.head().0, 200);
    let waits = begin(server.address, COMPLETIONS, &completion("one", 3));
    server.wait("warpsmith_waiting", 1.0);
    let refused = post(server.address, COMPLETIONS, &completion("two", 3));
    assert_eq!(refused.status, 429);
    assert_eq!(refused.error()["code"], "rate_limit_exceeded");
    let seconds: u64 = refused
        .header("retry-after")
        .and_then(|s| s.parse().ok())
        .expect("seconds");
    assert!((1..=60).contains(&seconds));
    // More answers than there are ever places for.
    let never = with(completion("two", 3), json!({"n": 3}));
    let never = post(server.address, COMPLETIONS, &never);
    assert_eq!((never.status, &never.error()["param"]), (400, &json!("n")));
    drop(runs);
    waits.answer().ok();
    // A client that left while it waited takes no place.
    let mut runs = begin(server.address, COMPLETIONS, &long);
    assert_eq!(runs.head().0, 200);
    let gone = begin(server.address, COMPLETIONS, &completion("one", 3));
    server.wait("warpsmith_waiting", 1.0);
    drop(gone);
    server.wait("warpsmith_waiting", 0.0);
    let waits = begin(server.address, COMPLETIONS, &completion("one", 3));
    server.wait("warpsmith_waiting", 1.0);
    drop(runs);
    waits.answer().ok();
}

#[test]
fn what_never_fits_is_refused_with_both_numbers() {
    let bundle = bundle();
    let mut options = engine_options();
    options.context = 200;
    let server = Running::new(
        vec![model(&bundle, options)],
        vec![],
        crate::support::options(),
    );
    let ids: Vec<u32> = (0..150).collect();
    let ask = |most: u32| {
        let body = json!({"prompt": ids, "max_tokens": most, "temperature": 0});
        post(server.address, COMPLETIONS, &body)
    };
    assert_eq!(ask(50).status, 200);
    let refused = ask(51);
    assert_eq!(refused.status, 400);
    let error = refused.error();
    assert_eq!(error["code"], "context_length_exceeded");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("200") && message.contains("201"),
        "{message}"
    );
    let long = "word ".repeat(300);
    let body = json!({"messages": [{"role": "user", "content": long}]});
    let error = post(server.address, CHAT, &body).error();
    assert_eq!(error["code"], "context_length_exceeded");
    // Without a limit it goes on to the end of the context.
    let bias = json!({"logit_bias": endless(&bundle)});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "temperature": 0});
    let answer = post(server.address, CHAT, &with(body, bias)).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["total_tokens"], 201);
    // Few pages: what none of them can hold is refused, not tried.
    options.pages = 5;
    let server = Running::new(
        vec![model(&bundle, options)],
        vec![],
        crate::support::options(),
    );
    let body = |most| json!({"prompt": ids[..60], "max_tokens": most, "temperature": 0});
    assert_eq!(post(server.address, COMPLETIONS, &body(20)).status, 200);
    let error = post(server.address, COMPLETIONS, &body(21)).error();
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("80") && message.contains("81"),
        "{message}"
    );
}

#[test]
fn bodies_and_prompts_have_limits() {
    let mut own = options();
    own.limits.prompt = 10;
    let texts = vec![model(&bundle(), engine_options())];
    let server = Running::new(texts, vec![], own);
    // A length that is too large is refused before anything of it came.
    let large = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n{";
    let answer = raw(server.address, large.as_bytes()).answer();
    assert_eq!(answer.status, 413);
    assert_eq!(answer.error()["code"], "request_too_large");
    // What is as large as may be is read, and one byte more is not.
    for (bytes, status) in [(1 << 20, 400), ((1 << 20) + 1, 413)] {
        let body = vec![b' '; bytes];
        let length = send(server.address, "POST", COMPLETIONS, "", &body);
        assert_eq!(length.answer().status, status, "{bytes}");
        let chunked = [CHUNKED, &chunk(&body), b"0\r\n\r\n"].concat();
        assert_eq!(raw(server.address, &chunked).answer().status, status);
    }
    // One that comes slowly comes.
    let body = completion("word", 1).to_string();
    let (first, last) = body.split_at(9);
    let slow = [first, last].map(|part| chunk(part.as_bytes()));
    let slow = [CHUNKED, &slow[0], &slow[1], b"0\r\n\r\n"];
    let pause = Duration::from_millis(50);
    pieces(server.address, &slow, pause).answer().ok();
    let error = post(
        server.address,
        COMPLETIONS,
        &completion(&"word ".repeat(50), 1),
    )
    .error();
    assert_eq!(error["param"], "prompt");
    post(server.address, COMPLETIONS, &completion("word", 1)).ok();
}

const CHUNKED: &[u8] =
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let length = format!("{:x}\r\n", bytes.len());
    [length.as_bytes(), bytes, b"\r\n"].concat()
}

#[test]
fn a_client_that_writes_all_before_it_reads_is_told_that_it_is_too_much() {
    let texts = vec![model(&bundle(), engine_options())];
    let server = Running::new(texts, vec![crate::support::speech()], options());
    // More than the buffers of a connection hold, of which the server reads what it may keep or nothing.
    let part = vec![b' '; 1 << 20];
    let chunks = chunk(&part).repeat(24);
    for path in [
        CHAT,
        COMPLETIONS,
        "/v1/responses",
        "/v1/embeddings",
        "/v1/audio/transcriptions",
        "/v1/audio/translations",
        "/tokenize",
        "/detokenize",
        "/nothing",
    ] {
        let form =
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n";
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        );
        let length = format!(
            "{head}Content-Length: {}\r\n\r\n{form}",
            form.len() + (24 << 20)
        );
        let length = [length.as_bytes(), &part.repeat(24)].concat();
        let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        let chunked = [
            chunked.as_bytes(),
            &chunk(form.as_bytes()),
            &chunks,
            b"0\r\n\r\n",
        ]
        .concat();
        for bytes in [length, chunked] {
            let answer = raw(server.address, &bytes).answer();
            let status = if path == "/nothing" { 404 } else { 413 };
            assert_eq!(answer.status, status, "{path}: {answer:?}");
            answer.error();
            assert_eq!(answer.header("connection"), Some("close"), "{path}");
        }
    }
    post(server.address, COMPLETIONS, &completion("word", 1)).ok();
}

#[test]
fn what_is_not_done_is_refused_by_name_and_what_is_harmless_is_not() {
    let (server, _) = Running::usual();
    let chat = json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1});
    let harmless = json!({"user": "u", "metadata": {"a": "b"}, "store": false, "service_tier": "auto",
        "presence_penalty": 0, "frequency_penalty": 0.0, "n": 1, "stop": null, "tools": [], "top_k": 5,
        "min_p": 0.1, "repetition_penalty": 1.1, "response_format": {"type": "text"}, "tool_choice": "none",
        "logit_bias": {}, "seed": -3, "parallel_tool_calls": true, "modalities": ["text"]});
    post(server.address, CHAT, &with(chat.clone(), harmless)).ok();
    let function = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    let refused: [(&str, Value); 21] = [
        ("response_format", json!("json_object")),
        ("presence_penalty", json!(2.5)),
        ("frequency_penalty", json!(-3)),
        ("store", json!(true)),
        // The template of this model says nothing of tools.
        ("tools", function),
        ("tool_choice", json!("required")),
        ("functions", json!([{"name": "f"}])),
        ("audio", json!({"voice": "v"})),
        ("modalities", json!(["text", "audio"])),
        ("reasoning_effort", json!("high")),
        ("prediction", json!({"type": "content", "content": "x"})),
        ("no_such_field", json!(1)),
        ("temperature", json!(3)),
        ("temperature", json!("hot")),
        ("top_p", json!(0)),
        ("n", json!(0)),
        ("max_tokens", json!(-1)),
        ("logit_bias", json!({"99999": 1})),
        ("stop", json!([""])),
        ("top_logprobs", json!(5)),
        ("stream_options", json!({"include_usage": true})),
    ];
    for (name, value) in refused {
        let answer = post(
            server.address,
            CHAT,
            &with(chat.clone(), json!({name: value})),
        );
        assert_eq!(answer.status, 400, "{name}: {value}");
        let error = answer.error();
        assert_eq!(error["param"], name, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(name), "{message}");
    }
    for (messages, param) in [
        (json!([]), "messages"),
        (
            json!([{"role": "robot", "content": "x"}]),
            "messages[0].role",
        ),
        (json!([{"role": "user"}]), "messages[0].content"),
        (
            json!([{"role": "user", "content": 5}]),
            "messages[0].content",
        ),
        (
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
            "messages[0].content[0].type",
        ),
        (
            json!([{"role": "user", "content": "x", "mood": 1}]),
            "messages[0].mood",
        ),
    ] {
        let answer = post(server.address, CHAT, &json!({"messages": messages}));
        assert_eq!(
            (answer.status, &answer.error()["param"]),
            (400, &json!(param))
        );
    }
    let other = post(server.address, CHAT, &with(chat, json!({"model": "gpt-5"})));
    assert_eq!(other.status, 404);
    let message = other.error()["message"].to_string();
    assert!(
        message.contains("gpt-5") && message.contains(NAME),
        "{message}"
    );
    for (path, status) in [("/v1/nothing", 404), (CHAT, 405)] {
        let answer = get(server.address, path);
        assert_eq!(answer.status, status);
        answer.error();
    }
}
