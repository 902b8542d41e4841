//! Reports as SARIF 2.1.0, which code hosts and editors show at the lines themselves.
//!
//! A result is at the line of the source that the PTX was compiled from, where that is a file of the repository; the
//! PTX line is related then, and so are the other places of code that was inlined.

use super::{Folders, Issue, Level, Origin, Report, Spot, folders::plain, json::verdict};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// What stands for the folder that paths are relative to.
const ROOT: &str = "%SRCROOT%";

/// A log with one run that has the results of all reports; `category` tells it from runs of other commands.
pub fn sarif(reports: &[&Report], folders: &Folders, category: &str) -> Value {
    let kinds: BTreeSet<&str> = reports
        .iter()
        .flat_map(|report| report.issues.iter().map(|issue| issue.kind))
        .collect();
    let differs = reports
        .iter()
        .any(|report| report.outputs.iter().any(|o| o.difference.is_some()));
    let rules: Vec<Value> = kinds
        .iter()
        .copied()
        .chain(differs.then_some("output"))
        .map(|kind| json!({ "id": kind, "name": kind, "shortDescription": { "text": kind } }))
        .collect();
    let mut results = Vec::new();
    let mut notes = Vec::new();
    for report in reports {
        let file = report.source.name.as_str();
        let places = Places { file, folders };
        results.extend(report.issues.iter().map(|issue| places.result(issue)));
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
                "locations": [places.ptx(&Spot::default(), None)],
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
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            } },
            "automationDetails": { "id": format!("{category}/") },
            "originalUriBaseIds": { ROOT: { "uri": folder(&folders.root) } },
            "invocations": [{ "executionSuccessful": done, "toolExecutionNotifications": notes }],
            "results": results,
        }],
    })
}

/// The places of a PTX file's findings.
struct Places<'r> {
    file: &'r str,
    folders: &'r Folders,
}

impl Places<'_> {
    fn result(&self, issue: &Issue) -> Value {
        let mut related = Vec::new();
        let ptx = |message| self.ptx(&issue.place, message);
        let mut spot = issue.place.clone();
        spot.settle(Some(self.folders));
        let place = match spot.origin.as_ref().and_then(|one| self.source(one, None)) {
            Some(source) => {
                related.extend(issue.place.line.map(|_| ptx(Some("the PTX instruction"))));
                source
            }
            None => ptx(None),
        };
        let (inner, outer) = spot.around();
        let inner = inner
            .iter()
            .map(|one| self.anywhere(one, "the code that was inlined"));
        related.extend(inner);
        related.extend(
            outer
                .iter()
                .map(|one| self.anywhere(one, "where that was inlined")),
        );
        if let Some(mut other) = issue.other.clone() {
            other.settle(Some(self.folders));
            let source = other.origin.as_ref();
            related.extend(source.and_then(|one| self.source(one, Some("the other place"))));
            let message = match related.is_empty() || source.is_none() {
                true => "the other place",
                false => "the other place, in PTX",
            };
            related.extend(other.line.map(|_| self.ptx(&other, Some(message))));
        }
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
            "locations": [place],
            "relatedLocations": related,
            "occurrenceCount": issue.count.max(1),
            "properties": {
                "kernel": issue.kernel,
                "source": spot.origin.as_ref().map(ToString::to_string),
                "block": issue.place.block,
                "thread": issue.place.thread,
                "address": issue.address,
                "verdict": verdict(issue),
            },
        })
    }

    /// A place in the PTX file.
    fn ptx(&self, spot: &Spot, message: Option<&str>) -> Value {
        // A place in a file is a line of it, for what concerns the whole file the first one.
        let region = Some((spot.line.unwrap_or(1), spot.column.unwrap_or(1)));
        let file = self.artifact(self.file);
        location(
            file.unwrap_or_else(|| self.elsewhere(self.file)),
            region,
            message,
        )
    }

    /// A place in a file of the repository that PTX was compiled from.
    fn source(&self, origin: &Origin, message: Option<&str>) -> Option<Value> {
        let region = (origin.line, origin.column.max(1));
        Some(location(
            self.artifact(&origin.file)?,
            Some(region),
            message,
        ))
    }

    /// A place in any file that PTX was compiled from.
    fn anywhere(&self, origin: &Origin, message: &str) -> Value {
        let region = (origin.line, origin.column.max(1));
        let file = self.artifact(&origin.file);
        let file = file.unwrap_or_else(|| self.elsewhere(&origin.file));
        location(file, Some(region), Some(message))
    }

    /// A file of the repository.
    fn artifact(&self, file: &str) -> Option<Value> {
        let inside = self.folders.inside(file)?;
        let uri = uri(&inside.to_string_lossy());
        Some(json!({ "uri": uri, "uriBaseId": ROOT }))
    }

    fn elsewhere(&self, file: &str) -> Value {
        let path = plain(&self.folders.current.join(file));
        json!({ "uri": format!("file://{}", uri(&path.to_string_lossy())) })
    }
}

fn location(artifact: Value, region: Option<(u32, u32)>, message: Option<&str>) -> Value {
    let mut physical = json!({ "artifactLocation": artifact });
    if let Some((line, column)) = region {
        physical["region"] = json!({ "startLine": line.max(1), "startColumn": column.max(1) });
    }
    let mut out = json!({ "physicalLocation": physical });
    if let Some(message) = message {
        out["message"] = json!({ "text": message });
    }
    out
}

fn folder(path: &Path) -> String {
    let text = uri(&plain(path).to_string_lossy());
    format!("file://{}/", text.trim_end_matches('/'))
}

/// A path as a URI: what a URI has no letter for is escaped.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_repository_are_relative_to_it() {
        let folders = Folders {
            current: "/srv/me/repo/sub".into(),
            root: "/srv/me/repo".into(),
        };
        let places = Places {
            file: "k.ptx",
            folders: &folders,
        };
        for (file, wanted) in [
            ("k.cu", Some("sub/k.cu")),
            ("../src/./k.cu", Some("src/k.cu")),
            ("/srv/me/repo/a b.cu", Some("a%20b.cu")),
            ("/usr/local/cuda/include/x.h", None),
            ("../../other/k.cu", None),
        ] {
            let found = places.artifact(file);
            let uri = found.as_ref().and_then(|found| found["uri"].as_str());
            assert_eq!(uri, wanted, "{file}");
        }
        assert_eq!(folder(&folders.root), "file:///srv/me/repo/");
    }
}
