//! What a virtual GPU looks like from outside.

use crate::{
    check::{Checks, Observer},
    tier::Tier,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
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
    /// Which kernels are compiled to machine code, where the tier has a compiler.
    pub compile: Compile,
    /// Bytes of shared memory a CTA may use.
    pub shared_per_block: u32,
    /// CTAs that a cooperative launch may have.
    pub cooperative_ctas: u64,
    /// The most CTAs that a multiprocessor holds at once; threads and shared memory leave room for fewer.
    pub ctas_per_sm: u32,
    /// The newest PTX version it takes.
    pub max_ptx: PtxVersion,
    /// What is checked while kernels run; `None` runs at full speed.
    pub checks: Option<Checks>,
    /// Runs CTAs, the warps of each, and lanes that nothing orders, in an order that this number decides; `None` in theirs,
    /// with the lanes of a warp in step.
    ///
    /// An order is the same each time where one thread runs it: with [`Config::checks`], or one worker.
    pub seed: Option<u64>,
    /// Instructions a launch may run, each counted once for a warp, before it is stopped; `None` lets it run.
    pub budget: Option<u64>,
    /// Whether nothing but its launches changes device memory while one runs. Then a launch in which nothing can change
    /// any more is a deadlock at once; else only while the host waits for the only stream, and has no words that kernels
    /// see.
    pub closed: bool,
    /// What stops its launches from outside.
    pub stop: Option<Stop>,
    /// Who is told of each finding as it comes.
    pub observer: Option<Observer>,
    /// Whether a fresh allocation is filled with `0xFF` (NaN in every float type).
    pub poison: bool,
    /// Whether addresses of device memory are those it has in this process, so that host and kernels share pointers;
    /// else they are the same each time.
    pub unified: bool,
}

impl Config {
    /// The CTAs of an ordinary launch that the device holds at once, by their threads and bytes of shared memory.
    pub(crate) fn resident(&self, threads: u32, shared: u32) -> u64 {
        let sm = self.target.sm;
        let most = match sm {
            75 => 1024,
            86 | 87 | 89 | 120.. => 1536,
            _ => 2048,
        };
        let by_threads = most / threads.next_multiple_of(32).max(32);
        let by_shared = self.shared_per_block.checked_div(shared);
        let each = self.ctas_per_sm.min(by_threads);
        let each = by_shared.map_or(each, |fit| fit.min(each));
        u64::from(self.sms.max(1)) * u64::from(each.max(1))
    }
}

/// Which kernels are compiled to machine code. The bits are the same either way.
///
/// There is a compiler for [`Tier::Avx2`] and [`Tier::Avx512`]. Machines with checks or a budget interpret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compile {
    /// None: all are interpreted.
    Never,
    /// Those that are launched again, are prepared, or have many warps; without a seed. They are compiled beside running:
    /// CTAs are interpreted until the code is there.
    #[default]
    Worth,
    /// All of them, before their first launch.
    Always,
}

/// Stops launches; clones stop the same ones.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Launches that run end with [`FaultKind::Stopped`](crate::FaultKind::Stopped), and later ones begin so.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether they are to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
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
            compile: Compile::Worth,
            shared_per_block: 227 << 10,
            cooperative_ctas: 1 << 14,
            ctas_per_sm: 32,
            max_ptx: PtxVersion::new(8, 8),
            checks: None,
            seed: None,
            budget: None,
            closed: false,
            stop: None,
            observer: None,
            poison: false,
            unified: false,
        }
    }
}
