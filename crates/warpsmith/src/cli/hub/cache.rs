//! The cache of the hub, as all of its programs lay it out: `models--OWNER--NAME` with `refs`, `blobs` and `snapshots`.

use anyhow::{Context, Result, bail};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What names of folders of models begin with.
const PREFIX: &str = "models--";

/// All of it.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// The home of the hub's programs.
    pub(super) home: PathBuf,
    root: PathBuf,
}

/// A repository in it.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    root: PathBuf,
}

/// What is there of a repository.
#[derive(Debug)]
pub(crate) struct Held {
    /// `OWNER/NAME`.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// When the last of it was fetched.
    pub(crate) changed: SystemTime,
    pub(crate) files: Vec<String>,
}

fn folder(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

impl Cache {
    /// Where `HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME` or `HOME` say.
    pub(crate) fn of_environment() -> Result<Cache> {
        let usual = || {
            let base = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
            base.map(|base| base.join("huggingface"))
        };
        let home = folder("HF_HOME").or_else(usual);
        let home = home.context("there is no HOME: HF_HOME says where models are kept")?;
        let root = folder("HF_HUB_CACHE").unwrap_or_else(|| home.join("hub"));
        Ok(Cache { home, root })
    }

    /// Where a repository is, or is to be.
    pub(crate) fn repository(&self, name: &str) -> Repository {
        let name = name.replace('/', "--");
        Repository {
            root: self.root.join(format!("{PREFIX}{name}")),
        }
    }

    /// All repositories of models, by name.
    pub(crate) fn list(&self) -> Result<Vec<Held>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).context("cannot read the cache"),
        };
        let mut all = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let repository = Repository { root: entry.path() };
            let (bytes, changed) = measured(&entry.path());
            let commit = repository.commit("main");
            all.push(Held {
                name: name.replacen("--", "/", 1),
                bytes,
                changed,
                files: commit.map_or_else(Vec::new, |commit| repository.files(&commit)),
            });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Takes a repository away.
    ///
    /// # Errors
    /// One that is not there.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let repository = self.repository(name);
        if !repository.root.is_dir() {
            bail!("{name} is not in the cache");
        }
        fs::remove_dir_all(&repository.root).with_context(|| format!("cannot remove {name}"))
    }
}

/// Bytes of the files below a folder, links not followed, and when the last of them was written.
fn measured(folder: &Path) -> (u64, SystemTime) {
    let (mut bytes, mut changed) = (0, SystemTime::UNIX_EPOCH);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let (more, when) = match metadata.is_dir() {
            true => measured(&entry.path()),
            false if metadata.is_file() => (metadata.len(), metadata.modified().unwrap_or(changed)),
            false => (0, changed),
        };
        bytes += more;
        changed = changed.max(when);
    }
    (bytes, changed)
}

impl Repository {
    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    /// The commit that a branch was at when it was fetched last.
    pub(super) fn commit(&self, branch: &str) -> Option<String> {
        let commit = fs::read_to_string(self.root.join("refs").join(branch)).ok()?;
        let commit = commit.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Says at which commit a branch is.
    pub(super) fn name(&self, branch: &str, commit: &str) -> Result<()> {
        let refs = self.root.join("refs");
        fs::create_dir_all(&refs)
            .and_then(|()| fs::write(refs.join(branch), commit))
            .context("cannot write to the cache")
    }

    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    pub(super) fn file(&self, commit: &str, file: &str) -> PathBuf {
        self.snapshot(commit).join(file)
    }

    pub(super) fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// The files of a commit that are there.
    pub(super) fn files(&self, commit: &str) -> Vec<String> {
        let snapshot = self.snapshot(commit);
        let (mut files, mut folders) = (Vec::new(), vec![snapshot.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.is_file()
                    && let Ok(inside) = path.strip_prefix(&snapshot)
                {
                    files.push(inside.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        files.sort_unstable();
        files
    }

    /// Has a file of a commit be a blob.
    pub(super) fn link(&self, commit: &str, file: &str, etag: &str) -> Result<()> {
        let target = self.file(commit, file);
        let parent = target.parent().context("a file has a folder")?;
        let up = "../".repeat(2 + file.matches('/').count());
        let made = fs::create_dir_all(parent).and_then(|()| {
            match linked(&format!("{up}blobs/{etag}"), &target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            }
        });
        made.context("cannot write to the cache")
    }
}

#[cfg(unix)]
fn linked(blob: &str, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(blob, target)
}

#[cfg(not(unix))]
fn linked(blob: &str, target: &Path) -> io::Result<()> {
    let parent = target.parent().unwrap_or(target);
    fs::copy(parent.join(blob), target).map(drop)
}

/// Whether this can be the name of a commit, and of a folder.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a switch of the environment is on.
pub(super) fn is_set(name: &str) -> bool {
    let value = env::var(name).unwrap_or_default().to_lowercase();
    matches!(value.as_str(), "1" | "true" | "yes" | "on")
}
