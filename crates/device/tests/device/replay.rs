//! Captured work.

use crate::kernels::{Scale, ScaleArgs, device, ramp, scaled};
use warpsmith_device::{Buffer, Error, Stream};

fn scale(stream: &Stream, x: &Buffer<f32>, y: &mut Buffer<f32>, a: f32) -> Result<(), Error> {
    let n = x.len() as u32;
    let args = ScaleArgs {
        x: x.view(),
        y: y.view_mut(),
        rows: 1,
        n,
        a,
    };
    stream.launch(&Scale::default(), &args)
}

/// `x = 6 * x`, by way of `y`, then `y = 0`.
fn step(
    stream: &Stream,
    x: &mut Buffer<f32>,
    y: &mut Buffer<f32>,
    z: &mut Buffer<f32>,
) -> Result<(), Error> {
    scale(stream, x, y, 2.0)?;
    scale(stream, y, z, 3.0)?;
    stream.copy(&mut *x, &*z)?;
    stream.fill_zero(y)
}

#[test]
fn a_replay_does_what_the_launches_do() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let run = |replayed: bool| -> Result<Vec<f32>, Error> {
        let mut x = stream.upload_new(&ramp(1000))?;
        let (mut y, mut z) = (stream.alloc(1000)?, stream.alloc(1000)?);
        let replay = stream.capture(|stream| step(stream, &mut x, &mut y, &mut z))?;
        assert_eq!(replay.launches(), 2);
        assert_eq!(
            stream.download(&x)?.wait()?,
            ramp(1000),
            "a capture runs nothing"
        );
        for _ in 0..5 {
            if replayed {
                stream.replay(&replay)?;
            } else {
                step(&stream, &mut x, &mut y, &mut z)?;
            }
        }
        assert_eq!(stream.download(&y)?.wait()?, vec![0.0; 1000]);
        stream.download(&x)?.wait()
    };
    let eager = run(false)?;
    assert_eq!(run(true)?, eager);
    assert_eq!(eager, scaled(1000, 7776.0));
    let stats = device.stats();
    assert_eq!((stats.launches, stats.enqueues, stats.replays), (20, 15, 5));
    Ok(())
}

#[test]
fn a_replay_keeps_its_memory() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let free = device.memory_info()?.free;
    let mut y = stream.alloc(500)?;
    let replay = {
        let x = stream.upload_new(&ramp(500))?;
        stream.capture(|stream| scale(stream, &x, &mut y, 2.0))?
    };
    let other = stream.upload_new(&vec![-1.0f32; 500])?;
    stream.replay(&replay)?;
    stream.replay(&replay)?;
    drop(replay);
    assert_eq!(stream.download(&y)?.wait()?, scaled(500, 2.0));
    drop((y, other));
    stream.synchronize()?;
    assert_eq!(device.memory_info()?.free, free);
    Ok(())
}

#[test]
fn a_replay_on_another_stream_is_ordered() -> Result<(), Error> {
    let device = device();
    let (one, two) = (device.stream()?, device.stream()?);
    let mut x = one.upload_new(&ramp(100_000))?;
    let mut y = one.alloc(100_000)?;
    let replay = one.capture(|stream| scale(stream, &x, &mut y, 2.0))?;
    one.replay(&replay)?;
    two.upload(&mut x, &vec![1.0; 100_000])?;
    two.replay(&replay)?;
    assert_eq!(one.download(&y)?.wait()?, vec![2.0; 100_000]);
    Ok(())
}

#[test]
fn what_cannot_be_captured_is_refused_and_the_stream_goes_on() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let mut x = stream.upload_new(&ramp(10))?;
    type Try<'a> = &'a mut dyn FnMut(&Stream) -> Result<(), Error>;
    let attempts: [Try<'_>; 6] = [
        &mut |stream| stream.alloc::<f32>(1).map(drop),
        &mut |stream| stream.upload(&mut x, &ramp(10)),
        &mut |stream| stream.record().map(drop),
        &mut |stream| stream.synchronize(),
        &mut |stream| stream.capture(|_| Ok::<(), Error>(())).map(drop),
        &mut |stream| {
            std::thread::scope(|scope| {
                let used_elsewhere = scope.spawn(|| stream.fill_zero(&mut device.alloc::<f32>(1)?));
                used_elsewhere.join().expect("no panic")
            })
        },
    ];
    for attempt in attempts {
        let refused = stream.capture(|stream| attempt(stream)).err();
        assert!(
            matches!(refused, Some(Error::Capturing { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(stream.download(&x)?.wait()?, ramp(10));
    Ok(())
}

#[test]
fn a_capture_that_panics_ends() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let body =
            |_: &Stream| -> Result<(), Error> { std::panic::resume_unwind(Box::new("on purpose")) };
        stream.capture(body)
    }));
    assert!(unwound.is_err());
    stream.synchronize()
}
