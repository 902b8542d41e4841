//! The choice of a kernel for a product, and of the form its activations take, as data.

use super::{
    exact::{GemmF32, Square},
    integer::{Eights, GemmInt},
    tensor_core::Gemm,
    tile::Tiling,
};
use crate::{
    epilogue::Epilogue,
    gemv::{GemvF32, GemvHalf, GemvQ8, Spread},
    quantize::{Columns, EIGHT, tile_words},
    weights::{GROUP, Layout},
};
use half::f16;
use warpsmith_kernel::{Half, Hardware};

/// How a product may be computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// f32 throughout, on dequantised weights.
    Exact,
    /// 8-bit or f16 activations, tensor cores.
    #[default]
    Fast,
}

/// A product `[m, k]` by `[n, k]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Rows of x.
    pub m: u32,
    /// Rows of W.
    pub n: u32,
    /// Columns of both.
    pub k: u32,
    /// Layout of W.
    pub layout: Layout,
    /// What is done to each output.
    pub epilogue: Epilogue,
    /// How it may be computed.
    pub precision: Precision,
}

/// A kernel for a product.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// Few rows, quantised weights and activations.
    GemvQ8(GemvQ8),
    /// Few rows, f32.
    GemvF32(GemvF32),
    /// Few rows, f16 weights, tensor cores.
    GemvHalf(GemvHalf),
    /// Many rows, f32.
    GemmF32(GemmF32),
    /// Many rows, quantised weights and activations, tensor cores.
    GemmInt(GemmInt),
    /// Many rows, tensor cores.
    Gemm(Gemm),
}

/// The form in which a product takes its activations `[m, k]`; whatever is not f32 is scratch that a kernel of
/// [`crate::quantize`] fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activations {
    /// As they are.
    F32,
    /// By `quantize::QuantizeQ8`.
    Q8 {
        /// Words of a row, u32.
        row_words: u32,
        /// Scales of a row, f32.
        row_scales: u32,
    },
    /// By `quantize::QuantizeTiles`.
    Q8Tiles {
        /// Eights of rows of a tile.
        eights: u32,
        /// Words of a tile, u32.
        tile_words: u32,
    },
    /// By `quantize::ToF16`, with one f32 of row scale for each row.
    F16 {
        /// Elements of a row, f16.
        padded: u32,
    },
}

impl Activations {
    /// Of rows of `k` quantised to 8 bits.
    pub fn q8(k: u32) -> Activations {
        let groups = k.div_ceil(GROUP);
        Activations::Q8 {
            row_words: groups * 8,
            row_scales: groups * 4,
        }
    }

    /// Of `m` rows of `k` quantised to 8 bits, as right operands of `mma`.
    pub fn q8_tiles(m: u32, k: u32) -> Activations {
        let eights = Eights::of_rows(m);
        Activations::Q8Tiles {
            eights,
            tile_words: tile_words(eights, k),
        }
    }

    /// Of rows of `k` in f16.
    pub fn f16(k: u32) -> Activations {
        Activations::F16 {
            padded: k.next_multiple_of(GROUP),
        }
    }

    /// Elements of the two scratch arrays for `m` rows: words and scales, words alone, or f16 and row scales; zeros for f32.
    pub fn scratch(self, m: u32) -> [u64; 2] {
        let rows = |per_row: u32| u64::from(m) * u64::from(per_row);
        match self {
            Activations::F32 => [0, 0],
            Activations::Q8 {
                row_words,
                row_scales,
            } => [rows(row_words), rows(row_scales)],
            Activations::Q8Tiles { eights, tile_words } => {
                let tiles = u64::from(m.div_ceil(EIGHT * eights));
                [tiles * u64::from(tile_words), 0]
            }
            Activations::F16 { padded } => [rows(padded), rows(1)],
        }
    }
}

/// A kernel and the form of its activations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The kernel.
    pub product: Product,
    /// The form of `x`.
    pub activations: Activations,
}

/// Rows up to which a product is a matter of reading the weights.
const FEW: u32 = 8;
/// Rows up to which decoding weights once for each row of CTAs is cheaper than a tile of 64.
const FEW_EXACT: u32 = 4;

