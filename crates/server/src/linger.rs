//! Requests that are answered before their body was read: the rest of it is taken and thrown away for a while.
//!
//! A connection that is closed while more is coming is reset, and the answer may be lost with it; and clients that write all
//! of a request before they read would never see it.

use axum::{
    body::{Body, BodyDataStream, Bytes, HttpBody},
    extract::Request,
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};
use futures_core::Stream;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{runtime::Handle, time::timeout};

/// How long the rest of a body is taken.
const LONGEST: Duration = Duration::from_secs(30);
/// How long it may stand still meanwhile.
const PAUSE: Duration = Duration::from_secs(2);

/// A body whose rest is taken when nobody wants it.
struct Rest {
    /// None when it is handed on.
    body: Option<BodyDataStream>,
    /// Whether the client sends nothing before it is told to, and was not told.
    held: bool,
    ended: Arc<AtomicBool>,
}

impl Stream for Rest {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.held = false;
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(&mut *body).poll_next(cx);
        let at_end = match &polled {
            Poll::Ready(Some(Ok(_))) => body.is_end_stream(),
            Poll::Ready(Some(Err(_)) | None) => true,
            Poll::Pending => false,
        };
        if at_end {
            self.ended.store(true, Relaxed);
        }
        polled
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else {
            return;
        };
        if self.held || self.ended.load(Relaxed) {
            return;
        }
        // None where the server is at its end.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(LONGEST, throw_away(body)));
        }
    }
}

async fn throw_away(mut body: BodyDataStream) {
    loop {
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_next(cx));
        let Ok(Some(Ok(_))) = timeout(PAUSE, next).await else {
            return;
        };
    }
}

/// Answers with what `next` says, and says that the connection is closed behind an error whose body was not read.
pub(crate) async fn linger(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let ended = Arc::new(AtomicBool::new(body.is_end_stream()));
    let rest = Rest {
        body: Some(body.into_data_stream()),
        held: head.headers.contains_key(header::EXPECT),
        ended: Arc::clone(&ended),
    };
    let request = Request::from_parts(head, Body::from_stream(rest));
    let mut response = next.run(request).await;
    let status = response.status();
    if (status.is_client_error() || status.is_server_error()) && !ended.load(Relaxed) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}
