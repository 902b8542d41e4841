//! Each kernel against plain loops, under the checker in eight orders, and through NVIDIA's assembler for all targets.

use half::f16;
use std::{env, fs, path::PathBuf, process::Command};
use ten_kernels::{
    bitonic_sort::{BitonicSort, BitonicSortArgs},
    hash_table::{CountKeys, CountKeysArgs, EMPTY},
    histogram::{Histogram, HistogramArgs},
    matrix_product::{MatrixProduct, MatrixProductArgs},
    mma_product::{MmaProduct, MmaProductArgs},
    one_pass_sum::{OnePassSum, OnePassSumArgs},
    segmented_scan::{SegmentedScan, SegmentedScanArgs},
    sparse::{Sparse, SparseArgs},
    stencil::{Stencil, StencilArgs},
    top_k::{TopK, TopKArgs},
};
use warpsmith::{
    device::{Device, Error, Selector, Settings, Stream},
    kernel::{Kernel, Options, build},
    ptx::target::Target,
};

/// Numbers that look random and are the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: u64) -> u32 {
        (self.next() % n) as u32
    }

    fn floats(&mut self, n: u32) -> Vec<f32> {
        (0..n)
            .map(|_| self.below(2001) as f32 / 1000.0 - 1.0)
            .collect()
    }
}

/// Runs `test` in eight orders, each under the checker, which finds nothing.
fn in_all_orders(test: impl Fn(&Stream, &mut Random) -> Result<(), Error>) -> Result<(), Error> {
    for seed in 0..8 {
        let settings = Settings::checking();
        let settings = if seed == 0 {
            settings
        } else {
            settings.with_seed(seed)
        };
        let device = Device::open_with(&Selector::virtual_gpu(), settings)?;
        test(&device.stream()?, &mut Random(seed))?;
        let found: Vec<String> = device
            .take_findings()
            .iter()
            .map(|f| format!("{f:?}"))
            .collect();
        assert!(found.is_empty(), "order {seed}: {}", found.join("\n"));
    }
    Ok(())
}

/// `got` is `want` but for rounding `terms` terms of at most `size`.
fn close(got: &[f32], want: &[f64], terms: u32, size: f64) {
    let most = f64::from(terms) * f64::from(f32::EPSILON) * size;
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (f64::from(*got) - want).abs() <= most,
            "element {i} is {got}, expected {want}"
        );
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn histogram_counts_bytes() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let n = [1, 255, 40_001][random.below(3) as usize];
        let x: Vec<u8> = (0..n).map(|_| (random.next() % 256) as u8 & 0x3f).collect();
        let (device_x, mut counts) = (stream.upload_new(&x)?, stream.upload_new(&[0u32; 256])?);
        let args = HistogramArgs {
            x: device_x.view(),
            counts: counts.view_mut(),
            n,
        };
        stream.launch(&Histogram, &args)?;
        let mut want = vec![0; 256];
        x.iter().for_each(|x| want[usize::from(*x)] += 1);
        assert_eq!(stream.download(&counts)?.wait()?, want);
        Ok(())
    })
}

#[test]
fn segments_are_scanned() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let (rows, n) = (3, [1, 256, 1001][random.below(3) as usize]);
        let x: Vec<f32> = (0..rows * n).map(|_| random.below(9) as f32).collect();
        let starts: Vec<u8> = (0..rows * n)
            .map(|_| u8::from(random.below(300) == 0))
            .collect();
        let (device_x, device_starts) = (stream.upload_new(&x)?, stream.upload_new(&starts)?);
        let mut y = stream.alloc(x.len())?;
        let args = SegmentedScanArgs {
            x: device_x.view(),
            starts: device_starts.view(),
            y: y.view_mut(),
            rows,
            n,
        };
        stream.launch(&SegmentedScan, &args)?;
        let mut want = x.clone();
        for i in 0..want.len() {
            if i % n as usize > 0 && starts[i] == 0 {
                want[i] += want[i - 1];
            }
        }
        assert_eq!(stream.download(&y)?.wait()?, want);
        Ok(())
    })
}

#[test]
fn rows_are_sorted() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let (rows, n) = (2, [1, 1000, 2048][random.below(3) as usize]);
        let mut host = random.floats(rows * n);
        let mut x = stream.upload_new(&host)?;
        stream.launch(
            &BitonicSort,
            &BitonicSortArgs {
                x: x.view_mut(),
                rows,
                n,
            },
        )?;
        host.chunks_mut(n as usize)
            .for_each(|row| row.sort_by(f32::total_cmp));
        assert_eq!(stream.download(&x)?.wait()?, host);
        Ok(())
    })
}

