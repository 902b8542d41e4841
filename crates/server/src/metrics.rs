//! What the server counts, as Prometheus reads it.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use warpsmith_device::Snapshot;
use warpsmith_models::llama::EngineReport;

/// Upper bounds of times, in seconds.
const BOUNDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Times by how long they were.
#[derive(Debug, Default)]
struct Histogram {
    /// Times up to each bound and not the one before; the last are longer.
    counts: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    fn add(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let at = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[at].fetch_add(1, Relaxed);
        self.micros.fetch_add(time.as_micros() as u64, Relaxed);
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let mut sum = 0;
        for (at, count) in self.counts.iter().enumerate() {
            sum += count.load(Relaxed);
            let bound = BOUNDS.get(at).map_or("+Inf".to_owned(), f64::to_string);
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}");
        }
        let seconds = self.micros.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "{name}_sum{{{labels}}} {seconds}");
        let _ = writeln!(out, "{name}_count{{{labels}}} {sum}");
    }
}

/// What one engine did.
#[derive(Debug)]
pub(crate) struct EngineMetrics {
    labels: String,
    first: Histogram,
    between: Histogram,
    tokens: AtomicU64,
    faults: AtomicU64,
    vanished: AtomicU64,
    report: Mutex<EngineReport>,
}

impl EngineMetrics {
    /// A sequence has its first token.
    pub(crate) fn first(&self, after: Duration) {
        self.first.add(after);
        self.tokens.fetch_add(1, Relaxed);
    }

    /// It has another one.
    pub(crate) fn next(&self, after: Duration) {
        self.between.add(after);
        self.tokens.fetch_add(1, Relaxed);
    }

    pub(crate) fn fault(&self) {
        self.faults.fetch_add(1, Relaxed);
    }

    /// A client was gone before its answer was complete.
    pub(crate) fn vanished(&self) {
        self.vanished.fetch_add(1, Relaxed);
    }

    pub(crate) fn report(&self, report: &EngineReport) {
        *lock(&self.report) = *report;
    }
}

/// All that is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Requests by path and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    engines: Mutex<Vec<Arc<EngineMetrics>>>,
    /// Seconds of sound that were heard, in milliseconds.
    heard: AtomicU64,
}

/// What the routes know beside it.
#[derive(Debug, Default)]
pub(crate) struct Scraped {
    /// Model, and jobs that wait for it.
    pub(crate) waiting: Vec<(String, usize)>,
    pub(crate) counted: Snapshot,
}

impl Metrics {
    /// Those of an engine.
    pub(crate) fn engine(&self, model: &str, at: usize) -> Arc<EngineMetrics> {
        let metrics = Arc::new(EngineMetrics {
            labels: format!("model=\"{}\",engine=\"{at}\"", escaped(model)),
            first: Histogram::default(),
            between: Histogram::default(),
            tokens: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            vanished: AtomicU64::new(0),
            report: Mutex::new(EngineReport::default()),
        });
        lock(&self.engines).push(Arc::clone(&metrics));
        metrics
    }

    pub(crate) fn request(&self, path: &'static str, status: u16) {
        *lock(&self.requests).entry((path, status)).or_default() += 1;
    }

    pub(crate) fn heard(&self, seconds: f64) {
        self.heard.fetch_add((seconds * 1000.0) as u64, Relaxed);
    }

