//! Kernels to PTX: the time from a kernel's value to its text, and that a kernel in the cache is not written again.

use crate::{
    Failed,
    stats::{Spread, median},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};
use warpsmith::{
    device::{Device, Selector},
    kernel::{BuildError, Cta, InKernel, Kernel, LaunchError, Options, args},
    library::{
        case::{AnyCase, Random},
        registry::registry,
    },
    ptx::{target::Target, verify::verify},
};

/// Times of all kernels of the registry, in microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Emission {
    pub(crate) target: String,
    /// Distinct modules.
    pub(crate) kernels: usize,
    /// The body written and cleaned up, and the module printed.
    pub(crate) build_print: Spread,
    /// The module verified.
    pub(crate) verify: Spread,
    /// All three.
    pub(crate) whole: Spread,
    pub(crate) families: Vec<Family>,
    pub(crate) cached: Cached,
}

/// Medians of a family of kernels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) kernels: usize,
    pub(crate) statements: f64,
    pub(crate) build_us: f64,
    pub(crate) print_us: f64,
    pub(crate) verify_us: f64,
}

/// Launches of a kernel that is in the cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cached {
    pub(crate) launches: u64,
    /// Bodies written during them.
    pub(crate) bodies: u64,
    pub(crate) misses: u64,
    /// Microseconds of one look-up.
    pub(crate) look_up_us: f64,
}

/// One kernel's times in microseconds.
struct Times {
    statements: f64,
    build: f64,
    print: f64,
    verify: f64,
}

/// Rounds that come first, and rounds that count.
const WARM_UP: usize = 3;
const ROUNDS: usize = 15;

pub(crate) fn measure() -> Result<Emission, Failed> {
    let device = Device::open(&Selector::virtual_gpu())?;
    let target = device.info().target;
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let mut families = Vec::new();
    for entry in registry() {
        let mut own = Vec::new();
        for case in (entry.cases)(&mut Random::new(1)) {
            match case.build(target, Options::default()) {
                Ok(built) if seen.insert(built.module.text()) => own.push(times(&*case, target)?),
                Ok(_) | Err(BuildError::Unsupported { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let of = |part: fn(&Times) -> f64| median(&own.iter().map(part).collect::<Vec<_>>());
        families.push(Family {
            name: entry.name.to_owned(),
            kernels: own.len(),
            statements: of(|times| times.statements),
            build_us: of(|times| times.build),
            print_us: of(|times| times.print),
            verify_us: of(|times| times.verify),
        });
        all.extend(own);
    }
    let spread = |part: fn(&Times) -> f64| {
        let of: Vec<f64> = all.iter().map(part).collect();
        Spread::of(&of).ok_or("no kernel is registered")
    };
    Ok(Emission {
        target: target.to_string(),
        kernels: all.len(),
        build_print: spread(|times| times.build + times.print)?,
        verify: spread(|times| times.verify)?,
        whole: spread(|times| times.build + times.print + times.verify)?,
        families,
        cached: cached(&device)?,
    })
}

fn times(case: &dyn AnyCase, target: Target) -> Result<Times, Failed> {
    let (mut built_in, mut printed_in, mut verified_in) = (Vec::new(), Vec::new(), Vec::new());
    let mut statements = 0;
    for round in 0..WARM_UP + ROUNDS {
        let start = Instant::now();
        let built = case.build(target, Options::default())?;
        let building = start.elapsed();
        let start = Instant::now();
        black_box(built.module.text());
        let printing = start.elapsed();
        // Building ends with verifying, which is timed alone on a copy.
        let copy = (*built.module).clone();
        let start = Instant::now();
        let verified = verify(copy).map_err(|found| format!("{found:?}"))?;
        let verifying = start.elapsed();
        let bodies = verified.functions.iter().map(|function| &function.body);
        statements = bodies.flatten().map(Vec::len).sum();
        if round >= WARM_UP {
            built_in.push(1e6 * building.saturating_sub(verifying).as_secs_f64());
            printed_in.push(1e6 * printing.as_secs_f64());
            verified_in.push(1e6 * verifying.as_secs_f64());
        }
    }
    Ok(Times {
        statements: statements as f64,
        build: median(&built_in),
        print: median(&printed_in),
        verify: median(&verified_in),
    })
}

args! {
    /// `y = x`.
    pub struct CountedArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> }
}

/// A kernel that counts how often its body is written.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Counted;

static BODIES: AtomicU64 = AtomicU64::new(0);

impl Kernel for Counted {
    type Args = CountedArgs;

    fn name(&self) -> String {
        "counted".into()
    }

    fn grid(&self, a: &CountedArgs) -> Result<u64, LaunchError> {
        Ok(a.n.min(1).into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, k: CountedArgs<InKernel<'k>>) {
        BODIES.fetch_add(1, Relaxed);
        cta.each(k.n, |_, i| k.y.set(i, k.x.at(i)));
    }
}

/// Launches a kernel again and again, and counts what was written for it after the first time.
fn cached(device: &Device) -> Result<Cached, Failed> {
    const LAUNCHES: u64 = 1000;
    let stream = device.stream()?;
    let (x, mut y) = (stream.upload_new(&[1.0f32])?, stream.alloc(1)?);
    let mut launch = || {
        let (x, y) = (x.view(), y.view_mut());
        stream.launch(&Counted, &CountedArgs { x, y, n: 1 })
    };
    launch()?;
    let (bodies, misses) = (BODIES.load(Relaxed), device.cache_stats().misses);
    for _ in 0..LAUNCHES {
        launch()?;
    }
    stream.synchronize()?;
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        black_box(device.loaded(&Counted, Options::default())?);
    }
    Ok(Cached {
        launches: LAUNCHES,
        look_up_us: 1e6 * start.elapsed().as_secs_f64() / LAUNCHES as f64,
        bodies: BODIES.load(Relaxed) - bodies,
        misses: device.cache_stats().misses - misses,
    })
}
