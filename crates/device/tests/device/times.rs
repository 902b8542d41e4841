//! Time by kernel: every launch on the stream is there by name and in order, and nothing else is.

use crate::kernels::{Scale, ScaleArgs, device, ramp};
use std::time::{Duration, Instant};
use warpsmith_device::{Error, Stream};

fn scale(stream: &Stream, tag: u32, rows: u32) -> Result<(), Error> {
    let (x, mut y) = (stream.upload_new(&ramp(64))?, stream.alloc(64)?);
    let args = ScaleArgs {
        x: x.view(),
        y: y.view_mut(),
        rows,
        n: 64 / rows,
        a: 2.0,
    };
    stream.launch(&Scale { tag }, &args)
}

#[test]
fn each_launch_has_its_time_in_order() -> Result<(), Error> {
    let stream = device().stream()?;
    scale(&stream, 1, 1)?;
    let start = Instant::now();
    let ((), times) = stream.time_launches(|| {
        scale(&stream, 2, 1)?;
        scale(&stream, 3, 64)?;
        scale(&stream, 2, 1)
    })?;
    let (whole, names) = (start.elapsed(), times.iter().map(|time| &*time.kernel));
    assert_eq!(names.collect::<Vec<_>>(), ["scale_2", "scale_3", "scale_2"]);
    assert!(times.iter().all(|time| time.time > Duration::ZERO));
    assert!(times.iter().map(|time| time.time).sum::<Duration>() <= whole);
    scale(&stream, 4, 1)?;
    let ((), times) = stream.time_launches(|| Ok::<_, Error>(()))?;
    assert_eq!(times, []);
    Ok(())
}

#[test]
fn other_streams_and_replays_are_not_timed() -> Result<(), Error> {
    let device = device();
    let (stream, other) = (device.stream()?, device.stream()?);
    let (x, mut y) = (stream.upload_new(&ramp(8))?, stream.alloc(8)?);
    let replay = stream.capture(|stream| {
        let (rows, n, a) = (1, 8, 2.0);
        let (x, y) = (x.view(), y.view_mut());
        let args = ScaleArgs { x, y, rows, n, a };
        stream.launch(&Scale { tag: 5 }, &args)
    })?;
    let ((), times) = stream.time_launches(|| {
        stream.replay(&replay)?;
        scale(&other, 6, 1)
    })?;
    assert_eq!(times, []);
    Ok(())
}

#[test]
fn timing_does_not_nest_and_ends_with_an_error() -> Result<(), Error> {
    let stream = device().stream()?;
    let nested = stream.time_launches(|| {
        let inner = stream.time_launches(|| Ok::<_, Error>(()));
        assert!(matches!(inner, Err(Error::Unsupported { .. })), "{inner:?}");
        scale(&stream, 7, 1)
    })?;
    assert_eq!(nested.1.len(), 1);
    let wrong = stream.time_launches(|| scale(&stream, 7, 3));
    assert!(wrong.is_err());
    assert_eq!(stream.time_launches(|| scale(&stream, 7, 1))?.1.len(), 1);
    Ok(())
}
