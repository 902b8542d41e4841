//! Clients that vanish, stop half-way or read slowly; engines that fail; the end of a server.

use crate::{
    client::{begin, get, post, raw},
    support::{Running, alone, bundle, completion, endless, engine_options, model, options, with},
};
use serde_json::json;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use warpsmith_device::Stream;
use warpsmith_graph::{Operation, SharedDispatch, Taken};
use warpsmith_models::llama::Engine;

const COMPLETIONS: &str = "/v1/completions";

#[test]
fn pages_of_a_client_that_vanished_are_free() {
    let (server, bundle) = Running::usual();
    let long = with(
        completion("Hello, world!", 1500),
        json!({"logit_bias": endless(&bundle)}),
    );
    let streamed = with(long.clone(), json!({"stream": true}));
    let mut sent = begin(server.address, COMPLETIONS, &streamed);
    assert_eq!(sent.head().0, 200);
    assert!(!sent.chunk().is_empty());
    drop(sent);
    // One that waits for its whole answer.
    let whole = begin(server.address, COMPLETIONS, &long);
    server.wait("warpsmith_vanished_total", 1.0);
    server.wait_until("warpsmith_pages_used", |pages| pages > 0.0);
    drop(whole);
    server.wait("warpsmith_vanished_total", 2.0);
    server.wait("warpsmith_pages_used", 0.0);
    let tokens = server.figure("warpsmith_tokens_total");
    assert!(tokens < 3000.0, "{tokens} tokens were made for nobody");
}

