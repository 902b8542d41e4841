//! Accesses that others used to hide: a thread's own strong ones, reads, and what `mbarrier` operations do.

use super::{Case, case, run};

const RACES: [Case; 23] = [
    case(
        "own red, then a plain store",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    red.shared.add.u32 [tile], 1;
    setp.eq.u32 %p2, %r0, 31;
    @%p2 st.shared.u32 [tile], 9;  // fault: race_shared",
    ),
    case(
        "own atomics of half a word, then a plain store of the other half",
        "    st.shared.u32 [%r4], 0;
    bar.sync 0;
    red.shared.add.u32 [%r4], 1;
    bar.sync 0;
    red.shared.add.u32 [tile], 1;
    mov.u16 %h1, 7;
    setp.eq.u32 %p2, %r0, 31;
    @%p2 st.shared.u16 [tile+2], %h1;  // fault: race_shared
    @%p2 st.shared.u16 [tile+4], %h1;",
    )
    .in_order(),
    case(
        "own strong store, then a plain read",
        "    st.volatile.shared.u32 [tile], %r0;
    setp.eq.u32 %p2, %r0, 31;
    @%p2 ld.shared.u32 %r6, [tile];  // fault: race_shared
    @%p2 st.global.u32 [%rd1], %r6;",
    )
    .in_order(),
    case(
        "own exchange, whose result nothing depends on, then a plain vector",
        "    mov.u32 %r10, 1;
    atom.shared.exch.b32 %r11, [tile+8], %r10;
    setp.eq.u32 %p2, %r0, 31;
    @%p2 st.shared.v4.u32 [tile], {%r0, %r0, %r0, %r0};  // fault: race_shared",
    )
    .in_order(),
    case(
        "who took the lock writes plainly, and gives it back",
        "    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra done;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [tile], 0;
    @%p1 st.shared.u32 [tile+4], 0;
    bar.sync 0;
take:
    atom.acquire.cta.shared.cas.b32 %r6, [tile], 0, 1;
    setp.ne.u32 %p2, %r6, 0;
    @%p2 bra take;
    ld.shared.u32 %r7, [tile+4];
    add.u32 %r7, %r7, 1;
    st.shared.u32 [tile+4], %r7;
    atom.release.cta.shared.exch.b32 %r6, [tile], 0;",
    )
    .block(128),
    case(
        "the last of a CTA sets the counter back, who is told by shared memory",
        "    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra all;
    membar.gl;
    atom.global.add.u32 %r6, [%rd0], 1;
    setp.eq.u32 %p2, %r6, 3;
    selp.u32 %r7, 1, 0, %p2;
    st.shared.u32 [tile], %r7;
all:
    bar.sync 0;
    ld.shared.u32 %r8, [tile];
    setp.eq.u32 %p3, %r8, 0;
    @%p3 bra done;
    setp.eq.u32 %p4, %r0, 5;
    @%p4 st.global.u32 [%rd0], 0;",
    )
    .grid(4)
    .block(64),
    case(
        "who waits for a flag takes it back as volatile, and reads it plainly",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    @%p1 st.volatile.shared.u32 [tile], 1;
    setp.ne.u32 %p2, %r0, 40;
    @%p2 bra done;
wait:
    ld.volatile.shared.u32 %r6, [tile];
    setp.eq.u32 %p3, %r6, 0;
    @%p3 bra wait;
    st.volatile.shared.u32 [tile], 0;
    ld.shared.u32 %r7, [tile];
    st.global.u32 [%rd1], %r7;",
    )
    .block(64),
    case(
        "a plain store by another, then an atomic",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [tile], 0;
    setp.eq.u32 %p2, %r0, 40;
    @%p2 red.shared.add.u32 [tile], 1;  // fault: race_shared",
    )
    .block(64)
    .in_order(),
    case(
        "strong reads by several, then an own strong store and a plain one",
        "    st.shared.u32 [%r4], 0;
    bar.sync 0;
    ld.volatile.shared.u32 %r6, [tile];
    setp.eq.u32 %p2, %r0, 3;
    @%p2 st.volatile.shared.u32 [tile], 1;
    @%p2 st.shared.u32 [tile], 2;  // fault: race_shared
    st.global.u32 [%rd1], %r6;",
    )
    .in_order(),
    case(
        "an own strong read does not hide the plain one before it",
        "    st.shared.u32 [%r4], 0;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 3;
    @%p1 ld.shared.u32 %r6, [tile];
    @%p1 ld.volatile.shared.u32 %r7, [tile];
    setp.eq.u32 %p2, %r0, 9;
    @%p2 st.volatile.shared.u32 [tile], 1;  // fault: race_shared
    @%p1 st.global.u32 [%rd1], %r6;
    @%p1 st.global.u32 [%rd1+128], %r7;",
    )
    .in_order(),
    case(
        "released by one, acquired by the other: what both do plainly is ordered",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [tile], 0;
    @%p1 st.shared.u32 [tile+4], 0;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    @!%p1 bra reader;
    st.shared.u32 [tile+4], 5;
    st.volatile.shared.u32 [tile+4], 6;
    st.release.cta.shared.u32 [tile], 1;
reader:
    setp.ne.u32 %p1, %r0, 40;
    @%p1 bra done;
wait:
    ld.acquire.cta.shared.u32 %r6, [tile];
    setp.eq.u32 %p2, %r6, 0;
    @%p2 bra wait;
    ld.volatile.shared.u32 %r7, [tile+4];
    st.shared.u32 [tile+4], %r7;",
    )
    .block(64),
    case(
        "others' global atomics, and a plain read by a CTA that counted too",
        "    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    red.global.add.u32 [%rd0], 1;
    setp.ne.u32 %p2, %r1, 3;
    @%p2 bra done;
    ld.global.u32 %r6, [%rd0];  // fault: race_global
    st.global.u32 [%rd0+64], %r6;",
    )
    .grid(4)
    .in_order(),
    case(
        "an mbarrier is begun by all",
        "    mbarrier.init.shared.b64 [tile], 32;  // fault: race_shared",
    ),
    case(
        "an mbarrier is stored to while others arrive",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [tile], 64;
    bar.sync 0;
    setp.eq.u32 %p2, %r0, 40;
    mov.u64 %rd10, 0;
    @%p2 bra store;
    mbarrier.arrive.shared.b64 _, [tile];
    bra done;
store:
    st.shared.u64 [tile], %rd10;  // fault: race_shared",
    )
    .block(64)
    .in_order(),
    case(
        "an mbarrier is stored to by who began it",
        "    mov.u32 %r6, 1;
    mbarrier.init.shared.b64 [tile], 1;
    st.shared.u32 [tile+4], %r6;  // fault: race_shared
    mbarrier.inval.shared.b64 [tile];",
    )
    .block(1),
    case(
        "an mbarrier is stored to behind a barrier, as part of more",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [tile+136], 64;
    bar.sync 0;
    mul.lo.u32 %r6, %r0, 16;
    add.u32 %r6, %r6, %r5;
    st.shared.v4.u32 [%r6], {%r0, %r0, %r0, %r0};  // fault: race_shared",
    ),
    case(
        "an mbarrier is the target of an atomic",
        "    mbarrier.init.shared.b64 [tile+8], 1;
    atom.shared.add.u32 %r6, [tile+8], 1;  // fault: race_shared",
    )
    .block(1),
    case(
        "an mbarrier is the target of a copy",
        "    mbarrier.init.shared.b64 [tile+8], 1;
    cp.async.ca.shared.global [tile+8], [%rd0], 8;  // fault: race_shared
    cp.async.wait_all;",
    )
    .block(1),
    case(
        "bytes beside an mbarrier, and its own once it has ended",
        "    mov.u64 %rd10, 7;
    mbarrier.init.shared.b64 [tile+8], 1;
    mbarrier.arrive.shared.b64 %rd11, [tile+8];
    st.shared.u64 [tile], %rd10;
    st.shared.u64 [tile+16], %rd10;
    mbarrier.test_wait.shared.b64 %p2, [tile+8], %rd11;
    mbarrier.arrive.shared.b64 %rd11, [tile+8];
    mbarrier.inval.shared.b64 [tile+8];
    st.shared.u64 [tile+8], %rd10;
    atom.shared.add.u32 %r6, [tile+8], 1;
    ld.shared.u64 %rd12, [tile+8];
    st.global.u64 [%rd0], %rd12;
    mbarrier.init.shared.b64 [tile+8], 1;",
    )
    .block(1),
    case(
        "an mbarrier is read as a number while others arrive",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [tile], 64;
    bar.sync 0;
    mbarrier.arrive.shared.b64 _, [tile];
    setp.eq.u32 %p2, %r0, 40;
    @%p2 ld.shared.u32 %r6, [tile+4];  // fault: race_shared
    @%p2 st.global.u32 [%rd1], %r6;",
    )
    .block(64)
    .in_order(),
    case(
        "an mbarrier orders who waits behind who arrives, and serves again",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [tile+512], 64;
    bar.sync 0;
    st.shared.u32 [%r4], %r0;
    mbarrier.arrive.shared.b64 %rd10, [tile+512];
first:
    mbarrier.test_wait.shared.b64 %p2, [tile+512], %rd10;
    @!%p2 bra first;
    xor.b32 %r6, %r4, 128;
    ld.shared.u32 %r7, [%r6];
    mbarrier.arrive.shared.b64 %rd10, [tile+512];
second:
    mbarrier.test_wait.shared.b64 %p2, [tile+512], %rd10;
    @!%p2 bra second;
    st.shared.u32 [%r4], %r7;
    bar.sync 0;
    @%p1 mbarrier.inval.shared.b64 [tile+512];",
    )
    .block(64),
    case(
        "arrival at what nobody has begun",
        "    setp.eq.u32 %p1, %r0, 0;
    mov.u64 %rd10, tile;
    @%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [tile], 16;  // fault: uninit_shared",
    )
    .target("sm_90"),
    case(
        "an mbarrier that was ended is none",
        "    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra done;
    mbarrier.init.shared.b64 [tile], 1;
    mbarrier.arrive.shared.b64 %rd10, [tile];
    mbarrier.inval.shared.b64 [tile];
    mbarrier.test_wait.shared.b64 %p2, [tile], %rd10;  // fault: uninit_shared",
    ),
];

