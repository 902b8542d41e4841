//! Responses, embeddings, tools.

use crate::{
    client::post,
    support::{
        CONTEXT, NAME, Running, alone, device, engine_options, model, options, reference,
        session_options, with,
    },
};
use serde_json::{Value, json};
use std::sync::Arc;
use warpsmith_models::{
    chat::{ChatTemplate, GenerationPrompt, Message},
    llama::{Bundle, Pooling, Session},
    tokenizer::Special,
};

#[test]
fn responses_are_what_chat_answers_whole_and_as_named_events() {
    let (server, bundle) = Running::usual();
    let written = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
        <|im_start|>assistant\n";
    let want = alone(&bundle, written, 12);
    let body = json!({"model": NAME, "instructions": "Be brief.", "input": "Hi", "store": true,
        "max_output_tokens": 12, "temperature": 0, "metadata": {"a": "b"}});
    let whole = post(server.address, "/v1/responses", &body).ok();
    assert_eq!(whole["object"], "response");
    assert_eq!(whole["output"][0]["content"][0]["text"], want);
    assert_eq!(whole["metadata"], json!({"a": "b"}));
    assert_eq!(whole["store"], false);
    let made = whole["usage"]["output_tokens"].as_u64().expect("a number");
    let (status, last) = match made {
        12 => ("incomplete", "response.incomplete"),
        _ => ("completed", "response.completed"),
    };
    assert_eq!(whole["status"], status);
    let items = json!([{"type": "message", "role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]);
    let listed = json!({"input": items, "max_output_tokens": 12, "temperature": 0});
    let listed_answer = post(server.address, "/v1/responses", &listed).ok();
    assert_eq!(listed_answer["output"][0]["content"][0]["text"], want);
    let answer = post(
        server.address,
        "/v1/responses",
        &with(body, json!({"stream": true})),
    );
    let events = answer.events();
    let names: Vec<&str> = answer
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(
        names[..4],
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added"
        ]
    );
    assert_eq!(
        names[names.len() - 4..],
        [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            last
        ]
    );
    for (at, (event, name)) in events.iter().zip(&names).enumerate() {
        assert_eq!(
            (&event["type"], &event["sequence_number"]),
            (&json!(name), &json!(at))
        );
    }
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    assert_eq!(deltas.collect::<String>(), want);
    let end = &events.last().expect("events")["response"];
    assert_eq!(end["output"][0]["content"], whole["output"][0]["content"]);
    assert_eq!(end["usage"], whole["usage"]);
    for (name, value) in [
        ("tools", json!([{"type": "web_search"}])),
        ("previous_response_id", json!("resp_1")),
        ("background", json!(true)),
        ("no_such_field", json!(1)),
    ] {
        let body = json!({"input": "Hi", name: value});
        assert_eq!(
            post(server.address, "/v1/responses", &body).error()["param"],
            name
        );
    }
}

/// Floats of little-endian bytes in base64.
fn decoded(text: &str) -> Vec<f32> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let six = letters
            .iter()
            .position(|own| *own == letter)
            .expect("base64");
        bits = bits << 6 | six as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    let floats = bytes.as_chunks::<4>().0.iter();
    floats.map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn floats(value: &Value) -> Vec<f32> {
    let list = value.as_array().expect("a list");
    list.iter()
        .map(|x| x.as_f64().expect("a number") as f32)
        .collect()
}

#[test]
fn embeddings_are_pooled_states_of_unit_length_as_numbers_and_base64() {
    let (server, bundle) = Running::usual();
    // One of several chunks.
    let long = "word and word ".repeat(150);
    let texts = ["Hello, world!", "one", long.as_str()];
    let mut session = Session::new(&bundle.model, &session_options()).expect("a session");
    for (pooling, name) in [(Pooling::Mean, "mean"), (Pooling::Last, "last")] {
        let body = json!({"model": NAME, "input": texts, "pooling": name});
        let answer = post(server.address, "/v1/embeddings", &body).ok();
        let base64 = with(body, json!({"encoding_format": "base64", "user": "u"}));
        let base64 = post(server.address, "/v1/embeddings", &base64).ok();
        let mut tokens = 0;
        for (at, text) in texts.iter().enumerate() {
            let ids = bundle
                .tokenizer
                .encode(text, Special::Parse)
                .expect("tokens");
            tokens += ids.len();
            let want = session.embed(&ids, pooling).expect("a vector");
            assert_eq!(want.len(), bundle.model.config().width as usize);
            let length: f32 = want.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length}");
            let got = &answer["data"][at];
            assert_eq!(
                (&got["object"], &got["index"]),
                (&json!("embedding"), &json!(at))
            );
            assert_eq!(floats(&got["embedding"]), want);
            let text = base64["data"][at]["embedding"].as_str().expect("base64");
            assert_eq!(decoded(text), want);
        }
        assert_eq!(answer["usage"]["prompt_tokens"], tokens);
    }
    let one = bundle
        .tokenizer
        .encode("one", Special::Parse)
        .expect("tokens");
    assert_eq!(
        one.len() == 1,
        session.embed(&one, Pooling::Mean).ok() == session.embed(&one, Pooling::Last).ok()
    );
    let refuse = |more: Value| {
        post(
            server.address,
            "/v1/embeddings",
            &with(json!({"input": "a"}), more),
        )
        .error()
    };
    assert_eq!(refuse(json!({"dimensions": 3}))["param"], "dimensions");
    assert_eq!(refuse(json!({"pooling": "max"}))["param"], "pooling");
    assert_eq!(refuse(json!({"input": []}))["param"], "input");
    let ids = vec![1; CONTEXT as usize + 1];
    assert_eq!(
        refuse(json!({"input": ids}))["code"],
        "context_length_exceeded"
    );
}

#[test]
fn tools_go_through_the_models_own_template() {
    let path = reference("synth/tiny-llama3.gguf");
    let mut bundle = Bundle::load(&device(), path.as_path(), &mut |_, _| {}).expect("a model");
    // As Qwen's and Hermes' templates say it.
    let source = "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}\
        {% for m in messages %}{{ m.role }}: {{ m.content }}{% for call in m.tool_calls %}<tool_call>{{ call.function.name }} \
        {{ call.function.arguments | tojson }}</tool_call>{% endfor %}{% if m.tool_call_id %} [{{ m.tool_call_id }}]{% endif %}{{ '\\n' }}\
        {% endfor %}assistant: ";
    bundle.template = ChatTemplate::from_source(source).expect("a template");
    let bundle = Arc::new(bundle);
    let texts = vec![model(&bundle, engine_options())];
    let server = Running::new(texts, vec![], options());
    let tool = json!({"type": "function", "function": {"name": "weather", "description": "of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}});
    let messages = json!([
        {"role": "user", "content": "Rain in Bonn?"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": "weather", "arguments": "{\"city\": \"Bonn\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "yes"},
    ]);
    let body = json!({"messages": messages, "tools": [tool], "max_tokens": 8, "temperature": 0});
    let turns = "user: Rain in Bonn?\nassistant: <tool_call>weather {\"city\": \"Bonn\"}</tool_call>\n\
        tool: yes [c1]\nassistant: ";
    let shown = bundle
        .template
        .clone()
        .with_tools(vec![tool.clone()])
        .render(&[Message::new("user", "x")], GenerationPrompt::Add);
    let shown = shown.expect("a text");
    let head = shown
        .strip_suffix("user: x\nassistant: ")
        .expect("tools first");
    assert!(head.contains("weather"), "{head}");
    for (choice, written) in [
        ("auto", format!("{head}{turns}")),
        ("none", turns.to_owned()),
    ] {
        let body = with(body.clone(), json!({"tool_choice": choice}));
        let answer = post(server.address, "/v1/chat/completions", &body).ok();
        let ids = bundle
            .tokenizer
            .encode(&written, Special::Parse)
            .expect("tokens");
        assert_eq!(answer["usage"]["prompt_tokens"], ids.len(), "{choice}");
        let content = &answer["choices"][0]["message"]["content"];
        assert_eq!(*content, alone(&bundle, &written, 8), "{choice}");
    }
    let broken = json!([{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "f", "arguments": "{broken"}}]}]);
    for (more, param) in [
        (
            json!({"messages": broken}),
            "messages[0].tool_calls[0].function.arguments",
        ),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
        (
            json!({"tools": [{"type": "function", "function": {}}]}),
            "tools[0].function.name",
        ),
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "time"}}}),
            "tool_choice",
        ),
    ] {
        let answer = post(
            server.address,
            "/v1/chat/completions",
            &with(body.clone(), more),
        );
        assert_eq!(
            (answer.status, &answer.error()["param"]),
            (400, &json!(param))
        );
    }
}
