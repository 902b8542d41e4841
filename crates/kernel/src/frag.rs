//! Matrix fragments: 16x16 and 16x8 operands and 16x8 accumulators spread over a warp (PTX ISA 9.7.14.5).
//!
//! In a fragment, lane `4 g + t` holds columns `2 t, 2 t + 1` of rows `g` and `g + 8`; the library never needs to know,
//! because epilogues are told rows and columns.

use crate::{
    agreed::Agreed,
    build::with,
    elem::Elem,
    scope::Warp,
    shared::View,
    slot::Slot,
    state::{Mapper, State},
    uni,
    val::{Ty, Val},
};
use half::{bf16, f16};
use smallvec::SmallVec;
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{ir::RegId, op::Op, qual::Qual, types::Type};

/// A 16-bit float that `mma` multiplies.
pub trait Half: Elem + Ty {
    /// First SM whose `mma.m16n8k16` takes it.
    const FIRST_SM: u16;
    /// Two f32 rounded and packed, the first in the low half.
    fn pack<'k>(
        low: Val<'k, f32, uni::Lane>,
        high: Val<'k, f32, uni::Lane>,
    ) -> Val<'k, u32, uni::Lane>;
}

impl Half for f16 {
    const FIRST_SM: u16 = 75;

    #[track_caller]
    fn pack<'k>(
        low: Val<'k, f32, uni::Lane>,
        high: Val<'k, f32, uni::Lane>,
    ) -> Val<'k, u32, uni::Lane> {
        low.pack_f16(high)
    }
}

impl Half for bf16 {
    const FIRST_SM: u16 = 80;

    #[track_caller]
    fn pack<'k>(
        low: Val<'k, f32, uni::Lane>,
        high: Val<'k, f32, uni::Lane>,
    ) -> Val<'k, u32, uni::Lane> {
        let at = Location::caller();
        let (low, high) = (low.reg(), high.reg());
        let quals = [Qual::Rn, Qual::T(Type::BF16x2), Qual::T(Type::F32)];
        Val::from_reg(with(|b| {
            b.def(
                at,
                Op::Cvt,
                &quals,
                Type::B32,
                &[Slot::reg(high), Slot::reg(low)],
            )
        }))
    }
}

type Word<'k> = Val<'k, u32, uni::Lane>;
type F32<'k> = Val<'k, f32, uni::Lane>;

/// A 16x16 left operand.
#[derive(Clone, Copy, Debug)]
pub struct FragA<'k, T>([Word<'k>; 4], PhantomData<T>);

/// A 16x8 right operand (16 along the summed dimension).
#[derive(Clone, Copy, Debug)]
pub struct FragB<'k, T>([Word<'k>; 2], PhantomData<T>);

/// A 16x8 f32 accumulator.
#[derive(Clone, Copy, Debug)]
pub struct Acc<'k>([F32<'k>; 4]);

/// One f32 for each row of an accumulator, known to the lanes that hold the row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'k>([F32<'k>; 2]);

impl<'k> State<'k> for Acc<'k> {
    fn map(&self, f: &mut Mapper<'_>) -> Self {
        Acc(self.0.map(|value| State::map(&value, f)))
    }
}

impl<'k> State<'k> for Rows<'k> {
    fn map(&self, f: &mut Mapper<'_>) -> Self {
        Rows(self.0.map(|value| State::map(&value, f)))
    }
}

impl<'k, T: Half> State<'k> for FragA<'k, T> {
    fn map(&self, f: &mut Mapper<'_>) -> Self {
        FragA(self.0.map(|value| State::map(&value, f)), PhantomData)
    }
}

/// A row-major matrix in shared memory: element (row, column) at `row * pitch + column`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'t, 'k, T> {
    view: View<'t, 'k, T>,
    pitch: u32,
}

