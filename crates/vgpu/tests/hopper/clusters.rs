//! Clusters: their special registers, distributed shared memory, barriers, and remote objects.

use crate::harness::{Case, kernel, plain};
use warpsmith_vgpu::{Error, FaultKind, Limit, Misuse, check::Kind};

/// A kernel of clusters that gives one word for each thread.
fn case(directives: &str, declared: &str, body: &str, ctas: u32, cluster: Option<u32>) -> Case {
    let text = kernel(
        directives,
        1,
        declared,
        &format!(
            "{body}
  mov.u32 %r60, %ntid.x;
  mad.lo.u32 %r61, %r1, %r60, %r0;
  mul.wide.u32 %d60, %r61, 4;
  add.u64 %d60, %d0, %d60;
  st.global.u32 [%d60], %r10;"
        ),
    );
    Case {
        grid: [ctas, 1, 1],
        cluster: cluster.map(|count| [count, 1, 1]),
        ..Case::new(text, 32 * ctas as usize)
    }
}

const MEET: &str = "
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;";

#[test]
fn special_registers_say_where_a_cta_is_in_its_cluster() {
    let names = [
        "clusterid.x",
        "clusterid.y",
        "clusterid.z",
        "nclusterid.x",
        "nclusterid.y",
        "nclusterid.z",
        "cluster_ctaid.x",
        "cluster_ctaid.y",
        "cluster_ctaid.z",
        "cluster_nctaid.x",
        "cluster_nctaid.y",
        "cluster_nctaid.z",
        "cluster_ctarank",
        "cluster_nctarank",
    ];
    let stores: String = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            format!(
                "  mov.u32 %r2, %{name};\n  st.global.u32 [%d1+{}], %r2;\n",
                4 * at
            )
        })
        .collect();
    let body = format!(
        "
  mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;
  mad.lo.u32 %r3, %r3, %r5, %r2;
  mad.lo.u32 %r3, %r3, %r4, %r1;
  mul.wide.u32 %d1, %r3, 60;
  add.u64 %d1, %d0, %d1;
  mov.pred %p1, %is_explicit_cluster;
  selp.u32 %r2, 1, 0, %p1;
  st.global.u32 [%d1+56], %r2;
{stores}"
    );
    for (cluster, explicit) in [(Some([2, 3, 1]), 1), (Some([1, 1, 2]), 1), (None, 0)] {
        let grid = [4, 6, 2];
        let text = kernel("", 1, "", &body);
        let found = Case {
            grid,
            block: 1,
            cluster,
            ..Case::new(text, 15 * 48)
        }
        .run();
        let each = cluster.unwrap_or([1; 3]);
        for (index, words) in found.chunks_exact(15).enumerate() {
            let index = index as u32;
            let cta = [index % 4, index / 4 % 6, index / 24];
            let id: [u32; 3] = std::array::from_fn(|i| cta[i] / each[i]);
            let of: [u32; 3] = std::array::from_fn(|i| grid[i] / each[i]);
            let own: [u32; 3] = std::array::from_fn(|i| cta[i] % each[i]);
            let rank = own[0] + each[0] * (own[1] + each[1] * own[2]);
            let count = each.iter().product();
            let want = [&id[..], &of, &own, &each, &[rank, count, explicit]].concat();
            assert_eq!(words, want, "{cta:?} of {cluster:?}");
        }
    }
}

/// Each CTA leaves its numbers in its shared memory, and reads those of the next.
fn exchange(read: &str) -> Case {
    let body = format!(
        "
  mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;
  add.u32 %r4, %r2, 1; rem.u32 %r4, %r4, %r3;
  mov.u32 %r5, tile; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6;
  mad.lo.u32 %r7, %r1, 1000, %r0;
  st.shared.u32 [%r5], %r7;{MEET}
{read}{MEET}"
    );
    case("", ".shared .align 16 .b8 tile[128];", &body, 12, Some(4))
}

