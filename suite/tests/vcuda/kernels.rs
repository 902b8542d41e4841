//! The device that the tests of the device crate run on here: a card of its own for each, behind the driver.

use crate::library;
pub(crate) use crate::scale::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use warpsmith_device::{BackEnd, Device, Selector};

fn open(index: usize) -> Device {
    library::load();
    let device = Device::open(&Selector::Cuda(index)).expect("a card");
    let info = device.info();
    assert_eq!(info.back_end, BackEnd::Cuda { index });
    assert_eq!(info.name, library::NAME, "another driver is in the way");
    device
}

pub(crate) fn device() -> Device {
    static NEXT: AtomicUsize = AtomicUsize::new(library::MODEL_CARD + 1);
    open(NEXT.fetch_add(1, Relaxed))
}

pub(crate) fn with_memory(bytes: u64) -> Device {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    assert_eq!(bytes, library::SMALL);
    let index = NEXT.fetch_add(1, Relaxed);
    assert!(
        index < library::SMALL_CARDS,
        "as many small cards as tests ask for"
    );
    open(index)
}
