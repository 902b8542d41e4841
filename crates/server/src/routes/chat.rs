//! `/v1/chat/completions`: conversations, as the model's own template writes them.

use super::{
    ask::{self, MOST_CHOICES, Way, spelled},
    envelope::Envelope,
    format::{Format, Layout, format},
    functions::{Functions, Shape as Written, functions},
    tools::{Heard, Said},
};
use crate::{
    app::{App, Body, Taken, finite},
    clock,
    error::ApiError,
    fields::{Fields, shown, wrong},
    http::{Made, Shape, collect, json_response, stream},
    text::{Asked, Finish, Part, Prompt, Text, Told},
};
use axum::{extract::State, response::Response};
use serde_json::{Value, json};
use warpsmith_models::{
    chat::{GenerationPrompt, Message},
    grammar::Grammar,
    tokenizer::Special,
};

/// Probable tokens that are told of at most.
const MOST_TOLD: u64 = 20;

/// The route.
pub(crate) async fn chat(State(app): State<App>, Body(body): Body) -> Result<Response, ApiError> {
    let arrived = clock::now();
    let Taken { text, asked } = app.prepare(move |app| read(app, &body)).await?;
    let Request {
        asked,
        way,
        told,
        tools,
    } = asked;
    let prompt = asked.prompts.iter().map(|prompt| prompt.ids.len()).sum();
    let choices = asked.n;
    let parts = text.ask(asked, arrived)?;
    let mut frame = Frame {
        envelope: Envelope::new(app.id("chatcmpl"), text, "chat.completion.chunk", prompt),
        told,
        begun: vec![false; choices],
        listeners: vec![tools.listener(); choices],
        calls: vec![0; choices],
        ids: 0,
    };
    match way {
        Way::Stream { usage } => {
            frame.envelope.counts = usage;
            stream(parts, choices, frame).await
        }
        Way::Whole => {
            let all = collect(parts, choices).await?;
            Ok(json_response(&frame.whole(all)))
        }
    }
}

struct Request {
    asked: Asked,
    way: Way,
    /// Whether probabilities are told.
    told: bool,
    /// Functions that may be called.
    tools: Functions,
}

fn read(app: &App, body: &[u8]) -> Result<Taken<Request>, ApiError> {
    let mut fields = Fields::parse(body)?;
    let text = app.text(fields.text("model")?)?;
    ask::usual(&mut fields)?;
    let messages = match fields.list("messages")? {
        Some(list) if !list.is_empty() => list,
        _ => {
            let message = "`messages` is missing or empty, expected a list of messages";
            return Err(ApiError::field("messages", message));
        }
    };
    let messages = messages.into_iter().enumerate();
    let messages: Vec<Message> = messages
        .map(|(at, value)| message(&format!("messages[{at}]"), value))
        .collect::<Result<_, _>>()?;
    let mut tools = functions(&mut fields, &text, Written::Nested)?;
    let told_tools = std::mem::take(&mut tools.told);
    let prompt = rendered(&text, &messages, told_tools, app.limits.prompt, "messages")?;
    let newer = fields.whole("max_completion_tokens", 1..=u64::from(u32::MAX))?;
    let older = fields.whole("max_tokens", 1..=u64::from(u32::MAX))?;
    let max_tokens = newer.or(older).map(|most| most as u32);
    text.fits("messages", prompt.ids.len(), max_tokens)?;
    let told = fields.flag("logprobs")?.unwrap_or(false);
    let top = fields.whole("top_logprobs", 0..=MOST_TOLD)?;
    if top.is_some_and(|top| top > 0) && !told {
        let message = "`top_logprobs` is for `logprobs`: true";
        return Err(ApiError::field("top_logprobs", message));
    }
    let n = fields.whole("n", 1..=MOST_CHOICES)?.unwrap_or(1);
    let format = format(&mut fields, "response_format", Layout::Nested)?;
    let mut asked = Asked {
        prompts: vec![prompt],
        n: n as usize,
        sampler: ask::sampler(&mut fields)?,
        max_tokens,
        stops: ask::stops(&mut fields)?,
        logprobs: told.then_some(top.unwrap_or(0) as usize),
        bias: ask::bias(&mut fields, text.bundle.model.config().vocab)?,
        penalties: ask::penalties(&mut fields)?,
        guide: None,
    };
    let way = Way::of(&mut fields)?;
    refuse_others(&mut fields)?;
    fields.finish()?;
    guide(&text, &mut asked, &format, &tools)?;
    Ok(Taken {
        text,
        asked: Request {
            asked,
            way,
            told,
            tools,
        },
    })
}