#[test]
fn shared_memory_of_others_is_read_by_each_kind_of_address() {
    let window = "  mapa.shared::cluster.u32 %r8, %r5, %r4;\n  ld.shared::cluster.u32 %r10, [%r8];";
    let wide = "  cvt.u64.u32 %d1, %r5;\n  mapa.shared::cluster.u64 %d2, %d1, %r4;\n  \
                ld.relaxed.cluster.shared::cluster.u32 %r10, [%d2];";
    let generic = "  cvt.u64.u32 %d1, %r5;\n  cvta.shared.u64 %d1, %d1;\n  mapa.u64 %d2, %d1, %r4;\n  ld.u32 %r10, [%d2];";
    let variable = "  mapa.u64 %d2, tile, %r4;\n  mul.wide.u32 %d3, %r0, 4;\n  add.u64 %d2, %d2, %d3;\n  ld.u32 %r10, [%d2];";
    let there_and_back = "  mapa.shared::cluster.u32 %r8, %r5, %r4;\n  cvt.u64.u32 %d1, %r8;\n  \
                          cvta.shared::cluster.u64 %d2, %d1;\n  cvta.to.shared::cluster.u64 %d3, %d2;\n  \
                          ld.shared::cluster.u32 %r10, [%d3];";
    for read in [window, wide, generic, variable, there_and_back] {
        let found = exchange(read).run();
        for (at, word) in found.iter().enumerate() {
            let (cta, thread) = (at / 32, at % 32);
            let next = cta / 4 * 4 + (cta % 4 + 1) % 4;
            assert_eq!(*word as usize, next * 1000 + thread, "{read}");
        }
    }
}

#[test]
fn shared_memory_of_others_is_written_and_counted_in() {
    // All CTAs add to the first one's counters, and store to the last one's row.
    let body = format!(
        "
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r5, count; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6;
  mov.u32 %r20, 0; st.shared.u32 [%r5], %r20;{MEET}
  mapa.shared::cluster.u32 %r8, %r5, 0;
  add.u32 %r9, %r1, 1;
  red.relaxed.cluster.shared::cluster.add.u32 [%r8], %r9;
  atom.shared::cluster.add.u32 %r21, [%r8], 100;
  mov.u32 %r11, row; mad.lo.u32 %r11, %r2, 4, %r11;
  mapa.shared::cluster.u32 %r12, %r11, 2;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 st.shared::cluster.u32 [%r12], %r9;{MEET}
  ld.shared.u32 %r10, [%r5];
  setp.eq.u32 %p2, %r2, 2;
  setp.lt.u32 %p3, %r0, 3;
  and.pred %p2, %p2, %p3;
  mov.u32 %r11, row; add.u32 %r11, %r11, %r6;
  @%p2 ld.shared.u32 %r10, [%r11];{MEET}"
    );
    let declared = ".shared .align 16 .b8 count[128]; .shared .align 16 .b8 row[16];";
    let found = case("", declared, &body, 6, Some(3)).run();
    for (at, word) in found.iter().enumerate() {
        let (cta, thread) = (at as u32 / 32, at as u32 % 32);
        let first = cta / 3 * 3;
        let want = match cta % 3 {
            0 => 3 * first + 6 + 300,
            2 if thread < 3 => first + thread + 1,
            _ => 0,
        };
        assert_eq!(*word, want, "CTA {cta}, thread {thread}");
    }
}

#[test]
fn addresses_tell_whose_they_are() {
    let body = "
  mov.u32 %r5, tile;
  xor.b32 %r2, %r1, 1;
  mapa.shared::cluster.u32 %r3, %r5, %r2;
  getctarank.shared::cluster.u32 %r4, %r3;
  getctarank.shared::cluster.u32 %r6, %r5;
  mapa.u64 %d1, tile, %r2;
  getctarank.u64 %r7, %d1;
  isspacep.shared::cluster %p1, %d1;
  isspacep.shared::cta %p2, %d1;
  mapa.u64 %d2, tile, %r1;
  isspacep.shared::cta %p3, %d2;
  isspacep.global %p4, %d1;
  shl.b32 %r4, %r4, 8; shl.b32 %r6, %r6, 4;
  or.b32 %r10, %r4, %r6; or.b32 %r10, %r10, %r7;
  selp.u32 %r8, 0x1000, 0, %p1; or.b32 %r10, %r10, %r8;
  selp.u32 %r8, 0x2000, 0, %p2; or.b32 %r10, %r10, %r8;
  selp.u32 %r8, 0x4000, 0, %p3; or.b32 %r10, %r10, %r8;
  selp.u32 %r8, 0x8000, 0, %p4; or.b32 %r10, %r10, %r8;";
    let found = case("", ".shared .align 16 .b8 tile[128];", body, 2, Some(2)).run();
    for (at, word) in found.iter().enumerate() {
        let (own, other) = (at as u32 / 32, 1 - at as u32 / 32);
        assert_eq!(*word, 0x5000 | other << 8 | own << 4 | other);
    }
}

