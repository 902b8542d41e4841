//! Pictures of a model that is served: what starts the server knows how, and each is made once, when somebody asks for it.

use crate::error::ApiError;
use std::sync::Arc;
use tokio::sync::Mutex;

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
    pub(crate) graph: Once,
    pub(crate) roofline: Once,
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

/// A picture that is made when it is asked for.
#[derive(Clone)]
pub(crate) struct Once(Arc<Mutex<Made>>);

enum Made {
    Not(MakePicture),
    Is(Arc<str>),
}

impl Once {
    /// The SVG, called `name`: made by whoever comes first, even if that one does not wait for it.
    pub(crate) async fn svg(&self, name: String) -> Result<Arc<str>, ApiError> {
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
