//! Copies and fills, also of variables by their name in the program, and of rows.

use super::{
    super::{
        copy::{
            cuMemcpy, cuMemcpyAsync, cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyDtoD_v2,
            cuMemcpyDtoDAsync_v2, cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, cuMemcpyHtoD_v2,
            cuMemcpyHtoDAsync_v2, cuMemcpyPeer, cuMemcpyPeerAsync, cuMemsetD8_v2, cuMemsetD8Async,
        },
        raw::{Host, In, Out},
        rows::{
            Place, Rows, cuMemcpy3D_v2, cuMemcpy3DAsync_v2, cuMemsetD2D8_v2, cuMemsetD2D8Async,
        },
    },
    error::{Code, well},
    memory::{Extent, Pitched},
    state::{part, ready},
};
use crate::table::Handle;
use std::ffi::c_int;

/// `cudaMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ToCard,
    FromCard,
    OnCard,
    /// On the host, or as the addresses say.
    Any,
}

impl Kind {
    pub(super) fn of(number: c_int) -> Result<Kind, Code> {
        match number {
            1 => Ok(Kind::ToCard),
            2 => Ok(Kind::FromCard),
            3 => Ok(Kind::OnCard),
            0 | 4 => Ok(Kind::Any),
            _ => Err(Code::INVALID_DIRECTION),
        }
    }
}

fn host(address: u64) -> Host {
    Host::of(address as *mut u8)
}

fn copy(to: u64, from: u64, bytes: usize, kind: c_int) -> Result<(), Code> {
    let kind = Kind::of(kind)?;
    ready()?;
    well(match kind {
        Kind::ToCard => cuMemcpyHtoD_v2(to, host(from), bytes),
        Kind::FromCard => cuMemcpyDtoH_v2(host(to), from, bytes),
        Kind::OnCard => cuMemcpyDtoD_v2(to, from, bytes),
        Kind::Any => cuMemcpy(to, from, bytes),
    })
}

fn enqueue(to: u64, from: u64, bytes: usize, kind: c_int, stream: Handle) -> Result<(), Code> {
    let kind = Kind::of(kind)?;
    ready()?;
    well(match kind {
        Kind::ToCard => cuMemcpyHtoDAsync_v2(to, host(from), bytes, stream),
        Kind::FromCard => cuMemcpyDtoHAsync_v2(host(to), from, bytes, stream),
        Kind::OnCard => cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
        Kind::Any => cuMemcpyAsync(to, from, bytes, stream),
    })
}

/// One side of rows: where it begins, and bytes from row to row.
#[derive(Clone, Copy)]
struct Flat {
    start: u64,
    pitch: usize,
}

fn flat(to: Flat, from: Flat, width: usize, height: usize, kind: c_int) -> Result<Rows, Code> {
    let kind = Kind::of(kind)?;
    if height > 0 && (width > to.pitch || width > from.pitch) {
        // The runtime has a code for a pitch that is too small.
        return Err(Code::INVALID_PITCH);
    }
    let (to_place, from_place) = places(kind, to.start, from.start);
    Ok(Rows {
        from: from_place.side([0; 3], from.pitch, height),
        to: to_place.side([0; 3], to.pitch, height),
        width,
        height,
        depth: 1,
    })
}

/// Where copies of a kind go, and where from.
pub(super) fn places(kind: Kind, to: u64, from: u64) -> (Place, Place) {
    match kind {
        Kind::ToCard => (Place::Card(to), Place::Either(from)),
        Kind::FromCard => (Place::Either(to), Place::Card(from)),
        Kind::OnCard => (Place::Card(to), Place::Card(from)),
        Kind::Any => (Place::Either(to), Place::Either(from)),
    }
}

/// `cudaMemcpy3DParms`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Boxes {
    from_array: Handle,
    from_at: [usize; 3],
    from: Pitched,
    to_array: Handle,
    to_at: [usize; 3],
    to: Pitched,
    extent: Extent,
    kind: c_int,
}

