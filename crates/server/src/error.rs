//! What a request is answered that cannot be served: a status and an error of OpenAI's shape.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub(crate) status: StatusCode,
    message: String,
    /// Which field it is about.
    param: Option<String>,
    code: Option<&'static str>,
    /// Seconds after which it is worth trying again.
    retry_after: Option<u64>,
}

impl ApiError {
    fn new(status: StatusCode, message: impl Into<String>) -> ApiError {
        ApiError {
            status,
            message: message.into(),
            param: None,
            code: None,
            retry_after: None,
        }
    }

    /// A request that is wrong as a whole.
    pub(crate) fn malformed(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, message)
    }

    /// A field whose value is wrong.
    pub(crate) fn field(param: impl Into<String>, message: impl Into<String>) -> ApiError {
        ApiError {
            param: Some(param.into()),
            ..ApiError::malformed(message)
        }
    }

    /// A field that would change the answer and is not done here.
    pub(crate) fn unsupported(param: impl Into<String>, why: impl AsRef<str>) -> ApiError {
        let param = param.into();
        ApiError {
            code: Some("unsupported_parameter"),
            ..ApiError::field(
                param.clone(),
                format!("`{param}` is not supported: {}", why.as_ref()),
            )
        }
    }

    /// A field that is not known.
    pub(crate) fn unknown(param: String) -> ApiError {
        ApiError {
            code: Some("unknown_parameter"),
            ..ApiError::field(param.clone(), format!("unknown field `{param}`"))
        }
    }

    /// More tokens than can ever be in a sequence.
    pub(crate) fn too_long(param: &str, message: String) -> ApiError {
        ApiError {
            code: Some("context_length_exceeded"),
            ..ApiError::field(param, message)
        }
    }

    /// A body or a sound that is too large.
    pub(crate) fn too_large(message: String) -> ApiError {
        ApiError {
            code: Some("request_too_large"),
            ..ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
    }

    /// A body that does not come to an end.
    pub(crate) fn timeout(message: String) -> ApiError {
        ApiError::new(StatusCode::REQUEST_TIMEOUT, message)
    }

    /// A key that is missing or wrong.
    pub(crate) fn key(message: &str) -> ApiError {
        ApiError {
            code: Some("invalid_api_key"),
            ..ApiError::new(StatusCode::UNAUTHORIZED, message)
        }
    }

    /// A model that is not served.
    pub(crate) fn model(message: String) -> ApiError {
        ApiError {
            param: Some("model".to_owned()),
            code: Some("model_not_found"),
            ..ApiError::new(StatusCode::NOT_FOUND, message)
        }
    }

    /// A path that is none.
    pub(crate) fn path(path: &str) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, format!("there is no {path}"))
    }

    /// A method that a path does not have.
    pub(crate) fn method(method: &str, path: &str) -> ApiError {
        let message = format!("{path} does not take {method}");
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    /// As many requests wait as may.
    pub(crate) fn busy(waiting: usize, seconds: u64) -> ApiError {
        let message =
            format!("{waiting} requests run or wait, which is the limit: try again later");
        ApiError {
            code: Some("rate_limit_exceeded"),
            retry_after: Some(seconds),
            ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, message)
        }
    }

    /// Something broke on this side.
    pub(crate) fn internal(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Nobody is there to do the work.
    pub(crate) fn unavailable(message: impl Into<String>) -> ApiError {
        ApiError {
            retry_after: Some(1),
            ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message)
        }
    }

    /// OpenAI's word for the kind of error.
    fn kind(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// The object `{"error": ...}`.
    pub(crate) fn json(&self) -> Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind(),
            "param": self.param,
            "code": self.code,
        }})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.json().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
