//! What there is: the driver, the card, and what it can do.

use super::Failed;
use serde::Serialize;
use std::fmt;
use warpsmith::device::{Device, DeviceInfo, Selector, devices};

/// Facts about the device that is checked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Found {
    pub(super) card: String,
    pub(super) driver: String,
    pub(super) target: String,
    pub(super) ptx: String,
    pub(super) sms: u32,
    pub(super) memory: u64,
    pub(super) shared_per_block: u32,
    pub(super) cores: usize,
}

/// Looks at the device without a context on it, so that only workers have one.
///
/// # Errors
/// Where there is none: what was tried.
pub(super) fn found(selector: &Selector) -> Result<Found, Failed> {
    let info = match selector {
        Selector::Auto => return Err("name a card, as cuda:0".into()),
        Selector::Virtual(_) => Device::open(selector)?.info().clone(),
        Selector::Cuda(index) => {
            let cards = devices().cards?;
            let count = cards.len();
            cards
                .into_iter()
                .nth(*index)
                .ok_or_else(|| format!("no card {index}: the driver lists {count}"))?
        }
    };
    let DeviceInfo {
        name,
        back_end: _,
        target,
        max_ptx,
        sms,
        processor: _,
        memory,
        shared_per_block,
        driver,
        passed_over: _,
    } = info;
    Ok(Found {
        card: name,
        driver: driver.map_or_else(|| "none".into(), |driver| format!("CUDA {driver}")),
        target: target.to_string(),
        ptx: max_ptx.to_string(),
        sms,
        memory,
        shared_per_block,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    })
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: driver {}, PTX up to {}, kernels for {}, {} multiprocessors, {:.1} GiB, {} KiB shared memory a block; {} cores here",
            self.card,
            self.driver,
            self.ptx,
            self.target,
            self.sms,
            self.memory as f64 / f64::from(1 << 30),
            self.shared_per_block >> 10,
            self.cores,
        )
    }
}
