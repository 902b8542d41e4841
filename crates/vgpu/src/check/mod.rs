//! What the checker finds: data first; drawing is for others.
//!
//! With [`crate::Config::checks`] set, kernels are lowered with an extra op before each access and each use of a
//! value that may be undefined (`lower/instrument.rs`); the ops ask the checker, which one engine thread has at a
//! time. Without it there is not one instruction more.
//!
//! Words of these rooms:
//! - *cell*: who touched a piece of memory last, in one word: epoch, warp, lanes; *mark*: a cell without its lane;
//! - *epoch*: a moment of a warp, which a barrier, a fence or a release ends;
//! - *sector*: 16 bytes of memory with one history: the last write, and two reads since;
//! - *floor*: the epoch that everybody has seen: what is older races with nothing;
//! - *quiet*, *loud*: an earlier access that cannot race with this one, by its cell alone; one that must be looked at;
//! - *glance*: the check of an access whose common case is decided before any history is read;
//! - *sweep*: the note of an access to whole sectors in a row, all at once;
//! - *plain*: an access of a warp that is inside one allocation, defined and of whole pieces; *look*: what others get, lane
//!   by lane;
//! - *stretch*: the memory between the first and the last byte of a warp's access;
//! - *shadow*: which bytes of a register are undefined; *tainted*: a warp some of whose registers may be;
//! - *hole*: bytes in memory that a store of undefined values left;
//! - *crowd*: the strong accesses to 16 bytes, each kept, as they may come in any order;
//! - *settle*: all so far comes before all that follows.

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
mod host;
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
mod tensor;
mod undefined;
mod words;

pub(crate) use access::{AccessInfo, Answer, MOST, Pattern, Request, Space, Stored};
pub(crate) use checker::{At, Checker};
pub(crate) use clock::Order;
pub(crate) use copies::Lent;
pub(crate) use events::ObjectEvent;
pub use finding::{Access, Allocation, Checks, Finding, Kind, Place, UnknownKind, Verdict};
pub use host::Turn;
pub(crate) use memory::Variables;
pub use observer::Observer;
pub(crate) use order::{Host, LaunchOrder, Progress, StreamOrder};
pub(crate) use proxy::Reader;
pub(crate) use report::New;
pub(crate) use stretch::Stretch;
pub(crate) use subject::Subject;
pub(crate) use tensor::Columns;
