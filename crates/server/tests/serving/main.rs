//! The server over synthetic models: what it answers, to whom, and what it survives.

mod client;
mod faults;
mod limits;
mod malformed;
mod more;
mod page;
mod sound;
mod structured;
mod support;
mod texts;
