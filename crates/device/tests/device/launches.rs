//! What a launch means: waited for, enqueued, or enqueued while its inputs go.

use crate::kernels::{Add, AddArgs, Scale, ScaleArgs, Y, device, ramp, scaled};
use warpsmith_device::{Buffer, Error, Grid, Stream};
use warpsmith_kernel::{Kernel, LaunchError, Options};

fn scale(
    stream: &Stream,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
    rows: u32,
    n: u32,
    a: f32,
) -> Result<(), Error> {
    let args = ScaleArgs {
        x: x.view(),
        y: y.view_mut(),
        rows,
        n,
        a,
    };
    stream.launch(&Scale::default(), &args)
}

#[test]
fn a_launch_that_is_waited_for_has_its_numbers() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    for (rows, n) in [(1, 1), (3, 31), (7, 257), (1, 4096)] {
        let len = (rows * n) as usize;
        let x = stream.upload_new(&ramp(len))?;
        let mut y = stream.alloc(len)?;
        scale(&stream, &x, &mut y, rows, n, 3.0)?;
        stream.synchronize()?;
        assert_eq!(
            stream.download(&y)?.wait()?,
            scaled(len, 3.0),
            "{rows} x {n}"
        );
    }
    Ok(())
}

#[test]
fn launches_on_one_stream_run_in_order_without_waits() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let mut x = stream.upload_new(&ramp(1000))?;
    let mut y = stream.alloc(1000)?;
    for _ in 0..10 {
        scale(&stream, &x, &mut y, 10, 100, 2.0)?;
        std::mem::swap(&mut x, &mut y);
    }
    assert_eq!(stream.download(&x)?.wait()?, scaled(1000, 1024.0));
    assert_eq!(device.stats().stream_waits, 0);
    Ok(())
}

#[test]
fn inputs_may_be_dropped_as_soon_as_a_launch_is_enqueued() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let free = device.memory_info()?.free;
    for round in 0..20 {
        let n = 20_000;
        let mut y = stream.alloc(n)?;
        {
            let x = stream.upload_new(&ramp(n))?;
            let mut middle = stream.alloc(n)?;
            scale(&stream, &x, &mut middle, 20, 1000, 2.0)?;
            drop(x);
            scale(&stream, &middle, &mut y, 20, 1000, round as f32)?;
        }
        // What the freed memory is given to next must not be what the launches read.
        let other = stream.upload_new(&vec![-1.0f32; n])?;
        assert_eq!(stream.download(&y)?.wait()?, scaled(n, 2.0 * round as f32));
        drop(other);
    }
    stream.synchronize()?;
    assert_eq!(device.memory_info()?.free, free);
    Ok(())
}

#[test]
fn a_stream_may_be_dropped_with_work_on_it() -> Result<(), Error> {
    let device = device();
    let mut y = device.alloc(50_000)?;
    {
        let stream = device.stream()?;
        let x = stream.upload_new(&ramp(50_000))?;
        scale(&stream, &x, &mut y, 50, 1000, 5.0)?;
    }
    assert_eq!(device.stream()?.download(&y)?.wait()?, scaled(50_000, 5.0));
    Ok(())
}

#[test]
fn optional_and_updated_arguments_arrive() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let x = stream.upload_new(&ramp(77))?;
    let mut z = stream.upload_new(&ramp(77))?;
    let absent = Add { with_y: Y::Absent };
    let args = AddArgs {
        x: x.view(),
        y: None,
        small: 9,
        z: z.view_mut(),
        n: 77,
    };
    stream.launch(&absent, &args)?;
    let args = AddArgs {
        x: x.view(),
        y: Some(x.view()),
        small: 9,
        z: z.view_mut(),
        n: 77,
    };
    stream.launch(&Add { with_y: Y::Present }, &args)?;
    assert_eq!(stream.download(&z)?.wait()?, scaled(77, 4.0));
    Ok(())
}

#[test]
fn wrong_shapes_are_refused_with_both_numbers() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let x = stream.alloc(12)?;
    let mut y = stream.alloc(11)?;
    let refused = scale(&stream, &x, &mut y, 3, 4, 1.0);
    let want = LaunchError::Shape {
        kernel: "scale_0".into(),
        arg: "y".into(),
        shape: vec![3, 4],
        want: 12,
        got: 11,
    };
    assert_eq!(refused, Err(Error::Launch(want)));
    let refused = scale(&stream, &x, &mut y, 1 << 31, 0, 1.0);
    let want = LaunchError::Dimension {
        kernel: "scale_0".into(),
        arg: "x".into(),
        found: 1 << 31,
    };
    assert_eq!(refused, Err(Error::Launch(want)));
    assert_eq!(device.stats().launches, 0);
    Ok(())
}

#[test]
fn empty_grids_and_buffers_do_nothing() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let x = stream.upload_new::<f32>(&[])?;
    let mut y = stream.alloc(0)?;
    for (rows, n) in [(0, 5), (5, 0), (0, 0)] {
        scale(&stream, &x, &mut y, rows, n, 1.0)?;
    }
    stream.fill_zero(&mut y)?;
    stream.copy(&mut y, &x)?;
    assert_eq!(stream.download(&y)?.wait()?, [] as [f32; 0]);
    let stats = device.stats();
    assert_eq!(
        (
            stats.launches,
            stats.allocations,
            stats.h2d_calls,
            stats.d2h_calls
        ),
        (0, 0, 0, 0)
    );
    Ok(())
}

#[test]
fn another_device_is_refused() -> Result<(), Error> {
    let (here, there) = (device(), device());
    let stream = here.stream()?;
    let x = there.alloc(4)?;
    let mut y = stream.alloc(4)?;
    let refused = scale(&stream, &x, &mut y, 1, 4, 1.0);
    assert!(
        matches!(refused, Err(Error::WrongDevice { .. })),
        "{refused:?}"
    );
    let event = there.stream()?.record()?;
    assert!(matches!(
        stream.wait(&event),
        Err(Error::WrongDevice { .. })
    ));
    let loaded = there.loaded(&Scale::default(), Options::default())?;
    let refused = stream.launch_built(&loaded, Grid::linear(1, 256), &[], &[]);
    assert!(matches!(refused, Err(Error::WrongDevice { .. })));
    Ok(())
}

#[test]
fn a_raw_launch_takes_laid_out_bytes() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let loaded = device.loaded(&Scale::default(), Options::default())?;
    let offsets: Vec<_> = loaded
        .params()
        .iter()
        .map(|param| (param.offset, param.size))
        .collect();
    assert_eq!(offsets, [(0, 8), (8, 8), (16, 4), (20, 4), (24, 4)]);
    let x = stream.upload_new(&ramp(64))?;
    let mut y = stream.alloc::<f32>(64)?;
    let mut params = Vec::new();
    for address in [x.address(), y.address()] {
        params.extend(address.to_le_bytes());
    }
    for word in [1u32, 64, 2.0f32.to_bits()] {
        params.extend(word.to_le_bytes());
    }
    let grid = Grid::linear(1, Scale::default().threads());
    stream.launch_built(
        &loaded,
        grid,
        &params,
        &[x.view().read(), y.view_mut().write()],
    )?;
    assert_eq!(stream.download(&y)?.wait()?, scaled(64, 2.0));
    let short = stream.launch_built(&loaded, grid, &params[1..], &[]);
    let want = Error::Params {
        kernel: "scale_0".into(),
        want: 28,
        got: 27,
    };
    assert_eq!(short, Err(want));
    Ok(())
}
