//! Which files of a repository a model is.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// What belongs to a folder with a model, beside its weights.
const BESIDE: [&str; 14] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "vocab.json",
    "vocabulary.json",
    "vocabulary.txt",
    "merges.txt",
    "normalizer.json",
    "preprocessor_config.json",
];
const INDEX: &str = "model.safetensors.index.json";
/// Weights in one file, in the order in which they are preferred.
const WHOLE: [&str; 2] = ["model.safetensors", "model.bin"];

/// What is fetched.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) files: Vec<String>,
    /// The one file that is the model, if it is one.
    one: Option<String>,
}

impl Choice {
    /// What a loader is given.
    pub(super) fn place(&self, snapshot: &Path) -> PathBuf {
        match &self.one {
            Some(file) => snapshot.join(file),
            None => snapshot.to_owned(),
        }
    }

    fn one(file: &str) -> Choice {
        Choice {
            files: vec![file.to_owned()],
            one: Some(file.to_owned()),
        }
    }
}

/// The files that `wanted` names, or the one GGUF, or the weights with all that belongs to them.
///
/// # Errors
/// None, or several that might be meant: with their names.
pub(super) fn choose(files: &[String], wanted: Option<&str>) -> Result<Choice> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let ends = |end: &str| -> Vec<&str> {
        let named = files.iter().filter(|file| file.ends_with(end));
        named.map(String::as_str).collect()
    };
    let ggufs = ends(".gguf");
    if let Some(wanted) = wanted {
        if !has(wanted) {
            let there = match ggufs.is_empty() {
                true => files.join(", "),
                false => ggufs.join(", "),
            };
            bail!("there is no {wanted}, but {there}");
        }
        return Ok(Choice::one(wanted));
    }
    let mut weights: Vec<&str> = WHOLE.into_iter().filter(|name| has(name)).take(1).collect();
    if weights.is_empty() && has(INDEX) {
        weights = ends(".safetensors");
        weights.retain(|file| file.starts_with("model-"));
        weights.push(INDEX);
    }
    match (&ggufs[..], weights.is_empty()) {
        ([one], true) => return Ok(Choice::one(one)),
        ([], false) if has("config.json") => {}
        ([], _) => bail!("there is no GGUF, and no config.json with weights beside it"),
        (several, _) => {
            let several = several.join(", ");
            bail!("which of its files is meant (hf:OWNER/NAME:FILE)? {several}");
        }
    }
    let beside = BESIDE.into_iter().filter(|name| has(name));
    let all = beside.chain(weights).map(str::to_owned);
    Ok(Choice {
        files: all.collect(),
        one: None,
    })
}

#[cfg(test)]
mod tests {
    use super::choose;

    fn check(files: &[&str], wanted: Option<&str>) -> Result<Vec<String>, String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let choice = choose(&files, wanted).map_err(|error| error.to_string())?;
        Ok(choice.files)
    }

    #[test]
    fn one_gguf_or_the_weights_with_their_settings_and_several_are_listed() {
        assert_eq!(
            check(&["a.gguf", "README.md"], None),
            Ok(vec!["a.gguf".to_owned()])
        );
        assert_eq!(
            check(&["q/a.gguf", "b.gguf"], Some("q/a.gguf")),
            Ok(vec!["q/a.gguf".to_owned()])
        );
        let several = check(&["a.gguf", "b.gguf"], None).expect_err("two");
        assert!(several.contains("a.gguf, b.gguf"), "{several}");
        let none = check(&["a.gguf"], Some("c.gguf")).expect_err("none");
        assert!(none.contains("c.gguf") && none.contains("a.gguf"), "{none}");
        let both = check(&["a.gguf", "config.json", "model.safetensors"], None);
        assert!(both.expect_err("two kinds").contains("a.gguf"));
        let folder = [
            "README.md",
            "model.safetensors",
            "tokenizer.json",
            "config.json",
            "onnx/model.onnx",
            "model.bin",
        ];
        let want = ["config.json", "tokenizer.json", "model.safetensors"].map(str::to_owned);
        assert_eq!(check(&folder, None), Ok(want.to_vec()));
        let parts = [
            "config.json",
            "model.safetensors.index.json",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "other.safetensors",
        ];
        assert_eq!(check(&parts, None).map(|files| files.len()), Ok(4));
        assert!(check(&["README.md"], None).is_err());
        assert!(check(&["model.safetensors"], None).is_err());
    }
}
