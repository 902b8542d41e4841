//! What can go wrong: errors of the caller, and faults of the guest.

use std::fmt;
use warpsmith_ptx::{
    ir::{Name, Span},
    target::PtxVersion,
};

/// An error of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No free range is large enough.
    #[error("out of device memory: {needed} bytes needed, {free} free")]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free in all.
        free: u64,
    },
    /// The system gave no address space for the arena.
    #[error("cannot reserve {bytes} bytes of device memory: {reason}")]
    Reserve {
        /// Bytes asked for.
        bytes: u64,
        /// What the system said.
        reason: String,
    },
    /// The system gave no thread.
    #[error("cannot start a thread: {reason}")]
    Thread {
        /// What the system said.
        reason: String,
    },
    /// The tier is not available on this CPU.
    #[error("this CPU has no {tier:?}")]
    Tier {
        /// The tier asked for.
        tier: crate::Tier,
    },
    /// An address that is not the start of an allocation.
    #[error("0x{address:x} is not the start of an allocation")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// A range outside of device memory.
    #[error("{len} bytes at 0x{address:x} are not in device memory")]
    Range {
        /// First byte.
        address: u64,
        /// Length.
        len: u64,
    },
    /// The module asks for more than the device reports.
    #[error("PTX {found} is newer than {newest}, the newest this device takes")]
    PtxVersion {
        /// The module's version.
        found: PtxVersion,
        /// The device's.
        newest: PtxVersion,
    },
    /// Something PTX has and this device does not do.
    #[error("{kernel}, {span}: {what} is not supported by the virtual GPU")]
    Unsupported {
        /// The kernel, or the module variable.
        kernel: Name,
        /// Where.
        span: Span,
        /// What.
        what: String,
    },
    /// A launch argument out of range.
    #[error(
        "launch of {kernel}: {what} is {found}, expected {}{expected}",
        what.at_most()
    )]
    Launch {
        /// The kernel.
        kernel: Name,
        /// Which argument.
        what: Limit,
        /// Its value.
        found: u64,
        /// The limit or the exact value.
        expected: u64,
    },
    /// A kernel of another machine.
    #[error("{kernel} was loaded on another machine")]
    OtherMachine {
        /// The kernel.
        kernel: Name,
    },
    /// Code of this device panicked while it ran a launch, or in [`Stream::call`](crate::Stream::call).
    #[error("the virtual GPU broke while it ran {kernel}: {what}")]
    Panic {
        /// The kernel, or what else was run.
        kernel: Name,
        /// What the panic said.
        what: String,
    },
    /// A fault of a kernel that ran.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// What an argument of a launch must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// As many threads as a CTA of the device may have.
    #[error("threads of a block")]
    Threads,
    /// One of the grid's extents.
    #[error("an extent of the grid")]
    GridExtent,
    /// The block's shape as the kernel requires it.
    #[error("block shape against .reqntid")]
    ReqNtid,
    /// The most threads that the kernel is made for.
    #[error("threads of a block against .maxntid")]
    MaxNtid,
    /// The bytes of all parameters.
    #[error("bytes of parameters")]
    Parameters,
    /// Static and dynamic shared memory of a CTA.
    #[error("bytes of shared memory")]
    Shared,
    /// As many CTAs as the device holds at once.
    #[error("blocks of a cooperative launch")]
    Cooperative,
    /// As many CTAs as a cluster may have.
    #[error("blocks of a cluster")]
    ClusterSize,
    /// As many CTAs as the kernel requires a cluster to have.
    #[error("blocks of a cluster against .reqnctapercluster")]
    ReqCluster,
    /// An extent of the grid, which must be a multiple of that of a cluster; expected is the next.
    #[error("an extent of the grid, in whole clusters,")]
    ClusterGrid,
}

impl Limit {
    /// Whether there may be less than the limit.
    fn at_most(self) -> &'static str {
        match self {
            Limit::Threads
            | Limit::MaxNtid
            | Limit::Shared
            | Limit::Cooperative
            | Limit::ClusterSize => "at most ",
            Limit::GridExtent
            | Limit::ReqNtid
            | Limit::Parameters
            | Limit::ReqCluster
            | Limit::ClusterGrid => "",
        }
    }
}

