//! Corners of the checker: kernels with their faults marked (`// fault: kind`), and others that only look faulty.
#![allow(missing_docs)]

mod accesses;
#[path = "../common/mod.rs"]
mod common;
mod copies;
mod discarded;
mod hidden;
mod spaces;
mod values;

use common::Bench;
use warpsmith_ptx::ir::Span;
use warpsmith_vgpu::{
    Config, Launch, Tier,
    check::{Checks, Kind},
};

/// A kernel of `a`, which has zeros, and `b`, which nobody wrote.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    name: &'static str,
    body: &'static str,
    module: &'static str,
    target: &'static str,
    grid: u32,
    block: u32,
    bytes: u64,
    cooperative: bool,
    in_order: bool,
    whole: bool,
}

pub(crate) const fn case(name: &'static str, body: &'static str) -> Case {
    Case {
        name,
        body,
        module: "",
        target: "sm_80",
        grid: 1,
        block: 32,
        bytes: 4096,
        cooperative: false,
        in_order: false,
        whole: false,
    }
}

impl Case {
    pub(crate) const fn grid(self, grid: u32) -> Case {
        Case { grid, ..self }
    }

    pub(crate) const fn block(self, block: u32) -> Case {
        Case { block, ..self }
    }

    pub(crate) const fn target(self, target: &'static str) -> Case {
        Case { target, ..self }
    }

    /// Of `a`.
    pub(crate) const fn bytes(self, bytes: u64) -> Case {
        Case { bytes, ..self }
    }

    pub(crate) const fn cooperative(self) -> Case {
        Case {
            cooperative: true,
            ..self
        }
    }

    /// In another order it is another fault.
    pub(crate) const fn in_order(self) -> Case {
        Case {
            in_order: true,
            ..self
        }
    }

    pub(crate) const fn module(self, module: &'static str) -> Case {
        Case { module, ..self }
    }

    /// The body is the whole module.
    pub(crate) const fn whole(self) -> Case {
        Case {
            whole: true,
            ..self
        }
    }

    fn text(&self) -> String {
        if self.whole {
            return self.body.to_owned();
        }
        let Case {
            module,
            target,
            body,
            ..
        } = self;
        format!(
            ".version 8.8
.target {target}
.address_size 64
{module}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{{
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<60>;
    .reg .b64 %rd<60>;
    .reg .f32 %f<20>;
    .shared .align 1024 .b8 tile[4096];
    .local .align 16 .b8 own[64];
    ld.param.u64 %rd0, [a];
    ld.param.u64 %rd9, [b];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %laneid;
    shr.u32 %r3, %r0, 5;
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd1, %rd0, %rd2;  // of a, this thread's word
    add.u64 %rd3, %rd9, %rd2;  // of b
    shl.b32 %r4, %r0, 2;
    mov.u32 %r5, tile;
    add.u32 %r4, %r4, %r5;     // of the tile
{body}
done:
    ret;
}}
"
        )
    }

    /// The marked faults, by line.
    fn marked(text: &str) -> Vec<(u32, Kind)> {
        let mut marked = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            if let Some((_, kind)) = text.split_once("// fault: ") {
                let kind = kind.trim().parse().expect("a kind");
                marked.push((line, kind));
            }
        }
        marked
    }

    /// What is found, by line.
    fn found(&self, text: &str, tier: Tier, seed: Option<u64>) -> Vec<(u32, Kind)> {
        let config = Config {
            tier: Some(tier),
            memory: 64 << 20,
            workers: 2,
            seed,
            checks: Some(Checks::default()),
            ..Config::default()
        };
        let bench = Bench::whole(text, config);
        let a = bench.machine.alloc(self.bytes).expect("memory");
        let zeros = vec![0; self.bytes as usize];
        bench.machine.write(a, &zeros).expect("inside");
        let b = bench.machine.alloc(4096).expect("memory");
        let params = [a.to_le_bytes(), b.to_le_bytes(), [0; 8]].concat();
        let launch = Launch {
            kernel: bench.module.kernel("k").expect("a kernel"),
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            dynamic_shared: 0,
            params: params[..20].to_vec(),
            cooperative: self.cooperative,
            cluster: None,
        };
        bench.stream.launch(launch).expect("launches");
        bench.stream.synchronize().expect("runs");
        let findings = bench.machine.take_findings();
        let mut found: Vec<(u32, Kind)> = findings
            .iter()
            .map(|finding| match finding.place.span {
                Span::Ptx { line, .. } => (line, finding.kind),
                Span::None | Span::Rust(_) => (0, finding.kind),
            })
            .collect();
        found.sort_unstable_by_key(|(line, kind)| (*line, kind.name()));
        found.dedup();
        found
    }
}

/// Every case on every tier, and in another order.
fn run(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let text = case.text();
        let marked = Case::marked(&text);
        for tier in Tier::available() {
            let seeds = [None, Some(3)];
            let some = &seeds[..if case.in_order { 1 } else { 2 }];
            for &seed in some {
                let found = case.found(&text, tier, seed);
                if found != marked {
                    let name = case.name;
                    wrong.push(format!(
                        "{name}, {tier:?}, {seed:?}: {found:?}, not {marked:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn accesses_are_told_apart_by_their_bytes_and_their_order() {
    run(accesses::CASES);
}

#[test]
fn undefined_values_are_followed_to_where_they_matter() {
    run(values::CASES);
}

#[test]
fn a_value_that_a_lane_throws_away_makes_no_race() {
    run(discarded::CASES);
}
