//! Copies of tensors: boxes of one to five dimensions, pixels of images, patterns in shared memory, and what is outside.

use crate::harness::{Case, bytes, kernel, plain};
use warpsmith_vgpu::{
    Error, FaultKind, Misuse,
    tensor_map::{Element, Swizzle, Take, TensorMap},
};

/// What a kernel declares that copies.
const TILE: &str = ".shared .align 1024 .b8 tile[16384]; .shared .align 8 .b64 bar;";

/// A map of a tensor whose rows lie behind each other with some room, at an address that the kernel fills in.
fn map(element: Element, dims: &[u64], take: Take) -> TensorMap {
    let size = u64::from(element.bytes());
    let mut strides = [0; 4];
    let mut stride = (dims[0] * size).next_multiple_of(16) + 16;
    for i in 1..dims.len() {
        strides[i - 1] = stride;
        stride *= dims[i] + 1;
    }
    TensorMap {
        address: 0,
        rank: dims.len() as u8,
        element,
        dims: std::array::from_fn(|i| dims.get(i).copied().unwrap_or(1)),
        strides,
        steps: [1; 5],
        swizzle: Swizzle::None,
        fills_nan: false,
        take,
    }
}

/// Bytes that the tensor takes, with all rows.
fn extent(map: &TensorMap) -> usize {
    let rank = usize::from(map.rank);
    let far = (1..rank)
        .map(|i| map.strides[i - 1] * map.dims[i])
        .sum::<u64>();
    (far + map.dims[0] * u64::from(map.element.bytes())).next_multiple_of(16) as usize + 64
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// The element at a point, or what stands for it outside.
fn element(map: &TensorMap, data: &[u8], point: &[i64]) -> Vec<u8> {
    let size = map.element.bytes() as usize;
    let inside = point
        .iter()
        .zip(map.dims)
        .all(|(at, dim)| *at >= 0 && (*at as u64) < dim);
    if !inside {
        let mut out = vec![0; size];
        if map.fills_nan && map.element.is_float() {
            out.fill(0xFF);
            out[size - 1] = 0x7F;
        }
        return out;
    }
    let start = point[0] as usize * size
        + point[1..]
            .iter()
            .zip(map.strides)
            .map(|(at, stride)| *at as usize * stride as usize)
            .sum::<usize>();
    data[start..start + size].to_vec()
}

/// Where bytes of a tile are, if they would be at an address.
fn swizzled(map: &TensorMap, at: usize) -> usize {
    let bits = match map.swizzle {
        Swizzle::None => 0,
        Swizzle::B32 => 1,
        Swizzle::B64 => 3,
        Swizzle::B128 => 7,
    };
    at ^ (at >> 7 & bits) << 4
}

/// The tile as it lies in shared memory.
fn in_shared(map: &TensorMap, all: &[u8]) -> Vec<u8> {
    let mut out = vec![0; all.len()];
    for (at, byte) in all.iter().enumerate() {
        out[swizzled(map, at)] = *byte;
    }
    out
}

/// A kernel that loads a tile and gives the shared memory: `%d0` is the map, whose address it sets to `%d1`.
fn load(map: &TensorMap, at: &[i32], offsets: &[u16], size: usize) -> Case {
    let dims = at.len();
    let coordinates: Vec<String> = at.iter().map(i32::to_string).collect();
    let (mode, behind) = match offsets {
        [] => ("tile", String::new()),
        all => {
            let all: Vec<String> = all.iter().map(u16::to_string).collect();
            ("im2col", format!(", {{{}}}", all.join(", ")))
        }
    };
    let body = format!(
        "
  setp.eq.u32 %p1, %r0, 0;
  mov.u32 %r2, tile; mov.u32 %r3, bar;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p1 tensormap.replace.tile.global_address.global.b1024.b64 [%d0], %d1;
  @%p1 fence.proxy.tensormap::generic.release.gpu;
  @%p1 fence.proxy.tensormap::generic.acquire.gpu [%d0], 128;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};
  @%p1 cp.async.bulk.tensor.{dims}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes [%r2], [%d0, {{{}}}], [%r3]{behind};
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra again;
  shl.b32 %r4, %r0, 2;
step:
  setp.ge.u32 %p3, %r4, {size};
  @%p3 bra done;
  add.u32 %r5, %r2, %r4; ld.shared.u32 %r6, [%r5];
  cvt.u64.u32 %d4, %r4; add.u64 %d4, %d2, %d4; st.global.u32 [%d4], %r6;
  add.u32 %r4, %r4, 128;
  bra step;
done:",
        coordinates.join(", ")
    );
    Case {
        inputs: vec![map.encode().to_vec(), pattern(extent(map))],
        ..Case::new(kernel("", 3, TILE, &body), size / 4)
    }
}

