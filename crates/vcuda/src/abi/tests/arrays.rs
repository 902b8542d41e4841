//! Arrays, and copies of them, by the exported functions.

use super::*;
use crate::{
    abi::{
        array::{lines::*, *},
        rows::{FlatRows, Rows, cuMemcpy2D_v2, cuMemcpy3D_v2, cuMemcpy3DAsync_v2},
    },
    array::Descriptor,
};

pub(super) const FLOAT: u32 = 0x20;
pub(super) const BYTE: u32 = 0x01;
pub(super) const INVALID_VALUE: u32 = Status::InvalidValue as u32;
pub(super) const INVALID_HANDLE: u32 = Status::InvalidHandle as u32;
pub(super) const NOT_SUPPORTED: u32 = Status::NotSupported as u32;

/// Sides and sizes as `CUDA_MEMCPY3D` has them: x, y, z, level, kind, host, device, array, reserved, pitch, height.
pub(super) type Side = [u64; 11];

pub(super) fn host(words: &mut [f32], pitch: usize, height: usize) -> Side {
    [
        0,
        0,
        0,
        0,
        1,
        words.as_mut_ptr() as u64,
        0,
        0,
        0,
        pitch as u64,
        height as u64,
    ]
}

pub(super) fn device(address: u64, pitch: usize) -> Side {
    [0, 0, 0, 0, 2, 0, address, 0, 0, pitch as u64, 0]
}

pub(super) fn in_array(array: Handle, [x, y, z]: [u64; 3]) -> Side {
    [x, y, z, 0, 3, 0, 0, array.0 as u64, 0, 0, 0]
}

pub(super) fn rows(from: Side, to: Side, extent: [u64; 3]) -> [u64; 25] {
    let mut all = [0; 25];
    all[..11].copy_from_slice(&from);
    all[11..22].copy_from_slice(&to);
    all[22..].copy_from_slice(&extent);
    all
}

pub(super) fn copy(from: Side, to: Side, extent: [u64; 3]) -> u32 {
    let all = rows(from, to, extent);
    cuMemcpy3D_v2(In::from(&all).cast::<Rows>())
}

pub(super) fn create(descriptor: Descriptor) -> Result<Handle, u32> {
    handle(|out| cuArray3DCreate_v2(out, In::from(&descriptor)))
}

pub(super) fn plane(
    format: u32,
    channels: u32,
    width: usize,
    height: usize,
    flags: u32,
) -> Descriptor {
    Descriptor {
        width,
        height,
        depth: 0,
        format,
        channels,
        flags,
    }
}

pub(super) fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| at as f32 + 0.25).collect()
}

/// A context of a card of its own.
pub(super) fn begin() -> Result<(), u32> {
    let card = card();
    let context = handle(|out| cuDevicePrimaryCtxRetain(out, card))?;
    assert_eq!(cuCtxSetCurrent(context), 0);
    Ok(())
}

