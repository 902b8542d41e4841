//! The first codes of W that a warp multiplies by, fetched before the rows of x are there.

use super::{
    dot::{Matrix, Placed},
    source::{Form, Source},
};
use crate::{
    persistent::PREFETCHED,
    weights::{Layout, Piece},
};
use warpsmith_kernel::{Ahead, Val, Warp, uni};

/// Which codes these are: the first groups of a warp's share of a block, of each matrix.
#[derive(Clone, Copy)]
pub(super) struct First {
    /// Groups of each matrix.
    groups: u32,
}

/// Groups that are multiplied in one round: addresses and loop are paid for once.
pub(super) fn round(source: &Source, matrices: usize) -> u32 {
    match (source.form, source.rows * matrices as u32) {
        (Form::Single | Form::Half, _) => 1,
        (Form::Bytes, 0..=2) => 4,
        (Form::Bytes, 3..=4) => 2,
        (Form::Bytes, _) => 1,
    }
}

impl First {
    /// What a warp's first round takes where `split` share a block, as far as there is room; `None` where codes are less
    /// than a piece, and for tensor cores, whose operands are single words.
    pub(super) fn of(source: &Source, layouts: &[Layout], split: u32) -> Option<First> {
        let round = round(source, layouts.len());
        let pieces = layouts.iter().map(|layout| layout.pieces());
        let whole = layouts.iter().all(|layout| layout.pieces() > 0);
        let fits = whole && source.form != Form::Half && split * round <= source.groups();
        let groups = round.min(PREFETCHED / pieces.sum::<u32>().max(1));
        (fits && groups > 0).then_some(First { groups })
    }

    /// Pieces of a thread.
    pub(super) fn pieces(self, layouts: &[Layout]) -> u32 {
        self.groups * layouts.iter().map(|layout| layout.pieces()).sum::<u32>()
    }

    /// Begins to fetch them for share `part`.
    pub(super) fn fetch<'k, const N: usize>(
        self,
        source: &Source,
        matrices: [Matrix<'k>; N],
        part: Val<'k, u32, uni::Warp>,
        ahead: Ahead<'k>,
    ) {
        let first = part * round(source, N);
        let mut place = 0;
        for Placed { layout, planes } in matrices.map(Matrix::placed) {
            for group in 0..self.groups {
                let planes = planes.ahead(layout, group);
                for piece in planes.group_pieces(layout, first) {
                    ahead.fetch(place, piece);
                    place += 1;
                }
            }
        }
    }

    /// Waits for them.
    pub(super) fn arrive<'k, const N: usize>(
        self,
        layouts: [Layout; N],
        ahead: Ahead<'k>,
    ) -> Fetched<'k> {
        let arrived = ahead.arrive();
        let pieces = (0..self.pieces(&layouts)).map(|place| arrived.words(place));
        Fetched {
            groups: self.groups,
            pieces: pieces.collect(),
        }
    }
}

/// The codes in registers: of each matrix its groups in order.
pub(super) struct Fetched<'k> {
    groups: u32,
    pieces: Vec<Piece<'k>>,
}

impl<'k> Fetched<'k> {
    /// Group `group` of matrix `matrix`, if it was fetched.
    pub(super) fn group(
        &self,
        layouts: &[Layout],
        matrix: usize,
        group: u32,
    ) -> Option<&[Piece<'k>]> {
        let before: u32 = layouts[..matrix]
            .iter()
            .map(|layout| self.groups * layout.pieces())
            .sum();
        let own = layouts[matrix].pieces();
        let start = (before + group * own) as usize;
        (group < self.groups).then(|| &self.pieces[start..start + own as usize])
    }
}

/// How a warp goes on from one unit to the next: after the first round of each its successor's codes are fetched.
pub(super) struct Following<'a, 'k> {
    pub(super) first: First,
    pub(super) ahead: Ahead<'k>,
    pub(super) next: &'a dyn Fn(&mut Warp<'k>),
}
