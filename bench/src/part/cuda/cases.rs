//! The programs with inputs: sizes for which a launch takes some tens of milliseconds interpreted.

use warpsmith::library::case::Random;

/// A launch of a program of `suite/cases/cuda`.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) args: Vec<Arg>,
    /// A variable of the module, and what it holds.
    pub(super) constant: Option<(&'static str, Vec<u8>)>,
    /// How each buffer is compared with that of the program in C++.
    pub(super) checks: Vec<Check>,
}

/// An argument of the kernel.
pub(super) enum Arg {
    /// What a buffer holds before.
    Buffer(Vec<u8>),
    /// The bits of a number.
    Scalar(u64),
}

/// How near the numbers of two buffers are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Exact,
    F32(f64),
    F64(f64),
}

impl Case {
    pub(super) fn buffers(&self) -> impl Iterator<Item = &[u8]> {
        self.args.iter().filter_map(|arg| match arg {
            Arg::Buffer(bytes) => Some(&bytes[..]),
            Arg::Scalar(_) => None,
        })
    }
}

/// A launch of threads in a row.
fn case(name: &'static str, blocks: u32, threads: u32) -> Case {
    Case {
        name,
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        args: Vec::new(),
        constant: None,
        checks: Vec::new(),
    }
}

impl Case {
    fn square(mut self, blocks: [u32; 2], threads: [u32; 2]) -> Case {
        self.grid = [blocks[0], blocks[1], 1];
        self.block = [threads[0], threads[1], 1];
        self
    }

    /// An output of so many bytes.
    fn out(self, bytes: usize, check: Check) -> Case {
        self.buffer(vec![0; bytes], check)
    }

    fn buffer(mut self, bytes: Vec<u8>, check: Check) -> Case {
        self.args.push(Arg::Buffer(bytes));
        self.checks.push(check);
        self
    }

    /// An input, which stays as it is.
    fn input<T: Bytes>(self, values: &[T]) -> Case {
        self.buffer(bytes(values), Check::Exact)
    }

    fn number(mut self, value: i32) -> Case {
        self.args.push(Arg::Scalar(u64::from(value as u32)));
        self
    }

    fn scalar(mut self, bits: u64) -> Case {
        self.args.push(Arg::Scalar(bits));
        self
    }

    fn constant<T: Bytes>(mut self, name: &'static str, values: &[T]) -> Case {
        self.constant = Some((name, bytes(values)));
        self
    }
}

