//! The methods that add operations to a graph, each with the checks of its operands.

mod attention;
mod basic;
mod pages;
mod speech;
