//! Answers that follow grammars: schemas, forced calls; and penalties.

use crate::{
    client::{begin, post},
    support::{
        NAME, Running, alone, completion, device, engine_options, model, options, reference,
        session_options, with,
    },
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use warpsmith_models::{
    chat::ChatTemplate,
    llama::{Bundle, Session},
    tokenizer::Special,
};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";
const RESPONSES: &str = "/v1/responses";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 8},
            "kind": {"enum": ["cat", "dog"]},
            "age": {"type": "integer", "minimum": 0, "maximum": 30},
            "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
        },
        "required": ["name", "kind", "age", "tags"],
        "additionalProperties": false,
    })
}

/// That a text is what [`schema`] describes.
fn holds(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["name", "kind", "age", "tags"], "{text}");
    assert!(
        value["name"].as_str().expect("a name").chars().count() <= 8,
        "{text}"
    );
    assert!(value["kind"] == "cat" || value["kind"] == "dog", "{text}");
    assert!(value["age"].as_u64().expect("an age") <= 30, "{text}");
    let tags = value["tags"].as_array().expect("tags");
    assert!(
        tags.len() <= 3 && tags.iter().all(Value::is_boolean),
        "{text}"
    );
}

fn form(schema: Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "pet", "strict": true, "schema": schema}})
}

fn streamed(events: &[Value]) -> String {
    let pieces = events.iter().filter_map(|event| {
        let choice = &event["choices"][0];
        choice["delta"]["content"]
            .as_str()
            .or(choice["text"].as_str())
    });
    pieces.collect()
}

#[test]
fn answers_follow_their_schema_whole_streamed_and_among_others() {
    let (server, bundle) = Running::usual();
    // Others, whose answers stay what they are alone.
    let prompts = ["one two three", "Hello, world! This is"];
    let others: Vec<_> = prompts
        .map(|prompt| {
            (
                prompt,
                begin(server.address, COMPLETIONS, &completion(prompt, 200)),
            )
        })
        .into_iter()
        .collect();
    let chat = json!({"messages": [{"role": "user", "content": "A pet"}], "max_tokens": 200});
    for (temperature, seed) in [(0.0, 0), (1.0, 1), (1.0, 2)] {
        let more =
            json!({"temperature": temperature, "seed": seed, "response_format": form(schema())});
        for (path, body) in [
            (CHAT, chat.clone()),
            (COMPLETIONS, completion("A pet: ", 200)),
        ] {
            let body = with(body, more.clone());
            let whole = post(server.address, path, &body).ok();
            let choice = &whole["choices"][0];
            assert_eq!(choice["finish_reason"], "stop", "{whole}");
            let text = choice["message"]["content"]
                .as_str()
                .or(choice["text"].as_str());
            let text = text.expect("a text");
            holds(text);
            let answer = post(server.address, path, &with(body, json!({"stream": true})));
            assert_eq!(streamed(&answer.events()), text);
        }
        let format = json!({"type": "json_schema", "name": "pet", "schema": schema()});
        let body = json!({"input": "A pet", "temperature": temperature, "max_output_tokens": 200,
            "text": {"format": format}});
        let whole = post(server.address, RESPONSES, &body).ok();
        assert_eq!(
            (&whole["status"], &whole["text"]["format"]),
            (&json!("completed"), &format)
        );
        holds(
            whole["output"][0]["content"][0]["text"]
                .as_str()
                .expect("a text"),
        );
    }
    for (prompt, other) in others {
        let text = &other.answer().ok()["choices"][0]["text"];
        assert_eq!(*text, alone(&bundle, prompt, 200), "{prompt}");
    }
    // The same for all choices, each with draws of its own.
    let more = json!({"n": 5, "temperature": 1.0, "seed": 9, "response_format": form(schema())});
    let all = post(server.address, CHAT, &with(chat.clone(), more)).ok();
    let texts = (0..5).map(|at| {
        all["choices"][at]["message"]["content"]
            .as_str()
            .expect("a text")
    });
    let texts: Vec<&str> = texts.collect();
    texts.iter().for_each(|text| holds(text));
    assert!(texts.iter().any(|text| *text != texts[0]), "{texts:?}");
}

