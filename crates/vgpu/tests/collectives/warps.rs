//! `shfl`, `vote`, `match`, `redux`, `activemask` and `elect`.

use super::harness::{Random, loads, run, stores};

/// The manual's algorithm: the source lane and the predicate.
fn source(mode: &str, lane: i32, b: i32, c: i32) -> (usize, bool) {
    let (b, clamp, segments) = (b & 31, c & 31, c >> 8 & 31);
    let max = (lane & segments) | (clamp & !segments);
    let min = lane & segments;
    let (j, p) = match mode {
        "up" => (lane - b, lane - b >= max),
        "down" => (lane + b, lane + b <= max),
        "bfly" => (lane ^ b, lane ^ b <= max),
        "idx" => (min | (b & !segments), min | (b & !segments) <= max),
        _ => unreachable!("modes of the test"),
    };
    (if p { j as usize } else { lane as usize }, p)
}

const MODES: [&str; 4] = ["up", "down", "bfly", "idx"];

fn check_shuffle(
    mode: &str,
    b: &str,
    c: &str,
    want_b: impl Fn(usize) -> i32,
    want_c: impl Fn(usize) -> i32,
    input: &[u32],
) {
    let body = format!(
        "{}  shfl.sync.{mode}.b32 %r20|%p1, %r10, {b}, {c}, 0xFFFFFFFF;\n  selp.u32 %r21, 1, 0, %p1;\n{}",
        loads("b32", "%r", 10, 3, 0),
        stores("b32", "%r", 20, 2, 0),
    );
    let got = run(&body, 32, input, 64);
    for lane in 0..32 {
        let (j, p) = source(mode, lane as i32, want_b(lane), want_c(lane));
        assert_eq!(
            (got[lane], got[32 + lane]),
            (input[j], u32::from(p)),
            "{mode} {b} {c} lane {lane}"
        );
    }
}

#[test]
fn shuffles_follow_the_manual() {
    let mut random = Random::new(31);
    let input: Vec<u32> = (0..96).map(|_| random.next()).collect();
    for mode in MODES {
        check_shuffle(
            mode,
            "%r11",
            "%r12",
            |l| input[32 + l] as i32,
            |l| input[64 + l] as i32,
            &input,
        );
        for b in [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 33] {
            for c in [0, 0x1F, 0x181F, 0x1C00, 0x0E05, 0x100F] {
                let [b_text, c_text] = [b, c].map(|x| format!("{x}"));
                check_shuffle(mode, &b_text, &c_text, |_| b, |_| c, &input);
            }
        }
    }
}

#[test]
fn shuffles_of_a_part_of_a_warp_keep_their_own_value_for_an_absent_lane() {
    let input: Vec<u32> = Random::new(32).warp().to_vec();
    for mode in MODES {
        for b in [1, 5, 16] {
            // Lanes 0 to 11 and the others shuffle apart from each other.
            let body = format!(
                "{}  setp.lt.u32 %p1, %r1, 12;
  mov.u32 %r20, 7;
  @%p1 bra LOW;
  shfl.sync.{mode}.b32 %r20, %r10, {b}, 0x1f, 0xFFFFF000;
  bra END;
LOW:
  shfl.sync.{mode}.b32 %r20, %r10, {b}, 0x1f, 0x00000FFF;
END:
{}",
                loads("b32", "%r", 10, 1, 0),
                stores("b32", "%r", 20, 1, 0),
            );
            // A warp of 28 lanes.
            let got = run(&body, 28, &input, 32);
            for lane in 0..28 {
                let c = 0x1F;
                let (j, _) = source(mode, lane as i32, b, c);
                let fellow = j < 28 && (j < 12) == (lane < 12);
                let want = if fellow { input[j] } else { input[lane] };
                assert_eq!(got[lane], want, "{mode} {b} lane {lane}");
            }
            assert_eq!(got[28..], [0; 4]);
        }
    }
}

