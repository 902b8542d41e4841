//! Arrays: made, described, and copied by elements and rows.

use super::{
    super::{
        array::{
            cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuArrayDestroy, cuMipmappedArrayCreate,
            cuMipmappedArrayDestroy, cuMipmappedArrayGetLevel,
        },
        raw::{In, Out},
        rows::{Place, Rows, cuMemcpy3D_v2, cuMemcpy3DAsync_v2},
    },
    copy::Kind,
    error::{Code, well},
    memory::Extent,
    state::ready,
};
use crate::{
    array::{Array, Descriptor, format, number},
    driver::driver,
    table::Handle,
};
use std::{
    ffi::{c_int, c_uint},
    sync::Arc,
};
use warpsmith_vgpu::texture::{Channel, Format};

/// `cudaChannelFormatDesc`: bits of each channel, and what they are.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Channels {
    bits: [c_int; 4],
    kind: c_int,
}

/// Kinds of channels.
const SIGNED: c_int = 0;
const UNSIGNED: c_int = 1;
const FLOAT: c_int = 2;
/// Kinds of graphics and video, which are not done here.
const OTHERS: std::ops::RangeInclusive<c_int> = 4..=40;

impl Channels {
    /// Of what is no memory.
    pub(super) const NONE: Channels = Channels {
        bits: [0; 4],
        kind: 3,
    };

    pub(super) fn of(format: Format) -> Channels {
        let bits = 8 * format.channel.bytes() as c_int;
        Channels {
            bits: std::array::from_fn(|i| {
                if i < usize::from(format.channels) {
                    bits
                } else {
                    0
                }
            }),
            kind: match (format.channel.is_float(), format.channel.is_signed()) {
                (true, _) => FLOAT,
                (false, true) => SIGNED,
                (false, false) => UNSIGNED,
            },
        }
    }

    pub(super) fn format(self) -> Result<Format, Code> {
        let Channels { bits, kind } = self;
        let channel = match (kind, bits[0]) {
            (SIGNED, 8) => Channel::S8,
            (SIGNED, 16) => Channel::S16,
            (SIGNED, 32) => Channel::S32,
            (UNSIGNED, 8) => Channel::U8,
            (UNSIGNED, 16) => Channel::U16,
            (UNSIGNED, 32) => Channel::U32,
            (FLOAT, 16) => Channel::F16,
            (FLOAT, 32) => Channel::F32,
            _ if OTHERS.contains(&kind) => {
                crate::report::lacks("formats of graphics and video");
                return Err(crate::status::Status::NotSupported.into());
            }
            _ => return Err(Code::INVALID_CHANNELS),
        };
        let channels = bits.iter().take_while(|own| **own == bits[0]).count();
        let rest = bits[channels..].iter().all(|own| *own == 0);
        if !matches!(channels, 1 | 2 | 4) || !rest {
            return Err(Code::INVALID_CHANNELS);
        }
        Ok(Format {
            channel,
            channels: channels as u8,
        })
    }
}

fn descriptor(channels: In<Channels>, extent: Extent, flags: c_uint) -> Result<Descriptor, Code> {
    let (format, channels) = number(channels.value()?.format()?);
    let Extent {
        width,
        height,
        depth,
    } = extent;
    Ok(Descriptor {
        width,
        height,
        depth,
        format,
        channels,
        flags,
    })
}

pub(super) fn array(handle: Handle) -> Result<Arc<Array>, Code> {
    Ok(driver()?.arrays.find(handle)?)
}

fn described(handle: Handle) -> Result<(Descriptor, Format), Code> {
    let mut descriptor = array(handle)?.descriptor;
    well(cuArray3DGetDescriptor_v2(Out::to(&mut descriptor), handle))?;
    Ok((descriptor, format(descriptor.format, descriptor.channels)?))
}

/// A side of rows: where it begins, bytes from row to row.
struct Side {
    place: Place,
    at: [usize; 2],
    pitch: usize,
}

impl Side {
    fn array(array: Handle, x: usize, y: usize) -> Side {
        Side {
            place: Place::Array(array),
            at: [x, y],
            pitch: 0,
        }
    }

    /// Memory, of which the kind says whether it is a card's.
    fn memory(start: u64, pitch: usize, on_card: bool) -> Side {
        Side {
            place: if on_card {
                Place::Card(start)
            } else {
                Place::Either(start)
            },
            at: [0; 2],
            pitch,
        }
    }
}

fn rows(to: Side, from: Side, width: usize, height: usize) -> Result<Rows, Code> {
    let side = |side: Side| {
        let memory = !matches!(side.place, Place::Array(_));
        if memory && height > 0 && width > side.pitch {
            return Err(Code::INVALID_PITCH);
        }
        let [x, y] = side.at;
        Ok(side.place.side([x, y, 0], side.pitch, height))
    };
    Ok(Rows {
        from: side(from)?,
        to: side(to)?,
        width,
        height,
        depth: 1,
    })
}

