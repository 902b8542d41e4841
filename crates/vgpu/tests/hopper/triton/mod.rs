//! Kernels that Triton wrote for sm_90a: they make tensor maps themselves, bring tiles by them, and multiply by warp groups.
//!
//! ```python
//! def k_desc(a, b, o, M, N, K):                            # o = a @ b.T, blocks of 64 by 64 by 32
//!     A = tl.make_tensor_descriptor(a, [M, K], [K, 1], [64, 32])
//!     B = tl.make_tensor_descriptor(b, [N, K], [K, 1], [64, 32])
//!     O = tl.make_tensor_descriptor(o, [M, N], [N, 1], [64, 64])
//!     acc = tl.zeros((64, 64), tl.float32)
//!     for k in range(0, K, 32):
//!         acc = tl.dot(A.load([m, k]), B.load([n, k]).T, acc)
//!     O.store([m, n], acc)
//!
//! def k_attn_desc(q, k, v, o, N, scale): ...               # attention of 64 channels, blocks of 64 queries and 64 keys
//! ```

use crate::harness::{bytes, plain};
use warpsmith_ptx::{parse::parse, verify::verify};
use warpsmith_vgpu::{Compile, Config, Launch, Machine, check::Checks};

/// What a kernel is launched with.
struct Kernel<'a> {
    text: &'a str,
    name: &'a str,
    grid: [u32; 3],
    shared: u32,
    /// Halves that it reads, and words of its result.
    inputs: Vec<Vec<u16>>,
    out: usize,
    numbers: Vec<u32>,
}

impl Kernel<'_> {
    /// The result, the same in every way and without a finding.
    fn run(&self) -> Vec<f32> {
        let compiled = Config {
            compile: Compile::Always,
            workers: 2,
            ..plain()
        };
        let checked = Config {
            checks: Some(Checks::default()),
            ..plain()
        };
        let all = [compiled, plain(), checked].map(|config| self.run_on(config));
        assert_eq!(all[0], all[1]);
        assert_eq!(all[0], all[2]);
        all[0].iter().map(|word| f32::from_bits(*word)).collect()
    }

    fn run_on(&self, config: Config) -> Vec<u32> {
        let module = parse(self.text).unwrap_or_else(|found| panic!("{found:#?}"));
        let module = verify(module).unwrap_or_else(|found| panic!("{found:#?}"));
        let machine = Machine::new(config).expect("a machine");
        let stream = machine.stream().expect("a stream");
        let loaded = machine.load(&module).expect("loads");
        let mut params = Vec::new();
        for input in &self.inputs {
            let at = machine.alloc(2 * input.len() as u64).expect("memory");
            let halves: Vec<u8> = input.iter().flat_map(|half| half.to_le_bytes()).collect();
            machine.write(at, &halves).expect("inside");
            params.extend(at.to_le_bytes());
        }
        let out = machine.alloc(4 * self.out as u64).expect("memory");
        params.extend(out.to_le_bytes());
        params.extend(bytes(&self.numbers));
        params.resize(params.len().next_multiple_of(8), 0);
        let ctas = self.grid.iter().product::<u32>();
        let scratch = machine.alloc(384 * u64::from(ctas)).expect("memory");
        params.extend(scratch.to_le_bytes());
        params.extend(0u64.to_le_bytes());
        let launch = Launch {
            kernel: loaded.kernel(self.name).expect("the kernel"),
            grid: self.grid,
            block: [128, 1, 1],
            dynamic_shared: self.shared,
            params,
            cooperative: false,
            cluster: None,
        };
        stream.launch(launch).expect("launches");
        stream.synchronize().expect("runs");
        let found = machine.take_findings();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(shown.is_empty(), "{shown:#?}");
        let mut result = vec![0; 4 * self.out];
        machine.read(out, &mut result).expect("inside");
        let words = result.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
            .collect()
    }
}

/// Multiples of 1/8, of which sums of products are exact.
fn eighths(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 37 + seed * 11) % 17) as f32 * 0.125 - 1.0)
        .collect()
}

fn halves(values: &[f32]) -> Vec<u16> {
    values
        .iter()
        .map(|x| half::f16::from_f32(*x).to_bits())
        .collect()
}

#[test]
fn a_product_by_tensor_maps_is_right_at_the_edges() {
    let [m, n, k] = [200, 152, 96];
    let (a, b) = (eighths(m * k, 1), eighths(n * k, 2));
    let found = Kernel {
        text: include_str!("k_desc.ptx"),
        name: "k_desc",
        grid: [4, 3, 1],
        shared: 24600,
        inputs: vec![halves(&a), halves(&b)],
        out: m * n,
        numbers: vec![m as u32, n as u32, k as u32],
    }
    .run();
    for row in 0..m {
        for column in 0..n {
            let dot: f32 = (0..k).map(|i| a[row * k + i] * b[column * k + i]).sum();
            assert_eq!(found[row * n + column], dot, "{row} {column}");
        }
    }
}

#[test]
fn attention_by_tensor_maps_is_near_that_of_the_host() {
    let [n, d] = [256, 64];
    let [q, k, v] = [1, 2, 3].map(|seed| eighths(n * d, seed));
    let found = Kernel {
        text: include_str!("k_attn_desc.ptx"),
        name: "k_attn_desc",
        grid: [4, 1, 1],
        shared: 57400,
        inputs: vec![halves(&q), halves(&k), halves(&v)],
        out: n * d,
        numbers: vec![n as u32, 0.125f32.to_bits()],
    }
    .run();
    for row in 0..n {
        let score = |key: usize| -> f64 {
            let dot: f32 = (0..d).map(|i| q[row * d + i] * k[key * d + i]).sum();
            f64::from(dot) * 0.125
        };
        let most = (0..n).map(score).fold(f64::MIN, f64::max);
        let weights: Vec<f64> = (0..n).map(|key| (score(key) - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        for column in 0..d {
            let terms = (0..n).map(|key| weights[key] * f64::from(v[key * d + column]));
            let want = terms.sum::<f64>() / sum;
            // Each weight is rounded to a half, and the values are at most one.
            let near = (f64::from(found[row * d + column]) - want).abs();
            assert!(near < 2.0 / 2048.0, "{row} {column}: {near}");
        }
    }
}
