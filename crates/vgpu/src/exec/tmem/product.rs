//! `tcgen05.mma`: A times B, both of 32 bytes of k, added to D in tensor memory (PTX ISA 9.7.16.10).
//!
//! Row `r` of 128 is in lane `r`; of 64 it is in lane `r % 16` of the quarter `r / 16`. Column `n` is in column `n`, an f16 in
//! its lower half. A in tensor memory has its rows in the same lanes, and its 32 bytes in eight columns.
//!
//! Scales of A stand in the lane of their row and the column of its quarter, those of B in each quarter of the lanes, for
//! column `n` in lane `n % 32` and column `n / 32`: a byte for each block of k, from the one that the descriptor names on.
//!
//! Numbers are those of `mma` (`exec/mma/mod.rs`): chains of fused multiply-adds in f32 in ascending k from D, and integers
//! that wrap or are clamped once.

use super::{Place, address, holds, misuse, numbers::Element};
use crate::{
    error::Misuse,
    exec::{
        AccessId, Ctx, Handler, Micro, OptPred, Slot, SpanId, Words, args,
        bulk::may_read,
        choices,
        descriptor::Descriptor,
        half::F16,
        mma::{small::scale, tile::NAN},
    },
    memory::Bad,
};

choices! {
    /// What kind of numbers a product is of.
    pub(super) enum Kind {
        F16,
        Tf32,
        F8f6f4,
        I8,
        Mxf8f6f4,
        Mxf4,
        Mxf4nvf4,
    }
}

args! {
    pub(super) struct Mma {
        /// Places of two words: D, A, the scales of A and of B; then the slots of B, of the descriptor, and of the four words of
        /// lanes that are left out. Of A in shared memory the first word is the slot of its descriptor.
        pub(super) words: Words,
        pub(super) kind: Kind,
        /// Whether A is in tensor memory.
        pub(super) in_tensor: bool,
        /// Whether lanes are left out.
        pub(super) leaves_out: bool,
        /// Whether D is added to: a predicate, or always.
        pub(super) adds: OptPred,
        /// D is divided by two so many times.
        pub(super) halved: u32,
        /// Blocks of k that have a scale of their own.
        pub(super) blocks: u32,
        pub(super) reads: AccessId,
    }
}

impl Mma {
    /// Where words are.
    const A: u32 = 2;
    const SCALES: [u32; 2] = [4, 6];
    const B: u32 = 8;
    const DESCRIPTOR: u32 = 9;
    const LEFT_OUT: u32 = 10;
}

/// What the instruction descriptor says (PTX ISA 9.7.16.4.2).
struct Shape {
    m: u32,
    n: u32,
    a: Element,
    b: Element,
    /// D is of f16.
    half: bool,
    saturates: bool,
    negates: [bool; 2],
    transposes: [bool; 2],
    /// The first bytes of the scales of A and B, and whether those are powers of two.
    scales: [u32; 2],
    powers: bool,
}

fn element(kind: Kind, bits: u32) -> Option<Element> {
    Some(match (kind, bits) {
        (Kind::F16, 0) => Element::F16,
        (Kind::F16, 1) => Element::Bf16,
        (Kind::Tf32, 2) => Element::Tf32,
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 0) => Element::E4m3,
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 1) => Element::E5m2,
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 3) => Element::E2m3,
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 4) => Element::E3m2,
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 5) => Element::E2m1,
        (Kind::Mxf4 | Kind::Mxf4nvf4, 1) => Element::Packed,
        (Kind::I8, 0) => Element::U8,
        (Kind::I8, 1) => Element::S8,
        _ => return None,
    })
}

