//! `man`: the manual pages, made from the same texts as `--help`.

use super::{
    Cli,
    files::Files,
    output::{print, writable},
};
use anyhow::{Result, bail};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use std::path::PathBuf;

/// Prints a manual page, or writes all of them to a folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith man | man -l -
  warpsmith man generate | man -l -
  warpsmith man --out ~/.local/share/man/man1")]
pub(crate) struct ManualPages {
    /// The command whose page is printed [default: the page of warpsmith itself].
    command: Option<String>,
    /// Writes warpsmith.1 and a page for each command, warpsmith-generate.1 and so on, to this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

impl ManualPages {
    pub(crate) fn run(self) -> Result<()> {
        let pages = pages(Cli::command());
        if let Some(folder) = self.out {
            writable(&folder)?;
            let mut files = Files::default();
            for (name, page) in pages {
                let path = folder.join(format!("{name}.1"));
                let page = String::from_utf8(render(page)?)?;
                files.writes("--out", &path)?.draft()?.complete(&page)?;
            }
            return Ok(());
        }
        let wanted = match &self.command {
            Some(command) => format!("warpsmith-{command}"),
            None => "warpsmith".to_owned(),
        };
        let known: Vec<String> = pages.iter().map(|(name, _)| name.clone()).collect();
        match pages.into_iter().find(|(name, _)| *name == wanted) {
            Some((_, page)) => print(&String::from_utf8(render(page)?)?),
            None => bail!("no page `{wanted}`; there are {}", known.join(", ")),
        }
    }
}

/// The program and all commands below it, each with the name of its page.
fn pages(program: Command) -> Vec<(String, Command)> {
    fn add(command: Command, name: String, pages: &mut Vec<(String, Command)>) {
        let below: Vec<Command> = command.get_subcommands().cloned().collect();
        pages.push((name.clone(), command));
        for command in below {
            if command.get_name() != "help" && !command.is_hide_set() {
                let name = format!("{name}-{}", command.get_name());
                add(command, name, pages);
            }
        }
    }
    let name = program.get_name().to_owned();
    let mut pages = Vec::new();
    let mut program = program.disable_help_subcommand(true);
    program.build();
    add(program, name, &mut pages);
    pages
}

fn render(page: Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(page).render(&mut text)?;
    Ok(text)
}
