//! `/v1/audio/transcriptions` and `/v1/audio/translations`: speech to text.

mod form;
mod written;

use crate::{
    app::App,
    error::ApiError,
    http::{data, event_stream},
    speech::Said,
};
use axum::{
    body::Bytes,
    extract::{Request, State},
    response::Response,
};
use form::{Asked, Way};
use futures_core::Stream;
use serde_json::json;
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::sync::mpsc::UnboundedReceiver;
use warpsmith_models::whisper::tokenizer::Task;

/// The route that writes down what is said.
pub(crate) async fn transcriptions(
    State(app): State<App>,
    request: Request,
) -> Result<Response, ApiError> {
    answer(&app, request, Task::Transcribe).await
}

/// The route that writes it down in English.
pub(crate) async fn translations(
    State(app): State<App>,
    request: Request,
) -> Result<Response, ApiError> {
    answer(&app, request, Task::Translate).await
}

async fn answer(app: &App, request: Request, task: Task) -> Result<Response, ApiError> {
    let Asked {
        speech,
        sound,
        options,
        way,
    } = form::read(app, request, task).await?;
    let mut said = speech.ask(sound, options)?;
    let format = match way {
        Way::Whole(format) => format,
        Way::Stream => return stream(said).await,
    };
    loop {
        match said.recv().await {
            Some(Said::Segments(_)) => {}
            Some(Said::Failed(error)) => return Err(error),
            Some(Said::Done(done)) => return Ok(written::whole(&done, format, task)),
            None => return Err(ApiError::internal("the model went away")),
        }
    }
}

/// Events as the windows of the sound are done; a sound that cannot be read has its status.
async fn stream(mut said: UnboundedReceiver<Said>) -> Result<Response, ApiError> {
    let first = match said.recv().await {
        None => return Err(ApiError::internal("the model went away")),
        Some(Said::Failed(error)) => return Err(error),
        first => first,
    };
    Ok(event_stream(Events {
        said,
        first,
        begun: false,
        over: false,
    }))
}

/// The body of a stream; when it is dropped, the thread learns that nobody listens.
struct Events {
    said: UnboundedReceiver<Said>,
    first: Option<Said>,
    /// Whether there was text.
    begun: bool,
    over: bool,
}

impl Events {
    /// The event of what was said; may be none.
    fn event(&mut self, said: Option<Said>) -> String {
        match said {
            Some(Said::Segments(segments)) => {
                let delta: String = segments.iter().map(|one| one.text.as_str()).collect();
                let delta = match self.begun {
                    true => delta.as_str(),
                    false => delta.trim_start(),
                };
                if delta.is_empty() {
                    return String::new();
                }
                self.begun = true;
                data(&json!({"type": "transcript.text.delta", "delta": delta}))
            }
            Some(Said::Done(done)) => {
                self.over = true;
                let mut event = json!({"type": "transcript.text.done"});
                event["text"] = json!(done.heard.text.trim());
                event["usage"] = written::usage(&done);
                data(&event) + "data: [DONE]\n\n"
            }
            Some(Said::Failed(error)) => {
                self.over = true;
                data(&error.json())
            }
            None => {
                self.over = true;
                data(&ApiError::internal("the model went away").json())
            }
        }
    }
}

impl Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while !self.over {
            let said = match self.first.take() {
                Some(first) => Some(first),
                None => ready!(self.said.poll_recv(cx)),
            };
            let event = self.event(said);
            if !event.is_empty() {
                return Poll::Ready(Some(Ok(Bytes::from(event))));
            }
        }
        Poll::Ready(None)
    }
}
