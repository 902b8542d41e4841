//! Addresses of another space, of another thread or CTA, and of parameters; predicates that nobody has written.

use super::{Case, case, run};

const SPACES: [Case; 13] = [
    case(
        "an atomic on a constant",
        "    mov.u64 %rd10, table;
    cvta.const.u64 %rd10, %rd10;
    atom.add.u32 %r6, [%rd10], 1;  // fault: bad_space",
    )
    .module(".const .align 4 .b8 table[128];"),
    case(
        "a vector that ends in a constant",
        "    mov.u64 %rd10, table;
    cvta.const.u64 %rd10, %rd10;
    add.u64 %rd10, %rd10, %rd2;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.v2.u32 [%rd10], {%r0, %r0};  // fault: bad_space",
    )
    .module(".const .align 8 .b8 table[128];"),
    case(
        "a variable beside a constant is written",
        "    mov.u64 %rd10, open;
    cvta.global.u64 %rd10, %rd10;
    add.u64 %rd10, %rd10, %rd2;
    st.u32 [%rd10], %r0;
    mov.u64 %rd11, table;
    cvta.const.u64 %rd11, %rd11;
    ld.u32 %r6, [%rd11];
    st.global.u32 [%rd1], %r6;",
    )
    .module(".const .align 4 .b8 table[128];\n.global .align 4 .b8 open[128];\n.const .align 4 .b8 other[128];"),
    case(
        "the first lane's local address is used by all",
        "    mov.u64 %rd10, own;
    cvta.local.u64 %rd10, %rd10;
    st.u32 [%rd10], %r0;
    mov.b64 {%r6, %r7}, %rd10;
    shfl.sync.idx.b32 %r6, %r6, 0, 31, -1;
    shfl.sync.idx.b32 %r7, %r7, 0, 31, -1;
    mov.b64 %rd11, {%r6, %r7};
    st.u32 [%rd11], %r0;  // fault: bad_space",
    ),
    case(
        "a local address that comes back by shared memory is the lane's own",
        "    mov.u64 %rd10, own;
    cvta.local.u64 %rd10, %rd10;
    shl.b32 %r6, %r0, 3;
    add.u32 %r6, %r5, %r6;
    st.shared.u64 [%r6], %rd10;
    ld.shared.u64 %rd11, [%r6];
    st.v2.u32 [%rd11+8], {%r0, %r1};
    ld.u32 %r7, [%rd10+8];
    cvta.to.local.u64 %rd12, %rd11;
    ld.local.u32 %r8, [%rd12+12];
    add.u32 %r7, %r7, %r8;
    st.global.u32 [%rd1], %r7;",
    ),
    case(
        "another's local address is made one of local memory",
        "    mov.u64 %rd10, own;
    cvta.local.u64 %rd10, %rd10;
    st.u32 [%rd10], %r0;
    mov.b64 {%r6, %r7}, %rd10;
    shfl.sync.bfly.b32 %r7, %r7, 1, 31, -1;
    mov.b64 %rd11, {%r6, %r7};
    cvta.to.local.u64 %rd11, %rd11;
    ld.local.u32 %r8, [%rd11];  // fault: bad_space
    st.global.u32 [%rd1], %r8;",
    ),
    case(
        "shared memory by its generic address, as numbers and as halves",
        "    cvt.u64.u32 %rd10, %r4;
    cvta.shared.u64 %rd10, %rd10;
    st.u32 [%rd10], %r0;
    cvta.to.shared.u64 %rd11, %rd10;
    cvt.u32.u64 %r6, %rd11;
    ld.shared.u32 %r7, [%r6];
    cvt.u32.u64 %r8, %rd10;
    ld.shared.u32 %r9, [%r8];
    add.u32 %r7, %r7, %r9;
    isspacep.shared %p1, %rd10;
    isspacep.local %p2, %rd10;
    isspacep.shared %p3, %rd1;
    @!%p1 bra wrong;
    @%p2 bra wrong;
    @%p3 bra wrong;
    st.global.u32 [%rd1], %r7;
    bra done;
wrong:
    st.global.u32 [%rd1+1000000], %r7;",
    ),
    case(
        "atomics on shared memory by its generic address, of all warps",
        "    setp.eq.u32 %p1, %r0, 0;
    mov.u64 %rd10, tile;
    cvta.shared.u64 %rd10, %rd10;
    @%p1 st.u32 [%rd10], 0;
    bar.sync 0;
    atom.add.u32 %r6, [%rd10], 1;
    bar.sync 0;
    ld.u32 %r7, [%rd10];
    st.global.u32 [%rd1], %r7;",
    )
    .block(64),
    case(
        "a parameter's generic address",
        "    mov.b64 %rd10, a;
    cvta.param.u64 %rd10, %rd10;
    ld.u64 %rd11, [%rd10];
    isspacep.param %p1, %rd10;
    setp.ne.u64 %p2, %rd11, %rd0;
    @%p2 bra wrong;
    @!%p1 bra wrong;
    ld.v2.u64 {%rd12, %rd13}, [%rd10];
    setp.ne.u64 %p2, %rd13, %rd9;
    @!%p2 bra done;
wrong:
    st.global.u32 [%rd1+1000000], %r0;",
    ),
    case(
        "a parameter is written",
        "    mov.b64 %rd10, n;
    cvta.param.u64 %rd10, %rd10;
    st.u32 [%rd10], %r0;  // fault: bad_space",
    ),
    case(
        "a parameter is added to",
        "    mov.b64 %rd10, n;
    cvta.param.u64 %rd10, %rd10;
    red.add.u32 [%rd10], %r0;  // fault: bad_space",
    ),
    case(
        "behind the parameters",
        "    mov.b64 %rd10, n;
    cvta.param.u64 %rd10, %rd10;
    ld.u32 %r6, [%rd10+4];  // fault: oob_param
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "a generic address where a parameter is named",
        "    mov.b64 %rd10, n;
    cvta.param.u64 %rd10, %rd10;
    ld.global.u32 %r6, [%rd10];  // fault: bad_space
    st.global.u32 [%rd1], %r6;",
    ),
];