#[test]
fn a_shuffle_under_a_guard_writes_only_its_lanes() {
    let input: Vec<u32> = Random::new(33).warp().to_vec();
    let body = format!(
        "{}  and.b32 %r11, %r1, 1;
  setp.eq.u32 %p1, %r11, 0;
  mov.u32 %r20, 7;
  @%p1 shfl.sync.bfly.b32 %r20, %r10, 2, 0x1f, 0x55555555;
{}",
        loads("b32", "%r", 10, 1, 0),
        stores("b32", "%r", 20, 1, 0),
    );
    let got = run(&body, 32, &input, 32);
    for lane in 0..32 {
        assert_eq!(got[lane], if lane % 2 == 0 { input[lane ^ 2] } else { 7 });
    }
}

/// Ways that lanes name their members: how `%r30` is made, and the groups.
fn member_cases() -> Vec<(String, &'static str, Vec<u32>)> {
    let split = "  setp.lt.u32 %p7, %r1, 9;\n  selp.b32 %r30, 0x000001FF, 0xFFFFFE00, %p7;\n";
    vec![
        (String::new(), "0xFFFFFFFF", vec![!0]),
        ("  mov.u32 %r30, 0xFFFFFFFF;\n".to_owned(), "%r30", vec![!0]),
        (split.to_owned(), "%r30", vec![0x1FF, !0x1FF]),
    ]
}

