//! What the checker finds: data first; drawing is for others.
//!
//! With [`crate::Config::checks`] set, kernels are lowered with an extra op before each access and each use of a
//! value that may be undefined (`lower/instrument.rs`); the ops ask the checker, which one engine thread has at a
//! time. Without it there is not one instruction more.

mod access;
mod cell;
mod checker;
mod clock;
mod cluster;
mod copies;
mod crowd;
mod events;
mod finding;
mod history;
mod holes;
mod look;
mod lost;
mod memory;
mod observer;
mod order;
mod ordering;
mod pages;
mod proxy;
mod report;
mod states;
mod stretch;
mod subject;
mod undefined;
mod words;

pub(crate) use access::{AccessInfo, Answer, MOST, Request, Shape, Space, Stored};
pub(crate) use checker::{At, Checker};
pub(crate) use clock::Order;
pub(crate) use copies::Lent;
pub(crate) use events::ObjectEvent;
pub use finding::{Access, Allocation, Checks, Finding, Kind, Place, UnknownKind, Verdict};
pub(crate) use memory::Variables;
pub use observer::Observer;
pub(crate) use order::{Host, LaunchOrder, Progress, StreamOrder};
pub(crate) use proxy::Reader;
pub(crate) use report::New;
pub(crate) use stretch::Stretch;
pub(crate) use subject::Subject;
