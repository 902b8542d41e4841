//! Textures and surfaces by the exported functions.

use super::{arrays::*, *};
use crate::{
    abi::{array::*, object::*},
    object::{AS_INTEGER, NORMALIZED, Resource, SEAMLESS, SRGB, Sampling},
};

/// `y[i]` is what a texture has at `(i + 0.5, 0.5)`; `mark` writes its thread's number to a row of a surface.
const KERNELS: &str = ".version 7.0\n.target sm_80\n.address_size 64\n\
    .visible .entry row(.param .u64 pt, .param .u64 py) {\n.reg .b32 %r<4>;\n.reg .b64 %d<6>;\n.reg .f32 %f<8>;\n\
    ld.param.u64 %d0, [pt];\nld.param.u64 %d1, [py];\nmov.u32 %r1, %tid.x;\ncvt.rn.f32.u32 %f0, %r1;\n\
    add.f32 %f0, %f0, 0f3F000000;\ntex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {%f0, 0f3F000000}];\n\
    mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nst.global.f32 [%d1], %f1;\nret;\n}\n\
    .visible .entry list(.param .u64 pt, .param .u64 py) {\n.reg .b32 %r<4>;\n.reg .b64 %d<6>;\n.reg .f32 %f<8>;\n\
    ld.param.u64 %d0, [pt];\nld.param.u64 %d1, [py];\nmov.u32 %r1, %tid.x;\n\
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d0, {%r1}];\n\
    mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nst.global.f32 [%d1], %f1;\nret;\n}\n\
    .visible .entry mark(.param .u64 ps, .param .u64 py) {\n.reg .b32 %r<4>;\n.reg .b64 %d<6>;\n\
    ld.param.u64 %d0, [ps];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n\
    sust.b.2d.b32.zero [%d0, {%r2, 1}], %r1;\nret;\n}\n";

fn of_array(array: Handle) -> Resource {
    let mut resource = Resource::NONE;
    resource.words[0] = array.0 as u64;
    resource
}

fn of_memory(kind: u32, format: u32, channels: u32, words: [u64; 4]) -> Resource {
    let mut resource = Resource::NONE;
    resource.kind = kind;
    resource.words[0] = words[0];
    resource.words[1] = u64::from(format) | u64::from(channels) << 32;
    resource.words[2..5].copy_from_slice(&words[1..]);
    resource
}

fn texture(resource: &Resource, sampling: &Sampling) -> Result<u64, u32> {
    let view = In::at_address(0);
    get(|out| cuTexObjectCreate(out, In::from(resource), In::from(sampling), view))
}

/// A context with the kernels.
fn program_of_images() -> Result<Handle, u32> {
    begin()?;
    let ptx = text(KERNELS);
    handle(|out| cuModuleLoadData(out, Image::of(&ptx)))
}

/// What a kernel of so many threads writes, given a handle.
fn run(module: Handle, name: &str, object: u64, threads: u32) -> Result<Vec<f32>, u32> {
    let name = text(name);
    let kernel = handle(|out| cuModuleGetFunction(out, module, Text::of(&name)))?;
    let y = get(|out| cuMemAlloc_v2(out, 4 * threads as usize))?;
    let params: [*const u8; 2] = [(&raw const object).cast(), (&raw const y).cast()];
    let code = cuLaunchKernel(
        kernel,
        1,
        1,
        1,
        threads,
        1,
        1,
        0,
        Handle::NULL,
        Pointers::of(&params),
        Pointers::NONE,
    );
    assert_eq!(code, 0);
    let mut to = vec![0f32; threads as usize];
    match cuMemcpyDtoH_v2(Host::of(to.as_mut_ptr().cast()), y, 4 * threads as usize) {
        0 => Ok(to),
        code => Err(code),
    }
}