impl Boxes {
    pub(super) fn rows(self) -> Result<Rows, Code> {
        let Boxes {
            from_array,
            from_at,
            from,
            to_array,
            to_at,
            to,
            extent:
                Extent {
                    width,
                    height,
                    depth,
                },
            kind,
        } = self;
        let (mut to_place, mut from_place) = places(Kind::of(kind)?, to.start, from.start);
        // Of arrays all is counted in elements, the extent too.
        let (mut to_at, mut from_at, mut width) = (to_at, from_at, width);
        let mut element = None;
        for (handle, place, at) in [
            (to_array, &mut to_place, &mut to_at),
            (from_array, &mut from_place, &mut from_at),
        ] {
            if handle == Handle::NULL {
                continue;
            }
            let bytes = super::array::array(handle)?.image.format.bytes() as usize;
            if element.is_some_and(|other| other != bytes) {
                return Err(Code::INVALID_VALUE);
            }
            element = Some(bytes);
            *place = Place::Array(handle);
            at[0] = at[0].checked_mul(bytes).ok_or(Code::INVALID_VALUE)?;
        }
        if let Some(bytes) = element {
            width = width.checked_mul(bytes).ok_or(Code::INVALID_VALUE)?;
        }
        Ok(Rows {
            from: from_place.side(from_at, from.pitch, from.height),
            to: to_place.side(to_at, to.pitch, to.height),
            width,
            height,
            depth,
        })
    }
}

/// `cudaMemcpy3DPeerParms`. Addresses and arrays say of which card they are.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PeerBoxes {
    from_array: Handle,
    from_at: [usize; 3],
    from: Pitched,
    from_card: c_int,
    to_array: Handle,
    to_at: [usize; 3],
    to: Pitched,
    to_card: c_int,
    extent: Extent,
}

impl PeerBoxes {
    fn rows(self) -> Result<Rows, Code> {
        let PeerBoxes {
            from_array,
            from_at,
            from,
            from_card: _,
            to_array,
            to_at,
            to,
            to_card: _,
            extent,
        } = self;
        let boxes = Boxes {
            from_array,
            from_at,
            from,
            to_array,
            to_at,
            to,
            extent,
            kind: 4,
        };
        boxes.rows()
    }
}

/// Fills slices of rows.
fn fill(
    to: Pitched,
    value: c_int,
    extent: Extent,
    each: impl Fn(u64, u8) -> u32,
) -> Result<(), Code> {
    ready()?;
    let slice = to.pitch.checked_mul(to.height).ok_or(Code::INVALID_VALUE)?;
    for z in 0..extent.depth {
        let offset = z.checked_mul(slice).ok_or(Code::INVALID_VALUE)?;
        let start = to.start.checked_add(offset as u64);
        well(each(start.ok_or(Code::INVALID_VALUE)?, value as u8))?;
    }
    Ok(())
}

