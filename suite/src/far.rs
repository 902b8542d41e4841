//! Runs a test case at the far end of arrays so large that offsets pass 2^32, in address space that is never touched
//! but where the case's own elements lie.
//!
//! Sizes of the case grow by billions; its data keep their places at the back of the grown dimensions (or at the front,
//! where strides are what grows); only the CTAs that compute them are launched, by a module in which each CTA believes
//! to have its index in the whole grid.

use std::fmt::{self, Display};
use warpsmith::device::Arguments;
use warpsmith_kernel::{
    Options,
    args::{Access, HostBuffer, Mismatch, Visitor},
};
use warpsmith_library::case::AnyCase;
use warpsmith_ptx::{
    ir::{Imm, Inst, Module, Operand, Reg, RegId, Span, Stmt, StmtKind},
    op::Op,
    qual::Qual,
    special::Special,
    target::Target,
    types::Type,
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
    pub passed: Vec<(&'static str, bool)>,
}

/// An array of a case.
struct Array {
    name: &'static str,
    access: Access,
    /// Bytes of an element.
    size: usize,
    dims: Vec<u128>,
    contents: Option<Vec<u8>>,
}

impl Array {
    fn len(&self) -> u128 {
        self.dims.iter().product()
    }
}

/// All that a case shows of its arguments.
#[derive(Default)]
struct Shown {
    /// `None` for an optional array that is not there.
    arrays: Vec<Option<Array>>,
    scalars: Vec<(&'static str, u64)>,
}

impl Visitor for Shown {
    fn array(
        &mut self,
        name: &'static str,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        self.arrays.push(array.map(|array| Array {
            name,
            access,
            size: array.element_bytes(),
            dims: dims.to_vec(),
            contents: array.contents().map(<[u8]>::to_vec),
        }));
    }
    fn scalar(&mut self, name: &'static str, bytes: &[u8]) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        self.scalars.push((name, u64::from_le_bytes(whole)));
    }
}

fn shown(case: &dyn AnyCase) -> Shown {
    let mut shown = Shown::default();
    case.visit(&mut shown);
    shown
}

/// An array on the virtual GPU that is larger than what a case has of it.
struct Placed<'a> {
    array: &'a dyn HostBuffer,
    address: u64,
    len: usize,
}

impl HostBuffer for Placed<'_> {
    fn address(&self) -> u64 {
        self.address
    }
    fn len(&self) -> usize {
        self.len
    }
    fn allocation(&self) -> Option<&std::sync::Arc<dyn std::any::Any + Send + Sync>> {
        None
    }
    fn element_bytes(&self) -> usize {
        self.array.element_bytes()
    }
}

/// Passes all on, each array as it lies on the virtual GPU.
struct Place<'a> {
    to: &'a mut dyn Visitor,
    addresses: std::slice::Iter<'a, Option<u64>>,
}

impl Visitor for Place<'_> {
    fn array(
        &mut self,
        name: &'static str,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        let len = dims.iter().product::<u128>() as usize;
        match (array, self.addresses.next().copied().flatten()) {
            (Some(array), Some(address)) => {
                let placed = Placed {
                    array,
                    address,
                    len,
                };
                self.to.array(name, access, Some(&placed), dims);
            }
            _ => self.to.array(name, access, None, dims),
        }
    }
    fn scalar(&mut self, name: &'static str, bytes: &[u8]) {
        self.to.scalar(name, bytes);
    }
}

/// Compares what was left with what each output must be.
struct Compare<'a> {
    found: std::slice::Iter<'a, Option<Vec<u8>>>,
    wrong: Vec<(&'static str, Mismatch)>,
}

impl Visitor for Compare<'_> {
    fn array(
        &mut self,
        name: &'static str,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let found = self.found.next().and_then(Option::as_ref);
        if let (Some(array), Some(found), Access::Out | Access::InOut) = (array, found, access)
            && let Err(mismatch) = array.check(found)
        {
            self.wrong.push((name, mismatch));
        }
    }
    fn scalar(&mut self, _name: &'static str, _bytes: &[u8]) {}
}

/// First elements, in a large array, of the runs that a small one is made of: its elements along the last dimension.
fn runs(small: &[u128], large: &[u128], end: End) -> Vec<u128> {
    let mut starts = vec![0];
    for (at, (few, many)) in small.iter().zip(large).enumerate() {
        let skipped = match end {
            End::Front => 0,
            End::Back => many - few,
        };
        let last = at + 1 == small.len();
        let own = skipped..skipped + if last { 1 } else { *few };
        starts = starts
            .iter()
            .flat_map(|start| own.clone().map(move |index| start * many + index))
            .collect();
    }
    starts
}

/// Bytes that the arrays of a case may take together: address space, hardly any memory.
const ROOM: u128 = 1 << 39;
/// Growth is a multiple of this, so that tiles, blocks and alignments stay as they are.
const STEP: i64 = 1 << 12;
const FAR: u128 = 1 << 32;

/// Memory that a machine needs for [`run_far`].
pub const MEMORY: u64 = ROOM as u64 + (1 << 32);

