//! What the driver tells: lines of JSON in its folder, as reports of the modules they are about.

use crate::cli::{
    output::{printable, warn},
    show::Show,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};
use warpsmith::{
    ptx::{ir::Span, parse::parse},
    report::{Issue, Level, Report, Source, Spot, Suppressions},
    vgpu::check::{Access, Allocation, Kind, Verdict},
};

/// All that was told so far.
pub(super) struct Events {
    folder: PathBuf,
    suppressions: Suppressions,
    /// How far each file was read.
    files: BTreeMap<PathBuf, u64>,
    reports: Vec<Report>,
    by_file: BTreeMap<String, usize>,
    /// What is to be shown: a text, or an issue of a report.
    waiting: Vec<String>,
}

impl Events {
    pub(super) fn new(folder: PathBuf, suppressions: Suppressions) -> Events {
        Events {
            folder,
            suppressions,
            files: BTreeMap::new(),
            reports: Vec::new(),
            by_file: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Takes in what was written since.
    pub(super) fn read(&mut self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "jsonl")
            })
            .collect();
        paths.sort();
        for path in paths {
            let from = self.files.get(&path).copied().unwrap_or(0);
            let Some(new) = new_lines(&path, from) else {
                continue;
            };
            self.files.insert(path, from + new.len() as u64);
            for line in new.lines() {
                if let Ok(event) = serde_json::from_str::<Value>(line) {
                    self.take(&event);
                }
            }
        }
    }

    fn take(&mut self, event: &Value) {
        match event["event"].as_str() {
            Some("finding") => self.finding(event),
            Some("fault") => self.fault(event),
            Some("misuse") => self.misuse(event),
            Some("error") => {
                let what = event["message"].as_str().unwrap_or_default();
                self.waiting
                    .push(format!("error: {}{}\n", printable(what), launch(event)));
            }
            Some("refused") => {
                let log = event["log"].as_str().unwrap_or_default();
                let lines = log
                    .lines()
                    .take(20)
                    .map(|line| format!("{}\n", printable(line)));
                self.waiting.push(format!(
                    "a module was refused:\n{}",
                    lines.collect::<String>()
                ));
            }
            Some("unsupported") => {
                let what = event["what"].as_str().unwrap_or_default();
                self.waiting
                    .push(format!("not supported: {}\n", printable(what)));
            }
            // Modules are read when something is found in them.
            Some(_) | None => {}
        }
    }

    /// The report of the module that an event is about.
    fn report(&mut self, event: &Value) -> usize {
        let name = event["file"].as_str().unwrap_or("the program");
        if let Some(at) = self.by_file.get(name) {
            return *at;
        }
        let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let mut source = Source::new(name, text);
        if let Ok(module) = parse(source.text()) {
            source.describe(&module);
        }
        self.reports.push(Report {
            source,
            ..Report::default()
        });
        let at = self.reports.len() - 1;
        self.by_file.insert(name.to_owned(), at);
        at
    }

    fn finding(&mut self, event: &Value) {
        let Some(kind) = event["kind"]
            .as_str()
            .and_then(|kind| kind.parse::<Kind>().ok())
        else {
            return;
        };
        let at = self.report(event);
        let source = &self.reports[at].source;
        let (kernel, place) = place(source, &event["place"]);
        let other = (!event["other"].is_null()).then(|| {
            let (other, spot) = self::place(source, &event["other"]);
            Spot {
                kernel: (other != kernel).then_some(other),
                ..spot
            }
        });
        let owned = |text: &Value| text.as_str().unwrap_or_default().to_owned();
        let block = &event["allocation"];
        let allocation = (!block.is_null()).then(|| Allocation {
            name: block["name"].as_str().map(|name| name.to_owned().into()),
            start: block["start"].as_u64().unwrap_or(0),
            bytes: block["bytes"].as_u64().unwrap_or(0),
            distance: block["distance"].as_i64().unwrap_or(0),
        });
        let by = block["site"]
            .as_str()
            .map(|site| format!("; it was allocated at {site}"));
        let message = format!(
            "{}{}{}",
            owned(&event["message"]),
            by.unwrap_or_default(),
            launch(event)
        );
        let level = match kind {
            Kind::BenignRace => Level::Note,
            _ => Level::Error,
        };
        let issue = Issue {
            kind: kind.name(),
            level,
            entry_line: source.entry_line(&kernel),
            kernel,
            place,
            other,
            address: event["address"].as_u64(),
            allocation,
            count: event["count"].as_u64().unwrap_or(1),
            message,
            help: owned(&event["help"]),
            verdict: if event["bug"] == true {
                Verdict::Bug
            } else {
                Verdict::NotSupported
            },
        };
        self.add(at, issue);
    }

    /// A fault that ended a launch; where it was looked for it was found already, at the same place.
    fn fault(&mut self, event: &Value) {
        let at = self.report(event);
        let source = &self.reports[at].source;
        let (kernel, place) = place(source, &event["place"]);
        let kind = match event["kind"].as_str() {
            Some("out_of_bounds") => Kind::OobGlobal.name(),
            Some("misaligned") => Kind::Misaligned.name(),
            Some("deadlock") => Kind::Deadlock.name(),
            Some("barrier_divergence") => Kind::BarrierDivergence.name(),
            Some("stack_full") => Kind::OobLocal.name(),
            Some("assert") => "assert",
            Some("budget") => "budget",
            Some("trap") => "trap",
            Some(_) | None => "fault",
        };
        let message = event["message"].as_str().unwrap_or_default();
        let issue = Issue {
            kind,
            level: Level::Error,
            entry_line: source.entry_line(&kernel),
            kernel,
            place,
            other: None,
            address: event["address"].as_u64(),
            allocation: None,
            count: 1,
            message: format!("{message}{}", launch(event)),
            help: String::new(),
            verdict: Verdict::Bug,
        };
        self.add(at, issue);
    }

    /// A call of the program that touches memory that is not there.
    fn misuse(&mut self, event: &Value) {
        let at = self.report(&Value::Null);
        let message = event["message"].as_str().unwrap_or_default();
        let by = event["site"]
            .as_str()
            .map(|site| format!("; called at {site}"));
        let issue = Issue {
            kind: Kind::OobGlobal.name(),
            level: Level::Error,
            kernel: String::new(),
            entry_line: None,
            place: Spot::default(),
            other: None,
            address: event["address"].as_u64(),
            allocation: None,
            count: 1,
            message: format!("{message}{}", by.unwrap_or_default()),
            help: "compare the bytes with the size of the block".to_owned(),
            verdict: Verdict::Bug,
        };
        let report = &mut self.reports[at];
        // Calls have no place in a kernel to tell them apart by.
        if !report
            .issues
            .iter()
            .any(|known| known.message == issue.message)
        {
            self.waiting.push(Show::issue(&report.source, &issue));
            report.issues.push(issue);
        }
    }

    fn add(&mut self, at: usize, issue: Issue) {
        if self.suppressions.cover(&issue) {
            return;
        }
        let report = &mut self.reports[at];
        if !report.issues.iter().any(|known| known.is_same(&issue)) {
            self.waiting.push(Show::issue(&report.source, &issue));
        }
        report.add(issue);
    }

    /// Shows what was not shown yet.
    pub(super) fn show(&mut self) {
        for text in self.waiting.drain(..) {
            warn(text.trim_end_matches('\n'));
        }
    }

    /// How many different findings there are.
    pub(super) fn found(&self) -> usize {
        let issues = self.reports.iter().flat_map(|report| &report.issues);
        issues.filter(|issue| issue.level > Level::Note).count()
    }

    pub(super) fn reports(&self) -> &[Report] {
        &self.reports
    }
}

