//! What the builder keeps for checked programs.

use crate::{
    check::AccessInfo,
    op::{MicroOp, Slot},
};

/// What the builder keeps of it.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) accesses: Vec<AccessInfo>,
    /// The slots of all shadows, and that of each register.
    pub(crate) shadows: Vec<Slot>,
    pub(crate) shadow_of: Vec<Option<Slot>>,
    pub(crate) put_off: Vec<MicroOp>,
}