impl Shape {
    /// `None` for what the kind has not, and what is not done: sparse products, and a depth of 96.
    fn of(kind: Kind, blocks: u32, bits: u32) -> Option<Shape> {
        let field = |at: u32, width: u32| bits >> at & ((1 << width) - 1);
        let flag = |at: u32| field(at, 1) != 0;
        let scaled = matches!(kind, Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4);
        let packed = matches!(kind, Kind::Mxf4 | Kind::Mxf4nvf4);
        let m = if scaled {
            field(27, 2) << 7
        } else {
            field(24, 5) << 4
        };
        let n = field(17, 6) << 3;
        let wide = if packed { 2 } else { 3 };
        let (ty, powers) = (field(4, 2), flag(23));
        let fits = match kind {
            Kind::F16 | Kind::F8f6f4 => ty <= 1,
            Kind::Tf32 => ty == 1,
            // Integers are not negated.
            Kind::I8 => ty == 2 && field(13, 2) == 0,
            Kind::Mxf8f6f4 | Kind::Mxf4 => powers,
            Kind::Mxf4nvf4 => powers || blocks == 4,
        };
        let rows = match (kind, m) {
            (Kind::I8, 64 | 128) => n <= 32 || n.is_multiple_of(16),
            (_, 64) => !scaled,
            (_, 128) => true,
            _ => false,
        };
        // Bytes of scales do not begin in the middle of so many.
        let scales = [field(29, 2), field(4, 2)];
        let begins = |first: &u32| !scaled || first.is_multiple_of(blocks);
        let is_sparse = flag(2);
        if !fits
            || !rows
            || !scales.iter().all(begins)
            || !(8..=256).contains(&n)
            || is_sparse
            || scaled && flag(31)
        {
            return None;
        }
        let (a, b) = (element(kind, field(7, 3))?, element(kind, field(10, wide))?);
        // Transposed bytes of B come by 16.
        if flag(16) && b.each() == 16 && !n.is_multiple_of(16) {
            return None;
        }
        Some(Shape {
            m,
            n,
            a,
            b,
            half: !scaled && kind != Kind::I8 && ty == 0,
            saturates: flag(3),
            negates: [flag(13), flag(14)],
            transposes: [flag(15), flag(16)],
            scales,
            powers,
        })
    }

    /// The lane of a row of D.
    fn lane(&self, row: u32) -> u32 {
        if self.m == 64 {
            row / 16 * 32 + row % 16
        } else {
            row
        }
    }
}

/// A matrix: its numbers by k, then by row.
struct Matrix {
    rows: usize,
    numbers: Vec<f32>,
}

impl Matrix {
    fn new(element: Element, rows: u32) -> Matrix {
        let rows = rows as usize;
        Matrix {
            rows,
            numbers: vec![0.0; 2 * element.each() * rows],
        }
    }

    fn step(&self, k: usize) -> &[f32] {
        &self.numbers[k * self.rows..][..self.rows]
    }

    /// The numbers of 16 bytes of a row's k, from step `first` on.
    fn set(&mut self, element: Element, row: usize, first: usize, bytes: [u8; 16]) {
        let mut at = first * self.rows + row;
        element.numbers(bytes, |number| {
            self.numbers[at] = number;
            at += self.rows;
        });
    }

    /// Whether all products of two numbers of these are exact in f32, which none is that is very large or small.
    fn is_exact(&self, other: &Matrix) -> bool {
        let exponents = |matrix: &Matrix| {
            let all = matrix
                .numbers
                .iter()
                .map(|number| number.to_bits() << 1 >> 24);
            all.filter(|exponent| !matches!(exponent, 255))
                .filter(|exponent| *exponent != 0)
                .fold((254, 1), |(low, high): (u32, u32), one| {
                    (low.min(one), high.max(one))
                })
        };
        let ((low, high), (lower, higher)) = (exponents(self), exponents(other));
        let is_tiny = |matrix: &Matrix| {
            let mut all = matrix.numbers.iter();
            all.any(|number| number.is_subnormal())
        };
        high + higher < 127 + 254 && low + lower > 127 + 24 && !is_tiny(self) && !is_tiny(other)
    }
}

/// Who reads, and by which access.
type By = (SpanId, AccessId, u32);

