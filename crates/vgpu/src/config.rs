//! What a virtual GPU looks like from outside.

use crate::{check::Checks, tier::Tier};
use warpsmith_ptx::target::{PtxVersion, Target};

/// What a virtual GPU reports and how it runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The device's name.
    pub name: String,
    /// The target it reports.
    pub target: Target,
    /// Multiprocessors it reports; also the modulus of `%smid`.
    pub sms: u32,
    /// Device memory in bytes; address space only until it is touched.
    pub memory: u64,
    /// Threads that run CTAs; 0 takes one for each core.
    pub workers: usize,
    /// The code path to run; `None` takes the best of this CPU.
    pub tier: Option<Tier>,
    /// Bytes of shared memory a CTA may use.
    pub shared_per_block: u32,
    /// CTAs that a cooperative launch may have.
    pub cooperative_ctas: u64,
    /// The newest PTX version it takes.
    pub max_ptx: PtxVersion,
    /// What is checked while kernels run; `None` runs at full speed.
    pub checks: Option<Checks>,
    /// Runs CTAs, and the warps of each, in an order that this number decides; `None` in theirs.
    ///
    /// An order is the same each time where one thread runs it: with [`Config::checks`], or one worker.
    pub seed: Option<u64>,
    /// Instructions a launch may run, each counted once for a warp, before it is stopped; `None` lets it run.
    pub budget: Option<u64>,
    /// Whether a fresh allocation is filled with `0xFF` (NaN in every float type).
    pub poison: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            name: "virtual GPU".to_owned(),
            target: Target::sm(90),
            sms: 16,
            memory: 8 << 30,
            workers: 0,
            tier: None,
            shared_per_block: 227 << 10,
            cooperative_ctas: 1 << 14,
            max_ptx: PtxVersion::new(8, 8),
            checks: None,
            seed: None,
            budget: None,
            poison: false,
        }
    }
}
