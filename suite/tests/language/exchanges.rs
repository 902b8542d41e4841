//! Shuffles, votes, matches, reductions and scans: against the same over lists on the host.

use crate::{assembles, checked};
use warpsmith_kernel::{Redux, kernel, state};

kernel! {
    /// Values of every width from other lanes, and what lanes agree on.
    struct Lanes(LanesArgs { x: In<u32>[64], words: Out<u32>[64 * 12], wide: Out<f64>[64 * 4], n: Scalar<u32> });
    threads = 64;
    grid(g) = g.n;
    body(cta, g) {
        let thread = cta.thread();
        let x = g.x.at(thread);
        cta.each_warp(|warp| {
            let big = x.to::<f64>() * 1.5 + 0.25;
            let lane = warp.lane();
            let odd = (x & 1).equals(1);
            let (pair, flag) = warp.shuffle_down((x.to::<i64>() - 1000, odd), 5);
            let small = warp.shuffle_xor(x.f32().f16(), 9).f32().to::<u32>();
            let values = [
                warp.shuffle_up(x, 3),
                warp.shuffle_down(x, 7),
                warp.shuffle_xor(x, 21),
                warp.shuffle(x, (lane * 7) & 31),
                small,
                flag.u32(),
                warp.ballot(odd).varying(),
                warp.match_any(x & 3),
                (warp.all(x.lt(200)).u32() + warp.any(x.equals(77)).u32() * 2).varying(),
                warp.match_all(x).u32().varying(),
                warp.redux(Redux::Xor, x).varying(),
                warp.redux(Redux::Max, x).varying() + warp.redux(Redux::Add, x).varying() * 1000,
            ];
            for (at, value) in values.into_iter().enumerate() {
                g.words.set(thread + 64 * at as u32, value);
            }
            let sum = warp.reduce(big, |a, b| a + b);
            let wides = [warp.shuffle_xor(big, 1), pair.to::<f64>(), sum.varying(), warp.broadcast(big, 11).varying()];
            for (at, value) in wides.into_iter().enumerate() {
                g.wide.set(thread + 64 * at as u32, value);
            }
        });
    }
}

#[test]
fn lanes_exchange_values_of_every_width() {
    assembles(&Lanes, 70);
    checked(|_, stream| {
        let x: Vec<u32> = (0..64u32).map(|i| (i * i * 7 + 3) % 199).collect();
        let device_x = stream.upload_new(&x).expect("memory");
        let (mut words, mut wide) = (
            stream.alloc(64 * 12).expect("memory"),
            stream.alloc(64 * 4).expect("memory"),
        );
        let args = LanesArgs {
            x: device_x.view(),
            words: words.view_mut(),
            wide: wide.view_mut(),
            n: 1,
        };
        stream.launch(&Lanes, &args).expect("a launch");
        let words = stream
            .download(&words)
            .and_then(|a| a.wait())
            .expect("a copy");
        let wide = stream
            .download(&wide)
            .and_then(|a| a.wait())
            .expect("a copy");
        for thread in 0..64usize {
            let (base, lane) = (thread & 32, thread % 32);
            let warp = &x[base..base + 32];
            let own = warp[lane];
            let mask = |holds: &dyn Fn(u32) -> bool| {
                (0..32).fold(0u32, |mask, l| mask | u32::from(holds(warp[l])) << l)
            };
            let down = |by: usize| if lane + by < 32 { lane + by } else { lane };
            let votes =
                u32::from(warp.iter().all(|x| *x < 200)) + 2 * u32::from(warp.contains(&77));
            let want = [
                if lane >= 3 { warp[lane - 3] } else { own },
                warp[down(7)],
                warp[lane ^ 21],
                warp[(lane * 7) & 31],
                warp[lane ^ 9],
                warp[down(5)] & 1,
                mask(&|x| x & 1 == 1),
                mask(&|x| x & 3 == own & 3),
                votes,
                0,
                warp.iter().fold(0, |bits, x| bits ^ x),
                warp.iter().max().expect("lanes") + warp.iter().sum::<u32>() * 1000,
            ];
            let got: Vec<u32> = (0..12).map(|at| words[thread + 64 * at]).collect();
            assert_eq!(got, want, "thread {thread}");
            let big = |x: u32| f64::from(x) * 1.5 + 0.25;
            let sum = warp.iter().map(|x| big(*x)).sum::<f64>();
            let want = [
                big(warp[lane ^ 1]),
                f64::from(warp[down(5)]) - 1000.0,
                sum,
                big(warp[11]),
            ];
            let got: Vec<f64> = (0..4).map(|at| wide[thread + 64 * at]).collect();
            assert_eq!(got, want, "thread {thread}");
        }
    });
}