/// Has an answer be a call, or have the form that was asked for.
pub(crate) fn guide(
    text: &Text,
    asked: &mut Asked,
    format: &Format,
    tools: &Functions,
) -> Result<(), ApiError> {
    match (&format.grammar, &tools.grammar) {
        (None, None) => Ok(()),
        (None, Some(grammar)) => text.guide(asked, "tools", grammar).map_err(|error| {
            // Which of the schemas it is about.
            let mut schemas = tools.schemas.iter().filter_map(|(param, schema)| {
                let grammar = Grammar::Schema(schema.clone());
                text.guide(asked, param, &grammar).err()
            });
            schemas.next().unwrap_or(error)
        }),
        (Some(grammar), None) if tools.names.is_empty() => {
            text.guide(asked, &format.param, grammar)
        }
        (Some(_), _) => {
            let why = "an answer has this form or is a call (`tool_choice`: \"none\" is no call)";
            Err(ApiError::unsupported(format.param.as_str(), why))
        }
    }
}

/// What would change the answer and is not done.
fn refuse_others(fields: &mut Fields) -> Result<(), ApiError> {
    fields.refuse("modalities", &[json!(["text"])], "text alone is made here")?;
    fields.refuse("audio", &[], "text alone is made here")?;
    fields.refuse("prediction", &[], "nothing is predicted here")?;
    fields.refuse("functions", &[json!([])], "`tools` has taken its place")?;
    let neutral = [json!("none"), json!("auto")];
    fields.refuse(
        "function_call",
        &neutral,
        "`tool_choice` has taken its place",
    )?;
    fields.refuse(
        "reasoning_effort",
        &[json!("none")],
        "models here have no such setting",
    )?;
    fields.refuse(
        "verbosity",
        &[json!("medium")],
        "models here have no such setting",
    )?;
    fields.refuse("web_search_options", &[], "nothing is searched here")
}

/// The tokens of a conversation, up to where the model answers.
///
/// # Errors
/// What the template says of it; too many tokens.
pub(crate) fn rendered(
    text: &Text,
    messages: &[Message],
    tools: Vec<Value>,
    most: usize,
    param: &str,
) -> Result<Prompt, ApiError> {
    let wrong = |error: warpsmith_models::Error| ApiError::field(param, error.to_string());
    let template = text.bundle.template.clone();
    let template = template.at_time(clock::unix() as i64).with_tools(tools);
    let written = template
        .render(messages, GenerationPrompt::Add)
        .map_err(wrong)?;
    let tokenizer = &text.bundle.tokenizer;
    let ids = tokenizer.encode(&written, Special::Parse).map_err(wrong)?;
    ask::limited(param, ids.len(), most)?;
    Ok(Prompt { ids })
}

