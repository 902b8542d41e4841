//! Runs a kernel in each way there is: interpreted, compiled, and checked.

use warpsmith_ptx::{parse::parse, verify::verify};
use warpsmith_vgpu::{
    Compile, Config, Error, Launch, Machine,
    check::{Checks, Finding, Kind},
};

/// A kernel, and a launch of it.
#[derive(Clone)]
pub(crate) struct Case {
    /// Version and target of the module.
    pub(crate) head: &'static str,
    /// The text of the module behind its head; the kernel is `k`, with 64-bit parameters.
    pub(crate) text: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) dynamic_shared: u32,
    /// Buffers that are written before, each a parameter.
    pub(crate) inputs: Vec<Vec<u8>>,
    /// The words that it writes, to the last parameter.
    pub(crate) out: usize,
}

/// The head of a module, if nothing else is said.
const HEAD: &str = ".version 8.6\n.target sm_90a\n.address_size 64\n";
/// The head of a module that has tensor memory.
pub(crate) const BLACKWELL: &str = ".version 8.8\n.target sm_100a\n.address_size 64\n";

/// What every kernel here declares.
pub(crate) const DECLARED: &str = "
  .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<128>; .reg .b64 %d<64>; .reg .f32 %f<260>;
";

/// A kernel with so many parameters (`a`, `b`, ... in `%d0`, `%d1`, ...), thread and CTA in `%r0` and `%r1`.
pub(crate) fn kernel(directives: &str, count: usize, declared: &str, body: &str) -> String {
    let names: Vec<String> = (0..count).map(|at| format!("p{at}")).collect();
    let params: Vec<String> = names
        .iter()
        .map(|name| format!(".param .u64 {name}"))
        .collect();
    let loads: String = (0..count)
        .map(|at| format!("  ld.param.u64 %d{at}, [p{at}];\n"))
        .collect();
    format!(
        ".visible .entry k({}) {directives}\n{{\n{DECLARED}{declared}\n{loads}  mov.u32 %r0, %tid.x;\n  \
         mov.u32 %r1, %ctaid.x;\n{body}\n  ret;\n}}\n",
        params.join(", ")
    )
}

impl Case {
    /// Of one CTA of 32 threads that writes `out` words.
    pub(crate) fn new(text: String, out: usize) -> Case {
        Case {
            head: HEAD,
            text,
            grid: [1; 3],
            block: 32,
            cluster: None,
            dynamic_shared: 0,
            inputs: Vec::new(),
            out,
        }
    }

    /// What it writes on such a machine, and what is found.
    pub(crate) fn run_on(&self, config: Config) -> (Result<Vec<u32>, Error>, Vec<Finding>) {
        let text = format!("{}{}", self.head, self.text);
        let module = parse(&text).unwrap_or_else(|found| panic!("{found:#?}"));
        let module = verify(module).unwrap_or_else(|found| panic!("{found:#?}"));
        let machine = Machine::new(config).expect("a machine");
        let stream = machine.stream().expect("a stream");
        let result = (|| {
            let loaded = machine.load(&module)?;
            let mut params = Vec::new();
            for input in &self.inputs {
                let at = machine.alloc(input.len() as u64)?;
                machine.write(at, input)?;
                params.extend(at.to_le_bytes());
            }
            let out = machine.alloc(4 * self.out.max(1) as u64)?;
            params.extend(out.to_le_bytes());
            stream.launch(Launch {
                kernel: loaded.kernel("k").expect("kernel k"),
                grid: self.grid,
                block: [self.block, 1, 1],
                dynamic_shared: self.dynamic_shared,
                params,
                cooperative: false,
                cluster: self.cluster,
            })?;
            stream.synchronize()?;
            let mut bytes = vec![0; 4 * self.out];
            machine.read(out, &mut bytes)?;
            let words = bytes.chunks_exact(4);
            Ok(words
                .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
                .collect())
        })();
        (result, machine.take_findings())
    }

    /// What it writes, the same in every way and without a finding.
    #[track_caller]
    pub(crate) fn run(&self) -> Vec<u32> {
        let (compiled, _) = self.run_on(Config {
            compile: Compile::Always,
            workers: 2,
            ..plain()
        });
        let compiled = compiled.unwrap_or_else(|error| panic!("compiled: {error}"));
        let (interpreted, _) = self.run_on(plain());
        let interpreted = interpreted.unwrap_or_else(|error| panic!("interpreted: {error}"));
        assert_eq!(interpreted, compiled);
        for seed in [None, Some(3)] {
            let (checked, found) = self.checked(seed);
            let checked = checked.unwrap_or_else(|error| panic!("checked, {seed:?}: {error}"));
            let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert!(found.is_empty(), "{seed:?}: {shown:#?}");
            assert_eq!(checked, compiled, "{seed:?}");
        }
        compiled
    }

    /// What it writes and what is found in an order.
    pub(crate) fn checked(&self, seed: Option<u64>) -> (Result<Vec<u32>, Error>, Vec<Finding>) {
        self.run_on(Config {
            checks: Some(Checks::default()),
            seed,
            ..plain()
        })
    }

    /// The kinds that are found, each with its line in the kernel.
    pub(crate) fn finds(&self) -> Vec<(Kind, String)> {
        let (_, found) = self.checked(None);
        let text = format!("{}{}", self.head, self.text);
        let line = |finding: &Finding| match finding.place.span {
            warpsmith_ptx::ir::Span::Ptx { line, .. } => {
                let line = text.lines().nth(line as usize - 1).unwrap_or("");
                line.trim().to_owned()
            }
            other => other.to_string(),
        };
        found.iter().map(|one| (one.kind, line(one))).collect()
    }
}

/// An interpreter.
pub(crate) fn plain() -> Config {
    Config {
        compile: Compile::Never,
        memory: 64 << 20,
        workers: 1,
        closed: true,
        ..Config::default()
    }
}

/// The bytes of words.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
