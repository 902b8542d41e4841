//! A drawing as SVG text.

use super::layout::{
    Area, Drawing, EdgeKind, Frame, Placed, Route, TEXT, TEXT_LINE, TITLE, TITLE_LINE,
};
use crate::svg::{escaped, width};
use std::fmt::{Result, Write};

/// How round the corners of edges are.
const ROUND: f64 = 7.0;
/// The height of the legend below the picture.
const LEGEND: f64 = 44.0;

impl EdgeKind {
    fn colour(self) -> &'static str {
        match self {
            EdgeKind::Value => "#57606a",
            EdgeKind::Residual => "#0969da",
            EdgeKind::Cache => "#8250df",
        }
    }

    fn name(self) -> &'static str {
        match self {
            EdgeKind::Value => "value",
            EdgeKind::Residual => "residual",
            EdgeKind::Cache => "cache",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            EdgeKind::Value => "is read by",
            EdgeKind::Residual => "is added to",
            EdgeKind::Cache => "keys and values, by the cache",
        }
    }

    fn dash(self) -> &'static str {
        match self {
            EdgeKind::Value | EdgeKind::Residual => "",
            EdgeKind::Cache => " stroke-dasharray=\"5 4\"",
        }
    }
}

const KINDS: [EdgeKind; 3] = [EdgeKind::Value, EdgeKind::Residual, EdgeKind::Cache];

pub(super) fn svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, drawing);
    out
}

fn write(out: &mut String, drawing: &Drawing) -> Result {
    let legend = legend_width(drawing);
    let (w, h) = (drawing.size[0].max(legend), drawing.size[1] + LEGEND);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{h:.0}\" viewBox=\"0 0 {w:.0} {h:.0}\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\">\n<defs>"
    )?;
    for kind in KINDS {
        writeln!(
            out,
            "<marker id=\"{}\" viewBox=\"0 0 10 10\" refX=\"9.5\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1L10 5L0 9z\" fill=\"{}\"/></marker>",
            kind.name(),
            kind.colour()
        )?;
    }
    writeln!(
        out,
        "</defs>\n<rect class=\"background\" x=\"0\" y=\"0\" width=\"{w:.0}\" height=\"{h:.0}\" fill=\"#ffffff\"/>"
    )?;
    for frame in &drawing.frames {
        write_frame(out, frame)?;
    }
    for route in &drawing.routes {
        write_route(out, route)?;
    }
    for placed in &drawing.boxes {
        write_box(out, placed)?;
    }
    write_legend(out, drawing)?;
    out.push_str("</svg>\n");
    Ok(())
}

fn write_frame(out: &mut String, frame: &Frame) -> Result {
    let Area { x, y, w, h } = frame.area;
    writeln!(
        out,
        "<g class=\"layer\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"10\" fill=\"#f6f8fa\" \
         stroke=\"#d0d7de\"/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{TITLE}\" font-weight=\"600\" fill=\"#57606a\">{}</text></g>",
        x + 14.0,
        y + 21.0,
        escaped(&frame.label)
    )
}

/// A line of right angles with round corners.
fn path(points: &[[f64; 2]]) -> String {
    let mut out = String::new();
    let last = points.len() - 1;
    for (at, [x, y]) in points.iter().copied().enumerate() {
        // Writing to a string cannot fail.
        let _ = if at == 0 {
            write!(out, "M{x:.1} {y:.1}")
        } else if at == last {
            write!(out, "L{x:.1} {y:.1}")
        } else {
            let toward = |other: [f64; 2]| {
                let (dx, dy) = (other[0] - x, other[1] - y);
                let length = dx.hypot(dy);
                let by = if length > 0.0 {
                    ROUND.min(length / 2.0) / length
                } else {
                    0.0
                };
                [x + dx * by, y + dy * by]
            };
            let (from, to) = (toward(points[at - 1]), toward(points[at + 1]));
            write!(
                out,
                "L{:.1} {:.1}Q{x:.1} {y:.1} {:.1} {:.1}",
                from[0], from[1], to[0], to[1]
            )
        };
    }
    out
}

fn write_route(out: &mut String, route: &Route) -> Result {
    writeln!(
        out,
        "<path class=\"edge\" d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"{} marker-end=\"url(#{})\"/>",
        path(&route.points),
        route.kind.colour(),
        route.kind.dash(),
        route.kind.name()
    )
}