/// A message of OpenAI's form as templates know them.
pub(crate) fn message(path: &str, value: Value) -> Result<Message, ApiError> {
    let mut fields = Fields::within(path, value)?;
    let role = match fields.need("role")? {
        Value::String(role) => role,
        other => return Err(wrong(&fields.name("role"), &other, "a string")),
    };
    let role = match role.as_str() {
        "developer" | "system" => "system",
        "user" => "user",
        "assistant" => "assistant",
        "tool" => "tool",
        _ => {
            let want = "system, developer, user, assistant or tool";
            return Err(wrong(&fields.name("role"), &Value::String(role), want));
        }
    };
    let content = fields.take("content");
    let mut message = Message::new(role, "");
    message.name = fields.text("name")?;
    if role == "assistant" {
        let calls = fields.list("tool_calls")?.unwrap_or_default();
        let path = fields.name("tool_calls");
        let calls = calls.into_iter().enumerate();
        let calls = calls.map(|(at, value)| past_call(&format!("{path}[{at}]"), value));
        message.tool_calls = calls.collect::<Result<_, _>>()?;
        fields.refuse("refusal", &[], "a refusal is text here")?;
        fields.refuse("audio", &[], "messages are text here")?;
        fields.refuse("function_call", &[], "`tool_calls` has taken its place")?;
        fields.ignore(&["annotations"]);
    }
    if role == "tool" {
        message.tool_call_id = fields.text("tool_call_id")?;
    }
    message.content = match content {
        Some(content) => said(&fields.name("content"), content)?,
        None if !message.tool_calls.is_empty() => String::new(),
        None => {
            let name = fields.name("content");
            return Err(ApiError::field(
                name.clone(),
                format!("`{name}` is missing"),
            ));
        }
    };
    fields.finish()?;
    Ok(message)
}

/// A call that the assistant made before, with its arguments as an object.
fn past_call(path: &str, value: Value) -> Result<Value, ApiError> {
    let mut fields = Fields::within(path, value)?;
    let id = fields.text("id")?;
    fields.refuse(
        "type",
        &[json!("function")],
        "functions are called, and nothing else",
    )?;
    let function = fields.object("function")?;
    let mut function =
        function.ok_or_else(|| ApiError::field(path, format!("`{path}.function` is missing")))?;
    let name = function.need("name")?;
    let arguments = function.text("arguments")?.unwrap_or("{}".to_owned());
    let arguments: Value = serde_json::from_str(&arguments)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| {
            let name = function.name("arguments");
            wrong(&name, &Value::String(arguments), "an object as JSON text")
        })?;
    function.finish()?;
    fields.ignore(&["index"]);
    fields.finish()?;
    Ok(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
}

/// The text of a content: itself, or its parts one after the other.
pub(crate) fn said(name: &str, content: Value) -> Result<String, ApiError> {
    let list = match content {
        Value::String(text) => return Ok(text),
        Value::Array(list) => list,
        other => return Err(wrong(name, &other, "a string or a list of parts")),
    };
    let mut all = String::new();
    for (at, part) in list.into_iter().enumerate() {
        let mut part = Fields::within(format!("{name}[{at}]"), part)?;
        match part.text("type")?.as_deref() {
            Some("text" | "input_text" | "output_text") => {
                let text = part.text("text")?;
                all.push_str(&text.ok_or_else(|| {
                    let name = part.name("text");
                    ApiError::field(name.clone(), format!("`{name}` is missing"))
                })?);
                part.ignore(&["annotations", "logprobs"]);
                part.finish()?;
            }
            Some(other) => {
                let why = format!("a part of type {} (expected text)", shown(&json!(other)));
                return Err(ApiError::unsupported(part.name("type"), why));
            }
            None => {
                let name = part.name("type");
                return Err(ApiError::field(
                    name.clone(),
                    format!("`{name}` is missing"),
                ));
            }
        }
    }
    Ok(all)
}

/// An answer.
struct Frame {
    envelope: Envelope,
    /// Whether probabilities are told.
    told: bool,
    /// Whose role was said.
    begun: Vec<bool>,
    listeners: Vec<Heard>,
    /// Calls of each choice so far.
    calls: Vec<usize>,
    /// Calls of all.
    ids: u64,
}

impl Frame {
    /// An id for a call.
    fn call_id(&mut self) -> String {
        self.ids += 1;
        let id = self.envelope.id.replacen("chatcmpl", "call", 1);
        format!("{id}{}", self.ids)
    }