/// The points of a box in the order in which they lie.
fn points(map: &TensorMap, at: &[i32], each: &[u32]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for i in (0..at.len()).rev() {
        let step = if i == 0 { 1 } else { map.steps[i] };
        all = all
            .iter()
            .flat_map(|point: &Vec<i64>| {
                (0..each[i].div_ceil(step)).map(move |k| {
                    let place = i64::from(at[i]) + i64::from(k * step);
                    [&[place], &point[..]].concat()
                })
            })
            .collect();
    }
    all
}

#[test]
fn boxes_of_each_rank_are_as_the_host_has_them() {
    let f32s = Element::F32;
    let cases: &[(Element, &[u64], &[u32], &[i32])] = &[
        (f32s, &[40], &[16], &[4]),
        (f32s, &[40], &[16], &[-6]),
        (f32s, &[40], &[16], &[33]),
        (Element::F16, &[35, 9], &[16, 8], &[3, 2]),
        (Element::F16, &[35, 9], &[16, 8], &[24, 5]),
        (Element::Bf16, &[64, 32], &[64, 16], &[0, 16]),
        (Element::U8, &[100, 7], &[48, 5], &[-20, -2]),
        (f32s, &[12, 5, 4], &[8, 3, 2], &[2, 1, 1]),
        (Element::F64, &[7, 5, 4, 3], &[4, 3, 2, 2], &[1, -1, 3, 1]),
        (
            Element::S64,
            &[6, 4, 3, 3, 2],
            &[2, 3, 2, 2, 2],
            &[3, 2, -1, 1, 1],
        ),
    ];
    for (kind, dims, each, at) in cases {
        let take = Take::Tile(std::array::from_fn(|i| each.get(i).copied().unwrap_or(1)));
        for fills_nan in [false, true] {
            let map = TensorMap {
                fills_nan,
                ..map(*kind, dims, take)
            };
            let data = pattern(extent(&map));
            let all = points(&map, at, each);
            let want: Vec<u8> = all
                .iter()
                .flat_map(|point| element(&map, &data, point))
                .collect();
            let found = load(&map, at, &[], want.len()).run();
            assert_eq!(bytes(&found), want, "{kind:?} {dims:?} {each:?} {at:?}");
        }
    }
}

#[test]
fn tiles_lie_in_the_pattern_of_their_swizzle() {
    for (swizzle, row) in [(Swizzle::B32, 32), (Swizzle::B64, 64), (Swizzle::B128, 128)] {
        for kind in [Element::U8, Element::F16, Element::F32] {
            let each = [row / kind.bytes(), 24];
            let take = Take::Tile([each[0], each[1], 1, 1, 1]);
            let map = TensorMap {
                swizzle,
                ..map(kind, &[u64::from(each[0]) + 9, 40], take)
            };
            let data = pattern(extent(&map));
            let at = [4, 7];
            let all = points(&map, &at, &each);
            let rows: Vec<u8> = all
                .iter()
                .flat_map(|point| element(&map, &data, point))
                .collect();
            let found = load(&map, &at, &[], rows.len()).run();
            assert_eq!(
                bytes(&found),
                in_shared(&map, &rows),
                "{swizzle:?} {kind:?}"
            );
        }
    }
}

#[test]
fn every_so_manieth_element_is_taken() {
    let map = TensorMap {
        steps: [1, 2, 3, 1, 1],
        ..map(Element::F32, &[9, 12, 11], Take::Tile([8, 7, 8, 1, 1]))
    };
    let data = pattern(extent(&map));
    let all = points(&map, &[1, 2, 1], &[8, 7, 8]);
    assert_eq!(all.len(), 8 * 4 * 3);
    let want: Vec<u8> = all
        .iter()
        .flat_map(|point| element(&map, &data, point))
        .collect();
    assert_eq!(bytes(&load(&map, &[1, 2, 1], &[], want.len()).run()), want);
}

