//! Nothing of a model's file is ignored, and nothing is made up: what is not done is refused by name.

mod changes;
mod configurations;
mod folders;
mod keys;
mod remade;
mod rounding;
mod tensors;
