//! The sections about tokens: ours beside those of peers, the floor, the three ways to run a plan.

use super::{
    Found,
    table::{beside, head, table},
};
use crate::{
    part::{
        floor::Floor,
        model::{Long, Speed},
        ways::Ways,
    },
    stats::median,
};
use serde_json::Value;
use std::fmt::Write;

impl Found {
    pub(super) fn load_s(&self) -> Option<f64> {
        middle(self.first.iter().map(|run| run.load_s))
    }

    pub(super) fn first_token_s(&self) -> Option<f64> {
        middle(self.first.iter().map(|run| run.first_token_s))
    }

    pub(super) fn prefill_tok_s(&self) -> Option<f64> {
        self.prefill.as_ref().map(|speed| median(&speed.tok_s))
    }

    pub(super) fn decode_tok_s(&self) -> Option<f64> {
        self.decode.as_ref().map(|speed| median(&speed.tok_s))
    }

    /// The highest peak of any process that ran the model.
    pub(super) fn peak_mib(&self) -> Option<f64> {
        let first = self.first.iter().map(|run| run.peak_mib);
        let speeds = [&self.prefill, &self.decode].map(|speed| speed.as_ref()?.peak_mib);
        first.chain(speeds).flatten().reduce(f64::max)
    }
}

fn middle(of: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = of.collect();
    (!all.is_empty()).then(|| median(&all))
}

pub(super) fn write(out: &mut String, found: &Found, peers: &[Value]) -> std::fmt::Result {
    let (Some(prefill), Some(decode)) = (&found.prefill, &found.decode) else {
        return Ok(());
    };
    let mut rows = vec![
        (
            format!("prefill of {} tokens, tok/s", prefill.tokens),
            found.prefill_tok_s(),
            1,
            "/prefill/tok_s".to_owned(),
        ),
        (
            format!("decode of {} tokens from context 1, tok/s", decode.tokens),
            found.decode_tok_s(),
            1,
            "/decode/tok_s".to_owned(),
        ),
    ];
    rows.extend(found.long.iter().flat_map(|Long { prefill, decode }| {
        let speed =
            |name, speed: &Speed, at: &str| (name, Some(median(&speed.tok_s)), 1, at.into());
        let tokens = prefill.tokens;
        let prompt = format!("prefill of {tokens} tokens, tok/s");
        let behind = format!("decode from context {}, tok/s", decode.tokens);
        [
            speed(prompt, prefill, "/long/prefill/tok_s"),
            speed(behind, decode, "/long/decode/tok_s"),
        ]
    }));
    rows.extend(found.throughput.iter().flatten().map(|batch| {
        let sequences = batch.sequences;
        (
            format!("{sequences} sequences at once, tok/s of all"),
            Some(median(&batch.tok_s)),
            1,
            format!("/batch/{sequences}/tok_s"),
        )
    }));
    rows.extend([
        ("load, s".into(), found.load_s(), 2, "/load_s".into()),
        (
            "load to first token, s".into(),
            found.first_token_s(),
            2,
            String::new(),
        ),
        (
            "peak memory, MiB".into(),
            found.peak_mib(),
            0,
            "/peak_rss_mib".into(),
        ),
    ]);
    writeln!(out)?;
    let theirs = |peer: &Value, at: &String| peer.pointer(at).and_then(Value::as_f64);
    beside(out, peers, &rows, theirs)?;
    found
        .floor
        .iter()
        .try_for_each(|floor| self::floor(out, found, floor))
}

fn floor(out: &mut String, found: &Found, floor: &Floor) -> std::fmt::Result {
    writeln!(out, "\n## The floor\n")?;
    writeln!(
        out,
        "Measured in the same run with the same threads: reading an array as large as the weights over and over, and\n\
         fused multiply-adds of f32 in registers. Products on 8-bit and bf16 units can beat the second.\n"
    )?;
    let row = |name: &str, need: String, does: f64, unit: &str, best: f64, ours: Option<f64>| {
        let ours = ours.unwrap_or(f64::NAN);
        vec![
            name.to_owned(),
            need,
            format!("{:.1} {unit}", does / 1e9),
            format!("{best:.1}"),
            format!("{ours:.1}"),
            format!("{:.0} %", 100.0 * ours / best),
        ]
    };
    table(
        out,
        &[
            head([
                "",
                "a token needs",
                "the machine does",
                "floor, tok/s",
                "ours",
                "of it",
            ]),
            row(
                "decode",
                format!("{:.1} MB of weights", floor.weight_bytes as f64 / 1e6),
                floor.read_bytes_s,
                "GB/s",
                floor.decode_tok_s(),
                found.decode_tok_s(),
            ),
            row(
                "prefill",
                format!("{:.3} GFLOP", floor.prefill_flops / 1e9),
                floor.fma_flops_s,
                "GFLOP/s",
                floor.prefill_tok_s(),
                found.prefill_tok_s(),
            ),
        ],
    )
}

pub(super) fn ways(out: &mut String, ways: &Ways) -> std::fmt::Result {
    writeln!(out, "\n## Three ways to run a plan\n")?;
    writeln!(
        out,
        "{} tokens after a prompt of one. Launches of a replay are replays; host time is that of enqueuing a token's\n\
         work.\n",
        ways.tokens
    )?;
    let mut rows = vec![head([
        "way",
        "tok/s",
        "launches",
        "host time per token",
        "bytes moved",
    ])];
    for way in &ways.ways {
        let host = way
            .enqueue_us
            .map_or("-".into(), |us| format!("{us:.1} us"));
        rows.push(vec![
            way.name.clone(),
            format!("{:.1}", median(&way.tok_s)),
            way.launches.to_string(),
            host,
            way.moved.to_string(),
        ]);
    }
    table(out, &rows)
}
