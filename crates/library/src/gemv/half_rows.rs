//! Products of f16 weights with few rows by `mma`: weights are the left operand as they lie, rows of x its columns.

use crate::{
    case::{AnyCase, Case, EPS_F32, Random},
    epilogue::{Epilogue, Outputs},
    gemm::matrix::{Matrix, Near, Operands, dot, epilogues},
    quantize::to_f16_reference,
    team::rounds,
    weights::{BLOCK, Codes, FloatType, GROUP, Layout, Planes},
};
use half::f16;
use warpsmith_formats::quant::WeightType;
use warpsmith_kernel::{
    Acc, BuildError, Cta, FragA, FragB, Global, Half, InKernel, Kernel, LaunchError, Read, Scope,
    Val, Warp, args, limits, steps, uni,
};
use warpsmith_ptx::target::Target;

args! {
    /// As `gemm::GemmArgs`: `x` is f16 `[m, padded]` with zeros behind the columns, and row i stands for
    /// `x[i] * row_scale[i]`; `W` is `[n, padded]` in f16, `y` is f32 `[m, n]`.
    pub struct GemvHalfArgs {
        x: In<f16>[out.m, padded], row_scale: In<f32>[out.m],
        w: Group<Planes>,
        out: Group<Outputs>,
         padded: Scalar<u32>,
    }
}

/// The kernel: a warp for each block of 32 rows of W and eight rows of x.
///
/// What 8 rows of a block have of 8 columns is 32 words side by side: a register of the left operand is one access of the
/// warp, and nothing passes through shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GemvHalf {
    /// What is done to each output.
    pub epilogue: Epilogue,
}

/// Rows of x that are multiplied together.
const ROWS: u32 = 8;
/// Groups that are loaded before they are multiplied.
const GROUPS: u32 = 2;

type Sums<'k> = [Acc<'k>; 2];

impl GemvHalf {
    fn layout() -> Layout {
        Layout::of(WeightType::F16)
    }

    /// Whether it is for weights of this layout.
    pub fn takes(layout: Layout) -> bool {
        layout.codes == Codes::Float(FloatType::F16)
    }
}

impl Kernel for GemvHalf {
    type Args = GemvHalfArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("gemv_half_f16{}", self.epilogue.suffix())
    }

    fn threads(&self) -> u32 {
        32
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        if target.sm < f16::FIRST_SM {
            return Err(BuildError::Unsupported {
                kernel: self.name(),
                target,
                feature: "mma.m16n8k8",
            });
        }
        Ok(())
    }

    fn grid(&self, a: &GemvHalfArgs) -> Result<u64, LaunchError> {
        limits! {
            a.padded: a.padded.is_multiple_of(GROUP), "a multiple of 32";
        }
        a.w.check(Self::layout(), a.out.n, a.padded)?;
        Ok(u64::from(a.out.m.div_ceil(ROWS)) * u64::from(a.out.n.div_ceil(BLOCK)))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemvHalfArgs<InKernel<'k>>) {
        let (block, first) = (cta.id() % a.w.blocks, (cta.id() / a.w.blocks) * ROWS);
        rounds(cta, 1, |warp, _| {
            let lane = warp.lane();
            // Lane l holds column pair l % 4 of row l / 4 of either operand. Rows past the last repeat it.
            let row = (first + (lane >> 2)).min(a.out.m - 1);
            let x = a.x.row(row).from((lane & 3) << 1);
            let planes = a.w.row(block, Val::constant(0));
            let weights = planes.codes.from(lane);
            let groups = a.padded / GROUP;
            let whole = groups / GROUPS * GROUPS;
            let zero = [Acc::zero(); 2];
            let sums = warp.fold(
                steps(0u32, Val::<u32, uni::Warp>::from(whole), GROUPS),
                zero,
                |warp, group, sums| products(warp, weights, x, group, GROUPS, sums),
            );
            let rest = steps(Val::<u32, uni::Warp>::from(whole), groups, 1);
            let sums = warp.fold(rest, sums, |warp, group, sums| {
                products(warp, weights, x, group, 1, sums)
            });
            for (tile, acc) in sums.into_iter().enumerate() {
                let mut pairs = Vec::new();
                acc.each_pair(warp, |row, column, values| {
                    pairs.push((block * BLOCK + row + 16 * tile as u32, column, values));
                });
                for (n, column, values) in pairs {
                    for (side, value) in values.into_iter().enumerate() {
                        let m = first + column + side as u32;
                        warp.if_(n.lt(a.out.n) & m.lt(a.out.m), |_| {
                            let value = value * a.row_scale.at(m);
                            a.out.set(self.epilogue, m, n, value);
                        });
                    }
                }
            }
        });
    }
}

