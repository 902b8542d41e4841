//! Rows of a weight matrix by index: token embeddings, and the dequantisation of whole matrices.

use crate::{
    case::{AnyCase, Case, Expected, Random},
    gemm::matrix::Matrix,
    quantize::Columns,
    weights::{BLOCK, GROUP, Layout, Planes, layout_name},
};
use warpsmith_formats::quant::WeightType;
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, args};

args! {
    /// `y[t] = W[ids[t]]`, in f32; a row of NaN for an id past the last row, which callers check for before.
    pub struct EmbedArgs {
        ids: In<u32>[tokens],
        table: Group<Planes>,
        y: Out<f32>[tokens, columns],
        tokens: Scalar<u32>, vocab: Scalar<u32>, columns: Scalar<u32>,
    }
}

/// The kernel for a layout: a CTA for each token. The values are those of `formats::quant::dequantize` bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Embed {
    /// Layout of `W`.
    pub layout: Layout,
    /// How rows are written.
    pub columns: Columns,
}

impl Kernel for Embed {
    type Args = EmbedArgs;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        let layout = layout_name(self.layout);
        format!("embed_{layout}{}", self.columns.suffix())
    }

    fn threads(&self) -> u32 {
        64
    }

    fn grid(&self, a: &EmbedArgs) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        a.table.check(self.layout, a.vocab, a.columns)?;
        // Without a row there is nothing to read, not even for a bad id.
        Ok(if a.vocab == 0 { 0 } else { a.tokens.into() })
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: EmbedArgs<InKernel<'k>>) {
        let id = a.ids.at(cta.id());
        let known = id.lt(a.vocab);
        let row = id.min(a.vocab - 1);
        let planes = a.table.row(row / BLOCK, (row % BLOCK).varying());
        let y = a.y.row(cta.id());
        cta.each(a.columns.div_ceil(GROUP) * 2, |lane, item| {
            let (group, half) = (item / 2, item % 2);
            let values = planes.half_values(self.layout, group, half);
            let values = values.map(|value| known.select(value, f32::NAN));
            for (quad, values) in values.as_chunks::<4>().0.iter().enumerate() {
                let column = item * 16 + 4 * quad as u32;
                match self.columns {
                    Columns::Quads => lane.if_(column.lt(a.columns), |_| {
                        y.set_vector(column, *values);
                    }),
                    Columns::Any => {
                        for (at, value) in values.iter().enumerate() {
                            let column = column + at as u32;
                            lane.if_(column.lt(a.columns), |_| y.set(column, *value));
                        }
                    }
                }
            }
        });
    }
}

/// Whole matrices of every type, repeated and unknown ids, ragged columns.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    for ty in WeightType::ALL {
        let vocab = rng.pick(&[1, 31, 33, 65]);
        let columns = 256 * rng.range(1, 2);
        let all: Vec<u32> = (0..vocab).collect();
        cases.push(Box::new(case(rng, ty, [vocab, columns], all)));
        let wild = vec![vocab, 0, vocab - 1, 0, u32::MAX];
        cases.push(Box::new(case(rng, ty, [vocab, columns], wild)));
        if ty.block_len() == 1 {
            for columns in [1, 33, 36, 257] {
                let all: Vec<u32> = (0..vocab).collect();
                cases.push(Box::new(case(rng, ty, [vocab, columns], all)));
            }
        }
    }
    cases.push(Box::new(case(rng, WeightType::Q8_0, [70, 576], vec![69])));
    cases
}

fn case(rng: &mut Random, ty: WeightType, shape: [u32; 2], ids: Vec<u32>) -> Case<Embed> {
    let [vocab, columns] = shape;
    let w = Matrix::random(rng, ty, vocab, columns);
    let row = |id: &u32| -> Vec<f64> {
        let start = *id as usize * columns as usize;
        w.values.get(start..start + columns as usize).map_or_else(
            || vec![f64::NAN; columns as usize],
            |row| row.iter().map(|x| f64::from(*x)).collect(),
        )
    };
    let want = ids.iter().flat_map(row).collect();
    let tokens = ids.len() as u32;
    Case {
        label: format!("{tokens} of {vocab}x{columns}"),
        kernel: Embed {
            layout: w.layout,
            columns: Columns::of(columns),
        },
        args: EmbedArgs {
            ids: ids.into(),
            table: w.planes(),
            y: Expected::exact(want),
            tokens,
            vocab,
            columns,
        },
    }
}
