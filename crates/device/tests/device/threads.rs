//! One device, several threads.

use crate::kernels::{Scale, ScaleArgs, device, ramp, scaled};
use warpsmith_device::Error;

#[test]
fn threads_share_a_device_and_its_weights() -> Result<(), Error> {
    let device = device();
    let weights = device.stream()?.upload_new(&ramp(5000))?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4u16)
            .map(|k| {
                let (device, weights) = (&device, &weights);
                scope.spawn(move || -> Result<(), Error> {
                    let stream = device.stream()?;
                    for round in 1..=10u16 {
                        let mut y = stream.alloc(5000)?;
                        let a = f32::from(k) * f32::from(round);
                        let args = ScaleArgs {
                            x: weights.view(),
                            y: y.view_mut(),
                            rows: 5,
                            n: 1000,
                            a,
                        };
                        stream.launch(&Scale::default(), &args)?;
                        assert_eq!(stream.download(&y)?.wait()?, scaled(5000, a));
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    assert_eq!(device.stats().launches, 40);
    Ok(())
}

#[test]
fn streams_are_used_again() -> Result<(), Error> {
    let device = device();
    let x = device.stream()?.upload_new(&ramp(10))?;
    for _ in 0..200 {
        let stream = device.stream()?;
        assert_eq!(stream.download(&x)?.wait()?, ramp(10));
    }
    let waits = device.stats().stream_waits;
    assert!(waits < 100, "{waits} of 200 streams were new to the buffer");
    Ok(())
}
