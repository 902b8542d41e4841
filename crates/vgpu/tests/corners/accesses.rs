//! Accesses: which bytes, by whom, and when.

use super::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "bytes_neighbours",
        r#"
    add.u32 %r10, %r5, %r0;
    st.shared.u8 [%r10], %r0;
    bar.sync 0;
    ld.shared.u8 %r11, [%r10];
    st.global.u32 [%rd1], %r11;
"#,
    )
    .block(128),
    case(
        "halves_of_word",
        r#"
    shl.b32 %r10, %r0, 1;
    add.u32 %r10, %r5, %r10;
    cvt.u16.u32 %h1, %r0;
    st.shared.u16 [%r10], %h1;
    ld.shared.u16 %h2, [%r10];
    st.global.u16 [%rd1], %h2;
"#,
    )
    .block(96),
    case(
        "global_bytes_ctas",
        r#"
    mad.lo.u32 %r10, %r0, 4, %r1;
    cvt.u64.u32 %rd10, %r10;
    add.u64 %rd10, %rd0, %rd10;
    st.global.u8 [%rd10], %r1;
    ld.global.u8 %r11, [%rd10];
    st.global.u8 [%rd10+1024], %r11;
"#,
    )
    .block(64)
    .grid(4),
    case(
        "word_over_bytes_race",
        r#"
    add.u32 %r10, %r5, %r0;
    st.shared.u8 [%r10], %r0;
    setp.ne.u32 %p1, %r0, 5;
    @%p1 bra done;
    ld.shared.u32 %r11, [%r5+8]; // fault: race_shared
    st.global.u32 [%rd0], %r11;
"#,
    )
    .block(64),
    case(
        "word_own_bytes",
        r#"
    setp.ge.u32 %p1, %r0, 16;
    @%p1 bra other;
    st.shared.u8 [%r4], 1;
    st.shared.u8 [%r4+1], 2;
    st.shared.u16 [%r4+2], 3;
    ld.shared.u32 %r11, [%r4];
    st.global.u32 [%rd1], %r11;
    bra done;
other:
    st.shared.u32 [%r4], %r0;
    ld.shared.u16 %h1, [%r4+2];
    st.global.u16 [%rd1], %h1;
"#,
    )
    .block(64),
    case(
        "v4_over_words_own",
        r#"
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    st.shared.u32 [%r10], %r0;
    st.shared.u32 [%r10+4], %r0;
    st.shared.u64 [%r10+8], %rd2;
    ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r10];
    add.u32 %r11, %r11, %r14;
    st.global.u32 [%rd1], %r11;
"#,
    )
    .block(128),
    case(
        "v4_over_words_other_lane",
        r#"
    st.shared.u32 [%r4], %r0;
    setp.ge.u32 %p1, %r0, 8;
    @%p1 bra done;
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r10]; // fault: race_shared
    add.u32 %r11, %r11, %r14;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "v4_over_words_warpsync",
        r#"
    st.shared.u32 [%r4], %r0;
    bar.warp.sync -1;
    setp.ge.u32 %p1, %r0, 8;
    @%p1 bra done;
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r10];
    add.u32 %r11, %r11, %r14;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "v8_own",
        r#"
    mul.wide.u32 %rd10, %r0, 32;
    add.u64 %rd10, %rd0, %rd10;
    st.global.v8.b32 [%rd10], {%r0,%r0,%r0,%r0,%r0,%r0,%r0,%r0};
    ld.global.u32 %r10, [%rd10+16];
    st.global.u32 [%rd10+28], %r10;
    ld.global.v8.b32 {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}, [%rd10];
    add.u32 %r10, %r10, %r17;
    st.global.u32 [%rd10], %r10;
