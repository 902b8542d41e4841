//! Undefined values on their way through registers.

use super::{Case, case};

/// The sum of `x` and the depth over all calls; the last one reads local memory that nobody wrote.
const RECURSIVE: &str = r"
.func (.param .b32 r) f(.param .b32 x, .param .b32 d)
{
    .reg .pred %p<4>;
    .reg .b32 %r<20>;
    ld.param.b32 %r1, [x];
    ld.param.b32 %r2, [d];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra leaf;
    mov.u32 %r5, %r1;
    mov.u32 %r8, %r2;
    sub.u32 %r3, %r2, 1;
    {
    .param .b32 px;
    .param .b32 pd;
    .param .b32 pr;
    st.param.b32 [px], %r1;
    st.param.b32 [pd], %r3;
    call (pr), f, (px, pd);
    ld.param.b32 %r6, [pr];
    }
    add.u32 %r6, %r6, %r5;
    add.u32 %r6, %r6, %r8;
    st.param.b32 [r], %r6;
    ret;
leaf:
    .reg .b64 %rd<3>;
    .local .align 4 .b8 fresh[4];
    ld.local.u32 %r5, [fresh];
    mov.u32 %r8, %r5;

    mov.u32 %r7, 1;
    st.param.b32 [r], %r7;
    ret;
}
";

