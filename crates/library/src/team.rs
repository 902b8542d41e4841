//! Teams: a warp or a CTA that works on one row together, four neighbours a lane where the addresses allow it.

use crate::{
    quad::{At, Width},
    values::{F32, Word},
};
use warpsmith_kernel::{
    Cta, Hardware, Lane, LaunchError, Num, Scope, State, Val, WARP, Warp, require, steps, uni,
    uni::Uni,
};

/// Threads that work together.
pub(crate) trait Team<'k>: Scope<'k> {
    /// How many.
    fn size(&self) -> u32;
    /// Which of them this thread is.
    fn member(&self) -> Word<'k>;
    /// `combine` over their values, the same bits in each.
    fn total<T: Num>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        combine: impl Fn(Val<'k, T, uni::Lane>, Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Lane>;

    /// The sum of their values.
    fn sum_of(&mut self, value: F32<'k>) -> F32<'k> {
        self.total(value, |a, b| a + b)
    }
}

impl<'k> Team<'k> for Cta<'k> {
    fn size(&self) -> u32 {
        self.threads()
    }
    fn member(&self) -> Word<'k> {
        self.thread()
    }
    fn total<T: Num>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        combine: impl Fn(Val<'k, T, uni::Lane>, Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Lane> {
        self.reduce(value, combine).varying()
    }
}

impl<'k> Team<'k> for Warp<'k> {
    fn size(&self) -> u32 {
        WARP
    }
    fn member(&self) -> Word<'k> {
        self.lane()
    }
    fn total<T: Num>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        combine: impl Fn(Val<'k, T, uni::Lane>, Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Lane> {
        self.reduce(value, combine).varying()
    }
}

/// Who works on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    /// A warp: no barriers; for short rows and for many.
    PerWarp,
    /// A CTA: for long rows.
    PerCta,
    /// A warp whose lanes take neighbours, four times in a turn: a CPU moves those as they lie, and four neighbours of each
    /// lane it has to sort. For kernels that cannot do that it is a warp as any.
    PerWarpApart,
}

/// Rows of a CTA where each warp has one.
pub(crate) const ROWS_OF_A_CTA: u32 = 4;

impl Rows {
    /// What suits rows of `n` elements. On the virtual GPU warps that wait for each other cost more than long rows.
    pub fn for_width(n: u32, hardware: Hardware) -> Self {
        if n <= 2048 || hardware.is_virtual() {
            Rows::PerWarp
        } else {
            Rows::PerCta
        }
    }

    /// The same for kernels that can take elements apart from each other.
    pub fn apart_for_width(n: u32, hardware: Hardware) -> Self {
        if hardware.is_virtual() {
            Rows::PerWarpApart
        } else {
            Rows::for_width(n, hardware)
        }
    }

    /// What shows of it in a kernel's name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Rows::PerWarp => "_warp",
            Rows::PerCta => "_cta",
            Rows::PerWarpApart => "_apart",
        }
    }

    pub(crate) fn threads(self) -> u32 {
        match self {
            Rows::PerWarp | Rows::PerWarpApart => ROWS_OF_A_CTA * WARP,
            Rows::PerCta => 256,
        }
    }

    /// CTAs for `rows` rows of `n` elements.
    pub(crate) fn grid(self, rows: u32, n: u32) -> Result<u64, LaunchError> {
        require(
            (1..1 << 31).contains(&n),
            "n",
            n.into(),
            "at least 1 and below 2^31",
        )?;
        require(rows < 1 << 31, "rows", rows.into(), "below 2^31")?;
        Ok(match self {
            Rows::PerWarp | Rows::PerWarpApart => rows.div_ceil(ROWS_OF_A_CTA).into(),
            Rows::PerCta => rows.into(),
        })
    }
}

/// Runs an expression for each row that a CTA has, with the team that works on it.
macro_rules! each_row {
    ($how:expr, $cta:ident, $rows:expr, |$team:ident, $row:ident| $body:expr) => {
        match $how {
            $crate::team::Rows::PerCta => {
                let $row = $cta.id().varying();
                let $team = $cta;
                $body
            }
            $crate::team::Rows::PerWarp | $crate::team::Rows::PerWarpApart => {
                let first = $cta.id() * $crate::team::ROWS_OF_A_CTA;
                let rows = $rows;
                $crate::team::rounds($cta, $crate::team::ROWS_OF_A_CTA, |warp, round| {
                    let row = first + round;
                    warp.if_all(row.lt(rows), |$team| {
                        let $row = row.varying();
                        $body
                    });
                });
            }
        }
    };
}
pub(crate) use each_row;

/// `body(warp, i)` for each `i < count`, spread over the warps of a CTA of any size.
pub(crate) fn rounds<'k>(
    cta: &mut Cta<'k>,
    count: u32,
    body: impl FnOnce(&mut Warp<'k>, Val<'k, u32, uni::Warp>),
) {
    let warps = cta.warps();
    cta.each_warp(|warp| {
        let own = warp.id();
        if warps == count {
            body(warp, own);
        } else {
            warp.for_(steps(own, count, warps), body);
        }
    });
}

/// `state = body(lane, at, state)` over `0..n`, spread over the team: by fours if `aligned`, the rest one by one.
pub(crate) fn spread<'k, T: Team<'k>, S: State<'k>, U: Uni, V: Uni>(
    team: &mut T,
    n: Val<'k, u32, U>,
    aligned: Val<'k, bool, V>,
    state: S,
    body: impl Fn(&mut Lane<'k>, At<'k>, S) -> S,
) -> S {
    let fours = Fours::Neighbours(aligned.varying());
    spread_as(team, n, fours, state, body)
}

/// Which elements a lane takes at once.
#[derive(Clone, Copy)]
pub(crate) enum Fours<'k> {
    /// Four neighbours, where they are aligned.
    Neighbours(Val<'k, bool>),
    /// Four that are as far apart as the team is large: each access is to neighbours of all lanes.
    Apart,
}

/// The same by one kind of fours or the other.
pub(crate) fn spread_as<'k, T: Team<'k>, S: State<'k>, U: Uni>(
    team: &mut T,
    n: Val<'k, u32, U>,
    fours: Fours<'k>,
    state: S,
    body: impl Fn(&mut Lane<'k>, At<'k>, S) -> S,
) -> S {
    let n = n.varying();
    let (member, size) = (team.member(), team.size());
    let (first, whole, apart) = match fours {
        Fours::Neighbours(aligned) => (member * 4, aligned.select(n & !3, 0u32), 1),
        // The size is a power of two.
        Fours::Apart => (member, n & !(4 * size - 1), size),
    };
    let state = team.fold_lanes(steps(first, whole, size * 4), state, |lane, i, state| {
        let width = Width::Four;
        body(lane, At { i, width, apart }, state)
    });
    let rest = steps(member + whole, n, size);
    team.fold_lanes(rest, state, |lane, i, state| {
        body(lane, At::neighbours(i, Width::One), state)
    })
}
