//! Copies and fills of two and three dimensions.

use super::{
    array::{ARRAY, array},
    copy::{self, Return, fill},
    raw::{Host, In},
};
use crate::{
    context::Context,
    driver::usable,
    status::Status,
    step::{Step, Unit},
    table::Handle,
};
use std::ffi::{c_int, c_uchar, c_uint, c_ushort};

/// The kind of a side that is memory of a card.
const CARD: c_int = 2;

/// One side of a copy, as `CUDA_MEMCPY3D` has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Side {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_int,
    host: Host,
    device: u64,
    array: Handle,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Rows {
    pub(super) from: Side,
    pub(super) to: Side,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

/// Where one side of a copy begins.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Card(u64),
    /// The address says where.
    Either(u64),
    Array(Handle),
}

impl Place {
    /// The side that begins at x, y, z, with bytes from row to row and rows from slice to slice.
    pub(super) fn side(self, [x, y, z]: [usize; 3], pitch: usize, height: usize) -> Side {
        let (kind, device, array) = match self {
            Place::Card(start) => (CARD, start, Handle::NULL),
            Place::Either(start) => (4, start, Handle::NULL),
            Place::Array(array) => (ARRAY, 0, array),
        };
        Side {
            x,
            y,
            z,
            level: 0,
            kind,
            host: Host::of(std::ptr::null_mut()),
            device,
            array,
            reserved: 0,
            pitch,
            height,
        }
    }
}

/// One side of a copy, as `CUDA_MEMCPY2D` has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FlatSide {
    x: usize,
    y: usize,
    kind: c_int,
    host: Host,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FlatRows {
    from: FlatSide,
    to: FlatSide,
    width: usize,
    height: usize,
}

impl FlatSide {
    fn deep(self) -> Side {
        let FlatSide {
            x,
            y,
            kind,
            host,
            device,
            array,
            pitch,
        } = self;
        Side {
            x,
            y,
            z: 0,
            level: 0,
            kind,
            host,
            device,
            array,
            reserved: 0,
            pitch,
            height: 0,
        }
    }
}

impl FlatRows {
    fn deep(self) -> Rows {
        Rows {
            from: self.from.deep(),
            to: self.to.deep(),
            width: self.width,
            height: self.height,
            depth: 1,
        }
    }
}

impl Side {
    /// Where the first byte is, and bytes from row to row and from slice to slice.
    fn place(&self, rows: &Rows) -> Result<(u64, u64, u64), Status> {
        let start = match self.kind {
            1 => self.host.address() as u64,
            CARD | 4 => self.device,
            ARRAY => {
                let array = array(self.array)?;
                let extent = [rows.width, rows.height, rows.depth];
                let first = array.place([self.x, self.y, self.z], extent)?;
                return Ok((first, array.image.pitch, array.image.slice));
            }
            _ => return Err(Status::InvalidValue),
        };
        let pitch = if self.pitch == 0 {
            rows.width
        } else {
            self.pitch
        };
        let height = if self.height == 0 {
            rows.height
        } else {
            self.height
        };
        if start == 0 || rows.height > 1 && pitch < rows.width {
            return Err(Status::InvalidValue);
        }
        let slice = pitch.checked_mul(height).ok_or(Status::InvalidValue)?;
        let at = |count: usize, each: usize| count.checked_mul(each).ok_or(Status::InvalidValue);
        let offset = [at(self.z, slice)?, at(self.y, pitch)?, self.x];
        let first = offset
            .iter()
            .try_fold(start, |sum, one| sum.checked_add(*one as u64));
        let first = first.ok_or(Status::InvalidValue)?;
        Ok((first, pitch as u64, slice as u64))
    }
}

/// The steps of a copy, rows that follow each other as one.
fn all(context: &Context, rows: Rows) -> Result<(Vec<Step>, bool), Status> {
    let (to, to_pitch, to_slice) = rows.to.place(&rows)?;
    let (from, from_pitch, from_slice) = rows.from.place(&rows)?;
    let width = rows.width as u64;
    let (mut steps, mut wait) = (Vec::new(), false);
    if rows.width == 0 || rows.height == 0 || rows.depth == 0 {
        return Ok((steps, false));
    }
    let whole = to_pitch == width && from_pitch == width;
    let (count, bytes) = if whole {
        (1, width * rows.height as u64)
    } else {
        (rows.height as u64, width)
    };
    for z in 0..rows.depth as u64 {
        for y in 0..count {
            let to = to + z * to_slice + y * to_pitch;
            let from = from + z * from_slice + y * from_pitch;
            // What the program says is memory of a card is no memory of the host where it ends.
            for (side, address) in [(&rows.to, to), (&rows.from, from)] {
                if side.kind == CARD {
                    copy::on_card(address, bytes as usize)?;
                }
            }
            let (step, at_once) = copy::step(context, to, from, bytes)?;
            wait |= at_once;
            steps.push(step);
        }
    }
    Ok((steps, wait))
}

