//! `/v1/responses`: text in and out, whole or as named events.

use super::{
    ask,
    chat::{message, rendered, said},
};
use crate::{
    app::{App, Body, Taken},
    clock,
    error::ApiError,
    fields::{Fields, shown},
    http::{Shape, collect, json_response, named, stream},
    text::{Asked, Finish, Part, Text},
};
use axum::{extract::State, response::Response};
use serde_json::{Value, json};
use std::sync::Arc;
use warpsmith_models::{chat::Message, text::StopMatcher};

/// The route.
pub(crate) async fn responses(
    State(app): State<App>,
    Body(body): Body,
) -> Result<Response, ApiError> {
    let arrived = clock::now();
    let taken = app.prepare(move |app| read(app, &body)).await?;
    let Taken { text, asked } = taken;
    let Request {
        asked,
        streamed,
        echoed,
    } = asked;
    let prompt = asked.prompts.iter().map(|prompt| prompt.ids.len()).sum();
    let parts = text.ask(asked, arrived)?;
    let mut frame = Frame {
        id: app.id("resp"),
        item: app.id("msg"),
        created: clock::unix(),
        text,
        echoed,
        prompt,
        made: 0,
        said: String::new(),
        finish: None,
        number: 0,
    };
    if streamed {
        return stream(parts, 1, frame).await;
    }
    let all = collect(parts, 1).await?;
    for made in all {
        frame.made = made.tokens;
        frame.said = made.text;
        frame.finish = made.finish;
    }
    Ok(json_response(&frame.object(None)))
}

struct Request {
    asked: Asked,
    streamed: bool,
    /// Fields that the answer repeats.
    echoed: Value,
}

fn read(app: &App, body: &[u8]) -> Result<Taken<Request>, ApiError> {
    let mut fields = Fields::parse(body)?;
    let text = app.text(fields.text("model")?)?;
    let metadata = fields.take("metadata").unwrap_or(json!({}));
    // OpenAI stores answers unless told otherwise; here no one can ask for them later, and `store` in the answer says so.
    fields.ignore(&["store"]);
    ask::usual(&mut fields)?;
    let instructions = fields.text("instructions")?;
    let mut messages: Vec<Message> = Vec::new();
    messages.extend(
        instructions
            .iter()
            .map(|text| Message::new("system", text.as_str())),
    );
    match fields.need("input")? {
        Value::String(text) => messages.push(Message::new("user", text)),
        Value::Array(items) => {
            for (at, item) in items.into_iter().enumerate() {
                messages.push(read_item(&format!("input[{at}]"), item)?);
            }
        }
        other => {
            let found = shown(&other);
            let message = format!("`input` is {found}, expected a string or a list of messages");
            return Err(ApiError::field("input", message));
        }
    }
    let prompt = rendered(&text, &messages, Vec::new(), app.limits.prompt, "input")?;
    let max_tokens = fields.whole("max_output_tokens", 1..=u64::from(u32::MAX))?;
    let max_tokens = max_tokens.map(|most| most as u32);
    text.fits("input", prompt.ids.len(), max_tokens)?;
    let sampler = ask::sampler(&mut fields)?;
    let streamed = fields.flag("stream")?.unwrap_or(false);
    if let Some(mut options) = fields.object("stream_options")? {
        options.ignore(&["include_obfuscation"]);
        options.finish()?;
    }
    if let Some(mut text) = fields.object("text")? {
        let plain = json!({"type": "text"});
        text.refuse("format", &[plain], "what is written here follows no schema")?;
        text.refuse(
            "verbosity",
            &[json!("medium")],
            "models here have no such setting",
        )?;
        text.finish()?;
    }
    let why = "functions are called by way of /v1/chat/completions";
    fields.refuse("tools", &[json!([])], why)?;
    fields.refuse("tool_choice", &[json!("auto"), json!("none")], why)?;
    fields.refuse("parallel_tool_calls", &[json!(true), json!(false)], why)?;
    fields.refuse("max_tool_calls", &[], why)?;
    fields.refuse("previous_response_id", &[], "nothing is stored here")?;
    fields.refuse("conversation", &[], "nothing is stored here")?;
    fields.refuse(
        "background",
        &[json!(false)],
        "answers are made while one waits",
    )?;
    fields.refuse("include", &[json!([])], "there is nothing more to tell")?;
    fields.refuse(
        "reasoning",
        &[json!({})],
        "models here have no such setting",
    )?;
    fields.refuse(
        "truncation",
        &[json!("disabled")],
        "nothing is left out of a prompt",
    )?;
    fields.refuse(
        "top_logprobs",
        &[json!(0)],
        "probabilities are told by /v1/chat/completions",
    )?;
    fields.refuse("prompt", &[], "no prompts are stored here")?;
    fields.finish()?;
    let echoed = json!({
        "instructions": instructions,
        "max_output_tokens": max_tokens,
        "metadata": metadata,
        "temperature": sampler.temperature,
        "top_p": sampler.top_p,
    });
    let stops = StopMatcher::new::<String>([]);
    Ok(Taken {
        text,
        asked: Request {
            asked: Asked {
                prompts: vec![prompt],
                n: 1,
                sampler,
                max_tokens,
                stops: stops.map_err(|error| ApiError::internal(error.to_string()))?,
                logprobs: None,
                bias: Vec::new(),
            },
            streamed,
            echoed,
        },
    })
}

