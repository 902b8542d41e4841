//! Where labels stand so that none lies over another, a dot or a line.

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

impl Area {
    fn meets(self, other: Area) -> bool {
        let (right, bottom) = (self.x + self.w, self.y + self.h);
        let (other_right, other_bottom) = (other.x + other.w, other.y + other.h);
        self.x < other_right && other.x < right && self.y < other_bottom && other.y < bottom
    }

    fn within(self, outer: Area) -> bool {
        let inside =
            |from: f64, len: f64, at: f64, most: f64| from >= at && from + len <= at + most;
        inside(self.x, self.w, outer.x, outer.w) && inside(self.y, self.h, outer.y, outer.h)
    }

    /// The point of it that is nearest to another.
    pub(super) fn nearest(self, [x, y]: [f64; 2]) -> [f64; 2] {
        [
            x.clamp(self.x, self.x + self.w),
            y.clamp(self.y, self.y + self.h),
        ]
    }

    fn distance(self, point: [f64; 2]) -> f64 {
        let near = self.nearest(point);
        (near[0] - point[0]).hypot(near[1] - point[1])
    }
}

/// A dot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot {
    pub(super) center: [f64; 2],
    pub(super) radius: f64,
}

/// What labels keep clear of.
pub(super) struct Room {
    /// All stand in it.
    pub(super) inside: Area,
    pub(super) dots: Vec<Dot>,
    pub(super) taken: Vec<Area>,
    /// Points of lines.
    pub(super) lines: Vec<[f64; 2]>,
}

/// Points on a line, near enough to each other that no label fits between.
pub(super) fn points(from: [f64; 2], to: [f64; 2]) -> Vec<[f64; 2]> {
    let length = (to[0] - from[0]).hypot(to[1] - from[1]);
    let count = (length / 3.0).ceil().max(1.0);
    let at = |step: f64, axis: usize| from[axis] + (to[axis] - from[axis]) * step / count;
    (0..=count as usize)
        .map(|step| [at(step as f64, 0), at(step as f64, 1)])
        .collect()
}

/// Directions that are tried around a dot, and how far away.
const DIRECTIONS: u32 = 24;
const RINGS: u32 = 40;
const STEP: f64 = 8.0;
/// Between a label and what it keeps clear of.
const CLEAR: f64 = 2.0;

impl Room {
    /// A place for a label of a size at the dot `at`, as near as there is one; it is then taken. A line to it crosses another
    /// label only where there is no other place.
    pub(super) fn place(&mut self, at: Dot, size: [f64; 2]) -> Option<Area> {
        let [x, y] = at.center;
        let alone = |area: &Area| self.is_clear(&points([x, y], area.nearest([x, y])));
        let found = self.nearest(at, size, alone);
        let area = found.or_else(|| self.nearest(at, size, |_| true))?;
        let outside = |point: &[f64; 2]| (point[0] - x).hypot(point[1] - y) > at.radius;
        let leader = points([x, y], area.nearest([x, y]));
        self.lines.extend(leader.into_iter().filter(outside));
        self.taken.push(area);
        Some(area)
    }

    /// The nearest free place that suits.
    fn nearest(&self, at: Dot, [w, h]: [f64; 2], suits: impl Fn(&Area) -> bool) -> Option<Area> {
        let Dot {
            center: [x, y],
            radius,
        } = at;
        let rings = (0..RINGS).flat_map(|ring| (0..DIRECTIONS).map(move |way| (ring, way)));
        let areas = rings.map(|(ring, direction)| {
            // To the right first, then by turns above and below.
            let turn = f64::from(direction.div_ceil(2)) / f64::from(DIRECTIONS);
            let sign = if direction % 2 == 0 { 1.0 } else { -1.0 };
            let (sin, cos) = (sign * turn * std::f64::consts::TAU).sin_cos();
            let distance = radius + 4.0 + f64::from(ring) * STEP;
            Area {
                x: x + distance * cos - w * (1.0 - cos) / 2.0,
                y: y + distance * sin - h * (1.0 - sin) / 2.0,
                w,
                h,
            }
        });
        areas.filter(|area| self.is_free(*area)).find(suits)
    }

    fn is_free(&self, area: Area) -> bool {
        let grown = Area {
            x: area.x - CLEAR,
            y: area.y - CLEAR,
            w: area.w + 2.0 * CLEAR,
            h: area.h + 2.0 * CLEAR,
        };
        area.within(self.inside)
            && self.taken.iter().all(|other| !grown.meets(*other))
            && self
                .dots
                .iter()
                .all(|dot| area.distance(dot.center) >= dot.radius)
            && self.lines.iter().all(|point| area.distance(*point) > CLEAR)
    }

    /// Whether a line to a label crosses none.
    fn is_clear(&self, line: &[[f64; 2]]) -> bool {
        let crosses = |area: &Area| line.iter().any(|point| area.distance(*point) <= CLEAR);
        !self.taken.iter().any(crosses)
    }
}

#[cfg(test)]
mod tests {
    use super::{Area, Dot, Room};

    #[test]
    fn labels_of_crowded_dots_keep_clear_of_each_other() {
        let inside = Area {
            x: 0.0,
            y: 0.0,
            w: 700.0,
            h: 500.0,
        };
        // A heap, a column, and corners.
        let mut centers: Vec<[f64; 2]> = (0..14)
            .map(|at| [300.0 + f64::from(at % 4), 250.0 + f64::from(at)])
            .collect();
        centers.extend((0..10).map(|at| [100.0, 40.0 + 12.0 * f64::from(at)]));
        centers.extend([[1.0, 1.0], [699.0, 499.0], [699.0, 1.0], [1.0, 499.0]]);
        let dots: Vec<Dot> = centers
            .into_iter()
            .map(|center| Dot {
                center,
                radius: 6.0,
            })
            .collect();
        let mut room = Room {
            inside,
            dots: dots.clone(),
            taken: Vec::new(),
            lines: Vec::new(),
        };
        for dot in &dots {
            let area = room.place(*dot, [90.0, 14.0]);
            assert!(area.is_some(), "{dot:?}");
        }
        for (at, a) in room.taken.iter().enumerate() {
            assert!(a.within(inside), "{a:?}");
            for b in &room.taken[..at] {
                assert!(!a.meets(*b), "{a:?} {b:?}");
            }
            for dot in &dots {
                assert!(a.distance(dot.center) >= dot.radius, "{a:?} {dot:?}");
            }
        }
        let full = [Area {
            x: 0.0,
            y: 0.0,
            w: 700.0,
            h: 500.0,
        }];
        room.taken = full.to_vec();
        assert_eq!(room.place(dots[0], [9.0, 9.0]), None);
    }
}