#[test]
fn tokens_are_counted_told_and_limited_with_a_schema_as_without() {
    let (server, _) = Running::usual();
    let body = completion("A pet: ", 200);
    let constant = form(json!({"const": {"a": "known from the beginning", "b": [1, 2]}}));
    let text = "{\"a\": \"known from the beginning\", \"b\": [1, 2]}";
    let steps = || server.figure("warpsmith_launches_total");
    let before = steps();
    let answer = post(
        server.address,
        COMPLETIONS,
        &with(body.clone(), json!({"response_format": constant})),
    )
    .ok();
    assert_eq!(answer["choices"][0]["text"], text);
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert!(
        answer["usage"]["completion_tokens"]
            .as_u64()
            .expect("a number")
            > 10
    );
    // Nothing was to be drawn.
    assert_eq!(steps(), before);
    // With probabilities each token is drawn, and told.
    let told = with(
        body.clone(),
        json!({"response_format": constant, "logprobs": 2}),
    );
    let answer = post(server.address, COMPLETIONS, &told).ok();
    assert_eq!(answer["choices"][0]["text"], text);
    let tokens = answer["choices"][0]["logprobs"]["tokens"]
        .as_array()
        .expect("tokens");
    let joined: String = tokens.iter().filter_map(Value::as_str).collect();
    assert_eq!(joined, text);
    assert!(steps() > before);
    for most in [1, 2, 7] {
        let more = json!({"max_tokens": most, "response_format": constant});
        let answer = post(server.address, COMPLETIONS, &with(body.clone(), more)).ok();
        assert_eq!(answer["usage"]["completion_tokens"], most);
        assert_eq!(answer["choices"][0]["finish_reason"], "length");
        let begun = answer["choices"][0]["text"].as_str().expect("a text");
        assert!(
            text.starts_with(begun) && begun.len() < text.len(),
            "{begun}"
        );
    }
    // A stop string ends it, also within what is known.
    let more = json!({"response_format": constant, "stop": ["from"]});
    let answer = post(server.address, COMPLETIONS, &with(body.clone(), more)).ok();
    assert_eq!(answer["choices"][0]["text"], "{\"a\": \"known ");
    let object = json!({"response_format": {"type": "json_object"}, "max_tokens": 12});
    let answer = post(server.address, COMPLETIONS, &with(body, object)).ok();
    assert!(
        answer["choices"][0]["text"]
            .as_str()
            .expect("a text")
            .starts_with('{')
    );
}

#[test]
fn what_cannot_be_followed_is_refused_by_its_keyword_before_anything_runs() {
    let (server, _) = Running::usual();
    let chat = json!({"messages": [{"role": "user", "content": "A pet"}], "max_tokens": 5});
    let schema = "response_format.json_schema.schema";
    for (format, param, says) in [
        (form(json!({"not": {}})), schema, "\"not\""),
        (
            form(json!({"type": "array", "uniqueItems": true})),
            schema,
            "uniqueItems",
        ),
        (form(json!({"x-guidance": {}})), schema, "x-guidance"),
        (form(json!("text")), schema, "expected an object"),
        (
            json!({"type": "json_schema", "json_schema": {"name": "a"}}),
            schema,
            "missing",
        ),
        (
            json!({"type": "json_schema"}),
            "response_format.json_schema",
            "missing",
        ),
        (json!({"type": "xml"}), "response_format.type", "xml"),
        (
            json!({"type": "json_object", "depth": 3}),
            "response_format.depth",
            "unknown",
        ),
    ] {
        let answer = post(
            server.address,
            CHAT,
            &with(chat.clone(), json!({"response_format": format})),
        );
        assert_eq!(answer.status, 400, "{format}");
        let error = answer.error();
        assert_eq!(error["param"], param, "{error}");
        assert!(
            error["message"].as_str().expect("a message").contains(says),
            "{error}"
        );
    }
    let body =
        json!({"input": "x", "text": {"format": {"type": "json_schema", "schema": {"if": true}}}});
    let error = post(server.address, RESPONSES, &body).error();
    assert_eq!(error["param"], "text.format.schema");
}

