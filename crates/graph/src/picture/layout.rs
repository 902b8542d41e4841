//! Where boxes stand: rows from top to bottom, layers in frames.

use super::route::Router;
use crate::svg::{width, wrapped};

/// Font sizes of titles and of what stands below them.
pub(super) const TITLE: f64 = 13.0;
pub(super) const TEXT: f64 = 11.0;
/// Heights of their lines.
pub(super) const TITLE_LINE: f64 = 18.0;
pub(super) const TEXT_LINE: f64 = 15.0;

/// Between the border of a box and its text.
const PAD: [f64; 2] = [12.0, 7.0];
/// Widths of boxes, without padding.
const WIDTHS: [f64; 2] = [110.0, 210.0];
/// Between boxes of a row, and between rows.
pub(super) const GAP: [f64; 2] = [28.0, 52.0];
/// The arrow from a leaf, and the height of a leaf with the gap below it.
const LEAF_ARROW: f64 = 26.0;
const LEAF: [f64; 2] = [22.0, 6.0];
/// Around all.
const MARGIN: f64 = 28.0;
/// Around the rows of a layer; its first row stands lower, as the label is above it.
const FRAME: f64 = 22.0;
const LABEL: f64 = 30.0;

/// An operation as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    pub(super) shape: String,
    /// What it reads from outside, by name.
    pub(super) leaves: Vec<String>,
}

/// What an edge carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EdgeKind {
    Value,
    /// What is only added.
    Residual,
    /// Keys and values, through a cache.
    Cache,
}

/// From an item to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: EdgeKind,
}

/// Items that stand together; a layer says how often there is one like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) times: Option<usize>,
}

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

impl Area {
    pub(super) fn right(self) -> f64 {
        self.x + self.w
    }
    pub(super) fn bottom(self) -> f64 {
        self.y + self.h
    }
    pub(super) fn middle(self) -> f64 {
        self.x + self.w / 2.0
    }
}

/// A box with its text.
pub(super) struct Placed {
    pub(super) area: Area,
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    pub(super) shape: String,
    /// What it reads from outside: where the name stands.
    pub(super) leaves: Vec<(Area, String)>,
}

/// An edge as a line of right angles.
pub(super) struct Route {
    pub(super) kind: EdgeKind,
    pub(super) points: Vec<[f64; 2]>,
}

/// A frame around a layer.
pub(super) struct Frame {
    pub(super) area: Area,
    pub(super) label: String,
}

/// All that is drawn.
pub(super) struct Drawing {
    pub(super) size: [f64; 2],
    pub(super) boxes: Vec<Placed>,
    pub(super) routes: Vec<Route>,
    pub(super) frames: Vec<Frame>,
    /// The kinds of edges that there are.
    pub(super) kinds: Vec<EdgeKind>,
}

/// What an item takes.
struct Size {
    w: f64,
    h: f64,
    /// Of its leaves with their arrows, at the left.
    leaves: f64,
    lines: Vec<String>,
}

impl Size {
    fn of(item: &Item) -> Size {
        let lines: Vec<String> = item
            .lines
            .iter()
            .flat_map(|line| wrapped(line, TEXT, WIDTHS[1]))
            .collect();
        let longest = lines.iter().map(|line| width(line, TEXT));
        let longest = longest.fold(width(&item.title, TITLE), f64::max);
        let longest = longest.max(width(&item.shape, TEXT));
        let leaf = item.leaves.iter().map(|name| leaf_width(name));
        let leaf = leaf.fold(0.0, f64::max);
        let text = TITLE_LINE + (lines.len() + 1) as f64 * TEXT_LINE;
        let leaves = item.leaves.len() as f64 * (LEAF[0] + LEAF[1]) - LEAF[1];
        Size {
            w: longest.clamp(WIDTHS[0], f64::INFINITY) + 2.0 * PAD[0],
            h: (text + 2.0 * PAD[1]).max(leaves),
            leaves: if leaf > 0.0 { leaf + LEAF_ARROW } else { 0.0 },
            lines,
        }
    }
}

fn leaf_width(name: &str) -> f64 {
    width(name, TEXT) + 2.0 * PAD[0]
}

/// Rows of items, top to bottom: those of a segment together, each below what it reads.
fn rows(items: usize, edges: &[Edge], segments: &[Segment]) -> Vec<usize> {
    let mut rows = vec![0; items];
    let mut base = 0;
    for segment in segments {
        let mut last = base;
        for at in segment.from..segment.to {
            let inside = edges
                .iter()
                .filter(|e| e.to == at && e.from >= segment.from);
            let row = inside.map(|edge| rows[edge.from] + 1).max();
            rows[at] = row.unwrap_or(base);
            last = last.max(rows[at]);
        }
        if segment.from < segment.to {
            base = last + 1;
        }
    }
    rows
}

