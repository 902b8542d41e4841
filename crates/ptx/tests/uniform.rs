//! Which registers and blocks are found uniform.
#![allow(missing_docs)]

use warpsmith_ptx::{
    cfg::Cfg,
    ir::{Module, RegId},
    parse::parse,
    uniform::{Uniformity, analyze, analyze_for},
};

fn kernel(body: &str) -> Module {
    let text = format!(
        ".version 7.8 .target sm_80 .address_size 64 .visible .entry k(.param .u64 p, .param .u32 n) {{ .reg .b32 %r<10>; .reg .pred %p<4>; .reg .b64 %rd<2>; {body} ret; }}"
    );
    parse(&text).unwrap_or_else(|found| panic!("{found:#?}"))
}

fn run(body: &str) -> (Uniformity, Cfg) {
    let module = kernel(body);
    let cfg = Cfg::new(&module.functions[0]);
    (analyze(&module.functions[0], &cfg), cfg)
}

/// Which of `%r0` and on are uniform, as a word of `u` and `v`.
fn regs(uniform: &Uniformity, count: u32) -> String {
    (0..count)
        .map(|at| if uniform.reg(RegId(at)) { 'u' } else { 'v' })
        .collect()
}

#[test]
fn values_follow_their_operands() {
    let (uniform, _) = run(
        "ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; add.s32 %r3, %r0, %r2; add.s32 %r4, %r3, %r1;
         ld.param.u64 %rd0, [p]; ld.global.u32 %r5, [%rd0]; ld.volatile.global.u32 %r6, [%rd0]; shfl.sync.idx.b32 %r7, %r0, 0, 31, -1;
         setp.eq.u32 %p0, %r1, 0; vote.sync.ballot.b32 %r8, %p0, -1; atom.global.add.u32 %r9, [%rd0], 1;",
    );
    assert_eq!(regs(&uniform, 10), "uvuuvuvuuv");
}

#[test]
fn a_varying_branch_makes_what_it_decides_varying() {
    let (uniform, cfg) = run(
        "mov.u32 %r0, %tid.x; mov.u32 %r1, 0; setp.eq.u32 %p0, %r0, 5; @%p0 bra L;
         mov.u32 %r1, 1; mov.u32 %r2, 7; add.s32 %r3, %r2, %r2; mov.u32 %r4, 8;
         L: add.s32 %r5, %r1, 1; mov.u32 %r6, 2; add.s32 %r7, %r4, %r6;",
    );
    // %r1 is written under the branch; %r2 and %r3 live there only; %r4 leaves it.
    assert_eq!(regs(&uniform, 8), "vvuuvvuv");
    assert!(uniform.convergent(0) && !uniform.convergent(1) && uniform.convergent(2));
    assert_eq!(cfg.blocks.len(), 3);
}

#[test]
fn loops_with_uniform_ends_stay_together() {
    let body = |end: &str| {
        format!(
            "mov.u32 %r0, 0; ld.param.u32 %r1, [n]; mov.u32 %r2, %laneid; H: add.s32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, {end}; @%p0 bra H; mov.u32 %r3, %r0;"
        )
    };
    let (uniform, cfg) = run(&body("%r1"));
    assert_eq!(regs(&uniform, 4), "uuvu");
    assert!((0..cfg.blocks.len()).all(|at| uniform.convergent(at)));
    let (uniform, _) = run(&body("%r2"));
    assert_eq!(regs(&uniform, 4), "vuvv");
    assert!(!uniform.convergent(1) && uniform.convergent(2));
}

#[test]
fn lanes_that_left_do_not_count() {
    for leave in [
        "@%p0 ret; bra GO; GO:",
        "@%p0 bra END; bra GO; END: ret; GO:",
    ] {
        let (uniform, cfg) = run(&format!(
            "mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 40; {leave} mov.u32 %r1, 3; H: add.s32 %r1, %r1, -1; setp.ne.u32 %p1, %r1, 0; @%p1 bra H;"
        ));
        assert!(uniform.reg(RegId(1)), "{leave}");
        let last = cfg.blocks.len() - 1;
        let ends = cfg.blocks[last].stmts.len();
        assert!(ends > 0);
        assert!(uniform.convergent(0), "{leave}");
    }
}

#[test]
fn the_shape_of_the_block_decides_on_tid() {
    let module = kernel("mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;");
    let cfg = Cfg::new(&module.functions[0]);
    for (shape, want) in [
        ([32, 4, 2], "vuu"),
        ([16, 4, 2], "vvu"),
        ([1, 1, 64], "uuv"),
        ([128, 1, 1], "vuu"),
    ] {
        let uniform = analyze_for(&module.functions[0], &cfg, Some(shape));
        assert_eq!(regs(&uniform, 3), want, "{shape:?}");
    }
}
