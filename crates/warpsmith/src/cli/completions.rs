//! `completions`: what shells need to complete commands and options.

use super::{Cli, output::print};
use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

/// Prints the completions for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith completions bash > ~/.local/share/bash-completion/completions/warpsmith
  warpsmith completions zsh > ~/.zfunc/_warpsmith    # with fpath+=~/.zfunc before compinit
  warpsmith completions fish > ~/.config/fish/completions/warpsmith.fish")]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<()> {
        let mut text = Vec::new();
        generate(self.shell, &mut Cli::command(), "warpsmith", &mut text);
        print(&String::from_utf8(text)?)
    }
}
