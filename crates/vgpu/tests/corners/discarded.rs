//! Values that a compiler reads for all lanes though a condition beside them decides for most: a race only of lanes in
//! which they matter.

use super::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "and with a guard that lets one thread through, which is the one that stores",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    setp.lt.u32 %p2, %r10, 5;
    and.pred %p3, %p1, %p2;
    @%p3 st.shared.u32 [tile], %r1;",
    )
    .block(64),
    case(
        "and with a guard that lets others through",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.lt.u32 %p1, %r0, 9;
    setp.eq.u32 %p4, %r0, 0;
    setp.gt.u32 %p2, %r10, 5;
    and.pred %p3, %p2, %p1;
    @%p3 st.global.u32 [%rd1], %r0;
    @%p4 st.shared.u32 [tile], %r1;  // fault: race_shared",
    )
    .in_order(),
    case(
        "who reads after the store and is let through",
        "    setp.eq.u32 %p4, %r0, 0;
    setp.ge.u32 %p1, %r0, 32;
    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    @%p4 st.shared.u32 [tile], %r1;
    ld.shared.u8 %h1, [tile];  // fault: race_shared
    setp.eq.s16 %p2, %h1, 0;
    and.pred %p3, %p1, %p2;
    @%p3 st.global.u32 [%rd1], %r0;",
    )
    .block(64)
    .in_order(),
    case(
        "the same where none but the one that stores is",
        "    setp.eq.u32 %p4, %r0, 0;
    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    @%p4 st.shared.u32 [tile], %r1;
    ld.shared.u8 %h1, [tile];
    setp.eq.s16 %p2, %h1, 0;
    and.pred %p3, %p4, %p2;
    @%p3 st.global.u32 [%rd1], %r0;",
    )
    .block(64),
    case(
        "or, a branch, and the value again behind it",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.ne.u32 %p1, %r0, 0;
    setp.gt.u32 %p2, %r10, 5;
    or.pred %p3, %p1, %p2;
    @%p3 bra done;
    add.u32 %r11, %r10, 1;
    st.shared.u32 [tile], %r11;",
    )
    .block(64),
    case(
        "or that leaves it open for others",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    setp.ne.u32 %p4, %r0, 0;
    ld.shared.u32 %r10, [tile];
    setp.gt.u32 %p1, %r0, 3;
    setp.lt.u32 %p2, %r10, 5;
    or.pred %p3, %p1, %p2;
    not.pred %p5, %p3;
    @%p5 bra done;
    @%p4 bra done;
    st.shared.u32 [tile], %r1;  // fault: race_shared",
    )
    .in_order(),
    case(
        "the value behind the join is everybody's",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.ne.u32 %p1, %r0, 0;
    setp.gt.u32 %p2, %r10, 5;
    or.pred %p3, %p1, %p2;
    @%p3 bra join;
    st.shared.u32 [tile], %r1;  // fault: race_shared
join:
    st.global.u32 [%rd1], %r10;",
    )
    .in_order(),
    case(
        "stored by all as well",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    setp.lt.u32 %p2, %r10, 5;
    and.pred %p3, %p1, %p2;
    st.global.u32 [%rd1], %r10;
    @%p3 st.shared.u32 [tile], %r1;  // fault: race_shared",
    )
    .in_order(),
    case(
        "stored under a guard of those who are let through",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    setp.lt.u32 %p2, %r10, 5;
    and.pred %p3, %p1, %p2;
    @%p3 add.u32 %r10, %r10, 1;
    @%p3 st.shared.u32 [tile], %r10;",
    )
    // Where each access begins a block of its own, that is not seen.
    .in_order(),
    case(
        "a comparison that takes the guard in",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    setp.lt.and.u32 %p3, %r10, 5, %p1;
    @%p3 st.shared.u32 [tile], %r1;",
    )
    .block(64),
    case(
        "one that takes in a guard that is open",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    setp.lt.or.u32 %p3, %r10, 5, %p1;
    @%p3 st.global.u32 [%rd1], %r0;
    @%p1 st.shared.u32 [tile], %r1;  // fault: race_shared",
    )
    .in_order(),
    case(
        "selected by the guard",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    selp.b32 %r11, %r10, 9, %p1;
    setp.lt.u32 %p2, %r11, 5;
    @%p2 st.shared.u32 [tile], %r1;",
    )
    .block(64),
    case(
        "selected where the guard is not",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    ld.shared.u32 %r10, [tile];
    setp.eq.u32 %p1, %r0, 0;
    selp.b32 %r11, 9, %r10, %p1;
    st.global.u32 [%rd1], %r11;
    @%p1 st.shared.u32 [tile], %r1;  // fault: race_shared",
    )
    .in_order(),
    case(
        "global memory between CTAs",
        "    mov.u32 %r9, %ctaid.x;
    ld.global.u32 %r10, [%rd0];
    or.b32 %r11, %r0, %r9;
    setp.eq.u32 %p1, %r11, 0;
    setp.lt.u32 %p2, %r10, 5;
    and.pred %p3, %p1, %p2;
    @%p3 st.global.u32 [%rd0], %r2;",
    )
    .grid(3),
    case(
        "global memory, with a guard that is open",
        "    ld.global.u32 %r10, [%rd0];
    setp.lt.u32 %p1, %r0, 8;
    setp.gt.u32 %p2, %r10, 5;
    and.pred %p3, %p1, %p2;
    setp.eq.u32 %p4, %r0, 0;
    @%p3 bra done;
    @%p4 st.global.u32 [%rd0], %r2;  // fault: race_global",
    )
    .in_order(),
    case(
        "of two that are read, the first is asked",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    ld.shared.u32 %r10, [tile];
    ld.shared.u32 %r11, [%r4];
    setp.gt.u32 %p2, %r10, 500;
    setp.gt.u32 %p3, %r11, 500;
    and.pred %p4, %p2, %p3;
    @%p4 bra done;
    @%p1 st.shared.u32 [tile], %r1;  // fault: race_shared",
    )
    .in_order(),
    case(
        "the second is not where the first has decided",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    ld.shared.u32 %r10, [%r4];
    ld.shared.u32 %r11, [tile];
    setp.gt.u32 %p2, %r10, 500;
    setp.gt.u32 %p3, %r11, 500;
    and.pred %p4, %p2, %p3;
    @%p4 bra done;
    @%p1 st.shared.u32 [tile], %r1;",
    )
    // Where each access begins a block of its own, that is not seen.
    .in_order(),
    case(
        "a barrier comes between",
        "    st.shared.u32 [%r4], %r0;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    ld.shared.u32 %r10, [tile];
    setp.lt.u32 %p2, %r10, 5;
    @%p1 st.shared.u32 [tile], %r1;  // fault: race_shared
    bar.sync 0;
    and.pred %p3, %p1, %p2;
    @%p3 st.global.u32 [%rd1], %r0;",
    )
    .in_order(),
    case(
        "what is outside is outside whoever wants it",
        "    ld.shared.u32 %r10, [%r4+8192];  // fault: oob_shared
    setp.eq.u32 %p1, %r0, 99;
    setp.lt.u32 %p2, %r10, 5;
    and.pred %p3, %p1, %p2;
    @%p3 st.global.u32 [%rd1], %r0;",
    ),
];
