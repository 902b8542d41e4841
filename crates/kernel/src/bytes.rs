//! Products of bytes held by a warp: unsigned ones by signed ones, exact sums in s32 (PTX ISA 9.7.14.5).

use crate::{build::with, frag::group, scope::Warp, uni, val::Val};
use smallvec::SmallVec;
use std::panic::Location;
use warpsmith_ptx::{ir::RegId, op::Op, qual::Qual, types::Type};

type Word<'k> = Val<'k, u32, uni::Lane>;
type Sum<'k> = Val<'k, i32, uni::Lane>;

impl<'k> Warp<'k> {
    /// `acc + a b` with a 16 x 16 N and b 16 N x 8, N being 1 or 2: lane `4 g + t` has
    /// - of each 16 columns of `a`, unsigned bytes: columns `4 t` to `4 t + 3` of rows `g` and `g + 8`;
    /// - of each 16 rows of `b`, signed bytes: rows `4 t` to `4 t + 3` of column `g`;
    /// - of the sums: row `g`, columns `2 t` and `2 t + 1`, then the same of row `g + 8`.
    ///
    /// One `mma.m16n8k16` or `mma.m16n8k32` from sm_80 on; as many `mma.m8n8k16` as that takes on sm_75.
    #[track_caller]
    pub fn mma_bytes<const N: usize>(
        &mut self,
        a: [[Word<'k>; 2]; N],
        b: [Word<'k>; N],
        acc: [Sum<'k>; 4],
    ) -> [Sum<'k>; 4] {
        const { assert!(N == 1 || N == 2, "one or two sixteens") };
        let at = Location::caller();
        if with(|b| b.target.sm >= 80) {
            let shape = [Qual::M16n8k16, Qual::M16n8k32][N - 1];
            let a: SmallVec<[Word<'k>; 4]> = a.into_iter().flatten().collect();
            return multiply(at, shape, &a, &b, acc);
        }
        let [low, high] = [[acc[0], acc[1]], [acc[2], acc[3]]];
        let rows = |half: usize, acc: [Sum<'k>; 2]| {
            let sixteens = a.iter().zip(&b);
            sixteens.fold(acc, |acc, (a, b)| {
                multiply(at, Qual::M8n8k16, &[a[half]], &[*b], acc)
            })
        };
        let ([a, b], [c, d]) = (rows(0, low), rows(1, high));
        [a, b, c, d]
    }
}

fn multiply<'k, const N: usize>(
    at: &'static Location<'static>,
    shape: Qual,
    a: &[Word<'k>],
    b: &[Word<'k>],
    acc: [Sum<'k>; N],
) -> [Sum<'k>; N] {
    let words = |words: &[Word<'k>]| -> SmallVec<[RegId; 4]> {
        words.iter().map(|word| word.reg()).collect()
    };
    let (a, b, c) = (words(a), words(b), acc.map(|sum| sum.reg()));
    let [u8, s8, s32] = [Type::U8, Type::S8, Type::S32].map(Qual::T);
    let quals = [
        Qual::Sync,
        Qual::Aligned,
        shape,
        Qual::Row,
        Qual::Col,
        s32,
        u8,
        s8,
        s32,
    ];
    with(|builder| {
        let d: [RegId; N] = std::array::from_fn(|_| builder.reg(Type::S32));
        builder.line(at, Op::Mma, &quals, |slots| {
            group(slots, d);
            group(slots, a);
            group(slots, b);
            group(slots, c);
        });
        d.map(Val::from_reg)
    })
}
