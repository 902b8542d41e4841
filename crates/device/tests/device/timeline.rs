//! Timelines of a device: every piece of work once, in order on its stream, with what the counts say.

use crate::kernels::{Scale, ScaleArgs, device, ramp};
use std::time::{Duration, Instant};
use warpsmith_device::{Error, Snapshot, Stream, TimedWork, Work};
use warpsmith_kernel::Kernel;

fn scale(stream: &Stream, tag: u32, rows: u32) -> Result<(), Error> {
    let x = stream.upload_new(&ramp(8 * rows as usize))?;
    let mut y = stream.alloc(8 * rows as usize)?;
    let (n, a) = (8, 2.0);
    let (x, y) = (x.view(), y.view_mut());
    stream.launch(&Scale { tag }, &ScaleArgs { x, y, rows, n, a })
}

/// What the work adds up to, and that pieces of a stream follow each other.
fn sums(timeline: &[TimedWork], most: Duration) -> Snapshot {
    let mut sums = Snapshot::default();
    for pair in timeline.windows(2) {
        let [a, b] = pair else { continue };
        assert!(
            a.stream < b.stream || a.stream == b.stream && a.end <= b.start,
            "{pair:?}"
        );
    }
    for timed in timeline {
        assert!(timed.start <= timed.end && timed.end <= most, "{timed:?}");
        match &timed.work {
            Work::Kernel { .. } => {
                sums.launches += 1;
                sums.enqueues += 1;
            }
            Work::Replay { launches } => {
                sums.launches += launches;
                sums.enqueues += 1;
                sums.replays += 1;
            }
            Work::Upload { bytes } => {
                sums.h2d_calls += 1;
                sums.h2d_bytes += bytes;
            }
            Work::Download { bytes } => {
                sums.d2h_calls += 1;
                sums.d2h_bytes += bytes;
            }
            Work::Copy { .. } | Work::Fill { .. } => sums.device_copies += 1,
            Work::Peek { .. } => {}
        }
    }
    sums
}

#[test]
fn a_timeline_has_every_piece_of_work_once_and_in_order() -> Result<(), Error> {
    let device = device();
    let (stream, other) = (device.stream()?, device.stream()?);
    scale(&stream, 1, 1)?;
    let mut z = stream.alloc::<f32>(8)?;
    let replay = stream.capture(|stream| stream.fill_zero(&mut z))?;
    let (begin, before) = (Instant::now(), device.stats());
    let timeline = device.timeline()?;
    scale(&stream, 2, 3)?;
    scale(&other, 3, 1)?;
    stream.replay(&replay)?;
    stream.fill_zero(&mut z)?;
    let x = stream.upload_new(&ramp(8))?;
    stream.copy(&mut z, &x)?;
    assert_eq!(stream.download(&z)?.wait()?, ramp(8));
    assert_eq!(stream.peek(&z)?.wait()?, ramp(8));
    let timeline = timeline.finish()?;
    let most = begin.elapsed();
    scale(&stream, 1, 1)?;

    let counted = device.stats() - before;
    let want = Snapshot {
        h2d_calls: counted.h2d_calls - 1,
        h2d_bytes: counted.h2d_bytes - 32,
        launches: counted.launches - 1,
        enqueues: counted.enqueues - 1,
        allocations: 0,
        allocated_bytes: 0,
        frees: 0,
        stream_waits: 0,
        ..counted
    };
    assert_eq!(sums(&timeline, most), want);
    let first = timeline[0].stream;
    let on_first: Vec<_> = timeline
        .iter()
        .filter(|timed| timed.stream == first)
        .collect();
    assert_eq!(timeline.len() - on_first.len(), 2);
    let kernel = Work::Kernel {
        name: "scale_2".into(),
        grid: [3, 1, 1],
        block: [Scale::default().threads(), 1, 1],
        dynamic_shared: 0,
    };
    let rest = [
        kernel,
        Work::Replay { launches: 0 },
        Work::Fill { bytes: 32 },
        Work::Upload { bytes: 32 },
        Work::Copy { bytes: 32 },
        Work::Download { bytes: 32 },
        Work::Peek { bytes: 32 },
    ];
    assert_eq!(on_first[0].work, Work::Upload { bytes: 96 });
    for (timed, want) in on_first[1..].iter().zip(&rest) {
        assert_eq!(timed.work, *want);
    }
    Ok(())
}

#[test]
fn long_timelines_and_launch_times_beside_them_lose_nothing() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let begin = Instant::now();
    let timeline = device.timeline()?;
    assert!(matches!(device.timeline(), Err(Error::Unsupported { .. })));
    let mut z = stream.alloc::<f32>(1)?;
    for _ in 0..5000 {
        stream.fill_zero(&mut z)?;
    }
    let ((), times) = stream.time_launches(|| scale(&stream, 2, 1))?;
    assert_eq!(times.len(), 1);
    let timeline = timeline.finish()?;
    let sums = sums(&timeline, begin.elapsed());
    assert_eq!(
        (sums.device_copies, sums.h2d_calls, sums.launches),
        (5000, 1, 1)
    );
    // One that is dropped has ended.
    drop(device.timeline()?);
    scale(&stream, 2, 1)?;
    assert_eq!(device.timeline()?.finish()?, []);
    Ok(())
}