/// A model whose template knows tools.
fn with_tools() -> (Running, Arc<Bundle>) {
    let path = reference("synth/tiny-llama3.gguf");
    let mut bundle = Bundle::load(&device(), path.as_path(), &mut |_, _| {}).expect("a model");
    let source = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.role }}: {{ m.content }}\
        {% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %} {{ m.tool_call_id }}\n{% endfor %}assistant: ";
    bundle.template = ChatTemplate::from_source(source).expect("a template");
    let bundle = Arc::new(bundle);
    let texts = vec![model(&bundle, engine_options())];
    (Running::new(texts, vec![], options()), bundle)
}

fn functions() -> [Value; 2] {
    let weather = json!({"type": "object", "properties": {"city": {"enum": ["Bonn", "K\u{f6}ln"]},
        "days": {"$ref": "#/$defs/days"}}, "required": ["city", "days"], "additionalProperties": false,
        "$defs": {"days": {"type": "integer", "minimum": 1, "maximum": 9}}});
    [
        json!({"name": "weather", "description": "of a city", "strict": true, "parameters": weather}),
        json!({"name": "clock", "parameters": {"properties": {"utc": {"type": "boolean"}}, "required": ["utc"],
            "additionalProperties": false}}),
    ]
}

/// That a call is one that may be made.
fn called(name: &str, arguments: &str) {
    let value: Value =
        serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{error}: {arguments}"));
    match name {
        "weather" => {
            assert!(
                value["city"] == "Bonn" || value["city"] == "K\u{f6}ln",
                "{arguments}"
            );
            assert!(
                (1..=9).contains(&value["days"].as_u64().expect("days")),
                "{arguments}"
            );
        }
        "clock" => assert!(value["utc"].is_boolean(), "{arguments}"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_forced_call_has_arguments_of_its_schema_whole_and_streamed() {
    let (server, _) = with_tools();
    let nested: Vec<Value> = functions()
        .iter()
        .map(|f| json!({"type": "function", "function": f}))
        .collect();
    let messages = json!([{"role": "user", "content": "Rain in Bonn?"}]);
    let body = json!({"messages": messages, "tools": nested, "max_tokens": 100});
    let named = json!({"type": "function", "function": {"name": "clock"}});
    for (choice, temperature) in [
        (json!("required"), 0.0),
        (json!("required"), 1.0),
        (named, 1.0),
    ] {
        let more = json!({"tool_choice": choice, "temperature": temperature, "seed": 4});
        let body = with(body.clone(), more);
        let whole = post(server.address, CHAT, &body).ok();
        let first = &whole["choices"][0];
        assert_eq!(first["finish_reason"], "tool_calls", "{whole}");
        assert!(first["message"]["content"].is_null());
        let call = &first["message"]["tool_calls"][0];
        let name = call["function"]["name"].as_str().expect("a name");
        let arguments = call["function"]["arguments"].as_str().expect("arguments");
        called(name, arguments);
        if choice.is_object() {
            assert_eq!(name, "clock");
        }
        let answer = post(server.address, CHAT, &with(body, json!({"stream": true})));
        let events = answer.events();
        let deltas = events
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["tool_calls"].get(0));
        let deltas: Vec<&Value> = deltas.collect();
        assert_eq!(
            (&deltas[0]["type"], &deltas[0]["function"]["name"]),
            (&json!("function"), &json!(name))
        );
        assert!(deltas[0]["id"].is_string());
        let pieces = deltas.iter().map(|delta| {
            assert_eq!(delta["index"], 0);
            delta["function"]["arguments"].as_str().expect("a piece")
        });
        assert_eq!(pieces.collect::<String>(), arguments);
        assert!(
            deltas.len() > 2,
            "arguments come as they are made: {deltas:?}"
        );
        let last = events.last().expect("events");
        assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    }
    // One that is cut off is what there is of it.
    let cut = json!({"tool_choice": "required", "max_tokens": 40, "temperature": 0,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string",
            "minLength": 200}}, "required": ["a"]}}}]});
    let answer = post(server.address, CHAT, &with(body.clone(), cut)).ok();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let arguments = &answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert!(
        arguments
            .as_str()
            .expect("arguments")
            .starts_with("{\"a\": \""),
        "{arguments}"
    );

    for (more, param) in [
        (
            json!({"tool_choice": "required", "tools": []}),
            "tool_choice",
        ),
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "rm"}}}),
            "tool_choice",
        ),
        (
            json!({"tool_choice": {"type": "custom", "custom": {"name": "clock"}}}),
            "tool_choice.type",
        ),
        (json!({"tool_choice": "sometimes"}), "tool_choice"),
        (
            json!({"tool_choice": "required", "response_format": {"type": "json_object"}}),
            "response_format",
        ),
        (
            json!({"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f", "parameters":
                {"properties": {"a": {"not": {}}}}}}]}),
            "tools[0].parameters",
        ),
        (
            json!({"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f", "parameters":
                {"type": "string"}}}]}),
            "tools[0].parameters.type",
        ),
    ] {
        let answer = post(server.address, CHAT, &with(body.clone(), more));
        assert_eq!(
            (answer.status, &answer.error()["param"]),
            (400, &json!(param)),
            "{}",
            answer.text()
        );
    }
}

