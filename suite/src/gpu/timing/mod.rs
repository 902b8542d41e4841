//! Times on the card, each beside its floor and, where it is there, its peer.

mod attention;
mod decode;
mod gguf;
mod launch;
mod pointwise;
mod products;

use super::{
    Failed,
    args::{Args, Group},
    child::{self, End},
    cublas::Cublas,
    line::{Line, TimeLine, begin, emit},
    report::Report,
    speed::median,
};
use clap::ValueEnum;
use std::time::Instant;
use warpsmith::device::{Buffer, Device, Replay, Stream};
use warpsmith_library::case::Random;

/// Every group in a worker of its own.
pub(super) fn run(args: &Args, deadline: Instant, report: &mut Report) {
    for group in Group::value_variants() {
        if Instant::now() >= deadline {
            report.note(format!("no time was left for {}", group.name()));
            continue;
        }
        let mut begun = String::from("its start");
        let mut trouble = None;
        let end = child::run(
            args,
            &["timing", &group.name()],
            deadline,
            &mut |line| match line {
                Line::Begin { what } => begun = what,
                Line::Time(line) => report.time(line),
                Line::Note { text } => report.note(format!("{}: {text}", group.name())),
                Line::Trouble { text } => trouble = Some(text),
                Line::Case(_) | Line::Model(_) | Line::Check(_) | Line::Lost | Line::Done => {}
            },
        );
        let trouble = trouble.unwrap_or_default();
        match end {
            End::Done => {}
            End::TimeUp => report.note(format!("time was up at {begun}")),
            End::Silent | End::Died(_) => report.failed(
                &format!("times of {}", group.name()),
                format!("{end:?} at {begun}: {trouble}"),
            ),
        }
    }
}

/// One group.
///
/// # Errors
/// Where the card cannot be opened, or something that is timed does not run.
pub(super) fn work(args: &Args, group: Group) -> Result<(), Failed> {
    begin("opening the card");
    let bench = Bench::new(args, group)?;
    match group {
        Group::Launch => launch::times(&bench),
        Group::Decode => decode::times(&bench),
        Group::Gemv => products::rows(&bench),
        Group::Gemm => products::tiles(&bench),
        Group::Attention => attention::times(&bench),
        Group::Pointwise => pointwise::times(&bench),
    }
}

/// What all times are taken with.
struct Bench {
    group: Group,
    device: Device,
    stream: Stream,
    /// Bytes a second that a copy within the card moves, read and written ones together.
    bandwidth: f64,
    small: bool,
    cublas: Option<Cublas>,
}

/// Counted rounds of a time.
const ROUNDS: usize = 9;

impl Bench {
    fn new(args: &Args, group: Group) -> Result<Bench, Failed> {
        let device = Device::open(&args.device)?;
        let stream = device.stream()?;
        let mut bench = Bench {
            group,
            device,
            stream,
            bandwidth: f64::NAN,
            small: args.small,
            cublas: None,
        };
        begin("copy bandwidth");
        let bytes = if args.small { 1 << 20 } else { 1 << 30 };
        let from: Buffer<u8> = bench.stream.alloc(bytes)?;
        let mut to: Buffer<u8> = bench.stream.alloc(bytes)?;
        let seconds = bench.time(|stream| Ok(stream.copy(&mut to, &from)?))?;
        bench.bandwidth = 2.0 * bytes as f64 / seconds;
        emit(&Line::Note {
            text: format!(
                "a copy of {} MiB within the card moves {:.1} GB/s, read and written",
                bytes >> 20,
                bench.bandwidth / 1e9
            ),
        });
        if matches!(group, Group::Gemv | Group::Gemm) && bench.device.info().driver.is_some() {
            begin("cuBLAS");
            match Cublas::find() {
                Ok(cublas) => bench.cublas = Some(cublas),
                Err(tried) => emit(&Line::Note {
                    text: format!("no cuBLAS; tried {}", tried.join("; ")),
                }),
            }
        }
        Ok(bench)
    }

    /// The median device time of what `work` enqueues, in seconds; two rounds come first to warm up.
    fn time(&self, mut work: impl FnMut(&Stream) -> Result<(), Failed>) -> Result<f64, Failed> {
        let mut seconds = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS + 2 {
            let start = self.stream.record()?;
            work(&self.stream)?;
            let end = self.stream.record()?;
            let taken = end.since(&start)?.as_secs_f64();
            if round >= 2 {
                seconds.push(taken);
            }
        }
        Ok(median(&mut seconds))
    }

    /// The time of a replay.
    fn replay(&self, replay: &Replay) -> Result<f64, Failed> {
        self.time(|stream| Ok(stream.replay(replay)?))
    }

    /// The least time in which the card can move `bytes`.
    fn floor(&self, bytes: u64) -> f64 {
        bytes as f64 / self.bandwidth
    }

    fn tell(&self, what: String, seconds: f64, rate: String, floor: Option<f64>) {
        self.tell_beside(what, seconds, rate, floor, None);
    }

    fn tell_beside(
        &self,
        what: String,
        seconds: f64,
        rate: String,
        floor: Option<f64>,
        cublas: Option<f64>,
    ) {
        emit(&Line::Time(TimeLine {
            group: self.group.name(),
            what,
            seconds,
            rate,
            floor,
            cublas,
        }));
    }

    /// `n` numbers on the card.
    fn numbers(&self, n: usize) -> Result<Buffer<f32>, Failed> {
        // Repeated, as making a random number takes longer than copying one.
        let some = Random::new(3).numbers(n.min(1 << 16), 1.0);
        let all: Vec<f32> = some.iter().copied().cycle().take(n).collect();
        Ok(self.stream.upload_new(&all)?)
    }
}

fn gigabytes(bytes: u64, seconds: f64) -> String {
    format!("{:.0} GB/s", bytes as f64 / seconds / 1e9)
}

fn teraflops(flops: f64, seconds: f64) -> String {
    format!("{:.1} TFLOP/s", flops / seconds / 1e12)
}