/// Adds `count` groups from `group` on to both tiles of 16 rows.
fn products<'k>(
    warp: &mut Warp<'k>,
    weights: Global<'k, u32, Read, uni::Lane>,
    x: Global<'k, f16, Read, uni::Lane>,
    group: Val<'k, u32, uni::Warp>,
    count: u32,
    mut sums: Sums<'k>,
) -> Sums<'k> {
    // A piece is 8 columns of 32 rows: 4 words of each.
    let weights = weights.from(group * (16 * BLOCK));
    let x = x.from(group * GROUP);
    let word = |piece: u32, eight: u32| {
        let [word] = weights.words::<1, _>(piece * (4 * BLOCK) + eight * 32);
        word
    };
    let depths: Vec<u32> = (0..2 * count).collect();
    let left: Vec<Vec<FragA<f16>>> = (0..2)
        .map(|tile| {
            let frag = |depth: &u32| {
                let at = |piece: u32, half: u32| word(2 * depth + piece, 2 * tile + half);
                FragA::from_words([at(0, 0), at(0, 1), at(1, 0), at(1, 1)])
            };
            depths.iter().map(frag).collect()
        })
        .collect();
    let right: Vec<FragB<f16>> = depths
        .iter()
        .map(|depth| {
            FragB::from_words([0, 8].map(|k| {
                let [word] = x.words::<1, _>(16 * depth + k);
                word
            }))
        })
        .collect();
    for (sum, left) in sums.iter_mut().zip(&left) {
        for (a, b) in left.iter().zip(&right) {
            *sum = warp.mma(*a, *b, *sum);
        }
    }
    sums
}

/// Odd numbers of rows, columns and groups, every epilogue.
pub(crate) fn cases(rng: &mut Random, cases: &mut Vec<Box<dyn AnyCase>>) {
    let plain = Epilogue::default();
    let mut shapes = vec![
        (1, 1, 32),
        (1, 33, 96),
        (8, 64, 64),
        (9, 45, 257),
        (3, 130, 513),
    ];
    shapes.push((rng.range(1, 8), rng.range(1, 200), rng.range(1, 400)));
    for (m, n, k) in shapes {
        cases.push(Box::new(case(rng, [m, n, k], plain)));
    }
    for epilogue in epilogues() {
        cases.push(Box::new(case(rng, [5, 45, 64], epilogue)));
    }
}

fn case(rng: &mut Random, [m, n, k]: [u32; 3], epilogue: Epilogue) -> Case<GemvHalf> {
    let w = Matrix::random(rng, WeightType::F16, n, k);
    let (x, row_scale) = to_f16_reference(&rng.numbers((m * k) as usize, 3.0), k as usize);
    let others = Operands::random(rng, m, n);
    let padded = k.next_multiple_of(GROUP);
    // Tensor cores may cut sums off rather than round them.
    let rounding = f64::from(k + 16) * 2.0 * EPS_F32;
    let mut products = Vec::new();
    for (x, scale) in x.chunks(padded as usize).zip(&row_scale) {
        let x: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
        for w in w.values.chunks(k as usize) {
            let near = dot(
                w.iter().map(|w| f64::from(*w)).zip(x.iter().copied()),
                rounding,
            );
            products.push(Near {
                value: near.value * f64::from(*scale),
                error: near.error * f64::from(*scale),
            });
        }
    }
    Case {
        label: format!("{m}x{n}x{k}"),
        kernel: GemvHalf { epilogue },
        args: GemvHalfArgs {
            x: x.into(),
            row_scale: row_scale.into(),
            w: w.planes(),
            out: others.outputs(epilogue, &products),
            padded,
        },
    }
}
