//! Reports as JSON.

use super::{Issue, Report};
use serde_json::{Value, json};
use warpsmith_vgpu::check::Verdict;

impl Report {
    /// One object: findings, outputs, status.
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
        json!({
            "findings": self.issues.iter().map(issue).collect::<Vec<_>>(),
            "outputs": outputs,
            "status": self.status().name(),
        })
    }
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
    json!({
        "kind": issue.kind,
        "kernel": issue.kernel,
        "entry_line": issue.entry_line,
        "line": issue.place.line,
        "source": issue.place.origin,
        "other_line": other.and_then(|spot| spot.line),
        "other_source": other.and_then(|spot| spot.origin.as_ref()),
        "block": issue.place.block,
        "thread": issue.place.thread,
        "address": issue.address,
        "allocation": allocation,
        "count": issue.count,
        "message": issue.message,
        "verdict": verdict(issue.verdict),
    })
}

/// As reports name it.
pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Bug => "bug in the kernel",
        Verdict::NotSupported => "not supported here",
    }
}