/// A message of an input.
fn read_item(path: &str, value: Value) -> Result<Message, ApiError> {
    let mut fields = Fields::within(path, value)?;
    fields.refuse(
        "type",
        &[json!("message")],
        "messages are read, and nothing else",
    )?;
    fields.ignore(&["id", "status"]);
    let role = fields.need("role")?;
    let content = fields.need("content")?;
    let content = said(&fields.name("content"), content)?;
    fields.finish()?;
    message(path, json!({"role": role, "content": content}))
}

/// What all pieces of an answer have.
struct Frame {
    id: String,
    item: String,
    created: u64,
    text: Arc<Text>,
    echoed: Value,
    prompt: usize,
    made: u64,
    said: String,
    finish: Option<Finish>,
    /// Events so far.
    number: u64,
}

impl Frame {
    /// The text as a part of a message.
    fn content(&self) -> Value {
        json!({"type": "output_text", "text": self.said, "annotations": [], "logprobs": []})
    }

    fn status(&self) -> &'static str {
        match self.finish {
            None => "in_progress",
            Some(Finish::Stop) => "completed",
            Some(Finish::Length) => "incomplete",
        }
    }

    /// The message.
    fn output(&self) -> Value {
        let content = match self.finish {
            None => json!([]),
            Some(_) => json!([self.content()]),
        };
        json!({
            "type": "message",
            "id": self.item,
            "role": "assistant",
            "status": self.status(),
            "content": content,
        })
    }

    fn object(&self, error: Option<&ApiError>) -> Value {
        let incomplete =
            (self.finish == Some(Finish::Length)).then(|| json!({"reason": "max_output_tokens"}));
        let output = match self.finish {
            None => json!([]),
            Some(_) => json!([self.output()]),
        };
        let status = error.map_or(self.status(), |_| "failed");
        let error =
            error.map(|error| json!({"code": "server_error", "message": error.to_string()}));
        let usage = self.finish.map(|_| {
            json!({
                "input_tokens": self.prompt,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": self.made,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self.prompt as u64 + self.made,
            })
        });
        let mut object = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "model": self.text.name,
            "output": output,
            "error": error,
            "incomplete_details": incomplete,
            "usage": usage,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "store": false,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "truncation": "disabled",
        });
        if let (Value::Object(object), Value::Object(echoed)) = (&mut object, &self.echoed) {
            object.extend(echoed.clone());
        }
        object
    }

    fn event(&mut self, name: &str, mut fields: Value) -> String {
        fields["type"] = json!(name);
        fields["sequence_number"] = json!(self.number);
        self.number += 1;
        named(name, &fields)
    }

    /// An event about the text.
    fn text_event(&mut self, name: &str, field: &str, value: Value) -> String {
        let mut fields = json!({
            "item_id": self.item,
            "output_index": 0,
            "content_index": 0,
        });
        fields[field] = value;
        if field != "part" {
            fields["logprobs"] = json!([]);
        }
        self.event(name, fields)
    }

    /// Says once what is to come.
    fn begin(&mut self) -> String {
        if self.number > 0 {
            return String::new();
        }
        let mut out = String::new();
        for name in ["response.created", "response.in_progress"] {
            let response = self.object(None);
            out += &self.event(name, json!({"response": response}));
        }
        let item = self.output();
        let fields = json!({"output_index": 0, "item": item});
        out += &self.event("response.output_item.added", fields);
        let part = self.content();
        out + &self.text_event("response.content_part.added", "part", part)
    }
}

impl Shape for Frame {
    fn part(&mut self, part: Part) -> String {
        let mut out = self.begin();
        match part {
            Part::Piece { text, tokens, .. } => {
                self.made += tokens;
                if !text.is_empty() {
                    self.said.push_str(&text);
                    out += &self.text_event("response.output_text.delta", "delta", json!(text));
                }
            }
            Part::End { finish, .. } => {
                self.finish = Some(finish);
                let text = json!(self.said);
                out += &self.text_event("response.output_text.done", "text", text);
                let part = self.content();
                out += &self.text_event("response.content_part.done", "part", part);
                let item = self.output();
                let fields = json!({"output_index": 0, "item": item});
                out += &self.event("response.output_item.done", fields);
            }
            Part::Failed(error) => out += &self.failed(&error),
        }
        out
    }

    fn failed(&mut self, error: &ApiError) -> String {
        let mut out = self.begin();
        let response = self.object(Some(error));
        out += &self.event("response.failed", json!({"response": response}));
        out
    }

    fn end(&mut self) -> String {
        let name = match self.finish {
            Some(Finish::Length) => "response.incomplete",
            Some(Finish::Stop) | None => "response.completed",
        };
        let response = self.object(None);
        self.event(name, json!({"response": response}))
    }
}