runtime_stream_entries! {
    cudaMemcpy(to: u64, from: u64, bytes: usize, kind: c_int) {
        copy(to, from, bytes, kind)
    }

    cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: c_int, stream: Handle) {
        enqueue(to, from, bytes, kind, stream)
    }

    cudaMemcpyPeer(to: u64, _to_card: c_int, from: u64, _from_card: c_int, bytes: usize) {
        ready()?;
        well(cuMemcpyPeer(to, Handle::NULL, from, Handle::NULL, bytes))
    }

    cudaMemcpyPeerAsync(to: u64, _to_card: c_int, from: u64, _from_card: c_int, bytes: usize, stream: Handle) {
        ready()?;
        well(cuMemcpyPeerAsync(to, Handle::NULL, from, Handle::NULL, bytes, stream))
    }

    /// Of CUDA 12 it has a place for the number of the copy that failed before the stream.
    cudaMemcpyBatchAsync(
        to: In<u64>,
        from: In<u64>,
        sizes: In<usize>,
        count: usize,
        attributes: In<u64>,
        first: In<usize>,
        kinds: usize,
        eighth: Out<usize>,
        stream: Handle,
    ) {
        ready()?;
        well(if super::version() < 13000 {
            cuMemcpyBatchAsync(to, from, sizes, count, attributes, first, kinds, eighth, stream)
        } else {
            cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, first, kinds, Handle(eighth.address()))
        })
    }

    cudaMemcpy2D(to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: c_int) {
        let (to, from) = (Flat { start: to, pitch: to_pitch }, Flat { start: from, pitch: from_pitch });
        let rows = flat(to, from, width, height, kind)?;
        ready()?;
        well(cuMemcpy3D_v2(In::from(&rows)))
    }

    cudaMemcpy2DAsync(
        to: u64,
        to_pitch: usize,
        from: u64,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: Handle,
    ) {
        let (to, from) = (Flat { start: to, pitch: to_pitch }, Flat { start: from, pitch: from_pitch });
        let rows = flat(to, from, width, height, kind)?;
        ready()?;
        well(cuMemcpy3DAsync_v2(In::from(&rows), stream))
    }

    cudaMemcpy3D(boxes: In<Boxes>) {
        let rows = boxes.value()?.rows()?;
        ready()?;
        well(cuMemcpy3D_v2(In::from(&rows)))
    }

    cudaMemcpy3DAsync(boxes: In<Boxes>, stream: Handle) {
        let rows = boxes.value()?.rows()?;
        ready()?;
        well(cuMemcpy3DAsync_v2(In::from(&rows), stream))
    }

    cudaMemcpy3DPeer(boxes: In<PeerBoxes>) {
        let rows = boxes.value()?.rows()?;
        ready()?;
        well(cuMemcpy3D_v2(In::from(&rows)))
    }

    cudaMemcpy3DPeerAsync(boxes: In<PeerBoxes>, stream: Handle) {
        let rows = boxes.value()?.rows()?;
        ready()?;
        well(cuMemcpy3DAsync_v2(In::from(&rows), stream))
    }

    cudaMemcpyToSymbol(symbol: usize, from: u64, bytes: usize, offset: usize, kind: c_int) {
        copy(part(symbol, offset, bytes)?, from, bytes, kind)
    }

    cudaMemcpyFromSymbol(to: u64, symbol: usize, bytes: usize, offset: usize, kind: c_int) {
        copy(to, part(symbol, offset, bytes)?, bytes, kind)
    }

    cudaMemcpyToSymbolAsync(symbol: usize, from: u64, bytes: usize, offset: usize, kind: c_int, stream: Handle) {
        enqueue(part(symbol, offset, bytes)?, from, bytes, kind, stream)
    }

    cudaMemcpyFromSymbolAsync(to: u64, symbol: usize, bytes: usize, offset: usize, kind: c_int, stream: Handle) {
        enqueue(to, part(symbol, offset, bytes)?, bytes, kind, stream)
    }

    cudaMemset(address: u64, value: c_int, bytes: usize) {
        ready()?;
        well(cuMemsetD8_v2(address, value as u8, bytes))
    }

    cudaMemsetAsync(address: u64, value: c_int, bytes: usize, stream: Handle) {
        ready()?;
        well(cuMemsetD8Async(address, value as u8, bytes, stream))
    }

    cudaMemset2D(address: u64, pitch: usize, value: c_int, width: usize, height: usize) {
        ready()?;
        well(cuMemsetD2D8_v2(address, pitch, value as u8, width, height))
    }

    cudaMemset2DAsync(address: u64, pitch: usize, value: c_int, width: usize, height: usize, stream: Handle) {
        ready()?;
        well(cuMemsetD2D8Async(address, pitch, value as u8, width, height, stream))
    }

    cudaMemset3D(to: Pitched, value: c_int, extent: Extent) {
        fill(to, value, extent, |start, value| {
            cuMemsetD2D8_v2(start, to.pitch, value, extent.width, extent.height)
        })
    }

    cudaMemset3DAsync(to: Pitched, value: c_int, extent: Extent, stream: Handle) {
        fill(to, value, extent, |start, value| {
            cuMemsetD2D8Async(start, to.pitch, value, extent.width, extent.height, stream)
        })
    }
}
