//! What a device says about itself.

use std::fmt;
use warpsmith_kernel::{Hardware, OLDEST, Processor};
use warpsmith_ptx::target::{PtxVersion, Target};

/// Facts about a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// What runs it.
    pub back_end: BackEnd,
    /// What kernels are built for.
    pub target: Target,
    /// The newest PTX it takes.
    pub max_ptx: PtxVersion,
    /// Multiprocessors.
    pub sms: u32,
    /// Whose kernels suit it: a card's on a card, and on a virtual GPU that stands for one.
    pub processor: Processor,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of shared memory that a CTA may use.
    pub shared_per_block: u32,
    /// The driver; `None` for the virtual GPU.
    pub driver: Option<DriverVersion>,
    /// Why a better device was passed over, where `auto` chose.
    pub passed_over: Option<String>,
}

impl DeviceInfo {
    /// Whether no kernel is built for it: it is older than [`OLDEST`].
    pub fn is_too_old(&self) -> bool {
        self.target.sm < OLDEST.sm
    }

    /// What kernels for it are chosen by.
    pub fn hardware(&self) -> Hardware {
        Hardware {
            target: self.target,
            sms: self.sms,
            processor: self.processor,
        }
    }
}

/// What runs a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackEnd {
    /// The virtual GPU, on the CPU.
    Virtual,
    /// A card, through the CUDA driver.
    Cuda {
        /// Its number.
        index: usize,
    },
}

/// The version of CUDA that a driver speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion {
    /// 12 in 12.8.
    pub major: u32,
    /// 8 in 12.8.
    pub minor: u32,
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl DriverVersion {
    /// From the driver's own number, 12080 for 12.8.
    pub fn from_number(number: u32) -> DriverVersion {
        DriverVersion {
            major: number / 1000,
            minor: number % 1000 / 10,
        }
    }

    /// The newest PTX that this driver takes.
    pub fn newest_ptx(self) -> PtxVersion {
        PtxVersion::newest_of_cuda(self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_takes_the_ptx_of_its_toolkit() {
        for (number, major, minor) in [
            (10000, 6, 3),
            (10020, 6, 5),
            (11040, 7, 4),
            (11080, 7, 8),
            (12000, 8, 0),
            (12050, 8, 5),
            (12060, 8, 5),
            (12070, 8, 6),
            (12080, 8, 7),
            (12090, 8, 8),
            (13000, 9, 0),
            (13010, 9, 1),
        ] {
            let newest = DriverVersion::from_number(number).newest_ptx();
            assert_eq!(newest, PtxVersion::new(major, minor), "driver {number}");
        }
    }
}
