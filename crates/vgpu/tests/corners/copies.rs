//! Asynchronous copies of fewer bytes than they write, and constants.

use super::{Case, case, run};

const COPIES: [Case; 8] = [
    case(
        "the bytes behind those that are copied are zeros",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4, 2;
    cp.async.wait_all;
    ld.shared.u32 %r6, [%r4];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "a part of nothing is zeros",
        "    cp.async.ca.shared.global [%r4], [%rd3], 4, 0;
    cp.async.wait_all;
    ld.shared.u32 %r6, [%r4];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "a part of what nobody wrote is undefined",
        "    cp.async.ca.shared.global [%r4], [%rd3], 4, 2;
    cp.async.wait_all;
    ld.shared.u32 %r6, [%r4];
    add.u32 %r6, %r6, 1;  // fault: uninit_shared
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "of what nobody wrote the bytes behind are zeros",
        "    cp.async.ca.shared.global [%r4], [%rd3], 4, 2;
    cp.async.wait_all;
    ld.shared.u16 %r6, [%r4+2];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "one byte of two that are copied was written",
        "    cvt.u16.u32 %h1, %r0;
    st.global.u8 [%rd3], %h1;
    cp.async.ca.shared.global [%r4], [%rd3], 4, 2;
    cp.async.wait_all;
    ld.shared.u8 %r6, [%r4];
    add.u32 %r6, %r6, 1;
    ld.shared.u8 %r7, [%r4+1];
    add.u32 %r7, %r7, 1;  // fault: uninit_shared
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "some lanes copy all of what nobody wrote, others nothing, others a part of what was written",
        "    setp.lt.u32 %p1, %r0, 8;
    setp.lt.u32 %p2, %r0, 16;
    selp.b64 %rd4, %rd3, %rd1, %p1;
    selp.u32 %r6, 4, 0, %p1;
    selp.u32 %r7, 1, 0, %p2;
    add.u32 %r6, %r6, %r7;
    cp.async.ca.shared.global [%r4], [%rd4], 4, %r6;
    cp.async.wait_all;
    ld.shared.u32 %r8, [%r4];
    @!%p1 add.u32 %r8, %r8, 1;
    @%p1 add.u32 %r8, %r8, 1;  // fault: uninit_shared
    @!%p1 st.global.u32 [%rd1], %r8;",
    ),
    case(
        "a part reaches behind the allocation",
        "    cp.async.ca.shared.global [%r4], [%rd1+4092], 4, 2;  // fault: oob_global
    cp.async.wait_all;",
    ),
    case(
        "a part ends with the allocation",
        "    mov.u32 %r6, 0;
    setp.eq.u32 %p1, %r0, 0;
    selp.u32 %r6, 3, 0, %p1;
    cp.async.ca.shared.global [%r4], [%rd1+4092], 4, %r6;
    cp.async.wait_all;",
    ),
];

const CONSTANTS: [Case; 4] = [
    case(
        "a buffer is no constant",
        "    ld.const.u32 %r6, [%rd1];  // fault: bad_space
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "lanes read all of a table",
        "    mov.u64 %rd4, table;
    add.u64 %rd4, %rd4, %rd2;
    ld.const.u32 %r6, [%rd4];
    st.global.u32 [%rd1], %r6;",
    )
    .module(".const .align 4 .b8 table[128];"),
    case(
        "lanes read two tables by one instruction",
        "    mov.u64 %rd4, table;
    mov.u64 %rd5, other;
    setp.lt.u32 %p1, %r0, 7;
    selp.b64 %rd4, %rd4, %rd5, %p1;
    add.u64 %rd4, %rd4, %rd2;
    ld.const.u32 %r6, [%rd4];
    st.global.u32 [%rd1], %r6;",
    )
    .module(".const .align 4 .b8 table[28];\n.const .align 4 .b8 other[128];"),
    case(
        "a variable of global memory is no constant",
        "    mov.u64 %rd4, table;
    add.u64 %rd4, %rd4, %rd2;
    ld.const.u32 %r6, [%rd4];  // fault: bad_space
    st.global.u32 [%rd1], %r6;",
    )
    .module(".global .align 4 .b8 table[128];"),
];

#[test]
fn parts_of_what_is_copied_are_told_apart() {
    run(&COPIES);
}

#[test]
fn constants_are_the_modules_own() {
    run(&CONSTANTS);
}
