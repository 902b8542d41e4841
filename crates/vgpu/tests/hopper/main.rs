//! What cards have since Hopper: clusters, transaction barriers, bulk copies, tensor maps, products of warp groups.
#![allow(missing_docs)]

mod bulk;
mod clusters;
mod harness;
mod products;
mod tensor_copies;
mod tensor_kinds;
mod tensor_memory;
mod tensor_numbers;
mod tensor_products;
mod tensors;
mod triton;
