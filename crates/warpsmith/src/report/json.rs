//! Reports as JSON.

use super::{Issue, Level, Report, Status};
use crate::script::Error;
use serde_json::{Value, json};
use warpsmith_vgpu::check::Verdict;

impl Report {
    /// One object: findings, outputs, status, what was printed if anything was, and why it did not run if it did not.
    pub fn to_json(&self) -> Value {
        let outputs: Vec<Value> = self
            .outputs
            .iter()
            .map(|output| {
                let first = output.difference.map(|difference| {
                    json!({
                        "index": difference.index,
                        "got": difference.got.to_json(),
                        "wanted": difference.wanted.to_json(),
                    })
                });
                json!({
                    "buffer": output.buffer,
                    "ok": output.difference.is_none(),
                    "first_difference": first,
                })
            })
            .collect();
        let mut all = json!({
            "findings": self.issues.iter().map(issue).collect::<Vec<_>>(),
            "outputs": outputs,
            "status": self.status().name(),
        });
        if !self.printed.is_empty() {
            all["printed"] = json!(self.printed);
        }
        if let Some(failure) = &self.failure {
            all["failure"] = self.why(failure);
        }
        all
    }

    /// Why it did not run, or not to its end, and where it was then.
    fn why(&self, failure: &Error) -> Value {
        let mut why = json!({"message": failure.to_string()});
        if let Error::Device(warpsmith_vgpu::Error::Fault(fault)) = failure {
            let spot = self.source.spot(fault.span);
            why["kernel"] = json!(fault.kernel);
            why["line"] = json!(spot.line);
            why["source"] = json!(spot.origin.as_ref().map(ToString::to_string));
            why["block"] = json!(fault.cta);
            why["thread"] = json!(fault.thread);
        }
        why
    }
}

/// The reports of several files as one such object, each finding with its `file`.
pub fn json(reports: &[&Report]) -> Value {
    let mut findings = Vec::new();
    let mut outputs = Vec::new();
    for report in reports {
        let Value::Object(mut one) = report.to_json() else {
            continue;
        };
        if let Some(Value::Array(found)) = one.remove("findings") {
            findings.extend(found.into_iter().map(|mut finding| {
                finding["file"] = json!(report.source.name);
                finding
            }));
        }
        if let Some(Value::Array(compared)) = one.remove("outputs") {
            outputs.extend(compared);
        }
    }
    let status = reports.iter().map(|report| report.status()).max();
    let mut all = json!({
        "findings": findings,
        "outputs": outputs,
        "status": status.unwrap_or(Status::Clean).name(),
    });
    let failed = reports.iter().filter(|report| report.failure.is_some());
    let failures: Vec<Value> = failed
        .filter_map(|report| {
            let mut why = report.why(report.failure.as_ref()?);
            why["file"] = json!(report.source.name);
            Some(why)
        })
        .collect();
    if !failures.is_empty() {
        all["failures"] = json!(failures);
    }
    all
}

fn issue(issue: &Issue) -> Value {
    let other = issue.other.as_ref();
    let allocation = issue.allocation.as_ref().map(|allocation| {
        json!({
            "name": allocation.name,
            "start": allocation.start,
            "bytes": allocation.bytes,
            "distance": allocation.distance,
        })
    });
    let mut all = json!({
        "kind": issue.kind,
        "kernel": issue.kernel,
        "entry_line": issue.entry_line,
        "line": issue.place.line,
        "source": issue.place.origin.as_ref().map(ToString::to_string),
        "other_line": other.and_then(|spot| spot.line),
        "other_source": other.and_then(|spot| spot.origin.as_ref()).map(ToString::to_string),
        "block": issue.place.block,
        "thread": issue.place.thread,
        "address": issue.address,
        "allocation": allocation,
        "count": issue.count,
        "message": issue.message,
        "verdict": verdict(issue),
    });
    if issue.place.chain.len() > 1 {
        let chain = issue.place.chain.iter().map(ToString::to_string);
        all["inlined"] = json!(chain.collect::<Vec<_>>());
    }
    all
}

/// As reports name it.
pub(super) fn verdict(issue: &Issue) -> &'static str {
    match (issue.level, issue.verdict) {
        (Level::Note, Verdict::Bug) => "no fault",
        (Level::Warning | Level::Error, Verdict::Bug) => "bug in the kernel",
        (_, Verdict::NotSupported) => "not supported here",
    }
}