#[test]
fn the_largest_are_found() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let (rows, n, k) = (2, 700 + random.below(600), 1 + random.below(9));
        let host = random.floats(rows * n);
        let x = stream.upload_new(&host)?;
        let (mut values, mut places) = (
            stream.alloc((rows * k) as usize)?,
            stream.alloc((rows * k) as usize)?,
        );
        let args = TopKArgs {
            x: x.view(),
            values: values.view_mut(),
            places: places.view_mut(),
            rows,
            n,
            k,
        };
        stream.launch(&TopK, &args)?;
        let (values, places) = (
            stream.download(&values)?.wait()?,
            stream.download(&places)?.wait()?,
        );
        for (r, row) in host.chunks(n as usize).enumerate() {
            let mut order: Vec<u32> = (0..n).collect();
            order.sort_by(|a, b| row[*b as usize].total_cmp(&row[*a as usize]));
            let own = r * k as usize..(r + 1) * k as usize;
            assert_eq!(places[own.clone()], order[..k as usize]);
            let want: Vec<f32> = order[..k as usize]
                .iter()
                .map(|i| row[*i as usize])
                .collect();
            assert_eq!(values[own], want);
        }
        Ok(())
    })
}

/// `a b` for row-major m x k and k x n.
fn product(a: &[f32], b: &[f32], [m, n, k]: [u32; 3]) -> Vec<f64> {
    let term = |i: u32, j: u32, l: u32| {
        f64::from(a[(i * k + l) as usize]) * f64::from(b[(l * n + j) as usize])
    };
    let at = |at: u32| (0..k).map(|l| term(at / n, at % n, l)).sum();
    (0..m * n).map(at).collect()
}

#[test]
fn matrices_are_multiplied() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let [m, n, k] = [(); 3].map(|()| 1 + random.below(60));
        let (a, b) = (random.floats(m * k), random.floats(k * n));
        let (device_a, device_b) = (stream.upload_new(&a)?, stream.upload_new(&b)?);
        let mut c = stream.alloc((m * n) as usize)?;
        let args = MatrixProductArgs {
            a: device_a.view(),
            b: device_b.view(),
            c: c.view_mut(),
            m,
            n,
            k,
        };
        stream.launch(&MatrixProduct, &args)?;
        close(
            &stream.download(&c)?.wait()?,
            &product(&a, &b, [m, n, k]),
            k,
            f64::from(k),
        );
        Ok(())
    })
}

#[test]
fn tensor_cores_multiply() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let [m, n, k] = [(); 3].map(|()| 32 * (1 + random.below(3)));
        let mut halves =
            |n| -> Vec<f16> { random.floats(n).into_iter().map(f16::from_f32).collect() };
        let (x, w) = (halves(m * k), halves(n * k));
        let (device_x, device_w) = (stream.upload_new(&x)?, stream.upload_new(&w)?);
        let mut y = stream.alloc((m * n) as usize)?;
        let args = MmaProductArgs {
            x: device_x.view(),
            w: device_w.view(),
            y: y.view_mut(),
            m,
            n,
            k,
        };
        stream.launch(&MmaProduct, &args)?;
        let x: Vec<f32> = x.into_iter().map(f16::to_f32).collect();
        let across = |at: u32| w[((at % n) * k + at / n) as usize].to_f32();
        let w: Vec<f32> = (0..n * k).map(across).collect();
        close(
            &stream.download(&y)?.wait()?,
            &product(&x, &w, [m, n, k]),
            k,
            f64::from(k),
        );
        Ok(())
    })
}

#[test]
fn heat_flows() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let (rows, cols, rate) = (1 + random.below(70), 1 + random.below(70), 0.2);
        let host = random.floats(rows * cols);
        let (x, mut y) = (stream.upload_new(&host)?, stream.alloc(host.len())?);
        stream.launch(
            &Stencil,
            &StencilArgs {
                x: x.view(),
                y: y.view_mut(),
                rows,
                cols,
                rate,
            },
        )?;
        let at = |row: i64, col: i64| {
            let inside = (0..i64::from(rows)).contains(&row) && (0..i64::from(cols)).contains(&col);
            if inside {
                f64::from(host[(row * i64::from(cols) + col) as usize])
            } else {
                0.0
            }
        };
        let new = |i: u32| {
            let (r, c) = (i64::from(i / cols), i64::from(i % cols));
            let around = at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1);
            at(r, c) + f64::from(rate) * (around - 4.0 * at(r, c))
        };
        let want: Vec<f64> = (0..rows * cols).map(new).collect();
        close(&stream.download(&y)?.wait()?, &want, 8, 4.0);
        Ok(())
    })
}

