//! The user's own folders, which tell own files from those of libraries.

use std::path::{Component, Path, PathBuf};

/// The folders that paths are read from and written for.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Where relative names of files begin.
    pub current: PathBuf,
    /// The repository.
    pub root: PathBuf,
}

impl Folders {
    /// A file of the repository, relative to it; `None` for others.
    pub(super) fn inside(&self, file: &str) -> Option<PathBuf> {
        let path = plain(&self.current.join(file.replace('\\', "/")));
        let inside = path.strip_prefix(plain(&self.root)).ok()?;
        Some(inside.to_owned())
    }
}

/// A path without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
