//! Reads of lines, planes and volumes: filters, address modes, formats, results.

use crate::{
    harness::{Case, Given, Picture, Random, format, results_of_thread, words_of_thread},
    reference::{self, same},
};
use warpsmith_vgpu::texture::{Address, Channel, Filter, Geometry, Sampler};

const THREADS: u32 = 70;
const MODES: [Address; 4] = [
    Address::Clamp,
    Address::Wrap,
    Address::Mirror,
    Address::Border,
];

/// The name of a geometry, and its coordinates with what fills the vector up.
pub(crate) fn spelled(geometry: Geometry, prefix: &str) -> (&'static str, String) {
    let named = |numbers: &[&str]| {
        let all: Vec<String> = numbers.iter().map(|n| format!("{prefix}{n}")).collect();
        format!("{{{}}}", all.join(", "))
    };
    match geometry {
        Geometry::Buffer | Geometry::Line => ("1d", named(&["1"])),
        Geometry::Plane => ("2d", named(&["1", "2"])),
        _ => ("3d", named(&["1", "2", "3", "3"])),
    }
}

fn coordinates(random: &mut Random, picture: &Picture, sampler: &Sampler) -> Vec<f32> {
    (0..3 * THREADS)
        .map(|at| {
            let n = picture.size[at as usize % 3] as f32;
            // From well before to well behind; some on borders of elements and halfway.
            let x = match random.next() % 4 {
                0 => (random.next() % 20) as f32 / 2.0 - 3.0,
                _ => n * (4.0 * random.unit() - 1.5),
            };
            if sampler.normalized { x / n } else { x }
        })
        .collect()
}

fn fetches(pictures: &[Picture], sampler: Sampler, ty: &str, at: &[f32]) -> Vec<u32> {
    let (geometry, place) = spelled(pictures[0].geometry, "%f");
    let (results, regs) = if ty == "f32" {
        ("{%f4, %f5, %f6, %f7}", ["%f4", "%f5", "%f6", "%f7"])
    } else {
        ("{%r4, %r5, %r6, %r7}", ["%r4", "%r5", "%r6", "%r7"])
    };
    let body = words_of_thread(1, 3, "%f", 1)
        + &format!("  tex.{geometry}.v4.{ty}.f32 {results}, [%d0, {place}];\n")
        + &results_of_thread(2, &regs);
    let case = Case {
        body: guarded(&body),
        given: vec![
            Given::Texture(pictures, sampler),
            Given::Words(at.iter().map(|x| x.to_bits()).collect()),
        ],
        threads: THREADS,
        out: 4 * THREADS as usize,
    };
    case.run().0
}

/// Threads behind the last leave.
pub(crate) fn guarded(body: &str) -> String {
    format!("  setp.ge.u32 %p7, %r0, {THREADS};\n  @%p7 ret;\n{body}")
}

fn in_elements(picture: &Picture, sampler: &Sampler, x: &[f32]) -> [f64; 3] {
    std::array::from_fn(|i| {
        let n = f64::from(picture.size[i]);
        f64::from(x[i]) * if sampler.normalized { n } else { 1.0 }
    })
}

