//! Runs a test case at the far end of arrays so large that offsets pass 2^32, in address space that is never touched
//! but where the case's own elements lie.
//!
//! Sizes of the case grow by billions; its data keep their places at the back of the grown dimensions (or at the front,
//! where strides are what grows); only the CTAs that compute them are launched, by a module in which each CTA believes
//! to have its index in the whole grid.

mod arrays;
mod grow;
mod renumber;

use arrays::{Array, Compare, Place, Shown, runs, shown};
use grow::{ROOM, grow, grow_most, others};
use renumber::Renumber;
use std::fmt::{self, Display};
use warpsmith::device::Arguments;
use warpsmith_kernel::{Options, args::Access};
use warpsmith_library::case::AnyCase;
use warpsmith_ptx::{
    target::Target,
    verify::{Verified, verify},
};
use warpsmith_vgpu::{Launch, Machine};

/// How a case is made large.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Kernels whose name starts so.
    pub kernels: &'static str,
    /// Not those that have this scalar.
    pub without: Option<&'static str>,
    /// Scalars that grow together, and by what part of the whole each does.
    pub scalars: &'static [(&'static str, i64)],
    /// Where the grown size stands in the index of a CTA.
    pub axis: Axis,
    /// Which end of the grown dimensions the data keep.
    pub end: End,
    /// An array of indices along the grown dimension.
    pub indices: Option<&'static str>,
}

/// Where a size stands in the index of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The index is `grown * others + other`.
    Slow,
    /// The index is `other * grown + own`.
    Fast,
    /// The grid does not depend on it.
    None,
}

/// Which end of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first elements.
    Front,
    /// The last ones.
    Back,
}

/// What a run at the far end showed.
#[derive(Clone, Debug)]
pub struct Far {
    /// By how much the size grew.
    pub by: i64,
    /// Arrays with an element that lies more than 2^32 bytes behind the first, and whether it is also more than 2^32
    /// elements behind it.
    pub passed: Vec<(String, bool)>,
}

/// Memory that a machine needs for [`run_far`].
pub const MEMORY: u64 = ROOM as u64 + (1 << 32);

const FAR: u128 = 1 << 32;

/// Bytes of zeros in front of an array's data.
const BEFORE: u64 = 1 << 12;

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Runs `case`, grown as far as it goes, and compares its outputs; `None` where it has nothing that grows past 2^32
/// bytes, or `target` lacks a feature.
///
/// # Errors
/// What was refused, a fault, or the outputs that differ.
pub fn run_far(
    machine: &Machine,
    target: Target,
    case: &mut dyn AnyCase,
    growth: &Growth,
) -> Result<Option<Far>, String> {
    let before = shown(case);
    let named = |name| before.scalars.iter().any(|(own, _)| own == name);
    let grid = case.grid().map_err(text)?;
    let other = growth.without.is_some_and(named);
    if grid == 0 || other || !growth.scalars.iter().all(|(name, _)| named(*name)) {
        return Ok(None);
    }
    let Ok(built) = case.build(target, Options::default()) else {
        return Ok(None);
    };
    let across = match growth.axis {
        Axis::Fast => others(case, growth).ok_or("no grid where the grown size is 1")?,
        Axis::Slow | Axis::None => 1,
    };
    let Some(by) = grow_most(case, growth) else {
        return Ok(None);
    };
    let large = case.grid().map_err(text)?;
    let renumber = Renumber {
        group: grid / across,
        stride: (large - grid) / across,
        start: (large - grid) / across,
        grid: large,
    };
    let module = verify(renumber.renumber((*built.module).clone()));
    let module = module.map_err(|found| found.iter().map(text).collect::<Vec<_>>().join("; "))?;
    let run = Run {
        machine,
        grid,
        threads: built.threads,
        dynamic_shared: built.dynamic_shared,
        module,
        growth,
        by,
    };
    let result = run.run(case, &before);
    grow(case, growth.scalars, -by);
    result
}

/// A grown case that is ready to run.
struct Run<'a> {
    machine: &'a Machine,
    grid: u64,
    threads: u32,
    dynamic_shared: u32,
    module: Verified,
    growth: &'a Growth,
    by: i64,
}

