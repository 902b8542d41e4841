//! The roofline as an SVG: operations a second over operations a byte, both logarithmic, a dot with its name for each row.

mod labels;

use super::{Pass, Profile, Row};
use crate::graph::svg::{escaped, width};
use labels::{Area, Dot, Room, points};
use std::fmt::Write;

const SIZE: [f64; 2] = [1180.0, 720.0];
/// Font sizes of labels and of what else is written.
const LABEL: f64 = 11.0;
const TEXT: f64 = 12.0;
/// Left, right, top, bottom.
const MARGINS: [f64; 4] = [80.0, 250.0, 52.0, 64.0];
/// One for each pass, again from the first where there are more.
const COLOURS: [&str; 6] = [
    "#0969da", "#cf222e", "#1a7f37", "#8250df", "#bc4c00", "#57606a",
];

/// Decades that are shown, and where they lie on the picture.
struct Axes {
    x: [f64; 2],
    y: [f64; 2],
}

impl Axes {
    /// Whole decades around all values.
    fn around(points: impl Iterator<Item = [f64; 2]> + Clone) -> Axes {
        let range = |at: usize| {
            let logs = points.clone().map(|point| point[at].log10());
            let logs = logs.filter(|log| log.is_finite());
            let low = logs.clone().fold(f64::INFINITY, f64::min);
            let high = logs.fold(f64::NEG_INFINITY, f64::max);
            if low <= high {
                [low.floor(), (high.floor() + 1.0)]
            } else {
                [0.0, 1.0]
            }
        };
        Axes {
            x: range(0),
            y: range(1),
        }
    }

    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [left, right, top, bottom] = MARGINS;
        let part = |value: f64, [low, high]: [f64; 2]| (value.log10() - low) / (high - low);
        let [width, height] = [SIZE[0] - left - right, SIZE[1] - top - bottom];
        [
            left + width * part(x, self.x),
            SIZE[1] - bottom - height * part(y, self.y),
        ]
    }
}

impl Profile {
    /// The picture. What computes nothing is not on it.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.draw(&mut out);
        out
    }

    fn draw(&self, out: &mut String) -> std::fmt::Result {
        let roof = self.roof;
        let ridge = roof.operations_s / roof.bytes_s;
        let rows = self.passes.iter().enumerate();
        let rows = rows.flat_map(|(at, pass)| pass.rows.iter().map(move |row| (at, pass, row)));
        let points = rows.filter_map(|(at, pass, row)| {
            let point = [row.total.intensity(), row.total.operations_s()];
            let shown = point.iter().all(|value| value.is_finite() && *value > 0.0);
            shown.then_some((at, pass, row, point))
        });
        let points: Vec<_> = points.collect();
        let corners = [
            [ridge / 4.0, roof.operations_s],
            [ridge * 4.0, roof.operations_s],
        ];
        let all = points.iter().map(|(_, _, _, point)| *point).chain(corners);
        let axes = Axes::around(all);
        let [width, height] = SIZE;
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"{TEXT}\" fill=\"#24292f\">\n\
             <rect class=\"background\" x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text x=\"{}\" y=\"28\" font-size=\"16\" font-weight=\"600\">Roofline of {}</text>",
            MARGINS[0],
            escaped(&self.device),
        )?;
        axes.draw(out)?;
        let mut room = axes.roof(out, &roof)?;
        let dots = points.iter().map(|(at, pass, row, point)| Named {
            pass,
            row,
            colour: COLOURS[at % COLOURS.len()],
            dot: Dot {
                center: axes.place(*point),
                // The area is the time.
                radius: 4.0 + 14.0 * pass.share(row).sqrt(),
            },
        });
        let mut dots: Vec<Named<'_>> = dots.collect();
        // Small ones lie on large ones.
        dots.sort_by(|a, b| b.dot.radius.total_cmp(&a.dot.radius));
        room.dots = dots.iter().map(|named| named.dot).collect();
        for named in &dots {
            named.draw(out, &roof)?;
        }
        for named in &dots {
            named.label(out, &mut room)?;
        }
        self.legend(out)
    }

    /// Passes by colour, with the operations that take most of each.
    fn legend(&self, out: &mut String) -> std::fmt::Result {
        let x = SIZE[0] - MARGINS[1] + 20.0;
        let mut y = MARGINS[2] + 10.0;
        let note = "part of the time of each pass:";
        writeln!(
            out,
            "<text class=\"legend\" x=\"{x}\" y=\"{y}\" font-size=\"{LABEL}\" fill=\"#57606a\">{note}</text>"
        )?;
        y += 22.0;
        for (pass, colour) in self.passes.iter().zip(COLOURS.iter().cycle()) {
            if y > SIZE[1] - 140.0 {
                break;
            }
            let name = escaped(&cut(&pass.name, MARGINS[1] - 60.0));
            writeln!(
                out,
                "<text class=\"legend\" x=\"{x}\" y=\"{y}\" fill=\"{colour}\" font-weight=\"bold\">{name}</text>"
            )?;
            y += 16.0;
            for row in pass.rows.iter().take(6) {
                let line = format!("{:.1} % {}", 100.0 * pass.share(row), row.name);
                let line = escaped(&cut(&line, MARGINS[1] - 30.0));
                writeln!(
                    out,
                    "<text class=\"legend\" x=\"{x}\" y=\"{y}\" font-size=\"{LABEL}\">{line}</text>"
                )?;
                y += 15.0;
            }
            y += 8.0;
        }
        out.push_str("</svg>\n");
        Ok(())
    }
}