#[test]
fn rows_and_boxes_go_to_arrays_and_back() -> Result<(), u32> {
    begin()?;
    let descriptor = Descriptor {
        depth: 4,
        ..plane(FLOAT, 2, 5, 3, 0)
    };
    let (a, b) = (create(descriptor)?, create(descriptor)?);
    let mut from = numbers(2 * 5 * 3 * 4);
    assert_eq!(
        copy(host(&mut from, 40, 3), in_array(a, [0; 3]), [40, 3, 4]),
        0
    );
    // A box from one place to another, by way of the card's own memory.
    let memory = get(|out| cuMemAlloc_v2(out, 4096))?;
    assert_eq!(
        copy(in_array(a, [8, 1, 2]), device(memory, 64), [24, 2, 1]),
        0
    );
    assert_eq!(
        copy(device(memory, 64), in_array(b, [16, 0, 1]), [24, 2, 1]),
        0
    );
    assert_eq!(
        copy(in_array(a, [0, 0, 3]), in_array(b, [0, 0, 0]), [40, 3, 1]),
        0
    );
    let mut to = vec![0f32; from.len()];
    let all = rows(in_array(b, [0; 3]), host(&mut to, 40, 3), [40, 3, 4]);
    assert_eq!(
        cuMemcpy3DAsync_v2(In::from(&all).cast::<Rows>(), Handle::NULL),
        0
    );
    assert_eq!(cuCtxSynchronize(), 0);
    let at = |x: usize, y: usize, z: usize| 2 * (5 * (3 * z + y) + x);
    for channel in 0..2 {
        for y in 0..3 {
            for x in 0..5 {
                assert_eq!(to[at(x, y, 0) + channel], from[at(x, y, 3) + channel]);
                if y < 2 && x >= 2 {
                    let other = from[at(x - 1, y + 1, 2) + channel];
                    assert_eq!(to[at(x, y, 1) + channel], other, "{x} {y}");
                }
            }
        }
    }
    for (at, extent) in [
        ([0, 0, 0], [44, 1, 1]),
        ([8, 0, 0], [40, 1, 1]),
        ([4, 0, 0], [8, 1, 1]),
        ([0, 2, 0], [8, 2, 1]),
        ([0, 0, 4], [8, 1, 1]),
    ] {
        assert_eq!(
            copy(in_array(a, at), device(memory, 64), extent),
            INVALID_VALUE,
            "{at:?}"
        );
    }
    let mut got = plane(0, 0, 0, 0, 0);
    assert_eq!(cuArray3DGetDescriptor_v2(Out::of(&mut got), a), 0);
    assert_eq!(got, descriptor);
    assert_eq!(cuArrayDestroy(a), 0);
    assert_eq!(cuArrayDestroy(a), INVALID_HANDLE);
    assert_eq!(
        copy(in_array(a, [0; 3]), device(memory, 64), [8, 1, 1]),
        INVALID_HANDLE
    );
    Ok(())
}

#[test]
fn bytes_go_to_arrays_and_back() -> Result<(), u32> {
    begin()?;
    let (a, b) = (
        create(plane(FLOAT, 1, 16, 0, 0))?,
        create(plane(FLOAT, 1, 16, 0, 0))?,
    );
    let memory = get(|out| cuMemAlloc_v2(out, 64))?;
    let mut from = numbers(16);
    let mut to = vec![0f32; 16];
    let place = |words: &mut [f32]| Host::of(words.as_mut_ptr().cast());
    assert_eq!(cuMemcpyHtoA_v2(a, 0, place(&mut from), 64), 0);
    assert_eq!(cuMemcpyAtoD_v2(memory, a, 8, 48), 0);
    assert_eq!(cuMemcpyDtoA_v2(b, 0, memory, 48), 0);
    assert_eq!(cuMemcpyAtoA_v2(b, 48, a, 0, 16), 0);
    assert_eq!(cuMemcpyAtoH_v2(place(&mut to), b, 0, 64), 0);
    assert_eq!((&to[..12], &to[12..]), (&from[2..14], &from[..4]));
    assert_eq!(
        cuMemcpyHtoAAsync_v2(a, 4, place(&mut to), 8, Handle::NULL),
        0
    );
    assert_eq!(
        cuMemcpyAtoHAsync_v2(place(&mut from), a, 0, 16, Handle::NULL),
        0
    );
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!(from[..4], [0.25, to[0], to[1], 3.25]);
    for (offset, bytes) in [(0, 65), (64, 1), (usize::MAX, 2)] {
        assert_eq!(
            cuMemcpyHtoA_v2(a, offset, place(&mut to), bytes),
            INVALID_VALUE
        );
        assert_eq!(
            cuMemcpyAtoH_v2(place(&mut to), a, offset, bytes),
            INVALID_VALUE
        );
    }
    // `CUDA_MEMCPY2D`: x, y, kind, host, device, array, pitch for both sides, and two extents.
    let flat: [u64; 16] = [
        8,
        0,
        3,
        0,
        0,
        a.0 as u64,
        0,
        0,
        0,
        1,
        to.as_mut_ptr() as u64,
        0,
        0,
        8,
        8,
        1,
    ];
    assert_eq!(cuMemcpy2D_v2(In::from(&flat).cast::<FlatRows>()), 0);
    assert_eq!(to[..2], [to[1], 3.25]);
    Ok(())
}

