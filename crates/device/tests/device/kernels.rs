//! The device that the tests share, with their kernels.

pub(crate) use crate::scale::*;
use warpsmith_device::{Device, Selector, VirtualCard};

pub(crate) fn device() -> Device {
    with_memory(256 << 20)
}

pub(crate) fn with_memory(bytes: u64) -> Device {
    let card = VirtualCard {
        memory: Some(bytes),
        workers: Some(2),
        ..VirtualCard::default()
    };
    Device::open(&Selector::Virtual(card)).expect("a virtual GPU")
}