/// Whether the other side of an array's copy is said to be memory of a card; `against` is the direction that it has not.
fn on_card(kind: c_int, against: Kind) -> Result<bool, Code> {
    match Kind::of(kind)? {
        kind if kind == against => Err(Code::INVALID_DIRECTION),
        kind => Ok(kind == Kind::OnCard),
    }
}

/// To an array.
fn to(
    array: Handle,
    [x, y]: [usize; 2],
    from: u64,
    pitch: usize,
    [width, height]: [usize; 2],
    kind: c_int,
) -> Result<Rows, Code> {
    let on_card = on_card(kind, Kind::FromCard)?;
    ready()?;
    rows(
        Side::array(array, x, y),
        Side::memory(from, pitch, on_card),
        width,
        height,
    )
}

/// From one.
fn from(
    start: u64,
    pitch: usize,
    array: Handle,
    [x, y]: [usize; 2],
    [width, height]: [usize; 2],
    kind: c_int,
) -> Result<Rows, Code> {
    let on_card = on_card(kind, Kind::ToCard)?;
    ready()?;
    rows(
        Side::memory(start, pitch, on_card),
        Side::array(array, x, y),
        width,
        height,
    )
}

/// Bytes that follow each other in an array, from a byte of a row on, as rows: what is left of the first row, whole rows, and
/// what the last one has.
fn line(
    handle: Handle,
    [x, y]: [usize; 2],
    bytes: usize,
) -> Result<Vec<([usize; 2], [usize; 2])>, Code> {
    let row = array(handle)?.image.pitch as usize;
    if x >= row {
        return Err(Code::INVALID_VALUE);
    }
    let mut parts = Vec::new();
    let first = bytes.min(row - x);
    let whole = (bytes - first) / row;
    parts.push(([x, y], [first, 1]));
    parts.push(([0, y.saturating_add(1)], [row, whole]));
    let last = y.saturating_add(1).saturating_add(whole);
    parts.push(([0, last], [bytes - first - whole * row, 1]));
    parts.retain(|(_, [width, height])| width * height > 0);
    Ok(parts)
}

/// Each part of such bytes, with how many come before it.
fn each_part(
    handle: Handle,
    at: [usize; 2],
    bytes: usize,
    copy: impl Fn([usize; 2], [usize; 2], u64) -> Result<(), Code>,
) -> Result<(), Code> {
    ready()?;
    let mut before = 0;
    for (at, extent) in line(handle, at, bytes)? {
        copy(at, extent, before)?;
        before += (extent[0] * extent[1]) as u64;
    }
    Ok(())
}

fn done(rows: Rows) -> Result<(), Code> {
    well(cuMemcpy3D_v2(In::from(&rows)))
}

fn enqueued(rows: Rows, stream: Handle) -> Result<(), Code> {
    well(cuMemcpy3DAsync_v2(In::from(&rows), stream))
}

runtime_entries! {
    cudaMallocArray(out: Out<Handle>, channels: In<Channels>, width: usize, height: usize, flags: c_uint) {
        let extent = Extent { width, height, depth: 0 };
        let descriptor = descriptor(channels, extent, flags)?;
        ready()?;
        well(cuArray3DCreate_v2(out, In::from(&descriptor)))
    }

    cudaMalloc3DArray(out: Out<Handle>, channels: In<Channels>, extent: Extent, flags: c_uint) {
        let descriptor = descriptor(channels, extent, flags)?;
        ready()?;
        well(cuArray3DCreate_v2(out, In::from(&descriptor)))
    }

    cudaFreeArray(array: Handle) {
        ready()?;
        if array == Handle::NULL {
            return Ok(());
        }
        well(cuArrayDestroy(array))
    }

    cudaMallocMipmappedArray(out: Out<Handle>, channels: In<Channels>, extent: Extent, levels: c_uint, flags: c_uint) {
        let descriptor = descriptor(channels, extent, flags)?;
        ready()?;
        well(cuMipmappedArrayCreate(out, In::from(&descriptor), levels))
    }

    cudaGetMipmappedArrayLevel(out: Out<Handle>, all: Handle, level: c_uint) {
        ready()?;
        well(cuMipmappedArrayGetLevel(out, all, level))
    }

    cudaFreeMipmappedArray(all: Handle) {
        ready()?;
        if all == Handle::NULL {
            return Ok(());
        }
        well(cuMipmappedArrayDestroy(all))
    }

    cudaArrayGetInfo(channels: Out<Channels>, extent: Out<Extent>, flags: Out<c_uint>, array: Handle) {
        ready()?;
        let (Descriptor { width, height, depth, flags: own, .. }, format) = described(array)?;
        channels.put_if_wanted(Channels::of(format));
        extent.put_if_wanted(Extent { width, height, depth });
        flags.put_if_wanted(own);
        Ok(())
    }

    cudaGetChannelDesc(channels: Out<Channels>, array: Handle) {
        ready()?;
        Ok(channels.put(Channels::of(described(array)?.1))?)
    }
}