pub(crate) const CASES: &[Case] = &[
    case(
        "selp_undefined_side",
        r#"
    ld.global.u32 %r10, [%rd3];
    setp.lt.u32 %p1, %r0, 99;
    selp.b32 %r11, 7, %r10, %p1;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "selp_undefined_lanes",
        r#"
    setp.lt.u32 %p1, %r0, 9;
    @%p1 ld.global.u32 %r10, [%rd1];
    selp.b32 %r11, %r10, 0, %p1;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "selp_undefined_taken",
        r#"
    ld.global.u32 %r10, [%rd3];
    setp.lt.u32 %p1, %r0, 9;
    selp.b32 %r11, %r10, 0, %p1;
    setp.lt.u32 %p1, %r0, 99;
    add.u32 %r11, %r11, 1; // fault: uninit_global
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "guarded_then_all",
        r#"
    setp.lt.u32 %p1, %r0, 9;
    @%p1 ld.global.u32 %r10, [%rd1];
    @%p1 add.u32 %r11, %r10, 1;
    add.u32 %r12, %r10, 2; // fault: uninit_register
    st.global.u32 [%rd1], %r12;
"#,
    ),
    case(
        "guard_pred_changes",
        r#"
    setp.lt.u32 %p1, %r0, 9;
    @%p1 mov.u32 %r10, 4;
    setp.lt.u32 %p1, %r0, 12;
    @%p1 add.u32 %r10, %r10, 1; // fault: uninit_register
    @%p1 st.global.u32 [%rd1], %r10;
"#,
    ),
    case(
        "guard_accumulate",
        r#"
    setp.lt.u32 %p1, %r0, 9;
    @%p1 add.u32 %r10, %r10, 1; // fault: uninit_register
    @%p1 st.global.u32 [%rd1], %r10;
"#,
    ),
    case(
        "alias_in_branch",
        r#"
    setp.lt.u32 %p1, %r0, 9;
    @%p1 bra A;
    mov.u32 %r10, %ntid.x;
    mov.u32 %r12, %laneid;
    bra B;
A:
    st.global.u32 [%rd1], 1;
B:
    @!%p1 add.u32 %r11, %r10, 1;
    @!%p1 add.u32 %r11, %r11, %r12;
    @!%p1 st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "many_gaps_branch_corr",
        r#"
    setp.lt.u32 %p1, %r0, 9;
    @%p1 bra A;
    mov.u32 %r10, 1;
    mov.u32 %r11, %r0;
    mov.u32 %r12, %tid.y;
    ld.global.u32 %r13, [%rd1];
    mov.f32 %f1, 0f00000000;
A:
    @%p1 bra B;
    add.u32 %r10, %r10, %r11;
    add.u32 %r10, %r10, %r12;
    add.u32 %r10, %r10, %r13;
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd1], %f2;
B:
"#,
    ),
    case(
        "first_block_loop",
        r#"
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
    {
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<4>;
L:
    ld.param.u64 %rd1, [a];
    ld.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra use;
    mov.u32 %r2, 5;
    st.global.u32 [%rd1], %r2;
    bra L;
use:
    add.u32 %r3, %r2, 1;
    st.global.u32 [%rd1+4], %r3;
    ret;
    }
"#,
    )
    .block(1)
    .whole(),
    case(
        "divergent_init_bad",
        r#"
    and.b32 %r20, %r0, 1;
    setp.eq.u32 %p1, %r20, 0;
    @%p1 bra B;
    mov.u32 %r10, 1;
    mov.u32 %r11, 1;
B:
    add.u32 %r10, %r10, 1; // fault: uninit_register
    st.global.u32 [%rd1], %r10;
    add.u32 %r12, %r11, 1; // fault: uninit_register
"#,
    ),
    case(
        "prmt_defined_bytes",
        r#"
    st.global.u8 [%rd3], 7;
    ld.global.u32 %r10, [%rd3];
    prmt.b32 %r11, %r10, 0, 0x4440;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "prmt_undefined_bytes",
        r#"
    st.global.u8 [%rd3], 7;
    ld.global.u32 %r10, [%rd3];
    prmt.b32 %r11, %r10, 0, 0x4441;
    add.u32 %r11, %r11, 1; // fault: uninit_global
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "shr_defined_half",
        r#"
    cvt.u16.u32 %h1, %r0;
    st.global.u16 [%rd3+2], %h1;
    ld.global.u32 %r10, [%rd3];
    shr.u32 %r11, %r10, 16;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "shl_defined_half",
        r#"
    cvt.u16.u32 %h1, %r0;
    st.global.u16 [%rd3], %h1;
    ld.global.u32 %r10, [%rd3];
    shl.b32 %r11, %r10, 16;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "bfe_defined",
        r#"
    cvt.u16.u32 %h1, %r0;
    st.global.u16 [%rd3+2], %h1;
    ld.global.u32 %r10, [%rd3];
    bfe.u32 %r11, %r10, 16, 16;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "bfi_bytes",
        r#"
    ld.global.u32 %r10, [%rd3];
    bfi.b32 %r11, %r0, %r10, 0, 32;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "cvt_low_byte",
        r#"
    st.global.u8 [%rd3], 7;
    ld.global.u32 %r10, [%rd3];
    cvt.u32.u8 %r11, %r10;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "lop3_bytewise",
        r#"
    st.global.u8 [%rd3], 7;
    ld.global.u32 %r10, [%rd3];
    lop3.b32 %r11, %r10, 255, %r0, 0xEA;
    and.b32 %r11, %r11, 255;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "pack_bytes_undefined_top",
        r#"
    cvt.u16.u32 %h1, %r0;
    st.local.u16 [own+4], %h1;
    st.local.u8 [own+6], 3;
    ld.local.u32 %r10, [own+4];
    shr.u32 %r11, %r10, 8;
    and.b32 %r11, %r11, 65535;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "shfl_from_defined",
        r#"
    setp.eq.u32 %p1, %r2, 0;
    @%p1 ld.global.u32 %r10, [%rd1];
    shfl.sync.idx.b32 %r11, %r10, 0, 31, -1;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    )
    .block(64),
    case(
        "lane_leader_atomic_shfl",
        r#"
    setp.eq.u32 %p1, %r2, 0;
    @!%p1 bra J;
    atom.global.add.u32 %r10, [%rd0], 32;
J:
    shfl.sync.idx.b32 %r11, %r10, 0, 31, -1;
    add.u32 %r12, %r11, %r2;
    mul.wide.u32 %rd10, %r12, 4;
    add.u64 %rd10, %rd10, %rd0;
    st.global.u32 [%rd10+256], %r12;
"#,
    )
    .block(64),
    case(
        "shfl_bad",
        r#"
    setp.eq.u32 %p1, %r2, 0;
    @%p1 ld.global.u32 %r10, [%rd1];
    shfl.sync.idx.b32 %r11, %r10, 1, 31, -1;
    add.u32 %r11, %r11, 1; // fault: uninit_register
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "shfl_up_pred",
        r#"
    ld.global.u32 %r10, [%rd1];
    setp.lt.u32 %p3, %r2, 31;
    @!%p3 ld.global.u32 %r10, [%rd3];
    shfl.sync.up.b32 %r11|%p1, %r10, 1, 0, -1;
    @%p1 add.u32 %r11, %r11, 1;
    @%p1 st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "shfl_index_undefined",
        r#"
    ld.global.u32 %r10, [%rd3];
    shfl.sync.idx.b32 %r11, %r0, %r10, 31, -1; // fault: uninit_global
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "ldmatrix_x2_uninit_row",
        r#"
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    setp.lt.u32 %p1, %r2, 8;
    @%p1 st.shared.v4.u32 [%r10], {%r0,%r0,%r0,%r0};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r11,%r12}, [%r10];
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "ldmatrix_x2_uninit_row_used",
        r#"
    shl.b32 %r10, %r0, 4;
    add.u32 %r10, %r5, %r10;
    setp.lt.u32 %p1, %r2, 8;
    @%p1 st.shared.v4.u32 [%r10], {%r0,%r0,%r0,%r0};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r11,%r12}, [%r10];
    add.u32 %r11, %r11, %r12; // fault: uninit_shared
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "stmatrix_undefined",
        r#"
    shl.b32 %r10, %r2, 4;
    add.u32 %r10, %r5, %r10;
    ld.global.u32 %r20, [%rd3];
    stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r10], {%r0,%r20};
    bar.sync 0;
    setp.ge.u32 %p1, %r2, 8;
    @%p1 bra done;
    ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r10];
    add.u32 %r11, %r11, %r12;
    st.global.u32 [%rd1], %r11;
    ld.shared.v4.u32 {%r11,%r12,%r13,%r14}, [%r10+128];
    add.u32 %r11, %r13, %r12; // fault: uninit_shared
    st.global.u32 [%rd1], %r11;
