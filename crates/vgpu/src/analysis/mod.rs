//! What is known of a kernel's text before there are ops: blocks, what instructions read and write, what is the same for a
//! warp, where variables are.

mod cfg;
mod code;
mod distributed;
mod immediate;
mod layout;
pub(crate) mod roles;
pub(crate) mod uniform;
mod unit;
mod warpgroup;

pub(crate) use cfg::{BarRed, BarrierTerm, Block, CallTerm, Term, blocks, class};
pub(crate) use code::{Code, End, Home};
pub(crate) use distributed::distributed;
pub(crate) use immediate::immediate;
pub(crate) use layout::Layout;
pub(crate) use unit::{address_of, function_at, print, unit};
pub(crate) use warpgroup::warpgroup;