#[test]
fn kernels_read_arrays_and_memory_and_write_arrays() -> Result<(), u32> {
    let module = program_of_images()?;
    let array = create(plane(FLOAT, 1, 8, 2, 2))?;
    let mut from = numbers(16);
    assert_eq!(
        copy(host(&mut from, 32, 2), in_array(array, [0; 3]), [32, 2, 1]),
        0
    );
    let border = Sampling {
        address: [3; 3],
        border: [-1.0, 0.0, 0.0, 0.0],
        ..Sampling::NONE
    };
    let object = texture(&of_array(array), &border)?;
    let mut want = from[..8].to_vec();
    want.extend([-1.0, -1.0]);
    assert_eq!(run(module, "row", object, 10)?, want);
    let memory = get(|out| cuMemAlloc_v2(out, 4096))?;
    assert_eq!(
        cuMemcpyHtoD_v2(memory, Host::of(from.as_mut_ptr().cast()), 64),
        0
    );
    let list = texture(&of_memory(2, FLOAT, 1, [memory, 40, 0, 0]), &border)?;
    let mut want = from[..10].to_vec();
    want.extend([0.0, 0.0]);
    assert_eq!(run(module, "list", list, 12)?, want);
    let pitched = texture(
        &of_memory(3, FLOAT, 1, [memory, 5, 2, 32]),
        &Sampling {
            address: [1; 3],
            ..border
        },
    )?;
    assert_eq!(
        run(module, "row", pitched, 7)?,
        [0.25, 1.25, 2.25, 3.25, 4.25, 4.25, 4.25]
    );
    let surface = get(|out| cuSurfObjectCreate(out, In::from(&of_array(array))))?;
    run(module, "mark", surface, 9)?;
    let mut to = vec![0f32; 16];
    assert_eq!(
        copy(in_array(array, [0; 3]), host(&mut to, 32, 2), [32, 2, 1]),
        0
    );
    assert_eq!(to[..8], from[..8]);
    assert_eq!(
        to[8..].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        (0..8).collect::<Vec<_>>()
    );
    // What was made is described as it was, and is gone once it is destroyed.
    let (mut resource, mut sampling) = (Resource::NONE, Sampling::NONE);
    assert_eq!(
        cuTexObjectGetResourceDesc(Out::of(&mut resource), pitched),
        0
    );
    assert_eq!(
        (resource.kind, resource.words[..5].to_vec()),
        (3, vec![memory, 1 << 32 | 0x20, 5, 2, 32])
    );
    assert_eq!(cuTexObjectGetTextureDesc(Out::of(&mut sampling), object), 0);
    assert_eq!(
        (sampling.address, sampling.border),
        (border.address, border.border)
    );
    assert_eq!(
        cuSurfObjectGetResourceDesc(Out::of(&mut resource), surface),
        0
    );
    assert_eq!(resource.words[0], array.0 as u64);
    assert_eq!(cuTexObjectDestroy(surface), INVALID_HANDLE);
    assert_eq!(cuSurfObjectDestroy(surface), 0);
    for object in [object, list] {
        assert_eq!(cuTexObjectDestroy(object), 0);
        assert_eq!(cuTexObjectDestroy(object), INVALID_HANDLE);
    }
    assert_eq!(
        run(module, "row", object, 1),
        Err(Status::LaunchFailed as u32)
    );
    Ok(())
}

#[test]
fn levels_are_arrays_of_half_the_extents() -> Result<(), u32> {
    let module = program_of_images()?;
    let descriptor = plane(FLOAT, 1, 8, 4, 0);
    let all = handle(|out| cuMipmappedArrayCreate(out, In::from(&descriptor), 9))?;
    let mut levels = Vec::new();
    for level in 0..4 {
        let array = handle(|out| cuMipmappedArrayGetLevel(out, all, level))?;
        assert_eq!(
            handle(|out| cuMipmappedArrayGetLevel(out, all, level))?,
            array
        );
        let mut got = descriptor;
        assert_eq!(cuArray3DGetDescriptor_v2(Out::of(&mut got), array), 0);
        assert_eq!((got.width, got.height), (8 >> level, (4 >> level).max(1)));
        let mut filled = vec![level as f32 + 1.0; got.width * got.height];
        let (row, rows) = (4 * got.width, got.height);
        assert_eq!(
            copy(
                host(&mut filled, row, rows),
                in_array(array, [0; 3]),
                [row as u64, rows as u64, 1]
            ),
            0
        );
        levels.push(array);
    }
    assert_eq!(
        handle(|out| cuMipmappedArrayGetLevel(out, all, 4)),
        Err(INVALID_VALUE)
    );
    assert_eq!(cuArrayDestroy(levels[1]), INVALID_HANDLE);
    let resource = Resource {
        kind: 1,
        ..of_array(all)
    };
    let sampling = Sampling {
        flags: NORMALIZED,
        filter: 1,
        mip_filter: 1,
        levels: [1.5, 3.0],
        ..Sampling::NONE
    };
    assert_eq!(
        texture(
            &resource,
            &Sampling {
                flags: 0,
                ..sampling
            }
        ),
        Err(INVALID_VALUE)
    );
    let object = texture(&resource, &sampling)?;
    assert_eq!(run(module, "row", object, 2)?, [2.5, 2.5]);
    assert_eq!(cuTexObjectDestroy(object), 0);
    assert_eq!(cuMipmappedArrayDestroy(all), 0);
    assert_eq!(
        copy(
            in_array(levels[0], [0; 3]),
            in_array(levels[0], [0; 3]),
            [4, 1, 1]
        ),
        INVALID_HANDLE
    );
    Ok(())
}

