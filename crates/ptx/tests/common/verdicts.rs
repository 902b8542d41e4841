//! Small modules with what NVIDIA's assembler says of each.

use std::path::Path;

/// What becomes of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is taken.
    Takes,
    /// It is wrong.
    Refuses,
    /// It is right, and not done here.
    Unsupported,
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its line, for messages.
    pub(crate) line: usize,
    /// What it should be for us.
    pub(crate) verdict: Verdict,
    /// What the assembler is asked for.
    pub(crate) arch: String,
    /// The text.
    pub(crate) text: String,
}

/// All cases: `verdict | version target [arch] | text`, where the text has no head of its own.
pub(crate) fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts.txt");
    let table = std::fs::read_to_string(path).unwrap();
    let lines = table.lines().enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| case(at + 1, line))
        .collect()
}

fn case(line: usize, text: &str) -> Case {
    let mut fields = text.splitn(3, " | ");
    let mut field = || {
        fields
            .next()
            .unwrap_or_else(|| panic!("line {line}: a field is missing"))
    };
    let verdict = match field() {
        "takes" => Verdict::Takes,
        "refuses" => Verdict::Refuses,
        "unsupported" => Verdict::Unsupported,
        other => panic!("line {line}: verdict `{other}`"),
    };
    let head: Vec<&str> = field().split(' ').collect();
    let body = field().replace("\\n", "\n").replace("\\\\", "\\");
    let text = match head[..] {
        ["-", _] => body,
        [version, target, ..] => {
            format!(".version {version}\n.target {target}\n.address_size 64\n{body}")
        }
        _ => panic!("line {line}: a head is a version and a target"),
    };
    Case {
        line,
        verdict,
        arch: head[head.len() - 1].to_owned(),
        text: text + "\n",
    }
}
