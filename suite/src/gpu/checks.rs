//! What the device crate promises, checked on the card: order, memory, errors, replays, caches.

use super::{
    Failed,
    args::Args,
    child::{self, End},
    line::{CheckLine, Line, begin, emit},
    report::Report,
};
use std::{thread, time::Instant};
use warpsmith::{
    device::{
        Buffer, Device, Error, Grid, Placement, Selector, Settings, SliceMut, Stream,
        forbid_transfers,
    },
    kernel::{Cta, InKernel, Kernel, LaunchError, Options, args},
};
use warpsmith_ptx::{parse::parse, verify::verify};

args! { /// `y = a * x`.
pub struct ScaleArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32>, a: Scalar<f32> } }

/// `y = a * x`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Scale;

impl Kernel for Scale {
    type Args = ScaleArgs;
    fn name(&self) -> String {
        "scale_by".into()
    }
    fn grid(&self, a: &ScaleArgs) -> Result<u64, LaunchError> {
        Ok(a.n.min(64).into())
    }
    fn body<'k>(&self, cta: &mut Cta<'k>, k: ScaleArgs<InKernel<'k>>) {
        // Every CTA writes all of it: the same numbers, slowly.
        cta.each(k.n, |_, i| k.y.set(i, k.x.at(i) * k.a));
    }
}

/// `y = a * x`.
fn scale(stream: &Stream, x: &Buffer<f32>, y: &mut Buffer<f32>, a: f32) -> Result<(), Error> {
    let n = x.len() as u32;
    let (x, y) = (x.view(), y.view_mut());
    stream.launch(&Scale, &ScaleArgs { x, y, n, a })
}

/// Runs the checks in two workers: the last check leaves no card to work on.
pub(super) fn run(args: &Args, deadline: Instant, report: &mut Report) {
    for work in ["checks", "illegal"] {
        let mut begun = String::from("its start");
        let mut trouble = None;
        let end = child::run(args, &[work], deadline, &mut |line| match line {
            Line::Begin { what } => begun = what,
            Line::Check(line) => report.check(line),
            Line::Trouble { text } => trouble = Some(text),
            Line::Note { text } => report.note(text),
            Line::Case(_) | Line::Model(_) | Line::Time(_) | Line::Lost | Line::Done => {}
        });
        if end != End::Done {
            report.failed(&begun, format!("{end:?} {}", trouble.unwrap_or_default()));
        }
    }
}

/// Fails with figures unless `holds`.
fn must(holds: bool, figures: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(figures().into()) }
}

type Check = fn(&Device) -> Result<String, Failed>;

const CHECKS: &[(&str, Check)] = &[
    ("two streams that share buffers are in order", two_streams),
    (
        "memory dropped while work is queued is freed after it",
        freed_late,
    ),
    ("what was given to an upload may change at once", staging),
    ("empty buffers and grids are nothing", empty),
    ("out of memory is an error with both figures", out_of_memory),
    ("a replay does what the launches did", replay),
    ("a hit of the cache compiles nothing", cache),
    ("compiled code is kept on disk", disk),
    ("threads share a device", threads),
    ("an event knows the time since another", events),
    ("a cooperative launch runs", cooperative),
    ("a forbidden transfer is an error", forbidden),
    (
        "the log of PTX that the driver refuses is in the error",
        refused,
    ),
];

/// All checks that leave the card whole.
///
/// # Errors
/// Where the card cannot be opened.
pub(super) fn work(args: &Args) -> Result<(), Failed> {
    begin("opening the card");
    let device = Device::open(&args.device)?;
    for (what, check) in CHECKS {
        begin(*what);
        tell(what, check(&device));
    }
    Ok(())
}

fn tell(what: &str, found: Result<String, Failed>) {
    let (result, well) = match found {
        Ok(result) => (result, true),
        Err(error) => (error.to_string(), false),
    };
    emit(&Line::Check(CheckLine {
        what: what.to_owned(),
        result,
        well,
    }));
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 1000) as f32).collect()
}

