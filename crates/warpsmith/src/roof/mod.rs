//! Roofs: the two speeds that no kernel passes, moving bytes and fused multiply-adds (Williams, Waterman and Patterson, 2009).
//!
//! Both are measured, on the processor for the virtual GPU and by kernels on a card.

mod card;
mod host;

use crate::device::{BackEnd, Device, Error};
use serde_json::{Value, json};

/// What a machine does at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Bytes a second between its memory and what computes.
    pub bytes_s: f64,
    /// f32 operations a second of fused multiply-adds, two for each.
    pub operations_s: f64,
}

impl Roof {
    /// The roof of a device: of a card by its kernels, of the virtual GPU that of the processor with `threads` threads, in
    /// an array of `bytes` bytes. Takes up to a second, and wants a machine that does nothing else.
    ///
    /// # Errors
    /// Device errors of a card.
    pub fn measure(device: &Device, bytes: usize, threads: usize) -> Result<Roof, Error> {
        match device.info().back_end {
            BackEnd::Virtual => Ok(Roof::of_host(bytes, threads)),
            BackEnd::Cuda { .. } => Roof::of_card(device, bytes),
        }
    }

    /// The seconds that so many bytes and operations take at least.
    pub fn seconds(&self, bytes: u64, operations: u64) -> f64 {
        let moving = bytes as f64 / self.bytes_s;
        moving.max(operations as f64 / self.operations_s)
    }

    /// Operations a second that are possible where each byte is worth `intensity` operations.
    pub fn at(&self, intensity: f64) -> f64 {
        (intensity * self.bytes_s).min(self.operations_s)
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "bytes_s": self.bytes_s, "operations_s": self.operations_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Selector;

    #[test]
    fn the_lower_roof_counts() {
        let roof = Roof {
            bytes_s: 10.0,
            operations_s: 100.0,
        };
        assert_eq!(
            [roof.at(1.0), roof.at(10.0), roof.at(1000.0)],
            [10.0, 100.0, 100.0]
        );
        assert_eq!([roof.seconds(20, 1), roof.seconds(1, 500)], [2.0, 5.0]);
    }

    #[test]
    fn roofs_of_both_kinds_are_measured() -> Result<(), Error> {
        let device = Device::open(&Selector::virtual_gpu())?;
        let host = Roof::measure(&device, 1 << 20, 1)?;
        assert!(host.bytes_s > 1e8 && host.operations_s > 1e8, "{host:?}");
        // What a card is asked, the virtual GPU can be asked, too: it multiplies more slowly than its processor.
        let kernels = Roof::of_card(&device, 1 << 20)?;
        assert!(kernels.bytes_s > 1e6, "{kernels:?}");
        assert!(
            (1e6..host.operations_s * 16.0).contains(&kernels.operations_s),
            "{kernels:?}"
        );
        Ok(())
    }
}
