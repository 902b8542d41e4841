//! Texture and surface objects: what kernels read and write by a handle, and how it was described.

use crate::core::Core;
use std::sync::Arc;

/// `CUDA_RESOURCE_DESC`: a kind, and as many words as any kind has.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Resource {
    pub(crate) kind: u32,
    pub(crate) reserved: u32,
    pub(crate) words: [u64; 16],
    pub(crate) flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Sampling {
    pub(crate) address: [u32; 3],
    pub(crate) filter: u32,
    pub(crate) flags: u32,
    pub(crate) anisotropy: u32,
    pub(crate) mip_filter: u32,
    pub(crate) bias: f32,
    pub(crate) levels: [f32; 2],
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [u32; 12],
}

impl Resource {
    pub(crate) const NONE: Resource = Resource {
        kind: 0,
        reserved: 0,
        words: [0; 16],
        flags: 0,
    };
}

impl Sampling {
    pub(crate) const NONE: Sampling = Sampling {
        address: [0; 3],
        filter: 0,
        flags: 0,
        anisotropy: 0,
        mip_filter: 0,
        bias: 0.0,
        levels: [0.0; 2],
        border: [0.0; 4],
        reserved: [0; 12],
    };
}

/// Flags of textures.
pub(crate) const AS_INTEGER: u32 = 0x01;
pub(crate) const NORMALIZED: u32 = 0x02;
pub(crate) const SRGB: u32 = 0x10;
pub(crate) const NO_TRILINEAR: u32 = 0x20;
pub(crate) const SEAMLESS: u32 = 0x40;

/// An object; kernels find it while it lives.
pub(crate) struct Object {
    pub(crate) core: Arc<Core>,
    /// The handle, as kernels have it.
    pub(crate) handle: u64,
    pub(crate) resource: Resource,
    /// Of a texture.
    pub(crate) sampling: Option<Sampling>,
}

impl Drop for Object {
    fn drop(&mut self) {
        self.core.machine.forget(self.handle);
    }
}