/// Whole lines from a place of a file on.
fn new_lines(path: &Path, from: u64) -> Option<String> {
    let mut file = fs::File::open(path).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
    bytes.truncate(end + 1);
    String::from_utf8(bytes).ok()
}

/// Which launch it was, and where the program made it.
fn launch(event: &Value) -> String {
    let number = event["launch"].as_u64().filter(|number| *number > 0);
    let Some(number) = number else {
        // Of a copy only the place is told.
        let site = event["site"].as_str();
        return site.map_or_else(String::new, |site| format!("; called at {site}"));
    };
    match event["site"].as_str() {
        Some(site) => format!("; launch {number}, made at {site}"),
        None => format!("; launch {number}"),
    }
}

/// A place with its kernel.
fn place(source: &Source, value: &Value) -> (String, Spot) {
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let three = |value: &Value| Some([number(&value[0])?, number(&value[1])?, number(&value[2])?]);
    let span = match (number(&value["at"]["line"]), number(&value["at"]["column"])) {
        (Some(line), Some(column)) => Span::Ptx { line, column },
        _ => Span::None,
    };
    let access = match value["access"].as_str() {
        Some("read") => Some(Access::Read),
        Some("write") => Some(Access::Write),
        Some("atomic") => Some(Access::Atomic),
        Some(_) | None => None,
    };
    let spot = Spot {
        block: three(&value["cta"]),
        thread: three(&value["thread"]),
        access,
        ..source.spot(span)
    };
    (
        value["kernel"].as_str().unwrap_or_default().to_owned(),
        spot,
    )
}
