//! The documents of the repository: their Rust is compiled and run as the doctests of this crate.

/// The README's kernel.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The map of the house.
#[cfg(doctest)]
#[doc = include_str!("../../ARCHITECTURE.md")]
pub struct Architecture;

/// One example for each part of the other library.
#[cfg(doctest)]
#[doc = include_str!("../../docs/coming-from-trueno-gpu.md")]
pub struct ComingFromTruenoGpu;

/// The guide to the kernel language.
#[cfg(doctest)]
#[doc = include_str!("../../docs/kernels.md")]
pub struct Kernels;

/// The same kernels in three languages.
#[cfg(doctest)]
#[doc = include_str!("../../docs/side-by-side.md")]
pub struct SideBySide;