#[test]
fn sparse_rows_are_summed() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let (rows, cols) = (1 + random.below(50), 1 + random.below(400));
        let mut starts = vec![0];
        (0..rows).for_each(|_| starts.push(starts[starts.len() - 1] + random.below(90)));
        let entries = 1 + starts[rows as usize];
        let columns: Vec<u32> = (0..entries).map(|_| random.below(cols.into())).collect();
        let (values, x) = (random.floats(entries), random.floats(cols));
        let [device_starts, device_columns] =
            [stream.upload_new(&starts)?, stream.upload_new(&columns)?];
        let [device_values, device_x] = [stream.upload_new(&values)?, stream.upload_new(&x)?];
        let mut y = stream.alloc(rows as usize)?;
        let args = SparseArgs {
            starts: device_starts.view(),
            columns: device_columns.view(),
            values: device_values.view(),
            x: device_x.view(),
            y: y.view_mut(),
            rows,
            cols,
            entries,
        };
        stream.launch(&Sparse, &args)?;
        let term =
            |i: u32| f64::from(values[i as usize]) * f64::from(x[columns[i as usize] as usize]);
        let row = |pair: &[u32]| (pair[0]..pair[1]).map(term).sum();
        let want: Vec<f64> = starts.windows(2).map(row).collect();
        close(&stream.download(&y)?.wait()?, &want, 90, 90.0);
        Ok(())
    })
}

#[test]
fn keys_are_counted() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let (n, places) = (1 + random.below(3000), 256);
        let x: Vec<u32> = (0..n).map(|_| random.below(200) * 7919).collect();
        let device_x = stream.upload_new(&x)?;
        let mut keys = stream.upload_new(&vec![EMPTY; places as usize])?;
        let mut counts = stream.upload_new(&vec![0u32; places as usize])?;
        let args = CountKeysArgs {
            x: device_x.view(),
            keys: keys.view_mut(),
            counts: counts.view_mut(),
            n,
            places,
        };
        stream.launch(&CountKeys, &args)?;
        let (keys, counts) = (
            stream.download(&keys)?.wait()?,
            stream.download(&counts)?.wait()?,
        );
        let mut got: Vec<(u32, u32)> = keys
            .into_iter()
            .zip(counts)
            .filter(|(key, _)| *key != EMPTY)
            .collect();
        got.sort_unstable();
        let mut want = std::collections::BTreeMap::new();
        x.iter().for_each(|key| *want.entry(*key).or_insert(0) += 1);
        assert_eq!(got, want.into_iter().collect::<Vec<_>>());
        Ok(())
    })
}

#[test]
fn one_launch_sums_all() -> Result<(), Error> {
    in_all_orders(|stream, random| {
        let n = [1, 8192, 50_001][random.below(3) as usize];
        let host = random.floats(n);
        let ctas = n.div_ceil(8192) as usize;
        let (x, mut parts) = (stream.upload_new(&host)?, stream.alloc(ctas)?);
        let (mut arrived, mut sum) = (stream.upload_new(&[0u32])?, stream.alloc(1)?);
        for _ in 0..2 {
            let args = OnePassSumArgs {
                x: x.view(),
                parts: parts.view_mut(),
                arrived: arrived.view_mut(),
                sum: sum.view_mut(),
                n,
            };
            stream.launch(&OnePassSum, &args)?;
            let want: f64 = host.iter().map(|x| f64::from(*x)).sum();
            assert!((stream.download(&sum)?.wait()?[0] - want).abs() < 1e-9);
        }
        Ok(())
    })
}

/// NVIDIA's assembler takes the kernel for `sm`.
fn assembles<K: Kernel>(kernel: &K, sm: u16) {
    let (variable, own) = if sm < 75 {
        ("WARPSMITH_PTXAS12", "ptxas12")
    } else {
        ("WARPSMITH_PTXAS", "ptxas")
    };
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../.tools")
        .join(own);
    let ptxas = env::var_os(variable).map_or(tools, PathBuf::from);
    assert!(
        ptxas.is_file(),
        "no ptxas at {}: `cargo xtask test` installs it",
        ptxas.display()
    );
    let built =
        build(kernel, Target::sm(sm), Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let file =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_{sm}.ptx", kernel.name()));
    fs::write(&file, built.module.text()).expect("a file");
    let run = Command::new(&ptxas)
        .arg(format!("-arch=sm_{sm}"))
        .args(["-o", "/dev/null"])
        .arg(&file)
        .output();
    let run = run.expect("ptxas");
    assert!(
        run.status.success(),
        "{} for sm_{sm}: {}",
        kernel.name(),
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn ptxas_takes_them_for_all_targets() {
    for sm in [70, 75, 80, 86, 89, 90, 100, 120] {
        assembles(&Histogram, sm);
        assembles(&SegmentedScan, sm);
        assembles(&BitonicSort, sm);
        assembles(&TopK, sm);
        assembles(&MatrixProduct, sm);
        assembles(&Stencil, sm);
        assembles(&Sparse, sm);
        assembles(&CountKeys, sm);
        assembles(&OnePassSum, sm);
        if sm >= 75 {
            assembles(&MmaProduct, sm);
        }
    }
}
