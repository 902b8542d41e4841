//! A table of faults: the kernel, the sizes at which it shows, sizes at which it does not, and who is named.

use std::{collections::BTreeSet, fmt};
use warpsmith::vgpu::check::Kind;

/// How far apart those are who do wrong together, or how much of a launch it takes to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Lanes of a warp, or a thread alone.
    Lane,
    /// Warps of a CTA.
    Warp,
    /// CTAs of a launch.
    Cta,
    /// A whole launch, or several.
    Launch,
}

/// What a kernel `(a, b, n)` is launched with. `a` holds 0, 1, ... 47 and then zeros; nobody wrote `b`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) n: u32,
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    /// Words of `a` and `b`.
    pub(crate) a: u32,
    pub(crate) b: u32,
    /// A kernel that is launched after it.
    pub(crate) then: Option<&'static str>,
}

impl Sizes {
    pub(crate) const fn a(self, a: u32) -> Sizes {
        Sizes { a, ..self }
    }

    pub(crate) const fn b(self, b: u32) -> Sizes {
        Sizes { b, ..self }
    }

    pub(crate) const fn shared(self, shared: u32) -> Sizes {
        Sizes { shared, ..self }
    }

    pub(crate) const fn then(self, then: &'static str) -> Sizes {
        let then = Some(then);
        Sizes { then, ..self }
    }

    /// The words of `a`.
    pub(crate) fn words(&self) -> Vec<u8> {
        let words = (0..self.a).map(|i| if i < 48 { i } else { 0 });
        words.flat_map(u32::to_le_bytes).collect()
    }
}

/// CTAs, threads of each, and n.
pub(crate) const fn at(grid: u32, block: u32, n: u32) -> Sizes {
    Sizes {
        grid,
        block,
        n,
        shared: 0,
        a: 256,
        b: 256,
        then: None,
    }
}

/// A kernel with a fault; its twin has the same name with `_clean` behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kernel: &'static str,
    pub(crate) kind: Kind,
    pub(crate) reach: Reach,
    /// Where it shows.
    pub(crate) shows: Sizes,
    /// Where it does not: the fault is one of awkward sizes.
    pub(crate) hides: Option<Sizes>,
    /// The CTA and the thread of the first report, where they follow from the kernel.
    pub(crate) who: Option<(u32, u32)>,
}

impl Fault {
    /// At these sizes all is well.
    pub(crate) const fn hides(self, hides: Sizes) -> Fault {
        let hides = Some(hides);
        Fault { hides, ..self }
    }

    pub(crate) const fn by(self, cta: u32, thread: u32) -> Fault {
        let who = Some((cta, thread));
        Fault { who, ..self }
    }
}

pub(crate) const fn fault(kernel: &'static str, kind: Kind, reach: Reach, shows: Sizes) -> Fault {
    Fault {
        kernel,
        kind,
        reach,
        shows,
        hides: None,
        who: None,
    }
}

/// A fault as the tally counts it.
#[derive(Clone, Debug)]
pub(crate) struct Planted {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) reach: Reach,
    /// Whether it shows at awkward sizes only.
    pub(crate) awkward: bool,
}

impl From<&Fault> for Planted {
    fn from(fault: &Fault) -> Planted {
        Planted {
            kind: fault.kind,
            name: fault.kernel.to_owned(),
            reach: fault.reach,
            awkward: fault.hides.is_some(),
        }
    }
}

/// What was reported, with lines of the source that people wrote.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) kind: String,
    pub(crate) line: Option<u32>,
    pub(crate) other: Option<u32>,
    /// The CTA and the thread.
    pub(crate) who: Option<(u32, u32)>,
    pub(crate) message: String,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen {
            kind,
            line,
            other,
            who,
            message,
        } = self;
        write!(f, "{kind} at {line:?} and {other:?} by {who:?}: {message}")
    }
}

/// A source with marks: `// fault: KIND` on a line that must be named, `// other: KIND` on one that may be named beside
/// it, `// host: KIND` for what has no line.
pub(crate) struct Marked<'t> {
    text: &'t str,
    /// What a kernel's header starts with, before its name.
    header: &'static str,
}