#[test]
fn a_slow_reader_holds_nobody_up_and_loses_nothing() {
    let (server, bundle) = Running::usual();
    let body = with(
        completion("Hello, world!", 1200),
        json!({"logit_bias": endless(&bundle), "stream": true, "logprobs": 20}),
    );
    // More than the buffers of a connection hold, and nothing of it is read.
    let mut slow: Vec<_> = (0..2)
        .map(|_| begin(server.address, COMPLETIONS, &body))
        .collect();
    let quick = post(
        server.address,
        COMPLETIONS,
        &completion("one two three", 20),
    )
    .ok();
    assert_eq!(
        quick["choices"][0]["text"],
        alone(&bundle, "one two three", 20)
    );
    // They are made to their end, and their pages are free, while their texts wait.
    server.wait("warpsmith_tokens_total", 2400.0 + 20.0);
    server.wait("warpsmith_pages_used", 0.0);
    let events = slow.remove(0).answer().events();
    let whole = with(body, json!({"stream": false}));
    let whole = post(server.address, COMPLETIONS, &whole).ok();
    let text = |event: &serde_json::Value| {
        event["choices"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let got: String = events.iter().map(text).collect();
    assert_eq!(whole["choices"][0]["text"], got);
}

#[test]
fn bodies_that_stop_half_way_disturb_nobody() {
    let (server, bundle) = Running::usual();
    let half = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{\"prompt\": \"He";
    // Some are closed, some stay open; some have not even sent their head.
    for bytes in [&half[..], &half[..40], b"", b"\r\n", b"\x16\x03\x01\x02"] {
        drop(raw(server.address, bytes));
    }
    let open: Vec<_> = [&half[..], &half[..40], b""]
        .map(|bytes| raw(server.address, bytes))
        .into();
    let answer = post(server.address, COMPLETIONS, &completion("one", 8)).ok();
    assert_eq!(answer["choices"][0]["text"], alone(&bundle, "one", 8));
    let mut open = open.into_iter();
    let waited = open.next().expect("one that stopped in its body").answer();
    assert_eq!(waited.status, 408);
    assert!(
        waited.error()["message"]
            .as_str()
            .is_some_and(|text| text.contains("5 s"))
    );
    // A chunked body with a length that is none.
    let odd = b"POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    assert_eq!(raw(server.address, odd).answer().status, 400);
}

#[test]
fn a_server_that_is_to_stop_waits_no_longer_than_its_grace() {
    let bundle = bundle();
    let mut own = options();
    own.grace = Duration::from_millis(300);
    own.limits.patience = Duration::from_secs(600);
    let mut server = Running::new(vec![model(&bundle, engine_options())], vec![], own);
    let half = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{";
    let _stalled = [&half[..], &half[..40], b""].map(|bytes| raw(server.address, bytes));
    // One that is never read, and far from its end.
    let bias = json!({"logit_bias": endless(&bundle), "stream": true, "logprobs": 20});
    let long = with(completion("Hello, world!", 1900), bias);
    let mut sent = begin(server.address, COMPLETIONS, &long);
    assert_eq!(sent.head().0, 200);
    let begun = std::time::Instant::now();
    server.join();
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
}

/// Engines whose first one fails at an operation, and so does the one made in its place, if it is to.
fn failing(at: u32, made: &Arc<AtomicU32>, panics: bool) -> Running {
    let bundle = bundle();
    let mut text = model(&bundle, engine_options());
    let own = Arc::clone(&bundle.model);
    let made = Arc::clone(made);
    text.engines = vec![Box::new(move || {
        let mut engine = Engine::new(&own, &engine_options())?;
        if made.fetch_add(1, SeqCst) == 0 {
            let mut left = at;
            let fails = move |_: &Operation<'_>, _: &Stream| {
                left -= 1;
                match left {
                    0 if panics => panic!("an injected panic"),
                    0 => Err("an injected fault".into()),
                    _ => Ok(Taken::Left),
                }
            };
            let dispatch: SharedDispatch = Arc::new(Mutex::new(fails));
            engine.dispatch(Some(dispatch));
        }
        Ok(engine)
    })];
    Running::new(vec![text], vec![], options())
}

#[test]
fn an_engine_that_fails_answers_500_to_those_it_had_and_another_serves_on() {
    for (at, panics) in [(400, false), (400, true), (3, false)] {
        let made = Arc::new(AtomicU32::new(0));
        let server = failing(at, &made, panics);
        let bundle = bundle();
        let bias = json!({"logit_bias": endless(&bundle)});
        let long = with(completion("Hello, world!", 900), bias);
        let sent: Vec<_> = [false, true]
            .map(|stream| with(long.clone(), json!({"stream": stream})))
            .iter()
            .map(|body| begin(server.address, COMPLETIONS, body))
            .collect();
        let mut faults = 0;
        for sent in sent {
            let answer = sent.answer();
            let error = match answer.status {
                // One that came after the fault was served.
                200 if answer.header("content-type") == Some("application/json") => continue,
                200 => {
                    let events = answer.events();
                    let error = events.last().expect("events")["error"].clone();
                    // A stream that had begun ends with the error.
                    assert_eq!(error.is_null(), answer.text().contains("[DONE]"));
                    error
                }
                status => {
                    assert_eq!(status, 500);
                    answer.error()
                }
            };
            if !error.is_null() {
                assert_eq!(error["type"], "server_error");
                let message = error["message"].as_str().expect("a message");
                assert!(message.contains("injected"), "{message}");
                faults += 1;
            }
        }
        assert!(faults > 0);
        let want = alone(&bundle, "one two three", 20);
        let next = post(
            server.address,
            COMPLETIONS,
            &completion("one two three", 20),
        )
        .ok();
        assert_eq!(next["choices"][0]["text"], want);
        assert_eq!(made.load(SeqCst), 2);
        assert_eq!(server.figure("warpsmith_faults_total"), 1.0);
        server.wait("warpsmith_pages_used", 0.0);
    }
}

#[test]
fn an_engine_that_cannot_be_made_again_is_tried_again() {
    let bundle = bundle();
    let mut text = model(&bundle, engine_options());
    let own = Arc::clone(&bundle.model);
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    text.engines = vec![Box::new(move || {
        let mut options = engine_options();
        let at = count.fetch_add(1, SeqCst);
        if at == 1 || at == 2 {
            options.page = 7;
        }
        let mut engine = Engine::new(&own, &options)?;
        if at == 0 {
            let fails = |_: &Operation<'_>, _: &Stream| Err("an injected fault".into());
            engine.dispatch(Some(Arc::new(Mutex::new(fails))));
        }
        Ok(engine)
    })];
    let server = Running::new(vec![text], vec![], options());
    let status = || post(server.address, COMPLETIONS, &completion("one", 4)).status;
    assert_eq!([status(), status(), status()], [500, 503, 200]);
}

#[test]
fn what_was_begun_is_finished_when_the_server_stops() {
    let (mut server, bundle) = Running::usual();
    let bias = json!({"logit_bias": endless(&bundle), "stream": true});
    let body = with(completion("Hello, world!", 300), bias);
    let mut sent: Vec<_> = (0..3)
        .map(|_| begin(server.address, COMPLETIONS, &body))
        .collect();
    assert!(sent.iter_mut().all(|sent| sent.head().0 == 200));
    let first = sent[0].chunk();
    server.stop();
    let address = server.address;
    let reader = thread::spawn(move || {
        sent.into_iter()
            .map(|mut sent| {
                let mut all = Vec::new();
                loop {
                    let chunk = sent.chunk();
                    if chunk.is_empty() {
                        return all;
                    }
                    all.extend(chunk);
                }
            })
            .collect::<Vec<_>>()
    });
    let mut all = reader.join().expect("they are read");
    server.join();
    all[0] = [first, all[0].clone()].concat();
    let texts: Vec<String> = all
        .into_iter()
        .map(|body| String::from_utf8(body).expect("UTF-8"))
        .collect();
    for text in &texts {
        assert!(text.ends_with("data: [DONE]\n\n"));
        assert!(text.contains("\"finish_reason\":\"length\""), "{text}");
    }
    // Nobody listens any more.
    thread::sleep(Duration::from_millis(10));
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn several_engines_stand_behind_one_queue() {
    let bundle = bundle();
    let other = crate::support::bundle();
    let mut options = engine_options();
    options.sequences = 2;
    let mut text = model(&bundle, options);
    let own = Arc::clone(&other.model);
    text.engines
        .push(Box::new(move || Engine::new(&own, &options)));
    text.devices.push(other.model.device().clone());
    let server = Running::new(vec![text], vec![], crate::support::options());
    let prompts = ["one two three", "Hello, world!", "a", "b", "c", "d"];
    let want = prompts.map(|prompt| alone(&bundle, prompt, 60));
    let sent: Vec<_> = (0..18)
        .map(|at| {
            begin(
                server.address,
                COMPLETIONS,
                &completion(prompts[at % 6], 60),
            )
        })
        .collect();
    for (at, sent) in sent.into_iter().enumerate() {
        assert_eq!(sent.answer().ok()["choices"][0]["text"], want[at % 6]);
    }
    let page = get(server.address, "/metrics");
    for engine in 0..2 {
        let name = format!("warpsmith_steps_total{{model=\"tiny-llama3\",engine=\"{engine}\"}} ");
        let line = page
            .text()
            .lines()
            .find_map(|line| line.strip_prefix(&name));
        let steps: u64 = line.and_then(|steps| steps.parse().ok()).expect("a figure");
        assert!(steps > 0, "engine {engine} did nothing");
    }
}
