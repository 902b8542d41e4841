//! Atomics of every type, in global and in shared memory, with their results and without.

use crate::{assembles, checked};
use half::{bf16, f16};
use warpsmith_kernel::{Order, Reach, kernel};

/// Threads that change one place.
const THREADS: u32 = 3 * 64;

macro_rules! integers {
    ($($test:ident $name:ident $args:ident $t:ident;)*) => {$(
        kernel! {
            /// Each thread changes the places of `a`, by its index in the grid plus 1.
            struct $name($args { a: InOut<$t>[9], before: Out<$t>[ctas * 64], ctas: Scalar<u32> });
            threads = 64;
            grid(g) = g.ctas;
            body(cta, g) {
                let me = cta.id() * 64 + cta.thread();
                let x = (me + 1).to::<$t>();
                g.a.atomic(0).add(x);
                g.a.atomic(1).min(x);
                g.a.atomic(2).max(x);
                g.a.atomic(3).reach(Reach::System).and(!x);
                g.a.atomic(4).order(Order::Release).or(x);
                g.a.atomic(5).xor(x);
                g.before.set(me, g.a.atomic(6).exchange(x));
                cta.if_(me.lt(u32::MAX), |lane| {
                    g.a.atomic(7).update(lane, |old| old * 3 + 1);
                });
                let odd = (me & 1).equals(1);
                cta.if_(odd, |_| {
                    g.a.atomic(8).order(Order::AcquireRelease).reach(Reach::Gpu).compare_exchange(0, x);
                });
            }
        }

        #[test]
        fn $test() {
            assembles(&$name, 70);
            checked(|_, stream| {
                let start: Vec<$t> = [5, 77, 3, $t::MAX, 0, 1, 1000, 1, 0].to_vec();
                let mut a = stream.upload_new(&start).expect("memory");
                let mut before = stream.alloc(THREADS as usize).expect("memory");
                let args = $args { a: a.view_mut(), before: before.view_mut(), ctas: THREADS / 64 };
                stream.launch(&$name, &args).expect("a launch");
                let a = stream.download(&a).and_then(|a| a.wait()).expect("a copy");
                let mut before = stream.download(&before).and_then(|a| a.wait()).expect("a copy");
                let all = || (1..=THREADS).map(|x| x as $t);
                assert_eq!(a[0], all().fold(5, |sum: $t, x| sum.wrapping_add(x)));
                assert_eq!(a[1], 1);
                assert_eq!(a[2], THREADS as $t);
                assert_eq!(a[3], all().fold($t::MAX, |bits, x| bits & !x));
                assert_eq!(a[4], all().fold(0, |bits, x| bits | x));
                assert_eq!(a[5], all().fold(1, |bits, x| bits ^ x));
                // What was exchanged is handed on: all values but the last, and the first.
                before.push(a[6]);
                before.sort_unstable();
                let mut want: Vec<$t> = all().chain([1000]).collect();
                want.sort_unstable();
                assert_eq!(before, want);
                assert_eq!(a[7], all().fold(1, |old: $t, _| old.wrapping_mul(3).wrapping_add(1)));
                assert!(a[8] % 2 == 0 && a[8] > 0, "the first odd thread's: {}", a[8]);
            });
        }
    )*};
}

integers! {
    atomics_of_u32 AtomicsU32 AtomicsU32Args u32;
    atomics_of_i32 AtomicsI32 AtomicsI32Args i32;
    atomics_of_u64 AtomicsU64 AtomicsU64Args u64;
    atomics_of_i64 AtomicsI64 AtomicsI64Args i64;
}

