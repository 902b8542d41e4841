//! Kinds of requests, right and wrong ones, and what has to come back.

use crate::{
    Failed, http,
    prompts::{self, Numbers},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, Read},
    net::{Shutdown, SocketAddr},
};

/// What a request is for, or what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Completion,
    Several,
    Chat,
    Streamed,
    Told,
    Biased,
    Schema,
    Responses,
    Embeddings,
    Tokens,
    Plain,
    Speech,
    /// Goes away while its answer is made.
    Vanishes,
    /// Sends half a body and goes.
    Half,
    /// Does not read what it asked for.
    Unread,
    BadSound,
    BadSchema,
    TooLong,
    TooLarge,
    /// Right JSON with one field that is wrong.
    BadField,
    /// Bytes that were a request before some were changed.
    Noise,
    Nowhere,
}

/// What is drawn from; sounds are dear.
const COMMON: [Kind; 21] = [
    Kind::Completion,
    Kind::Several,
    Kind::Chat,
    Kind::Streamed,
    Kind::Told,
    Kind::Biased,
    Kind::Schema,
    Kind::Responses,
    Kind::Embeddings,
    Kind::Tokens,
    Kind::Plain,
    Kind::Vanishes,
    Kind::Half,
    Kind::Unread,
    Kind::BadSound,
    Kind::BadSchema,
    Kind::TooLong,
    Kind::TooLarge,
    Kind::BadField,
    Kind::Noise,
    Kind::Nowhere,
];
/// Requests of which one has a sound.
const SOUND_IN: usize = 400;

impl Kind {
    pub(crate) fn drawn(numbers: &mut Numbers, sounds: bool) -> Kind {
        match sounds && numbers.below(SOUND_IN) == 0 {
            true => Kind::Speech,
            false => COMMON[numbers.below(COMMON.len())],
        }
    }
}

/// Sends one.
///
/// # Errors
/// What came back and should not have.
pub(crate) fn send(
    kind: Kind,
    to: SocketAddr,
    numbers: &mut Numbers,
    sound: Option<&[u8]>,
) -> Result<(), Failed> {
    let length = 1 + numbers.below(60);
    let prompt = prompts::text(numbers.below(1 << 20), length);
    let completion =
        json!({"prompt": prompt, "max_tokens": 1 + numbers.below(12), "temperature": 1});
    let messages = json!([{"role": "user", "content": prompt}]);
    let right =
        |path: &str, body: Value| expect(to, "POST", path, body.to_string().as_bytes(), &[200]);
    let wrong = |path: &str, body: Value, status: u16| {
        expect(to, "POST", path, body.to_string().as_bytes(), &[status])
    };
    match kind {
        Kind::Completion => right("/v1/completions", completion),
        Kind::Several => right(
            "/v1/completions",
            with(completion, json!({"n": 1 + numbers.below(4)})),
        ),
        Kind::Chat => right(
            "/v1/chat/completions",
            json!({"messages": messages, "max_tokens": 8}),
        ),
        Kind::Streamed => {
            let body = with(completion, json!({"stream": true}));
            http::stream(to, &body).map(drop)
        }
        Kind::Told => {
            let more = json!({"logprobs": numbers.below(20), "stop": ["the", "\n"]});
            right("/v1/completions", with(completion, more))
        }
        Kind::Biased => {
            let bias =
                json!({"logit_bias": {"5": -100, "7": 3}, "presence_penalty": 0.5, "min_p": 0.1});
            right("/v1/completions", with(completion, bias))
        }
        Kind::Schema => right("/v1/chat/completions", schema(&messages, numbers)),
        Kind::Responses => right(
            "/v1/responses",
            json!({"input": prompt, "max_output_tokens": 6}),
        ),
        Kind::Embeddings => right("/v1/embeddings", json!({"input": [prompt, "one"]})),
        Kind::Tokens => {
            let found = http::post(to, "/tokenize", &json!({"content": prompt}))?;
            right("/detokenize", json!({"tokens": found["tokens"]}))
        }
        Kind::Plain => {
            let path = ["/v1/models", "/health", "/metrics", "/"][numbers.below(4)];
            expect(to, "GET", path, b"", &[200])
        }
        Kind::Speech => form(to, sound.unwrap_or_default(), &[200]),
        Kind::Vanishes => vanish(
            to,
            &with(completion, json!({"stream": true, "max_tokens": 200})),
        ),
        Kind::Half => half(to, &completion),
        Kind::Unread => unread(to, completion),
        Kind::BadSound => bad_sound(to, numbers, sound.is_some()),
        Kind::BadSchema => {
            let schema = json!({"type": "object", "properties": {"a": {"not": {}}}});
            let format =
                json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
            let body = json!({"messages": messages, "response_format": format});
            wrong("/v1/chat/completions", body, 400)
        }
        Kind::TooLong => wrong(
            "/v1/completions",
            with(completion, json!({"max_tokens": 5000})),
            400,
        ),
        Kind::TooLarge => too_large(to),
        Kind::BadField => bad_field(to, numbers, completion),
        Kind::Noise => noise(to, numbers, &completion),
        Kind::Nowhere => expect(to, "POST", "/v1/nothing", b"{}", &[404]),
    }
}