#[test]
fn where_the_model_decides_a_call_that_begins_is_of_its_schema() {
    let (server, _) = with_tools();
    let nested = functions().map(|f| json!({"type": "function", "function": f}));
    let messages = json!([{"role": "user", "content": "Rain in Bonn?"}]);
    let body = json!({"messages": messages, "tools": nested, "max_tokens": 100});
    // A bracket at the beginning is that of a call.
    let ids = post(server.address, "/tokenize", &json!({"content": "{"})).ok();
    let bracket = ids["tokens"]
        .as_array()
        .and_then(|ids| ids.last())
        .expect("a token")
        .to_string();
    for (at, more) in [json!({}), json!({"parallel_tool_calls": false})]
        .into_iter()
        .enumerate()
    {
        let begin = json!({"tool_choice": "auto", "temperature": 1, "seed": at, "logit_bias": {bracket.as_str(): 100}});
        let answer = post(server.address, CHAT, &with(with(body.clone(), begin), more)).ok();
        let first = &answer["choices"][0];
        assert_eq!(first["finish_reason"], "tool_calls", "{answer}");
        let call = &first["message"]["tool_calls"][0]["function"];
        let told = |name: &str| call[name].as_str().expect("a string").to_owned();
        if told("name") == "weather" {
            called("weather", &told("arguments"));
        }
    }
    let answer = post(
        server.address,
        CHAT,
        &with(body.clone(), json!({"temperature": 0, "max_tokens": 5})),
    )
    .ok();
    assert!(
        answer["choices"][0]["message"]["content"].is_string(),
        "{answer}"
    );
}

