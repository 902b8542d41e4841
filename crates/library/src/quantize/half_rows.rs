//! f32 rows to f16, each scaled by a power of two so that its largest magnitude is in `[2^13, 2^14]`.

use super::Columns;
use crate::weights::GROUP;
use half::f16;
use warpsmith_kernel::{Cta, Device, Kernel, LaunchError, Val, args, require, uni};

args! {
    /// `x[i] ~ y[i] * row_scale[i]`; `y` has zeros behind the columns.
    pub struct ToF16Args {
        x: In<f32>[rows, columns], y: Out<f16>[rows, padded], row_scale: Out<f32>[rows],
        rows: Scalar<u32>, columns: Scalar<u32>, padded: Scalar<u32>,
    }
}

/// The kernel: a CTA for each row. NaN and infinities stay what they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToF16 {
    /// How rows are read.
    pub columns: Columns,
}

/// The biased exponent that row maxima get: 2^13.
const TARGET: u32 = 127 + 13;
/// Exponents for which both the factor and its inverse are normal numbers.
const EXPONENTS: [u32; 2] = [TARGET - 126, 254];

impl Kernel for ToF16 {
    type Args = ToF16Args;

    fn name(&self) -> String {
        format!("to_f16{}", self.columns.suffix())
    }

    fn threads(&self) -> u32 {
        128
    }

    fn grid(&self, a: &ToF16Args) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        let padded = a.columns < 1 << 24 && a.padded == a.columns.next_multiple_of(GROUP);
        let expected = "the columns, below 2^24, padded to a multiple of 32";
        require(padded, "padded", a.padded.into(), expected)?;
        Ok(a.rows.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ToF16Args<Device<'k>>) {
        let row = cta.id();
        let (x, y) = (a.x.row(row), a.y.row(row));
        let most = cta.max(0u32, a.columns, |i| x.at(i).to_bits() & 0x7fff_ffff);
        let exponent = (most >> 23).max(EXPONENTS[0]).min(EXPONENTS[1]);
        // 2^(13 - e) and its inverse, put together from their exponents.
        let up = ((Val::<u32, uni::Cta>::constant(TARGET + 127) - exponent) << 23).as_f32();
        cta.each(a.padded / 4, |lane, quad| {
            let [p, q, r, s] = self
                .columns
                .read(lane, x, a.columns, quad * 4)
                .map(|x| x * up);
            y.set_words(quad * 4, [p.pack_f16(q), r.pack_f16(s)]);
        });
        cta.leader(|_| {
            let down = ((exponent - (TARGET - 127)) << 23).as_f32();
            a.row_scale.set(row, down);
        });
    }
}

/// The same on the host: values and row scales.
pub fn to_f16_reference(x: &[f32], columns: usize) -> (Vec<f16>, Vec<f32>) {
    let padded = columns.next_multiple_of(GROUP as usize);
    let (mut y, mut row_scale) = (Vec::new(), Vec::new());
    for row in x.chunks(columns.max(1)) {
        let bits = row.iter().map(|x| x.abs().to_bits() >> 23);
        let exponent = bits.fold(EXPONENTS[0], u32::max).min(EXPONENTS[1]);
        let up = f32::from_bits((TARGET + 127 - exponent) << 23);
        y.extend(row.iter().map(|x| f16::from_f32(x * up)));
        y.resize(y.len().next_multiple_of(padded), f16::ZERO);
        row_scale.push(f32::from_bits((exponent - (TARGET - 127)) << 23));
    }
    (y, row_scale)
}
