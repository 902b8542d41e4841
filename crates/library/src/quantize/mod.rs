//! Activations made ready for a product: 8-bit groups with their sums for `dp4a` and for `mma`, scaled f16 for `mma`.

mod cases;
mod half_rows;
mod q8;
mod tiles;

pub(crate) use cases::cases;
pub(crate) use half_rows::power_of_row;
pub use half_rows::{ToF16, ToF16Args, to_f16_reference};
pub use q8::{Q8Rows, QuantizeQ8, QuantizeQ8Args, quantize_q8_reference};
pub(crate) use q8::{Quad, quantize_quad};
pub(crate) use tiles::FRAGMENT;
pub use tiles::{EIGHT, QuantizeTiles, QuantizeTilesArgs, quantize_tiles_reference, tile_words};

use warpsmith_kernel::{
    Global, LaunchError, Read, Scope, Val, require,
    uni::{self, Join, Uni},
};

/// How rows of activations are read: `Quads` takes four columns at once, which rows of `4 n` columns allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Columns {
    /// A multiple of four.
    Quads,
    /// Any number.
    Any,
}

impl Columns {
    /// The faster way that rows of `columns` allow.
    pub fn of(columns: u32) -> Columns {
        if columns.is_multiple_of(4) {
            Columns::Quads
        } else {
            Columns::Any
        }
    }

    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Columns::Quads => "",
            Columns::Any => "_any",
        }
    }

    pub(crate) fn check(self, columns: u32) -> Result<(), LaunchError> {
        let holds = match self {
            Columns::Quads => columns.is_multiple_of(4),
            Columns::Any => true,
        };
        require(holds, "columns", columns.into(), "a multiple of four")
    }

    /// Columns `at .. at + 4` of a row of `columns`, zeros behind its end.
    #[track_caller]
    pub(crate) fn read<'k, S: Scope<'k>, U: Uni + Join<uni::Lane>>(
        self,
        scope: &mut S,
        row: Global<'k, f32, Read, U>,
        columns: Val<'k, u32, uni::Cta>,
        at: Val<'k, u32, uni::Lane>,
    ) -> [Val<'k, f32, uni::Lane>; 4] {
        let zero = || [Val::constant(0.0); 4];
        match self {
            Columns::Quads => scope.either(
                at.lt(columns),
                |_| row.vector::<4, _>(at).map(Val::varying),
                |_| zero(),
            ),
            Columns::Any => [0u32, 1, 2, 3].map(|i| {
                let inside = (at + i).lt(columns);
                scope.either(inside, |_| row.at(at + i).varying(), |_| Val::constant(0.0))
            }),
        }
    }
}