#[test]
fn floats_are_filtered_and_addressed_in_every_geometry() {
    let mut random = Random(11);
    for (geometry, size) in [
        (Geometry::Line, [13, 1, 1]),
        (Geometry::Plane, [7, 5, 1]),
        (Geometry::Volume, [4, 3, 5]),
    ] {
        let picture = Picture::random(geometry, format(Channel::F32, 4), size, &mut random);
        for filter in [Filter::Point, Filter::Linear] {
            for normalized in [false, true] {
                for mode in MODES {
                    let next = MODES[random.next() as usize % 4];
                    let sampler = Sampler {
                        address: [mode, next, mode],
                        filter,
                        normalized,
                        border: [0.5, -1.0, 2.0, 0.25],
                        ..Sampler::default()
                    };
                    let at = coordinates(&mut random, &picture, &sampler);
                    let got = fetches(std::slice::from_ref(&picture), sampler, "f32", &at);
                    for (place, got) in at.as_chunks::<3>().0.iter().zip(got.as_chunks::<4>().0) {
                        let x = in_elements(&picture, &sampler, place);
                        for (channel, got) in got.iter().enumerate() {
                            let want = reference::at(&picture, &sampler, (x, 0), channel);
                            same(*got, want, &(geometry, sampler, place, channel));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn integers_and_halves_become_floats() {
    let mut random = Random(12);
    for channel in [
        Channel::U8,
        Channel::S8,
        Channel::U16,
        Channel::S16,
        Channel::F16,
    ] {
        for channels in [1, 2, 4] {
            for srgb in [false, true] {
                let format = format(channel, channels);
                let picture = Picture::random(Geometry::Plane, format, [9, 4, 1], &mut random);
                let sampler = Sampler {
                    filter: Filter::Linear,
                    as_float: true,
                    srgb: srgb && channel == Channel::U8,
                    ..Sampler::default()
                };
                let at = coordinates(&mut random, &picture, &sampler);
                let got = fetches(std::slice::from_ref(&picture), sampler, "f32", &at);
                for (place, got) in at.as_chunks::<3>().0.iter().zip(got.as_chunks::<4>().0) {
                    let x = in_elements(&picture, &sampler, place);
                    for (channel, got) in got.iter().enumerate() {
                        let want = reference::at(&picture, &sampler, (x, 0), channel);
                        same(*got, want, &(format, sampler, place, channel));
                    }
                }
            }
        }
    }
}

#[test]
fn integers_stay_as_they_are() {
    let mut random = Random(13);
    for (channel, ty) in [
        (Channel::U8, "u32"),
        (Channel::S8, "s32"),
        (Channel::U16, "u32"),
        (Channel::S16, "s32"),
        (Channel::U32, "u32"),
        (Channel::S32, "s32"),
    ] {
        for channels in [1, 2, 4] {
            let format = format(channel, channels);
            let picture = Picture::random(Geometry::Plane, format, [6, 5, 1], &mut random);
            let sampler = Sampler {
                address: [Address::Mirror, Address::Wrap, Address::Clamp],
                normalized: true,
                ..Sampler::default()
            };
            let at = coordinates(&mut random, &picture, &sampler);
            let got = fetches(std::slice::from_ref(&picture), sampler, ty, &at);
            for (place, got) in at.as_chunks::<3>().0.iter().zip(got.as_chunks::<4>().0) {
                let x = in_elements(&picture, &sampler, place);
                for (channel, got) in got.iter().enumerate() {
                    let want = reference::at(&picture, &sampler, (x, 0), channel).value;
                    assert_eq!(*got, want as i64 as u32, "{format:?} {place:?} {channel}");
                }
            }
        }
    }
}

#[test]
fn elements_are_read_by_their_numbers_and_are_zero_outside() {
    let mut random = Random(14);
    for (geometry, size) in [
        (Geometry::Buffer, [50, 1, 1]),
        (Geometry::Line, [50, 1, 1]),
        (Geometry::Plane, [7, 6, 1]),
        (Geometry::Volume, [3, 4, 5]),
    ] {
        let picture = Picture::random(geometry, format(Channel::F32, 2), size, &mut random);
        // What the sampler says does not count.
        let sampler = Sampler {
            address: [Address::Wrap; 3],
            filter: Filter::Linear,
            normalized: true,
            ..Sampler::default()
        };
        let at: Vec<i32> = (0..3 * THREADS)
            .map(|_| (random.next() % 12) as i32 - 3)
            .collect();
        let (name, place) = spelled(geometry, "%r");
        let body = words_of_thread(1, 3, "%r", 1).replace("%r1,", "%r1 ,")
            + &format!("  tex.{name}.v4.f32.s32 {{%f4, %f5, %f6, %f7}}, [%d0, {place}];\n")
            + &results_of_thread(2, &["%f4", "%f5", "%f6", "%f7"]);
        let case = Case {
            body: guarded(&body),
            given: vec![
                Given::Texture(std::slice::from_ref(&picture), sampler),
                Given::Words(at.iter().map(|x| *x as u32).collect()),
            ],
            threads: THREADS,
            out: 4 * THREADS as usize,
        };
        let (got, _) = case.run();
        for (place, got) in at.as_chunks::<3>().0.iter().zip(got.as_chunks::<4>().0) {
            let dimensions = geometry.dimensions();
            let inside = (0..dimensions).all(|i| (0..size[i] as i32).contains(&place[i]));
            for (channel, got) in got.iter().enumerate() {
                let want = if inside {
                    let at =
                        std::array::from_fn(|i| if i < dimensions { place[i] as u32 } else { 0 });
                    reference::number(&picture, &Sampler::default(), at, channel)
                } else {
                    0.0
                };
                assert_eq!(
                    f64::from(f32::from_bits(*got)),
                    want,
                    "{geometry:?} {place:?}"
                );
            }
        }
    }
}

#[test]
fn results_are_rounded_to_halves_and_told_to_be_resident() {
    let mut random = Random(15);
    let picture = Picture::random(
        Geometry::Plane,
        format(Channel::U8, 4),
        [8, 8, 1],
        &mut random,
    );
    let sampler = Sampler {
        as_float: true,
        ..Sampler::default()
    };
    let at: Vec<f32> = (0..3 * THREADS).map(|_| 8.0 * random.unit()).collect();
    let body = words_of_thread(1, 3, "%f", 1)
        + "  tex.2d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%d0, {%f1, %f2}];\n\
           \x20 tex.base.2d.v2.f16x2.f32 {%r4, %r5}|%p1, [%d0, {%f1, %f2}];\n\
           \x20 mov.b32 %r6, {%h1, %h2};\n  mov.b32 %r7, {%h3, %h4};\n  selp.u32 %r8, 1, 0, %p1;\n\
           \x20 tex.2d.v4.f32.f32 {_, %f5, _, _}, [%d0, {%f1, 0f3F800000}];\n"
        + &results_of_thread(2, &["%r4", "%r5", "%r6", "%r7", "%r8", "%f5"]);
    let case = Case {
        body: guarded(&body),
        given: vec![
            Given::Texture(std::slice::from_ref(&picture), sampler),
            Given::Words(at.iter().map(|x| x.to_bits()).collect()),
        ],
        threads: THREADS,
        out: 6 * THREADS as usize,
    };
    let (got, _) = case.run();
    for (place, got) in at.as_chunks::<3>().0.iter().zip(got.as_chunks::<6>().0) {
        let [x, y, _] = place.map(|x| x as u32);
        assert_eq!((got[0], got[1], got[4]), (got[2], got[3], 1));
        for channel in 0..4 {
            let want = reference::number(&picture, &sampler, [x, y, 0], channel);
            let bits = got[channel / 2] >> (16 * (channel % 2)) & 0xFFFF;
            let half = match bits >> 10 {
                0 => f64::from(bits) * 2f64.powi(-24),
                exponent => f64::from(1024 + (bits & 1023)) * 2f64.powi(exponent as i32 - 25),
            };
            assert!((half - want).abs() <= want / 2048.0, "{half} {want}");
        }
        let want = reference::number(&picture, &sampler, [x, 1, 0], 1);
        assert_eq!(f32::from_bits(got[5]), want as f32);
    }
}

#[test]
fn bits_that_are_no_numbers_come_as_they_are() {
    let words = [
        0x7F80_0001u32,
        0xFFFF_FFFF,
        0x0000_0001,
        0x8000_0000,
        0x7FC0_1234,
    ];
    let picture = Picture {
        geometry: Geometry::Line,
        format: format(Channel::F32, 1),
        size: [5, 1, 1],
        bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    };
    let at: Vec<f32> = (0..3 * THREADS)
        .map(|at| (at / 3 % 5) as f32 + 0.25)
        .collect();
    let got = fetches(
        std::slice::from_ref(&picture),
        Sampler::default(),
        "f32",
        &at,
    );
    for (at, got) in got.as_chunks::<4>().0.iter().enumerate() {
        assert_eq!(*got, [words[at % 5], 0, 0, 1f32.to_bits()]);
    }
}
