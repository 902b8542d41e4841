//! What ends a kernel, and what the checker finds.

use crate::harness::{Case, Given, Picture, Random, format, plain};
use warpsmith_ptx::ir::Span;
use warpsmith_vgpu::{
    Error, FaultKind, Misuse,
    check::Kind,
    texture::{Channel, Geometry, Sampler},
};

fn plane(random: &mut Random) -> Picture {
    Picture::random(Geometry::Plane, format(Channel::F32, 1), [4, 4, 1], random)
}

/// What a kernel over a texture and a surface ends with, and the line.
#[track_caller]
fn fault(body: &str) -> (FaultKind, String) {
    let mut random = Random(51);
    let (texture, surface) = (plane(&mut random), plane(&mut random));
    let pictures = [texture];
    let case = Case {
        body: body.to_owned(),
        given: vec![
            Given::Texture(&pictures, Sampler::default()),
            Given::Surface(&surface),
        ],
        threads: 1,
        out: 1,
    };
    let Err(Error::Fault(fault)) = case.run_on(plain()).0 else {
        panic!("no fault: {body}");
    };
    let Span::Ptx { line, .. } = fault.span else {
        panic!("no place");
    };
    let text = case.text();
    let line = text.lines().nth(line as usize - 1).unwrap_or_default();
    (fault.kind, line.trim().to_owned())
}

#[test]
fn wrong_handles_geometries_and_places_end_the_kernel_at_their_line() {
    let misuse = FaultKind::Misuse;
    for (inst, want) in [
        (
            "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {0f00000000, 0f00000000}];",
            misuse(Misuse::Texture),
        ),
        (
            "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d2, {0f00000000, 0f00000000}];",
            misuse(Misuse::Texture),
        ),
        (
            "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {0f00000000}];",
            misuse(Misuse::Geometry),
        ),
        (
            "tex.a2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {0, 0f00000000, 0f00000000, 0f00000000}];",
            misuse(Misuse::Geometry),
        ),
        ("txq.width.b32 %r2, [%d1];", misuse(Misuse::Texture)),
        ("suq.width.b32 %r2, [%d0];", misuse(Misuse::Surface)),
        (
            "suld.b.2d.b32.trap %r2, [%d0, {0, 0}];",
            misuse(Misuse::Surface),
        ),
        (
            "suld.b.3d.b32.trap %r2, [%d1, {0, 0, 0, 0}];",
            misuse(Misuse::Geometry),
        ),
        (
            "suld.b.2d.b32.trap %r2, [%d1, {16, 0}];",
            misuse(Misuse::SurfaceRange),
        ),
        (
            "suld.b.2d.b32.trap %r2, [%d1, {0, -1}];",
            misuse(Misuse::SurfaceRange),
        ),
        (
            "sust.b.2d.b32.trap [%d1, {0, 4}], 1;",
            misuse(Misuse::SurfaceRange),
        ),
        (
            "suld.b.2d.b32.clamp %r2, [%d1, {2, 0}];",
            FaultKind::Misaligned { bytes: 4 },
        ),
        (
            "sured.p.max.2d.b64.clamp [%d1, {0, 0}], %d2;",
            misuse(Misuse::Geometry),
        ),
    ] {
        let body = format!("  mov.u32 %r2, 0;\n  {inst}\n  mov.u32 %r3, 0;\n");
        assert_eq!(fault(&body), (want, inst.to_owned()));
    }
}

#[test]
fn what_is_not_done_is_refused_by_name() {
    let mut random = Random(52);
    let pictures = [plane(&mut random)];
    for (inst, want) in [
        (
            "txq.channel_data_type.b32 %r2, [%d0];",
            "txq.channel_data_type.b32",
        ),
        ("suq.channel_order.b32 %r2, [%d0];", "suq.channel_order.b32"),
        (
            "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, %d0, {0f00000000}];",
            "a texture with a sampler of its own",
        ),
    ] {
        let case = Case {
            body: format!("  {inst}\n"),
            given: vec![Given::Texture(&pictures, Sampler::default())],
            threads: 1,
            out: 0,
        };
        match case.run_on(plain()).0 {
            Err(Error::Unsupported { what, .. }) => assert_eq!(what, want),
            other => panic!("{inst}: {other:?}"),
        }
    }
}

/// The kinds that are found, each with its line.
fn findings(body: &str, threads: u32, surface: &Picture) -> Vec<(Kind, String)> {
    let case = Case {
        body: body.to_owned(),
        given: vec![
            Given::Texture(std::slice::from_ref(surface), Sampler::default()),
            Given::Surface(surface),
        ],
        threads,
        out: 0,
    };
    let text = case.text();
    let (_, found) = case.checked();
    let line = |span: Span| match span {
        Span::Ptx { line, .. } => text
            .lines()
            .nth(line as usize - 1)
            .unwrap_or("")
            .trim()
            .to_owned(),
        other => other.to_string(),
    };
    // The image is read back at the end, whatever it holds.
    let found = found.iter().filter(|one| one.kind != Kind::UnwrittenOutput);
    found.map(|one| (one.kind, line(one.place.span))).collect()
}

#[test]
fn the_checker_sees_elements_nobody_wrote_and_races() {
    let unwritten = Picture {
        bytes: Vec::new(),
        ..plane(&mut Random(53))
    };
    let reads = [
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {0f3F800000, 0f3F800000}];",
        "suld.b.2d.b32.trap %r3, [%d1, {4, 1}];",
    ];
    for read in reads {
        let found = findings(&format!("  {read}\n"), 1, &unwritten);
        assert_eq!(found, [(Kind::UninitGlobal, read.to_owned())]);
        // What was written before is no finding.
        let both = format!("  sust.b.2d.b32.trap [%d1, {{4, 1}}], 7;\n  {}\n", reads[1]);
        assert_eq!(findings(&both, 1, &unwritten), []);
    }
    let write = "sust.b.2d.b32.trap [%d1, {0, 0}], %r0;";
    let found = findings(&format!("  {write}\n"), 32, &unwritten);
    assert!(
        !found.is_empty() && found.iter().all(|(_, line)| line == write),
        "{found:?}"
    );
}
