//! Every registered kernel on the card, against its f64 reference and against the interpreter.

use super::{
    Failed,
    args::{Args, KernelWork},
    card::{Ran, differing, is_lost, run as run_on},
    child::{self, End},
    line::{CaseLine, Line, Wrong, begin, emit},
    report::{KernelRow, Report},
};
use crate::failure::Failure;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};
use warpsmith::device::{Device, Selector, VirtualCard};
use warpsmith_library::{case::Random, registry::registry};
use warpsmith_ptx::target::Target;

/// Cases that one worker is given.
const SHARE: usize = 48;
/// The seed of the cases: that of the tests on the virtual GPU.
const SEED: u64 = 7;

/// A worker's share of the cases.
struct Share {
    family: &'static str,
    /// `None` for the card's own target.
    target: Option<String>,
    from: usize,
    to: usize,
}

/// Hands out all cases for each of `targets` (`None` is the card's own) to as many workers as the machine's cores take.
pub(super) fn run(
    args: &Args,
    targets: Vec<Option<String>>,
    deadline: Instant,
    report: &mut Report,
) {
    let own = report.found().target.clone();
    let mut shares = VecDeque::new();
    for target in targets {
        for entry in registry()
            .iter()
            .filter(|entry| entry.name.contains(&args.only))
        {
            let cases = (entry.cases)(&mut Random::new(SEED)).len();
            let shown = target.clone().unwrap_or_else(|| own.clone());
            report.kernel(KernelRow::new(entry.name, &shown, cases));
            for from in (0..cases).step_by(SHARE) {
                shares.push_back(Share {
                    family: entry.name,
                    target: target.clone(),
                    from,
                    to: (from + SHARE).min(cases),
                });
            }
        }
    }
    let jobs = match args.jobs {
        0 => (report.found().cores * 3 / 4).clamp(1, 12),
        jobs => jobs,
    };
    let (shares, report) = (Mutex::new(shares), Mutex::new(report));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(share) = lock(&shares).pop_front() {
                    if Instant::now() >= deadline {
                        return;
                    }
                    let shown = share.target.clone().unwrap_or_else(|| own.clone());
                    run_share(args, deadline, &share, &mut |line| {
                        lock(&report).case(share.family, &shown, line);
                    });
                    lock(&report).share_done();
                }
            });
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One share, in as many processes as its cases bring down, and one.
fn run_share(args: &Args, deadline: Instant, share: &Share, each: &mut dyn FnMut(CaseLine)) {
    let mut from = share.from;
    while from < share.to && Instant::now() < deadline {
        let (first, last) = (from.to_string(), share.to.to_string());
        let mut work = vec![
            "kernels",
            "--family",
            share.family,
            "--from",
            &first,
            "--to",
            &last,
        ];
        if let Some(target) = &share.target {
            work.extend(["--target", target]);
        }
        let (mut begun, mut trouble) = (String::from("its start"), None);
        let mut next = from;
        let end = child::run(args, &work, deadline, &mut |line| match line {
            Line::Begin { what } => begun = what,
            Line::Case(case) => {
                next = case.index + 1;
                each(case);
            }
            Line::Trouble { text } => trouble = Some(text),
            Line::Note { .. }
            | Line::Model(_)
            | Line::Check(_)
            | Line::Time(_)
            | Line::Lost
            | Line::Done => {}
        });
        let why = match end {
            End::Done => return,
            End::TimeUp => return,
            // The case before brought the card down, and told so.
            End::Died(_) if next > from && trouble.is_none() => {
                from = next;
                continue;
            }
            End::Silent => format!("hung: silent for {} s", args.patience),
            End::Died(status) => match trouble {
                Some(text) => format!("worker failed: {text}"),
                None => format!("worker died: {status}"),
            },
        };
        each(CaseLine {
            index: next,
            label: begun,
            unsupported: false,
            failures: vec![Wrong::of_text(why)],
            interpreter: Vec::new(),
            elements: 0,
            differ: 0,
            load: 0.0,
        });
        from = next + 1;
    }
}

/// The cases of a share, one after the other.
///
/// # Errors
/// Where the devices cannot be opened.
pub(super) fn work(args: &Args, work: &KernelWork) -> Result<(), Failed> {
    let entry = registry()
        .iter()
        .find(|entry| entry.name == work.family)
        .ok_or_else(|| format!("no kernels `{}`", work.family))?;
    begin("opening the card");
    let device = Device::open(&args.device)?;
    let stream = device.stream()?;
    let target: Target = match &work.target {
        Some(target) => target.parse()?,
        None => device.info().target,
    };
    let interpreter = Device::open(&Selector::Virtual(VirtualCard {
        target: Some(target),
        memory: Some(1 << 30),
        workers: Some(1),
        ..VirtualCard::default()
    }))?;
    let interpreted = interpreter.stream()?;
    begin("making the cases");
    let cases = (entry.cases)(&mut Random::new(SEED));
    let cases = cases.iter().enumerate();
    for (index, case) in cases.take(work.to).skip(work.from) {
        let label = case.label();
        begin(label.clone());
        let on_card = run_on(&stream, target, case.as_ref());
        begin(label.clone());
        let on_interpreter = run_on(&interpreted, target, case.as_ref());
        let ok = on_card.is_ok();
        emit(&Line::Case(told(index, label, &on_card, &on_interpreter)));
        if !ok && is_lost(&device) {
            emit(&Line::Lost);
            // Nothing can be given back to a card that is lost.
            std::process::exit(3);
        }
    }
    Ok(())
}

fn told(
    index: usize,
    label: String,
    on_card: &Result<Ran, Failure>,
    on_interpreter: &Result<Ran, Failure>,
) -> CaseLine {
    let wrong = |ran: &Result<Ran, Failure>| match ran {
        Ok(ran) => ran.failures.iter().map(Wrong::of).collect(),
        Err(Failure::Unsupported) => Vec::new(),
        Err(failure) => vec![Wrong::of(failure)],
    };
    let (elements, differ) = match (on_card, on_interpreter) {
        (Ok(a), Ok(b)) => differing(a, b),
        (Ok(_), Err(_)) | (Err(_), _) => (0, 0),
    };
    CaseLine {
        index,
        label,
        unsupported: matches!(on_card, Err(Failure::Unsupported)),
        failures: wrong(on_card),
        interpreter: wrong(on_interpreter),
        elements,
        differ,
        load: on_card.as_ref().map_or(0.0, |ran| ran.load.as_secs_f64()),
    }
}

impl Wrong {
    fn of_text(text: String) -> Wrong {
        Wrong {
            arg: None,
            index: None,
            got: None,
            wanted: None,
            text,
        }
    }

    fn of(failure: &Failure) -> Wrong {
        let mut wrong = Wrong::of_text(failure.to_string());
        match failure {
            Failure::Differs { arg, mismatch } => {
                wrong.arg = Some(arg.clone());
                wrong.index = Some(mismatch.index);
                wrong.got = Some(mismatch.got.to_string());
                wrong.wanted = Some(mismatch.want.to_string());
            }
            Failure::Overrun { arg }
            | Failure::InputChanged { arg }
            | Failure::Shape { arg, .. } => wrong.arg = Some(arg.clone()),
            Failure::Unsupported | Failure::Refused(_) | Failure::Fault(_) => {}
        }
        wrong
    }
}
