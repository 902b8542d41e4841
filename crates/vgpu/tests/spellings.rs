//! Spellings that compilers use beside the manual's mean the same: register parameters, orders, elements.
#![allow(missing_docs)]

mod common;

use common::Bench;
use warpsmith_vgpu::Tier;

fn text(functions: &str, body: &str) -> String {
    format!(
        "{functions}\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %q<3>;\n\
         .shared .align 16 .u32 tile[8];\nld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nld.global.u32 %r2, [%d1+4];\n\
         ld.global.u32 %r3, [%d1+8];\nmov.b32 %r0, 0;\n{body}\nst.global.u32 [%d1+12], %r0;\nret;\n}}\n"
    )
}

/// What a body leaves in `%r0`; `%r1`, `%r2` and `%r3` are 0x92345678, 7 and 0xAABBCCDD.
fn result(functions: &str, body: &str) -> u32 {
    let text = text(functions, body);
    let mut results = Vec::new();
    for tier in [Tier::Baseline, Tier::best()] {
        let bench = Bench::new(&text, tier);
        let words = bench.words(&[0x9234_5678, 7, 0xAABB_CCDD, 0]);
        bench.run(1, 1, &[words]).expect("runs");
        results.push(bench.read(words, 4)[3]);
    }
    assert_eq!(results[0], results[1], "{body}");
    results[0]
}

#[test]
fn selectors_of_video_instructions_name_a_part() {
    for (body, wanted) in [
        // 0x78 and 0x9234 with its sign.
        ("vadd.s32.u32.s32 %r0, %r1.b0, %r1.h1;", 0xFFFF_92AC),
        ("vadd.s32.u32.s32 %r0, %r1.b0, %r1.h1, %r3;", 0xFFFF_92AC),
        ("vadd.s32.u32.u32 %r0.h0, %r1.b0, %r2, %r3;", 0xAABB_007F),
        ("vabsdiff.u32.s32.u32.add %r0, %r1.b3, %r2, %r2;", 124),
    ] {
        assert_eq!(result("", body), wanted, "{body}");
    }
}

#[test]
fn functions_take_registers_and_give_them_back() {
    let functions = ".func (.reg .b32 r) twice(.reg .b32 a)\n{\nadd.s32 r, a, a;\nret;\n}\n\
        .func (.reg .b32 r) small(.reg .b32 a, .param .u32 b)\n{\n.reg .pred %q; .reg .b32 %t;\nmov.b32 r, 1;\n\
        setp.lt.u32 %q, a, 10;\n@%q ret;\nld.param.u32 %t, [b];\nadd.u32 r, a, %t;\n}\n";
    for (body, wanted) in [
        ("call (%r0), twice, (%r2);", 14),
        ("call (%r0), twice, (21);", 42),
        ("call (%r4), twice, (%r2);\ncall (%r0), twice, (%r4);", 28),
        ("call (%r0), small, (%r2, %r2);", 1),
        ("call (%r0), small, (%r3, %r2);", 0xAABB_CCE4),
    ] {
        assert_eq!(result(functions, body), wanted, "{body}");
    }
}

#[test]
fn elements_orders_and_vectors_of_one_are_what_they_stand_for() {
    for (body, wanted) in [
        (
            "st.shared.u32 [tile+12], %r2;\nmov.u32 %r4, tile[3];\nld.shared.u32 %r0, [%r4];",
            7,
        ),
        (
            "st.shared.u32 tile[2], %r2;\nld.shared.u32 %r0, [tile+8];",
            7,
        ),
        (
            "st.shared.b32 [tile], { %r3 };\nld.shared.b32 { %r0 }, [tile];",
            0xAABB_CCDD,
        ),
        (
            "mul.lo.u32 %r0, %r2, %r2;\nfence.gpu.sc;\nfence.cta.acq_rel;",
            49,
        ),
        (
            "st.u32.shared [tile], %r2;\natom.add.shared.u32 %r0, [tile], 1;\nld.u32.shared %r0, [tile];",
            8,
        ),
        ("shfl.idx.sync.b32 %r0, %r2, 0, 31, 1;", 7),
        ("setp.u32.lt %q1, %r2, 8;\nselp.b32 %r0, 3, 4, %q1;", 3),
    ] {
        assert_eq!(result("", body), wanted, "{body}");
    }
}