state! {
    /// A string of brackets, as what is left of it: so many to be closed before, so many open behind. Not commutative.
    struct Brackets<'k> {
        closes: warpsmith_kernel::Val<'k, u32>,
        opens: warpsmith_kernel::Val<'k, u64>,
    }
}

/// One string behind the other.
fn join<'k>(a: Brackets<'k>, b: Brackets<'k>) -> Brackets<'k> {
    let met = a.opens.to::<u32>().min(b.closes);
    Brackets {
        closes: a.closes + (b.closes - met),
        opens: b.opens + (a.opens - met.to::<u64>()),
    }
}

macro_rules! scans {
    ($($test:ident $name:ident $args:ident $threads:expr;)*) => {$(
        kernel! {
            /// Scans of a state that does not commute, whole and in segments, and what comes before each thread.
            struct $name($args { x: In<u8>[$threads], starts: In<u8>[$threads], y: Out<u32>[$threads * 8], n: Scalar<u32> });
            threads = $threads;
            grid(g) = g.n;
            body(cta, g) {
                let thread = cta.thread();
                let x = g.x.at(thread);
                let starts = g.starts.at(thread).equals(1);
                let own = Brackets { closes: x & 1, opens: (1 - (x & 1)).to::<u64>() };
                let none = || Brackets { closes: 0.into(), opens: 0.into() };
                let all = cta.scan(own.clone(), join);
                let (before, total) = cta.scan_exclusive(own.clone(), none(), join);
                let part = cta.scan_segments(own, starts, join);
                let sum = cta.reduce_state((x, x), |a, b| (a.0 + b.0, a.1.max(b.1)));
                for (at, state) in [all, before, total, part].into_iter().enumerate() {
                    let place = thread * 8 + 2 * at as u32;
                    let word = state.closes + (state.opens.to::<u32>() << 16);
                    g.y.set(place, word);
                    g.y.set(place + 1, sum.0 * 10 + sum.1);
                }
            }
        }

        #[test]
        fn $test() {
            assembles(&$name, 70);
            checked(|_, stream| {
                let n: usize = $threads;
                let x: Vec<u8> = (0..n).map(|i| (i * i * 31 / 7 % 5 % 2) as u8).collect();
                let starts: Vec<u8> = (0..n).map(|i| u8::from(i % 41 == 17 || i % 97 == 3)).collect();
                let (device_x, device_starts) = (stream.upload_new(&x).expect("memory"), stream.upload_new(&starts).expect("memory"));
                let mut y = stream.alloc(n * 8).expect("memory");
                let args = $args { x: device_x.view(), starts: device_starts.view(), y: y.view_mut(), n: 1 };
                stream.launch(&$name, &args).expect("a launch");
                let y = stream.download(&y).and_then(|a| a.wait()).expect("a copy");
                let host = |range: std::ops::Range<usize>| {
                    let (closes, opens) = x[range].iter().fold((0u32, 0u32), |(closes, opens), x| match (x, opens) {
                        (1, 0) => (closes + 1, 0),
                        (1, _) => (closes, opens - 1),
                        _ => (closes, opens + 1),
                    });
                    closes + (opens << 16)
                };
                let sum = x.iter().map(|x| u32::from(*x)).sum::<u32>() * 10 + 1;
                let mut segment = 0;
                for i in 0..n {
                    if starts[i] == 1 {
                        segment = i;
                    }
                    let want = [host(0..i + 1), host(0..i), host(0..n), host(segment..i + 1)];
                    for (at, want) in want.into_iter().enumerate() {
                        assert_eq!(y[i * 8 + 2 * at..i * 8 + 2 * at + 2], [want, sum], "thread {i}, scan {at}");
                    }
                }
            });
        }
    )*};
}

scans! {
    scans_of_a_warp ScansOfAWarp ScansOfAWarpArgs 32;
    scans_of_three_warps ScansOfThreeWarps ScansOfThreeWarpsArgs 96;
    scans_of_thirty_two_warps ScansOfThirtyTwoWarps ScansOfThirtyTwoWarpsArgs 1024;
}
