//! The widest engines where there is no wider one than the others.

use super::native;

/// Rows of f16.
pub(super) type WideF16 = native::F16;
/// Rows of bf16.
pub(super) type WideBf16 = native::Bf16;