fn two_streams(device: &Device) -> Result<String, Failed> {
    let (a, b) = (device.stream()?, device.stream()?);
    let n = 1 << 16;
    let mut x = a.upload_new(&numbers(n))?;
    let (mut y, mut z): (Buffer<f32>, Buffer<f32>) = (a.alloc(n)?, b.alloc(n)?);
    for round in 0..20 {
        scale(&a, &x, &mut y, 2.0)?;
        scale(&b, &y, &mut z, 0.5)?;
        let got = b.download(&z)?.wait()?;
        must(got == numbers(n), || {
            format!("round {round}: other numbers")
        })?;
        // Back into what the first stream reads next.
        scale(&b, &z, &mut x, 1.0)?;
    }
    Ok(format!(
        "20 rounds, {} waits put in",
        device.stats().stream_waits
    ))
}

fn freed_late(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let n = 1 << 20;
    let want: Vec<f32> = numbers(n).iter().map(|x| 3.0 * x).collect();
    for round in 0..10 {
        let mut y = stream.alloc(n)?;
        {
            let x = stream.upload_new(&numbers(n))?;
            scale(&stream, &x, &mut y, 3.0)?;
        }
        // Memory that was just given back, written by another stream.
        let other = device.stream()?;
        let junk: Vec<Buffer<f32>> = (0..4)
            .map(|_| other.upload_new(&vec![f32::NAN; n]))
            .collect::<Result<_, _>>()?;
        let got = stream.download(&y)?.wait()?;
        must(got == want, || format!("round {round}: other numbers"))?;
        drop(junk);
    }
    Ok("10 rounds of 4 MiB".into())
}

fn staging(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let n = 20 << 20;
    let mut data: Vec<u32> = (0..n).collect();
    let buffer = stream.upload_new(&data)?;
    data.fill(0);
    let start = Instant::now();
    let got = stream.download(&buffer)?.wait()?;
    let seconds = start.elapsed().as_secs_f64();
    must(got.iter().copied().eq(0..n), || "other numbers".into())?;
    Ok(format!(
        "80 MiB; back at {:.1} GB/s",
        f64::from(n) * 4e-9 / seconds
    ))
}

fn empty(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let x: Buffer<f32> = stream.upload_new(&[])?;
    let mut y: Buffer<f32> = stream.alloc(0)?;
    scale(&stream, &x, &mut y, 2.0)?;
    stream.copy(&mut y, &x)?;
    stream.fill_zero(&mut y)?;
    let got = stream.download(&y)?.wait()?;
    must(got.is_empty(), || format!("{} elements", got.len()))?;
    Ok("launch, copy, fill, both transfers".into())
}

fn out_of_memory(device: &Device) -> Result<String, Failed> {
    let total = device.memory_info()?.total;
    let error = device.alloc::<u8>(total as usize + (1 << 30)).err();
    let Some(Error::OutOfMemory { needed, free }) = error else {
        return Err(format!("found {error:?}").into());
    };
    must(
        needed == total + (1 << 30) && free > 0 && free <= total,
        || format!("{needed} needed, {free} free of {total}"),
    )?;
    let stream = device.stream()?;
    let again = stream.upload_new(&[1.0f32])?;
    must(stream.download(&again)?.wait()? == [1.0], || {
        "the device is of no use afterwards".into()
    })?;
    Ok(format!("{needed} needed, {free} free"))
}

fn replay(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let n = 10_000;
    let x = stream.upload_new(&numbers(n))?;
    let (mut y, mut z): (Buffer<f32>, Buffer<f32>) = (stream.alloc(n)?, stream.alloc(n)?);
    let captured = stream.capture(|stream| {
        scale(stream, &x, &mut y, 2.0)?;
        stream.copy(&mut z, &y)?;
        stream.fill_zero(&mut y)?;
        scale(stream, &z, &mut y, 3.0)
    })?;
    for _ in 0..5 {
        stream.fill_zero(&mut z)?;
        stream.replay(&captured)?;
    }
    let want: Vec<f32> = numbers(n).iter().map(|x| 6.0 * x).collect();
    must(stream.download(&y)?.wait()? == want, || {
        "other numbers".into()
    })?;
    must(captured.launches() == 2, || format!("{captured:?}"))?;
    // The memory lives as long as the replay.
    drop((x, y, z));
    stream.replay(&captured)?;
    stream.synchronize()?;
    Ok(format!("{captured:?}"))
}

