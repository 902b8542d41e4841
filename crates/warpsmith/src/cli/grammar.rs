//! Options that say what form a text has.

use super::{files::Files, output::printable, prompt::read_file};
use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;
use warpsmith::models::grammar::Grammar;

/// What the text is to be.
#[derive(Debug, Args)]
#[command(next_help_heading = "Form")]
pub(crate) struct GrammarArgs {
    /// The text is JSON of the JSON schema in this file. What of a schema is not done is an error with its keyword.
    #[arg(long, value_name = "F", group = "form")]
    json_schema: Option<PathBuf>,
    /// The text is what the rule `start` of the grammar in this file describes, in llguidance's form of Lark.
    #[arg(long, value_name = "F", group = "form")]
    grammar: Option<PathBuf>,
    /// The text as a whole is what this regular expression matches.
    #[arg(long, value_name = "RE", group = "form")]
    regex: Option<String>,
}

impl GrammarArgs {
    /// The files that are read.
    ///
    /// # Errors
    /// A file that is written.
    pub(crate) fn files(&self, files: &mut Files) -> Result<()> {
        let given = [
            ("--json-schema", &self.json_schema),
            ("--grammar", &self.grammar),
        ];
        given.iter().try_for_each(|(what, path)| match path {
            Some(path) => files.reads(what, path),
            None => Ok(()),
        })
    }

    /// The form that was asked for.
    pub(crate) fn read(&self) -> Result<Option<Grammar>> {
        if let Some(path) = &self.json_schema {
            let name = printable(&path.display().to_string());
            let schema = serde_json::from_str(&read_file(path)?);
            let schema = schema.with_context(|| format!("{name}: expected a JSON schema"))?;
            return Ok(Some(Grammar::Schema(schema)));
        }
        if let Some(path) = &self.grammar {
            return Ok(Some(Grammar::Lark(read_file(path)?)));
        }
        Ok(self.regex.clone().map(Grammar::Regex))
    }
}
