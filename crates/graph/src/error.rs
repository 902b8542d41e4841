//! What goes wrong while a graph is built, planned or run.

use warpsmith_kernel::LaunchError;

/// What a dispatcher may fail with; [`Error::Dispatch`] says of which operation.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Operands do not fit together.
    #[error("`{op}`: {what} is {got}, expected {want}")]
    Shape {
        /// Operation.
        op: &'static str,
        /// Which extent.
        what: &'static str,
        /// Expected.
        want: u64,
        /// Found.
        got: u64,
    },
    /// An operand has the wrong element type.
    #[error("`{op}`: operand `{operand}` holds {got}, expected {want}")]
    Kind {
        /// Operation.
        op: &'static str,
        /// Operand.
        operand: &'static str,
        /// Expected.
        want: &'static str,
        /// Found.
        got: &'static str,
    },
    /// A node of another graph.
    #[error("`{op}`: operand `{operand}` is not a node of this graph")]
    Foreign {
        /// Operation.
        op: &'static str,
        /// Operand.
        operand: &'static str,
    },
    /// A number outside what the operation takes.
    #[error("`{op}`: {what} is {got}, expected {want}")]
    Value {
        /// Operation.
        op: &'static str,
        /// Which.
        what: &'static str,
        /// Expected.
        want: &'static str,
        /// Found.
        got: String,
    },
    /// The node is not an output of the plan.
    #[error("node {node} is not kept by the plan; mark it with `Graph::keep`")]
    NotKept {
        /// Node.
        node: u32,
    },
    /// A kernel that cannot run as a work item of CTAs of this size.
    #[error("kernel `{kernel}` has no form for CTAs of {threads} threads")]
    Resize {
        /// Kernel.
        kernel: String,
        /// Threads.
        threads: u32,
    },
    /// More CTAs than run at the same time.
    #[error(
        "a persistent kernel of {ctas} CTAs: at most {most} run at the same time on this device"
    )]
    Residency {
        /// Asked for.
        ctas: u64,
        /// That there are.
        most: u64,
    },
    /// More shared memory than a CTA has.
    #[error(
        "a persistent kernel needs {bytes} bytes of shared memory, a CTA of this device has {most}"
    )]
    Shared {
        /// Needed.
        bytes: u32,
        /// There.
        most: u32,
    },
    /// A dispatcher could not run an operation that it took.
    #[error("`{op}` of {name}: {source}")]
    Dispatch {
        /// Operation.
        op: &'static str,
        /// What the model calls its value.
        name: String,
        /// Why.
        source: Failure,
    },
    /// A kernel that was not built.
    #[error(transparent)]
    Build(#[from] warpsmith_kernel::BuildError),
    /// From the device.
    #[error(transparent)]
    Device(#[from] warpsmith_device::Error),
    /// A kernel refused its scalars.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// That two extents are the same.
pub(crate) fn equal(
    op: &'static str,
    what: &'static str,
    want: u32,
    got: u32,
) -> Result<(), Error> {
    if want == got {
        Ok(())
    } else {
        Err(Error::Shape {
            op,
            what,
            want: want.into(),
            got: got.into(),
        })
    }
}
