//! Reports as SARIF 2.1.0, which code hosts and editors show at the lines themselves.

use super::{Issue, Level, Report, Spot, json::verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A log with one run that has the results of all reports.
pub fn sarif(reports: &[&Report]) -> Value {
    let kinds: BTreeSet<&str> = reports
        .iter()
        .flat_map(|report| report.issues.iter().map(|issue| issue.kind))
        .collect();
    let rules: Vec<Value> = kinds
        .iter()
        .map(|kind| json!({ "id": kind, "name": kind }))
        .collect();
    let mut results = Vec::new();
    let mut notes = Vec::new();
    for report in reports {
        let name = &report.source.name;
        results.extend(report.issues.iter().map(|issue| result(name, issue)));
        results.extend(report.outputs.iter().filter_map(|output| {
            let difference = output.difference?;
            let text = format!(
                "`{}`[{}] is {}, wanted {}; {} elements differ",
                output.buffer,
                difference.index,
                difference.got,
                difference.wanted,
                difference.count
            );
            Some(json!({
                "ruleId": "output",
                "level": "error",
                "message": { "text": text },
                "locations": [location(name, &Spot::default(), None)],
            }))
        }));
        if let Some(failure) = &report.failure {
            notes.push(json!({ "level": "error", "message": { "text": failure.to_string() } }));
        }
    }
    let done = notes.is_empty();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "warpsmith",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{ "executionSuccessful": done, "toolExecutionNotifications": notes }],
            "results": results,
        }],
    })
}

fn result(file: &str, issue: &Issue) -> Value {
    let related: Vec<Value> = issue
        .other
        .iter()
        .filter(|spot| spot.line.is_some())
        .map(|spot| location(file, spot, Some("the other place")))
        .collect();
    let text = match issue.help.is_empty() {
        true => issue.message.clone(),
        false => format!("{}; {}", issue.message, issue.help),
    };
    json!({
        "ruleId": issue.kind,
        "level": match issue.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        },
        "message": { "text": text },
        "locations": [location(file, &issue.place, None)],
        "relatedLocations": related,
        "occurrenceCount": issue.count.max(1),
        "properties": {
            "kernel": issue.kernel,
            "source": issue.place.origin,
            "block": issue.place.block,
            "thread": issue.place.thread,
            "address": issue.address,
            "verdict": verdict(issue.verdict),
        },
    })
}

fn location(file: &str, spot: &Spot, message: Option<&str>) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
    if let Some(line) = spot.line {
        physical["region"] =
            json!({ "startLine": line, "startColumn": spot.column.unwrap_or(1).max(1) });
    }
    let mut out = json!({ "physicalLocation": physical });
    if let Some(message) = message {
        out["message"] = json!({ "text": message });
    }
    out
}

/// A path as a relative URI: what a URI has no letter for is escaped.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            b'\\' => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