#[test]
fn pixels_of_images_are_those_of_a_convolution() {
    // Images of 5 x 6 pixels of 24 channels, a filter of 3 x 3 with a border of one.
    let (width, height, images) = (5, 6, 2);
    for (step, at, offsets) in [
        (1u32, [8, -1, -1, 0], [0u16, 0]),
        (1, [0, 2, 3, 0], [2, 1]),
        (1, [16, -1, 4, 1], [1, 2]),
        (2, [0, -1, -1, 0], [1, 0]),
    ] {
        let (channels, pixels) = (8, 33);
        let map = TensorMap {
            steps: [1, step, step, 1, 1],
            ..map(
                Element::F16,
                &[24, width, height, images],
                Take::Im2col {
                    lower: [-1, -1, 0],
                    upper: [-1, -1, 0],
                    channels,
                    pixels,
                },
            )
        };
        let data = pattern(extent(&map));
        // The corners of the filter, one for each pixel of the result.
        let corners = |dim: u64| {
            (-1..dim as i64 - 1)
                .step_by(step as usize)
                .collect::<Vec<_>>()
        };
        let all: Vec<[i64; 3]> = (0..4)
            .flat_map(|n| {
                corners(height)
                    .into_iter()
                    .flat_map(move |h| corners(width).into_iter().map(move |w| [w, h, n]))
            })
            .collect();
        let first = [i64::from(at[1]), i64::from(at[2]), i64::from(at[3])];
        let start = all
            .iter()
            .position(|corner| *corner == first)
            .expect("a corner");
        let mut want = Vec::new();
        for [w, h, n] in all[start..].iter().take(pixels as usize) {
            for c in 0..i64::from(channels) {
                let point = [
                    i64::from(at[0]) + c,
                    w + i64::from(offsets[0]),
                    h + i64::from(offsets[1]),
                    *n,
                ];
                want.extend(element(&map, &data, &point));
            }
        }
        let found = load(&map, &at, &offsets, want.len()).run();
        assert_eq!(bytes(&found), want, "{step} {at:?} {offsets:?}");
    }
}

#[test]
fn kernels_make_maps_of_zeros_in_shared_memory() {
    let body = "
  setp.eq.u32 %p1, %r0, 0;
  mov.u32 %r2, map; shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3; mov.u32 %r5, 0; st.shared.u32 [%r4], %r5;
  bar.warp.sync 0xffffffff;
  mov.u32 %r6, 10; mov.u32 %r7, 8; mov.u32 %r8, 1; mov.u64 %d4, 48;
  @%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %d0;
  @%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 1;
  @%p1 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 0, %r7;
  @%p1 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, 4;
  @%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, %r6;
  @%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, 5;
  @%p1 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, %d4;
  @%p1 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 0, %r8;
  @%p1 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, %r8;
  @%p1 tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 7;
  @%p1 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 0;
  @%p1 tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r2], 1;
  bar.warp.sync 0xffffffff;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%r2], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;
  mov.u32 %r9, tile; mov.u32 %r10, bar;
  @%p1 mbarrier.init.shared::cta.b64 [%r10], 1;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 128;
  @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r9], [%d1, {4, 3}], [%r10];
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10], 0;
  @!%p2 bra again;
  add.u32 %r11, %r9, %r3; ld.shared.u32 %r12, [%r11];
  cvt.u64.u32 %d5, %r3; add.u64 %d5, %d2, %d5; st.global.u32 [%d5], %r12;";
    let declared = format!("{TILE} .shared .align 128 .b8 map[128];");
    let data: Vec<u32> = (0..60).map(|i| i * 5).collect();
    let found = Case {
        inputs: vec![bytes(&data), vec![0; 128]],
        ..Case::new(kernel("", 3, &declared, body), 32)
    }
    .run();
    for (at, word) in found.iter().enumerate() {
        let (x, y) = (4 + at % 8, 3 + at / 8);
        let inside = x < 10 && y < 5;
        let want = if inside {
            data[x + 12 * y]
        } else {
            0x7FFF_FFFF
        };
        assert_eq!(*word, want, "{x} {y}");
    }
}