/// A copy as one step.
pub(super) fn rows(context: &Context, rows: Rows) -> Result<Step, Status> {
    let (mut steps, _) = all(context, rows)?;
    Ok(match steps.len() {
        1 => steps.swap_remove(0),
        _ => Step::Many(steps.into()),
    })
}

fn run(copy: Rows, stream: Handle, when: Return) -> Result<(), Status> {
    let context = usable()?;
    let (steps, wait) = all(&context, copy)?;
    if steps.is_empty() {
        return Ok(());
    }
    let stream = context.ordered(stream)?;
    let captured = stream.capture().is_some();
    stream.submit(Step::Many(steps.into()))?;
    if when == Return::Done || wait && !captured {
        return stream.synchronize();
    }
    Ok(())
}

/// A fill of rows.
struct Fill {
    address: u64,
    pitch: usize,
    unit: Unit,
    width: usize,
    height: usize,
}

impl Fill {
    fn run(self, stream: Handle, when: Return) -> Result<(), Status> {
        (0..self.height).try_for_each(|y| {
            let offset = y.checked_mul(self.pitch).ok_or(Status::InvalidValue)?;
            let address = self
                .address
                .checked_add(offset as u64)
                .ok_or(Status::InvalidValue)?;
            fill(address, self.unit, self.width, stream, when)
        })
    }
}

const NULL: Handle = Handle::NULL;

stream_entries! {
    cuMemcpy2D_v2(copy: In<FlatRows>) {
        run(copy.value()?.deep(), NULL, Return::Done)
    }

    cuMemcpy2DUnaligned_v2(copy: In<FlatRows>) {
        run(copy.value()?.deep(), NULL, Return::Done)
    }

    cuMemcpy2DAsync_v2(copy: In<FlatRows>, stream: Handle) {
        run(copy.value()?.deep(), stream, Return::AtOnce)
    }

    cuMemcpy3D_v2(copy: In<Rows>) {
        run(copy.value()?, NULL, Return::Done)
    }

    cuMemcpy3DAsync_v2(copy: In<Rows>, stream: Handle) {
        run(copy.value()?, stream, Return::AtOnce)
    }

    /// Addresses say of which card they are.
    cuMemcpy3DPeer(copy: In<Rows>) {
        run(copy.value()?, NULL, Return::Done)
    }

    cuMemcpy3DPeerAsync(copy: In<Rows>, stream: Handle) {
        run(copy.value()?, stream, Return::AtOnce)
    }

    cuMemsetD2D8_v2(address: u64, pitch: usize, value: c_uchar, width: usize, height: usize) {
        Fill { address, pitch, unit: Unit::One(value), width, height }.run(NULL, Return::Done)
    }

    cuMemsetD2D8Async(address: u64, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Handle) {
        Fill { address, pitch, unit: Unit::One(value), width, height }.run(stream, Return::AtOnce)
    }

    cuMemsetD2D16_v2(address: u64, pitch: usize, value: c_ushort, width: usize, height: usize) {
        Fill { address, pitch, unit: Unit::Two(value), width, height }.run(NULL, Return::Done)
    }

    cuMemsetD2D16Async(address: u64, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Handle) {
        Fill { address, pitch, unit: Unit::Two(value), width, height }.run(stream, Return::AtOnce)
    }

    cuMemsetD2D32_v2(address: u64, pitch: usize, value: c_uint, width: usize, height: usize) {
        Fill { address, pitch, unit: Unit::Four(value), width, height }.run(NULL, Return::Done)
    }

    cuMemsetD2D32Async(address: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: Handle) {
        Fill { address, pitch, unit: Unit::Four(value), width, height }.run(stream, Return::AtOnce)
    }
}
