//! Pictures of a model that is served: what starts the server knows how, and each is made once, when somebody asks for it.

use crate::{app::App, error::ApiError, http::typed};
use axum::{
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use std::sync::Arc;
use tokio::sync::Mutex;

/// What a picture that is opened by itself may do: show its own colours.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// As an SVG, which begins with its element.
    pub svg: String,
    /// What is on it, for those who do not see it.
    pub words: String,
}

/// Makes a picture, or says why it cannot.
pub type MakePicture = Box<dyn FnMut() -> Result<Picture, String> + Send>;

/// Pictures of a language model.
pub struct Pictures {
    /// The operations of a step.
    pub graph: MakePicture,
    /// What they take, under what the machine could do: measured when it is made.
    pub roofline: MakePicture,
}

/// Those of a model, each made once.
pub(crate) struct Drawn {
    graph: Once,
    roofline: Once,
}

impl From<Pictures> for Drawn {
    fn from(pictures: Pictures) -> Drawn {
        let once = |make| Once(Arc::new(Mutex::new(Made::Not(make))));
        Drawn {
            graph: once(pictures.graph),
            roofline: once(pictures.roofline),
        }
    }
}

#[derive(Clone)]
struct Once(Arc<Mutex<Made>>);

enum Made {
    Not(MakePicture),
    Is(Arc<str>),
}

impl Once {
    /// The SVG, called `name`: made by whoever comes first, even if that one does not wait for it.
    async fn svg(&self, name: String) -> Result<Arc<str>, ApiError> {
        let mut made = Arc::clone(&self.0).lock_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            let make = match &mut *made {
                Made::Is(svg) => return Ok(Arc::clone(svg)),
                Made::Not(make) => make,
            };
            let picture = make().map_err(ApiError::unavailable)?;
            let svg: Arc<str> = described(&picture, &name).into();
            *made = Made::Is(Arc::clone(&svg));
            Ok(svg)
        });
        let panicked = |_| ApiError::internal("making the picture panicked");
        work.await.map_err(panicked)?
    }
}

/// The SVG with what it is called and what is on it as its first elements.
fn described(picture: &Picture, name: &str) -> String {
    let Picture { svg, words } = picture;
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;")
    };
    let (begin, rest) = svg.split_at(svg.find('>').map_or(0, |at| at + 1));
    let (name, words) = (escaped(name), escaped(words));
    format!("{begin}<title>{name}</title><desc>{words}</desc>{rest}")
}

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
