//! Routes that no model works for: names, tokens, health, figures.

use super::ask::ids;
use crate::{
    app::{App, Body},
    error::ApiError,
    fields::Fields,
    http::{json_response, typed},
};
use axum::{
    extract::{Path, State},
    http::{Method, Uri},
    response::Response,
};
use serde_json::{Value, json};
use warpsmith_models::tokenizer::Special;

fn listed(app: &App) -> Vec<Value> {
    let model = |name: &str, context: Option<u32>| {
        let mut object = json!({
            "id": name,
            "object": "model",
            "created": app.started,
            "owned_by": "warpsmith",
        });
        if let Some(context) = context {
            object["max_model_len"] = json!(context);
        }
        object
    };
    let texts = app.texts.iter();
    let texts = texts.map(|text| model(&text.name, Some(text.limits.context)));
    let speech = app.speech.iter().map(|speech| model(&speech.name, None));
    texts.chain(speech).collect()
}

/// `/v1/models`
pub(crate) async fn models(State(app): State<App>) -> Response {
    json_response(&json!({"object": "list", "data": listed(&app)}))
}

/// `/v1/models/NAME`
pub(crate) async fn model(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let found = listed(&app).into_iter().find(|model| model["id"] == name);
    let found =
        found.ok_or_else(|| ApiError::model(format!("no model `{name}` is served here")))?;
    Ok(json_response(&found))
}

/// `/tokenize`
pub(crate) async fn tokenize(
    State(app): State<App>,
    Body(body): Body,
) -> Result<Response, ApiError> {
    let answer = app.prepare(move |app| {
        let mut fields = Fields::parse(&body)?;
        let text = app.text(fields.text("model")?)?;
        let content = match (fields.text("content")?, fields.text("prompt")?) {
            (Some(content), None) | (None, Some(content)) => content,
            (None, None) => return Err(ApiError::field("content", "`content` is missing")),
            (Some(_), Some(_)) => {
                let message = "`content` and `prompt` are the same: expected one of them";
                return Err(ApiError::field("prompt", message));
            }
        };
        let special = match fields.flag("parse_special")?.unwrap_or(true) {
            true => Special::Parse,
            false => Special::Plain,
        };
        fields.finish()?;
        let ids = text.bundle.tokenizer.encode(&content, special);
        let ids = ids.map_err(|error| ApiError::field("content", error.to_string()))?;
        let context = text.limits.context;
        Ok(json!({"tokens": ids, "count": ids.len(), "max_model_len": context}))
    });
    Ok(json_response(&answer.await?))
}

/// `/detokenize`
pub(crate) async fn detokenize(
    State(app): State<App>,
    Body(body): Body,
) -> Result<Response, ApiError> {
    let answer = app.prepare(move |app| {
        let mut fields = Fields::parse(&body)?;
        let text = app.text(fields.text("model")?)?;
        let tokenizer = &text.bundle.tokenizer;
        let list = fields.list("tokens")?;
        let list = list.ok_or_else(|| ApiError::field("tokens", "`tokens` is missing"))?;
        let ids = ids("tokens", &list, tokenizer)?;
        fields.finish()?;
        let content = tokenizer.decode(&ids);
        let content = content.map_err(|error| ApiError::field("tokens", error.to_string()))?;
        Ok(json!({"content": content, "prompt": content}))
    });
    Ok(json_response(&answer.await?))
}

/// `/health`
pub(crate) async fn health() -> Response {
    json_response(&json!({"status": "ok"}))
}

/// `/metrics`
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    typed("text/plain; version=0.0.4; charset=utf-8", app.metrics())
}

pub(crate) async fn no_path(uri: Uri) -> ApiError {
    ApiError::path(uri.path())
}

pub(crate) async fn no_method(method: Method, uri: Uri) -> ApiError {
    ApiError::method(method.as_str(), uri.path())
}
