//! What the driver tells of its work: calls to a trace; modules, faults and findings to a folder.

use crate::{
    settings::{PREFIX, Settings},
    site::Site,
    table::lock,
};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    ffi::CStr,
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
    time::Instant,
};
use warpsmith_ptx::{ir::Span, verify::Verified};
use warpsmith_vgpu::{
    Error, Fault, FaultKind,
    check::{Access, Allocation, Finding, Place, Verdict},
};

/// Opens a file that several processes add lines to.
fn open(path: &Path) -> Option<Mutex<File>> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.ok().map(Mutex::new)
}

fn add(file: &Mutex<File>, line: &str) {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    // A report that cannot be written must not stop the program that is reported on.
    let _written = file.write_all(format!("{line}\n").as_bytes());
}

/// The trace, if one is asked for; before the driver is initialised, too.
fn trace_file() -> Option<&'static Mutex<File>> {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = std::env::var_os(format!("{PREFIX}TRACE"))?;
        open(Path::new(&path))
    });
    file.as_ref()
}

/// A call that is traced, from its beginning.
pub(crate) struct Call {
    file: &'static Mutex<File>,
    began: Instant,
}

impl Call {
    /// Nothing unless calls are traced.
    pub(crate) fn begin() -> Option<Call> {
        let file = trace_file()?;
        let began = Instant::now();
        Some(Call { file, began })
    }

    /// Notes what the call came to, and how long it took.
    pub(crate) fn end(self, name: &str, code: u32, meaning: Option<&CStr>) {
        let us = 1e6 * self.began.elapsed().as_secs_f64();
        let line = match meaning.filter(|_| code != 0) {
            Some(meaning) => format!("{name} = {code} {} ({us:.1} us)", meaning.to_string_lossy()),
            None => format!("{name} = {code} ({us:.1} us)"),
        };
        add(self.file, &line);
    }
}

/// Notes a function that was asked for and is not here.
pub(crate) fn missed(name: &str) {
    if let Some(file) = trace_file() {
        add(file, &format!("{name} was asked for and is not here"));
    }
}

/// What a call asked for that is not done here.
pub(crate) fn lacks(what: &str) {
    if let Some(file) = trace_file() {
        add(file, &format!("not supported: {what}"));
    }
    event(&json!({ "event": "unsupported", "what": what }));
}

/// What is told, and where: set when the driver is initialised.
struct Report {
    folder: Option<PathBuf>,
    /// Whether calls that touch memory that is not there are told of.
    checks: bool,
}

static REPORT: OnceLock<Report> = OnceLock::new();

/// Begins to tell.
pub(crate) fn begin(settings: &Settings) {
    let _the_first_counts = REPORT.set(Report {
        folder: settings.report.clone(),
        checks: settings.checks.is_some(),
    });
}

/// The report's folder, if one is asked for.
fn folder() -> Option<&'static Path> {
    REPORT.get()?.folder.as_deref()
}

/// Adds an event to the report.
fn event(value: &Value) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let Some(folder) = folder() else {
        return;
    };
    let name = format!("events-{}.jsonl", std::process::id());
    if let Some(file) = FILE.get_or_init(|| open(&folder.join(name))) {
        add(file, &value.to_string());
    }
}

/// Which module a kernel was last launched from.
static MODULES: Mutex<Option<FxHashMap<String, u64>>> = Mutex::new(None);

/// Keeps a module's text, by a number, and the names of its kernels.
pub(crate) fn module(text: &str, verified: &Verified) -> u64 {
    static NEXT: Mutex<u64> = Mutex::new(0);
    let Some(folder) = folder() else {
        return 0;
    };
    let number = {
        let mut next = lock(&NEXT);
        *next += 1;
        *next
    };
    let name = format!("module-{}-{number}.ptx", std::process::id());
    if fs::write(folder.join(&name), text).is_ok() {
        let kernels: Vec<&str> = verified.functions.iter().map(|f| f.name.as_ref()).collect();
        for kernel in &kernels {
            runs(kernel, number);
        }
        event(&json!({ "event": "module", "file": name, "kernels": kernels }));
    }
    number
}

/// A kernel of this module is launched.
pub(crate) fn runs(kernel: &str, module: u64) {
    if module == 0 {
        return;
    }
    let mut modules = lock(&MODULES);
    let modules = modules.get_or_insert_default();
    match modules.get_mut(kernel) {
        Some(known) => *known = module,
        None => {
            modules.insert(kernel.to_owned(), module);
        }
    }
}

fn file_of(kernel: &str) -> Value {
    let number = lock(&MODULES)
        .as_ref()
        .and_then(|all| all.get(kernel).copied());
    number.map_or(Value::Null, |number| {
        json!(format!("module-{}-{number}.ptx", std::process::id()))
    })
}

/// A launch: its number and where the program made it. A copy to the host has number 0.
#[derive(Clone, Default)]
pub(crate) struct Launched {
    pub(crate) number: u64,
    pub(crate) site: Option<Site>,
}

impl Launched {
    fn site(&self) -> Option<String> {
        self.site.as_ref()?.words()
    }
}