impl<'t, 'k, T: Half> View<'t, 'k, T> {
    /// As a matrix with `pitch` elements from one row to the next. A pitch of `8 mod 64` elements avoids bank conflicts.
    pub fn matrix(self, pitch: u32) -> Matrix<'t, 'k, T> {
        Matrix { view: self, pitch }
    }
}

impl<'k> Acc<'k> {
    /// All zero.
    pub fn zero() -> Self {
        Acc([Val::constant(0.0); 4])
    }

    /// Each element with its row's value.
    #[track_caller]
    pub fn map_rows(self, rows: Rows<'k>, mut f: impl FnMut(F32<'k>, F32<'k>) -> F32<'k>) -> Self {
        let [a, b, c, d] = self.0;
        let [low, high] = rows.0;
        Acc([f(a, low), f(b, low), f(c, high), f(d, high)])
    }

    /// Each element with its row and column within the 16x8 tile.
    #[track_caller]
    pub fn map_at(
        self,
        warp: &Warp<'k>,
        mut f: impl FnMut(F32<'k>, Word<'k>, Word<'k>) -> F32<'k>,
    ) -> Self {
        let (row, column) = corner(warp);
        let [a, b, c, d] = self.0;
        Acc([
            f(a, row, column),
            f(b, row, column + 1),
            f(c, row + 8, column),
            f(d, row + 8, column + 1),
        ])
    }

    /// `f(row, column, [x, y])` for each pair of neighbours in a row; `column` is even.
    #[track_caller]
    pub fn each_pair(self, warp: &Warp<'k>, mut f: impl FnMut(Word<'k>, Word<'k>, [F32<'k>; 2])) {
        let (row, column) = corner(warp);
        let [a, b, c, d] = self.0;
        f(row, column, [a, b]);
        f(row + 8, column, [c, d]);
    }

    /// The pairs of neighbours that the lane holds: their first row and even column within the tile, the pair there
    /// and the pair 8 rows further down.
    pub fn pairs(self, warp: &Warp<'k>) -> (Word<'k>, Word<'k>, [[F32<'k>; 2]; 2]) {
        let (row, column) = corner(warp);
        let [a, b, c, d] = self.0;
        (row, column, [[a, b], [c, d]])
    }

    /// The largest of each row over several accumulators side by side, and `floor`.
    #[track_caller]
    pub fn row_max(warp: &mut Warp<'k>, accs: &[Acc<'k>], floor: Rows<'k>) -> Rows<'k> {
        Self::row_reduce(warp, accs, floor, |a, b| a.max(b))
    }

    /// The sum of each row over several accumulators side by side.
    #[track_caller]
    pub fn row_sum(warp: &mut Warp<'k>, accs: &[Acc<'k>]) -> Rows<'k> {
        Self::row_reduce(warp, accs, Rows([Val::constant(0.0); 2]), |a, b| a + b)
    }

    fn row_reduce(
        warp: &mut Warp<'k>,
        accs: &[Acc<'k>],
        start: Rows<'k>,
        combine: impl Fn(F32<'k>, F32<'k>) -> F32<'k>,
    ) -> Rows<'k> {
        let [mut low, mut high]: [Option<F32<'k>>; 2] = [None, None];
        let join = |total: Option<F32<'k>>, value| {
            Some(total.map_or(value, |total| combine(total, value)))
        };
        for Acc([a, b, c, d]) in accs {
            low = join(join(low, *a), *b);
            high = join(join(high, *c), *d);
        }
        let mut across = |own: Option<F32<'k>>, start: F32<'k>| {
            let own = own.map_or(start, |own| warp.reduce_within(4, own, &combine));
            combine(own, start)
        };
        Rows([across(low, start.0[0]), across(high, start.0[1])])
    }
}

/// The row and column of the first element that this lane holds.
fn corner<'k>(warp: &Warp<'k>) -> (Word<'k>, Word<'k>) {
    (warp.lane() >> 2, (warp.lane() & 3) << 1)
}

impl<'k> Rows<'k> {
    /// The same value in every row.
    pub fn constant(value: f32) -> Self {
        Rows([Val::constant(value); 2])
    }