fn grow(case: &mut dyn AnyCase, scalars: &[(&'static str, i64)], by: i64) -> bool {
    for (at, (name, part)) in scalars.iter().enumerate() {
        if !case.offset(name, by / part) {
            for (name, part) in &scalars[..at] {
                case.offset(name, -by / part);
            }
            return false;
        }
    }
    true
}

/// Whether a launch of the case as it is now could be made, and its arrays held.
fn fits(case: &dyn AnyCase) -> bool {
    let arrays = shown(case).arrays;
    let arrays = || arrays.iter().flatten();
    let bytes: u128 = arrays()
        .map(|array| array.len() * array.size as u128 + 1024)
        .sum();
    let dims = arrays().flat_map(|array| &array.dims);
    let small = dims.into_iter().all(|dim| *dim < 1 << 31);
    small && bytes <= ROOM && case.grid().is_ok_and(|grid| grid < 1 << 31)
}

/// The largest growth that fits; the case is left grown.
fn grow_most(case: &mut dyn AnyCase, growth: &Growth) -> Option<i64> {
    let fitting = |case: &mut dyn AnyCase, steps: i64| {
        let by = steps * STEP;
        grow(case, growth.scalars, by) && {
            let fits = fits(case);
            grow(case, growth.scalars, -by);
            fits
        }
    };
    let (mut fits, mut too_much) = (0, (1 << 31) / STEP);
    while too_much - fits > 1 {
        let middle = (fits + too_much) / 2;
        if fitting(case, middle) {
            fits = middle;
        } else {
            too_much = middle;
        }
    }
    // An odd number of steps, so that what wraps around does not come out where it started.
    let by = (fits - i64::from(fits % 2 == 0)) * STEP;
    (by > 0 && grow(case, growth.scalars, by)).then_some(by)
}

/// CTAs along the other axes: the grid where the grown size is 1.
fn others(case: &mut dyn AnyCase, growth: &Growth) -> Option<u64> {
    let scalars = shown(case).scalars;
    let mut back = Vec::new();
    for (name, _) in growth.scalars {
        let (_, value) = scalars.iter().find(|(own, _)| own == name)?;
        let by = 1 - *value as i64;
        case.offset(name, by);
        back.push((*name, -by));
    }
    let grid = case.grid().ok();
    for (name, by) in back {
        case.offset(name, by);
    }
    grid
}

/// How the index of a launched CTA becomes the one it has in the whole grid: `id + id / group * stride + start`.
struct Renumber {
    group: u64,
    stride: u64,
    start: u64,
    grid: u64,
}

impl Renumber {
    fn renumber(self, mut module: Module) -> Module {
        for function in &mut module.functions {
            let own = RegId(function.regs.len() as u32);
            function.regs.push(Reg {
                ty: Type::U32,
                prefix: "%far".into(),
                number: None,
            });
            let body = function.body.take().unwrap_or_default();
            function.body = Some(
                body.into_iter()
                    .flat_map(|stmt| self.stmt(stmt, own))
                    .collect(),
            );
        }
        module
    }

    fn stmt(&self, mut stmt: Stmt, own: RegId) -> Vec<Stmt> {
        let mut more = Vec::new();
        if let StmtKind::Inst(inst) = &mut stmt.kind {
            let reads = |special| inst.operands.contains(&Operand::Special(special));
            let int = |value: u64| Operand::Imm(Imm::uint(value));
            if reads(Special::CtaidX) {
                let id = inst.operands[0].clone();
                let u32s = [Qual::T(Type::U32)];
                let group = [Operand::Reg(own), id.clone(), int(self.group)];
                let stride = [id.clone(), Operand::Reg(own), int(self.stride), id.clone()];
                more.push(Inst::new(Op::Div, &u32s, group));
                more.push(Inst::new(Op::Mad, &[Qual::Lo, u32s[0]], stride));
                more.push(Inst::new(Op::Add, &u32s, [id.clone(), id, int(self.start)]));
            } else if reads(Special::NctaidX) {
                inst.operands[1] = int(self.grid);
            }
        }
        let more = more.into_iter().map(|inst| Stmt {
            kind: StmtKind::Inst(inst),
            span: Span::None,
        });
        std::iter::once(stmt).chain(more).collect()
    }
}

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
    let named = |name| before.scalars.iter().any(|(own, _)| *own == name);
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
    fn far(&self, small: &Option<Array>, large: &Option<Array>) -> Option<(&'static str, bool)> {
        let (small, large) = (small.as_ref()?, large.as_ref()?);
        let last = *runs(&small.dims, &large.dims, self.growth.end).last()?;
        (last * large.size as u128 > FAR).then_some((large.name, last > FAR))
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
        if self.growth.indices == Some(small.name) {
            for index in contents.as_chunks_mut::<4>().0 {
                *index = u32::from_le_bytes(*index)
                    .saturating_add(self.by as u32)
                    .to_le_bytes();
            }
        }
        for (part, at) in self.places(small, large, address) {
            self.machine.write(at, &contents[part]).map_err(text)?;
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