thread_local! {
    /// The launch that the engine on this thread runs.
    static RUNNING: RefCell<Launched> = RefCell::default();
}

/// From now on this thread runs a launch.
pub(crate) fn begins(launch: Launched) {
    RUNNING.with_borrow_mut(|running| *running = launch);
}

/// Where blocks were allocated.
static SITES: Mutex<Option<FxHashMap<u64, Site>>> = Mutex::new(None);

/// Keeps who allocated a block.
pub(crate) fn allocated(address: u64, site: Site) {
    lock(&SITES).get_or_insert_default().insert(address, site);
}

/// Who allocated a block.
fn site_of(start: u64) -> Option<String> {
    let site = lock(&SITES).as_ref()?.get(&start).cloned();
    site?.words()
}

fn span(span: Span) -> Value {
    match span {
        Span::Ptx { line, column } => json!({ "line": line, "column": column }),
        Span::None | Span::Rust(_) => Value::Null,
    }
}

fn place(place: &Place) -> Value {
    let access = place.access.map(|access| match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic",
    });
    json!({
        "kernel": place.kernel, "at": span(place.span), "cta": place.cta, "thread": place.thread, "access": access,
    })
}

fn allocation(block: &Allocation) -> Value {
    let site = site_of(block.start);
    json!({
        "name": block.name, "start": block.start, "bytes": block.bytes, "distance": block.distance, "site": site,
    })
}

/// Tells of something that the checker found.
pub(crate) fn found(finding: &Finding) {
    let launch = RUNNING.with_borrow(Clone::clone);
    event(&json!({
        "event": "finding",
        "kind": finding.kind.name(),
        "file": file_of(&finding.place.kernel),
        "place": place(&finding.place),
        "other": finding.other.as_ref().map(place),
        "address": finding.address,
        "allocation": finding.allocation.as_ref().map(allocation),
        "count": finding.count,
        "message": finding.message,
        "help": finding.help,
        "bug": finding.verdict == Verdict::Bug,
        "launch": launch.number,
        "site": launch.site(),
    }));
}

/// Tells why a launch ended before its end.
pub(crate) fn failed(error: &Error) {
    if let Some(file) = trace_file() {
        add(file, &error.to_string());
    }
    let launch = RUNNING.with_borrow(Clone::clone);
    let Error::Fault(fault) = error else {
        let what = error.to_string();
        event(
            &json!({ "event": "error", "message": what, "launch": launch.number, "site": launch.site() }),
        );
        return;
    };
    let Fault {
        kind,
        kernel,
        span: at,
        cta,
        thread,
        address,
    } = fault;
    let kind = match kind {
        FaultKind::OutOfBounds { .. } => "out_of_bounds",
        FaultKind::Misaligned { .. } => "misaligned",
        FaultKind::Trap => "trap",
        FaultKind::Assert => "assert",
        FaultKind::Deadlock { .. } => "deadlock",
        FaultKind::Partial { .. } => "barrier_divergence",
        FaultKind::TwoPlaces { .. } => "unsupported",
        FaultKind::Stopped => "stopped",
        FaultKind::Budget { .. } => "budget",
        FaultKind::StackFull { .. } => "stack_full",
        FaultKind::Misuse(_) => "misuse",
    };
    event(&json!({
        "event": "fault",
        "kind": kind,
        "file": file_of(kernel),
        "place": { "kernel": kernel, "at": span(*at), "cta": cta, "thread": thread, "access": Value::Null },
        "address": address,
        "message": fault.to_string(),
        "launch": launch.number,
        "site": launch.site(),
    }));
}

/// Where a block was allocated, in words.
fn allocated_at(start: u64) -> String {
    site_of(start)
        .map(|site| format!(", allocated at {site}"))
        .unwrap_or_default()
}

fn misused(address: u64, what: &str, site: impl FnOnce() -> Site) {
    if REPORT.get().is_some_and(|report| report.checks) {
        let site = site().words();
        event(&json!({ "event": "misuse", "address": address, "message": what, "site": site }));
    }
}

/// Tells of a copy or a fill that goes past the end of a block.
pub(crate) fn copies_past(
    address: u64,
    bytes: u64,
    (start, len): (u64, u64),
    site: impl FnOnce() -> Site,
) {
    let inside = address - start;
    let by = allocated_at(start);
    let what = format!(
        "a copy or fill of {bytes} bytes from byte {inside} of a block of {len} bytes on{by}"
    );
    misused(address, &what, site);
}

/// Tells of a copy or a fill of what is no memory of a card.
pub(crate) fn copies_nowhere(address: u64, bytes: u64, site: impl FnOnce() -> Site) {
    let what =
        format!("a copy or fill of {bytes} bytes at 0x{address:x}, where no card has memory now");
    misused(address, &what, site);
}

/// Tells why a module was refused.
pub(crate) fn refused(log: &str) {
    if let Some(file) = trace_file() {
        add(file, log);
    }
    event(&json!({ "event": "refused", "log": log }));
}

/// Shows what kernels have printed.
pub(crate) fn printed(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut out = std::io::stdout().lock();
    // As a card's driver, which says nothing where the program has closed its output.
    let _written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
