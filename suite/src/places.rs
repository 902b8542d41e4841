//! Where downloaded files are.

use std::path::{Path, PathBuf};

/// The SmolLM2 file: `WARPSMITH_SMOLLM2`, else where `cargo xtask fetch` puts it.
///
/// # Panics
/// If it is not there, saying how to get it.
pub fn smollm2() -> PathBuf {
    let path = std::env::var_os("WARPSMITH_SMOLLM2")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache
                .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
            cache
                .expect("a home folder")
                .join("warpsmith/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        });
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask fetch`",
        path.display()
    );
    path
}
