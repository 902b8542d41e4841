//! What is found without running: each kind at its line, and nothing in code that looks alike.
#![allow(missing_docs)]

use warpsmith_ptx::{
    findings::{Certainty, Limits, find},
    ir::Span,
    parse::parse,
    target::{PtxVersion, Target},
};

/// Kinds and lines of what is found in a kernel's body; line 1 is the body's first.
fn found_in(head: &str, body: &str, limits: Limits) -> Vec<(&'static str, u32, Certainty)> {
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n{head}\n.entry k(.param .u64 a, .param .u32 n, \
         .param .u64 out) {{ .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n{body}\n}}\n"
    );
    let module = parse(&text).unwrap_or_else(|found| panic!("{}\n{text}", found[0]));
    let first = 5 + head.matches('\n').count() as u32;
    find(&module, limits)
        .into_iter()
        .map(|finding| {
            let line = match finding.span {
                Span::Ptx { line, .. } => line.saturating_sub(first),
                Span::None | Span::Rust(_) => 0,
            };
            (finding.code.name(), line, finding.certainty)
        })
        .collect()
}

/// What is found but for notes.
fn check(head: &str, body: &str, want: &[(&str, u32, Certainty)]) {
    let mut found = found_in(head, body, Limits::default());
    found.retain(|(_, _, certainty)| *certainty != Certainty::Note);
    assert_eq!(found, want, "{head}\n{body}");
}

use Certainty::{Certain, Possible};

#[test]
fn barriers_where_lanes_part() {
    let under = |condition: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r7, %ctaid.x;\nmov.u32 %r8, %ntid.x;\n{condition}\n@%p1 bra skip;\nbar.sync 0;\nskip: st.shared.u32 [0], %r1; ret;"
        )
    };
    for condition in [
        "setp.ge.u32 %p1, %r1, 16;",
        "setp.eq.u32 %p1, %r1, 0;",
        "setp.ge.u32 %p1, %r1, 33;",
        "ld.param.u32 %r2, [n]; mad.lo.u32 %r3, %r7, %r8, %r1; setp.ge.u32 %p1, %r3, %r2;",
        "and.b32 %r3, %r1, 3; setp.ne.u32 %p1, %r3, 0;",
        "mov.u32 %r3, %laneid; setp.gt.s32 %p1, %r3, 7;",
    ] {
        check(
            "",
            &under(condition),
            &[("barrier_divergence", 6, Possible)],
        );
    }
    for condition in [
        "setp.ge.u32 %p1, %r1, 32;",
        "setp.gt.u32 %p1, %r1, 63;",
        "shr.u32 %r3, %r1, 5; setp.eq.u32 %p1, %r3, 0;",
        "and.b32 %r3, %r1, 96; setp.eq.u32 %p1, %r3, 0;",
        "setp.eq.u32 %p1, %r7, 0;",
        "ld.param.u32 %r2, [n]; shl.b32 %r3, %r7, 5; setp.ge.u32 %p1, %r3, %r2;",
    ] {
        check("", &under(condition), &[]);
    }
}

#[test]
fn barriers_in_loops_and_behind_returns() {
    let round = |start: &str| {
        format!(
            "ld.param.u32 %r2, [n];\n{start}\nround:\nbar.sync 0;\nadd.u32 %r1, %r1, 256;\nsetp.lt.u32 %p1, %r1, %r2;\n@%p1 bra round;\nst.shared.u32 [0], %r1;\nret;"
        )
    };
    check(
        "",
        &round("mov.u32 %r1, %tid.x;"),
        &[("barrier_divergence", 4, Possible)],
    );
    check("", &round("mov.u32 %r1, 0;"), &[]);
    // Lanes that left are not waited for.
    check(
        "",
        "ld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, %r2;\n@%p1 bra done;\nbar.sync 0;\nst.shared.u32 [0], %r1;\ndone: ret;",
        &[],
    );
    check(
        "",
        "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 bar.sync 0;\nret;",
        &[("barrier_divergence", 3, Possible)],
    );
    check(
        "",
        "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 barrier.sync 0;\nret;",
        &[],
    );
}

#[test]
fn registers_that_are_not_written() {
    check(
        "",
        "add.u32 %r1, %r2, 1;\nret;",
        &[("uninit_register", 1, Certain)],
    );
    check(
        "",
        "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra skip;\nmov.u32 %r2, 1;\nskip:\nadd.u32 %r3, %r2, 1;\nret;",
        &[("uninit_register", 6, Possible)],
    );
    check(
        "",
        "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r2, 1;\n@!%p1 mov.u32 %r2, 2;\nadd.u32 %r3, %r2, 1;\nret;",
        &[],
    );
}