/// 16 bytes of shared memory; `None` after a fault.
fn read(ctx: &mut Ctx, (span, access, lane): By, from: u64) -> Option<[u8; 16]> {
    if !may_read(ctx, (span, access), lane, (from, 16), false) {
        return None;
    }
    let mut bytes = [0; 16];
    if ctx.shared.read(from, &mut bytes) {
        return Some(bytes);
    }
    ctx.refuse(span, Bad::Bounds, lane, from, 16);
    None
}

/// A matrix in shared memory.
fn shared(
    ctx: &mut Ctx,
    by: By,
    (descriptor, transposed): (u64, bool),
    (element, rows): (Element, u32),
) -> Option<Matrix> {
    let at = Descriptor::of_tensor(descriptor);
    // Transposed, 32 bits are only in patterns of 32 bytes, and packed numbers in none.
    let can_be = !transposed || !matches!(element, Element::Packed | Element::Tf32);
    let Some(at) = at.filter(|_| can_be) else {
        misuse(ctx, by.0, by.2, Misuse::TensorDescriptor, None);
        return None;
    };
    let mut matrix = Matrix::new(element, rows);
    let each = element.each();
    if !transposed {
        for row in 0..rows {
            for half in 0..2 {
                let bytes = read(ctx, by, at.along_k(row.into(), 16 * half as u64))?;
                matrix.set(element, row as usize, half * each, bytes);
            }
        }
        return Some(matrix);
    }
    for k in 0..2 * each {
        for first in (0..rows as usize).step_by(each) {
            let bytes = read(ctx, by, at.along_rows((first / each * 16) as u64, k as u64))?;
            let mut to = k * matrix.rows + first;
            let end = (k + 1) * matrix.rows;
            element.numbers(bytes, |number| {
                if to < end {
                    matrix.numbers[to] = number;
                }
                to += 1;
            });
        }
    }
    Some(matrix)
}

/// A matrix in tensor memory, in the lanes of D.
fn tensor(ctx: &mut Ctx, by: By, at: u32, shape: &Shape) -> Option<Matrix> {
    let (span, _, lane) = by;
    let (place, element) = (Place::of(at), shape.a);
    if !element.is_whole() && element != Element::Packed {
        misuse(ctx, span, lane, Misuse::TensorDescriptor, None);
        return None;
    }
    if !holds(ctx, span, lane, place, 8) {
        return None;
    }
    let mut matrix = Matrix::new(element, shape.m);
    for row in 0..shape.m {
        for half in 0..2u32 {
            let mut bytes = [0; 16];
            for (word, to) in (0..).zip(bytes.as_chunks_mut::<4>().0) {
                let cell = Place {
                    lane: place.lane + shape.lane(row),
                    column: place.column + 4 * half + word,
                };
                *to = load(ctx, by, cell)?.to_le_bytes();
            }
            matrix.set(element, row as usize, half as usize * element.each(), bytes);
        }
    }
    Some(matrix)
}

/// A cell; `None` after a fault.
fn load(ctx: &mut Ctx, (span, _, lane): By, place: Place) -> Option<u32> {
    let found = ctx.tensor.load(place.cell()).ok();
    if found.is_none() {
        let address = u64::from(place.lane) << 16 | u64::from(place.column);
        misuse(ctx, span, lane, Misuse::TensorMemory, Some(address));
    }
    found
}

/// The scales of so many rows or columns, `blocks` each, as they stand in a quarter of the lanes.
fn scales(
    ctx: &mut Ctx,
    by: By,
    (at, first): (u32, u32),
    (lane, count): (u32, u32),
    (blocks, powers): (u32, bool),
) -> Option<Vec<f64>> {
    let place = Place::of(at);
    if !holds(ctx, by.0, by.2, place, count.div_ceil(32)) {
        return None;
    }
    let mut all = Vec::with_capacity((count * blocks) as usize);
    for number in 0..count {
        let cell = Place {
            lane: place.lane + lane + number % 32,
            column: place.column + number / 32,
        };
        let bytes = load(ctx, by, cell)?.to_le_bytes();
        let each = (0..blocks).map(|block| bytes[(first + block) as usize & 3]);
        all.extend(each.map(|byte| scale(byte, powers)));
    }
    Some(all)
}

