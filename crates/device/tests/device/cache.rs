//! The kernel cache.

use crate::kernels::{EMITTED, Scale, ScaleArgs, device, ramp};
use std::sync::atomic::Ordering::Relaxed;
use warpsmith_device::{CacheStats, Device, Error, Selector, Settings};
use warpsmith_kernel::{Inputs, Options};

fn emitted(tag: u32) -> usize {
    EMITTED[tag as usize].load(Relaxed)
}

#[test]
fn a_hit_emits_nothing() -> Result<(), Error> {
    let device = device();
    let stream = device.stream()?;
    let x = stream.upload_new(&ramp(8))?;
    let mut y = stream.alloc(8)?;
    for _ in 0..5 {
        let args = ScaleArgs {
            x: x.view(),
            y: y.view_mut(),
            rows: 1,
            n: 8,
            a: 1.0,
        };
        stream.launch(&Scale { tag: 5 }, &args)?;
    }
    assert_eq!(emitted(5), 1);
    let want = CacheStats {
        hits: 4,
        misses: 1,
        entries: 1,
    };
    assert_eq!(device.cache_stats(), want);
    device.cache_reset_stats();
    let want = CacheStats {
        hits: 0,
        misses: 0,
        entries: 1,
    };
    assert_eq!(device.cache_stats(), want);
    device.cache_clear();
    assert_eq!(device.cache_stats().entries, 0);
    device.loaded(&Scale { tag: 5 }, Options::default())?;
    assert_eq!(emitted(5), 2);
    Ok(())
}

#[test]
fn value_options_and_device_are_parts_of_the_key() -> Result<(), Error> {
    let (one, two) = (device(), device());
    let coherent = Options {
        inputs: Inputs::Coherent,
    };
    for (device, tag, options) in [
        (&one, 6, Options::default()),
        (&one, 7, Options::default()),
        (&one, 6, coherent),
        (&two, 6, Options::default()),
        (&two, 6, Options::default()),
    ] {
        device.loaded(&Scale { tag }, options)?;
    }
    assert_eq!((one.cache_stats().misses, one.cache_stats().hits), (3, 0));
    assert_eq!((two.cache_stats().misses, two.cache_stats().hits), (1, 1));
    Ok(())
}

#[test]
fn the_least_recently_used_goes_first() -> Result<(), Error> {
    let settings = Settings {
        cache_entries: 2,
        ..Settings::default()
    };
    let device = Device::open_with(&Selector::virtual_gpu(), settings)?;
    for tag in [8, 9, 8, 10, 8, 9] {
        device.loaded(&Scale { tag }, Options::default())?;
    }
    assert_eq!((emitted(8), emitted(9), emitted(10)), (1, 2, 1));
    assert_eq!(device.cache_stats().entries, 2);
    Ok(())
}

#[test]
fn threads_that_ask_together_build_once() {
    let device = device();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                device
                    .loaded(&Scale { tag: 11 }, Options::default())
                    .map(drop)
            });
        }
    });
    assert_eq!(emitted(11), 1);
    assert_eq!(device.cache_stats().hits, 7);
}