const PREDS: [Case; 14] = [
    case(
        "a selection",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    selp.u32 %r6, 1, 2, %p2;  // fault: uninit_register
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "a selection by those that have it",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    mov.u32 %r6, 3;
    @%p1 selp.u32 %r6, 1, 2, %p2;
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "a vote",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    vote.sync.ballot.b32 %r6, %p2, -1;  // fault: uninit_register
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "of a pair the second",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2|%p3, %r0, 5;
    mov.u32 %r6, 3;
    @%p3 mov.u32 %r6, 1;  // fault: uninit_register
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "a negated guard",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    @!%p2 st.global.u32 [%rd1], %r0;  // fault: uninit_register",
    ),
    case(
        "a copy, and its use",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    mov.pred %p3, %p2;
    not.pred %p4, %p3;
    @%p4 st.global.u32 [%rd1], %r0;  // fault: uninit_register",
    ),
    case(
        "false on the other side of an and leaves nothing open",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    and.pred %p3, %p2, %p1;
    @%p3 st.global.u32 [%rd1], %r0;",
    ),
    case(
        "true on the other side of an or leaves nothing open",
        "    setp.ge.u32 %p1, %r0, 16;
    @!%p1 setp.gt.u32 %p2, %r0, 5;
    or.pred %p3, %p1, %p2;
    @%p3 st.global.u32 [%rd1], %r0;",
    ),
    case(
        "true on the other side of an and leaves it open",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    setp.lt.u32 %p4, %r0, 20;
    and.pred %p3, %p2, %p4;
    @%p3 st.global.u32 [%rd1], %r0;  // fault: uninit_register",
    ),
    case(
        "a comparison that is false leaves nothing open",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    setp.lt.and.u32 %p3, %r0, 16, %p2;
    setp.ge.or.u32 %p4, %r0, 16, !%p2;
    @%p3 st.global.u32 [%rd1], %r0;
    @%p4 st.global.u32 [%rd1], %r0;",
    ),
    case(
        "a comparison that is true leaves it open",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    setp.lt.and.u32 %p3, %r0, 17, %p2;
    @%p3 st.global.u32 [%rd1], %r0;  // fault: uninit_register",
    ),
    case(
        "both ways set it before they meet",
        "    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra low;
    setp.gt.u32 %p2, %r0, 20;
    bra both;
low:
    setp.gt.u32 %p2, %r0, 5;
both:
    @%p2 st.global.u32 [%rd1], %r0;",
    ),
    case(
        "set in the first round of a loop only",
        "    mov.u32 %r6, 0;
again:
    setp.eq.u32 %p1, %r6, 0;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    @%p2 st.global.u32 [%rd1], %r6;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p3, %r6, 4;
    @%p3 bra again;",
    ),
    case(
        "set in the second round of a loop",
        "    mov.u32 %r6, 0;
again:
    setp.eq.u32 %p1, %r6, 1;
    @%p1 setp.gt.u32 %p2, %r0, 5;
    @%p2 st.global.u32 [%rd1], %r6;  // fault: uninit_register
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p3, %r6, 4;
    @%p3 bra again;",
    ),
];

#[test]
fn own_memory_is_nobody_elses_and_constants_stay() {
    run(&SPACES);
}

#[test]
fn predicates_are_followed_to_where_they_decide() {
    run(&PREDS);
}