/// A product by each thread.
pub(super) struct Products;
impl Handler for Products {
    type Args = Mma;
    fn run(ctx: &mut Ctx, op: &Micro<Mma>) {
        let mask = ctx.mask;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            if product(ctx, op, lane).is_none() {
                return;
            }
        }
        ctx.changes += 1;
    }
}

fn product(ctx: &mut Ctx, op: &Micro<Mma>, lane: u32) -> Option<()> {
    let (by, i) = ((op.span(), op.reads, lane), lane as usize);
    let slot = |ctx: &Ctx, at: u32| Slot(ctx.extra(op.words.behind(at), 1)[0]);
    let word = |ctx: &Ctx, at: u32| ctx.cells::<u32>(slot(ctx, at))[i];
    let wide = |ctx: &Ctx, at: u32| ctx.cells::<u64>(slot(ctx, at))[i];
    let Some(shape) = Shape::of(op.kind, op.blocks, word(ctx, Mma::DESCRIPTOR)) else {
        misuse(ctx, op.span(), lane, Misuse::TensorProduct, None);
        return None;
    };
    let d = Place::of(address(ctx, op.words, i));
    if !holds(ctx, op.span(), lane, d, shape.n) {
        return None;
    }
    if d.lane != 0 && (shape.m != 64 || d.lane != 16) {
        misuse(ctx, op.span(), lane, Misuse::TensorLanes, None);
        return None;
    }
    let mut a = if op.in_tensor {
        if shape.transposes[0] {
            misuse(ctx, op.span(), lane, Misuse::TensorProduct, None);
            return None;
        }
        let at = address(ctx, op.words.behind(Mma::A), i);
        if Place::of(at).lane != d.lane {
            misuse(ctx, op.span(), lane, Misuse::TensorLanes, Some(at.into()));
            return None;
        }
        tensor(ctx, by, at, &shape)?
    } else {
        let from = (wide(ctx, Mma::A), shape.transposes[0]);
        shared(ctx, by, from, (shape.a, shape.m))?
    };
    let from = (wide(ctx, Mma::B), shape.transposes[1]);
    let mut b = shared(ctx, by, from, (shape.b, shape.n))?;
    for (matrix, negates) in [(&mut a, shape.negates[0]), (&mut b, shape.negates[1])] {
        if negates {
            matrix
                .numbers
                .iter_mut()
                .for_each(|number| *number = -*number);
        }
    }
    let mut without = [0u32; 4];
    if op.leaves_out {
        for (at, to) in (Mma::LEFT_OUT..).zip(&mut without) {
            *to = word(ctx, at);
        }
    }
    let lanes: Vec<u32> = (0..shape.m).map(|row| d.lane + shape.lane(row)).collect();
    let adds = op
        .adds
        .get()
        .is_none_or(|adds| ctx.pred(adds) >> lane & 1 != 0);
    let by_scales = match op.blocks {
        0 => None,
        blocks => {
            let [at_a, at_b] = Mma::SCALES.map(|at| address(ctx, op.words.behind(at), i));
            Some(Scales::read(ctx, by, [at_a, at_b], &shape, blocks)?)
        }
    };
    let exact = by_scales.is_none() && op.kind != Kind::I8 && a.is_exact(&b);
    for n in 0..shape.n {
        let mut column = Vec::with_capacity(lanes.len());
        for row in &lanes {
            let cell = Place {
                lane: *row,
                column: d.column + n,
            };
            column.push(match adds {
                true => load(ctx, by, cell)?,
                false => 0,
            });
        }
        match (&by_scales, op.kind) {
            (_, Kind::I8) => whole(&mut column, &a, &b, n as usize, shape.saturates),
            (Some(scales), _) => {
                scaled(&mut column, (&a, &b), n as usize, scales);
            }
            (None, _) => {
                let by = f32::powi(0.5, op.halved as i32);
                sums(&mut column, (&a, &b), n as usize, (shape.half, exact, by));
            }
        }
        for (row, value) in lanes.iter().zip(column) {
            if without[*row as usize / 32] >> (row % 32) & 1 != 0 {
                continue;
            }
            let cell = Place {
                lane: *row,
                column: d.column + n,
            };
            let stored = ctx.tensor.store(cell.cell(), value);
            debug_assert!(stored.is_ok(), "the columns are there");
        }
    }
    Some(())
}