/// One of many schemas.
fn schema(messages: &Value, numbers: &mut Numbers) -> Value {
    let name = format!("name{}", numbers.below(500));
    let schema = json!({
        "type": "object",
        "properties": {name.as_str(): {"type": "integer", "minimum": 0, "maximum": numbers.below(1000)}},
        "required": [name],
        "additionalProperties": false,
    });
    json!({
        "messages": messages,
        "max_tokens": 40,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    })
}

fn vanish(to: SocketAddr, body: &Value) -> Result<(), Failed> {
    let head = http::head("POST", "/v1/completions");
    let mut reader = http::begin(to, &head, body.to_string().as_bytes())?;
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut some = [0; 64];
    reader.read_exact(&mut some)?;
    Ok(())
}

fn half(to: SocketAddr, completion: &Value) -> Result<(), Failed> {
    let text = completion.to_string();
    let half = &text.as_bytes()[..text.len() / 2];
    let head = http::head("POST", "/v1/completions");
    drop(http::part(to, &head, half, text.len() as u64)?);
    Ok(())
}

fn unread(to: SocketAddr, completion: Value) -> Result<(), Failed> {
    let body = with(completion, json!({"stream": true}));
    let head = http::head("POST", "/v1/completions");
    let reader = http::begin(to, &head, body.to_string().as_bytes())?;
    // Nothing more is sent, and nothing read.
    reader.get_ref().shutdown(Shutdown::Write)?;
    Ok(())
}

fn bad_sound(to: SocketAddr, numbers: &mut Numbers, served: bool) -> Result<(), Failed> {
    let mut noise: Vec<u8> = b"RIFF\x24\x00\x00\x00WAVEfmt ".to_vec();
    noise.extend((0..numbers.below(4000)).map(|_| numbers.below(256) as u8));
    let status = match served {
        true => 400,
        false => 404,
    };
    form(to, &noise, &[status])
}

fn too_large(to: SocketAddr) -> Result<(), Failed> {
    let head = http::head("POST", "/v1/completions");
    let reader = http::part(to, &head, &[b' '; 1 << 16], 1 << 30)?;
    checked(&http::answer(reader)?, &[413])
}

fn bad_field(to: SocketAddr, numbers: &mut Numbers, mut body: Value) -> Result<(), Failed> {
    let name = [
        "temperature",
        "n",
        "stop",
        "logit_bias",
        "stream",
        "top_k",
        "seed",
    ][numbers.below(7)];
    let value = [json!("x"), json!([[]]), json!(-5.5), json!({"a": 1})][numbers.below(4)].clone();
    body[name] = value;
    expect(
        to,
        "POST",
        "/v1/completions",
        body.to_string().as_bytes(),
        &[200, 400],
    )
}

fn noise(to: SocketAddr, numbers: &mut Numbers, completion: &Value) -> Result<(), Failed> {
    let mut bytes = completion.to_string().into_bytes();
    for _ in 0..1 + numbers.below(4) {
        let at = numbers.below(bytes.len());
        bytes[at] = numbers.below(256) as u8;
    }
    expect(to, "POST", "/v1/completions", &bytes, &[200, 400, 404])
}

/// A sound as a form.
fn form(to: SocketAddr, sound: &[u8], statuses: &[u16]) -> Result<(), Failed> {
    let mut body =
        b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"
            .to_vec();
    body.extend(sound);
    body.extend(
        b"\r\n--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--x--\r\n",
    );
    let head = "POST /v1/audio/transcriptions HTTP/1.0\r\nHost: localhost\r\n\
        Content-Type: multipart/form-data; boundary=x\r\n";
    checked(&http::answer(http::begin(to, head, &body)?)?, statuses)
}

fn expect(
    to: SocketAddr,
    method: &str,
    path: &str,
    body: &[u8],
    statuses: &[u16],
) -> Result<(), Failed> {
    checked(&http::ask(to, method, path, body)?, statuses)
}

/// That an answer has one of these statuses, and is an error of OpenAI's shape where it is one.
fn checked(answer: &http::Answer, statuses: &[u16]) -> Result<(), Failed> {
    let said = || {
        String::from_utf8_lossy(&answer.body)
            .chars()
            .take(300)
            .collect::<String>()
    };
    if !statuses.contains(&answer.status) {
        return Err(format!(
            "{}, expected one of {statuses:?}: {}",
            answer.status,
            said()
        )
        .into());
    }
    if answer.status >= 400 {
        let error: Value = serde_json::from_slice(&answer.body)?;
        if !error["error"]["message"].is_string() {
            return Err(format!("no error of OpenAI's shape: {}", said()).into());
        }
    }
    Ok(())
}

fn with(mut body: Value, more: Value) -> Value {
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body
}
