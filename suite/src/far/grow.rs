//! Sizes that grow as far as a launch allows.

use super::{Growth, arrays::shown};
use warpsmith_library::case::AnyCase;

/// Bytes that the arrays of a case may take together: address space, hardly any memory.
pub(super) const ROOM: u128 = 1 << 39;
/// Growth is a multiple of this, so that tiles, of three rows too, blocks and alignments stay as they are.
pub(super) const STEP: i64 = 3 << 12;

pub(super) fn grow(case: &mut dyn AnyCase, scalars: &[(&'static str, i64)], by: i64) -> bool {
    for (at, (name, part)) in scalars.iter().enumerate() {
        if !case.offset(name, by / part) {
            for (name, part) in &scalars[..at] {
                case.offset(name, -by / part);
            }
            return false;
        }
    }
    true
}

/// Whether a launch of the case as it is now could be made, and its arrays held.
pub(super) fn fits(case: &dyn AnyCase) -> bool {
    let arrays = shown(case).arrays;
    let arrays = || arrays.iter().flatten();
    let bytes: u128 = arrays()
        .map(|array| array.len() * array.size as u128 + 1024)
        .sum();
    let dims = arrays().flat_map(|array| &array.dims);
    let small = dims.into_iter().all(|dim| *dim < 1 << 31);
    small && bytes <= ROOM && case.grid().is_ok_and(|grid| grid < 1 << 31)
}

/// The largest growth that fits; the case is left grown.
pub(super) fn grow_most(case: &mut dyn AnyCase, growth: &Growth) -> Option<i64> {
    let fitting = |case: &mut dyn AnyCase, steps: i64| {
        let by = steps * STEP;
        grow(case, growth.scalars, by) && {
            let fits = fits(case);
            grow(case, growth.scalars, -by);
            fits
        }
    };
    let (mut fits, mut too_much) = (0, (1 << 31) / STEP);
    while too_much - fits > 1 {
        let middle = (fits + too_much) / 2;
        if fitting(case, middle) {
            fits = middle;
        } else {
            too_much = middle;
        }
    }
    // An odd number of steps, so that what wraps around does not come out where it started.
    let by = (fits - i64::from(fits % 2 == 0)) * STEP;
    (by > 0 && grow(case, growth.scalars, by)).then_some(by)
}

/// CTAs along the other axes: the grid where the grown size is 1.
pub(super) fn others(case: &mut dyn AnyCase, growth: &Growth) -> Option<u64> {
    let scalars = shown(case).scalars;
    let mut back = Vec::new();
    for (name, _) in growth.scalars {
        let (_, value) = scalars.iter().find(|(own, _)| own == name)?;
        let by = 1 - *value as i64;
        case.offset(name, by);
        back.push((*name, -by));
    }
    let grid = case.grid().ok();
    for (name, by) in back {
        case.offset(name, by);
    }
    grid
}
