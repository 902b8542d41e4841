//! Project automation: `cargo xtask help`.

fn main() {}