macro_rules! floats {
    ($($test:ident $name:ident $args:ident $t:ident;)*) => {$(
        kernel! {
            /// Sums, and the largest by compare and swap, in shared and then in global memory.
            struct $name($args { a: InOut<$t>[3], ctas: Scalar<u32> });
            threads = 64;
            grid(g) = g.ctas;
            body(cta, g) {
                let x = (cta.id() * 64 + cta.thread() + 1).to::<$t>();
                let thread = cta.thread();
                let mut own = cta.array::<$t>(2);
                cta.step(&mut own, |cta, own| cta.each(2, |_, i| own.set(i, 0.0)));
                cta.step(&mut own, |cta, own| {
                    own.atomic(0).add(x);
                    cta.if_(thread.ge(0), |lane| {
                        own.atomic(1).update(lane, |most| most.max(x));
                    });
                });
                cta.step(&mut own, |cta, own| cta.leader(|lane| {
                    g.a.atomic(0).add(own.at(0));
                    g.a.atomic(1).update(lane, |most| most.max(own.at(1)));
                }));
                cta.if_(thread.equals(7), |_| {
                    g.a.atomic(2).exchange(2.5);
                });
            }
        }

        #[test]
        fn $test() {
            assembles(&$name, 70);
            checked(|_, stream| {
                let mut a = stream.upload_new(&[0.5 as $t, 3.0, 9.0]).expect("memory");
                stream.launch(&$name, &$args { a: a.view_mut(), ctas: THREADS / 64 }).expect("a launch");
                let sum = 0.5 + f64::from(THREADS * (THREADS + 1) / 2);
                let got = stream.download(&a).and_then(|a| a.wait()).expect("a copy");
                assert_eq!(got, [sum as $t, THREADS as $t, 2.5]);
            });
        }
    )*};
}

floats! {
    atomics_of_f32 AtomicsF32 AtomicsF32Args f32;
    atomics_of_f64 AtomicsF64 AtomicsF64Args f64;
}

macro_rules! halves {
    ($($test:ident $name:ident $args:ident $t:ident $convert:ident $sm:expr;)*) => {$(
        kernel! {
            /// Each thread adds 1 to one place, and 1 and 2 to a pair.
            struct $name($args { a: InOut<$t>[4], ctas: Scalar<u32> });
            threads = 64;
            grid(g) = g.ctas;
            body(cta, g) {
                let one = (cta.thread() * 0 + 1).f32();
                let _ = cta;
                g.a.atomic(0).add(one.$convert());
                g.a.atomic(2).add_pair(one.$convert(), (one * 2.0).$convert());
            }
        }

        #[test]
        fn $test() {
            assembles(&$name, $sm);
            checked(|_, stream| {
                let mut a = stream.upload_new(&[$t::ZERO; 4]).expect("memory");
                stream.launch(&$name, &$args { a: a.view_mut(), ctas: 2 }).expect("a launch");
                let got = stream.download(&a).and_then(|a| a.wait()).expect("a copy");
                assert_eq!(got.map_or_f64(), [128.0, 0.0, 128.0, 256.0]);
            });
        }
    )*};
}

/// Numbers as f64.
trait Wide {
    fn map_or_f64(self) -> Vec<f64>;
}

impl Wide for Vec<f16> {
    fn map_or_f64(self) -> Vec<f64> {
        self.into_iter().map(f64::from).collect()
    }
}

impl Wide for Vec<bf16> {
    fn map_or_f64(self) -> Vec<f64> {
        self.into_iter().map(f64::from).collect()
    }
}

halves! {
    atomics_of_f16 AtomicsF16 AtomicsF16Args f16 f16 70;
    atomics_of_bf16 AtomicsBf16 AtomicsBf16Args bf16 bf16 90;
}

kernel! {
    /// Counters that wrap, and a flag that is released and acquired.
    struct Counters(CountersArgs { a: InOut<u32>[3], seen: Out<u32>[n], n: Scalar<u32> });
    threads = 64;
    grid(g) = g.n / g.n;
    body(cta, g) {
        let thread = cta.thread();
        g.a.atomic(0).inc(9);
        g.a.atomic(1).dec(9);
        cta.if_(thread.equals(0), |lane| {
            lane.fence(Reach::Gpu);
            g.a.atomic(2).order(Order::Release).store(1);
        });
        g.seen.set(thread, g.a.atomic(2).order(Order::Acquire).load());
    }
}

#[test]
fn counters_wrap_and_flags_are_seen() {
    assembles(&Counters, 70);
    checked(|_, stream| {
        let mut a = stream.upload_new(&[0, 0, 0]).expect("memory");
        let mut seen = stream.alloc(64).expect("memory");
        let args = CountersArgs {
            a: a.view_mut(),
            seen: seen.view_mut(),
            n: 64,
        };
        stream.launch(&Counters, &args).expect("a launch");
        let a = stream.download(&a).and_then(|a| a.wait()).expect("a copy");
        assert_eq!(a, [64 % 10, 10 - 64 % 10, 1]);
        let seen = stream
            .download(&seen)
            .and_then(|a| a.wait())
            .expect("a copy");
        assert!(
            seen[0] == 1 && seen.iter().all(|seen| *seen <= 1),
            "{seen:?}"
        );
    });
}
