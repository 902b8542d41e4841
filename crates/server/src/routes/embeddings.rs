//! `/v1/embeddings`: vectors of texts.

use super::ask::prompts;
use crate::{
    app::{App, Body, Taken},
    error::ApiError,
    fields::Fields,
    http::json_response,
};
use axum::{extract::State, response::Response};
use serde_json::{Value, json};
use warpsmith_models::llama::Pooling;

/// Texts of a request at most.
const MOST_TEXTS: usize = 2048;

/// The route.
pub(crate) async fn embeddings(
    State(app): State<App>,
    Body(body): Body,
) -> Result<Response, ApiError> {
    let Taken { text, asked } = app.prepare(move |app| read(app, &body)).await?;
    let embeddings = text.embeddings.as_ref().ok_or_else(|| {
        let name = &text.name;
        ApiError::model(format!("no embeddings are served of model `{name}`"))
    })?;
    let Asked {
        texts,
        pooling,
        base64,
    } = asked;
    let tokens: usize = texts.iter().map(Vec::len).sum();
    let vectors = embeddings.of(texts, pooling).await?;
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let vector = match base64 {
                true => json!(base64_of(vector)),
                false => json!(vector),
            };
            json!({"object": "embedding", "index": index, "embedding": vector})
        })
        .collect();
    Ok(json_response(&json!({
        "object": "list",
        "data": data,
        "model": text.name,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })))
}

struct Asked {
    texts: Vec<Vec<u32>>,
    pooling: Pooling,
    base64: bool,
}

fn read(app: &App, body: &[u8]) -> Result<Taken<Asked>, ApiError> {
    let mut fields = Fields::parse(body)?;
    let text = app.text(fields.text("model")?)?;
    let input = fields.need("input")?;
    let texts: Vec<Vec<u32>> = prompts("input", input, &text.bundle.tokenizer, app.limits.prompt)?
        .into_iter()
        .map(|prompt| prompt.ids)
        .collect();
    if texts.len() > MOST_TEXTS {
        let found = texts.len();
        let message = format!("`input` has {found} texts, expected at most {MOST_TEXTS}");
        return Err(ApiError::field("input", message));
    }
    let context = text.embeddings.as_ref().map_or(u32::MAX, |own| own.context);
    if let Some(long) = texts.iter().find(|text| text.len() > context as usize) {
        let found = long.len();
        let message = format!("the context holds {context} tokens, and `input` has {found}");
        return Err(ApiError::too_long("input", message));
    }
    let pooling = match fields.text("pooling")?.as_deref() {
        None | Some("mean") => Pooling::Mean,
        Some("last") => Pooling::Last,
        Some(other) => {
            let message = format!("`pooling` is {other:?}, expected \"mean\" or \"last\"");
            return Err(ApiError::field("pooling", message));
        }
    };
    let base64 = match fields.text("encoding_format")?.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            let message =
                format!("`encoding_format` is {other:?}, expected \"float\" or \"base64\"");
            return Err(ApiError::field("encoding_format", message));
        }
    };
    let width = text.bundle.model.config().width;
    let why = format!("the model's vectors have {width} numbers");
    fields.refuse("dimensions", &[json!(width)], &why)?;
    fields.ignore(&["user"]);
    fields.finish()?;
    Ok(Taken {
        text,
        asked: Asked {
            texts,
            pooling,
            base64,
        },
    })
}

/// Little-endian floats in base64 (RFC 4648), as OpenAI's clients ask for them.
fn base64_of(vector: &[f32]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            match at <= three.len() {
                true => out.push(LETTERS[(bits >> (18 - 6 * at) & 63) as usize].into()),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64_of;

    #[test]
    fn floats_are_little_endian_in_base64() {
        // As Python's base64.b64encode(struct.pack("<...f", ...)) gives them.
        assert_eq!(base64_of(&[]), "");
        assert_eq!(base64_of(&[1.0]), "AACAPw==");
        assert_eq!(base64_of(&[1.0, -2.5]), "AACAPwAAIMA=");
        assert_eq!(base64_of(&[1.0, -2.5, 0.1]), "AACAPwAAIMDNzMw9");
    }
}
