//! The section about CUDA programs: interpreted, compiled, and as plain C++.

use super::table::{head, table};
use crate::{part::cuda::Programs, stats::median};
use std::fmt::Write;

/// The geometric mean of some ratios; NaN of none.
fn mean(of: &[f64]) -> f64 {
    (of.iter().map(|x| x.ln()).sum::<f64>() / of.len() as f64).exp()
}

pub(super) fn write(out: &mut String, programs: &Programs) -> std::fmt::Result {
    writeln!(out, "\n## CUDA programs beside C++\n")?;
    writeln!(
        out,
        "Programs of `suite/cases/cuda` as NVRTC compiles them for sm_90, and the same algorithms in C++\n\
         (`bench/native/`, {}, `-O3 -march=native`), all with {} threads; milliseconds of a launch. Outputs agree.\n",
        programs.compiler, programs.threads
    )?;
    let mut rows = vec![head([
        "program",
        "interpreted",
        "compiled",
        "C++",
        "interpreted / compiled",
        "compiled / C++",
        "us to compile a line",
    ])];
    let (mut gained, mut left, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for row in &programs.rows {
        gained.push(row.interpreted_ms / row.compiled_ms);
        left.push(row.compiled_ms / row.native_ms);
        lines.push(row.compile_us);
        rows.push(vec![
            row.name.clone(),
            format!("{:.2}", row.interpreted_ms),
            format!("{:.2}", row.compiled_ms),
            format!("{:.2}", row.native_ms),
            format!("{:.2}", row.interpreted_ms / row.compiled_ms),
            format!("{:.2}", row.compiled_ms / row.native_ms),
            format!("{:.1}", row.compile_us),
        ]);
    }
    table(out, &rows)?;
    writeln!(
        out,
        "\nGeometric means: compiled code is {:.2} times as fast as the interpreter, and takes {:.2} times as long as\n\
         C++. Compiling a line of PTX takes {:.1} us (median).",
        mean(&gained),
        mean(&left),
        median(&lines)
    )
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn a_ratio_and_its_inverse_have_a_mean_of_one() {
        assert!((mean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
        assert!((mean(&[2.0, 8.0]) - 4.0).abs() < 1e-12);
    }
}
