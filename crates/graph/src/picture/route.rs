//! Where edges run: from row to row in the gaps between, what skips rows in lanes at the right.

use super::layout::{Area, Edge, GAP, Route, Row};

/// Between lanes, and between horizontal parts of edges in a gap.
const LANE: f64 = 14.0;
const CHANNEL: f64 = 6.0;

/// Finds ways for edges.
pub(super) struct Router<'a> {
    rows: &'a [Row],
    of_row: &'a [usize],
    areas: &'a [Area],
    /// For each edge, where it leaves and where it enters, as a part of the width.
    ports: Vec<[f64; 2]>,
    /// Lanes taken: x, from, to.
    lanes: Vec<[f64; 3]>,
    /// Edges that run in the gap below each row so far.
    channels: Vec<usize>,
}

impl<'a> Router<'a> {
    pub(super) fn new(
        rows: &'a [Row],
        of_row: &'a [usize],
        areas: &'a [Area],
        edges: &[Edge],
    ) -> Router<'a> {
        let middle = |at: usize| areas[at].middle();
        let share = |own: usize, mut all: Vec<(usize, f64)>| {
            all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            let place = all
                .iter()
                .position(|(number, _)| *number == own)
                .unwrap_or(0);
            (place + 1) as f64 / (all.len() + 1) as f64
        };
        // What goes straight down has ports of its own; what skips rows leaves at the side where it can.
        let skips = |edge: &Edge| of_row[edge.to] > of_row[edge.from] + 1;
        let rightmost = |at: usize| rows[of_row[at]].items.last() == Some(&at);
        let ports = edges.iter().enumerate().map(|(number, edge)| {
            let beside = |other: &Edge, end: usize| skips(other) && rightmost(end);
            let leaving = edges.iter().enumerate();
            let leaving = leaving.filter(|(_, e)| e.from == edge.from && !beside(e, e.from));
            let leaving = leaving.map(|(number, e)| (number, middle(e.to)));
            let entering = edges.iter().enumerate();
            let entering = entering.filter(|(_, e)| e.to == edge.to && !beside(e, e.to));
            let entering = entering.map(|(number, e)| (number, middle(e.from)));
            [
                share(number, leaving.collect()),
                share(number, entering.collect()),
            ]
        });
        Router {
            ports: ports.collect(),
            rows,
            of_row,
            areas,
            lanes: Vec::new(),
            channels: vec![0; rows.len() + 1],
        }
    }

    /// The way of the edge of this number.
    pub(super) fn route(&mut self, number: usize, edge: Edge) -> Route {
        let Edge { from, to, kind } = edge;
        let (above, below) = (self.of_row[from], self.of_row[to]);
        let [leaves, enters] = self.ports[number];
        let (start, end) = (self.areas[from], self.areas[to]);
        let (start_x, end_x) = (start.x + start.w * leaves, end.x + end.w * enters);
        if below == above + 1 {
            let mut points = vec![[start_x, start.bottom()]];
            if (start_x - end_x).abs() > 0.5 {
                let y = self.channel(above);
                points.extend([[start_x, y], [end_x, y]]);
            }
            points.push([end_x, end.y]);
            return Route { kind, points };
        }
        let rightmost = |at: usize, row: usize| self.rows[row].items.last() == Some(&at);
        let (out, into) = (rightmost(from, above), rightmost(to, below));
        let mut points = Vec::new();
        let begin = if out {
            points.push([start.right(), start.y + start.h * 0.68]);
            start.y + start.h * 0.68
        } else {
            let y = self.channel(above);
            points.extend([[start_x, start.bottom()], [start_x, y]]);
            y
        };
        let finish = if into {
            end.y + end.h * 0.32
        } else {
            self.channel(below - 1)
        };
        let x = self.lane(above, below, [begin, finish]);
        points.extend([[x, begin], [x, finish]]);
        if into {
            points.push([end.right(), finish]);
        } else {
            points.extend([[end_x, finish], [end_x, end.y]]);
        }
        Route { kind, points }
    }

    /// A height in the gap below a row, which no other edge has.
    fn channel(&mut self, row: usize) -> f64 {
        let used = &mut self.channels[row];
        let most = (GAP[1] / CHANNEL) as usize - 4;
        let y = self.rows[row].bottom() + 12.0 + CHANNEL * (*used % most) as f64;
        *used += 1;
        y
    }

    /// A lane at the right of rows, free over these heights.
    fn lane(&mut self, above: usize, below: usize, [from, to]: [f64; 2]) -> f64 {
        let rows = &self.rows[above..=below];
        let right = rows.iter().map(|row| row.right).fold(0.0, f64::max);
        let mut x = right + 1.6 * LANE;
        let taken = |x: f64| {
            self.lanes.iter().any(|[lane, top, bottom]| {
                (lane - x).abs() < LANE && *top < to + LANE && from < *bottom + LANE
            })
        };
        while taken(x) {
            x += LANE;
        }
        self.lanes.push([x, from, to]);
        x
    }
}
