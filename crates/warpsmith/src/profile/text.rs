//! Profiles for people: a table for each pass.

use super::{Pass, Profile, Total};
use crate::roof::Roof;
use std::fmt::Write;

/// The widest name of a value that is shown whole.
const WIDE: usize = 34;

impl Profile {
    /// A table for each pass, the longest operations first. The time is that of one run; the roof is the least time by the
    /// time it took.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{}: at most {:.1} GB/s, {:.1} GFLOP/s\n",
            self.device,
            self.roof.bytes_s / 1e9,
            self.roof.operations_s / 1e9
        );
        for pass in &self.passes {
            // Writing to a string cannot fail.
            let _ = pass.write(&mut out, &self.roof);
        }
        out
    }
}

impl Pass {
    fn write(&self, out: &mut String, roof: &Roof) -> std::fmt::Result {
        let runs = self.runs.max(1) as f64;
        writeln!(
            out,
            "\n{}: {} {}, {:.3} ms each, {:.3} ms of it in kernels",
            self.name,
            self.runs,
            if self.runs == 1 { "run" } else { "runs" },
            1e3 * self.wall / runs,
            1e3 * self.total.seconds / runs
        )?;
        writeln!(
            out,
            "{:14} {:WIDE$} {:>8} {:>10} {:>6} {:>10} {:>10} {:>10} {:>8} {:>9} {:>6}",
            "operation",
            "value",
            "launches",
            "ms",
            "share",
            "MB read",
            "MB written",
            "Mflop",
            "GB/s",
            "GFLOP/s",
            "roof"
        )?;
        for row in &self.rows {
            let name = row.name.chars().take(WIDE).collect::<String>();
            line(
                out,
                [row.op, &name],
                &row.total,
                self.share(row),
                runs,
                roof,
            )?;
            let kernels = row.kernels.keys().cloned().collect::<Vec<_>>().join(", ");
            let kernels: String = kernels.chars().take(120).collect();
            writeln!(out, "{:14} {kernels}", "")?;
        }
        line(out, ["all", ""], &self.total, 1.0, runs, roof)
    }
}

fn line(
    out: &mut String,
    [op, name]: [&str; 2],
    total: &Total,
    share: f64,
    runs: f64,
    roof: &Roof,
) -> std::fmt::Result {
    let mega = |value: u64| value as f64 / 1e6 / runs;
    writeln!(
        out,
        "{op:14} {name:WIDE$} {:>8} {:>10.3} {:>5.1}% {:>10.3} {:>10.3} {:>10.2} {:>8.2} {:>9.2} {:>5.1}%",
        (total.launches as f64 / runs).round(),
        1e3 * total.seconds / runs,
        100.0 * share,
        mega(total.cost.read),
        mega(total.cost.written),
        mega(total.cost.operations),
        total.bytes_s() / 1e9,
        total.operations_s() / 1e9,
        100.0 * total.of_roof(roof),
    )
}