/// A dot, and what it is of.
struct Named<'a> {
    pass: &'a Pass,
    row: &'a Row,
    colour: &'static str,
    dot: Dot,
}

impl Named<'_> {
    fn draw(&self, out: &mut String, roof: &crate::roof::Roof) -> std::fmt::Result {
        let Named {
            pass,
            row,
            colour,
            dot,
        } = self;
        let title = format!(
            "{} {} {}: {:.3} ms, {:.1} % of the roof",
            pass.name,
            row.op,
            row.name,
            1e3 * row.total.seconds,
            100.0 * row.total.of_roof(roof)
        );
        let ([x, y], radius) = (dot.center, dot.radius);
        writeln!(
            out,
            "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\" fill-opacity=\"0.45\" \
             stroke=\"{colour}\"><title>{}</title></circle>",
            escaped(&title)
        )
    }

    /// Its name where there is room, with a line to it; the legend and the tip of the dot have it in any case.
    fn label(&self, out: &mut String, room: &mut Room) -> std::fmt::Result {
        let name = short(&self.row.name);
        let size = [width(&name, LABEL), LABEL + 3.0];
        let Some(area) = room.place(self.dot, size) else {
            return Ok(());
        };
        let [x, y] = self.dot.center;
        let near = area.nearest([x, y]);
        let distance = (near[0] - x).hypot(near[1] - y);
        if distance > self.dot.radius + 6.0 {
            let part = self.dot.radius / distance;
            writeln!(
                out,
                "<path class=\"leader\" d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#8c959f\" stroke-width=\"0.8\"/>",
                x + (near[0] - x) * part,
                y + (near[1] - y) * part,
                near[0],
                near[1]
            )?;
        }
        writeln!(
            out,
            "<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"{LABEL}\" fill=\"{}\">{}</text>",
            area.x + area.w / 2.0,
            area.y + LABEL,
            self.colour,
            escaped(&name)
        )
    }
}

/// A row's name without what all layers share: `layer.*.attn.q` is `attn.q`.
fn short(name: &str) -> String {
    let parts = name
        .split('.')
        .filter(|part| *part != "*" && *part != "layer");
    let short = parts.collect::<Vec<_>>().join(".");
    if short.is_empty() {
        name.to_owned()
    } else {
        short
    }
}

/// The text with an ellipsis where it is longer than this at the size of labels.
fn cut(text: &str, most: f64) -> String {
    if width(text, LABEL) <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if width(&out, LABEL) + width(&c.to_string(), LABEL) > most - LABEL * 1.2 {
            break;
        }
        out.push(c);
    }
    out + "…"
}

