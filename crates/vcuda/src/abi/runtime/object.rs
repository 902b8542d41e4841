//! Texture and surface objects, described as the runtime does it.

use super::{
    super::{
        object::{
            cuSurfObjectCreate, cuSurfObjectDestroy, cuSurfObjectGetResourceDesc,
            cuTexObjectCreate, cuTexObjectDestroy, cuTexObjectGetResourceDesc,
            cuTexObjectGetResourceViewDesc, cuTexObjectGetTextureDesc,
        },
        raw::{In, Out},
    },
    array::Channels,
    error::{Code, well},
    state::ready,
};
use crate::{
    array::{format, number},
    object::{AS_INTEGER, NO_TRILINEAR, NORMALIZED, Resource, SEAMLESS, SRGB, Sampling},
};
use std::ffi::{c_int, c_void};

/// `cudaResourceDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Described {
    kind: c_int,
    memory: Memory,
    flags: u32,
}

/// What all kinds of resources have room for: an array, or memory with the format of its elements, and sizes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Memory {
    start: u64,
    channels: Channels,
    sizes: [u64; 3],
    rest: [u64; 9],
}

/// `cudaTextureDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Reading {
    address: [u32; 3],
    filter: u32,
    /// Whether integers become floats.
    as_float: u32,
    srgb: c_int,
    border: [f32; 4],
    normalized: c_int,
    anisotropy: u32,
    mip_filter: u32,
    bias: f32,
    levels: [f32; 2],
    no_trilinear: c_int,
    seamless: c_int,
}

/// Kinds from which on resources are memory that is no array.
const LINEAR: u32 = 2;

impl Described {
    fn drivers(self) -> Result<Resource, Code> {
        let Described {
            kind,
            memory,
            flags,
        } = self;
        let kind = kind as u32;
        let mut words = [0; 16];
        words[0] = memory.start;
        if kind >= LINEAR {
            let (format, channels) = number(memory.channels.format()?);
            words[1] = u64::from(format) | u64::from(channels) << 32;
            words[2..5].copy_from_slice(&memory.sizes);
        }
        Ok(Resource {
            kind,
            reserved: 0,
            words,
            flags,
        })
    }

    fn of(resource: &Resource) -> Result<Described, Code> {
        let words = &resource.words;
        let mut memory = Memory {
            start: words[0],
            channels: Channels::NONE,
            sizes: [0; 3],
            rest: [0; 9],
        };
        if resource.kind >= LINEAR {
            memory.channels = Channels::of(format(words[1] as u32, (words[1] >> 32) as u32)?);
            memory.sizes.copy_from_slice(&words[2..5]);
        }
        Ok(Described {
            kind: resource.kind as c_int,
            memory,
            flags: resource.flags,
        })
    }
}

impl Reading {
    fn drivers(self) -> Sampling {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        Sampling {
            address: self.address,
            filter: self.filter,
            flags: flag(self.as_float == 0, AS_INTEGER)
                | flag(self.normalized != 0, NORMALIZED)
                | flag(self.srgb != 0, SRGB)
                | flag(self.no_trilinear != 0, NO_TRILINEAR)
                | flag(self.seamless != 0, SEAMLESS),
            anisotropy: self.anisotropy,
            mip_filter: self.mip_filter,
            bias: self.bias,
            levels: self.levels,
            border: self.border,
            reserved: [0; 12],
        }
    }

    fn of(sampling: &Sampling) -> Reading {
        let has = |flag: u32| c_int::from(sampling.flags & flag != 0);
        Reading {
            address: sampling.address,
            filter: sampling.filter,
            as_float: u32::from(sampling.flags & AS_INTEGER == 0),
            srgb: has(SRGB),
            border: sampling.border,
            normalized: has(NORMALIZED),
            anisotropy: sampling.anisotropy,
            mip_filter: sampling.mip_filter,
            bias: sampling.bias,
            levels: sampling.levels,
            no_trilinear: has(NO_TRILINEAR),
            seamless: has(SEAMLESS),
        }
    }
}