fn write_box(out: &mut String, placed: &Placed) -> Result {
    let Area { x, y, w, h } = placed.area;
    for (leaf, name) in &placed.leaves {
        let middle = leaf.y + leaf.h / 2.0;
        writeln!(
            out,
            "<g class=\"leaf\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{:.1}\" fill=\"#fff8c5\" \
             stroke=\"#d4a72c\"/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{TEXT}\" text-anchor=\"middle\" fill=\"#24292f\">{}</text></g>\n\
             <path class=\"leaf-edge\" d=\"M{:.1} {middle:.1}L{x:.1} {middle:.1}\" fill=\"none\" stroke=\"{}\" \
             stroke-width=\"1.5\" marker-end=\"url(#value)\"/>",
            leaf.x,
            leaf.y,
            leaf.w,
            leaf.h,
            leaf.h / 2.0,
            leaf.x + leaf.w / 2.0,
            middle + TEXT * 0.36,
            escaped(name),
            leaf.x + leaf.w,
            EdgeKind::Value.colour(),
        )?;
    }
    let center = x + w / 2.0;
    let text = TITLE_LINE + (placed.lines.len() + 1) as f64 * TEXT_LINE;
    let mut top = y + (h - text) / 2.0;
    writeln!(
        out,
        "<g class=\"node\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"6\" fill=\"#ffffff\" \
         stroke=\"#57606a\" stroke-width=\"1.2\"/>\
         <text x=\"{center:.1}\" y=\"{:.1}\" font-size=\"{TITLE}\" font-weight=\"600\" text-anchor=\"middle\" fill=\"#24292f\">{}</text>",
        top + TITLE_LINE - 5.0,
        escaped(&placed.title)
    )?;
    top += TITLE_LINE;
    let lines = placed.lines.iter().map(|line| (line, "#24292f"));
    for (line, colour) in lines.chain([(&placed.shape, "#57606a")]) {
        writeln!(
            out,
            "<text x=\"{center:.1}\" y=\"{:.1}\" font-size=\"{TEXT}\" text-anchor=\"middle\" fill=\"{colour}\">{}</text>",
            top + TEXT_LINE - 4.0,
            escaped(line)
        )?;
        top += TEXT_LINE;
    }
    writeln!(out, "</g>")
}

/// What stands in the legend: lines of each kind, and leaves.
fn legend_entries(drawing: &Drawing) -> Vec<(Option<EdgeKind>, &'static str)> {
    let kinds = drawing
        .kinds
        .iter()
        .map(|kind| (Some(*kind), kind.meaning()));
    let leaves = drawing.boxes.iter().any(|placed| !placed.leaves.is_empty());
    let leaves = leaves.then_some((None, "from outside"));
    kinds.chain(leaves).collect()
}

fn entry_width(text: &str) -> f64 {
    48.0 + width(text, TEXT) + 24.0
}

fn legend_width(drawing: &Drawing) -> f64 {
    let entries = legend_entries(drawing);
    40.0 + entries
        .iter()
        .map(|(_, text)| entry_width(text))
        .sum::<f64>()
}

fn write_legend(out: &mut String, drawing: &Drawing) -> Result {
    let y = drawing.size[1] + LEGEND / 2.0 - 8.0;
    let mut x = 28.0;
    for (kind, text) in legend_entries(drawing) {
        match kind {
            Some(kind) => writeln!(
                out,
                "<path class=\"legend\" d=\"M{x:.1} {y:.1}L{:.1} {y:.1}\" stroke=\"{}\" stroke-width=\"1.5\"{} marker-end=\"url(#{})\"/>",
                x + 38.0,
                kind.colour(),
                kind.dash(),
                kind.name()
            )?,
            None => writeln!(
                out,
                "<rect class=\"legend\" x=\"{x:.1}\" y=\"{:.1}\" width=\"38\" height=\"16\" rx=\"8\" fill=\"#fff8c5\" stroke=\"#d4a72c\"/>",
                y - 8.0
            )?,
        }
        writeln!(
            out,
            "<text class=\"legend\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"{TEXT}\" fill=\"#57606a\">{text}</text>",
            x + 48.0,
            y + TEXT * 0.36
        )?;
        x += entry_width(text);
    }
    Ok(())
}
