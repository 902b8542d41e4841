//! Reads, writes and reductions of surfaces.

use crate::harness::{Case, Given, Picture, Random, format, words_of_thread};
use warpsmith_vgpu::texture::{Channel, Format, Geometry};

const THREADS: u32 = 64;

/// The format with elements of so many bytes.
fn of_bytes(bytes: u32) -> Format {
    match bytes {
        1 => format(Channel::U8, 1),
        2 => format(Channel::U8, 2),
        4 => format(Channel::U8, 4),
        8 => format(Channel::U16, 4),
        _ => format(Channel::U32, 4),
    }
}

/// Byte of a row, row and slice of a place with a mode outside; `None` if it is nowhere.
fn place(picture: &Picture, at: [i32; 3], bytes: i32, mode: &str) -> Option<usize> {
    let row = picture.size[0] as i32 * picture.format.bytes() as i32;
    let ends = [
        row - bytes,
        picture.size[1] as i32 - 1,
        picture.size[2] as i32 - 1,
    ];
    let mut inside = at;
    for (at, end) in inside.iter_mut().zip(ends) {
        if *at < 0 || *at > end {
            if mode == "zero" {
                return None;
            }
            *at = if *at < 0 { 0 } else { end };
        }
    }
    let [x, y, z] = inside;
    Some(((z * picture.size[1] as i32 + y) * row + x) as usize)
}

#[test]
fn every_width_is_copied_in_every_geometry() {
    let mut random = Random(41);
    for (geometry, size, name, spelled) in [
        (Geometry::Line, [9, 1, 1], "1d", "{%r2}"),
        (Geometry::Plane, [6, 5, 1], "2d", "{%r2, %r3}"),
        (Geometry::Volume, [4, 3, 5], "3d", "{%r2, %r3, %r4, %r4}"),
        (Geometry::Lines, [5, 1, 4], "a1d", "{%r4, %r2}"),
        (Geometry::Planes, [3, 4, 6], "a2d", "{%r4, %r2, %r3, %r3}"),
        (Geometry::Cube, [3, 3, 6], "a2d", "{%r4, %r2, %r3, %r3}"),
    ] {
        for (vector, count) in [("", 1), (".v2", 2), (".v4", 4)] {
            for bits in [8, 16, 32, 64] {
                let bytes = count * bits / 8;
                if bytes > 16 {
                    continue;
                }
                for mode in ["clamp", "zero"] {
                    let from = Picture::random(geometry, of_bytes(bytes), size, &mut random);
                    let to = Picture {
                        bytes: vec![0; from.bytes.len()],
                        ..from.clone()
                    };
                    let prefix = match bits {
                        8 | 16 => "%h",
                        32 => "%f",
                        _ => "%d1",
                    };
                    let regs: Vec<String> = (1..=count).map(|at| format!("{prefix}{at}")).collect();
                    let value = format!("{{{}}}", regs.join(", "));
                    let body = words_of_thread(2, 3, "%r", 2)
                        + &format!(
                            "  suld.b.{name}{vector}.b{bits}.{mode} {value}, [%d1, {spelled}];\n\
                             \x20 sust.b.{name}{vector}.b{bits}.zero [%d0, {spelled}], {value};\n"
                        );
                    let around = |random: &mut Random, n: u32| (random.next() % (n + 4)) as i32 - 2;
                    // Each place but once, so that nobody writes where another does.
                    let mut places: Vec<[i32; 3]> = (0..THREADS)
                        .map(|_| {
                            let x = around(&mut random, size[0]) * bytes as i32;
                            [
                                x,
                                around(&mut random, size[1]),
                                around(&mut random, size[2]),
                            ]
                        })
                        .map(|[x, y, z]| match geometry {
                            Geometry::Line => [x, 0, 0],
                            Geometry::Plane => [x, y, 0],
                            Geometry::Lines => [x, 0, z],
                            _ => [x, y, z],
                        })
                        .collect();
                    places.sort();
                    places.dedup();
                    let mut words: Vec<u32> = places.iter().flatten().map(|x| *x as u32).collect();
                    words.resize(3 * THREADS as usize, 1 << 20);
                    let case = Case {
                        body,
                        given: vec![
                            Given::Surface(&to),
                            Given::Surface(&from),
                            Given::Words(words),
                        ],
                        threads: THREADS,
                        out: 0,
                    };
                    let (_, got) = case.run();
                    let mut want = to.bytes.clone();
                    for at in places {
                        let len = bytes as usize;
                        let read = place(&from, at, bytes as i32, mode);
                        let value =
                            read.map_or(vec![0; len], |read| from.bytes[read..read + len].to_vec());
                        if let Some(to) = place(&from, at, bytes as i32, "zero") {
                            want[to..to + len].copy_from_slice(&value);
                        }
                    }
                    assert_eq!(got, want, "{name}{vector}.b{bits}.{mode}");
                }
            }
        }
    }
}