fn cache(device: &Device) -> Result<String, Failed> {
    device.cache_clear();
    device.cache_reset_stats();
    let stream = device.stream()?;
    let x = stream.upload_new(&numbers(100))?;
    let mut y = stream.alloc(100)?;
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        scale(&stream, &x, &mut y, 2.0)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    stream.synchronize()?;
    let stats = device.cache_stats();
    must((stats.hits, stats.misses) == (2, 1), || {
        format!("{stats:?}")
    })?;
    Ok(format!("{:.0} us, then {:.1} us", times[0], times[2]))
}

fn disk(device: &Device) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let selector = match device.info().back_end {
        warpsmith::device::BackEnd::Cuda { index } => Selector::Cuda(index),
        warpsmith::device::BackEnd::Virtual => Selector::virtual_gpu(),
    };
    let settings = Settings {
        disk_cache: Some(folder.path().to_owned()),
        ..Settings::default()
    };
    let mut times = Vec::new();
    for _ in 0..2 {
        let device = Device::open_with(&selector, settings.clone())?;
        let stream = device.stream()?;
        let x = stream.upload_new(&numbers(100))?;
        let mut y = stream.alloc(100)?;
        let start = Instant::now();
        device.loaded(&Scale, Options::default())?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        scale(&stream, &x, &mut y, 1.0)?;
        must(stream.download(&y)?.wait()? == numbers(100), || {
            "other numbers".into()
        })?;
    }
    let files = std::fs::read_dir(folder.path())?.count();
    let kept = usize::from(selector != Selector::virtual_gpu());
    must(files == kept, || format!("{files} files"))?;
    Ok(format!(
        "{files} file; {:.2} ms, then {:.2} ms",
        times[0], times[1]
    ))
}

