//! Buffers that change streams bring the wait along.

use crate::kernels::{Scale, ScaleArgs, device, ramp, scaled};
use warpsmith_device::{Buffer, Error, Stream};

const ROWS: u32 = 40;
const N: u32 = 1000;
const LEN: usize = (ROWS * N) as usize;

/// `times` launches, the last of which leaves `x * a` in `y`.
fn slow(
    stream: &Stream,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
    a: f32,
    times: u32,
) -> Result<(), Error> {
    for time in 0..times {
        let a = if time + 1 == times { a } else { 0.0 };
        let args = ScaleArgs {
            x: x.view(),
            y: y.view_mut(),
            rows: ROWS,
            n: N,
            a,
        };
        stream.launch(&Scale::default(), &args)?;
    }
    Ok(())
}

#[test]
fn a_reader_waits_for_the_writer_on_another_stream() -> Result<(), Error> {
    let device = device();
    let (one, two) = (device.stream()?, device.stream()?);
    let x = one.upload_new(&ramp(LEN))?;
    let mut y = one.alloc(LEN)?;
    let mut z = two.alloc(LEN)?;
    slow(&one, &x, &mut y, 2.0, 20)?;
    slow(&two, &y, &mut z, 3.0, 1)?;
    assert_eq!(two.download(&z)?.wait()?, scaled(LEN, 6.0));
    assert_eq!(device.stats().stream_waits, 1);
    slow(&two, &y, &mut z, 4.0, 1)?;
    assert_eq!(
        device.stats().stream_waits,
        1,
        "a second read needs no second wait"
    );
    Ok(())
}

#[test]
fn a_writer_waits_for_readers_on_other_streams() -> Result<(), Error> {
    let device = device();
    let (one, two) = (device.stream()?, device.stream()?);
    let mut x = one.upload_new(&ramp(LEN))?;
    let mut y = two.alloc(LEN)?;
    slow(&two, &x, &mut y, 2.0, 20)?;
    one.upload(&mut x, &vec![-1.0; LEN])?;
    assert_eq!(two.download(&y)?.wait()?, scaled(LEN, 2.0));
    assert_eq!(one.download(&x)?.wait()?, vec![-1.0; LEN]);
    Ok(())
}

#[test]
fn a_buffer_used_on_two_streams_is_freed_after_both() -> Result<(), Error> {
    let device = device();
    let (one, two) = (device.stream()?, device.stream()?);
    let free = device.memory_info()?.free;
    {
        let x = one.upload_new(&ramp(LEN))?;
        let mut y = one.alloc(LEN)?;
        let mut z = two.alloc(LEN)?;
        slow(&one, &x, &mut y, 2.0, 2)?;
        slow(&two, &x, &mut z, 3.0, 20)?;
        drop(x);
        let other = one.upload_new(&vec![-1.0f32; LEN])?;
        assert_eq!(two.download(&z)?.wait()?, scaled(LEN, 3.0));
        assert_eq!(one.download(&y)?.wait()?, scaled(LEN, 2.0));
        drop(other);
    }
    one.synchronize()?;
    two.synchronize()?;
    one.synchronize()?;
    assert_eq!(device.memory_info()?.free, free);
    let stats = device.stats();
    assert_eq!(stats.allocations, stats.frees);
    Ok(())
}

#[test]
fn events_order_streams_and_tell_time() -> Result<(), Error> {
    let device = device();
    let (one, two) = (device.stream()?, device.stream()?);
    let x = one.upload_new(&ramp(LEN))?;
    let mut y = one.alloc(LEN)?;
    let start = one.record()?;
    slow(&one, &x, &mut y, 2.0, 5)?;
    let end = one.record()?;
    two.wait(&end)?;
    let after = two.record()?;
    after.wait()?;
    assert!(end.is_done()?);
    assert!(end.since(&start)?.as_nanos() > 0);
    Ok(())
}
