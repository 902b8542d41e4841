//! A typed kernel language in Rust that builds PTX.