const COPIES: [Case; 9] = [
    case(
        "a copy of another lane to the same bytes",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4;
    bar.warp.sync -1;
    xor.b32 %r6, %r4, 4;
    cp.async.ca.shared.global [%r6], [%rd1], 4;  // fault: async_early
    cp.async.wait_all;",
    ),
    case(
        "a copy to the next bytes, and one to the same behind the wait",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4;
    cp.async.ca.shared.global [%r4+128], [%rd1], 4;
    cp.async.wait_all;
    cp.async.ca.shared.global [%r4], [%rd1], 4;
    cp.async.wait_all;
    ld.shared.u32 %r6, [%r4];
    st.global.u32 [%rd1], %r6;",
    ),
    case(
        "of two copies to one place the first is waited for",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r4], [%rd1], 4, 0;  // fault: async_early
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r6, [%r4];  // fault: async_early
    cp.async.wait_group 0;
    ld.shared.u32 %r7, [%r4];
    st.global.u32 [%rd1], %r7;",
    ),
    case(
        "an atomic on the source of an own copy",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4;
    setp.eq.u32 %p1, %r0, 3;
    @%p1 red.global.add.u32 [%rd1], 1;  // fault: async_early
    cp.async.wait_all;",
    )
    .in_order(),
    case(
        "another thread stores to a source behind a barrier that is no wait",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4;
    bar.sync 0;
    xor.b32 %r6, %r0, 33;
    mul.wide.u32 %rd10, %r6, 4;
    add.u64 %rd10, %rd0, %rd10;
    st.global.u32 [%rd10], %r0;  // fault: async_early
    cp.async.wait_all;",
    )
    .block(64),
    case(
        "the bytes behind those that a copy reads are stored to",
        "    mov.u16 %h1, 1;
    cp.async.ca.shared.global [%r4], [%rd1], 4, 2;
    st.global.u16 [%rd1+2], %h1;
    cp.async.wait_all;",
    ),
    case(
        "the source of a copy that reads nothing is stored to",
        "    cp.async.ca.shared.global [%r4], [%rd1], 4, 0;
    st.global.u32 [%rd1], %r0;
    cp.async.wait_all;",
    ),
    case(
        "a store behind an mbarrier that the copy arrived at",
        "    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [tile+512], 32;
    bar.sync 0;
    cp.async.ca.shared.global [%r4], [%rd1], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [tile+512];
wait:
    mbarrier.test_wait.parity.shared.b64 %p2, [tile+512], 0;
    @!%p2 bra wait;
    cp.async.wait_all;
    st.global.u32 [%rd1], %r0;
    xor.b32 %r6, %r4, 4;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%rd1], %r7;",
    ),
    case(
        "a store to what lies between two sources",
        "    add.u64 %rd10, %rd1, %rd2;
    cp.async.ca.shared.global [%r4], [%rd10], 4;
    add.u64 %rd11, %rd0, 2048;
    add.u64 %rd11, %rd11, %rd2;
    cp.async.ca.shared.global [%r4+256], [%rd11], 4;
    add.u64 %rd12, %rd0, 1024;
    add.u64 %rd12, %rd12, %rd2;
    st.global.u32 [%rd12], %r0;
    cp.async.wait_all;",
    ),
];

#[test]
fn no_access_hides_what_others_did() {
    run(&RACES);
}

#[test]
fn copies_in_flight_keep_their_target_and_their_source() {
    run(&COPIES);
}
