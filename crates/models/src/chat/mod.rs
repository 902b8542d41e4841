//! Chat templates: a conversation to the text that a model was trained to continue.
//!
//! Templates come with model files from anywhere, so each run is bounded: instructions, memory,
//! recursion, output and time. They see `messages`, `add_generation_prompt`, `bos_token`, `eos_token`,
//! `tools` (where some were given), `documents` (none), `raise_exception`, and `strftime_now` where a time was given; what Python and Jinja2
//! have beside that is in `source.rs`, `method.rs` and `json.rs`.

mod json;
mod method;
mod source;
mod time;

use std::io::{self, Write as _};
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, ErrorKind, Output, State, Value, context};
use serde::{Deserialize, Serialize};
use warpsmith_formats::gguf::Metadata;

use crate::Error;
use crate::sandbox::{self, Stopped};
use crate::tokenizer::Tokenizer;

/// One turn of a conversation.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks: `system`, `user` or `assistant`, or what else the template knows.
    pub role: String,
    /// What is said.
    pub content: String,
    /// Calls of tools that the assistant made: `{"id", "type": "function", "function": {"name", "arguments"}}`, with the
    /// arguments as an object, as templates want them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<serde_json::Value>,
    /// Which call a message of role `tool` answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Who of several speaks, or which tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// What somebody says.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Message {
        Message {
            role: role.into(),
            content: content.into(),
            ..Message::default()
        }
    }

    /// Bytes that a template may write.
    fn bytes(&self) -> usize {
        let calls = self.tool_calls.iter().map(|call| call.to_string().len());
        let names =
            [&self.tool_call_id, &self.name].map(|name| name.as_ref().map_or(0, String::len));
        self.role.len() + self.content.len() + calls.sum::<usize>() + names.iter().sum::<usize>()
    }
}

/// Whether the text ends with the beginning of the assistant's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerationPrompt {
    /// Yes: the model is to answer.
    Add,
    /// No: the conversation as it is.
    Omit,
}

/// The format of models that bring no template.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' \
    + message['content'] + '<|im_end|>\n' }}{% endfor %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// The longest template accepted, in bytes; real ones have up to 30 KiB.
const MAX_SOURCE: usize = 64 << 10;

/// Fuel of a run: one unit is an instruction, or 64 bytes of data.
const FUEL: u64 = 300_000;
const FUEL_A_MESSAGE: u64 = 100;
/// Bytes of messages that one more unit of fuel is given for.
const BYTES_A_FUEL: u64 = 8;
/// However long the conversation; bounds how deep values can nest.
const MAX_FUEL: u64 = 1_000_000;

/// Bytes of output, beside a multiple of the bytes that went in.
const MAX_OUTPUT: u64 = 4 << 20;
const OUTPUT_A_BYTE: u64 = 8;

/// The longest text of one list or map that is printed.
const MAX_PRINTED: u64 = 1 << 20;

/// A hundred times what the longest conversations take.
const MAX_SECONDS: u64 = 5;

/// Macros, loops and conditions within each other.
const MAX_DEPTH: usize = 100;

const NAME: &str = "chat template";

/// A chat template. One that comes with a model is compiled when it runs: a model whose template is wrong goes on with text.
///
/// ```
/// use warpsmith_models::chat::{ChatTemplate, GenerationPrompt, Message};
///
/// let template = ChatTemplate::chatml(); // a model's own is `Bundle::template`
/// let text = template.render(&[Message::new("user", "Hello")], GenerationPrompt::Add)?;
/// assert!(text.ends_with("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"));
/// # Ok::<(), warpsmith_models::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: Source,
    bos: String,
    eos: String,
    /// Seconds since 1970.
    now: Option<i64>,
    /// What the model may call.
    tools: Arc<[serde_json::Value]>,
}

/// Where a template comes from.
#[derive(Clone, Debug)]
enum Source {
    /// The model.
    Own(Arc<str>),
    /// [`CHATML`], as the model has none.
    Usual,
    /// What stands in the template's place.
    Unusable(String),
}

/// What `raise_exception` was called with.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

