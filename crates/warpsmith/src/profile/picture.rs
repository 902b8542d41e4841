//! The roofline as an SVG: operations a second over operations a byte, both logarithmic, a point for each row.

use super::Profile;
use std::fmt::Write;

const SIZE: [f64; 2] = [960.0, 600.0];
/// Left, right, top, bottom.
const MARGINS: [f64; 4] = [80.0, 250.0, 40.0, 60.0];
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
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{}\" y=\"24\" font-size=\"15\">{}: {:.1} GB/s, {:.1} GFLOP/s</text>",
            MARGINS[0],
            escaped(&self.device),
            roof.bytes_s / 1e9,
            roof.operations_s / 1e9
        )?;
        axes.draw(out)?;
        // Up along the bandwidth, then level.
        let [low, high] = axes.x.map(|log| 10f64.powf(log));
        let path = [low, ridge.clamp(low, high), high].map(|x| {
            let least = 10f64.powf(axes.y[0]);
            // The line enters where it comes into the picture.
            let x = x.max(least / roof.bytes_s).min(high);
            let [x, y] = axes.place([x, roof.at(x)]);
            format!("{x:.1},{y:.1}")
        });
        let path = path.join(" ");
        writeln!(
            out,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"#333\" stroke-width=\"2\"/>"
        )?;
        for (pass, row, colour, [x, y]) in points.iter().map(|(at, pass, row, point)| {
            (pass, row, COLOURS[at % COLOURS.len()], axes.place(*point))
        }) {
            // The area is the time.
            let radius = 4.0 + 14.0 * pass.share(row).sqrt();
            let title = format!(
                "{} {} {}: {:.3} ms, {:.1} % of the roof",
                pass.name,
                row.op,
                row.name,
                1e3 * row.total.seconds,
                100.0 * row.total.of_roof(&roof)
            );
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\" fill-opacity=\"0.5\">\
                 <title>{}</title></circle>",
                escaped(&title)
            )?;
        }
        self.legend(out)
    }

    /// Passes by colour, with the operations that take most of each.
    fn legend(&self, out: &mut String) -> std::fmt::Result {
        let x = SIZE[0] - MARGINS[1] + 20.0;
        let mut y = MARGINS[2] + 10.0;
        for (pass, colour) in self.passes.iter().zip(COLOURS.iter().cycle()) {
            let name = escaped(&pass.name);
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\" font-weight=\"bold\">{name}</text>"
            )?;
            y += 16.0;
            for row in pass.rows.iter().take(6) {
                let share = 100.0 * pass.share(row);
                let name = escaped(&row.name);
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"11\">{share:.1} % {name}</text>"
                )?;
                y += 15.0;
            }
            y += 8.0;
        }
        out.push_str("</svg>\n");
        Ok(())
    }
}

impl Axes {
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

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