/// One column of D: floats without scales.
fn sums(
    column: &mut [u32],
    (a, b): (&Matrix, &Matrix),
    n: usize,
    (half, exact, by): (bool, bool, f32),
) {
    let mut sums: Vec<f32> = column
        .iter()
        .map(|bits| match half {
            true => F16(*bits as u16).to_f32() * by,
            false => f32::from_bits(*bits) * by,
        })
        .collect();
    for (k, b) in b.numbers.iter().skip(n).step_by(b.rows).enumerate() {
        let steps = sums.iter_mut().zip(a.step(k));
        if exact {
            steps.for_each(|(sum, a)| *sum += a * b);
        } else {
            steps.for_each(|(sum, a)| *sum = a.mul_add(*b, *sum));
        }
    }
    for (to, sum) in column.iter_mut().zip(sums) {
        *to = match half {
            true if sum.is_nan() => 0x7FFF,
            true => F16::from_f32(sum).0.into(),
            false if sum.is_nan() => NAN,
            false => sum.to_bits(),
        };
    }
}

/// One column of D: integers.
fn whole(column: &mut [u32], a: &Matrix, b: &Matrix, n: usize, saturates: bool) {
    for (row, to) in column.iter_mut().enumerate() {
        let pairs = a.numbers.iter().skip(row).step_by(a.rows);
        let pairs = pairs.zip(b.numbers.iter().skip(n).step_by(b.rows));
        // Of 32 products of bytes the sum is far below 2^24.
        let sum: i64 = pairs.map(|(a, b)| (a * b) as i64).sum();
        let sum = sum + i64::from(*to as i32);
        *to = if saturates {
            sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32
        } else {
            sum as u32
        };
    }
}

/// The scales of a product.
struct Scales {
    /// By row and block.
    a: Vec<f64>,
    /// By quarter of the lanes, column and block.
    b: [Vec<f64>; 4],
    blocks: usize,
}

impl Scales {
    fn read(ctx: &mut Ctx, by: By, [a, b]: [u32; 2], shape: &Shape, blocks: u32) -> Option<Scales> {
        let how = (blocks, shape.powers);
        let mut rows = Vec::new();
        let mut columns = [const { Vec::new() }; 4];
        for (quarter, columns) in (0..).zip(&mut columns) {
            // Of A each quarter has a column of its own.
            let own = (a.wrapping_add(quarter), shape.scales[0]);
            rows.extend(scales(ctx, by, own, (32 * quarter, 32), how)?);
            let all = (b, shape.scales[1]);
            *columns = scales(ctx, by, all, (32 * quarter, shape.n), how)?;
        }
        Some(Scales {
            a: rows,
            b: columns,
            blocks: blocks as usize,
        })
    }
}

/// One column of D: floats with scales.
fn scaled(column: &mut [u32], (a, b): (&Matrix, &Matrix), n: usize, scales: &Scales) {
    let blocks = scales.blocks;
    let each = a.numbers.len() / a.rows / blocks;
    for (row, to) in column.iter_mut().enumerate() {
        let pairs = a.numbers.iter().skip(row).step_by(a.rows);
        let pairs = pairs.zip(b.numbers.iter().skip(n).step_by(b.rows));
        let mut sum = f32::from_bits(*to);
        for (k, (a, b)) in pairs.enumerate() {
            let block = k / each;
            let by = scales.a[row * blocks + block] * scales.b[row / 32][n * blocks + block];
            // Both factors have a few bits: their product is exact.
            sum = (f64::from(sum) + f64::from(a * b) * by) as f32;
        }
        *to = if sum.is_nan() { NAN } else { sum.to_bits() };
    }
}
