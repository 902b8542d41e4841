//! f32 rows to f16, each scaled by a power of two so that its largest magnitude is in `[2^13, 2^14]`.

use super::Columns;
use crate::{
    team::{Rows, Team, each_row},
    values::{F32, Word},
    weights::GROUP,
};
use half::f16;
use warpsmith_kernel::{
    Cta, InKernel, Kernel, Lane, LaunchError, Scope, Val, args, require, steps,
};

args! {
    /// `x[i] ~ y[i] * row_scale[i]`; `y` has zeros behind the columns.
    pub struct ToF16Args {
        x: In<f32>[rows, columns], y: Out<f16>[rows, padded], row_scale: Out<f32>[rows],
        rows: Scalar<u32>, columns: Scalar<u32>, padded: Scalar<u32>,
    }
}

/// The kernel. NaN and infinities stay what they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToF16 {
    /// How rows are read.
    pub columns: Columns,
    /// Who works on a row.
    pub rows: Rows,
}

/// The biased exponent that row maxima get: 2^13.
const TARGET: u32 = 127 + 13;
/// Exponents for which both the factor and its inverse are normal numbers.
const EXPONENTS: [u32; 2] = [TARGET - 126, 254];

impl Kernel for ToF16 {
    type Args = ToF16Args;
    const ANY_SIZE: bool = true;

    fn name(&self) -> String {
        format!("to_f16{}{}", self.rows.suffix(), self.columns.suffix())
    }

    fn threads(&self) -> u32 {
        self.rows.threads()
    }

    fn grid(&self, a: &ToF16Args) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        let padded = a.columns < 1 << 24 && a.padded == a.columns.next_multiple_of(GROUP);
        let expected = "the columns, below 2^24, padded to a multiple of 32";
        require(padded, "padded", a.padded.into(), expected)?;
        self.rows.grid(a.rows, a.padded.max(1))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ToF16Args<InKernel<'k>>) {
        each_row!(self.rows, cta, a.rows, |team, row| self.row(team, row, &a));
    }
}

impl ToF16 {
    fn row<'k>(&self, team: &mut impl Team<'k>, row: Word<'k>, a: &ToF16Args<InKernel<'k>>) {
        let (x, y) = (a.x.row(row), a.y.row(row));
        // Whole quads of the row need no question; what follows is the end of a ragged row, and zeros.
        let whole = match self.columns {
            Columns::Quads => a.columns / 4,
            Columns::Any => Val::constant(0),
        };
        let (member, size) = (team.member(), team.size());
        let quads = || steps(member, whole.varying(), size);
        let rest = || steps(member + whole, (a.padded / 4).varying(), size);
        let end = |lane: &mut Lane<'k>, quad| self.columns.read(lane, x, a.columns, quad * 4);
        let larger = |most, four: [F32<'k>; 4]| {
            let bits = four.map(|x| x.to_bits() & 0x7fff_ffff);
            bits.into_iter()
                .fold(most, |most: Word<'k>, bits| bits.max(most))
        };
        let own = team.fold_lanes(quads(), Val::constant(0), |_, quad, most| {
            larger(most, x.vector::<4, _>(quad * 4))
        });
        let own = team.fold_lanes(rest(), own, |lane, quad, most| {
            larger(most, end(lane, quad))
        });
        let most: Word<'k> = team.total(own, |a, b| a.max(b));
        let [up, down] = power_of_row(most);
        let store = |quad: Word<'k>, four: [F32<'k>; 4]| {
            let [p, q, r, s] = four.map(|x| x * up);
            y.set_words(quad * 4, [p.pack_f16(q), r.pack_f16(s)]);
        };
        team.fold_lanes(quads(), (), |_, quad, ()| {
            store(quad, x.vector::<4, _>(quad * 4));
        });
        team.fold_lanes(rest(), (), |lane, quad, ()| store(quad, end(lane, quad)));
        let leads = team.member().equals(0);
        team.if_(leads, |_| a.row_scale.set(row, down));
    }
}

/// The factor of a row whose largest magnitude has the bits `most`, and its inverse.
pub(crate) fn power_of_row<'k>(most: Word<'k>) -> [F32<'k>; 2] {
    let exponent = (most >> 23).max(EXPONENTS[0]).min(EXPONENTS[1]);
    // 2^(13 - e) and its inverse, put together from their exponents.
    let up = ((Word::<'k>::constant(TARGET + 127) - exponent) << 23).as_f32();
    [up, ((exponent - (TARGET - 127)) << 23).as_f32()]
}

/// Rounds rows to f16 on the host: values and row scales.
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
