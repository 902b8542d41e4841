//! Kernels checked while they run.

use crate::kernels::{Scale, ScaleArgs, ramp, scaled};
use warpsmith_device::{
    Device, Error, Selector, Settings,
    check::{Checks, Kind},
};

fn settings() -> Settings {
    Settings {
        checker: Some(Checks::default()),
        ..Settings::default()
    }
}

#[test]
fn a_device_that_checks_says_what_kernels_do_wrong_and_nothing_of_correct_ones() -> Result<(), Error>
{
    let device = Device::open_with(&Selector::virtual_gpu(), settings())?;
    let stream = device.stream()?;
    let written = stream.upload_new(&ramp(4))?;
    let unwritten = stream.alloc::<f32>(4)?;
    let mut y = stream.alloc(4)?;
    let mut launch = |x: &warpsmith_device::Buffer<f32>| {
        let args = ScaleArgs {
            x: x.view(),
            y: y.view_mut(),
            rows: 1,
            n: 4,
            a: 3.0,
        };
        stream.launch(&Scale::default(), &args)?;
        stream.download(&y)?.wait()
    };
    assert_eq!(launch(&written)?, scaled(4, 3.0));
    assert_eq!(device.take_findings(), []);
    launch(&unwritten)?;
    let kinds: Vec<Kind> = device
        .take_findings()
        .iter()
        .map(|found| found.kind)
        .collect();
    assert_eq!(kinds, [Kind::UninitGlobal]);
    assert_eq!(device.take_findings(), [], "each is said once");
    Ok(())
}

#[test]
fn a_card_cannot_check() {
    let opened = Device::open_with(&Selector::Cuda(0), settings());
    assert!(matches!(opened, Err(Error::Unsupported { .. })));
}