impl ChatTemplate {
    /// Compiles a template; `bos_token` and `eos_token` are empty in it.
    ///
    /// # Errors
    /// [`Error::Template`] where it does not parse; a template over 64 KiB.
    pub fn from_source(source: &str) -> Result<Self, Error> {
        let own = source.to_owned();
        bounded(move || compile(own, None).map(drop))?;
        Ok(Self::new(Source::Own(source.into())))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            bos: String::new(),
            eos: String::new(),
            now: None,
            tools: Arc::new([]),
        }
    }

    /// A model's own template, or ChatML if it has none; what is wrong with it is said where it runs.
    pub fn of_model(source: Option<&str>) -> Self {
        Self::new(source.map_or(Source::Usual, |source| Source::Own(source.into())))
    }

    /// The template of models that come without one.
    pub fn chatml() -> Self {
        Self::new(Source::Usual)
    }

    /// The template of a model file, or ChatML if it has none; what is wrong with it is said where it runs.
    pub fn from_gguf(metadata: &Metadata, tokenizer: &Tokenizer) -> Self {
        let template = match metadata.opt_str("tokenizer.chat_template") {
            Ok(source) => Self::of_model(source),
            Err(error) => Self::new(Source::Unusable(error.to_string())),
        };
        template.with_tokens(tokenizer)
    }

    /// The same template with `bos_token` and `eos_token` as the tokenizer has them.
    pub fn with_tokens(mut self, tokenizer: &Tokenizer) -> Self {
        let text = |id: Option<u32>| {
            id.and_then(|id| tokenizer.piece(id))
                .unwrap_or_default()
                .to_owned()
        };
        self.bos = text(tokenizer.bos());
        self.eos = text(tokenizer.eos());
        self
    }

    /// Whether the model brings a template.
    pub fn is_own(&self) -> bool {
        !matches!(self.source, Source::Usual)
    }

    /// The same template with a `strftime_now`, which some use to tell the model the date.
    pub fn at_time(mut self, unix_seconds: i64) -> Self {
        self.now = Some(unix_seconds);
        self
    }

    /// The same template with `tools`: functions that the model may call, as JSON schemas describe them.
    pub fn with_tools(mut self, tools: Vec<serde_json::Value>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Whether the template says anything about `tools`.
    pub fn knows_tools(&self) -> bool {
        match &self.source {
            Source::Own(source) => source.contains("tools"),
            Source::Usual | Source::Unusable(_) => false,
        }
    }

    /// The text of a conversation, to be encoded with
    /// [`Special::Parse`](crate::tokenizer::Special::Parse).
    ///
    /// # Errors
    /// [`Error::TemplateRefused`] when the template says so (many want roles to alternate),
    /// [`Error::TemplateLimit`] when it goes on for too long, [`Error::Template`] otherwise: where it does not parse, too.
    pub fn render(
        &self,
        messages: &[Message],
        generation_prompt: GenerationPrompt,
    ) -> Result<String, Error> {
        let tools = self.tools.iter().map(|tool| tool.to_string().len());
        let bytes = messages.iter().map(Message::bytes).chain(tools);
        let bytes: usize = bytes.sum();
        let fuel = FUEL
            .saturating_add(FUEL_A_MESSAGE.saturating_mul(messages.len() as u64))
            .saturating_add(bytes as u64 / BYTES_A_FUEL)
            .min(MAX_FUEL);
        let limit = MAX_OUTPUT.saturating_add(OUTPUT_A_BYTE.saturating_mul(bytes as u64));

        let source = match &self.source {
            Source::Own(source) => source.to_string(),
            Source::Usual => CHATML.to_owned(),
            Source::Unusable(message) => {
                let (line, message) = (0, message.clone());
                return Err(Error::Template { line, message });
            }
        };
        let now = self.now;
        let turns: Vec<Value> = messages.iter().map(|m| Value::from(Serde(m))).collect();
        let tools = match self.tools.is_empty() {
            true => Value::from(()),
            false => Value::from(Serde(&*self.tools)),
        };
        let context = context! {
            messages => turns,
            add_generation_prompt => generation_prompt == GenerationPrompt::Add,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
            tools => tools,
            documents => (),
        };
        bounded(move || {
            let mut environment = compile(source, now)?;
            environment.set_fuel(Some(fuel));
            run(&environment, context, fuel, limit)
        })
    }
}