/// A row of boxes.
#[derive(Clone, Default)]
pub(super) struct Row {
    pub(super) items: Vec<usize>,
    pub(super) top: f64,
    pub(super) height: f64,
    pub(super) right: f64,
}

impl Row {
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

impl Drawing {
    /// Places all.
    pub(super) fn of(items: &[Item], edges: &[Edge], segments: &[Segment]) -> Drawing {
        let sizes: Vec<Size> = items.iter().map(Size::of).collect();
        let of_row = rows(items.len(), edges, segments);
        let count = of_row.iter().max().map_or(0, |last| last + 1);
        let mut rows = vec![Row::default(); count];
        for (at, row) in of_row.iter().enumerate() {
            rows[*row].items.push(at);
        }
        place_rows(&mut rows, &sizes, &of_row, segments);
        let widest = rows.iter().map(|row| row_width(row, &sizes));
        let center = widest.fold(0.0, f64::max) / 2.0;
        let mut boxes = Vec::with_capacity(items.len());
        let mut areas = vec![
            Area {
                x: 0.0,
                y: 0.0,
                w: 0.0,
                h: 0.0
            };
            items.len()
        ];
        for row in &mut rows {
            // The boxes are centred; leaves stand at their left.
            let first = row.items.first().map_or(0.0, |at| sizes[*at].leaves);
            let mut x = center - (row_width(row, &sizes) - first) / 2.0 - first;
            for at in &row.items {
                let size = &sizes[*at];
                areas[*at] = Area {
                    x: x + size.leaves,
                    y: row.top + (row.height - size.h) / 2.0,
                    w: size.w,
                    h: size.h,
                };
                x += size.leaves + size.w + GAP[0];
            }
            row.right = x - GAP[0];
        }
        for ((item, size), area) in items.iter().zip(sizes).zip(&areas) {
            boxes.push(placed(item, size, *area));
        }
        let mut router = Router::new(&rows, &of_row, &areas, edges);
        let routes: Vec<Route> = edges
            .iter()
            .enumerate()
            .map(|(number, edge)| router.route(number, *edge))
            .collect();
        let mut drawing = Drawing {
            size: [0.0; 2],
            frames: frames(segments, &rows, &of_row, &boxes, &routes, edges),
            boxes,
            routes,
            kinds: Vec::new(),
        };
        drawing.kinds = drawing.routes.iter().map(|route| route.kind).collect();
        drawing.kinds.sort_unstable();
        drawing.kinds.dedup();
        drawing.fit();
        drawing
    }