"#,
    )
    .block(64)
    .target("sm_100"),
    case(
        "v8_other_lane",
        r#"
    mul.wide.u32 %rd10, %r0, 32;
    add.u64 %rd10, %rd0, %rd10;
    xor.b32 %r20, %r0, 1;
    mul.wide.u32 %rd11, %r20, 32;
    add.u64 %rd11, %rd0, %rd11;
    st.global.v8.b32 [%rd10], {%r0,%r0,%r0,%r0,%r0,%r0,%r0,%r0};
    ld.global.u32 %r10, [%rd11+16]; // fault: race_global
    st.global.u32 [%rd10+1024], %r10;
"#,
    )
    .target("sm_100"),
    case(
        "v4b64_own",
        r#"
    mul.wide.u32 %rd10, %r0, 32;
    add.u64 %rd10, %rd0, %rd10;
    st.global.v4.b64 [%rd10], {%rd2,%rd2,%rd2,%rd2};
    ld.global.b64 %rd11, [%rd10+24];
    st.global.b64 [%rd10], %rd11;
"#,
    )
    .block(64)
    .target("sm_100"),
    case(
        "partial_mask_low",
        r#"
    setp.lt.u32 %p1, %r2, 5;
    @%p1 bra done;
    sub.u32 %r10, %r4, 20;
    st.shared.u32 [%r10], %r0;
    ld.shared.u32 %r12, [%r10];
    st.global.u32 [%rd1+-20], %r12;
"#,
    ),
    case(
        "end_odd_alloc_oob",
        r#"
    mul.wide.u32 %rd10, %r0, 4;
    add.u64 %rd10, %rd0, %rd10;
    st.global.u32 [%rd10], %r0; // fault: oob_global
"#,
    )
    .bytes(126),
    case(
        "broadcast_then_write",
        r#"
    ld.global.u32 %r10, [%rd0+64];
    setp.ne.u32 %p1, %r0, 40;
    @%p1 bra done;
    st.global.u32 [%rd0+64], %r10; // fault: race_global
"#,
    )
    .block(64),
    case(
        "broadcast_barrier_write",
        r#"
    ld.global.u32 %r10, [%rd0+64];
    bar.sync 0;
    setp.ne.u32 %p1, %r0, 40;
    @%p1 bra done;
    st.global.u32 [%rd0+64], %r10;
"#,
    )
    .block(64),
    case(
        "arrive_then_write",
        r#"
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra two;
    st.shared.u32 [%r4], %r0;
    bar.arrive 1, 64;
    st.shared.u32 [%r4+256], %r0;
    bra done;
two:
    bar.sync 1, 64;
    ld.shared.u32 %r11, [%r4+-128];
    ld.shared.u32 %r12, [%r4+128]; // fault: race_shared
    st.global.u32 [%rd1], %r11;
"#,
    )
    .block(64),
    case(
        "cpasync_zero_imm",
        r#"
    mul.wide.u32 %rd10, %r0, 16;
    add.u64 %rd11, %rd0, %rd10;
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    add.u64 %rd11, %rd11, 1048576;
    cp.async.cg.shared.global [%r10], [%rd11], 16, 0;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r12, [%r10+12];
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd3], %r12;
"#,
    ),
    case(
        "cpasync_tail",
        r#"
    mul.wide.u32 %rd10, %r0, 16;
    add.u64 %rd11, %rd0, %rd10;
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    mov.u32 %r11, 16;
    setp.eq.u32 %p1, %r0, 31;
    selp.b32 %r11, 4, 16, %p1;
    cp.async.cg.shared.global [%r10], [%rd11], 16, %r11;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r12, [%r10+12];
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd3], %r12;
"#,
    )
    .bytes(500),
    case(
        "cpasync_tail_imm",
        r#"
    mul.wide.u32 %rd10, %r0, 16;
    add.u64 %rd11, %rd0, %rd10;
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    cp.async.ca.shared.global [%r10], [%rd11], 16, 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r12, [%r10+12];
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd3], %r12;
"#,
    )
    .bytes(500),
    case(
        "cpasync_ignore",
        r#"
    mul.wide.u32 %rd10, %r0, 16;
    add.u64 %rd11, %rd0, %rd10;
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    setp.ge.u32 %p1, %r0, 8;
    cp.async.cg.shared.global [%r10], [%rd11], 16, %p1;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r12, [%r10+12];
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd3], %r12;
"#,
    )
    .bytes(128),
    case(
        "cpasync_wait_after_barrier",
        r#"
    setp.ge.u32 %p1, %r0, 32;
    shl.b32 %r10, %r2, 4;
    add.u32 %r10, %r5, %r10;
    mul.wide.u32 %rd10, %r2, 16;
    add.u64 %rd11, %rd0, %rd10;
    @%p1 bra two;
    cp.async.cg.shared.global [%r10], [%rd11], 16;
    cp.async.commit_group;
    bar.sync 0;
    cp.async.wait_group 0;
    bra done;
two:
    bar.sync 0;
    ld.shared.u32 %r12, [%r10]; // fault: race_shared
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd1+2048], %r12;
"#,
    )
    .block(64)
    .in_order(),
    case(
        "cpasync_undefined",
        r#"
    cp.async.ca.shared.global [%r4], [%rd3], 4;
    cp.async.wait_all;
    ld.shared.u32 %r10, [%r4];
    add.u32 %r10, %r10, 1; // fault: uninit_shared
    st.global.u32 [%rd1], %r10;
"#,
    ),
    case(
        "cpasync_undefined_unused",
        r#"
    cp.async.ca.shared.global [%r4], [%rd3], 4;
    cp.async.wait_all;
    ld.shared.u32 %r10, [%r4];
    st.global.u32 [%rd3+512], %r10;
"#,
    ),
    case(
        "cpasync_div_groups",
        r#"
    shl.b32 %r10, %r0, 5;
    add.u32 %r10, %r5, %r10;
    mul.wide.u32 %rd10, %r0, 32;
    add.u64 %rd11, %rd0, %rd10;
    and.b32 %r11, %r0, 1;
    setp.eq.u32 %p1, %r11, 0;
    cp.async.cg.shared.global [%r10], [%rd11], 16;
    cp.async.commit_group;
    @%p1 bra even;
    cp.async.cg.shared.global [%r10+16], [%rd11+16], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bra join;
even:
    cp.async.wait_group 0;
join:
    ld.shared.u32 %r12, [%r10];
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd11], %r12;
"#,
    ),
    case(
        "cpasync_div_groups_early",
        r#"
    shl.b32 %r10, %r0, 5;
    add.u32 %r10, %r5, %r10;
    mul.wide.u32 %rd10, %r0, 32;
    add.u64 %rd11, %rd0, %rd10;
    and.b32 %r11, %r0, 1;
    setp.eq.u32 %p1, %r11, 0;
    cp.async.cg.shared.global [%r10], [%rd11], 16;
    cp.async.commit_group;
    @%p1 cp.async.cg.shared.global [%r10+16], [%rd11+16], 16;
    cp.async.wait_group 0;
    @!%p1 ld.shared.u32 %r12, [%r10];
    @%p1 ld.shared.u32 %r12, [%r10+16]; // fault: async_early
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd11], %r12;
"#,
    ),
    case(
        "ldmatrix_x1_garbage_upper",
        r#"
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    setp.ge.u32 %p1, %r2, 8;
    st.shared.v4.u32 [%r10], {%r0,%r0,%r0,%r0};
    bar.sync 0;
    @%p1 mov.u32 %r10, 0x7ffffff0;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r10];
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "stmatrix_x1_upper",
        r#"
    shl.b32 %r10, %r2, 4;
    add.u32 %r10, %r5, %r10;
    setp.ge.u32 %p1, %r2, 8;
    @%p1 mov.u32 %r10, 0x7ffffff0;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r10], {%r0};