/// The result of a run of the template engine, on a stack of its own.
fn bounded<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let failed = |message| Error::Template { line: 0, message };
    sandbox::run("chat template", MAX_SECONDS, job).map_err(|stopped| match stopped {
        Stopped::Panicked(reason) => failed(format!("the template engine panicked: {reason}")),
        Stopped::NoThread(error) => failed(format!("no thread to run it on: {error}")),
        Stopped::Late(limit) => Error::TemplateLimit {
            what: "seconds",
            limit,
        },
    })?
}

fn run(
    environment: &Environment<'_>,
    context: Value,
    fuel: u64,
    limit: u64,
) -> Result<String, Error> {
    let mut output = Bounded::new(limit);
    let result = environment.get_template(NAME).and_then(|template| {
        template
            .render_captured_to(context, &mut output)
            .map(|_| ())
    });
    if output.over {
        return Err(Error::TemplateLimit {
            what: "bytes of output",
            limit,
        });
    }
    result.map_err(|error| template_error(&error, fuel))?;
    Ok(String::from_utf8_lossy(&output.bytes).into_owned())
}

fn compile(source: String, now: Option<i64>) -> Result<Environment<'static>, Error> {
    if source.len() > MAX_SOURCE {
        return Err(Error::TemplateLimit {
            what: "bytes of source",
            limit: MAX_SOURCE as u64,
        });
    }
    let mut environment = Environment::new();
    // as the templates' authors run them
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(|error| template_error(&error, 0))?;
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_debug(false);
    environment.set_formatter(print);
    environment.set_recursion_limit(MAX_DEPTH);
    environment.set_unknown_method_callback(method::call);
    environment.add_filter("tojson", json::tojson);
    environment.add_filter("fromjson", json::fromjson);
    environment.add_filter("from_json", json::fromjson);
    environment.add_filter(source::PERCENT, method::percent);
    environment.add_function("joiner", minijinja_contrib::globals::joiner);
    environment.add_function("cycler", minijinja_contrib::globals::cycler);
    if let Some(seconds) = now {
        environment.add_function("strftime_now", move |format: &str| {
            time::strftime(format, seconds)
        });
    }
    environment.add_function("raise_exception", |message: String| {
        Err::<String, _>(
            minijinja::Error::new(ErrorKind::InvalidOperation, message.clone())
                .with_source(Raised(message)),
        )
    });
    environment
        .add_template_owned(NAME, source::translated(&source))
        .map_err(|error| template_error(&error, 0))?;
    Ok(environment)
}

/// Prints strings and numbers as they are, lists and maps only up to a length.
fn print(out: &mut Output, state: &mut State, value: &Value) -> Result<(), minijinja::Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain => {
            let too_long = || {
                let message = format!("a value longer than {MAX_PRINTED} bytes is printed");
                minijinja::Error::new(ErrorKind::InvalidOperation, message)
            };
            if value.len().is_some_and(|len| len as u64 > MAX_PRINTED) {
                return Err(too_long());
            }
            let mut text = Bounded::new(MAX_PRINTED);
            write!(text, "{value}").map_err(|_| too_long())?;
            out.write_str(&String::from_utf8_lossy(&text.bytes))
                .map_err(minijinja::Error::from)
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// A buffer that takes only so much.
struct Bounded {
    bytes: Vec<u8>,
    left: u64,
    over: bool,
}

impl Bounded {
    fn new(limit: u64) -> Self {
        Self {
            bytes: Vec::new(),
            left: limit,
            over: false,
        }
    }
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => {
                self.left = left;
                self.bytes.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            None => {
                self.over = true;
                Err(io::Error::other("output limit"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn template_error(error: &minijinja::Error, fuel: u64) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(Raised(message)) = inner.downcast_ref() {
            return Error::TemplateRefused {
                message: message.clone(),
            };
        }
        let kind = inner.downcast_ref::<minijinja::Error>().map(|e| e.kind());
        if kind == Some(ErrorKind::OutOfFuel) {
            return Error::TemplateLimit {
                what: "units of fuel",
                limit: fuel,
            };
        }
        cause = inner.source();
    }
    Error::Template {
        line: error.line().unwrap_or(0),
        message: match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