/// Picks the kernel for a product.
///
/// Exact: up to 4 rows a warp for each block of rows of W, above tiles of 64 by 64. Fast, quantised weights: up to 8 rows
/// integer products of each row, above tensor cores on bytes. Fast, other weights: up to 8 rows f32 (tensor cores for f16 on
/// the virtual GPU: one handler does much), above tensor cores. f32 tiles where the target has none.
///
/// On the virtual GPU integer products of each row are right for any number of rows: four products of bytes are one
/// instruction of a CPU too, and activations that all lanes share need not be moved between lanes, as tensor cores want it.
pub fn choose(problem: Problem, hardware: Hardware) -> Choice {
    let Problem {
        m,
        n,
        k,
        layout,
        epilogue,
        precision,
    } = problem;
    let spread = Spread::choose(m, n, k, hardware);
    let columns = Columns::of(k);
    let few_f32 = || Choice {
        product: Product::GemvF32(GemvF32 {
            layout,
            columns,
            spread,
            epilogue,
        }),
        activations: Activations::F32,
    };
    let many_f32 = || Choice {
        product: Product::GemmF32(GemmF32 {
            layout,
            columns,
            square: Square::choose(m, n, hardware),
            epilogue,
        }),
        activations: Activations::F32,
    };
    let multiplies_bytes = hardware.target.sm >= GemmInt::FIRST_SM;
    match precision {
        Precision::Exact if m <= FEW_EXACT => few_f32(),
        Precision::Exact => many_f32(),
        Precision::Fast
            if (2..=FEW).contains(&m)
                && GemvHalf::takes(layout)
                && hardware.is_virtual()
                && hardware.target.sm >= f16::FIRST_SM =>
        {
            Choice {
                product: Product::GemvHalf(GemvHalf { epilogue }),
                activations: Activations::f16(k),
            }
        }
        Precision::Fast if m <= FEW && !layout.is_quantised() => few_f32(),
        Precision::Fast if layout.is_quantised() && (m <= FEW || hardware.is_virtual()) => Choice {
            product: Product::GemvQ8(GemvQ8 {
                layout,
                spread,
                epilogue,
            }),
            activations: Activations::q8(k),
        },
        Precision::Fast if layout.is_quantised() && multiplies_bytes => Choice {
            product: Product::GemmInt(GemmInt {
                layout,
                spread: Eights::choose(m, n, k, hardware),
                epilogue,
            }),
            activations: Activations::q8_tiles(m, k),
        },
        Precision::Fast if hardware.target.sm < f16::FIRST_SM => many_f32(),
        Precision::Fast => Choice {
            product: Product::Gemm(Gemm {
                layout,
                tiling: Tiling::choose(m, n, hardware),
                epilogue,
            }),
            activations: Activations::f16(k),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_formats::quant::WeightType;
    use warpsmith_kernel::Processor;
    use warpsmith_ptx::target::Target;

    fn problem(ty: WeightType, m: u32, precision: Precision) -> Problem {
        Problem {
            m,
            n: 576,
            k: 1536,
            layout: Layout::of(ty),
            epilogue: Epilogue::default(),
            precision,
        }
    }

    fn pick(ty: WeightType, m: u32, precision: Precision, sm: u16) -> Choice {
        let target = Target::sm(sm);
        let hardware = Hardware {
            target,
            sms: 132,
            processor: Processor::Card,
        };
        choose(problem(ty, m, precision), hardware)
    }

    #[test]
    fn rows_and_precision_decide() {
        let fast = |ty, m, sm| pick(ty, m, Precision::Fast, sm);
        let one = fast(WeightType::Q4K, 1, 90);
        assert!(matches!(one.product, Product::GemvQ8(_)));
        assert_eq!(one.activations.scratch(1), [384, 192]);
        let half = fast(WeightType::F16, 8, 90);
        assert!(matches!(half.product, Product::GemvF32(_)));
        let many = fast(WeightType::Q4K, 9, 90);
        assert!(matches!(many.product, Product::GemmInt(_)));
        // Two eights of rows of 48 groups.
        assert_eq!(many.activations.scratch(9), [2 * 48 * 96, 0]);
        let old = fast(WeightType::Q4K, 9, 70);
        assert!(matches!(old.product, Product::GemmF32(_)));
        let half = fast(WeightType::F16, 9, 90);
        assert!(matches!(half.product, Product::Gemm(_)));
        assert_eq!(half.activations.scratch(9), [9 * 1536, 9]);
        let exact = pick(WeightType::Q4K, 4, Precision::Exact, 90);
        assert!(matches!(exact.product, Product::GemvF32(_)));
        assert_eq!(exact.activations.scratch(4), [0, 0]);
    }

    #[test]
    fn the_processor_decides_and_not_how_many_multiprocessors_there_are() {
        for sms in [1, 2, 4, 16, 64, 132] {
            for processor in [Processor::Card, Processor::Virtual] {
                let hardware = Hardware {
                    target: Target::sm(90),
                    sms,
                    processor,
                };
                let product =
                    |m| choose(problem(WeightType::Q4K, m, Precision::Fast), hardware).product;
                // The 18 blocks of rows are warps enough for one multiprocessor of a card.
                let alone = hardware.is_virtual() || sms == 1;
                for m in 1..=FEW {
                    let Product::GemvQ8(few) = product(m) else {
                        panic!("{hardware:?}");
                    };
                    assert_eq!(few.spread.split == 1, alone, "{hardware:?}");
                }
                for m in [FEW + 1, 17, 512] {
                    match product(m) {
                        Product::GemmInt(many) => {
                            assert!(!hardware.is_virtual());
                            assert_eq!(many.spread.eights, Eights::of_rows(m));
                            let fills = sms == 1 || (sms <= 16 && m == 512);
                            assert_eq!(many.spread.split == 1, fills, "{hardware:?} {m}");
                        }
                        Product::GemvQ8(many) => {
                            assert!(hardware.is_virtual());
                            assert_eq!(many.spread.split, 1);
                        }
                        other => panic!("{hardware:?} {m}: {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_hold_all_rows_and_few_more() {
        for m in 1..=4096 {
            let eights = Eights::of_rows(m);
            assert!((1..=4).contains(&eights), "{m}");
            let tiles = m.div_ceil(8 * eights);
            // As many tiles as the largest make, each but the last full of eights.
            assert_eq!(tiles, m.div_ceil(32), "{m}");
            assert!(tiles * eights - m.div_ceil(8) < tiles, "{m}");
        }
    }
}