#[test]
fn remote_arrivals_end_a_phase() {
    let body = format!(
        "
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r5, object; mov.u32 %r6, tile;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r5], 64;
  @%p1 fence.mbarrier_init.release.cluster;{MEET}
  // The second CTA stores to the first, and all threads of both arrive there.
  mapa.shared::cluster.u32 %r7, %r5, 0;
  mapa.shared::cluster.u32 %r8, %r6, 0;
  setp.eq.u32 %p2, %r2, 1;
  shl.b32 %r9, %r0, 2; add.u32 %r8, %r8, %r9;
  mul.lo.u32 %r12, %r0, %r0;
  @%p2 st.shared::cluster.u32 [%r8], %r12;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
  mov.u32 %r10, 7;
  @%p2 bra done;
again:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r5], 0;
  @!%p3 bra again;
  add.u32 %r6, %r6, %r9;
  ld.shared.u32 %r10, [%r6];
done:{MEET}"
    );
    let declared = ".shared .align 16 .b8 tile[128]; .shared .align 8 .b64 object;";
    let found = case("", declared, &body, 4, Some(2)).run();
    for (at, word) in found.iter().enumerate() {
        let thread = at as u32 % 32;
        assert_eq!(*word, if at / 32 % 2 == 0 { thread * thread } else { 7 });
    }
}

#[test]
fn a_barrier_of_the_cluster_is_for_all_its_threads() {
    // Rounds of arrivals apart from waits; a thread that has ended is not waited for.
    let body = "
  mov.u32 %r10, 0; mov.u32 %r2, 0; mov.u32 %r5, word;
  setp.eq.u32 %p1, %r0, 31;
  @%p1 st.shared.u32 [%r5], %r2;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.eq.u32 %p2, %r0, 17;
  @%p2 bra done;
round:
  mapa.shared::cluster.u32 %r6, %r5, 0;
  @%p1 red.relaxed.cluster.shared::cluster.add.u32 [%r6], 1;
  barrier.cluster.arrive.release;
  add.u32 %r2, %r2, 1;
  barrier.cluster.wait.acquire;
  ld.relaxed.cluster.shared::cluster.u32 %r7, [%r6];
  add.u32 %r10, %r10, %r7;
  barrier.cluster.arrive.relaxed; barrier.cluster.wait;
  setp.lt.u32 %p3, %r2, 5;
  @%p3 bra round;
done:
  barrier.cluster.arrive; barrier.cluster.wait;";
    // The threads that leave the rounds would be missed: they come to the last barrier too early.
    let body = body.replace("  @%p2 bra done;", "  @%p2 exit;");
    let found = case("", ".shared .align 4 .b32 word;", &body, 6, Some(3)).run_on(plain());
    let found = found.0.expect("ends");
    for (at, word) in found.iter().enumerate() {
        if at % 32 != 17 {
            assert_eq!(*word, 3 + 6 + 9 + 12 + 15, "{at}");
        }
    }
}

#[test]
fn kernels_say_which_clusters_they_are_made_for() {
    let body = "  mov.u32 %r10, %cluster_nctarank;";
    let found = case(".reqnctapercluster 4", "", body, 8, None).run();
    assert!(found.iter().all(|word| *word == 4));
    let refused = |directives, ctas, cluster| {
        let (result, _) = case(directives, "", body, ctas, cluster).run_on(plain());
        match result {
            Err(Error::Launch {
                what,
                found,
                expected,
                ..
            }) => (what, found, expected),
            other => panic!("{other:?}"),
        }
    };
    let four = ".reqnctapercluster 4";
    assert_eq!(refused(four, 8, Some(2)), (Limit::ReqCluster, 2, 4));
    assert_eq!(refused(four, 6, None), (Limit::ClusterGrid, 6, 8));
    assert_eq!(refused("", 6, Some(4)), (Limit::ClusterGrid, 6, 8));
    assert_eq!(refused("", 32, Some(32)), (Limit::ClusterSize, 32, 16));
    assert_eq!(
        refused(".maxclusterrank 2", 8, Some(4)),
        (Limit::ClusterSize, 4, 2)
    );
    let (result, _) = case("", "", body, 32, Some(16)).run_on(plain());
    assert!(result.is_ok(), "{result:?}");
    // Cards before Hopper have none.
    let old = Case {
        text: "// of no card's own\n.visible .entry k(.param .u64 a) { ret; }".to_owned(),
        ..case("", "", body, 8, Some(2))
    };
    let ampere = warpsmith_vgpu::Config {
        target: warpsmith_ptx::target::Target::sm(80),
        ..plain()
    };
    let (result, _) = old.run_on(ampere);
    assert!(
        matches!(
            result,
            Err(Error::Launch {
                what: Limit::ClusterSize,
                ..
            })
        ),
        "{result:?}"
    );
}

