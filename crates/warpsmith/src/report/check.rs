//! A PTX file checked without running it.

use super::{Issue, Level, Report, Source};
use crate::script::{Error, ptx_of, read_ptx};
use std::path::Path;
use warpsmith_ptx::{
    diag::{Code, Diagnostic},
    findings::{self, Limits},
    parse::parse,
    verify::verify,
};
use warpsmith_vgpu::check::Verdict;

/// Parses, verifies and looks through a file; what does not parse could not be checked.
pub fn check_file(path: &Path, limits: Limits) -> Report {
    check(path, read_ptx(path), limits)
}

/// The same of a text that `name` is the name of.
pub fn check_text(name: &Path, text: &str, limits: Limits) -> Report {
    check(name, ptx_of(name, text.as_bytes()), limits)
}

fn check(path: &Path, text: Result<String, Error>, limits: Limits) -> Report {
    let mut report = Report::default();
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            report.source = Source::new(path.display().to_string(), String::new());
            report.failure = Some(error);
            return report;
        }
    };
    report.source = Source::new(path.display().to_string(), text);
    let module = match parse(report.source.text()) {
        Ok(module) => module,
        Err(found) => {
            for one in &found {
                let issue = refusal(&report.source, "syntax", one);
                report.add(issue);
            }
            report.failure = Some(Error::Ptx {
                path: path.to_owned(),
                found,
            });
            return report;
        }
    };
    report.source.describe(&module);
    for finding in findings::find(&module, limits) {
        let issue = report.source.static_issue(&finding);
        report.add(issue);
    }
    if let Err(mut found) = verify(module) {
        for one in &found {
            let issue = report.source.diagnostic_issue(one);
            let issue = issue.unwrap_or_else(|| refusal(&report.source, "verify", one));
            let told = report
                .issues
                .iter()
                .any(|known| known.kind == issue.kind && known.place.line == issue.place.line);
            if !told {
                report.add(issue);
            }
        }
        // What is wrong was found; what is not done here was not looked at.
        let bug = |issue: &Issue| issue.verdict == Verdict::Bug && issue.level > Level::Note;
        found.retain(is_unsupported);
        if !found.is_empty() && !report.issues.iter().any(bug) {
            report.failure = Some(Error::Ptx {
                path: path.to_owned(),
                found,
            });
        }
    }
    report
}

/// Whether a refusal says that something legal is not done here.
pub(super) fn is_unsupported(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::Unsupported { .. })
}

/// The kind of what the parser or the verifier refuses.
fn kind(diagnostic: &Diagnostic, other: &'static str) -> &'static str {
    match &diagnostic.code {
        Code::Unsupported { .. } => "unsupported",
        Code::ParamLimit { .. } => "param_limit",
        Code::ConstLimit { .. } => "const_limit",
        Code::ZeroBound { .. } | Code::Conflict { .. } => "launch_bounds",
        Code::TooNewForTarget { .. }
        | Code::TooNewForVersion { .. }
        | Code::TargetNeedsVersion { .. }
        | Code::ShortAddresses => "target",
        _ => other,
    }
}

/// What the parser or the verifier refuses.
fn refusal(source: &Source, kind: &'static str, diagnostic: &Diagnostic) -> Issue {
    let kernel = diagnostic.function.as_deref().unwrap_or_default();
    Issue {
        kind: self::kind(diagnostic, kind),
        level: Level::Error,
        kernel: kernel.to_owned(),
        entry_line: source.entry_line(kernel),
        place: source.spot(diagnostic.span),
        other: diagnostic.other.map(|span| source.spot(span)),
        address: None,
        allocation: None,
        count: 1,
        message: diagnostic.code.to_string(),
        help: diagnostic.help.as_deref().unwrap_or_default().to_owned(),
        verdict: match is_unsupported(diagnostic) {
            true => Verdict::NotSupported,
            false => Verdict::Bug,
        },
    }
}