"#,
    )
    .target("sm_90"),
    case(
        "stmatrix_two_warps",
        r#"
    shl.b32 %r10, %r2, 4;
    add.u32 %r10, %r5, %r10;
    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r10], {%r0,%r0,%r0,%r0}; // fault: race_shared
    bar.sync 0;
    ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r10];
    add.u32 %r11, %r11, %r12;
    st.global.u32 [%rd1], %r11;
"#,
    )
    .block(64)
    .target("sm_90"),
    case(
        "mp_gpu",
        r#"
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    setp.eq.u32 %p2, %r1, 0;
    @!%p2 bra reader;
    st.global.u32 [%rd0+256], 42;
    st.release.gpu.global.u32 [%rd0], 1;
    bra done;
reader:
    mov.u32 %r20, 0;
spin:
    ld.acquire.gpu.global.u32 %r10, [%rd0];
    add.u32 %r20, %r20, 1;
    setp.gt.u32 %p4, %r20, 100000;
    @%p4 bra done;
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra spin;
    ld.global.u32 %r11, [%rd0+256];
    st.global.u32 [%rd0+512], %r11;
"#,
    )
    .grid(2)
    .cooperative(),
    case(
        "mp_membar_cta",
        r#"
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    setp.eq.u32 %p2, %r1, 0;
    @!%p2 bra reader;
    st.global.u32 [%rd0+256], 42;
    membar.cta;
    red.global.add.u32 [%rd0], 1;
    bra done;
reader:
    mov.u32 %r20, 0;
spin:
    ld.volatile.global.u32 %r10, [%rd0];
    add.u32 %r20, %r20, 1;
    setp.gt.u32 %p4, %r20, 100000;
    @%p4 bra done;
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra spin;
    membar.gl;
    ld.global.u32 %r11, [%rd0+256]; // fault: race_global
    st.global.u32 [%rd0+512], %r11;
"#,
    )
    .grid(2)
    .cooperative(),
    case(
        "mp_fence_cta",
        r#"
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    setp.eq.u32 %p2, %r1, 0;
    @!%p2 bra reader;
    st.global.u32 [%rd0+256], 42;
    fence.acq_rel.cta;
    red.global.add.u32 [%rd0], 1;
    bra done;
reader:
    mov.u32 %r20, 0;
spin:
    ld.volatile.global.u32 %r10, [%rd0];
    add.u32 %r20, %r20, 1;
    setp.gt.u32 %p4, %r20, 100000;
    @%p4 bra done;
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra spin;
    fence.acq_rel.cta;
    ld.global.u32 %r11, [%rd0+256]; // fault: race_global
    st.global.u32 [%rd0+512], %r11;
"#,
    )
    .grid(2)
    .cooperative(),
    case(
        "fence_cta_in_cta",
        r#"
    setp.eq.u32 %p6, %r0, 0;
    @%p6 st.shared.u32 [%r5], 0;
    bar.sync 0;
    setp.eq.u32 %p2, %r0, 0;
    setp.eq.u32 %p5, %r0, 32;
    @%p5 bra reader;
    @!%p2 bra done;
    st.shared.u32 [%r5+256], 42;
    fence.acq_rel.cta;
    red.shared.add.u32 [%r5], 1;
    bra done;
reader:
spin:
    ld.volatile.shared.u32 %r10, [%r5];
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra spin;
    fence.acq_rel.cta;
    ld.shared.u32 %r11, [%r5+256];
    st.global.u32 [%rd0+512], %r11;
"#,
    )
    .block(64),
    case(
        "membar_cta_in_cta_global",
        r#"
    setp.eq.u32 %p2, %r0, 0;
    setp.eq.u32 %p5, %r0, 32;
    @%p5 bra reader;
    @!%p2 bra done;
    st.global.u32 [%rd0+256], 42;
    membar.cta;
    st.volatile.global.u32 [%rd0], 1;
    bra done;
reader:
spin:
    ld.volatile.global.u32 %r10, [%rd0];
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra spin;
    membar.cta;
    ld.global.u32 %r11, [%rd0+256];
    st.global.u32 [%rd0+512], %r11;
"#,
    )
    .block(64),
    case(
        "mbarrier_async",
        r#"
    .shared .align 8 .b64 mb;
    setp.ne.u32 %p1, %r0, 0;
    mov.u32 %r20, mb;
    @%p1 bra go;
    mbarrier.init.shared.b64 [%r20], 64;
go:
    bar.sync 0;
    cp.async.ca.shared.global [%r4], [%rd1], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r20];
    mov.u64 %rd21, 0;
