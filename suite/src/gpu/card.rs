//! One test case on a device, whatever its kernel: guarded arrays, poison, one launch.

use crate::{arrays::Laid, failure::Failure};
use std::time::{Duration, Instant};
use warpsmith::device::{Buffer, Device, Error, Grid, Placement, SliceMut, Stream, Use};
use warpsmith_kernel::{BuildError, Options};
use warpsmith_library::case::AnyCase;
use warpsmith_ptx::target::Target;

/// A case that ran.
pub(super) struct Ran {
    pub(super) laid: Laid,
    /// Each array with its guards, after the launch.
    pub(super) after: Vec<Vec<u8>>,
    pub(super) failures: Vec<Failure>,
    /// Time to compile and load.
    pub(super) load: Duration,
}

/// Runs `case`, built for `target`, on `stream`.
///
/// # Errors
/// [`Failure::Unsupported`], or why it did not run to its end.
pub(super) fn run(stream: &Stream, target: Target, case: &dyn AnyCase) -> Result<Ran, Failure> {
    let refused = |error: &dyn std::fmt::Display| Failure::Refused(error.to_string());
    let built = case
        .build(target, Options::default())
        .map_err(|error| match error {
            BuildError::Unsupported { .. } => Failure::Unsupported,
            error => refused(&error),
        })?;
    let grid = case.grid().map_err(|error| refused(&error))?;
    let laid = Laid::of(case)?;
    let mut buffers: Vec<Buffer<u8>> = laid
        .arrays
        .iter()
        .map(|array| stream.upload_new(&array.before))
        .collect::<Result<_, Error>>()
        .map_err(fault)?;
    let mut load = Duration::ZERO;
    if grid > 0 {
        let start = Instant::now();
        let kernel = stream
            .device()
            .load(&built.module)
            .and_then(|module| module.entry(&built.entry))
            .map_err(|error| refused(&error))?;
        load = start.elapsed();
        let grid = Grid {
            ctas: [u32::try_from(grid).map_err(|error| refused(&error))?, 1, 1],
            block: [built.threads, 1, 1],
            dynamic_shared: built.dynamic_shared,
            placement: Placement::Independent,
        };
        let addresses: Vec<u64> = buffers.iter().map(Buffer::address).collect();
        let params = laid.params(&addresses);
        let mut views: Vec<SliceMut<'_, u8>> = buffers.iter_mut().map(Buffer::view_mut).collect();
        let uses: Vec<Use<'_>> = views.iter_mut().map(SliceMut::write).collect();
        stream
            .launch_built(&kernel, grid, &params, &uses)
            .map_err(|error| refused(&error))?;
        stream.synchronize().map_err(fault)?;
    }
    let after = buffers
        .iter()
        .map(|buffer| stream.peek(buffer)?.wait())
        .collect::<Result<Vec<_>, Error>>()
        .map_err(fault)?;
    let failures = laid.compare(case, &after);
    Ok(Ran {
        laid,
        after,
        failures,
        load,
    })
}

fn fault(error: Error) -> Failure {
    Failure::Fault(error.to_string())
}

/// Elements that mean something, and how many of them have other bits in `b`.
pub(super) fn differing(a: &Ran, b: &Ran) -> (u64, u64) {
    let (mut elements, mut differ) = (0, 0);
    let pairs = a.after.iter().zip(&b.after);
    for (array, (a, b)) in a.laid.arrays.iter().zip(pairs) {
        if array.meant {
            let (a, b) = (array.inside(a), array.inside(b));
            let size = array.element_bytes;
            elements += (a.len() / size) as u64;
            let unequal = a.chunks(size).zip(b.chunks(size)).filter(|(a, b)| a != b);
            differ += unequal.count() as u64;
        }
    }
    (elements, differ)
}

/// Whether the device takes no more work.
pub(super) fn is_lost(device: &Device) -> bool {
    let works = device.stream().and_then(|stream| {
        let buffer = stream.upload_new(&[1u8])?;
        stream.peek(&buffer)?.wait()
    });
    works.is_err()
}
