//! What a launch is to those who run it.

use crate::memory::{Own, Window};

/// The launch and the CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchView {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cta: [u32; 3],
    /// CTAs of a cluster, and whether somebody asked for clusters.
    pub(crate) cluster: [u32; 3],
    pub(crate) clustered: bool,
    pub(crate) grid_id: u64,
    pub(crate) dynamic_shared: u32,
    pub(crate) shared: u32,
    pub(crate) sms: u32,
    /// Where the workspace of a cooperative grid is; 0 without one.
    pub(crate) workspace: u64,
    pub(crate) params: Vec<u8>,
    /// Where generic addresses of the CTA's own memory start.
    pub(crate) own: Own,
    /// The CTAs of its cluster by rank, itself among them; none where it is alone.
    pub(crate) peers: Vec<Peer>,
}

/// A CTA of a cluster as the others see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Its number in the launch.
    pub(crate) index: u32,
    /// Its shared memory, and where generic addresses of that start.
    pub(crate) shared: Window,
    pub(crate) base: u64,
    /// Whether it has not ended.
    pub(crate) lives: bool,
}

impl LaunchView {
    /// How many CTAs a cluster has.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The place of the CTA in its cluster.
    pub(crate) fn in_cluster(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.cta[i] % self.cluster[i].max(1))
    }

    /// The rank of the CTA in its cluster.
    pub(crate) fn rank(&self) -> u32 {
        let [x, y, z] = self.in_cluster();
        let [nx, ny, _] = self.cluster.map(|n| n.max(1));
        x + nx * (y + ny * z)
    }
}
