//! What keys and values need of the device's memory, to say so where they do not fit.

use super::config::Config;
use crate::Error;
use warpsmith_graph::Precision;
use warpsmith_library::attention::CacheType;

/// How many positions of how many sequences a cache has.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheNeeds {
    pub(super) sequences: u32,
    pub(super) context: u32,
    /// Of all of them together, which may share.
    pub(super) positions: u64,
    pub(super) ty: CacheType,
}

/// The type of keys and values.
pub(super) fn cache_type(precision: Precision) -> CacheType {
    match precision {
        Precision::Exact => CacheType::F32,
        Precision::Fast => CacheType::F16,
    }
}

impl CacheNeeds {
    /// Bytes of the keys and values of so many layers.
    fn bytes(&self, config: &Config, layers: u32) -> u64 {
        let row = u64::from(config.kv_heads) * u64::from(config.head_dim);
        let bytes = row.saturating_mul(2 * u64::from(self.ty.bytes()));
        let layer = bytes.saturating_mul(self.positions);
        layer.saturating_mul(layers.into())
    }

    /// The error of a layer; where memory is exhausted, with what all need.
    ///
    /// What the layers before it took was free. Asked for beforehand, the figure might lack memory whose free is under
    /// way, which an allocation waits for.
    pub(super) fn refused(
        &self,
        config: &Config,
        layer: u32,
        error: warpsmith_graph::Error,
    ) -> Error {
        use warpsmith_device::Error::OutOfMemory;
        match error {
            warpsmith_graph::Error::Device(OutOfMemory { free, .. }) => Error::CacheTooLarge {
                sequences: self.sequences,
                context: self.context,
                positions: self.positions,
                needed: self.bytes(config, config.layers),
                free: free.saturating_add(self.bytes(config, layer)),
            },
            other => other.into(),
        }
    }
}