#[test]
fn writes_outside_go_to_the_edge_or_nowhere() {
    for (mode, want) in [
        ("clamp", [0, 7, 0, 9]),
        ("zero", [0, 7, 0, 0]),
        ("trap", [0, 7, 0, 0]),
    ] {
        let picture = Picture {
            geometry: Geometry::Plane,
            format: format(Channel::U32, 1),
            size: [2, 2, 1],
            bytes: vec![0; 16],
        };
        let outside = if mode == "trap" {
            String::new()
        } else {
            format!("  sust.b.2d.b32.{mode} [%d0, {{400, 3}}], 9;\n")
        };
        let case = Case {
            body: format!("  sust.b.2d.b32.{mode} [%d0, {{4, 0}}], 7;\n{outside}"),
            given: vec![Given::Surface(&picture)],
            threads: 1,
            out: 0,
        };
        let (_, got) = case.run();
        let words: Vec<u32> = got
            .as_chunks::<4>()
            .0
            .iter()
            .map(|x| u32::from_le_bytes(*x))
            .collect();
        assert_eq!(words, want, "{mode}");
    }
}

#[test]
fn numbers_are_stored_as_the_format_has_them() {
    for (one, values, want) in [
        (
            format(Channel::U8, 4),
            [1, 255, 256, u32::MAX],
            vec![1, 255, 255, 255],
        ),
        (
            format(Channel::S8, 2),
            [(-200i32) as u32, 5, 0, 0],
            vec![0x80, 5],
        ),
        (format(Channel::S16, 1), [70000, 0, 0, 0], vec![0xFF, 0x7F]),
        (
            format(Channel::F16, 2),
            [1.0f32.to_bits(), (-2.5f32).to_bits(), 0, 0],
            vec![0, 0x3C, 0, 0xC1],
        ),
        (
            format(Channel::F32, 1),
            [0x1234_5678, 0, 0, 0],
            vec![0x78, 0x56, 0x34, 0x12],
        ),
    ] {
        let bytes = one.bytes() as usize;
        let picture = Picture {
            geometry: Geometry::Line,
            format: one,
            size: [3, 1, 1],
            bytes: vec![0; 3 * bytes],
        };
        let body = words_of_thread(1, 4, "%r", 2)
            + "  sust.p.1d.v4.b32.trap [%d0, {1}], {%r2, %r3, %r4, %r5};\n";
        let case = Case {
            body,
            given: vec![Given::Surface(&picture), Given::Words(values.to_vec())],
            threads: 1,
            out: 0,
        };
        let (_, got) = case.run();
        assert_eq!(got[bytes..2 * bytes], want, "{one:?}");
        assert!(
            got[..bytes]
                .iter()
                .chain(&got[2 * bytes..])
                .all(|byte| *byte == 0)
        );
    }
}

#[test]
fn reductions_change_what_is_there_as_one() {
    let wide = |x: i64| x.to_le_bytes().to_vec();
    let narrow = |x: i32| x.to_le_bytes().to_vec();
    // Each of 64 threads with its number less 40.
    for (text, one, start, want) in [
        (
            "sured.b.add.1d.u32.trap [%d0, {4}], %r2",
            Channel::U32,
            5,
            narrow(5 + 2016 - 64 * 40),
        ),
        (
            "sured.b.add.1d.s32.trap [%d0, {4}], %r2",
            Channel::U32,
            5,
            narrow(5 + 2016 - 64 * 40),
        ),
        (
            "sured.b.min.1d.s32.trap [%d0, {4}], %r2",
            Channel::U32,
            5,
            narrow(-40),
        ),
        (
            "sured.b.min.1d.u32.trap [%d0, {4}], %r2",
            Channel::U32,
            5,
            narrow(0),
        ),
        (
            "sured.b.max.1d.u32.trap [%d0, {4}], %r2",
            Channel::U32,
            5,
            narrow(-1),
        ),
        (
            "sured.b.or.1d.b32.trap [%d0, {4}], %r2",
            Channel::U32,
            5,
            narrow(-1),
        ),
        (
            "sured.b.and.1d.b32.trap [%d0, {4}], %r2",
            Channel::U32,
            -1,
            narrow(0),
        ),
        (
            "sured.p.max.1d.b32.trap [%d0, {1}], %r2",
            Channel::S32,
            5,
            narrow(23),
        ),
        (
            "sured.p.max.1d.b32.trap [%d0, {1}], %r2",
            Channel::U32,
            5,
            narrow(-1),
        ),
        (
            "sured.p.add.1d.b32.trap [%d0, {1}], %r2",
            Channel::S32,
            5,
            narrow(5 + 2016 - 64 * 40),
        ),
        (
            "sured.b.add.1d.u64.trap [%d0, {8}], %d8",
            Channel::U32,
            5,
            wide(5 + 2016 - 64 * 40),
        ),
        (
            "sured.b.min.1d.s64.trap [%d0, {8}], %d8",
            Channel::U32,
            5,
            wide(-40),
        ),
        (
            "sured.b.max.1d.u64.trap [%d0, {8}], %d8",
            Channel::U32,
            5,
            wide(-1),
        ),
    ] {
        let bytes = want.len();
        let channels = (bytes / 4) as u8;
        let mut held = vec![0; 3 * bytes];
        held[bytes..2 * bytes].copy_from_slice(&i64::from(start).to_le_bytes()[..bytes]);
        let picture = Picture {
            geometry: Geometry::Line,
            format: format(one, channels),
            size: [3, 1, 1],
            bytes: held,
        };
        let case = Case {
            body: format!("  sub.s32 %r2, %r0, 40;\n  cvt.s64.s32 %d8, %r2;\n  {text};\n"),
            given: vec![Given::Surface(&picture)],
            threads: THREADS,
            out: 0,
        };
        let (_, got) = case.run();
        assert_eq!(got[bytes..2 * bytes], want, "{text}");
    }
}
