//! Levels of half the extents, and what objects say about themselves.

use crate::{
    fetches::guarded,
    harness::{Case, Given, Picture, Random, format, results_of_thread, words_of_thread},
    reference::{self, Sum, same},
};
use warpsmith_vgpu::texture::{Address, Channel, Filter, Geometry, Sampler};

const THREADS: usize = 70;

fn pyramid(random: &mut Random) -> Vec<Picture> {
    let sizes = [[16, 8, 1], [8, 4, 1], [4, 2, 1], [2, 1, 1]];
    let one = |size| Picture::random(Geometry::Plane, format(Channel::F32, 1), size, random);
    sizes.map(one).into()
}

/// Reads at level `level`, in steps of 1/256 between two.
fn between(levels: &[Picture], sampler: &Sampler, at: [f32; 2], level: f64) -> Sum {
    let level = level.clamp(0.0, 3.0);
    let one = |level: usize| {
        let picture = &levels[level];
        let x = f64::from(at[0]) * f64::from(picture.size[0]);
        let y = f64::from(at[1]) * f64::from(picture.size[1]);
        reference::at(picture, sampler, ([x, y, 0.0], 0), 0)
    };
    if sampler.mip_filter == Filter::Point {
        return one((level + 0.5).floor().min(3.0) as usize);
    }
    let part = ((level - level.floor()) * 256.0).round() / 256.0;
    let (fine, coarse) = (one(level as usize), one((level as usize + 1).min(3)));
    Sum {
        value: (1.0 - part) * fine.value + part * coarse.value,
        size: fine.size + coarse.size,
    }
}

#[test]
fn levels_are_chosen_by_number_and_by_change() {
    let mut random = Random(31);
    let levels = pyramid(&mut random);
    for (mip_filter, bias, bounds) in [
        (Filter::Point, 0.0, [0.0, 3.0]),
        (Filter::Linear, 0.0, [0.0, 3.0]),
        (Filter::Linear, 0.25, [0.5, 2.0]),
    ] {
        let sampler = Sampler {
            filter: Filter::Linear,
            normalized: true,
            mip_filter,
            bias,
            levels: bounds,
            ..Sampler::default()
        };
        let body = words_of_thread(1, 3, "%f", 1)
            + "  ex2.approx.f32 %f9, %f3;\n  mul.f32 %f9, %f9, 0f3D800000;\n  mov.f32 %f10, 0f00000000;\n\
               \x20 tex.2d.v4.f32.f32 {%f4, _, _, _}, [%d0, {%f1, %f2}];\n\
               \x20 tex.level.2d.v4.f32.f32 {%f5, _, _, _}, [%d0, {%f1, %f2}], %f3;\n\
               \x20 tex.grad.2d.v4.f32.f32 {%f6, _, _, _}, [%d0, {%f1, %f2}], {%f9, %f10}, {%f10, 0f00000000};\n\
               \x20 tex.level.2d.v4.f32.s32 {%f7, _, _, _}, [%d0, {1, 0}], 2;\n"
            + &results_of_thread(2, &["%f4", "%f5", "%f6", "%f7"]);
        let at: Vec<[f32; 3]> = (0..THREADS)
            .map(|_| {
                [
                    random.unit(),
                    random.unit(),
                    (random.next() % 11) as f32 / 2.0 - 0.8,
                ]
            })
            .collect();
        let case = Case {
            body: guarded(&body),
            given: vec![
                Given::Texture(&levels, sampler),
                Given::Words(at.iter().flatten().map(|x| x.to_bits()).collect()),
            ],
            threads: THREADS as u32,
            out: 4 * THREADS,
        };
        let (got, _) = case.run();
        for ([x, y, level], got) in at.iter().zip(got.as_chunks::<4>().0) {
            let clamped =
                |level: f64| (level + f64::from(bias)).clamp(bounds[0].into(), bounds[1].into());
            let finest = between(&levels, &sampler, [*x, *y], bounds[0].into());
            let wanted = between(&levels, &sampler, [*x, *y], clamped((*level).into()));
            same(got[0], finest, &(x, y));
            same(got[1], wanted, &(x, y, level));
            // Along x by 2^level elements of the finest.
            same(got[2], wanted, &(x, y, level));
            assert_eq!(
                f64::from(f32::from_bits(got[3])),
                levels[2].channel([1, 0, 0], 0)
            );
        }
    }
}

#[test]
fn objects_say_what_they_are() {
    let mut random = Random(32);
    let levels = pyramid(&mut random);
    let planes = Picture::random(
        Geometry::Planes,
        format(Channel::U8, 4),
        [5, 3, 7],
        &mut random,
    );
    let sampler = Sampler {
        address: [Address::Border, Address::Mirror, Address::Clamp],
        filter: Filter::Linear,
        normalized: true,
        ..Sampler::default()
    };
    let questions = [
        ("txq.width.b32", "%d0", 16),
        ("txq.height.b32", "%d0", 8),
        ("txq.depth.b32", "%d0", 1),
        ("txq.array_size.b32", "%d0", 1),
        ("txq.num_mipmap_levels.b32", "%d0", 4),
        ("txq.normalized_coords.b32", "%d0", 1),
        ("txq.force_unnormalized_coords.b32", "%d0", 0),
        ("txq.filter_mode.b32", "%d0", 1),
        ("txq.addr_mode_0.b32", "%d0", 4),
        ("txq.addr_mode_1.b32", "%d0", 1),
        ("txq.addr_mode_2.b32", "%d0", 3),
        ("suq.width.b32", "%d1", 5),
        ("suq.height.b32", "%d1", 3),
        ("suq.array_size.b32", "%d1", 7),
        ("suq.memory_layout.b32", "%d1", 0),
    ];
    let mut body = String::new();
    for (at, (name, handle, _)) in questions.iter().enumerate() {
        body += &format!(
            "  {name} %r2, [{handle}];\n  st.global.b32 [%d2+{}], %r2;\n",
            4 * at
        );
    }
    body += "  txq.level.height.b32 %r2, [%d0], 1;\n  st.global.b32 [%d2+60], %r2;\n";
    let case = Case {
        body,
        given: vec![Given::Texture(&levels, sampler), Given::Surface(&planes)],
        threads: 1,
        out: 16,
    };
    let (got, _) = case.run();
    for ((name, _, want), got) in questions.iter().zip(&got) {
        assert_eq!(got, want, "{name}");
    }
    assert_eq!(got[15], 4);
}