#[test]
fn arrays_that_can_not_be_are_refused() -> Result<(), u32> {
    begin()?;
    let deep = |descriptor: Descriptor, depth| Descriptor {
        depth,
        ..descriptor
    };
    for (descriptor, want) in [
        (plane(FLOAT, 1, 0, 4, 0), INVALID_VALUE),
        (plane(FLOAT, 3, 4, 4, 0), INVALID_VALUE),
        (plane(FLOAT, 0, 4, 4, 0), INVALID_VALUE),
        (plane(0x30, 1, 4, 4, 0), INVALID_VALUE),
        (plane(0xC0, 1, 4, 4, 0), NOT_SUPPORTED),
        (plane(FLOAT, 1, 131_073, 0, 0), INVALID_VALUE),
        (plane(FLOAT, 1, 4, 65_537, 0), INVALID_VALUE),
        (deep(plane(FLOAT, 1, 4, 0, 0), 4), INVALID_VALUE),
        (plane(FLOAT, 1, 4, 4, 1), INVALID_VALUE),
        (deep(plane(FLOAT, 1, 4, 4, 4), 5), INVALID_VALUE),
        (deep(plane(FLOAT, 1, 4, 5, 4), 6), INVALID_VALUE),
        (deep(plane(FLOAT, 1, 4, 4, 5), 9), INVALID_VALUE),
        (deep(plane(FLOAT, 1, 4, 4, 8), 4), INVALID_VALUE),
        (plane(FLOAT, 1, 4, 4, 0x40), NOT_SUPPORTED),
        (plane(FLOAT, 1, 4, 4, 0x1000), INVALID_VALUE),
    ] {
        assert_eq!(create(descriptor), Err(want), "{descriptor:?}");
    }
    for descriptor in [
        deep(plane(BYTE, 4, 4, 4, 4), 6),
        deep(plane(BYTE, 4, 4, 4, 5), 12),
        deep(plane(0x10, 2, 4, 0, 1), 3),
        plane(0x0A, 4, 4, 4, 8),
    ] {
        let array = create(descriptor)?;
        assert_eq!(cuArrayDestroy(array), 0);
    }
    Ok(())
}

#[test]
fn graphs_copy_arrays() -> Result<(), u32> {
    begin()?;
    let (a, b) = (
        create(plane(FLOAT, 1, 4, 3, 0))?,
        create(plane(FLOAT, 1, 4, 3, 0))?,
    );
    let (mut from, mut to) = (numbers(12), vec![0f32; 12]);
    let graph = handle(|out| cuGraphCreate(out, 0))?;
    let mut after = Vec::new();
    for all in [
        rows(host(&mut from, 16, 3), in_array(a, [0; 3]), [16, 3, 1]),
        rows(in_array(a, [4, 0, 0]), in_array(b, [0; 3]), [12, 3, 1]),
        rows(in_array(b, [0; 3]), host(&mut to, 16, 3), [12, 3, 1]),
    ] {
        let params = In::from(&all).cast::<Rows>();
        let node = handle(|out| {
            cuGraphAddMemcpyNode(
                out,
                graph,
                In::of(&after),
                after.len(),
                params,
                Handle::NULL,
            )
        })?;
        after = vec![node];
    }
    let exec = handle(|out| cuGraphInstantiateWithFlags(out, graph, 0))?;
    assert_eq!(cuGraphLaunch(exec, Handle::NULL), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    for y in 0..3 {
        assert_eq!(to[4 * y..4 * y + 3], from[4 * y + 1..4 * y + 4]);
    }
    Ok(())
}