/// Copies.
pub(super) mod copies {
    use super::*;

    runtime_stream_entries! {
        cudaMemcpy2DToArray(
            array: Handle,
            x: usize,
            y: usize,
            start: u64,
            pitch: usize,
            width: usize,
            height: usize,
            kind: c_int,
        ) {
            done(to(array, [x, y], start, pitch, [width, height], kind)?)
        }

        cudaMemcpy2DToArrayAsync(
            array: Handle,
            x: usize,
            y: usize,
            start: u64,
            pitch: usize,
            width: usize,
            height: usize,
            kind: c_int,
            stream: Handle,
        ) {
            enqueued(to(array, [x, y], start, pitch, [width, height], kind)?, stream)
        }

        cudaMemcpy2DFromArray(
            start: u64,
            pitch: usize,
            array: Handle,
            x: usize,
            y: usize,
            width: usize,
            height: usize,
            kind: c_int,
        ) {
            done(from(start, pitch, array, [x, y], [width, height], kind)?)
        }

        cudaMemcpy2DFromArrayAsync(
            start: u64,
            pitch: usize,
            array: Handle,
            x: usize,
            y: usize,
            width: usize,
            height: usize,
            kind: c_int,
            stream: Handle,
        ) {
            enqueued(from(start, pitch, array, [x, y], [width, height], kind)?, stream)
        }

        cudaMemcpy2DArrayToArray(
            to: Handle,
            to_x: usize,
            to_y: usize,
            from: Handle,
            from_x: usize,
            from_y: usize,
            width: usize,
            height: usize,
            kind: c_int,
        ) {
            if !matches!(Kind::of(kind)?, Kind::OnCard | Kind::Any) {
                return Err(Code::INVALID_DIRECTION);
            }
            ready()?;
            done(rows(Side::array(to, to_x, to_y), Side::array(from, from_x, from_y), width, height)?)
        }

        cudaMemcpyToArray(array: Handle, x: usize, y: usize, start: u64, bytes: usize, kind: c_int) {
            each_part(array, [x, y], bytes, |at, extent, before| {
                done(to(array, at, start.wrapping_add(before), extent[0], extent, kind)?)
            })
        }

        cudaMemcpyToArrayAsync(array: Handle, x: usize, y: usize, start: u64, bytes: usize, kind: c_int, stream: Handle) {
            each_part(array, [x, y], bytes, |at, extent, before| {
                enqueued(to(array, at, start.wrapping_add(before), extent[0], extent, kind)?, stream)
            })
        }

        cudaMemcpyFromArray(start: u64, array: Handle, x: usize, y: usize, bytes: usize, kind: c_int) {
            each_part(array, [x, y], bytes, |at, extent, before| {
                done(from(start.wrapping_add(before), extent[0], array, at, extent, kind)?)
            })
        }

        cudaMemcpyFromArrayAsync(start: u64, array: Handle, x: usize, y: usize, bytes: usize, kind: c_int, stream: Handle) {
            each_part(array, [x, y], bytes, |at, extent, before| {
                enqueued(from(start.wrapping_add(before), extent[0], array, at, extent, kind)?, stream)
            })
        }

        /// Rows of one array as those of the other, of which each row must begin where one of the first does.
        cudaMemcpyArrayToArray(
            to: Handle,
            to_x: usize,
            to_y: usize,
            from: Handle,
            from_x: usize,
            from_y: usize,
            bytes: usize,
            kind: c_int,
        ) {
            if !matches!(Kind::of(kind)?, Kind::OnCard | Kind::Any) {
                return Err(Code::INVALID_DIRECTION);
            }
            let rows_of = |handle: Handle| array(handle).map(|array| array.image.pitch);
            if to_x != from_x || rows_of(to)? != rows_of(from)? {
                crate::report::lacks("cudaMemcpyArrayToArray between rows that lie differently");
                return Err(crate::status::Status::NotSupported.into());
            }
            let down = to_y.wrapping_sub(from_y);
            each_part(from, [from_x, from_y], bytes, |[x, y], [width, height], _| {
                let to = Side::array(to, x, y.wrapping_add(down));
                done(rows(to, Side::array(from, x, y), width, height)?)
            })
        }
    }
}

/// Describes elements.
// SAFETY: the name is that of the runtime's function.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> Channels {
    Channels {
        bits: [x, y, z, w],
        kind,
    }
}
