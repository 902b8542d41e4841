//! What kernels say: text, assertions, clocks.

use crate::{assembles, checked};
use warpsmith_device::{Device, Selector};
use warpsmith_kernel::{kernel, printf};

kernel! {
    /// Prints values of every kind.
    struct Speaks(SpeaksArgs { x: In<f32>[n], n: Scalar<u32> });
    threads = 32;
    grid(g) = g.n / g.n;
    body(cta, g) {
        let mut big = cta.array::<f64>(8000);
        cta.step(&mut big, |cta, big| cta.each(8000, |_, i| big.set(i, 0.25)));
        cta.leader(|lane| {
            let x = g.x.at(0);
            printf!(lane, "%s: %5.2f|%d|%llu|%c|%%\n", "x", x, x.to::<i32>() - 7, x.to::<u64>() << 40, 65u32 + x.to::<u32>());
            printf!(lane, "%d %g\n", x.gt(2.0), x.f16());
            printf!(lane, "no values\n");
        });
    }
}

#[test]
fn text_is_what_c_prints() {
    assembles(&Speaks, 70);
    checked(|device, stream| {
        let x = stream.upload_new(&[3.25f32]).expect("memory");
        stream
            .launch(&Speaks, &SpeaksArgs { x: x.view(), n: 1 })
            .expect("a launch");
        stream.synchronize().expect("a wait");
        assert_eq!(
            device.take_printed(),
            format!("x:  3.25|-4|{}|D|%\n1 3.25\nno values\n", 3u64 << 40)
        );
    });
}

kernel! {
    /// Refuses numbers below 0.
    struct Asserts(AssertsArgs { x: InOut<f32>[n], n: Scalar<u32> });
    grid(g) = g.n.div_ceil(256);
    body(cta, g) {
        cta.each(g.n, |lane, i| {
            let x = g.x.at(i);
            lane.assert(x.ge(0.0), "x is not negative");
            g.x.set(i, x.sqrt());
        });
    }
}

#[test]
fn an_assertion_ends_the_launch() {
    assembles(&Asserts, 70);
    let run = |last: f32| {
        let device = Device::open(&Selector::virtual_gpu()).expect("a device");
        let stream = device.stream().expect("a stream");
        let mut x = stream.upload_new(&[4.0, 9.0, last]).expect("memory");
        stream
            .launch(
                &Asserts,
                &AssertsArgs {
                    x: x.view_mut(),
                    n: 3,
                },
            )
            .expect("a launch");
        stream.download(&x).and_then(|x| x.wait())
    };
    assert_eq!(run(16.0).expect("no assertion fails"), [2.0, 3.0, 4.0]);
    assert!(run(-1.0).is_err());
}

kernel! {
    /// Reads both clocks twice.
    struct Clocks(ClocksArgs { t: Out<u64>[4], n: Scalar<u32> });
    threads = 32;
    grid(g) = g.n;
    body(cta, g) {
        cta.leader(|lane| {
            let times = [lane.clock(), lane.nanoseconds(), lane.clock(), lane.nanoseconds()];
            for (at, time) in times.into_iter().enumerate() {
                g.t.set(at as u32, time);
            }
        });
    }
}

#[test]
fn clocks_do_not_go_back() {
    assembles(&Clocks, 70);
    checked(|_, stream| {
        let mut t = stream.alloc(4).expect("memory");
        stream
            .launch(
                &Clocks,
                &ClocksArgs {
                    t: t.view_mut(),
                    n: 1,
                },
            )
            .expect("a launch");
        let t = stream.download(&t).and_then(|t| t.wait()).expect("a copy");
        assert!(t[0] <= t[2] && t[1] <= t[3] && t[1] > 0, "{t:?}");
    });
}