"#,
    )
    .target("sm_90"),
    case(
        "atom_exch_fresh",
        r#"
    atom.global.exch.b32 %r10, [%rd3], 1;
    ld.global.u32 %r11, [%rd3];
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "atom_exch_fresh_used",
        r#"
    atom.global.exch.b32 %r10, [%rd3], 1;
    add.u32 %r11, %r10, 1; // fault: uninit_global
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "recursion_leaf_undefined",
        r#"
    {
    .param .b32 px;
    .param .b32 pd;
    .param .b32 pr;
    and.b32 %r11, %r2, 3;
    st.param.b32 [px], %r0;
    st.param.b32 [pd], %r11;
    call (pr), f, (px, pd);
    ld.param.b32 %r12, [pr];
    }
    add.u32 %r12, %r12, 1;
    st.global.u32 [%rd1], %r12;
"#,
    )
    .module(RECURSIVE),
    case(
        "brx_undefined",
        r#"
    ld.global.u32 %r10, [%rd9];
    and.b32 %r10, %r10, 1;
    ts: .branchtargets A, B;
    brx.idx %r10, ts; // fault: uninit_global
A:
B:
    st.global.u32 [%rd1], 1;
"#,
    ),
    case(
        "bar_undefined",
        r#"
    ld.global.u32 %r10, [%rd9];
    and.b32 %r10, %r10, 1;
    bar.sync %r10; // fault: uninit_global
    st.global.u32 [%rd1], 1;
"#,
    ),
    case(
        "mov_pairs",
        r#"
    ld.global.u32 %r10, [%rd3];
    mov.b64 %rd10, {%r0, %r10};
    mov.b64 {%r11, %r12}, %rd10;
    add.u32 %r11, %r11, 1;
    st.global.u32 [%rd1], %r11;
"#,
    ),
    case(
        "mov_pairs_bad",
        r#"
    ld.global.u32 %r10, [%rd3];
    mov.b64 %rd10, {%r0, %r10};
    mov.b64 {%r11, %r12}, %rd10;
    add.u32 %r12, %r12, 1; // fault: uninit_global
    st.global.u32 [%rd1], %r12;
"#,
    ),
];
