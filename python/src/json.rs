//! Reports as JSON for the Python half: what `--format json` prints, each finding with its drawing and its advice.

use serde_json::{Value, json};
use warpsmith::report::{Level, Paint, Report, Status};

/// One object: `findings`, `printed`, `status`, and `failure` as `[exception, text]`.
pub(crate) fn of(report: &Report) -> String {
    let mut all = report.to_json();
    let drawn: Vec<Value> = report
        .issues
        .iter()
        .map(|issue| {
            json!({
                "text": report.source.draw(issue, Paint::Plain),
                "help": issue.help,
                "column": issue.place.column,
                "level": match issue.level {
                    Level::Note => "note",
                    Level::Warning => "warning",
                    Level::Error => "error",
                },
            })
        })
        .collect();
    if let Some(findings) = all["findings"].as_array_mut() {
        for (finding, drawn) in findings.iter_mut().zip(drawn) {
            if let (Some(finding), Value::Object(drawn)) = (finding.as_object_mut(), drawn) {
                finding.extend(drawn);
            }
        }
    }
    all["failure"] = match &report.failure {
        Some(failure) => {
            let (kind, text) = crate::errors::script(failure);
            let kind = match report.status() {
                Status::Unsupported => "UnsupportedError",
                Status::Clean | Status::Findings | Status::Error => kind,
            };
            json!([kind, text])
        }
        None => Value::Null,
    };
    all.to_string()
}
