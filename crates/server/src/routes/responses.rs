//! `/v1/responses`: text and calls in and out, whole or as named events.

use super::{
    ask,
    chat::{guide, message, rendered, said},
    format::{Format, Layout, format},
    functions::{Functions, Shape as Written, functions},
    items::Items,
    tools::Heard,
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
use warpsmith_models::{chat::Message, llama::Penalties, text::StopMatcher};

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
        listener,
    } = asked;
    let prompt = asked.prompts.iter().map(|prompt| prompt.ids.len()).sum();
    let parts = text.ask(asked, arrived)?;
    let id = app.id("resp");
    let mut frame = Frame {
        items: Items::new(&id),
        id,
        created: clock::unix(),
        text,
        echoed,
        prompt,
        made: 0,
        listener,
        finish: None,
        number: 0,
    };
    if streamed {
        return stream(parts, 1, frame).await;
    }
    for made in collect(parts, 1).await? {
        frame.made = made.tokens;
        frame.finish = made.finish;
        let listener = std::mem::take(&mut frame.listener);
        let (text, calls) = listener.whole(&made.text);
        frame.items.whole(text, calls, frame.status());
    }
    Ok(json_response(&frame.object(None)))
}

struct Request {
    asked: Asked,
    streamed: bool,
    /// Fields that the answer repeats.
    echoed: Value,
    listener: Heard,
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
                read_item(&format!("input[{at}]"), item, &mut messages)?;
            }
        }
        other => {
            let found = shown(&other);
            let message = format!("`input` is {found}, expected a string or a list of messages");
            return Err(ApiError::field("input", message));
        }
    }
    let mut tools = functions(&mut fields, &text, Written::Flat)?;
    let told = std::mem::take(&mut tools.told);
    let prompt = rendered(&text, &messages, told, app.limits.prompt, "input")?;
    let max_tokens = fields.whole("max_output_tokens", 1..=u64::from(u32::MAX))?;
    let max_tokens = max_tokens.map(|most| most as u32);
    text.fits("input", prompt.ids.len(), max_tokens)?;
    let sampler = ask::sampler(&mut fields)?;
    let streamed = fields.flag("stream")?.unwrap_or(false);
    if let Some(mut options) = fields.object("stream_options")? {
        options.ignore(&["include_obfuscation"]);
        options.finish()?;
    }
    let format = form(&mut fields)?;
    fields.refuse("max_tool_calls", &[], "calls are not counted")?;
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
        "text": {"format": format.value},
    });
    let echoed = merged(echoed, &tools);
    let stops = StopMatcher::new::<String>([]);
    let mut asked = Asked {
        prompts: vec![prompt],
        n: 1,
        sampler,
        max_tokens,
        stops: stops.map_err(|error| ApiError::internal(error.to_string()))?,
        logprobs: None,
        bias: Vec::new(),
        penalties: Penalties::default(),
        guide: None,
    };
    guide(&text, &mut asked, &format, &tools)?;
    Ok(Taken {
        text,
        asked: Request {
            asked,
            streamed,
            echoed,
            listener: tools.listener(),
        },
    })
}

/// The form of the text.
fn form(fields: &mut Fields) -> Result<Format, ApiError> {
    let text = fields.object("text")?;
    let mut text = text.map_or_else(|| Fields::within("text", json!({})), Ok)?;
    let found = format(&mut text, "format", Layout::Flat)?;
    text.refuse(
        "verbosity",
        &[json!("medium")],
        "models here have no such setting",
    )?;
    text.finish()?;
    Ok(found)
}

/// What an answer repeats, with what may be called.
fn merged(mut echoed: Value, tools: &Functions) -> Value {
    if let (Value::Object(all), Value::Object(given)) = (&mut echoed, &tools.given) {
        all.extend(given.clone());
    }
    echoed
}

/// An item of an input: a message, a call that was made, or what came of one.
fn read_item(path: &str, value: Value, messages: &mut Vec<Message>) -> Result<(), ApiError> {
    let mut fields = Fields::within(path, value)?;
    let kind = fields.text("type")?;
    fields.ignore(&["id", "status"]);
    match kind.as_deref() {
        None | Some("message") => {
            let role = fields.need("role")?;
            let content = fields.need("content")?;
            let content = said(&fields.name("content"), content)?;
            fields.finish()?;
            messages.push(message(path, json!({"role": role, "content": content}))?);
        }
        Some("function_call") => {
            let id = fields.need("call_id")?;
            let function =
                json!({"name": fields.need("name")?, "arguments": fields.need("arguments")?});
            fields.finish()?;
            let call = json!({"id": id, "type": "function", "function": function});
            let calling = message(path, json!({"role": "assistant", "tool_calls": [call]}))?;
            // Calls that follow what the assistant said, or each other, are of one turn.
            match messages.last_mut() {
                Some(last) if last.role == "assistant" => {
                    last.tool_calls.extend(calling.tool_calls)
                }
                Some(_) | None => messages.push(calling),
            }
        }
        Some("function_call_output") => {
            let id = fields.need("call_id")?;
            let output = fields.need("output")?;
            let output = said(&fields.name("output"), output)?;
            fields.finish()?;
            let answer = json!({"role": "tool", "tool_call_id": id, "content": output});
            messages.push(message(path, answer)?);
        }
        Some(other) => {
            let found = shown(&json!(other));
            let why = format!(
                "an item of type {found} (expected message, function_call or function_call_output)"
            );
            return Err(ApiError::unsupported(fields.name("type"), why));
        }
    }
    Ok(())
}

/// What all pieces of an answer have.
struct Frame {
    id: String,
    created: u64,
    text: Arc<Text>,
    echoed: Value,
    prompt: usize,
    made: u64,
    listener: Heard,
    items: Items,
    finish: Option<Finish>,
    /// Events so far.
    number: u64,
}

impl Frame {
    fn status(&self) -> &'static str {
        match self.finish {
            None => "in_progress",
            Some(Finish::Stop) => "completed",
            Some(Finish::Length) => "incomplete",
        }
    }

    fn object(&self, error: Option<&ApiError>) -> Value {
        let incomplete =
            (self.finish == Some(Finish::Length)).then(|| json!({"reason": "max_output_tokens"}));
        let output = match self.finish {
            None => json!([]),
            Some(_) => self.items.output(),
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
            "previous_response_id": null,
            "store": false,
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

    /// Events of the items.
    fn events(&mut self, events: Vec<(&'static str, Value)>) -> String {
        let events = events.into_iter();
        events
            .map(|(name, fields)| self.event(name, fields))
            .collect()
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
        out
    }
}

impl Shape for Frame {
    fn part(&mut self, part: Part) -> String {
        let mut out = self.begin();
        match part {
            Part::Piece { text, tokens, .. } => {
                self.made += tokens;
                let said = self.listener.push(&text);
                let events = self.items.heard(said);
                out += &self.events(events);
            }
            Part::End { finish, .. } => {
                self.finish = Some(finish);
                let listener = std::mem::take(&mut self.listener);
                let mut events = self.items.heard(listener.finish());
                events.extend(self.items.end(self.status()));
                out += &self.events(events);
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
