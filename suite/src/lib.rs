//! Conformance: every kernel of the library against its reference, on the virtual GPU; and all of it on a card.

mod arrays;
pub mod check_case;
pub mod device_script;
mod docs;
pub mod failure;
pub mod far;
pub mod gpu;
pub mod places;
pub mod run_case;