/// A number with bytes in memory.
trait Bytes: Copy {
    fn put(self, out: &mut Vec<u8>);
}
macro_rules! bytes {
    ($($ty:ty)*) => {$(
        impl Bytes for $ty {
            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*};
}
bytes! { u8 i32 u32 f32 f64 }

fn bytes<T: Bytes>(values: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        value.put(&mut out);
    }
    out
}

fn floats(random: &mut Random, count: usize, most: f32) -> Vec<f32> {
    random.numbers(count, most)
}

fn doubles(random: &mut Random, count: usize, most: f32) -> Vec<f64> {
    let numbers = random.numbers(count, most);
    numbers.into_iter().map(f64::from).collect()
}

fn below(random: &mut Random, count: usize, limit: u64) -> Vec<u32> {
    (0..count).map(|_| (random.bits() % limit) as u32).collect()
}

fn small(random: &mut Random, count: usize, limit: u64) -> Vec<u8> {
    (0..count).map(|_| (random.bits() % limit) as u8).collect()
}

fn signed(values: Vec<u32>) -> Vec<i32> {
    values.into_iter().map(|value| value as i32).collect()
}

/// The round constants of SHA-256: 32 bits of the cube roots of the first primes behind the point.
fn round_constants() -> Vec<u32> {
    let prime = |n: &u32| {
        (2..*n)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    let primes = (2u32..).filter(prime);
    primes
        .take(64)
        .map(|p| (f64::from(p).cbrt().fract() * 4_294_967_296.0) as u32)
        .collect()
}

/// All programs.
pub(super) fn all() -> Vec<Case> {
    let random = &mut Random::new(17);
    let mut all = numbers(random);
    all.extend(pictures(random));
    all.extend(words(random));
    all.extend(arrays(random));
    all
}

/// Matrices, rows and functions of floats.
fn numbers(random: &mut Random) -> Vec<Case> {
    let n = 1 << 23;
    let saxpy = case("saxpy", 256, 256)
        .buffer(bytes(&floats(random, n, 1.0)), Check::F32(1e-6))
        .input(&floats(random, n, 1.0))
        .scalar(u64::from(0.75f32.to_bits()))
        .number(n as i32);
    let side = 256;
    let sgemm = case("sgemm", 1, 1)
        .square([16, 16], [16, 16])
        .out(4 * side * side, Check::F32(1e-4))
        .input(&floats(random, side * side, 1.0))
        .input(&floats(random, side * side, 1.0))
        .number(side as i32)
        .number(side as i32)
        .number(side as i32);
    let (rows, columns) = (2048, 512);
    let softmax = case("softmax", rows / 4, 128)
        .out(4 * (rows * columns) as usize, Check::F32(1e-5))
        .input(&floats(random, (rows * columns) as usize, 4.0))
        .number(rows as i32)
        .number(columns as i32);
    let (rows, words) = (32768u32, 128u32);
    let quantised = case("quantised", rows / 8, 256)
        .out(8 * rows as usize, Check::F32(1e-6))
        .input(&below(random, (rows * words) as usize, 1 << 32))
        .input(&below(random, words as usize, 1 << 32))
        .input(&floats(random, rows as usize, 1.0))
        .number(words as i32)
        .number(rows as i32);
    let blocks = 4096;
    let roots: Vec<f64> = (0..32)
        .flat_map(|i| {
            let (sin, cos) = (-f64::from(i) * std::f64::consts::PI / 32.0).sin_cos();
            [cos, sin]
        })
        .collect();
    let fourier = case("fourier", blocks, 32)
        .buffer(
            bytes(&doubles(random, 128 * blocks as usize, 1.0)),
            Check::F64(1e-12),
        )
        .input(&roots);
    let n = 1 << 18;
    let mut systems = doubles(random, 16 * n, 1.0);
    // No system is near to having no solution.
    for (at, x) in systems.iter_mut().enumerate() {
        *x += if at % 16 % 5 == 0 { 4.0 } else { 0.0 };
    }
    let matrices_small = case("matrices_small", n as u32 / 128, 128)
        .out(8 * n, Check::F64(1e-9))
        .out(32 * n, Check::F64(1e-9))
        .input(&systems)
        .input(&doubles(random, 4 * n, 1.0))
        .number(n as i32);
    let n = 1 << 16;
    let math_single = case("math_single", n as u32 / 128, 128)
        .out(72 * n, Check::F32(1e-4))
        .input(&floats(random, n, 3.0))
        .number(n as i32);
    let math_double = case("math_double", n as u32 / 128, 128)
        .out(120 * n, Check::F64(1e-9))
        .input(&doubles(random, n, 3.0))
        .number(n as i32);
    let blocks = 4096;
    let lambda_sums = case("lambda_sums", blocks, 128)
        .out(8 * blocks as usize, Check::F32(1e-5))
        .out(8 * blocks as usize, Check::Exact)
        .input(&floats(random, 128 * blocks as usize, 1.0));
    vec![
        saxpy,
        sgemm,
        softmax,
        quantised,
        fourier,
        matrices_small,
        math_single,
        math_double,
        lambda_sums,
    ]
}

/// What is made for each point of a plane.
fn pictures(random: &mut Random) -> Vec<Case> {
    let mandelbrot = case("mandelbrot", 1, 1)
        .square([4, 2], [8, 8])
        .out(4 * 32 * 16, Check::Exact)
        .number(32)
        .number(16)
        .number(20_000);
    let (w, h) = (1024, 1024);
    let points = w * h;
    let transpose = case("transpose", 1, 1)
        .square([128, 128], [16, 16])
        .out(4 * 2048 * 2048, Check::Exact)
        .input(&floats(random, 2048 * 2048, 1.0))
        .number(2048)
        .number(2048);
    let convolution = case("convolution", 1, 1)
        .square([w as u32 / 32, h as u32 / 8], [32, 8])
        .out(4 * points, Check::F32(1e-4))
        .input(&small(random, points, 256))
        .number(w as i32)
        .number(h as i32)
        .constant("weights", &floats(random, 25, 1.0));
    let life = case("life", 1, 1)
        .square([w as u32 / 32, h as u32 / 8], [32, 8])
        .out(points, Check::Exact)
        .input(&small(random, points, 2))
        .number(w as i32)
        .number(h as i32);
    vec![mandelbrot, transpose, convolution, life]
}

/// Arithmetic of words.
fn words(random: &mut Random) -> Vec<Case> {
    let lengths = below(random, 256, 64);
    let mut starts = vec![0i32];
    for length in lengths {
        starts.push(starts[starts.len() - 1] + length as i32);
    }
    let crc = case("crc", 128, 256)
        .out(8 * 256, Check::Exact)
        .input(&small(random, starts[256] as usize, 256))
        .input(&starts)
        .number(256);
    let threads = 1 << 16;
    let sha256 = case("sha256", threads / 128, 128)
        .out(32 * threads as usize, Check::Exact)
        .input(&small(random, 48 * threads as usize, 256))
        .number(48)
        .constant("K", &round_constants());
    let n = 1 << 16;
    let collatz = case("collatz", n as u32 / 128, 128)
        .out(4 * n, Check::Exact)
        .out(8 * n, Check::Exact)
        .number(n as i32);
    let n = 1 << 15;
    let number_theory = case("number_theory", n as u32 / 128, 128)
        .out(12 * n, Check::Exact)
        .input(&below(random, n, 1 << 32))
        .number(n as i32);
    let threads = 1 << 20;
    let random_numbers = case("random_numbers", threads / 256, 256)
        .out(24 * threads as usize, Check::Exact)
        .scalar(0x0123_4567_89AB_CDEF);
    vec![crc, sha256, collatz, number_theory, random_numbers]
}

/// Searches, sums and sorts of arrays.
fn arrays(random: &mut Random) -> Vec<Case> {
    let (n, keys) = (1 << 16, 1 << 19);
    let mut sorted = below(random, n, 1 << 30);
    sorted.sort_unstable();
    let search = case("search", keys as u32 / 256, 256)
        .out(4 * keys, Check::Exact)
        .input(&sorted)
        .number(n as i32)
        .input(&below(random, keys, 1 << 30))
        .number(keys as i32);
    let n = 1 << 21;
    let scan = case("scan", n as u32 / 256, 256)
        .out(4 * n, Check::Exact)
        .input(&below(random, n, 1000))
        .number(n as i32);
    let (items, room) = (100, 2000);
    let mut knapsack = case("knapsack", 16, 128)
        .out(4 * (room + 1), Check::Exact)
        .input(
            &below(random, items, 100)
                .iter()
                .map(|w| w + 1)
                .collect::<Vec<_>>(),
        )
        .input(&below(random, items, 1000))
        .number(items as i32)
        .number(room as i32);
    knapsack.dynamic_shared = 8 * (room as u32 + 1);
    let pairs = 2048;
    let edit_distance = case("edit_distance", pairs, 64)
        .out(4 * pairs as usize, Check::Exact)
        .input(&small(random, 63 * pairs as usize, 4))
        .input(&small(random, 63 * pairs as usize, 4))
        .number(63);
    let n = 1 << 12;
    let quicksort = case("quicksort", n as u32 / 64, 64)
        .buffer(bytes(&signed(below(random, 24 * n, 1000))), Check::Exact)
        .number(n as i32);
    vec![search, scan, knapsack, edit_distance, quicksort]
}