#[test]
fn votes_and_ballots_count_their_members() {
    let mut random = Random::new(34);
    for pattern in [0, !0, 1, 0x1FF, !0x1FF, random.next(), random.next()] {
        let input: Vec<u32> = (0..32).map(|l| pattern >> l & 1).collect();
        for (setup, mask, groups) in member_cases() {
            let body = format!(
                "{}{setup}  setp.ne.u32 %p1, %r10, 0;
  vote.sync.all.pred %p2, %p1, {mask};
  vote.sync.any.pred %p3, %p1, {mask};
  vote.sync.uni.pred %p4, %p1, {mask};
  vote.sync.all.pred %p5, !%p1, {mask};
  vote.sync.ballot.b32 %r20, %p1, {mask};
  vote.sync.ballot.b32 %r21, !%p1, {mask};
  selp.u32 %r22, 1, 0, %p2;
  selp.u32 %r23, 1, 0, %p3;
  selp.u32 %r24, 1, 0, %p4;
  selp.u32 %r25, 1, 0, %p5;
{}",
                loads("b32", "%r", 10, 1, 0),
                stores("b32", "%r", 20, 6, 0),
            );
            let got = run(&body, 32, &input, 32 * 6);
            for lane in 0..32 {
                let group = groups
                    .iter()
                    .find(|g| **g >> lane & 1 != 0)
                    .expect("a group");
                let set = pattern & group;
                let want = [
                    set,
                    !pattern & group,
                    u32::from(set == *group),
                    u32::from(set != 0),
                    u32::from(set == *group || set == 0),
                    u32::from(set == 0),
                ];
                for (i, want) in want.into_iter().enumerate() {
                    assert_eq!(
                        got[32 * i + lane],
                        want,
                        "{pattern:x} {mask} {i} lane {lane}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_vote_in_divergent_code_is_among_the_lanes_there() {
    let body = format!(
        "  setp.lt.u32 %p1, %r1, 10;
  mov.u32 %r20, 0;
  mov.u32 %r21, 0;
  @!%p1 bra END;
  activemask.b32 %r20;
  setp.gt.u32 %p2, %r1, 3;
  vote.sync.ballot.b32 %r21, %p2, 0x3FF;
END:
{}",
        stores("b32", "%r", 20, 2, 0)
    );
    let got = run(&body, 32, &[], 64);
    for lane in 0..32 {
        let want = if lane < 10 { (0x3FF, 0x3F0) } else { (0, 0) };
        assert_eq!((got[lane], got[32 + lane]), want);
    }
}

#[test]
fn matches_find_equal_values() {
    let mut random = Random::new(35);
    for spread in [1, 3, 20] {
        let mut input: Vec<u32> = (0..32).map(|_| random.below(spread)).collect();
        input.extend((0..32).map(|_| random.below(2)));
        for (setup, mask, groups) in member_cases() {
            let body = format!(
                "{}{setup}  mov.b64 %rd10, {{%r10, %r11}};
  match.any.sync.b32 %r20, %r10, {mask};
  match.any.sync.b64 %r21, %rd10, {mask};
  match.all.sync.b32 %r22|%p1, %r10, {mask};
  match.all.sync.b64 %r23|%p2, %rd10, {mask};
  selp.u32 %r24, 1, 0, %p1;
  selp.u32 %r25, 1, 0, %p2;
{}",
                loads("b32", "%r", 10, 2, 0),
                stores("b32", "%r", 20, 6, 0),
            );
            let got = run(&body, 32, &input, 32 * 6);
            for lane in 0..32 {
                let group = *groups
                    .iter()
                    .find(|g| **g >> lane & 1 != 0)
                    .expect("a group");
                let same = |equal: &dyn Fn(usize) -> bool| {
                    (0..32)
                        .filter(|j| group >> j & 1 != 0 && equal(*j))
                        .fold(0u32, |m, j| m | 1 << j)
                };
                let narrow = same(&|j| input[j] == input[lane]);
                let wide = same(&|j| input[j] == input[lane] && input[32 + j] == input[32 + lane]);
                let all = |found: u32| if found == group { group } else { 0 };
                let want = [
                    narrow,
                    wide,
                    all(narrow),
                    all(wide),
                    u32::from(narrow == group),
                    u32::from(wide == group),
                ];
                for (i, want) in want.into_iter().enumerate() {
                    assert_eq!(got[32 * i + lane], want, "{spread} {mask} {i} lane {lane}");
                }
            }
        }
    }
}

#[test]
fn redux_reduces_its_members() {
    let input: Vec<u32> = Random::new(36).warp().to_vec();
    let signed = |f: fn(i32, i32) -> i32| move |a: u32, b: u32| f(a as i32, b as i32) as u32;
    let cases: Vec<(&str, Box<dyn Fn(u32, u32) -> u32>)> = vec![
        ("add.u32", Box::new(u32::wrapping_add)),
        ("add.s32", Box::new(u32::wrapping_add)),
        ("min.u32", Box::new(u32::min)),
        ("max.u32", Box::new(u32::max)),
        ("min.s32", Box::new(signed(i32::min))),
        ("max.s32", Box::new(signed(i32::max))),
        ("and.b32", Box::new(|a, b| a & b)),
        ("or.b32", Box::new(|a, b| a | b)),
        ("xor.b32", Box::new(|a, b| a ^ b)),
    ];
    for (name, f) in cases {
        let (what, ty) = name.split_once('.').expect("a type");
        for (setup, mask, groups) in member_cases() {
            let body = format!(
                "{}{setup}  redux.sync.{what}.{ty} %r20, %r10, {mask};\n{}",
                loads("b32", "%r", 10, 1, 0),
                stores("b32", "%r", 20, 1, 0),
            );
            let got = run(&body, 32, &input, 32);
            for lane in 0..32 {
                let group = groups
                    .iter()
                    .find(|g| **g >> lane & 1 != 0)
                    .expect("a group");
                let members = (0..32).filter(|j| group >> j & 1 != 0).map(|j| input[j]);
                assert_eq!(
                    got[lane],
                    members.reduce(&f).expect("members"),
                    "{name} {mask}"
                );
            }
        }
    }
}

#[test]
fn elect_names_the_lowest_member() {
    for (setup, mask, groups) in member_cases() {
        let body = format!(
            "{setup}  elect.sync %r20|%p1, {mask};\n  selp.u32 %r21, 1, 0, %p1;\n{}",
            stores("b32", "%r", 20, 2, 0)
        );
        let got = run(&body, 32, &[], 64);
        for lane in 0..32 {
            let group = groups
                .iter()
                .find(|g| **g >> lane & 1 != 0)
                .expect("a group");
            let leader = group.trailing_zeros();
            assert_eq!(
                (got[lane], got[32 + lane]),
                (leader, u32::from(leader == lane as u32)),
                "{mask}"
            );
        }
    }
}
