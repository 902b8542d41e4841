//! The section about programs under `warpsmith exec`.

use super::table::{head, table};
use crate::{
    part::exec::{Client, Exec},
    stats::median,
};
use std::fmt::Write;

pub(super) fn write(out: &mut String, exec: &Exec) -> std::fmt::Result {
    let Exec {
        calls,
        arrays,
        clients,
    } = exec;
    writeln!(
        out,
        "\n## Programs under `warpsmith exec`\n\n\
         From C++ a launch of one small kernel takes {:.2} us where many follow each other, {:.1} us where each is awaited.\n\
         Copies of 64 MiB, GB/s: {:.1} to the card, {:.1} back, {:.1} within it; `memcpy` does {:.1}.\n",
        calls.launch_us,
        calls.launch_and_wait_us,
        calls.up_gb_s,
        calls.down_gb_s,
        calls.across_gb_s,
        calls.memcpy_gb_s,
    )?;
    let row = |what: &str, ours: f64, numpy: f64| {
        vec![
            what.to_owned(),
            format!("{ours:.1}"),
            format!("{numpy:.1}"),
            format!("{:.1}", ours / numpy),
        ]
    };
    table(
        out,
        &[
            head(["ms, f32", "NVRTC's kernel", "numpy", "ours / numpy's"]),
            row("a x + y of 16 Mi", arrays.axpy_ms, arrays.axpy_numpy_ms),
            row(
                "512 x 512 product, naive",
                arrays.naive_ms,
                arrays.product_numpy_ms,
            ),
            row(
                "512 x 512 product, in tiles",
                arrays.tiled_ms,
                arrays.product_numpy_ms,
            ),
        ],
    )?;
    writeln!(
        out,
        "\nPrograms of the tests, from the start of Python to its end, plain. What is not spent in functions of the driver is\n\
         Python, and the compilers of these libraries.\n"
    )?;
    let mut rows = vec![head([
        "s",
        "all",
        "in the driver",
        "the rest",
        "all / the rest",
    ])];
    for Client {
        name,
        seconds,
        driver,
    } in clients
    {
        let (all, own) = (median(seconds), median(driver));
        let rest = all - own;
        rows.push(vec![
            name.clone(),
            format!("{all:.2}"),
            format!("{own:.2}"),
            format!("{rest:.2}"),
            format!("{:.2}", all / rest),
        ]);
    }
    table(out, &rows)
}