impl<'t> Marked<'t> {
    pub(crate) fn new(text: &'t str, header: &'static str) -> Marked<'t> {
        Marked { text, header }
    }

    /// The lines, from the header to the end, of a kernel.
    fn lines(&self, kernel: &str) -> (u32, u32) {
        let starts = |line: &str| {
            let rest = line.strip_prefix(self.header);
            let rest = rest.and_then(|rest| rest.strip_prefix(kernel));
            rest.is_some_and(|rest| rest.starts_with(['(', '<']))
        };
        let lines = || self.text.lines().zip(1..);
        let start = lines().find(|(line, _)| starts(line));
        let (_, start) = start.unwrap_or_else(|| panic!("no kernel {kernel}"));
        let end = lines().find(|(line, number)| *number > start && *line == "}");
        (start, end.map_or(u32::MAX, |(_, number)| number))
    }

    /// Marked lines, of these kernels and of functions that are no kernels, with the kinds.
    fn marks(&self, mark: &str, kernels: &[&str]) -> BTreeSet<(u32, String)> {
        let parts: Vec<(u32, u32)> = kernels.iter().map(|kernel| self.lines(kernel)).collect();
        let mut in_kernel = false;
        let mut all = BTreeSet::new();
        for (line, number) in self.text.lines().zip(1..) {
            in_kernel = line.starts_with(self.header) || in_kernel && line != "}";
            let counts = !in_kernel || parts.iter().any(|(a, b)| (*a..=*b).contains(&number));
            let Some((_, marks)) = line.split_once("// ").filter(|_| counts) else {
                continue;
            };
            for one in marks.split(", ") {
                if let Some((name, kind)) = one.split_once(": ")
                    && name == mark
                {
                    all.insert((number, kind.trim().to_owned()));
                }
            }
        }
        all
    }

    /// What is not as marked in the reports of a fault.
    pub(crate) fn wrong(&self, fault: &Fault, seen: &[Seen]) -> Vec<String> {
        let Fault { kernel, kind, .. } = fault;
        let kernels: Vec<&str> = std::iter::once(*kernel).chain(fault.shows.then).collect();
        let must = self.marks("fault", &kernels);
        let may = &must | &self.marks("other", &kernels);
        let host = !self.marks("host", &kernels).is_empty();
        let mut wrong = Vec::new();
        if must.is_empty() && !host {
            wrong.push("no mark".to_owned());
        }
        let mut named = host && seen.iter().any(|one| one.line.is_none());
        for one in seen {
            let lines: Vec<u32> = one.line.into_iter().chain(one.other).collect();
            let is_marked = |line: &u32| may.contains(&(*line, one.kind.clone()));
            let known = if host {
                one.kind == kind.name()
            } else {
                !lines.is_empty() && lines.iter().all(is_marked)
            };
            if !known {
                wrong.push(one.to_string());
            }
            let fault = |line: &u32| must.contains(&(*line, kind.name().to_owned()));
            named |= one.kind == kind.name() && lines.iter().any(fault);
        }
        if !named {
            wrong.push(format!("no {kind} at {must:?}"));
        }
        let first = seen.first().and_then(|one| one.who);
        if fault.who.is_some() && first != fault.who {
            wrong.push(format!("{first:?} is named, not {:?}", fault.who));
        }
        wrong
    }
}

/// Runs a table by `run(kernel, sizes, kind)`: each fault, its round sizes, and its twin at both.
pub(crate) fn check(
    marked: &Marked<'_>,
    faults: &[Fault],
    run: impl Fn(&str, &Sizes, Kind) -> Vec<Seen>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for fault in faults {
        let Fault { kernel, kind, .. } = fault;
        let mut say = |what: &str, found: Vec<String>| {
            if !found.is_empty() {
                wrong.push(format!("{kernel}{what}: {}", found.join("; ")));
            }
        };
        say("", marked.wrong(fault, &run(kernel, &fault.shows, *kind)));
        let shown = |seen: Vec<Seen>| seen.iter().map(ToString::to_string).collect();
        let twin = format!("{kernel}_clean");
        if let Some(sizes) = &fault.hides {
            say(" at round sizes", shown(run(kernel, sizes, *kind)));
            say("_clean at round sizes", shown(run(&twin, sizes, *kind)));
        }
        let sizes = match kind {
            // The fault is in the launch.
            Kind::SharedLimit => Sizes {
                shared: fault.shows.shared / 2,
                ..fault.shows
            },
            _ => fault.shows,
        };
        say("_clean", shown(run(&twin, &sizes, *kind)));
    }
    wrong
}
