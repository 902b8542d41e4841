//! Forms with a sound: fields by name, limits while they come.

use super::written::Written;
use crate::{app::App, error::ApiError, speech::Speech};
use axum::{
    extract::{FromRequest, Multipart, Request, multipart::Field},
    http::header,
};
use std::sync::Arc;
use warpsmith_models::whisper::{ListenOptions, tokenizer::Task, transcript::WordOptions};

/// Bytes of a field that is no sound.
const MOST_TEXT: usize = 64 << 10;
/// Bytes of names and headers beside the fields.
const FRAME: u64 = 64 << 10;

/// What is asked of a sound.
pub(super) struct Asked {
    pub(super) speech: Arc<Speech>,
    pub(super) sound: Vec<u8>,
    pub(super) options: ListenOptions,
    pub(super) way: Way,
}

/// How the answer comes.
pub(super) enum Way {
    Whole(Written),
    Stream,
}

/// The fields as they came.
#[derive(Debug, Default)]
struct Form {
    file: Option<Vec<u8>>,
    model: Option<String>,
    language: Option<String>,
    prompt: Option<String>,
    response_format: Option<String>,
    temperature: Option<String>,
    granularities: Vec<String>,
    stream: Option<String>,
}

/// Reads a form.
///
/// # Errors
/// No form, a field that is not known or wrong, one that is too large or does not come.
pub(super) async fn read(app: &App, request: Request, task: Task) -> Result<Asked, ApiError> {
    let limit = app.limits.audio;
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64 + FRAME) {
        return Err(too_large(limit));
    }
    let parts = Multipart::from_request(request, &()).await;
    let mut parts = parts.map_err(|error| ApiError::malformed(error.body_text()))?;
    let mut form = Form::default();
    while let Some(field) = in_time(app, parts.next_field()).await? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if form.file.is_some() {
                return Err(twice(name));
            }
            form.file = Some(bytes(app, field, limit).await?);
            continue;
        }
        let value = bytes(app, field, MOST_TEXT.min(limit)).await?;
        let value = String::from_utf8(value)
            .map_err(|error| ApiError::field(name.clone(), format!("`{name}`: {error}")))?;
        let to = match (name.as_str(), task) {
            ("model", _) => &mut form.model,
            ("language", Task::Transcribe) => &mut form.language,
            ("prompt", _) => &mut form.prompt,
            ("response_format", _) => &mut form.response_format,
            ("temperature", _) => &mut form.temperature,
            ("stream", _) => &mut form.stream,
            ("timestamp_granularities[]" | "timestamp_granularities", _) => {
                form.granularities.push(value);
                continue;
            }
            ("user", _) => continue,
            ("chunking_strategy", _) if value == "auto" => continue,
            ("chunking_strategy" | "include[]" | "include", _) => {
                return Err(ApiError::unsupported(
                    name,
                    "whole sounds are heard, in windows of 30 s",
                ));
            }
            _ => return Err(ApiError::unknown(name)),
        };
        if to.replace(value).is_some() {
            return Err(twice(name));
        }
    }
    asked(app, form, task)
}

fn twice(name: String) -> ApiError {
    let message = format!("`{name}` is there twice");
    ApiError::field(name, message)
}

fn too_large(limit: usize) -> ApiError {
    ApiError::too_large(format!("the form has more than {limit} bytes"))
}

/// What comes of a connection, if it comes in time.
async fn in_time<T>(
    app: &App,
    work: impl Future<Output = Result<T, axum::extract::multipart::MultipartError>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(app.limits.patience, work).await {
        Ok(done) => done.map_err(|error| ApiError::malformed(error.body_text())),
        Err(_) => {
            let seconds = app.limits.patience.as_secs_f64();
            let message = format!("nothing came of the form for {seconds} s");
            Err(ApiError::timeout(message))
        }
    }
}

async fn bytes(app: &App, mut field: Field<'_>, limit: usize) -> Result<Vec<u8>, ApiError> {
    let mut all = Vec::new();
    while let Some(chunk) = in_time(app, field.chunk()).await? {
        if all.len() + chunk.len() > limit {
            return Err(too_large(limit));
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

fn asked(app: &App, form: Form, task: Task) -> Result<Asked, ApiError> {
    let Form {
        file,
        model,
        language,
        prompt,
        response_format,
        temperature,
        granularities,
        stream,
    } = form;
    let speech = app.speech(model.as_deref())?;
    let sound = file.ok_or_else(|| ApiError::field("file", "`file` is missing"))?;
    let special = *speech.bundle.tokenizer.special();
    if task == Task::Translate && !special.is_multilingual() {
        let name = &speech.name;
        let message = format!("model `{name}` knows English alone: it does not translate");
        return Err(ApiError::malformed(message));
    }
    let mut options = ListenOptions {
        task,
        ..speech.options.clone()
    };
    if let Some(language) = language.filter(|language| !language.is_empty()) {
        let code = special.code(&language);
        let code = code.map_err(|error| ApiError::field("language", error.to_string()))?;
        options.language = Some(code.to_owned());
    }
    if let Some(text) = prompt.filter(|text| !text.trim().is_empty()) {
        let text = format!(" {}", text.trim());
        options.transcript.initial_prompt = speech.bundle.tokenizer.encode(&text);
    }
    if let Some(temperature) = temperature {
        let number = temperature.trim().parse::<f32>().ok();
        let number = number.filter(|number| (0.0..=1.0).contains(number));
        let number = number.ok_or_else(|| {
            let message =
                format!("`temperature` is {temperature:?}, expected a number from 0 to 1");
            ApiError::field("temperature", message)
        })?;
        // At 0, as OpenAI has it, higher ones are tried where a window fails.
        if number > 0.0 {
            options.temperatures = vec![number];
        }
    }
    let (mut segments, mut words) = (false, false);
    for granularity in &granularities {
        match granularity.as_str() {
            "segment" => segments = true,
            "word" => words = true,
            other => {
                let message =
                    format!("a granularity is {other:?}, expected \"segment\" or \"word\"");
                return Err(ApiError::field("timestamp_granularities", message));
            }
        }
    }
    let format = match response_format.as_deref() {
        None | Some("json") => Written::Json,
        Some("text") => Written::Text,
        Some("srt") => Written::Srt,
        Some("vtt") => Written::Vtt,
        Some("verbose_json") => Written::Verbose {
            segments: segments || !words,
            words,
        },
        Some(other) => {
            let message = format!(
                "`response_format` is {other:?}, expected json, text, srt, verbose_json or vtt"
            );
            return Err(ApiError::field("response_format", message));
        }
    };
    if !granularities.is_empty() && !matches!(format, Written::Verbose { .. }) {
        let message = "`timestamp_granularities` is for `response_format`: verbose_json";
        return Err(ApiError::field("timestamp_granularities", message));
    }
    if words {
        options.transcript.words = Some(WordOptions::default());
    }
    let way = match stream.as_deref() {
        None | Some("false" | "False" | "0") => Way::Whole(format),
        Some("true" | "True" | "1") if matches!(format, Written::Json | Written::Text) => {
            Way::Stream
        }
        Some("true" | "True" | "1") => {
            let message = "`stream` is for `response_format`: json and text";
            return Err(ApiError::field("stream", message));
        }
        Some(other) => {
            let message = format!("`stream` is {other:?}, expected true or false");
            return Err(ApiError::field("stream", message));
        }
    };
    Ok(Asked {
        speech,
        sound,
        options,
        way,
    })
}