    /// The events of what was heard.
    fn heard(&mut self, choice: usize, said: Vec<Said>) -> Vec<Value> {
        let mut deltas = Vec::new();
        for said in said {
            let index = self.calls[choice];
            deltas.push(match said {
                Said::Text(text) => json!({"content": text}),
                Said::Begun(name) => {
                    let function = json!({"name": name, "arguments": ""});
                    let id = self.call_id();
                    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
                }
                Said::Arguments(more) => {
                    json!({"tool_calls": [{"index": index, "function": {"arguments": more}}]})
                }
                Said::Called(call) => {
                    self.calls[choice] += 1;
                    let mut call = call.json(&self.call_id());
                    call["index"] = json!(index);
                    json!({"tool_calls": [call]})
                }
                Said::Ended => {
                    self.calls[choice] += 1;
                    continue;
                }
            });
        }
        deltas
    }

    fn whole(&mut self, all: Vec<Made>) -> Value {
        let made = all.iter().map(|made| made.tokens).sum();
        let mut choices = Vec::new();
        for (index, made) in all.into_iter().enumerate() {
            let listener = std::mem::take(&mut self.listeners[index]);
            let (content, calls) = listener.whole(&made.text);
            let mut message = json!({"role": "assistant", "content": content, "refusal": null});
            let mut reason = made.finish.map(Finish::name);
            if !calls.is_empty() {
                if content.is_empty() {
                    message["content"] = Value::Null;
                }
                let calls = calls.iter().map(|call| call.json(&self.call_id()));
                message["tool_calls"] = calls.collect();
                if made.finish == Some(Finish::Stop) {
                    reason = Some("tool_calls");
                }
            }
            choices.push(json!({
                "index": index,
                "message": message,
                "logprobs": self.logprobs(&made.told),
                "finish_reason": reason,
            }));
        }
        self.envelope.whole("chat.completion", choices, made)
    }

    fn logprobs(&self, told: &[Told]) -> Value {
        if !self.told {
            return Value::Null;
        }
        let ranked = |(token, logprob): (u32, f64)| {
            let (spelling, bytes) = spelled(&self.envelope.text, token);
            json!({"token": spelling, "logprob": finite(logprob), "bytes": bytes})
        };
        let content = told.iter().map(|told| {
            let mut own = ranked(told.own);
            own["top_logprobs"] = told.top.iter().copied().map(ranked).collect();
            own
        });
        json!({"content": content.collect::<Vec<_>>(), "refusal": null})
    }

    fn delta(&self, choice: usize, delta: Value, logprobs: Value, reason: Option<&str>) -> String {
        self.envelope.event(vec![json!({
            "index": choice,
            "delta": delta,
            "logprobs": logprobs,
            "finish_reason": reason,
        })])
    }

    /// Says once who speaks.
    fn role(&mut self, choice: usize) -> String {
        if std::mem::replace(&mut self.begun[choice], true) {
            return String::new();
        }
        let delta = json!({"role": "assistant", "content": ""});
        self.delta(choice, delta, Value::Null, None)
    }
}

impl Shape for Frame {
    fn part(&mut self, part: Part) -> String {
        match part {
            Part::Piece {
                choice,
                text,
                tokens,
                told,
            } => {
                self.envelope.made += tokens;
                let mut out = self.role(choice);
                let said = self.listeners[choice].push(&text);
                let mut deltas = self.heard(choice, said);
                if deltas.is_empty() && told.is_some() {
                    deltas.push(json!({"content": ""}));
                }
                let told: Vec<Told> = told.into_iter().collect();
                for delta in deltas {
                    let logprobs = self.logprobs(&told);
                    out += &self.delta(choice, delta, logprobs, None);
                }
                out
            }
            Part::End { choice, finish } => {
                let mut out = self.role(choice);
                let listener = std::mem::take(&mut self.listeners[choice]);
                let said = listener.finish();
                for delta in self.heard(choice, said) {
                    out += &self.delta(choice, delta, Value::Null, None);
                }
                let reason = match (finish, self.calls[choice]) {
                    (Finish::Stop, 1..) => "tool_calls",
                    (finish, _) => finish.name(),
                };
                out + &self.delta(choice, json!({}), Value::Null, Some(reason))
            }
            Part::Failed(error) => Envelope::failed(&error),
        }
    }

    fn failed(&mut self, error: &ApiError) -> String {
        Envelope::failed(error)
    }

    fn end(&mut self) -> String {
        self.envelope.end()
    }
}