    /// The page of figures.
    pub(crate) fn write(&self, scraped: &Scraped) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        head(
            &mut out,
            "warpsmith_requests_total",
            "counter",
            "Requests by path and status.",
        );
        for ((path, status), count) in lock(&self.requests).iter() {
            let labels = format!("path=\"{path}\",status=\"{status}\"");
            let _ = writeln!(out, "warpsmith_requests_total{{{labels}}} {count}");
        }
        head(
            &mut out,
            "warpsmith_waiting",
            "gauge",
            "Continuations that wait for a place.",
        );
        for (model, waiting) in &scraped.waiting {
            let model = escaped(model);
            let _ = writeln!(out, "warpsmith_waiting{{model=\"{model}\"}} {waiting}");
        }
        let engines = lock(&self.engines);
        type Figure = fn(&EngineMetrics) -> u64;
        let figures: [(&str, &str, &str, Figure); 10] = [
            ("tokens_total", "counter", "Tokens drawn.", |m| {
                m.tokens.load(Relaxed)
            }),
            ("faults_total", "counter", "Engines that failed.", |m| {
                m.faults.load(Relaxed)
            }),
            (
                "vanished_total",
                "counter",
                "Continuations whose clients went away.",
                |m| m.vanished.load(Relaxed),
            ),
            ("pages", "gauge", "Pages of the cache.", |m| {
                lock(&m.report).pages.into()
            }),
            ("pages_used", "gauge", "Pages that sequences use.", |m| {
                let report = lock(&m.report);
                (report.pages - report.free_pages).into()
            }),
            (
                "pages_shared",
                "gauge",
                "Pages that several sequences use.",
                |m| lock(&m.report).shared_pages.into(),
            ),
            (
                "shared_tokens_total",
                "counter",
                "Tokens of prompts that another sequence began with.",
                |m| lock(&m.report).shared_tokens,
            ),
            ("steps_total", "counter", "Passes of sequences.", |m| {
                lock(&m.report).steps
            }),
            (
                "prompt_passes_total",
                "counter",
                "Passes of prompts.",
                |m| lock(&m.report).prompt_passes,
            ),
            (
                "evicted_total",
                "counter",
                "Sequences that waited again for pages.",
                |m| lock(&m.report).evicted,
            ),
        ];
        for (name, kind, help, figure) in figures {
            head(&mut out, &format!("warpsmith_{name}"), kind, help);
            for engine in engines.iter() {
                let (labels, value) = (&engine.labels, figure(engine));
                let _ = writeln!(out, "warpsmith_{name}{{{labels}}} {value}");
            }
        }
        type Times = fn(&EngineMetrics) -> &Histogram;
        let times: [(&str, &str, Times); 2] = [
            (
                "warpsmith_time_to_first_token_seconds",
                "From a request to its first token.",
                |m| &m.first,
            ),
            (
                "warpsmith_time_between_tokens_seconds",
                "From a token of a sequence to its next.",
                |m| &m.between,
            ),
        ];
        for (name, help, times) in times {
            head(&mut out, name, "histogram", help);
            for engine in engines.iter() {
                times(engine).write(name, &engine.labels, &mut out);
            }
        }
        let counted = scraped.counted;
        let heard = self.heard.load(Relaxed) as f64 / 1000.0;
        for (name, help, value) in [
            (
                "warpsmith_launches_total",
                "Kernels launched on all devices.",
                counted.launches as f64,
            ),
            (
                "warpsmith_to_device_bytes_total",
                "Bytes that went to devices.",
                counted.h2d_bytes as f64,
            ),
            (
                "warpsmith_from_device_bytes_total",
                "Bytes that came from devices.",
                counted.d2h_bytes as f64,
            ),
            (
                "warpsmith_heard_seconds_total",
                "Seconds of sound that were written down.",
                heard,
            ),
        ] {
            head(&mut out, name, "counter", help);
            let _ = writeln!(out, "{name} {value}");
        }
        out
    }
}

fn escaped(label: &str) -> String {
    label
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_up_to_their_bounds() {
        let metrics = Metrics::default();
        let engine = metrics.engine("a\"b", 0);
        engine.first(Duration::from_millis(5));
        engine.first(Duration::from_secs(100));
        metrics.request("/v1/models", 200);
        let text = metrics.write(&Scraped::default());
        let name = "warpsmith_time_to_first_token_seconds";
        let labels = "model=\"a\\\"b\",engine=\"0\"";
        for line in [
            format!("{name}_bucket{{{labels},le=\"0.0025\"}} 0"),
            format!("{name}_bucket{{{labels},le=\"0.005\"}} 1"),
            format!("{name}_bucket{{{labels},le=\"60\"}} 1"),
            format!("{name}_bucket{{{labels},le=\"+Inf\"}} 2"),
            format!("{name}_sum{{{labels}}} 100.005"),
            format!("warpsmith_tokens_total{{{labels}}} 2"),
            "warpsmith_requests_total{path=\"/v1/models\",status=\"200\"} 1".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