/// Stores a tile of numbers, or adds it, to a tensor that was written before; the tensor, from its first byte on.
fn store(map: &TensorMap, at: &[i32], size: usize, form: &str, out: usize) -> Case {
    let coordinates: Vec<String> = at.iter().map(i32::to_string).collect();
    let body = format!(
        "
  setp.eq.u32 %p1, %r0, 0;
  mov.u32 %r2, tile;
  @%p1 tensormap.replace.tile.global_address.global.b1024.b64 [%d0], %d1;
  @%p1 fence.proxy.tensormap::generic.acquire.gpu [%d0], 128;
  mov.u32 %r4, 0;
fill:
  setp.ge.u32 %p3, %r4, {};
  @%p3 bra filled;
  cvt.u64.u32 %d4, %r4; add.u64 %d5, %d1, %d4;
  mul.lo.u32 %r5, %r4, 3;
  @%p1 st.global.u32 [%d5], %r5;
  add.u32 %r4, %r4, 4;
  bra fill;
filled:
  shl.b32 %r4, %r0, 2;
step:
  setp.ge.u32 %p3, %r4, {size};
  @%p3 bra done;
  add.u32 %r5, %r2, %r4; add.u32 %r6, %r4, 5; st.shared.u32 [%r5], %r6;
  add.u32 %r4, %r4, 128;
  bra step;
done:
  fence.proxy.async;
  bar.sync 0;
  @%p1 {form}.bulk_group [%d0, {{{}}}], [%r2];
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;",
        4 * out,
        coordinates.join(", ")
    );
    Case {
        inputs: vec![map.encode().to_vec()],
        ..Case::new(kernel("", 2, TILE, &body), out)
    }
}

#[test]
fn tiles_are_stored_and_added_where_they_are_inside() {
    for (swizzle, each, at) in [
        (Swizzle::None, [4, 3], [2, 1]),
        (Swizzle::B32, [8, 5], [-3, 2]),
        (Swizzle::B128, [32, 9], [20, -2]),
    ] {
        for (reduces, form) in [
            (false, "cp.async.bulk.tensor.2d.global.shared::cta.tile"),
            (
                true,
                "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile",
            ),
        ] {
            let take = Take::Tile([each[0], each[1], 1, 1, 1]);
            let map = TensorMap {
                swizzle,
                ..map(Element::U32, &[36, 7], take)
            };
            let out = extent(&map) / 4;
            let size = 4 * (each[0] * each[1]) as usize;
            let found = store(&map, &at, size, form, out).run();
            let mut want: Vec<u32> = (0..out as u32).map(|i| 12 * i).collect();
            for y in 0..each[1] as i32 {
                for x in 0..each[0] as i32 {
                    let (cx, cy) = (at[0] + x, at[1] + y);
                    if !(0..36).contains(&cx) || !(0..7).contains(&cy) {
                        continue;
                    }
                    let lies = swizzled(&map, 4 * (y * each[0] as i32 + x) as usize);
                    let value = lies as u32 + 5;
                    let to = &mut want[cx as usize + cy as usize * map.strides[0] as usize / 4];
                    *to = if reduces { *to + value } else { value };
                }
            }
            assert_eq!(found, want, "{swizzle:?} {form}");
        }
    }
}

#[test]
fn what_is_no_map_is_a_fault() {
    let take = Take::Tile([16, 1, 1, 1, 1]);
    let right = load(&map(Element::F32, &[40], take), &[0], &[], 64);
    let fault = |case: &Case| match case.run_on(plain()).0 {
        Err(Error::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    };
    let mut other = right.clone();
    other.inputs[0] = vec![0; 128];
    assert_eq!(fault(&other), FaultKind::Misuse(Misuse::TensorMap));
    // Of another rank.
    let mut other = right.clone();
    other.inputs[0] = map(Element::F32, &[40, 2], take).encode().to_vec();
    assert_eq!(fault(&other), FaultKind::Misuse(Misuse::TensorMap));
    let mut other = right.clone();
    other.text = other.text.replace("[%r2], [%d0, ", "[%r2+64], [%d0, ");
    assert_eq!(fault(&other), FaultKind::Misaligned { bytes: 128 });
    let mut other = right;
    other.text = other.text.replace("[%r2], [%d0, ", "[%r2+65536], [%d0, ");
    assert!(matches!(fault(&other), FaultKind::OutOfBounds { .. }));
}
