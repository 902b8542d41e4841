//! With a seed, lanes of a warp come in any order that nothing forbids; without one they go in step.

mod common;

use common::Bench;
use std::collections::BTreeSet;
use warpsmith_vgpu::{Compile, Config, Tier};

/// What a kernel of one CTA leaves in a buffer of words.
fn left(body: &str, block: u32, seed: Option<u64>) -> Vec<u32> {
    let text = format!(
        ".visible .entry k(.param .u64 buf)
{{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %d<16>;
  .shared .align 16 .b8 tile[1024];
  ld.param.u64 %d0, [buf];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d1, %d0, %d1;
  shl.b32 %r29, %r0, 2;
  mov.u32 %r30, tile;
  add.u32 %r30, %r30, %r29;
{body}
  ret;
}}
"
    );
    let config = Config {
        memory: 16 << 20,
        tier: Some(Tier::best()),
        compile: Compile::Always,
        workers: 1,
        closed: true,
        seed,
        ..Config::default()
    };
    let bench = Bench::with(&text, config);
    let buffer = bench.words(&[0; 256]);
    let ran = bench.run(1, block, &[buffer]);
    assert_eq!(ran, Ok(()), "{body}");
    bench.read(buffer, 256)
}

/// Whether eight orders leave the same.
fn check(body: &str, block: u32, same: bool) {
    let all: BTreeSet<Vec<u32>> = (0..8).map(|seed| left(body, block, Some(seed))).collect();
    assert_eq!(all.len() == 1, same, "{} results of\n{body}", all.len());
    if same {
        assert!(all.contains(&left(body, block, None)), "{body}");
    }
}

/// The tail of a sum in shared memory, with something between its steps.
fn tail(between: &str) -> String {
    let mut body = format!(
        "add.u32 %r1, %r0, 1;\nmul.lo.u32 %r1, %r1, %r1;\nst.volatile.shared.u32 [%r30], %r1;\n\
         mov.u32 %r2, 0;\nst.volatile.shared.u32 [%r30+128], %r2;\n{between}\n"
    );
    for step in [16, 8, 4, 2, 1] {
        body += &format!(
            "ld.volatile.shared.u32 %r3, [%r30+{}];\nld.volatile.shared.u32 %r4, [%r30];\n{between}\n\
             add.u32 %r4, %r4, %r3;\nst.volatile.shared.u32 [%r30], %r4;\n{between}\n",
            4 * step
        );
    }
    body + "ld.volatile.shared.u32 %r5, [tile];\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.global.u32 [%d0], %r5;"
}

#[test]
fn a_warp_tail_depends_on_the_order_unless_it_is_synchronised() {
    check(&tail(""), 32, false);
    check(&tail("bar.warp.sync -1;"), 32, true);
    check(&tail("bar.sync 0;"), 32, true);
    let weak = tail("").replace(".volatile", "");
    check(&weak, 32, false);
    let global = tail("")
        .replace("[%r30", "[%d1")
        .replace(".shared", ".global")
        .replace("[tile]", "[%d0]");
    check(&global, 32, false);
}

#[test]
fn tickets_of_lanes_come_in_any_order() {
    let tickets = "atom.global.add.u32 %r1, [%d0], 1;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d0, %d2;\n\
                   st.volatile.global.u32 [%d2+8], %r0;";
    check(tickets, 32, false);
    let in_step = left(tickets, 32, None);
    assert_eq!(in_step[2..34], (0..32).collect::<Vec<u32>>());
    // What each lane gets does not matter if nobody keeps it.
    check("atom.global.add.u32 %r1, [%d0], %r0;", 64, true);
}

#[test]
fn the_arms_of_a_branch_come_in_any_order() {
    let arms = |between: &str| {
        format!(
            "st.volatile.shared.u32 [%r30], %r0;\nbar.warp.sync -1;\nand.b32 %r1, %r0, 1;\nxor.b32 %r2, %r29, 4;\n\
             mov.u32 %r3, tile;\nadd.u32 %r2, %r3, %r2;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra ODD;\n\
             ld.volatile.shared.u32 %r4, [%r2];\n{between}\nadd.u32 %r4, %r4, 100;\n\
             st.volatile.shared.u32 [%r30], %r4;\nbra JOIN;\nODD:\nld.volatile.shared.u32 %r4, [%r2];\n{between}\n\
             add.u32 %r4, %r4, 1000;\nst.volatile.shared.u32 [%r30], %r4;\nJOIN:\n\
             ld.volatile.shared.u32 %r5, [%r30];\nst.global.u32 [%d1], %r5;"
        )
    };
    check(&arms(""), 32, false);
    check(&arms("bar.warp.sync -1;"), 32, true);
}

#[test]
fn what_lanes_exchange_and_count_is_the_same_in_every_order() {
    let bodies = [
        // Shuffles, votes and reductions.
        "shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;\nredux.sync.add.u32 %r2, %r1, -1;\nsetp.gt.u32 %p1, %r1, 9;\n\
         vote.sync.ballot.b32 %r3, %p1, -1;\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r1;\nst.global.u32 [%d1], %r2;",
        // A loop whose lanes leave one by one, and barriers of the CTA by whole warps and by counts.
        "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nL:\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %r0;\n\
         @%p1 bra L;\nst.shared.u32 [%r30], %r2;\nbar.sync 0;\nxor.b32 %r3, %r29, 128;\nmov.u32 %r4, tile;\n\
         add.u32 %r3, %r4, %r3;\nld.shared.u32 %r5, [%r3];\nbar.sync 1, 64;\nst.global.u32 [%d1], %r5;",
        // Predicates that a barrier joins.
        "setp.gt.u32 %p1, %r0, 20;\nbar.red.popc.u32 %r1, 0, %p1;\nst.global.u32 [%d1], %r1;",
        // Divergent stores that nobody else reads.
        "and.b32 %r1, %r0, 3;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra J;\nst.global.u32 [%d1], %r0;\nJ:\nred.global.add.u32 [%d1], %r1;",
    ];
    for body in bodies {
        check(body, 64, true);
    }
}

#[test]
fn a_barrier_of_a_partial_warp_counts_it_whole() {
    // 40 threads: the second warp has 8.
    let body = "st.shared.u32 [%r30], %r0;\nbar.sync 1, 64;\nmov.u32 %r1, tile;\nld.shared.u32 %r2, [%r1+156];\n\
                st.global.u32 [%d1], %r2;";
    check(body, 40, true);
    assert_eq!(left(body, 40, Some(5))[..40], [39; 40]);
}