impl Run<'_> {
    fn run(&self, case: &dyn AnyCase, before: &Shown) -> Result<Option<Far>, String> {
        let after = shown(case);
        let pairs = || before.arrays.iter().zip(&after.arrays);
        let far: Vec<_> = pairs()
            .filter_map(|(small, large)| self.far(small, large))
            .collect();
        if far.is_empty() {
            return Ok(None);
        }
        let mut addresses = Vec::new();
        for (small, large) in pairs() {
            addresses.push(match (small, large) {
                (Some(small), Some(large)) => Some(self.upload(small, large)?),
                _ => None,
            });
        }
        let arguments = Arguments::check(
            || case.name(),
            |to| {
                let addresses = addresses.iter();
                case.visit(&mut Place { to, addresses });
            },
        );
        self.launch(&case.name(), arguments.map_err(text)?.bytes())?;
        let mut found = Vec::new();
        for ((small, large), address) in pairs().zip(&addresses) {
            found.push(match (small, large, address) {
                (Some(small), Some(large), Some(address)) => {
                    Some(self.download(small, large, *address)?)
                }
                _ => None,
            });
        }
        let mut compare = Compare {
            found: found.iter(),
            wrong: Vec::new(),
        };
        case.visit(&mut compare);
        if compare.wrong.is_empty() {
            let by = self.by;
            return Ok(Some(Far { by, passed: far }));
        }
        let wrong = compare.wrong.iter();
        let wrong = wrong.map(|(name, mismatch)| format!("`{name}`: {mismatch}"));
        Err(wrong.collect::<Vec<_>>().join("; "))
    }

    /// The name of an array that passes 2^32 bytes, and whether it passes 2^32 elements.
    fn far(&self, small: &Option<Array>, large: &Option<Array>) -> Option<(String, bool)> {
        let (small, large) = (small.as_ref()?, large.as_ref()?);
        let last = *runs(&small.dims, &large.dims, self.growth.end).last()?;
        (last * large.size as u128 > FAR).then(|| (large.name.clone(), last > FAR))
    }

    /// Each run of the small array: its bytes there, and its address in the large one.
    fn places(
        &self,
        small: &Array,
        large: &Array,
        address: u64,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, u64)> {
        let bytes = small
            .dims
            .last()
            .map_or(small.size, |run| *run as usize * small.size);
        let size = small.size as u64;
        let starts = runs(&small.dims, &large.dims, self.growth.end);
        let some = small.len() > 0;
        starts
            .into_iter()
            .enumerate()
            .filter(move |_| some)
            .map(move |(at, start)| (at * bytes..(at + 1) * bytes, address + start as u64 * size))
    }

    fn upload(&self, small: &Array, large: &Array) -> Result<u64, String> {
        let bytes = large.len() as u64 * large.size as u64;
        let address = self.machine.alloc(bytes).map_err(text)?;
        let len = small.len() as usize * small.size;
        let mut contents = match &small.contents {
            Some(contents) => contents.clone(),
            // A NaN in every float type.
            None => vec![0xff; len],
        };
        if self.growth.indices == Some(&*small.name) {
            for index in contents.as_chunks_mut::<4>().0 {
                *index = u32::from_le_bytes(*index)
                    .saturating_add(self.by as u32)
                    .to_le_bytes();
            }
        }
        for (at, (part, to)) in self.places(small, large, address).enumerate() {
            // What a kernel sees that looks at a neighbour of the first row, as a convolution does.
            if at == 0 {
                let before = (to - address).min(BEFORE);
                let zeros = vec![0; before as usize];
                self.machine.write(to - before, &zeros).map_err(text)?;
            }
            self.machine.write(to, &contents[part]).map_err(text)?;
        }
        Ok(address)
    }

    fn launch(&self, name: &str, params: &[u8]) -> Result<(), String> {
        let module = self.machine.load(&self.module).map_err(text)?;
        let launch = Launch {
            kernel: module.kernel(name).ok_or("the entry is missing")?,
            grid: [u32::try_from(self.grid).map_err(text)?, 1, 1],
            block: [self.threads, 1, 1],
            dynamic_shared: self.dynamic_shared,
            params: params.to_vec(),
            cooperative: false,
            cluster: None,
        };
        let stream = self.machine.stream().map_err(text)?;
        stream.launch(launch).map_err(text)?;
        stream.synchronize().map_err(text)
    }

    fn download(&self, small: &Array, large: &Array, address: u64) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; small.len() as usize * small.size];
        if matches!(small.access, Access::Out | Access::InOut) {
            for (part, at) in self.places(small, large, address) {
                self.machine.read(at, &mut bytes[part]).map_err(text)?;
            }
        }
        self.machine.free(address).map_err(text)?;
        Ok(bytes)
    }
}

impl fmt::Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grown by {}:", self.by)?;
        for (name, elements) in &self.passed {
            let unit = if *elements { "elements" } else { "bytes" };
            write!(f, " `{name}` past 2^32 {unit}")?;
        }
        Ok(())
    }
}