    /// Row by row.
    #[track_caller]
    pub fn zip(self, other: Rows<'k>, mut f: impl FnMut(F32<'k>, F32<'k>) -> F32<'k>) -> Rows<'k> {
        Rows([f(self.0[0], other.0[0]), f(self.0[1], other.0[1])])
    }

    /// Row by row.
    #[track_caller]
    pub fn map(self, mut f: impl FnMut(F32<'k>) -> F32<'k>) -> Rows<'k> {
        Rows(self.0.map(&mut f))
    }

    /// The larger of a thread's two rows.
    #[track_caller]
    pub fn larger(self) -> F32<'k> {
        let [low, high] = self.0;
        low.max(high)
    }
}

impl<'k, T: Half> FragA<'k, T> {
    /// From its registers, each two elements of a row: lane l has columns `2 (l % 4)` on of row `l / 4`; the second 8 rows
    /// further down, the third and fourth 8 columns further right.
    pub fn from_words(words: [Word<'k>; 4]) -> Self {
        FragA(words, PhantomData)
    }

    /// Two accumulators side by side (16 columns), rounded to 16 bits, as the left operand of the next product.
    #[track_caller]
    pub fn from_accs(left: Acc<'k>, right: Acc<'k>) -> Self {
        let [a, b, c, d] = left.0;
        let [e, f, g, h] = right.0;
        FragA(
            [T::pack(a, b), T::pack(c, d), T::pack(e, f), T::pack(g, h)],
            PhantomData,
        )
    }
}

impl<'k, T: Half> FragB<'k, T> {
    /// From its registers, each two elements of a column: lane l has rows `2 (l % 4)` on of column `l / 4`; the second 8
    /// rows further down.
    pub fn from_words(words: [Word<'k>; 2]) -> Self {
        FragB(words, PhantomData)
    }
}

fn load_matrices<'k, T: Half>(
    at: &'static Location<'static>,
    matrix: Matrix<'_, 'k, T>,
    row: Val<'k, u32, uni::Lane>,
    column: Val<'k, u32, uni::Lane>,
    transpose: Transpose,
) -> [RegId; 4] {
    let index = row * matrix.pitch + column;
    let pointer = matrix.view.pointer(at, index);
    with(|b| {
        let [sync, aligned, shape, count] = [Qual::Sync, Qual::Aligned, Qual::M8n8, Qual::X4];
        let (space, ty) = (Qual::Shared, Qual::T(Type::B16));
        let plain = [sync, aligned, shape, count, space, ty];
        let transposed = [sync, aligned, shape, count, Qual::Trans, space, ty];
        let quals: &[Qual] = match transpose {
            Transpose::No => &plain,
            Transpose::Yes => &transposed,
        };
        b.defs(at, Op::Ldmatrix, quals, Type::B32, &[pointer.slot()])
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transpose {
    No,
    Yes,
}

impl<'k> Warp<'k> {
    /// The 16x16 left operand whose corner is at (row, column).
    #[track_caller]
    pub fn load_a<T: Half>(
        &mut self,
        matrix: Matrix<'_, 'k, T>,
        row: impl Agreed<'k, u32, uni::Warp>,
        column: impl Agreed<'k, u32, uni::Warp>,
    ) -> FragA<'k, T> {
        let lane = self.lane();
        let (row, column) = (
            row.agreed() + (lane & 15),
            column.agreed() + ((lane >> 4) << 3),
        );
        let regs = load_matrices(Location::caller(), matrix, row, column, Transpose::No);
        FragA(regs.map(Val::from_reg), PhantomData)
    }

    /// Two right operands, for columns n..n+8 and n+8..n+16, from a matrix stored with one row for each column of the
    /// operand (row n, column k): the layout of weights `[out, in]` and of keys.
    #[track_caller]
    pub fn load_b<T: Half>(
        &mut self,
        matrix: Matrix<'_, 'k, T>,
        n: impl Agreed<'k, u32, uni::Warp>,
        k: impl Agreed<'k, u32, uni::Warp>,
    ) -> [FragB<'k, T>; 2] {
        let lane = self.lane();
        let row = n.agreed() + ((lane & 7) + ((lane >> 4) << 3));
        let column = k.agreed() + (lane & 8);
        let [a, b, c, d] = load_matrices(Location::caller(), matrix, row, column, Transpose::No)
            .map(Val::from_reg);
        [FragB([a, b], PhantomData), FragB([c, d], PhantomData)]
    }

    /// Two right operands, for columns n..n+8 and n+8..n+16, from a matrix stored as the operand is (row k, column n):
    /// the layout of values.
    #[track_caller]
    pub fn load_b_transposed<T: Half>(
        &mut self,
        matrix: Matrix<'_, 'k, T>,
        k: impl Agreed<'k, u32, uni::Warp>,
        n: impl Agreed<'k, u32, uni::Warp>,
    ) -> [FragB<'k, T>; 2] {
        let lane = self.lane();
        let (row, column) = (k.agreed() + (lane & 15), n.agreed() + ((lane >> 4) << 3));
        let [a, b, c, d] = load_matrices(Location::caller(), matrix, row, column, Transpose::Yes)
            .map(Val::from_reg);
        [FragB([a, b], PhantomData), FragB([c, d], PhantomData)]
    }

    /// `acc + a * b`: one `mma.m16n8k16` from sm_80 on, two `mma.m16n8k8` on sm_75.
    #[track_caller]
    pub fn mma<T: Half>(&mut self, a: FragA<'k, T>, b: FragB<'k, T>, acc: Acc<'k>) -> Acc<'k> {
        let at = Location::caller();
        let FragA([a0, a1, a2, a3], _) = a;
        let FragB([b0, b1], _) = b;
        let ty = if T::FIRST_SM >= 80 {
            Type::BF16
        } else {
            Type::F16
        };
        if with(|b| b.target.sm >= 80) {
            return multiply(at, Qual::M16n8k16, ty, &[a0, a1, a2, a3], &[b0, b1], acc);
        }
        let half = multiply(at, Qual::M16n8k8, ty, &[a0, a1], &[b0], acc);
        multiply(at, Qual::M16n8k8, ty, &[a2, a3], &[b1], half)
    }
}

fn multiply<'k>(
    at: &'static Location<'static>,
    shape: Qual,
    ty: Type,
    a: &[Word<'k>],
    b: &[Word<'k>],
    acc: Acc<'k>,
) -> Acc<'k> {
    let words = |words: &[Word<'k>]| -> SmallVec<[RegId; 4]> {
        words.iter().map(|word| word.reg()).collect()
    };
    let (a, b) = (words(a), words(b));
    let c = acc.0.map(|value| value.reg());
    let (sync, f32) = (
        [Qual::Sync, Qual::Aligned, shape, Qual::Row, Qual::Col],
        Qual::T(Type::F32),
    );
    let quals = [
        sync[0],
        sync[1],
        sync[2],
        sync[3],
        sync[4],
        f32,
        Qual::T(ty),
        Qual::T(ty),
        f32,
    ];
    with(|builder| {
        let d: [RegId; 4] = std::array::from_fn(|_| builder.reg(Type::F32));
        builder.line(at, Op::Mma, &quals, |slots| {
            group(slots, d);
            group(slots, a);
            group(slots, b);
            group(slots, c);
        });
        Acc(d.map(Val::from_reg))
    })
}

/// A braced operand, also for one register.
pub(crate) fn group(
    slots: &mut Vec<Slot>,
    regs: impl IntoIterator<Item = RegId, IntoIter: ExactSizeIterator>,
) {
    let regs = regs.into_iter();
    slots.push(Slot::group(regs.len() as u32));
    slots.extend(regs.map(Slot::reg));
}