    /// Moves all so that it begins at the margin, and sets the size.
    fn fit(&mut self) {
        let areas = || {
            let boxes = self.boxes.iter().map(|placed| placed.area);
            let leaves = self
                .boxes
                .iter()
                .flat_map(|placed| placed.leaves.iter().map(|leaf| leaf.0));
            boxes
                .chain(leaves)
                .chain(self.frames.iter().map(|frame| frame.area))
        };
        let points = || self.routes.iter().flat_map(|route| &route.points);
        let least = |at: usize| {
            let of = areas().map(|area| [area.x, area.y][at]);
            let of = of.chain(points().map(|point| point[at]));
            of.fold(f64::INFINITY, f64::min)
        };
        let most = |at: usize| {
            let of = areas().map(|area| [area.right(), area.bottom()][at]);
            let of = of.chain(points().map(|point| point[at]));
            of.fold(f64::NEG_INFINITY, f64::max)
        };
        if self.boxes.is_empty() {
            self.size = [2.0 * MARGIN; 2];
            return;
        }
        let from = [least(0), least(1)];
        self.size = [0, 1].map(|at| most(at) - from[at] + 2.0 * MARGIN);
        let by = from.map(|from| MARGIN - from);
        let shift = |area: &mut Area| {
            area.x += by[0];
            area.y += by[1];
        };
        for placed in &mut self.boxes {
            shift(&mut placed.area);
            placed.leaves.iter_mut().for_each(|(area, _)| shift(area));
        }
        self.frames
            .iter_mut()
            .for_each(|frame| shift(&mut frame.area));
        for point in self.routes.iter_mut().flat_map(|route| &mut route.points) {
            point[0] += by[0];
            point[1] += by[1];
        }
    }
}

fn row_width(row: &Row, sizes: &[Size]) -> f64 {
    let boxes = row.items.iter().map(|at| sizes[*at].leaves + sizes[*at].w);
    boxes.sum::<f64>() + GAP[0] * row.items.len().saturating_sub(1) as f64
}

fn place_rows(rows: &mut [Row], sizes: &[Size], of_row: &[usize], segments: &[Segment]) {
    let framed = |row: usize| {
        segments.iter().find(|segment| {
            let mut own = of_row[segment.from..segment.to].iter();
            segment.times.is_some() && own.any(|own| *own == row)
        })
    };
    let mut y = 0.0;
    for at in 0..rows.len() {
        let (before, here) = (at.checked_sub(1).and_then(framed), framed(at));
        if here.is_some() && here != before {
            y += FRAME + LABEL;
        }
        if before.is_some() && here != before {
            y += FRAME;
        }
        let row = &mut rows[at];
        let heights = row.items.iter().map(|at| sizes[*at].h);
        row.height = heights.fold(0.0, f64::max);
        row.top = y;
        y += row.height + GAP[1];
    }
}

fn placed(item: &Item, size: Size, area: Area) -> Placed {
    let names = item.leaves.len() as f64;
    let height = names * (LEAF[0] + LEAF[1]) - LEAF[1];
    let mut y = area.y + (area.h - height) / 2.0;
    let mut leaves = Vec::new();
    for name in &item.leaves {
        let w = leaf_width(name);
        let x = area.x - LEAF_ARROW - w;
        leaves.push((
            Area {
                x,
                y,
                w,
                h: LEAF[0],
            },
            name.clone(),
        ));
        y += LEAF[0] + LEAF[1];
    }
    Placed {
        area,
        title: item.title.clone(),
        lines: size.lines,
        shape: item.shape.clone(),
        leaves,
    }
}

/// Frames around layers, as wide as their boxes, their leaves and the edges between them.
fn frames(
    segments: &[Segment],
    rows: &[Row],
    of_row: &[usize],
    boxes: &[Placed],
    routes: &[Route],
    edges: &[Edge],
) -> Vec<Frame> {
    let layers = segments
        .iter()
        .filter_map(|segment| Some((segment, segment.times?)));
    layers
        .map(|(segment, times)| {
            let own = segment.from..segment.to;
            let label = format!("one layer, {times} times");
            let within = |at: &usize| own.contains(at);
            let places = own.clone().map(|at| of_row[at]);
            let first = places.clone().min().unwrap_or(0);
            let last = places.max().unwrap_or(0);
            let mut left = f64::INFINITY;
            let mut right = f64::NEG_INFINITY;
            for placed in &boxes[own.clone()] {
                let areas = placed.leaves.iter().map(|leaf| leaf.0).chain([placed.area]);
                for area in areas {
                    left = left.min(area.x);
                    right = right.max(area.right());
                }
            }
            let inner = edges.iter().zip(routes);
            for (_, route) in inner.filter(|(e, _)| within(&e.from) || within(&e.to)) {
                let xs = route.points.iter().map(|point| point[0]);
                right = xs.fold(right, f64::max);
            }
            // The label stands at the left of what comes from above.
            let center = boxes[segment.from].area.middle();
            let left = left.min(center - width(&label, TITLE) - 2.0 * FRAME);
            let (top, bottom) = (rows[first].top - LABEL - FRAME / 2.0, rows[last].bottom());
            Frame {
                area: Area {
                    x: left - FRAME,
                    y: top,
                    w: right - left + 2.0 * FRAME,
                    h: bottom - top + FRAME,
                },
                label,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Area, Drawing, Edge, EdgeKind, Item, Segment};

    fn inside(area: Area, point: [f64; 2]) -> bool {
        point[0] > area.x + 0.1
            && point[0] < area.right() - 0.1
            && point[1] > area.y + 0.1
            && point[1] < area.bottom() - 0.1
    }

    fn meet(a: Area, b: Area) -> bool {
        a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom()
    }

    /// No two boxes or leaves meet, no edge runs through a box, each begins and ends at one.
    fn check(drawing: &Drawing, edges: &[Edge], what: &str) {
        let mut areas: Vec<Area> = Vec::new();
        for placed in &drawing.boxes {
            areas.push(placed.area);
            areas.extend(placed.leaves.iter().map(|leaf| leaf.0));
        }
        for (at, a) in areas.iter().enumerate() {
            assert!(a.x >= 0.0 && a.right() <= drawing.size[0], "{what}: {a:?}");
            assert!(a.y >= 0.0 && a.bottom() <= drawing.size[1], "{what}: {a:?}");
            for b in &areas[..at] {
                assert!(!meet(*a, *b), "{what}: {a:?} {b:?}");
            }
        }
        assert_eq!(drawing.routes.len(), edges.len());
        for (route, edge) in drawing.routes.iter().zip(edges) {
            let on = |area: Area, point: [f64; 2]| {
                let grown = Area {
                    x: area.x - 0.2,
                    y: area.y - 0.2,
                    w: area.w + 0.4,
                    h: area.h + 0.4,
                };
                inside(grown, point) && !inside(area, point)
            };
            let (first, last) = (route.points[0], route.points[route.points.len() - 1]);
            assert!(on(drawing.boxes[edge.from].area, first), "{what}: {edge:?}");
            assert!(on(drawing.boxes[edge.to].area, last), "{what}: {edge:?}");
            for pair in route.points.windows(2) {
                let straight = pair[0][0] == pair[1][0] || pair[0][1] == pair[1][1];
                assert!(
                    straight || (pair[0][0] - pair[1][0]).abs() <= 0.5,
                    "{what}: {pair:?}"
                );
                for step in 0..=40 {
                    let part = f64::from(step) / 40.0;
                    let at = |axis: usize| pair[0][axis] + (pair[1][axis] - pair[0][axis]) * part;
                    let point = [at(0), at(1)];
                    let hit = areas.iter().find(|area| inside(**area, point));
                    assert!(hit.is_none(), "{what}: {edge:?} runs through {hit:?}");
                }
            }
        }
    }

    fn item(number: usize) -> Item {
        Item {
            title: ["matmul", "rms_norm", "a rather long title of an operation"][number % 3].into(),
            lines: vec!["blk.*.a_name.weight".into(); number % 4],
            shape: "1 × 576".into(),
            leaves: (0..number % 5 / 2)
                .map(|leaf| format!("leaf {leaf}"))
                .collect(),
        }
    }

    #[test]
    fn pictures_of_any_graph_have_nothing_over_another() {
        let mut state = 5u64;
        let mut random = move |most: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % most.max(1)
        };
        for count in 0..40 {
            let items: Vec<Item> = (0..count).map(item).collect();
            let mut edges: Vec<Edge> = Vec::new();
            for to in 1..count {
                for _ in 0..=random(3) {
                    let from = to - 1 - random(to.min(7));
                    let kind = [EdgeKind::Value, EdgeKind::Residual][random(2)];
                    let known = edges.iter().any(|edge| (edge.from, edge.to) == (from, to));
                    if !known {
                        edges.push(Edge { from, to, kind });
                    }
                }
            }
            let cut = [count / 4, count / 2];
            let segments = [
                (0, cut[0], None),
                (cut[0], cut[1], Some(30)),
                (cut[1], count, None),
            ];
            let segments = segments.map(|(from, to, times)| Segment { from, to, times });
            let used: Vec<Segment> = segments.into_iter().filter(|s| s.from < s.to).collect();
            let drawing = Drawing::of(&items, &edges, &used);
            check(&drawing, &edges, &format!("{count} items"));
        }
    }

    #[test]
    fn a_frame_holds_its_layer_and_nothing_else() {
        let items: Vec<Item> = (0..9).map(item).collect();
        let edge = |from, to| Edge {
            from,
            to,
            kind: EdgeKind::Value,
        };
        let mut edges: Vec<Edge> = (0..8).map(|at| edge(at, at + 1)).collect();
        edges.extend([edge(0, 3), edge(2, 5), edge(3, 8)]);
        let segment = |from, to, times| Segment { from, to, times };
        let segments = [
            segment(0, 2, None),
            segment(2, 6, Some(7)),
            segment(6, 9, None),
        ];
        let drawing = Drawing::of(&items, &edges, &segments);
        check(&drawing, &edges, "frames");
        let [frame] = &drawing.frames[..] else {
            panic!("one frame")
        };
        assert_eq!(frame.label, "one layer, 7 times");
        for (at, placed) in drawing.boxes.iter().enumerate() {
            let Area { x, y, w, h } = placed.area;
            let corners = [[x, y], [x + w, y + h]];
            let held = corners
                .iter()
                .filter(|corner| inside(frame.area, **corner))
                .count();
            assert_eq!(held, if (2..6).contains(&at) { 2 } else { 0 }, "box {at}");
        }
    }
}