#[test]
fn faults_between_ctas_are_found_where_they_are() {
    let read = "  mapa.shared::cluster.u32 %r8, %r5, %r4;\n  ld.shared::cluster.u32 %r10, [%r8];";
    let twin = exchange(read);
    assert_eq!(twin.finds(), []);
    // Without the first barrier others read what may not be there.
    let early = Case {
        text: twin.text.replacen(MEET, "\n  bar.sync 0;", 1),
        ..twin.clone()
    };
    let found = early.finds();
    let at_read = |(kind, line): &(Kind, String)| {
        matches!(kind, Kind::RaceShared | Kind::UninitShared) && line.contains(".shared")
    };
    assert!(!found.is_empty() && found.iter().all(at_read), "{found:?}");
    // Arrivals that order nothing.
    let relaxed = Case {
        text: twin
            .text
            .replacen("arrive.aligned", "arrive.relaxed.aligned", 1),
        ..twin.clone()
    };
    let found = relaxed.finds();
    let is_race = |(kind, line): &(Kind, String)| {
        *kind == Kind::RaceShared && line == "ld.shared::cluster.u32 %r10, [%r8];"
    };
    assert!(!found.is_empty() && found.iter().all(is_race), "{found:?}");
    // Without the last one a CTA may have ended when the one before it reads.
    let (first, last) = twin.text.rsplit_once(MEET).expect("the last barrier");
    let slow =
        "\n  setp.eq.u32 %p9, %r2, 1;\n  @%p9 nanosleep.u32 50;\n  @%p9 bar.warp.sync 0xffffffff;";
    let gone = Case {
        text: format!(
            "{}{last}",
            first.replacen("  mapa", &format!("{slow}\n  mapa"), 1)
        ),
        ..twin.clone()
    };
    let found: Vec<_> = (0..8)
        .flat_map(|seed| gone.checked(Some(seed)).1)
        .map(|one| one.kind)
        .collect();
    assert!(
        !found.is_empty() && found.iter().all(|kind| *kind == Kind::UseAfterFree),
        "{found:?}"
    );
}

#[test]
fn misuses_of_the_cluster_are_faults() {
    let fault = |body: &str| {
        let declared = ".shared .align 16 .b8 tile[128];";
        let (result, _) = case("", declared, body, 2, Some(2)).run_on(plain());
        match result {
            Err(Error::Fault(fault)) => fault.kind,
            other => panic!("{other:?}"),
        }
    };
    let kind = fault("  mov.u32 %r10, 0;\n  barrier.cluster.wait;");
    assert_eq!(kind, FaultKind::Misuse(Misuse::ClusterWait));
    let kind = fault("  mov.u32 %r10, 0;\n  barrier.cluster.arrive;\n  barrier.cluster.arrive;");
    assert_eq!(kind, FaultKind::Misuse(Misuse::ClusterArrive));
    let kind = fault(
        "  mov.u32 %r10, 0;\n  mapa.shared::cluster.u32 %r2, tile, 5;\n  ld.shared::cluster.u32 %r10, [%r2];",
    );
    assert_eq!(kind, FaultKind::OutOfBounds { bytes: 4 });
    let kind = fault(
        "  mov.u32 %r10, 0;\n  setp.eq.u32 %p1, %r1, 1;\n  @%p1 bra over;\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n\
         spin:\n  bra spin;\nover:\n  bar.sync 1, 64;",
    );
    let FaultKind::Deadlock { waiting, .. } = kind else {
        panic!("{kind:?}")
    };
    let said: Vec<String> = waiting.iter().map(ToString::to_string).collect();
    assert!(
        said.iter()
            .any(|one| one.ends_with("the barrier of its cluster")),
        "{said:?}"
    );
}

/// What only says how much a warp needs, and when the next grid may begin, leaves values as they are.
#[test]
fn registers_are_given_and_taken_and_grids_depend_on_each_other() {
    let body = "
  griddepcontrol.wait;
  mul.lo.u32 %r10, %r0, 3;
  mov.u32 %r11, %ctaid.x;
  setp.eq.u32 %p1, %r11, 0;
  @%p1 bra more;
  setmaxnreg.dec.sync.aligned.u32 40;
  add.u32 %r10, %r10, 1;
  bra.uni on;
more:
  setmaxnreg.inc.sync.aligned.u32 232;
  add.u32 %r10, %r10, 2;
on:
  griddepcontrol.launch_dependents;";
    let case = Case {
        block: 128,
        out: 256,
        ..case(".maxntid 128", "", body, 2, None)
    };
    let want: Vec<u32> = (0..256)
        .map(|at| 3 * (at % 128) + if at < 128 { 2 } else { 1 })
        .collect();
    assert_eq!(case.run(), want);
}
