//! Projections of few rows with all that stands around them in a transformer's layer, each as one launch: the norm and
//! the form of the activations in front; bias, activation, gate, residual, norms of heads, rotation and cache behind.

mod cases;
mod dot;
mod first;
mod gate;
mod head_cases;
mod heads;
mod product;
mod reference;
mod source;
mod work;

pub(crate) use cases::cases;
pub use gate::{Gate, GateArgs};
pub use heads::{Heads, HeadsArgs, HeadsMatrix, HeadsPlan, Turn};
pub use product::{Project, ProjectArgs};
pub use source::{Form, Input, Norm, Source};
pub use work::Work;
