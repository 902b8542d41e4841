//! A card's roof: a copy within its memory, and a kernel of fused multiply-adds in registers.

use super::Roof;
use crate::{
    device::{Device, Error, Work},
    kernel::{Cta, InKernel, Kernel, LaunchError, Scope, args, steps},
};

/// Chains of a thread, enough to hide the latency.
const CHAINS: usize = 8;
/// Multiply-adds of a chain.
const LINKS: u32 = 512;
/// CTAs for each multiprocessor.
const CTAS: u64 = 8;
const THREADS: u64 = 256;
/// Rounds; the best counts, as a card begins slowly.
const ROUNDS: usize = 5;

args! { /// `y` is what `CHAINS` chains of `links` multiply-adds give.
pub struct ChainsArgs { y: Out<f32>[ctas, threads], ctas: Scalar<u32>, threads: Scalar<u32>, links: Scalar<u32>, factor: Scalar<f32> } }

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Chains;

impl Kernel for Chains {
    type Args = ChainsArgs;

    fn name(&self) -> String {
        "chains".into()
    }

    fn grid(&self, a: &ChainsArgs) -> Result<u64, LaunchError> {
        Ok(a.ctas.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ChainsArgs<InKernel<'k>>) {
        let y = a.y.row(cta.id());
        cta.each(a.threads, |lane, i| {
            let begin = [(); CHAINS].map(|()| i.f32());
            let sums = lane.fold_lanes(steps(0, a.links, 1), begin, |_, _, sums| {
                sums.map(|sum| sum.mul_add(a.factor, 0.5f32))
            });
            let all = sums.into_iter().reduce(|a, b| a + b);
            if let Some(all) = all {
                y.set(i, all);
            }
        });
    }
}

impl Roof {
    /// By kernels on the device itself, with a copy of `bytes` bytes.
    ///
    /// # Errors
    /// Device errors.
    pub fn of_card(device: &Device, bytes: usize) -> Result<Roof, Error> {
        let stream = device.stream()?;
        let from = stream.alloc::<u8>(bytes.max(1))?;
        let mut to = stream.alloc::<u8>(bytes.max(1))?;
        stream.copy(&mut to, &from)?;
        let timeline = device.timeline()?;
        for _ in 0..ROUNDS {
            stream.copy(&mut to, &from)?;
        }
        let copies = timeline.finish()?.into_iter().filter_map(|timed| {
            let took = timed.end.saturating_sub(timed.start).as_secs_f64();
            matches!(timed.work, Work::Copy { .. }).then_some(took)
        });
        let copying = copies.fold(f64::INFINITY, f64::min);

        let ctas = CTAS * u64::from(device.info().sms);
        let mut y = stream.alloc::<f32>((ctas * THREADS) as usize)?;
        let mut run = || {
            let args = ChainsArgs {
                y: y.view_mut(),
                ctas: ctas as u32,
                threads: THREADS as u32,
                links: LINKS,
                factor: 0.999,
            };
            stream.launch(&Chains, &args)
        };
        run()?;
        let ((), times) = stream.time_launches(|| (0..ROUNDS).try_for_each(|_| run()))?;
        let times = times.iter().map(|one| one.time.as_secs_f64());
        let multiplying = times.fold(f64::INFINITY, f64::min);
        let operations = 2 * CHAINS as u64 * u64::from(LINKS) * ctas * THREADS;
        Ok(Roof {
            // A byte is read and written.
            bytes_s: 2.0 * bytes.max(1) as f64 / copying,
            operations_s: operations as f64 / multiplying,
        })
    }
}
