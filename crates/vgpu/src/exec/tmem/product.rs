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

use super::{
    LANES, Place, address, holds, misuse,
    numbers::Element,
    sums::{self, Matrix, Scales},
    watch::Touched,
};
use crate::{
    error::Misuse,
    exec::{
        AccessId, Ctx, Handler, Micro, OptPred, Slot, SpanId, Words, args, bulk::may_read, choices,
        descriptor::Descriptor, mma::small::scale,
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

/// Who reads, and by which access.
type By = (SpanId, AccessId, u32);

/// A matrix, and between which addresses it was.
type Read = (Matrix, (u64, u64));

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
) -> Option<Read> {
    let at = Descriptor::of_tensor(descriptor);
    // Transposed, 32 bits are only in patterns of 32 bytes, and packed numbers in none.
    let can_be = !transposed || !matches!(element, Element::Packed | Element::Tf32);
    let Some(at) = at.filter(|_| can_be) else {
        misuse(ctx, by.0, by.2, Misuse::TensorDescriptor, None);
        return None;
    };
    let mut matrix = Matrix::new(element, rows);
    let each = element.each();
    let mut range = (u64::MAX, 0);
    let mut read = |ctx: &mut Ctx, from: u64| {
        range = (range.0.min(from), range.1.max(from + 16));
        read(ctx, by, from)
    };
    if !transposed {
        for row in 0..rows {
            for half in 0..2 {
                let bytes = read(ctx, at.along_k(row.into(), 16 * half as u64))?;
                matrix.set(element, row as usize, half * each, bytes);
            }
        }
        return Some((matrix, range));
    }
    for k in 0..2 * each {
        for first in (0..rows as usize).step_by(each) {
            let bytes = read(ctx, at.along_rows((first / each * 16) as u64, k as u64))?;
            matrix.set_rows(element, first, k, bytes);
        }
    }
    Some((matrix, range))
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

/// What a product is of, read.
struct Operands {
    a: Matrix,
    b: Matrix,
    scales: Option<Scales>,
    /// Where D is, and in which lanes.
    d: Place,
    lanes: Vec<u32>,
    adds: bool,
    left_out: [u32; 4],
    touched: Touched,
}

/// The operands; `None` after a fault.
fn operands(ctx: &mut Ctx, op: &Micro<Mma>, lane: u32, shape: &Shape) -> Option<Operands> {
    let (by, i) = ((op.span(), op.reads, lane), lane as usize);
    let slot = |ctx: &Ctx, at: u32| Slot(ctx.extra(op.words.behind(at), 1)[0]);
    let wide = |ctx: &Ctx, at: u32| ctx.cells::<u64>(slot(ctx, at))[i];
    let refuse = |ctx: &mut Ctx, what: Misuse| misuse(ctx, op.span(), lane, what, None);
    let d = Place::of(address(ctx, op.words, i));
    if !holds(ctx, op.span(), lane, d, shape.n) {
        return None;
    }
    if d.lane != 0 && (shape.m != 64 || d.lane != 16) {
        refuse(ctx, Misuse::TensorLanes);
        return None;
    }
    let lanes: Vec<u32> = (0..shape.m).map(|row| shape.lane(row)).collect();
    let mut touched = Touched::default();
    let mut a = if op.in_tensor {
        if shape.transposes[0] {
            refuse(ctx, Misuse::TensorProduct);
            return None;
        }
        let at = address(ctx, op.words.behind(Mma::A), i);
        let place = Place::of(at);
        if place.lane != d.lane {
            refuse(ctx, Misuse::TensorLanes);
            return None;
        }
        let a = tensor(ctx, by, at, shape)?;
        let own: Vec<u32> = lanes.iter().map(|lane| place.lane + lane).collect();
        if ctx.checker.is_some() {
            touched.reads(place, &own, 8);
        }
        a
    } else {
        let from = (wide(ctx, Mma::A), shape.transposes[0]);
        let (a, range) = shared(ctx, by, from, (shape.a, shape.m))?;
        touched.shared.push(range);
        a
    };
    let from = (wide(ctx, Mma::B), shape.transposes[1]);
    let (mut b, range) = shared(ctx, by, from, (shape.b, shape.n))?;
    touched.shared.push(range);
    for (matrix, negates) in [(&mut a, shape.negates[0]), (&mut b, shape.negates[1])] {
        if negates {
            matrix.negate();
        }
    }
    let scales = match op.blocks {
        0 => None,
        blocks => {
            let at = Mma::SCALES.map(|at| address(ctx, op.words.behind(at), i));
            let counts = [4, shape.n.div_ceil(32)].into_iter();
            let counts = counts.take(if ctx.checker.is_some() { 2 } else { 0 });
            for (at, count) in at.into_iter().zip(counts) {
                let all: Vec<u32> = (0..LANES).collect();
                touched.reads(Place::of(at), &all, count);
            }
            Some(scales_of(ctx, by, at, shape, blocks)?)
        }
    };
    let adds = op.adds.get();
    let adds = adds.is_none_or(|adds| ctx.pred(adds) >> lane & 1 != 0);
    let mut left_out = [0u32; 4];
    if op.leaves_out {
        for (at, to) in (Mma::LEFT_OUT..).zip(&mut left_out) {
            *to = ctx.cells::<u32>(slot(ctx, at))[i];
        }
    }
    Some(Operands {
        a,
        b,
        scales,
        d,
        lanes: lanes.iter().map(|lane| d.lane + lane).collect(),
        adds,
        left_out,
        touched,
    })
}

impl Operands {
    /// The lanes of D that are written.
    fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        let is_kept = |lane: &u32| self.left_out[*lane as usize / 32] >> (lane % 32) & 1 == 0;
        self.lanes.iter().copied().filter(is_kept)
    }

    /// Tells the checker of what it read and will write.
    fn tell(&mut self, ctx: &mut Ctx, by: By, n: u32) {
        if ctx.checker.is_none() {
            return;
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.writes = (self.d.column, self.d.column + n);
        for column in touched.writes.0..touched.writes.1 {
            touched
                .written
                .extend(self.kept().map(|lane| [lane, column]));
        }
        if self.adds {
            touched.cells.extend_from_slice(&touched.written);
        }
        touched.tell(ctx, by.0, by.2);
    }
}

/// One thread's product; `None` after a fault.
fn product(ctx: &mut Ctx, op: &Micro<Mma>, lane: u32) -> Option<()> {
    let by = (op.span(), op.reads, lane);
    let slot = Slot(ctx.extra(op.words.behind(Mma::DESCRIPTOR), 1)[0]);
    let Some(shape) = Shape::of(op.kind, op.blocks, ctx.cells::<u32>(slot)[lane as usize]) else {
        misuse(ctx, op.span(), lane, Misuse::TensorProduct, None);
        return None;
    };
    let mut of = operands(ctx, op, lane, &shape)?;
    of.tell(ctx, by, shape.n);
    let exact = of.scales.is_none() && op.kind != Kind::I8 && of.a.is_exact(&of.b);
    for n in 0..shape.n {
        let column = of.d.column + n;
        let mut sums = Vec::with_capacity(of.lanes.len());
        for lane in &of.lanes {
            let lane = *lane;
            sums.push(match of.adds {
                true => load(ctx, by, Place { lane, column })?,
                false => 0,
            });
        }
        let (a, b, n) = (&of.a, &of.b, n as usize);
        match &of.scales {
            _ if op.kind == Kind::I8 => sums::whole(&mut sums, (a, b), n, shape.saturates),
            Some(scales) => sums::scaled(&mut sums, (a, b), n, scales),
            None => {
                let by = f32::powi(0.5, op.halved as i32);
                sums::plain(&mut sums, (a, b), n, (shape.half, exact, by));
            }
        }
        for (at, lane) in of.lanes.iter().enumerate() {
            let lane = *lane;
            if of.left_out[lane as usize / 32] >> (lane % 32) & 1 != 0 {
                continue;
            }
            let stored = ctx.tensor.store(Place { lane, column }.cell(), sums[at]);
            debug_assert!(stored.is_ok(), "the columns are there");
        }
    }
    Some(())
}

/// The scales of A and B.
fn scales_of(
    ctx: &mut Ctx,
    by: By,
    [a, b]: [u32; 2],
    shape: &Shape,
    blocks: u32,
) -> Option<Scales> {
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
