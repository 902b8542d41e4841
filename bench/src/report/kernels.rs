//! The sections about kernels: their shares of time, their emission, products, and what checking costs.

use super::table::{head, table};
use crate::{
    part::{
        checker::Checker,
        emission::Emission,
        floor::Floor,
        micro::{Micro, Product},
        share::Share,
    },
    stats::Spread,
};
use std::fmt::Write;

pub(super) fn share(out: &mut String, title: &str, share: &Share) -> std::fmt::Result {
    const SHOWN: usize = 12;
    writeln!(out, "\n## {title}\n")?;
    let kernels: f64 = share.kernels.iter().map(|kernel| kernel.ms).sum();
    writeln!(
        out,
        "Launched eagerly with an event before and after each launch: {:.2} ms in all, {kernels:.2} ms of it in kernels.\n",
        share.wall_ms
    )?;
    let mut rows = vec![head(["kernel", "launches", "ms", "share"])];
    let row = |name: &str, launches: usize, ms: f64| {
        vec![
            name.to_owned(),
            launches.to_string(),
            format!("{ms:.3}"),
            format!("{:.1} %", 100.0 * ms / kernels),
        ]
    };
    for kernel in share.kernels.iter().take(SHOWN) {
        rows.push(row(
            &format!("`{}`", kernel.name),
            kernel.launches,
            kernel.ms,
        ));
    }
    let rest = share.kernels.get(SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let launches = rest.iter().map(|kernel| kernel.launches).sum();
        let ms = rest.iter().map(|kernel| kernel.ms).sum();
        rows.push(row(&format!("{} others", rest.len()), launches, ms));
    }
    table(out, &rows)
}

pub(super) fn emission(out: &mut String, emission: &Emission) -> std::fmt::Result {
    writeln!(out, "\n## Emission of PTX\n")?;
    writeln!(
        out,
        "From a kernel's value to its text for {}, after warm-up, one thread: {} distinct modules, every case of the\n\
         registry. Microseconds a kernel.\n",
        emission.target, emission.kernels
    )?;
    let mut rows = vec![head(["", "min", "p10", "median", "p90", "max"])];
    for (name, spread) in [
        ("body and print", emission.build_print),
        ("verification", emission.verify),
        ("all", emission.whole),
    ] {
        let Spread {
            min,
            p10,
            median,
            p90,
            max,
        } = spread;
        let numbers = [min, p10, median, p90, max].map(|us| format!("{us:.1}"));
        rows.push([vec![name.to_owned()], numbers.to_vec()].concat());
    }
    table(out, &rows)?;
    writeln!(out)?;
    let mut rows = vec![head([
        "family (medians)",
        "modules",
        "statements",
        "body",
        "print",
        "verification",
    ])];
    for family in &emission.families {
        rows.push(vec![
            family.name.clone(),
            family.kernels.to_string(),
            format!("{:.0}", family.statements),
            format!("{:.1}", family.build_us),
            format!("{:.1}", family.print_us),
            format!("{:.1}", family.verify_us),
        ]);
    }
    table(out, &rows)?;
    let cached = &emission.cached;
    writeln!(
        out,
        "\nA kernel in the cache: {} launches wrote {} bodies and missed {} times; a look-up takes {:.2} us.",
        cached.launches, cached.bodies, cached.misses, cached.look_up_us
    )
}

pub(super) fn micro(out: &mut String, micro: &Micro, floor: Option<&Floor>) -> std::fmt::Result {
    writeln!(out, "\n## Products and launches\n")?;
    writeln!(
        out,
        "Precision fast, with the kernels that a plan chooses, activations made ready included. A small launch takes\n\
         {:.2} us eagerly and {:.2} us in a replay.\n",
        micro.launch_eager_us, micro.launch_replayed_us
    )?;
    let mut rows = vec![head([
        "weights",
        "m x n x k",
        "us",
        "GB/s of weights",
        "GFLOP/s",
    ])];
    for product in &micro.products {
        rows.push(vec![
            product.weights.clone(),
            format!("{} x {} x {}", product.m, product.n, product.k),
            format!("{:.1}", product.us),
            format!("{:.2}", product.gb_s()),
            format!("{:.1}", product.gflop_s()),
        ]);
    }
    table(out, &rows)?;
    match floor {
        Some(floor) => shares(out, micro, floor),
        None => Ok(()),
    }
}

/// What the largest products and passes over arrays have of the machine.
fn shares(out: &mut String, micro: &Micro, floor: &Floor) -> std::fmt::Result {
    writeln!(
        out,
        "\nShares of what this machine was measured to do in the same run: reading {:.1} GB/s, for products of one row and\n\
         passes over [2048, 4096] (32 MiB read and 32 MiB written, which count alike), and {:.1} GFLOP/s of f32 multiply-adds,\n\
         for products of 512 rows. F32 is multiplied in `exact`, without tensor cores.\n",
        floor.read_bytes_s / 1e9,
        floor.fma_flops_s / 1e9,
    )?;
    let mut rows = vec![head(["", "does", "share"])];
    let share = |does: f64, roof: f64| format!("{:.0} %", 100.0 * does * 1e9 / roof);
    let largest = |product: &&Product| match product.weights.as_str() {
        "F32" => true,
        _ => product.n == 4096 && matches!(product.m, 1 | 512),
    };
    for product in micro.products.iter().filter(largest) {
        let Product {
            weights, m, n, k, ..
        } = product;
        let (does, share) = if *m == 1 {
            let does = product.gb_s();
            (format!("{does:.1} GB/s"), share(does, floor.read_bytes_s))
        } else {
            let does = product.gflop_s();
            (format!("{does:.1} GFLOP/s"), share(does, floor.fma_flops_s))
        };
        rows.push(vec![format!("{weights}, {m} x {n} x {k}"), does, share]);
    }
    for pass in &micro.passes {
        let does = pass.gb_s();
        let share = share(does, floor.read_bytes_s);
        rows.push(vec![pass.name.clone(), format!("{does:.1} GB/s"), share]);
    }
    table(out, &rows)
}

pub(super) fn checker(out: &mut String, checker: &Checker) -> std::fmt::Result {
    writeln!(out, "\n## What checking costs\n")?;
    writeln!(
        out,
        "Device time of a prompt and a token on one thread, plain and under the checker, whose findings were none.\n"
    )?;
    let head = std::iter::once("kernels").chain(checker.levels.iter().map(String::as_str));
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    for family in &checker.families {
        let plain = family.ms.first().copied().unwrap_or(f64::NAN);
        let mut row = vec![family.name.clone()];
        for ms in &family.ms {
            row.push(format!("{ms:.2} ms ({:.2} x)", ms / plain));
        }
        rows.push(row);
    }
    table(out, &rows)
}
