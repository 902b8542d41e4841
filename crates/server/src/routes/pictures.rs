//! Pictures of a model as SVGs.

use crate::{
    app::App,
    error::ApiError,
    http::typed,
    pictures::{Drawn, Once},
};
use axum::{
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};

/// What a picture that is opened by itself may do: show its own colours.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// `/pictures/graph/NAME`
pub(crate) async fn graph(state: State<App>, name: Path<String>) -> Result<Response, ApiError> {
    answer(state, name, "Operations of a step", |drawn| &drawn.graph).await
}

/// `/pictures/roofline/NAME`
pub(crate) async fn roofline(state: State<App>, name: Path<String>) -> Result<Response, ApiError> {
    answer(state, name, "Roofline", |drawn| &drawn.roofline).await
}

async fn answer(
    State(app): State<App>,
    Path(name): Path<String>,
    what: &str,
    of: impl FnOnce(&Drawn) -> &Once,
) -> Result<Response, ApiError> {
    let text = app.text(Some(name))?;
    let none = || ApiError::model(format!("model `{}` has no pictures", text.name));
    let once = of(text.pictures.as_ref().ok_or_else(none)?).clone();
    let svg = once.svg(format!("{what} of {}", text.name)).await?;
    let mut response = typed("image/svg+xml", svg.to_string());
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}
