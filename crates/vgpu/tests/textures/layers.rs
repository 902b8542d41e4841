//! Layers, cubes, and gathers.

use crate::{
    fetches::guarded,
    harness::{Case, Given, Picture, Random, format, results_of_thread, words_of_thread},
    reference::{self, same},
};
use warpsmith_vgpu::texture::{Address, Channel, Filter, Geometry, Sampler};

const THREADS: usize = 70;

fn run(picture: &Picture, sampler: Sampler, inst: &str, words: Vec<u32>) -> Vec<u32> {
    let body = words_of_thread(1, 4, "%f", 1)
        + "  mov.b32 %r9, %f4;\n"
        + inst
        + &results_of_thread(2, &["%f5", "%f6", "%f7", "%f8"]);
    let case = Case {
        body: guarded(&body),
        given: vec![
            Given::Texture(std::slice::from_ref(picture), sampler),
            Given::Words(words),
        ],
        threads: THREADS as u32,
        out: 4 * THREADS,
    };
    case.run().0
}

/// Three coordinates and a layer for each thread.
fn places(
    random: &mut Random,
    each: impl Fn(&mut Random) -> [f32; 3],
    layers: u32,
) -> Vec<([f32; 3], u32)> {
    (0..THREADS)
        .map(|at| {
            let layer = match at % 9 {
                0 => u32::MAX,
                1 => layers,
                _ => random.next() % layers,
            };
            (each(random), layer)
        })
        .collect()
}

fn words(places: &[([f32; 3], u32)]) -> Vec<u32> {
    let each = places
        .iter()
        .flat_map(|([x, y, z], layer)| [x.to_bits(), y.to_bits(), z.to_bits(), *layer]);
    each.collect()
}

#[test]
fn layers_are_not_filtered_and_end_at_the_last() {
    let mut random = Random(21);
    for (geometry, size, inst) in [
        (
            Geometry::Lines,
            [6, 1, 5],
            "  tex.a1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d0, {%r9, %f1}];\n",
        ),
        (
            Geometry::Planes,
            [6, 7, 5],
            "  tex.a2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d0, {%r9, %f1, %f2, %f2}];\n",
        ),
    ] {
        let picture = Picture::random(geometry, format(Channel::F32, 4), size, &mut random);
        let sampler = Sampler {
            address: [Address::Clamp, Address::Border, Address::Wrap],
            filter: Filter::Linear,
            ..Sampler::default()
        };
        let all = places(
            &mut random,
            |random| [0; 3].map(|_| 12.0 * random.unit() - 3.0),
            size[2],
        );
        let got = run(&picture, sampler, inst, words(&all));
        for ((place, layer), got) in all.iter().zip(got.as_chunks::<4>().0) {
            let at = (place.map(f64::from), (*layer).min(size[2] - 1));
            for (channel, got) in got.iter().enumerate() {
                same(
                    *got,
                    reference::at(&picture, &sampler, at, channel),
                    &(geometry, place, layer),
                );
            }
        }
    }
}

/// The table of faces in the Programming Guide: face, s, t, m.
fn face([x, y, z]: [f64; 3]) -> (u32, f64, f64, f64) {
    let m = x.abs().max(y.abs()).max(z.abs());
    match () {
        () if m == x => (0, -z, -y, m),
        () if m == -x => (1, z, -y, m),
        () if m == y => (2, x, z, m),
        () if m == -y => (3, x, -z, m),
        () if m == z => (4, x, -y, m),
        () => (5, -x, -y, m),
    }
}

#[test]
fn directions_go_through_the_faces_of_cubes() {
    let mut random = Random(22);
    for (geometry, cubes, inst) in [
        (
            Geometry::Cube,
            1,
            "  tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d0, {%f1, %f2, %f3, %f3}];\n",
        ),
        (
            Geometry::Cubes,
            3,
            "  tex.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d0, {%r9, %f1, %f2, %f3}];\n",
        ),
    ] {
        for filter in [Filter::Point, Filter::Linear] {
            let size = [8, 8, 6 * cubes];
            let picture = Picture::random(geometry, format(Channel::F32, 4), size, &mut random);
            let sampler = Sampler {
                filter,
                normalized: true,
                ..Sampler::default()
            };
            // No two are as large, so that there is one face.
            let all = places(
                &mut random,
                |random| [0; 3].map(|_| 2.0 * random.unit() - 1.0),
                cubes,
            );
            let got = run(&picture, sampler, inst, words(&all));
            for ((place, layer), got) in all.iter().zip(got.as_chunks::<4>().0) {
                let (face, s, t, m) = face(place.map(f64::from));
                let cube = if geometry == Geometry::Cube {
                    0
                } else {
                    (*layer).min(cubes - 1)
                };
                let at = [(s / m + 1.0) / 2.0 * 8.0, (t / m + 1.0) / 2.0 * 8.0, 0.0];
                for (channel, got) in got.iter().enumerate() {
                    let want = reference::at(&picture, &sampler, (at, 6 * cube + face), channel);
                    same(*got, want, &(geometry, place, layer));
                }
            }
        }
    }
}

#[test]
fn a_channel_of_four_neighbours_is_gathered() {
    let mut random = Random(23);
    for (channel, name) in ["r", "g", "b", "a"].into_iter().enumerate() {
        for (geometry, geometry_name, place) in [
            (Geometry::Plane, "2d", "{%f1, %f2}"),
            (Geometry::Planes, "a2d", "{%r9, %f1, %f2, %f2}"),
        ] {
            let layers = if geometry == Geometry::Plane { 1 } else { 4 };
            let size = [7, 9, layers];
            let picture = Picture::random(geometry, format(Channel::F16, 4), size, &mut random);
            let sampler = Sampler::default();
            let all = places(
                &mut random,
                |random| [0; 3].map(|_| 12.0 * random.unit() - 2.0),
                layers,
            );
            let inst = format!(
                "  tld4.{name}.{geometry_name}.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [%d0, {place}];\n"
            );
            let got = run(&picture, sampler, &inst, words(&all));
            for ((place, layer), got) in all.iter().zip(got.as_chunks::<4>().0) {
                let layer = if layers == 1 {
                    0
                } else {
                    (*layer).min(layers - 1)
                };
                // The middle of the four, less what rounding to steps may move it.
                let from = place.map(|x| ((f64::from(x) * 256.0).round() / 256.0 - 0.5).floor());
                for (got, (i, j)) in
                    got.iter()
                        .zip([(0.5, 1.5), (1.5, 1.5), (1.5, 0.5), (0.5, 0.5)])
                {
                    let at = ([from[0] + i, from[1] + j, 0.0], layer);
                    same(
                        *got,
                        reference::at(&picture, &sampler, at, channel),
                        &(place, name),
                    );
                }
            }
        }
    }
}
