//! Machines without a driver.

use warpsmith_device::{BackEnd, Device, Error, Selector, devices};
use warpsmith_kernel::Options;

#[test]
fn without_a_driver_the_error_names_what_was_tried() {
    match Device::open(&Selector::Cuda(0)) {
        Err(Error::NoDriver { tried }) => {
            let names = ["libcuda", "nvcuda", "cuda"];
            assert!(!tried.is_empty());
            assert!(
                tried
                    .iter()
                    .any(|tried| names.iter().any(|name| tried.contains(name))),
                "{tried:?}"
            );
            assert!(devices().cards.is_err());
        }
        Err(Error::NoCard { index, found }) => assert_eq!((index, found), (0, 0)),
        Err(other) => panic!("{other}"),
        Ok(device) => assert_eq!(device.info().back_end, BackEnd::Cuda { index: 0 }),
    }
}

#[test]
fn auto_always_finds_a_device_and_says_why_it_is_not_a_card() -> Result<(), Error> {
    let device = Device::open(&Selector::Auto)?;
    let info = device.info();
    match info.back_end {
        BackEnd::Virtual => assert!(info.passed_over.is_some()),
        BackEnd::Cuda { index } => assert_eq!(index, 0),
    }
    Ok(())
}

#[test]
fn a_virtual_gpu_reports_what_was_asked_for() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open(&"virtual:sm75".parse()?)?;
    assert_eq!(device.info().target.to_string(), "sm_75");
    assert_eq!(device.info().shared_per_block, 64 << 10);
    let newer = warpsmith_kernel::build(
        &crate::kernels::Scale::default(),
        "sm_90".parse()?,
        Options::default(),
    )?;
    let refused = device.load(&newer.module).err();
    assert!(
        matches!(refused, Some(Error::WrongTarget { .. })),
        "{refused:?}"
    );
    Ok(())
}

#[test]
fn a_virtual_gpu_is_the_card_that_was_described() -> Result<(), Box<dyn std::error::Error>> {
    let text = "virtual:sm80,sms=3,memory=1MiB,shared=50KiB,cooperative=2,ptx=7.0";
    let device = Device::open(&text.parse()?)?;
    let info = device.info();
    assert_eq!(
        (info.sms, info.memory, info.shared_per_block),
        (3, 1 << 20, 50 << 10)
    );
    let scale = crate::kernels::Scale::default();
    let loaded = device.loaded(&scale, Options::default())?;
    assert_eq!(device.resident_ctas(&loaded, 32, 0)?, 2);
    let newer = warpsmith_kernel::build(&scale, "sm_80".parse()?, Options::default())?;
    assert_eq!(newer.module.version, info.max_ptx);
    let older = Device::open(&"virtual:sm80,ptx=6.5".parse()?)?;
    let refused = older.load(&newer.module).err();
    let want = Error::PtxTooNew {
        needed: info.max_ptx,
        driver_takes: older.info().max_ptx,
    };
    assert_eq!(refused, Some(want));
    Ok(())
}