/// What a faulting thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An address outside its memory.
    OutOfBounds {
        /// Bytes of the access.
        bytes: u32,
    },
    /// An address that is not a multiple of the access size.
    Misaligned {
        /// Bytes of the access.
        bytes: u32,
    },
    /// `trap`.
    Trap,
    /// A call of `__assertfail`.
    Assert,
    /// Nothing can change any more: every thread of the CTAs that the device holds waits, or has left.
    Deadlock {
        /// Who waits where.
        waiting: Vec<Waiting>,
        /// CTAs that have not begun, since the device holds no more.
        not_begun: u64,
    },
    /// Some lanes run an instruction that needs the whole warp.
    Partial {
        /// How many.
        lanes: u32,
        /// Lanes of the warp.
        of: u32,
        /// Where others are.
        elsewhere: Option<Span>,
    },
    /// Lanes exchange values with lanes at another instruction, which the virtual GPU does not do.
    TwoPlaces {
        /// The other instruction.
        other: Span,
    },
    /// It was stopped from outside ([`Config::stop`](crate::Config::stop)).
    Stopped,
    /// The launch ran as many instructions as it may ([`Config::budget`](crate::Config::budget)).
    Budget {
        /// Instructions, each counted once for a warp.
        instructions: u64,
    },
    /// A function was called when the thread's stack had no room for it.
    StackFull {
        /// The function.
        function: Name,
    },
    /// Any other misuse.
    Misuse(Misuse),
}

/// What a faulting thread did against the rules of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// There are 16 barriers.
    #[error("barrier number above 15")]
    BarrierNumber,
    /// `brx.idx`.
    #[error("branch index outside of its targets")]
    BranchIndex,
    /// `mbarrier.init`.
    #[error("an mbarrier's count of 0 or above 2^20 - 1")]
    ArrivalCount,
    /// `mbarrier.arrive`.
    #[error("more arrivals at an mbarrier than it expects")]
    Arrivals,
    /// A pointer to what is no function, or to one with other parameters.
    #[error("a call of what is no function of this type")]
    Callee,
    /// A call that names no function.
    #[error("a call of nothing")]
    NoCallee,
    /// `ret` where nobody called.
    #[error("a return without a call")]
    Return,
    /// `mbarrier.expect_tx`, and what completes transactions.
    #[error("more than 2^20 - 1 bytes pending at an mbarrier, or come before they are expected")]
    Transactions,
    /// A copy of a tensor.
    #[error("no tensor map of this many dimensions at the address, or one that no copy can be of")]
    TensorMap,
    /// A reduction of a tensor.
    #[error("a reduction that the tensor's type does not have")]
    TensorReduction,
    /// An access to the shared memory of a CTA of the cluster that has ended.
    #[error("an access to the shared memory of a CTA that has ended")]
    EndedCta,
    /// `barrier.cluster.arrive`.
    #[error("a second arrival at the barrier of the cluster without a wait for the first")]
    ClusterArrive,
    /// `barrier.cluster.wait`.
    #[error("a wait at the barrier of the cluster without an arrival")]
    ClusterWait,
    /// A read of a texture by what is no handle of one, or no longer.
    #[error("a handle that is no texture object of this device")]
    Texture,
    /// The same of a surface.
    #[error("a handle that is no surface object of this device")]
    Surface,
    /// `tex.2d` of a volume, and the like.
    #[error("an instruction of another geometry than the texture or surface has")]
    Geometry,
    /// An access to a surface with `.trap`.
    #[error("an access outside of a surface")]
    SurfaceRange,
    /// `tcgen05`: columns that were not given out, or no longer.
    #[error("tensor memory that is not allocated")]
    TensorMemory,
    /// `tcgen05.alloc` and `tcgen05.dealloc`.
    #[error("a number of columns that is no power of two from 32 to 512")]
    TensorColumns,
    /// `tcgen05.alloc`: another warp would have to give columns back.
    #[error("no so many columns of tensor memory are free")]
    TensorMemoryFull,
    /// `tcgen05.alloc` behind `tcgen05.relinquish_alloc_permit`.
    #[error("an allocation of tensor memory by a CTA that has relinquished its permit")]
    TensorPermit,
    /// `tcgen05.ld`, `tcgen05.st` and others: a warp has a quarter of the lanes.
    #[error("lanes of tensor memory that are not the warp's, or none")]
    TensorLanes,
    /// `tcgen05.mma`.
    #[error(
        "an instruction descriptor that the kind of product does not have, or that is not done: sparse, or of a depth of 96"
    )]
    TensorProduct,
    /// `tcgen05.mma` and `tcgen05.cp`.
    #[error(
        "a descriptor of a matrix that is not done: a pattern of 32 bytes, or an absolute leading offset"
    )]
    TensorDescriptor,
    /// A generic store to a parameter of the kernel.
    #[error("a store to a parameter of the kernel")]
    ParameterStore,
}