/// Whether integers of 32 bits are to become floats, which they can not.
fn is_too_wide(resource: &Resource, reading: &Reading) -> Result<bool, Code> {
    let format = match resource.kind {
        0 => {
            super::array::array(crate::table::Handle(resource.words[0] as usize))?
                .image
                .format
        }
        LINEAR.. => format(resource.words[1] as u32, (resource.words[1] >> 32) as u32)?,
        _ => return Ok(false),
    };
    let wide = format.channel.bytes() == 4 && !format.channel.is_float();
    Ok(wide && reading.as_float != 0)
}

runtime_entries! {
    cudaCreateTextureObject(out: Out<u64>, resource: In<Described>, reading: In<Reading>, view: In<c_void>) {
        let (resource, reading) = (resource.value()?.drivers()?, reading.value()?);
        ready()?;
        if reading.as_float > 1 || is_too_wide(&resource, &reading)? {
            return Err(Code::INVALID_VALUE);
        }
        let sampling = reading.drivers();
        well(cuTexObjectCreate(out, In::from(&resource), In::from(&sampling), view))
    }

    cudaDestroyTextureObject(handle: u64) {
        ready()?;
        if handle == 0 {
            return Ok(());
        }
        well(cuTexObjectDestroy(handle))
    }

    cudaGetTextureObjectResourceDesc(out: Out<Described>, handle: u64) {
        let (out, mut resource) = (out.wanted()?, Resource::NONE);
        ready()?;
        well(cuTexObjectGetResourceDesc(Out::to(&mut resource), handle))?;
        Ok(out.put(Described::of(&resource)?)?)
    }

    cudaGetTextureObjectTextureDesc(out: Out<Reading>, handle: u64) {
        let (out, mut sampling) = (out.wanted()?, Sampling::NONE);
        ready()?;
        well(cuTexObjectGetTextureDesc(Out::to(&mut sampling), handle))?;
        Ok(out.put(Reading::of(&sampling))?)
    }

    cudaGetTextureObjectResourceViewDesc(view: Out<c_void>, handle: u64) {
        ready()?;
        well(cuTexObjectGetResourceViewDesc(view, handle))
    }

    cudaCreateSurfaceObject(out: Out<u64>, resource: In<Described>) {
        let resource = resource.value()?.drivers()?;
        ready()?;
        well(cuSurfObjectCreate(out, In::from(&resource)))
    }

    cudaDestroySurfaceObject(handle: u64) {
        ready()?;
        if handle == 0 {
            return Ok(());
        }
        well(cuSurfObjectDestroy(handle))
    }

    cudaGetSurfaceObjectResourceDesc(out: Out<Described>, handle: u64) {
        let (out, mut resource) = (out.wanted()?, Resource::NONE);
        ready()?;
        well(cuSurfObjectGetResourceDesc(Out::to(&mut resource), handle))?;
        Ok(out.put(Described::of(&resource)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn structures_lie_as_the_headers_have_them() {
        assert_eq!(
            (size_of::<Described>(), offset_of!(Described, flags)),
            (144, 136)
        );
        let memory = |offset: usize| offset_of!(Described, memory) + offset;
        assert_eq!(memory(offset_of!(Memory, channels)), 16);
        assert_eq!(memory(offset_of!(Memory, sizes)), 40);
        assert_eq!(
            (size_of::<Reading>(), offset_of!(Reading, normalized)),
            (72, 40)
        );
        assert_eq!(
            (size_of::<Resource>(), offset_of!(Resource, flags)),
            (144, 136)
        );
        assert_eq!(
            (size_of::<Sampling>(), offset_of!(Sampling, border)),
            (104, 40)
        );
    }

    #[test]
    fn descriptions_come_back_as_they_were_given() {
        for flags in [0, AS_INTEGER | SRGB, NORMALIZED | SEAMLESS, NO_TRILINEAR] {
            let sampling = Sampling {
                flags,
                ..Sampling::NONE
            };
            assert_eq!(Reading::of(&sampling).drivers().flags, flags);
        }
    }
}
