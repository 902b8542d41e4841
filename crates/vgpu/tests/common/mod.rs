//! Runs PTX text on a machine and reads what it wrote.
#![allow(dead_code)]

use warpsmith_ptx::{parse, verify};
use warpsmith_vgpu::{Compile, Config, Error, Launch, Machine, Module, Stream, Tier};

/// A machine, a stream and a loaded module.
pub(crate) struct Bench {
    pub(crate) machine: Machine,
    pub(crate) stream: Stream,
    pub(crate) module: Module,
}

pub(crate) const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

impl Bench {
    /// Of a whole module, header added.
    pub(crate) fn new(text: &str, tier: Tier) -> Bench {
        Bench::with(
            text,
            Config {
                tier: Some(tier),
                memory: 64 << 20,
                workers: 2,
                compile: Compile::Always,
                ..Config::default()
            },
        )
    }

    pub(crate) fn with(text: &str, config: Config) -> Bench {
        Bench::whole(&format!("{HEADER}{text}"), config)
    }

    /// Of a whole module with its header.
    pub(crate) fn whole(text: &str, config: Config) -> Bench {
        let module = parse::parse(text).unwrap_or_else(|e| {
            panic!(
                "{}",
                e.iter()
                    .take(5)
                    .map(|d| format!("{d}\n"))
                    .collect::<String>()
            )
        });
        let module = verify::verify(module).unwrap_or_else(|e| {
            panic!(
                "{}",
                e.iter()
                    .take(5)
                    .map(|d| format!("{d}\n"))
                    .collect::<String>()
            )
        });
        let machine = Machine::new(config).expect("a machine");
        let stream = machine.stream().expect("a stream");
        let module = machine.load(&module).expect("loads");
        Bench {
            machine,
            stream,
            module,
        }
    }

    /// A launch of the kernel called `k` with 64-bit parameters.
    pub(crate) fn launch(&self, grid: u32, block: u32, params: &[u64]) -> Launch {
        Launch {
            kernel: self.module.kernel("k").expect("kernel k"),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared: 0,
            params: params.iter().flat_map(|p| p.to_le_bytes()).collect(),
            cooperative: false,
            cluster: None,
        }
    }

    pub(crate) fn run(&self, grid: u32, block: u32, params: &[u64]) -> Result<(), Error> {
        self.stream.launch(self.launch(grid, block, params))?;
        self.stream.synchronize()
    }

    /// Device memory with these words.
    pub(crate) fn words(&self, words: &[u32]) -> u64 {
        let at = self.machine.alloc(4 * words.len() as u64).expect("memory");
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.machine.write(at, &bytes).expect("in range");
        at
    }

    /// `count` words of device memory.
    pub(crate) fn read(&self, at: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.machine.read(at, &mut bytes).expect("in range");
        bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes(c.try_into().expect("4 bytes")))
            .collect()
    }
}

/// A small generator of random words, the same on every run.
pub(crate) struct Words(pub(crate) u64);

impl Words {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
