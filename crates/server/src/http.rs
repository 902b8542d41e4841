//! Answers: JSON, and server-sent events made of what a model says.

use crate::{
    error::ApiError,
    text::{Finish, Part, Told},
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::Response,
};
use futures_core::Stream;
use serde_json::Value;
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::mpsc::UnboundedReceiver;

/// Parts that are sent in one piece at most, to a client that reads slower than they come.
const TOGETHER: usize = 64;

pub(crate) fn json_response(value: &Value) -> Response {
    typed("application/json", value.to_string())
}

pub(crate) fn typed(content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let value = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}

/// An event.
pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event with a name.
pub(crate) fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// How parts become events.
pub(crate) trait Shape: Send + Unpin + 'static {
    /// Of one that is no failure; may be empty.
    fn part(&mut self, part: Part) -> String;
    /// Of a failure, behind which nothing follows.
    fn failed(&mut self, error: &ApiError) -> String;
    /// Behind the end of the last choice.
    fn end(&mut self) -> String;
}

/// The body of a stream. What the model says waits here for as long as the client does not read; when it is dropped, the
/// model learns that nobody listens.
struct Events<S> {
    parts: UnboundedReceiver<Part>,
    first: Option<Part>,
    shape: S,
    /// Choices that have not ended.
    open: usize,
}

impl<S: Shape> Events<S> {
    fn take(&mut self, part: Part, out: &mut String) {
        match part {
            Part::Failed(error) => {
                self.open = 0;
                out.push_str(&self.shape.failed(&error));
            }
            part => {
                self.open -= usize::from(matches!(part, Part::End { .. }));
                out.push_str(&self.shape.part(part));
                if self.open == 0 {
                    out.push_str(&self.shape.end());
                }
            }
        }
    }
}

impl<S: Shape> Stream for Events<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let mut out = String::new();
        if let Some(part) = this.first.take() {
            this.take(part, &mut out);
        }
        let mut taken = 0;
        while this.open > 0 && taken < TOGETHER {
            let part = match this.parts.poll_recv(cx) {
                Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(part) => part,
            };
            let gone = || Part::Failed(ApiError::internal("the model went away"));
            this.take(part.unwrap_or_else(gone), &mut out);
            taken += 1;
        }
        match out.is_empty() {
            true if this.open == 0 => Poll::Ready(None),
            // All that came says nothing: the next one is asked for at once.
            true => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            false => Poll::Ready(Some(Ok(Bytes::from(out)))),
        }
    }
}

/// A stream of events of `open` choices, which begins when there is something to say: what fails before has its status.
///
/// # Errors
/// The failure that came first.
pub(crate) async fn stream<S: Shape>(
    mut parts: UnboundedReceiver<Part>,
    open: usize,
    shape: S,
) -> Result<Response, ApiError> {
    let first = match parts.recv().await {
        None => return Err(ApiError::internal("the model went away")),
        Some(Part::Failed(error)) => return Err(error),
        first => first,
    };
    let events = Events {
        parts,
        first,
        shape,
        open,
    };
    Ok(event_stream(events))
}

/// The response of any stream of events.
pub(crate) fn event_stream(
    events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut response = typed("text/event-stream", Body::from_stream(events));
    let value = HeaderValue::from_static("no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
    response
}

/// A continuation that is complete.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Made {
    pub(crate) text: String,
    pub(crate) tokens: u64,
    pub(crate) told: Vec<Told>,
    pub(crate) finish: Option<Finish>,
}

/// All continuations of a request.
///
/// # Errors
/// The first failure.
pub(crate) async fn collect(
    mut parts: UnboundedReceiver<Part>,
    choices: usize,
) -> Result<Vec<Made>, ApiError> {
    let mut all = vec![Made::default(); choices];
    let mut open = choices;
    while open > 0 {
        match parts.recv().await {
            None => return Err(ApiError::internal("the model went away")),
            Some(Part::Failed(error)) => return Err(error),
            Some(Part::Piece {
                choice,
                text,
                tokens,
                told,
            }) => {
                let made = &mut all[choice];
                made.text.push_str(&text);
                made.tokens += tokens;
                made.told.extend(told);
            }
            Some(Part::End { choice, finish }) => {
                all[choice].finish = Some(finish);
                open -= 1;
            }
        }
    }
    Ok(all)
}
