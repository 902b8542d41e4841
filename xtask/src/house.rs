//! Where things are: the workspace, its private tools, its build folder, the user's cache.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::run::Run;

/// The workspace this program belongs to.
pub(crate) struct House {
    root: PathBuf,
}

impl House {
    /// The workspace above the manifest of this crate.
    pub(crate) fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let xtask = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = xtask.join("..");
        let root = root.canonicalize().map_err(Error::io(&root))?;
        Ok(House { root })
    }

    /// The root of the workspace.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where programs that only we use are kept.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join(".tools")
    }

    /// A cargo command that runs at the root.
    pub(crate) fn cargo<const N: usize>(&self, args: [&str; N]) -> Run {
        Run::cargo().args(args).current_dir(&self.root)
    }

    /// What `cargo metadata` says, with the whole dependency graph.
    pub(crate) fn metadata(&self) -> Result<Value> {
        self.read_metadata(self.cargo(["metadata", "--format-version", "1"]))
    }

    /// Whether the workspace has a program called `name`.
    pub(crate) fn has_program(&self, name: &str) -> Result<bool> {
        let metadata =
            self.read_metadata(self.cargo(["metadata", "--format-version", "1", "--no-deps"]))?;
        let targets = each(&metadata["packages"]).flat_map(|package| each(&package["targets"]));
        let mut programs = targets.filter(|target| each(&target["kind"]).any(|kind| kind == "bin"));
        Ok(programs.any(|target| target["name"] == name))
    }

    /// The path that a release build gives the program called `name`.
    pub(crate) fn release_program(&self, name: &str) -> Result<PathBuf> {
        self.program("release", name)
    }

    /// The path that a build with `profile` gives the program called `name`.
    pub(crate) fn program(&self, profile: &str, name: &str) -> Result<PathBuf> {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        Ok(self.target()?.join(profile).join(file))
    }

    /// The folder that builds go to.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        let metadata =
            self.read_metadata(self.cargo(["metadata", "--format-version", "1", "--no-deps"]))?;
        let target = metadata["target_directory"].as_str().unwrap_or("target");
        Ok(self.root.join(target))
    }

    fn read_metadata(&self, run: Run) -> Result<Value> {
        let command = run.line();
        let text = run.read()?;
        serde_json::from_str(&text).map_err(|error| Error::Output {
            command,
            expected: "JSON",
            found: error.to_string(),
        })
    }
}

/// The user's cache folder for models: `$XDG_CACHE_HOME/warpsmith/models`, else under `~/.cache`.
pub(crate) fn model_cache() -> Result<PathBuf> {
    let absolute = |key| {
        std::env::var_os(key)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.ok_or(Error::NoCache)?.join("warpsmith").join("models"))
}

/// The elements of a JSON array; none where it is not one.
pub(crate) fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
