//! What a line of a conversation that begins with a slash asks for.

use std::path::PathBuf;

/// A line that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing.
    Empty,
    /// A message to the model.
    Message(String),
    /// A command.
    Command(Command),
    /// A command that there is not.
    Unknown(String),
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    /// The conversation begins anew.
    Reset,
    /// What the system message says, or nothing to show it.
    System(Option<String>),
    /// Another answer to the last message.
    Regenerate,
    /// The last message and its answer are taken back.
    Undo,
    /// Writes the messages to a file.
    Save(PathBuf),
    /// Ends the program.
    Quit,
}

/// Names with what they do.
const COMMANDS: [(&str, &str); 8] = [
    ("/help", "shows this"),
    ("/reset", "begins the conversation anew (also /clear)"),
    (
        "/system TEXT",
        "sets what the system message says, and begins anew; without TEXT shows it",
    ),
    (
        "/regenerate",
        "gives another answer to the last message (also /retry)",
    ),
    ("/undo", "takes the last message and its answer back"),
    (
        "/save FILE",
        "writes the conversation as JSON, which `generate --messages FILE` goes on with",
    ),
    ("/quit", "ends the program (also /exit, Ctrl-D)"),
    ("//", "begins a message that itself begins with a slash"),
];

/// The text of `/help`.
pub(super) fn help() -> String {
    let width = COMMANDS
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (name, does) in COMMANDS {
        text += &format!("  {name:<width$}  {does}\n");
    }
    text + "A message of several lines: paste it; or end a line with \\ to go on; or put it between two lines of \"\"\".\n\
            Ctrl-C stops an answer."
}

/// Names of commands that begin with `start`.
pub(super) fn beginning_with(start: &str) -> Vec<String> {
    let names = COMMANDS.iter().map(|(name, _)| *name);
    let names = names.chain(["/clear", "/retry", "/exit"]);
    let whole = names.map(|name| name.split(' ').next().unwrap_or(name));
    whole
        .filter(|name| *name != "//" && name.starts_with(start))
        .map(str::to_owned)
        .collect()
}

impl Line {
    /// What `text` is, complete as [`is_complete`] says.
    pub(super) fn of(text: &str) -> Line {
        let text = message(text);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Line::Empty;
        }
        if let Some(escaped) = trimmed.strip_prefix("//") {
            return Line::Message(format!("/{escaped}"));
        }
        if !trimmed.starts_with('/') || trimmed.contains('\n') {
            return Line::Message(trimmed.to_owned());
        }
        let (name, rest) = trimmed
            .split_once(char::is_whitespace)
            .unwrap_or((trimmed, ""));
        let rest = rest.trim();
        let alone = |command| match rest {
            "" => Line::Command(command),
            _ => Line::Unknown(trimmed.to_owned()),
        };
        match name {
            "/help" | "/?" => alone(Command::Help),
            "/reset" | "/clear" => alone(Command::Reset),
            "/regenerate" | "/retry" => alone(Command::Regenerate),
            "/undo" => alone(Command::Undo),
            "/quit" | "/exit" | "/bye" => alone(Command::Quit),
            "/system" => {
                Line::Command(Command::System((!rest.is_empty()).then(|| rest.to_owned())))
            }
            "/save" if !rest.is_empty() => Line::Command(Command::Save(rest.into())),
            _ => Line::Unknown(trimmed.to_owned()),
        }
    }
}

/// What begins and ends a message of several lines.
const FENCE: &str = "\"\"\"";

/// Whether a message ends here: not behind a backslash, nor between two fences.
pub(super) fn is_complete(text: &str) -> bool {
    let fenced = text.trim_start().strip_prefix(FENCE);
    match fenced {
        Some(inside) => inside.contains(FENCE),
        None => !text.trim_end_matches(['\r', '\n']).ends_with('\\'),
    }
}

/// The message without fences, and without the backslashes that joined its lines.
fn message(text: &str) -> String {
    if let Some(inside) = text.trim().strip_prefix(FENCE) {
        let inside = inside
            .split_once(FENCE)
            .map_or(inside, |(inside, _)| inside);
        return inside.trim_matches(['\r', '\n']).to_owned();
    }
    let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
    let mut lines: Vec<&str> = lines.collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line = line.strip_suffix('\\').unwrap_or(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Command, Line, beginning_with, help, is_complete};

    #[test]
    fn lines_are_messages_or_commands() {
        let message = |text: &str| Line::Message(text.to_owned());
        for (text, want) in [
            ("", Line::Empty),
            (" \r\n", Line::Empty),
            ("hello \r\n", message("hello")),
            ("/help", Line::Command(Command::Help)),
            ("  /clear\n", Line::Command(Command::Reset)),
            ("/reset", Line::Command(Command::Reset)),
            ("/retry", Line::Command(Command::Regenerate)),
            ("/undo", Line::Command(Command::Undo)),
            ("/exit\n", Line::Command(Command::Quit)),
            ("/quit", Line::Command(Command::Quit)),
            ("/system", Line::Command(Command::System(None))),
            (
                "/system Be  kind\n",
                Line::Command(Command::System(Some("Be  kind".into()))),
            ),
            (
                "/save a b.json",
                Line::Command(Command::Save("a b.json".into())),
            ),
            ("/save", Line::Unknown("/save".into())),
            ("/reset now", Line::Unknown("/reset now".into())),
            (
                "/usr/bin is a folder",
                Line::Unknown("/usr/bin is a folder".into()),
            ),
            ("//usr/bin is a folder", message("/usr/bin is a folder")),
            ("/a\nb", message("/a\nb")),
            ("one \\\ntwo\\\r\nthree", message("one \ntwo\nthree")),
            ("\"\"\"\n a\\\n/quit\n\"\"\"\n", message("a\\\n/quit")),
            ("\"\"\"one\"\"\"", message("one")),
        ] {
            assert_eq!(Line::of(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_message_goes_on_behind_a_backslash_and_between_fences() {
        for (text, want) in [
            ("a", true),
            ("a\\", false),
            ("a\\\nb", true),
            ("a\\\r\n", false),
            ("\"\"\"", false),
            ("\"\"\"a\\", false),
            ("\"\"\"\na\n\"\"\"", true),
            ("say \"\"\"", true),
        ] {
            assert_eq!(is_complete(text), want, "{text:?}");
        }
    }

    #[test]
    fn every_command_of_the_help_is_one() {
        for name in beginning_with("/") {
            let asked = match name.as_str() {
                "/save" => "/save x".to_owned(),
                name => name.to_owned(),
            };
            assert!(matches!(Line::of(&asked), Line::Command(_)), "{name}");
            let known = help().contains(name.as_str());
            assert!(known, "{name}");
        }
        assert_eq!(beginning_with("/re"), ["/reset", "/regenerate", "/retry"]);
    }
}