w:
    mbarrier.test_wait.parity.shared.b64 %p2, [%r20], 0;
    @!%p2 bra w;
    xor.b32 %r10, %r4, 128;
    ld.shared.u32 %r11, [%r10];
    st.global.u32 [%rd3], %r11;
"#,
    )
    .block(64),
    case(
        "pipeline2",
        r#"
    mov.u32 %r20, 0;
    cp.async.ca.shared.global [%r4], [%rd1], 4;
    cp.async.commit_group;
L:
    add.u32 %r21, %r20, 1;
    and.b32 %r22, %r21, 1;
    shl.b32 %r22, %r22, 10;
    add.u32 %r22, %r22, %r4;
    cp.async.ca.shared.global [%r22], [%rd1], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    and.b32 %r23, %r20, 1;
    shl.b32 %r23, %r23, 10;
    xor.b32 %r24, %r4, 128;
    add.u32 %r23, %r23, %r24;
    ld.shared.u32 %r25, [%r23];
    add.u32 %r25, %r25, 1;
    bar.sync 0;
    mov.u32 %r20, %r21;
    setp.lt.u32 %p1, %r20, 6;
    @%p1 bra L;
    st.global.u32 [%rd3], %r25;
"#,
    )
    .block(64),
    case(
        "warpsync_subset_cross",
        r#"
    setp.ge.u32 %p1, %r2, 8;
    @%p1 bra other;
    st.shared.u32 [%r4], %r0;
    bar.warp.sync 0xff;
    bra out;
other:
    st.shared.u32 [%r4], %r0;
    bar.warp.sync 0xffffff00;
out:
    xor.b32 %r10, %r4, 32;
    ld.shared.u32 %r11, [%r10]; // fault: race_shared
    st.global.u32 [%rd1], %r11;
"#,
    )
    .in_order(),
];
