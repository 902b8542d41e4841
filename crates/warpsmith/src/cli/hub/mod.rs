//! Models by name: `hf:OWNER/NAME[:FILE]`, fetched from huggingface.co or a mirror into the cache that its other programs
//! share, and found there again.

pub(crate) mod cache;
mod choice;
mod client;

use super::output::{printable, warn};
use anyhow::{Context, Result, bail};
use cache::{Cache, is_set};
use choice::choose;
use client::{Client, Unreachable};
use std::path::{Path, PathBuf};

/// What a name begins with.
const SCHEME: &str = "hf:";
/// The branch that is fetched.
const BRANCH: &str = "main";

/// A repository, and a file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// `OWNER/NAME`.
    pub(crate) repository: String,
    file: Option<String>,
}

impl Name {
    /// The name that a path is; none if it is the path of a file.
    ///
    /// # Errors
    /// One that is not complete.
    pub(crate) fn of(path: &Path) -> Result<Option<Name>> {
        let Some(text) = path.to_str().and_then(|text| text.strip_prefix(SCHEME)) else {
            return Ok(None);
        };
        let (repository, file) = match text.split_once(':') {
            Some((repository, file)) => (repository, Some(file)),
            None => (text, None),
        };
        let is_word = |word: &str| {
            let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !word.is_empty() && word.chars().all(letter) && !word.starts_with('.')
        };
        let whole = repository
            .split_once('/')
            .is_some_and(|(owner, name)| is_word(owner) && is_word(name));
        let inside = |file: &str| {
            let mut parts = file.split('/');
            parts.all(|part| !matches!(part, "" | "." | "..") && !part.contains('\\'))
        };
        if !whole || !file.is_none_or(inside) {
            let shown = printable(text);
            bail!("hf:{shown}: expected hf:OWNER/NAME or hf:OWNER/NAME:FILE");
        }
        Ok(Some(Name {
            repository: repository.to_owned(),
            file: file.map(str::to_owned),
        }))
    }

    /// What a server calls the model of a folder.
    pub(crate) fn short(&self) -> &str {
        let end = self.repository.rsplit('/').next();
        end.unwrap_or(&self.repository)
    }
}

/// The path of a model: what was given, or where the files of a name are, fetched now if they are not there.
///
/// # Errors
/// What the hub says: no such repository or file, no access, no connection.
pub(crate) fn local(path: &Path) -> Result<PathBuf> {
    match Name::of(path)? {
        None => Ok(path.to_owned()),
        Some(name) => fetched(&name).with_context(|| format!("hf:{}", name.repository)),
    }
}

/// [`local`] in place.
pub(crate) fn localise(path: &mut PathBuf) -> Result<()> {
    *path = local(path)?;
    Ok(())
}

fn fetched(name: &Name) -> Result<PathBuf> {
    let cache = Cache::of_environment()?;
    let folder = cache.repository(&name.repository);
    if is_set("HF_HUB_OFFLINE") {
        return cached(&folder, name)?.with_context(|| {
            let place = printable(&folder.path().display().to_string());
            format!("it is not in {place}, and HF_HUB_OFFLINE says to look nowhere else")
        });
    }
    let client = Client::of_environment(&cache)?;
    let listed = match client.list(&name.repository, BRANCH) {
        Ok(listed) => listed,
        Err(error) if error.is::<Unreachable>() => {
            // What is there is used where nothing else can be.
            let Some(found) = cached(&folder, name)? else {
                return Err(error);
            };
            warn(&format!(
                "warning: {error:#}: using what was fetched before"
            ));
            return Ok(found);
        }
        Err(error) => return Err(error),
    };
    let choice = choose(&listed.files, name.file.as_deref())?;
    for file in &choice.files {
        let target = folder.file(&listed.commit, file);
        if !target.exists() {
            client.fetch(&name.repository, &listed.commit, file, &folder)?;
        }
    }
    folder.name(BRANCH, &listed.commit)?;
    Ok(choice.place(&folder.snapshot(&listed.commit)))
}

/// Where the files of a name are, if all that belong to it were fetched before.
fn cached(folder: &cache::Repository, name: &Name) -> Result<Option<PathBuf>> {
    let Some(commit) = folder.commit(BRANCH) else {
        return Ok(None);
    };
    let snapshot = folder.snapshot(&commit);
    let files = folder.files(&commit);
    let known = name.file.as_ref().is_none_or(|file| files.contains(file));
    if files.is_empty() || !known {
        return Ok(None);
    }
    Ok(Some(choose(&files, name.file.as_deref())?.place(&snapshot)))
}

#[cfg(test)]
mod tests {
    use super::Name;
    use std::path::Path;

    #[test]
    fn names_are_read_and_what_is_none_is_a_path_or_refused() {
        let name = |text: &str| Name::of(Path::new(text));
        let read = |text: &str| name(text).expect("a name or a path");
        assert_eq!(read("model.gguf"), None);
        assert_eq!(read("dir/hf:x"), None);
        let found = read("hf:a-b/C.d_1:dir/x.gguf").expect("a name");
        assert_eq!(
            (found.repository.as_str(), found.file.as_deref()),
            ("a-b/C.d_1", Some("dir/x.gguf"))
        );
        assert_eq!(found.short(), "C.d_1");
        for text in [
            "hf:",
            "hf:a",
            "hf:a/b/c",
            "hf:a/",
            "hf:/b",
            "hf:a/b:",
            "hf:a/b:../x",
            "hf:a/b:/x",
            "hf:../b",
            "hf:a/b:x\\y",
        ] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
