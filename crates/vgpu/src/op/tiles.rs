//! Room for widened fragments of matrices.

/// 16 rows of A, each with its k along.
#[derive(Clone, Debug)]
#[repr(C, align(32))]
pub(crate) struct TileA(pub(crate) [[f32; 16]; 16]);

/// B with k outside: the columns 0, 2, 4, 6, 1, 3, 5, 7 of each k, which is how two accumulator registers
/// lie beside each other.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct TileB(pub(crate) [[f32; 8]; 16]);

/// A with k outside: four rows of which each element stands four times, for each four rows of each k. That is how
/// an accumulator register lies in memory: four columns of four rows.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Spread(pub(crate) [[[f32; 16]; 4]; 16]);

/// Fragments of A that are kept in one run.
pub(crate) const TILES_A: usize = 8;
/// Different fragments of B in one run.
pub(crate) const TILES_B: usize = 32;
/// Widened fragments: kept by the context so that no op has to clear them.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    pub(crate) a: Vec<TileA>,
    pub(crate) spread: Vec<Spread>,
    pub(crate) b: Vec<TileB>,
}

impl Default for Tiles {
    fn default() -> Tiles {
        Tiles {
            a: vec![TileA([[0.0; 16]; 16]); TILES_A],
            spread: vec![Spread([[[0.0; 16]; 4]; 16]); TILES_A],
            b: vec![TileB([[0.0; 8]; 16]); TILES_B],
        }
    }
}