#[test]
fn responses_call_functions_and_take_what_came_of_it() {
    let (server, bundle) = with_tools();
    let flat: Vec<Value> = functions()
        .iter()
        .map(|f| with(json!({"type": "function"}), f.clone()))
        .collect();
    let body = json!({"input": "Rain in Bonn?", "tools": flat, "tool_choice": "required", "temperature": 0,
        "max_output_tokens": 100});
    let whole = post(server.address, RESPONSES, &body).ok();
    let item = &whole["output"][0];
    assert_eq!(
        (&item["type"], &item["status"]),
        (&json!("function_call"), &json!("completed"))
    );
    let name = item["name"].as_str().expect("a name");
    let arguments = item["arguments"].as_str().expect("arguments");
    called(name, arguments);
    assert_eq!(
        (&whole["tools"], &whole["tool_choice"]),
        (&json!(flat), &json!("required"))
    );
    let answer = post(
        server.address,
        RESPONSES,
        &with(body.clone(), json!({"stream": true})),
    );
    let events = answer.events();
    let names = events
        .iter()
        .map(|event| event["type"].as_str().expect("a type"));
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    assert_eq!(
        names,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed"
        ]
    );
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    assert_eq!(deltas.collect::<String>(), arguments);
    let last = &events.last().expect("events")["response"];
    assert_eq!(
        (&last["output"][0]["name"], &last["output"][0]["arguments"]),
        (&json!(name), &json!(arguments))
    );
    // The call and what came of it go through the template.
    let input = json!([{"role": "user", "content": "Rain?"},
        {"type": "function_call", "call_id": "c1", "name": "clock", "arguments": "{\"utc\": true}"},
        {"type": "function_call_output", "call_id": "c1", "output": "noon"}]);
    let next = json!({"input": input, "temperature": 0, "max_output_tokens": 8});
    let answer = post(server.address, RESPONSES, &next).ok();
    let written = "user: Rain? \nassistant: {\"name\": \"clock\", \"arguments\": {\"utc\": true}} \ntool: noon c1\nassistant: ";
    assert_eq!(
        answer["output"][0]["content"][0]["text"],
        alone(&bundle, written, 8)
    );
    let error = post(
        server.address,
        RESPONSES,
        &json!({"input": [{"type": "reasoning"}]}),
    )
    .error();
    assert_eq!(error["param"], "input[0].type");
}

#[test]
fn penalties_are_taken_from_the_logits_of_what_was_drawn() {
    let (server, bundle) = Running::usual();
    let mut others = 0;
    // Four tokens are far before all others.
    let bias = json!({"300": 100, "301": 100, "302": 100, "303": 100});
    for (presence, frequency) in [(2.0, 0.0), (0.0, 1.5), (-2.0, 2.0)] {
        let prompt = "one two three";
        let ids = bundle
            .tokenizer
            .encode(prompt, Special::Parse)
            .expect("tokens");
        let mut session = Session::new(&bundle.model, &session_options()).expect("a session");
        session.prefill(&ids, &mut |_, _| {}).expect("a prompt");
        let mut counts: BTreeMap<u32, f32> = BTreeMap::new();
        let mut drawn = Vec::new();
        while drawn.len() < 40 {
            let mut logits = session.logits().expect("logits");
            (300..304).for_each(|id| logits[id] += 100.0);
            for (id, count) in &counts {
                logits[*id as usize] -= presence + frequency * count;
            }
            let best = (0..logits.len())
                .rev()
                .max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
            let best = best.expect("a token") as u32;
            drawn.push(best);
            if bundle.tokenizer.is_end_of_generation(best) {
                break;
            }
            *counts.entry(best).or_default() += 1.0;
            session.prefill(&[best], &mut |_, _| {}).expect("a token");
        }
        let plain = with(
            completion(prompt, 40),
            json!({"model": NAME, "logit_bias": bias}),
        );
        let more = json!({"presence_penalty": presence, "frequency_penalty": frequency});
        let answer = post(server.address, COMPLETIONS, &with(plain.clone(), more)).ok();
        let want = bundle.tokenizer.decode(&drawn).expect("text");
        assert_eq!(
            answer["choices"][0]["text"], want,
            "{presence}, {frequency}"
        );
        let plain = post(server.address, COMPLETIONS, &plain).ok();
        others += usize::from(plain["choices"][0]["text"] != want);
    }
    assert!(others >= 2, "penalties changed {others} texts");
}