/// Lanes of a warp that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The CTA.
    pub cta: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes.
    pub lanes: u32,
    /// Where.
    pub span: Span,
    /// What for.
    pub awaits: Awaited,
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A barrier of the CTA, by its number.
    Barrier(u32),
    /// The barrier of the cluster.
    Cluster,
    /// Lanes of its warp that an instruction names.
    Lanes(u32),
    /// The other lanes of its warp, which came another way.
    Others(u32),
    /// Another value in memory.
    Word {
        /// Where, as the instruction names it.
        address: u64,
        /// Whether that is shared memory.
        shared: bool,
        /// What stands there.
        value: u64,
    },
    /// The end of an `mbarrier`'s phase.
    Phase {
        /// Where it is in shared memory.
        address: u64,
        /// 0 or 1: the first phase is 0.
        parity: u32,
        /// Arrivals that have not come, of how many.
        missing: u32,
        /// Arrivals that end a phase.
        expected: u32,
        /// Bytes that have not come; less than none if more came than were expected.
        bytes: i32,
        /// Bytes that it expects and bytes that came, in this phase, where that is checked.
        transactions: Option<[u32; 2]>,
    },
    /// Nothing: what it repeats reads no memory.
    Nothing,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waiting {
            cta: [x, y, z],
            warp,
            lanes,
            span,
            awaits,
        } = self;
        let count = lanes.count_ones();
        write!(
            f,
            "warp {warp} of cta ({x}, {y}, {z}) waits with {count} lanes at {span} for "
        )?;
        match awaits {
            Awaited::Barrier(number) => write!(f, "barrier {number}"),
            Awaited::Cluster => f.write_str("the barrier of its cluster"),
            Awaited::Lanes(lanes) | Awaited::Others(lanes) => {
                write!(f, "lanes 0x{lanes:x} of the warp")
            }
            Awaited::Word {
                address,
                shared,
                value,
            } => {
                let space = if *shared { "shared " } else { "" };
                write!(f, "another value than {value} at {space}0x{address:x}")
            }
            Awaited::Phase {
                address,
                parity,
                missing,
                expected,
                bytes,
                transactions,
            } => {
                write!(
                    f,
                    "the end of the phase of parity {parity} of the mbarrier at shared 0x{address:x}, \
                     {missing} of {expected} arrivals missing"
                )?;
                match bytes {
                    0 => Ok(()),
                    1.. => write!(f, " and {bytes} bytes"),
                    _ => write!(
                        f,
                        ", and {} bytes more came than it expects",
                        bytes.unsigned_abs()
                    ),
                }?;
                match transactions {
                    Some([expects, came]) if expects != came => {
                        write!(f, " (it expects {expects} bytes, {came} came)")
                    }
                    _ => Ok(()),
                }
            }
            Awaited::Nothing => f.write_str("nothing that could come"),
        }
    }
}

/// The most of those who wait that a message names.
const NAMED: usize = 8;

/// Who waits, as far as a message names them, and how many more there are.
pub(crate) fn names(waiting: &[Waiting], not_begun: u64) -> String {
    let mut parts: Vec<String> = waiting.iter().take(NAMED).map(Waiting::to_string).collect();
    if waiting.len() > NAMED {
        parts.push(format!("{} more wait", waiting.len() - NAMED));
    }
    if not_begun > 0 {
        parts.push(format!(
            "{not_begun} CTAs have not begun, for the device holds no more at once"
        ));
    }
    parts.join("; ")
}

/// A fault of a running kernel. The first one of a launch is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: Name,
    /// The instruction.
    pub span: Span,
    /// The CTA.
    pub cta: [u32; 3],
    /// The thread in its CTA.
    pub thread: [u32; 3],
    /// The address, where there is one.
    pub address: Option<u64>,
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault {
            kind,
            kernel,
            span,
            cta,
            thread,
            address,
        } = self;
        match kind {
            FaultKind::OutOfBounds { bytes } => write!(f, "access of {bytes} bytes out of bounds")?,
            FaultKind::Misaligned { bytes } => write!(f, "misaligned access of {bytes} bytes")?,
            FaultKind::Trap => f.write_str("trap")?,
            FaultKind::Assert => f.write_str("an assertion failed")?,
            FaultKind::Deadlock { waiting, not_begun } => {
                return write!(f, "deadlock in {kernel}: {}", names(waiting, *not_begun));
            }
            FaultKind::Partial { lanes, of, .. } => write!(
                f,
                "{lanes} of {of} lanes of the warp run an instruction that all must run together"
            )?,
            FaultKind::TwoPlaces { other } => write!(
                f,
                "lanes exchange values with lanes at {other}, which is not supported by the virtual GPU"
            )?,
            FaultKind::Stopped => f.write_str("stopped")?,
            FaultKind::Budget { instructions } => write!(
                f,
                "stopped: the launch has run the {instructions} instructions of its budget"
            )?,
            FaultKind::StackFull { function } => {
                write!(f, "the stack is full in a call of `{function}`")?;
            }
            FaultKind::Misuse(misuse) => misuse.fmt(f)?,
        }
        if let Some(address) = address {
            write!(f, " at 0x{address:x}")?;
        }
        let [cx, cy, cz] = cta;
        let [tx, ty, tz] = thread;
        write!(
            f,
            " in {kernel}, {span}, cta ({cx}, {cy}, {cz}), thread ({tx}, {ty}, {tz})"
        )
    }
}
