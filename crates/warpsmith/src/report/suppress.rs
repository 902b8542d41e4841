//! Suppressions: a file of findings that are known and not reported.
//!
//! One a line: a kind, a kernel and a PTX line, each of them or `*`; `#` starts a comment.
//! `race_global my_kernel 42`, `uninit_register * *`.

use super::Issue;

/// Findings that are not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    kind: Option<String>,
    kernel: Option<String>,
    line: Option<u32>,
}

/// A line that is no suppression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected `KIND KERNEL LINE`, each of them or `*`, found `{found}`")]
pub struct UnknownRule {
    /// Which line.
    pub line: usize,
    /// What it says.
    pub found: String,
}

impl std::str::FromStr for Suppressions {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Suppressions, UnknownRule> {
        let mut rules = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let words = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = words.split_whitespace().collect();
            let given = |word: &str| (word != "*").then(|| word.to_owned());
            let rule = match words[..] {
                [] => continue,
                [kind, kernel, "*"] => Some((kind, kernel, None)),
                [kind, kernel, line] => line.parse().ok().map(|line| (kind, kernel, Some(line))),
                _ => None,
            };
            let (kind, kernel, line) = rule.ok_or_else(|| UnknownRule {
                line: at + 1,
                found: line.chars().take(80).collect(),
            })?;
            rules.push(Rule {
                kind: given(kind),
                kernel: given(kernel),
                line,
            });
        }
        Ok(Suppressions(rules))
    }
}

impl Suppressions {
    /// Whether an issue is not reported.
    pub fn cover(&self, issue: &Issue) -> bool {
        self.0.iter().any(|rule| {
            rule.kind.as_ref().is_none_or(|kind| kind == issue.kind)
                && rule
                    .kernel
                    .as_ref()
                    .is_none_or(|name| *name == issue.kernel)
                && rule.line.is_none_or(|line| issue.place.line == Some(line))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_others_refused() {
        let text = "# known\nrace_global k 42 # why\n\n* * 7\nleak k *\n";
        assert_eq!(text.parse::<Suppressions>().expect("rules").0.len(), 3);
        for (text, line) in [("\nx y", 2), ("x y z", 1), ("a b 1 2", 1)] {
            let error = text.parse::<Suppressions>().expect_err("no rule");
            assert_eq!(error.line, line);
        }
    }
}