#[test]
fn textures_that_can_not_be_are_refused() -> Result<(), u32> {
    begin()?;
    let (float, byte) = (
        create(plane(FLOAT, 1, 8, 8, 0))?,
        create(plane(BYTE, 4, 8, 8, 0))?,
    );
    let memory = get(|out| cuMemAlloc_v2(out, 4096))?;
    let with = |change: fn(&mut Sampling)| {
        let mut sampling = Sampling::NONE;
        change(&mut sampling);
        sampling
    };
    let plain = Sampling::NONE;
    for (at, (resource, sampling, want)) in [
        (of_array(Handle(4711)), plain, INVALID_HANDLE),
        (
            Resource {
                kind: 9,
                ..of_array(float)
            },
            plain,
            INVALID_VALUE,
        ),
        (
            Resource {
                flags: 1,
                ..of_array(float)
            },
            plain,
            INVALID_VALUE,
        ),
        (of_array(float), with(|s| s.address[1] = 4), INVALID_VALUE),
        (of_array(float), with(|s| s.filter = 2), INVALID_VALUE),
        (of_array(float), with(|s| s.flags = 0x100), INVALID_VALUE),
        (of_array(float), with(|s| s.anisotropy = 8), NOT_SUPPORTED),
        (of_array(float), with(|s| s.anisotropy = 17), INVALID_VALUE),
        (of_array(float), with(|s| s.flags = SEAMLESS), NOT_SUPPORTED),
        (of_array(float), with(|s| s.flags = SRGB), NOT_SUPPORTED),
        (
            of_array(byte),
            with(|s| {
                s.filter = 1;
                s.flags = AS_INTEGER;
            }),
            INVALID_VALUE,
        ),
        (
            of_array(byte),
            with(|s| {
                s.address = [3; 3];
                s.border[0] = 1.0;
                s.flags = AS_INTEGER;
            }),
            NOT_SUPPORTED,
        ),
        (of_memory(2, FLOAT, 1, [0, 64, 0, 0]), plain, INVALID_VALUE),
        (
            of_memory(2, FLOAT, 1, [memory + 4, 64, 0, 0]),
            plain,
            INVALID_VALUE,
        ),
        (
            of_memory(2, FLOAT, 1, [memory, 8192, 0, 0]),
            plain,
            INVALID_VALUE,
        ),
        (
            of_memory(2, FLOAT, 1, [memory, 3, 0, 0]),
            plain,
            INVALID_VALUE,
        ),
        (
            of_memory(3, FLOAT, 1, [memory, 8, 8, 40]),
            plain,
            INVALID_VALUE,
        ),
        (
            of_memory(3, FLOAT, 1, [memory, 9, 8, 32]),
            plain,
            INVALID_VALUE,
        ),
        (
            of_memory(3, FLOAT, 1, [memory, 8, 0, 32]),
            plain,
            INVALID_VALUE,
        ),
        (
            of_memory(3, FLOAT, 1, [memory, 8, 200, 32]),
            plain,
            INVALID_VALUE,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(texture(&resource, &sampling), Err(want), "{at}");
    }
    let resource = of_array(float);
    let view = In::from(&[0u64; 14]).cast();
    let viewed = get(|out| cuTexObjectCreate(out, In::from(&resource), In::from(&plain), view));
    assert_eq!(viewed, Err(NOT_SUPPORTED));
    // It was not made for surfaces.
    let surface = get(|out| cuSurfObjectCreate(out, In::from(&resource)));
    assert_eq!(surface, Err(INVALID_VALUE));
    Ok(())
}