fn threads(device: &Device) -> Result<String, Failed> {
    let run = |a: f32| -> Result<(), Error> {
        let stream = device.stream()?;
        let x = stream.upload_new(&numbers(5000))?;
        let mut y = stream.alloc(5000)?;
        for _ in 0..50 {
            scale(&stream, &x, &mut y, a)?;
            let got = stream.download(&y)?.wait()?;
            let right = got.iter().zip(numbers(5000)).all(|(y, x)| *y == a * x);
            if !right {
                return Err(Error::Unsupported {
                    what: "numbers of another thread",
                });
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (1..=4)
            .map(|a| scope.spawn(move || run(a as f32)))
            .collect();
        handles.into_iter().try_for_each(|handle| {
            handle
                .join()
                .unwrap_or(Err(Error::Unsupported { what: "a panic" }))
        })
    })?;
    Ok("4 threads, 50 rounds each".into())
}

fn events(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let x = stream.upload_new(&numbers(1 << 16))?;
    let mut y = stream.alloc(1 << 16)?;
    scale(&stream, &x, &mut y, 2.0)?;
    let first = stream.record()?;
    for _ in 0..10 {
        scale(&stream, &x, &mut y, 2.0)?;
    }
    let last = stream.record()?;
    let between = last.since(&first)?;
    must(
        first.is_done()? && last.is_done()? && !between.is_zero(),
        || format!("{between:?}"),
    )?;
    Ok(format!("10 launches in {between:?}"))
}

fn cooperative(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let kernel = device.loaded(&Scale, Options::default())?;
    let resident = device.resident_ctas(&kernel, 256, 0)?;
    let n = 1000u32;
    let x = stream.upload_new(&numbers(n as usize))?;
    let mut y: Buffer<f32> = stream.alloc(n as usize)?;
    let mut params = Vec::new();
    params.extend(x.address().to_le_bytes());
    params.extend(y.address().to_le_bytes());
    params.extend(n.to_le_bytes());
    params.extend(2.0f32.to_le_bytes());
    let grid = Grid {
        placement: Placement::Cooperative,
        ..Grid::linear(resident.min(64) as u32, 256)
    };
    let mut view: SliceMut<'_, f32> = y.view_mut();
    stream.launch_built(&kernel, grid, &params, &[x.view().read(), view.write()])?;
    let want: Vec<f32> = numbers(n as usize).iter().map(|x| 2.0 * x).collect();
    must(stream.download(&y)?.wait()? == want, || {
        "other numbers".into()
    })?;
    Ok(format!("{resident} CTAs of 256 threads at once"))
}

fn forbidden(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let x = stream.upload_new(&numbers(10))?;
    let error = forbid_transfers(|| stream.download(&x).err());
    must(
        matches!(error, Some(Error::TransferForbidden { bytes: 40, .. })),
        || format!("found {error:?}"),
    )?;
    Ok("40 bytes refused".into())
}

/// PTX that is right as far as one module tells, and that no linker can finish.
const UNFINISHED: &str = ".version 6.0\n.target sm_70\n.address_size 64\n\
    .extern .global .align 4 .u32 nowhere;\n\
    .visible .entry lost(.param .u64 p) {\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n\
    ld.global.u32 %r1, [nowhere];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

fn refused(device: &Device) -> Result<String, Failed> {
    let module = parse(UNFINISHED).map_err(|found| format!("not parsed: {found:?}"))?;
    let module = verify(module).map_err(|found| format!("not verified: {found:?}"))?;
    match device.load(&module) {
        Err(Error::Jit { log, .. }) if !log.is_empty() => Ok(log),
        Err(Error::Virtual(error)) => Ok(error.to_string()),
        other => Err(format!("found {other:?}").into()),
    }
}

const WILD: &str = ".version 6.0\n.target sm_70\n.address_size 64\n\
    .visible .entry wild(.param .u64 p) {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u64 [%rd1], %rd1;\nret;\n}\n";

/// The check that costs the context: a kernel that writes where nothing is.
///
/// # Errors
/// Where the card cannot be opened.
pub(super) fn illegal(args: &Args) -> Result<(), Failed> {
    let what =
        "a wild write is an error that names the kernel, and later work fails without a panic";
    begin(what);
    let device = Device::open(&args.device)?;
    tell(what, wild(&device));
    Ok(())
}

fn wild(device: &Device) -> Result<String, Failed> {
    let stream = device.stream()?;
    let kept: Buffer<f32> = stream.upload_new(&numbers(100))?;
    stream.synchronize()?;
    let module = parse(WILD).map_err(|found| format!("not parsed: {found:?}"))?;
    let module = verify(module).map_err(|found| format!("not verified: {found:?}"))?;
    let kernel = device.load(&module)?.entry("wild")?;
    // Aligned, far above all memory of the card, and mapped by nobody.
    let address = 0x7000_0000_0000u64;
    stream.launch_built(&kernel, Grid::linear(1, 32), &address.to_le_bytes(), &[])?;
    let error = stream.synchronize().err();
    let text = match &error {
        Some(Error::Cuda {
            code: 700, recent, ..
        }) if recent.iter().any(|name| name == "wild") => {
            format!("{}", error.as_ref().expect("it is one"))
        }
        Some(Error::Fault(fault)) => fault.to_string(),
        other => return Err(format!("found {other:?}").into()),
    };
    if device.info().driver.is_some() {
        let later = stream.download(&kept).and_then(|pending| pending.wait());
        must(matches!(later, Err(Error::Cuda { .. })), || {
            format!("later {later:?}")
        })?;
        let open = device
            .stream()
            .and_then(|stream| stream.upload_new(&[1.0f32]));
        must(open.is_err(), || "a lost card takes uploads".into())?;
    }
    Ok(text)
}
