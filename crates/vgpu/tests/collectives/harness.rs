//! Runs a PTX body on every tier of this CPU and demands the same bytes.

use warpsmith_ptx::{parse, verify};
use warpsmith_vgpu::{Compile, Config, Error, Launch, Machine, Tier};

/// A small generator of test data.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }

    pub(crate) fn warp(&mut self) -> [u32; 32] {
        std::array::from_fn(|_| self.next())
    }
}

/// A kernel `test(in, out)`: `%rd1` and `%rd2` are the two addresses plus 4 bytes for each thread, `%r1` is
/// `%tid.x`, `%rd3` and `%rd4` the plain addresses, `sh` is shared memory.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        ".version 8.4
.target sm_90
.address_size 64
.visible .entry test(.param .u64 a, .param .u64 b)
{{
  .reg .pred %p<8>;
  .reg .b16 %h<16>;
  .reg .b32 %r<96>;
  .reg .b64 %rd<64>;
  .reg .f32 %f<200>;
  .reg .f64 %fd<32>;
  .shared .align 128 .b8 sh[8192];
  ld.param.u64 %rd3, [a];
  ld.param.u64 %rd4, [b];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd5, %r1, 4;
  add.u64 %rd1, %rd3, %rd5;
  add.u64 %rd2, %rd4, %rd5;
{body}
  ret;
}}
"
    )
}

/// Runs a body with `input` and returns `words` words of output, which start as zero.
pub(crate) fn run_on(
    (tier, compile): (Tier, Compile),
    body: &str,
    grid: u32,
    threads: u32,
    input: &[u32],
    words: usize,
) -> Result<Vec<u32>, Error> {
    let text = kernel(body);
    let module = parse::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let module = verify::verify(module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let config = Config {
        memory: 1 << 22,
        workers: 2,
        tier: Some(tier),
        compile,
        ..Config::default()
    };
    let machine = Machine::new(config)?;
    let kernel = machine.load(&module)?.kernel("test").expect("declared");
    let (a, b) = (
        machine.alloc(4 * input.len().max(1) as u64)?,
        machine.alloc(4 * words as u64)?,
    );
    let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    machine.write(a, &bytes)?;
    machine.write(b, &vec![0; 4 * words])?;
    let stream = machine.stream()?;
    stream.launch(Launch {
        kernel,
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        params: [a.to_le_bytes(), b.to_le_bytes()].concat(),
        cooperative: false,
        cluster: None,
    })?;
    stream.synchronize()?;
    let mut out = vec![0; 4 * words];
    machine.read(b, &mut out)?;
    Ok(out
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w))
        .collect())
}

/// Each tier's interpreter, and the compiler.
pub(crate) fn ways() -> Vec<(Tier, Compile)> {
    let tiers = Tier::available().into_iter();
    let interpreted = tiers.map(|tier| (tier, Compile::Never));
    interpreted
        .chain([(Tier::best(), Compile::Always)])
        .collect()
}

/// One CTA of `threads` in every way; the results must agree.
pub(crate) fn run(body: &str, threads: u32, input: &[u32], words: usize) -> Vec<u32> {
    let mut results = ways().into_iter().map(|way| {
        (
            way,
            run_on(way, body, 1, threads, input, words).unwrap_or_else(|e| panic!("{e}\n{body}")),
        )
    });
    let (_, first) = results.next().expect("the baseline");
    for (way, other) in results {
        assert_eq!(first, other, "{way:?} differs from the baseline\n{body}");
    }
    first
}

/// Loads register `prefix``first + i` with value `i` of the lane.
pub(crate) fn loads(ty: &str, prefix: &str, first: usize, count: usize, from: usize) -> String {
    (0..count)
        .map(|i| {
            format!(
                "  ld.global.{ty} {prefix}{}, [%rd1+{}];\n",
                first + i,
                128 * (from + i)
            )
        })
        .collect()
}

/// Stores them.
pub(crate) fn stores(ty: &str, prefix: &str, first: usize, count: usize, to: usize) -> String {
    (0..count)
        .map(|i| {
            format!(
                "  st.global.{ty} [%rd2+{}], {prefix}{};\n",
                128 * (to + i),
                first + i
            )
        })
        .collect()
}

/// `{prefix first, ..}`.
pub(crate) fn list(prefix: &str, first: usize, count: usize) -> String {
    let all: Vec<String> = (first..first + count)
        .map(|i| format!("{prefix}{i}"))
        .collect();
    format!("{{{}}}", all.join(", "))
}
