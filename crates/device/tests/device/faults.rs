//! Faults of kernels on the virtual GPU, which goes on after them.

use crate::kernels::{Scale, device, ramp};
use warpsmith_device::{Checks, Device, Error, Grid, Selector, Settings};
use warpsmith_kernel::Options;

/// Parameters of [`Scale`] whose addresses lie outside of device memory.
fn wild() -> Vec<u8> {
    let mut params = vec![0; 28];
    params[..16].copy_from_slice(&[0xF0; 16]);
    params[16..24].copy_from_slice(&[1, 0, 0, 0, 64, 0, 0, 0]);
    params
}

#[test]
fn a_fault_names_its_kernel_and_the_stream_goes_on() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let loaded = device.loaded(&Scale::default(), Options::default())?;
    stream.launch_built(&loaded, Grid::linear(1, 256), &wild(), &[])?;
    let Err(Error::Fault(fault)) = stream.synchronize() else {
        panic!("a fault")
    };
    assert_eq!(&*fault.kernel, "scale_0");
    stream.synchronize()?;
    let x = stream.upload_new(&ramp(8))?;
    assert_eq!(stream.download(&x)?.wait()?, ramp(8));
    Ok(())
}

#[test]
fn a_device_that_checks_each_launch_reports_from_the_launch() -> Result<(), Error> {
    let settings = Settings {
        checks: Checks::EachLaunch,
        ..Settings::default()
    };
    let device = Device::open_with(&Selector::virtual_gpu(), settings)?;
    let stream = device.stream()?;
    let loaded = device.loaded(&Scale::default(), Options::default())?;
    let refused = stream.launch_built(&loaded, Grid::linear(1, 256), &wild(), &[]);
    assert!(matches!(refused, Err(Error::Fault(_))), "{refused:?}");
    Ok(())
}
