//! What a launch is to those who run it.

use crate::memory::Own;

/// The launch and the CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchView {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cta: [u32; 3],
    pub(crate) grid_id: u64,
    pub(crate) dynamic_shared: u32,
    pub(crate) shared: u32,
    pub(crate) sms: u32,
    /// Where the workspace of a cooperative grid is; 0 without one.
    pub(crate) workspace: u64,
    pub(crate) params: Vec<u8>,
    /// Where generic addresses of the CTA's own memory start.
    pub(crate) own: Own,
}