#[test]
fn addresses_that_are_no_multiple() {
    let tile = ".shared .align 16 .b8 tile[512];";
    check(
        tile,
        "st.shared.u32 [tile+2], 1;\nret;",
        &[("misaligned", 1, Certain)],
    );
    let lanes = |stride: u32, access: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\nmad.lo.u32 %r8, %r1, {stride}, %r2;\n{access}\nret;"
        )
    };
    check(
        tile,
        &lanes(4, "ld.shared.v2.u32 {%r3, %r4}, [%r8];"),
        &[("misaligned", 4, Possible)],
    );
    check(tile, &lanes(8, "ld.shared.v2.u32 {%r3, %r4}, [%r8];"), &[]);
    check(
        tile,
        &lanes(8, "ld.shared.v2.u32 {%r3, %r4}, [%r8+4];"),
        &[("misaligned", 4, Certain)],
    );
    // A small alignment promises nothing, and denies nothing.
    check(
        ".shared .align 4 .b8 tile[512];",
        &lanes(16, "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r8];"),
        &[],
    );
    check(
        "",
        "ld.param.u64 %rd1, [a];\nld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+4];\nret;",
        &[],
    );
}

#[test]
fn addresses_of_another_space() {
    let tile = ".shared .align 16 .b8 tile[512];\n.global .align 4 .u32 g[4];";
    check(
        tile,
        "mov.u64 %rd1, tile;\nst.u32 [%rd1], 1;\nret;",
        &[("bad_space", 2, Certain)],
    );
    check(
        tile,
        "mov.u64 %rd1, tile;\nadd.u64 %rd1, %rd1, 4;\nst.global.u32 [%rd1], 1;\nret;",
        &[("bad_space", 3, Certain)],
    );
    check(
        tile,
        "mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\nst.shared.u32 [%rd2], 1;\nret;",
        &[("bad_space", 3, Certain)],
    );
    check(
        tile,
        "mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\nst.u32 [%rd2], 1;\ncvta.to.shared.u64 %rd3, %rd2;\nst.shared.u32 [%rd3], 1;\nret;",
        &[],
    );
    check(
        tile,
        "mov.u64 %rd1, g;\nst.u32 [%rd1], 1;\nst.global.u32 [%rd1], 1;\nret;",
        &[],
    );
    check(
        tile,
        "ld.param.u64 %rd1, [a];\nst.global.u32 [%rd1], 1;\nret;",
        &[],
    );
}

#[test]
fn code_that_no_path_reaches() {
    check(
        "",
        "bra done;\nst.shared.u32 [0], 1;\nadd.u32 %r1, 1, 1;\ndone:\nret;",
        &[("unreachable", 2, Possible)],
    );
    check("", "bra done;\ndone:\nret;\nexit;", &[]);
}

#[test]
fn a_device_that_lacks_what_the_module_needs() {
    let limits = |sm, ptx| Limits {
        target: Some(Target::sm(sm)),
        ptx,
    };
    let body = "cp.async.wait_all;\nret;";
    let older = found_in("", body, limits(75, None));
    assert!(older.contains(&("target", 1, Certain)), "{older:?}");
    assert!(older.contains(&("target", 0, Certain)), "{older:?}");
    let driver = found_in(
        "",
        "st.shared.u32 [0], 1;\nret;",
        limits(80, Some(PtxVersion::new(7, 0))),
    );
    assert!(driver.contains(&("target", 0, Certain)), "{driver:?}");
    let fits = found_in("", body, limits(90, Some(PtxVersion::new(7, 8))));
    assert!(
        !fits.iter().any(|(name, _, _)| *name == "target"),
        "{fits:?}"
    );
}

#[test]
fn outputs_that_nothing_is_stored_through() {
    let noted = |body: &str| {
        let found = found_in("", body, Limits::default());
        found.iter().any(|(name, _, certainty)| {
            *name == "unwritten_output" && *certainty == Certainty::Note
        })
    };
    assert!(noted(
        "ld.param.u64 %rd1, [out];\nld.global.u32 %r1, [%rd1];\nret;"
    ));
    assert!(!noted(
        "ld.param.u64 %rd1, [out];\nadd.u64 %rd2, %rd1, 4;\nst.global.u32 [%rd2], 1;\nret;"
    ));
    assert!(!noted(
        "ld.param.u64 %rd1, [out];\nred.global.add.u32 [%rd1], 1;\nret;"
    ));
}

#[test]
fn damaged_modules_that_still_parse_do_no_harm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/cases/faults");
    let mut state = 7u64;
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % n.max(1)
    };
    let (mut parsed, mut found) = (0, 0);
    for kind in std::fs::read_dir(folder).expect("the kernels") {
        for file in std::fs::read_dir(kind.expect("readable").path()).expect("readable") {
            let path = file.expect("readable").path();
            if path.extension().is_none_or(|ext| ext != "ptx") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            for _ in 0..40 {
                let mut lines: Vec<&str> = text.lines().collect();
                for _ in 0..=below(3) {
                    let (one, two) = (below(lines.len()), below(lines.len()));
                    match below(3) {
                        0 => lines.swap(one, two),
                        1 => drop(lines.remove(one)),
                        _ => lines.insert(one, lines[two]),
                    }
                }
                if let Ok(module) = parse(&lines.join("\n")) {
                    parsed += 1;
                    found += usize::from(!find(&module, Limits::default()).is_empty());
                }
            }
        }
    }
    assert!(
        parsed > 1000 && found > 100,
        "{parsed} parsed, {found} with findings"
    );
}