impl Axes {
    /// Up along the bandwidth, then level, each with its name; and where labels of dots have room.
    fn roof(&self, out: &mut String, roof: &crate::roof::Roof) -> Result<Room, std::fmt::Error> {
        let ridge = roof.operations_s / roof.bytes_s;
        let [low, high] = self.x.map(|log| 10f64.powf(log));
        // The line enters where it comes into the picture.
        let enters = (10f64.powf(self.y[0]) / roof.bytes_s).max(low).min(high);
        let ends = [enters, ridge.clamp(enters, high), high];
        let [from, bend, to] = ends.map(|x| self.place([x, roof.at(x)]));
        let path = [from, bend, to].map(|[x, y]| format!("{x:.1},{y:.1}"));
        writeln!(
            out,
            "<polyline class=\"roof\" points=\"{}\" fill=\"none\" stroke=\"#24292f\" stroke-width=\"2\"/>",
            path.join(" ")
        )?;
        let [left, right, top, bottom] = MARGINS;
        let mut room = Room {
            inside: Area {
                x: left + 2.0,
                y: top + 2.0,
                w: SIZE[0] - left - right - 4.0,
                h: SIZE[1] - top - bottom - 4.0,
            },
            dots: Vec::new(),
            taken: Vec::new(),
            lines: points(from, bend),
        };
        room.lines.extend(points(bend, to));
        let level = format!("arithmetic: {:.1} GFLOP/s", roof.operations_s / 1e9);
        let text = width(&level, TEXT);
        if to[0] - bend[0] > text + 12.0 {
            // Above the line where the picture goes on, else below it.
            let y = if to[1] > top + 22.0 {
                to[1] - 7.0
            } else {
                to[1] + 17.0
            };
            writeln!(
                out,
                "<text class=\"roof\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\" font-weight=\"600\">{level}</text>",
                to[0] - 6.0
            )?;
            room.taken.push(Area {
                x: to[0] - 6.0 - text,
                y: y - TEXT,
                w: text,
                h: TEXT + 4.0,
            });
        }
        let slope = format!("memory: {:.1} GB/s", roof.bytes_s / 1e9);
        let text = width(&slope, TEXT);
        let along = [bend[0] - from[0], bend[1] - from[1]];
        let length = along[0].hypot(along[1]);
        if length > text + 12.0 {
            let unit = along.map(|part| part / length);
            // In the middle, above the line.
            let half = length / 2.0;
            let [x, y] = [0, 1].map(|at| from[at] + unit[at] * half);
            let (x, y) = (x + unit[1] * 8.0, y - unit[0] * 8.0);
            let angle = along[1].atan2(along[0]).to_degrees();
            writeln!(
                out,
                "<text class=\"roof\" transform=\"translate({x:.1} {y:.1}) rotate({angle:.2})\" text-anchor=\"middle\" \
                 font-weight=\"600\">{slope}</text>"
            )?;
            // As small squares along it.
            let steps = (text / 8.0).ceil() as i32;
            for step in 0..=steps {
                let part = text * (f64::from(step) / f64::from(steps) - 0.5);
                room.taken.push(Area {
                    x: x + unit[0] * part - TEXT / 2.0,
                    y: y + unit[1] * part - TEXT,
                    w: TEXT,
                    h: TEXT + 4.0,
                });
            }
        }
        Ok(room)
    }

    fn draw(&self, out: &mut String) -> std::fmt::Result {
        let decades = |[low, high]: [f64; 2]| low as i32..=high as i32;
        let ([left, bottom], [right, top]) = (
            self.place([10f64.powf(self.x[0]), 10f64.powf(self.y[0])]),
            self.place([10f64.powf(self.x[1]), 10f64.powf(self.y[1])]),
        );
        for decade in decades(self.x) {
            let [x, _] = self.place([10f64.powi(decade), 1.0]);
            writeln!(
                out,
                "<path d=\"M{x:.1} {bottom:.1}V{top:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                number(decade)
            )?;
        }
        for decade in decades(self.y) {
            let [_, y] = self.place([1.0, 10f64.powi(decade)]);
            writeln!(
                out,
                "<path d=\"M{left:.1} {y:.1}H{right:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                y + 4.0,
                number(decade - 9)
            )?;
        }
        writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">operations a byte</text>\
             <text transform=\"translate(20 {:.1}) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>",
            (left + right) / 2.0,
            bottom + 42.0,
            (top + bottom) / 2.0
        )
    }
}

/// A power of ten, written out where it is short.
fn number(decade: i32) -> String {
    match decade {
        0..=4 => format!("{}", 10u32.pow(decade as u32)),
        -3..=-1 => format!("{:.*}", decade.unsigned_abs() as usize, 10f64.powi(decade)),
        _ => format!("1e{decade}"),
    }
}
