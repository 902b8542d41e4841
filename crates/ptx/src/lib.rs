//! The PTX language as data: IR, ISA table, parser, printer, analyses, verifier.
//!
//! A [`Module`](ir::Module) is what everyone here exchanges. The laws of a module:
//! - ids are dense indices into the arena of the function or module that made them;
//! - labels are numbered in the order the body places them, so that `parse(print(m)) == m`;
//! - an instruction is an opcode, its dotted qualifiers in order, and its operands in order,
//!   exactly as the PTX ISA manual writes them; the [`isa`] table says which combinations exist;
//! - a [`Span`](ir::Span) says where a statement came from and takes no part in equality;
//! - only [`verify`] makes a [`Verified`](verify::Verified), and only that is printed for a device or run.
#![forbid(unsafe_code)]

pub mod cfg;
pub mod diag;
pub mod findings;
pub mod ir;
pub mod isa;
pub mod op;
pub mod parse;
pub mod print;
pub mod qual;
pub mod special;
pub mod target;
pub mod types;
pub mod uniform;
pub mod verify;
pub mod visit;
