//! Every kernel computes offsets in 64 bits: its cases come out right where their arrays lie past 2^32.

use std::collections::{BTreeMap, BTreeSet};
use warpsmith_library::{case::Random, registry::registry};
use warpsmith_ptx::target::Target;
use warpsmith_suite::far::{Axis, End, Growth, MEMORY, run_far};
use warpsmith_vgpu::{Config, Machine};

const ROWS: Growth = Growth {
    kernels: "",
    without: None,
    scalars: &[("rows", 1)],
    axis: Axis::Slow,
    end: End::Back,
    indices: None,
};

const TOKENS: Growth = Growth {
    scalars: &[("tokens", 1)],
    ..ROWS
};

const PAGED_TOKENS: Growth = Growth {
    scalars: &[("tokens", 1), ("paging.rows", 1)],
    ..ROWS
};

/// The cache of each head becomes long: its stride grows, its elements stay at the front.
const LONG: Growth = Growth {
    scalars: &[("max_len", 1)],
    axis: Axis::None,
    end: End::Front,
    ..ROWS
};

/// There are many pages: those of the table are far away.
const PAGES: Growth = Growth {
    kernels: "paged",
    scalars: &[("sequences", 1)],
    axis: Axis::None,
    indices: Some("paging.table"),
    ..ROWS
};

/// Rows of x in tiles of one to four eights.
const fn tiles(scalars: &'static [(&'static str, i64)]) -> Growth {
    Growth {
        kernels: "gemm_int",
        scalars,
        axis: Axis::Fast,
        ..ROWS
    }
}

/// Rows of weights, in blocks of 32.
const WEIGHTS: &[(&str, i64)] = &[("out.n", 1), ("w.blocks", 32)];

/// What grows, for each family of kernels.
const GROWTHS: &[(&str, &[Growth])] = &[
    ("softmax", &[ROWS]),
    ("argmax", &[ROWS]),
    ("rope", &[TOKENS]),
    (
        "kv_scatter",
        &[
            Growth {
                kernels: "kv_scatter",
                ..TOKENS
            },
            LONG,
            Growth {
                kernels: "forked",
                scalars: &[("tokens", 1), ("sequences", 1)],
                ..ROWS
            },
        ],
    ),
    ("paged_kv_scatter", &[PAGED_TOKENS, PAGES]),
    ("sample", &[ROWS]),
    (
        "decoding",
        &[
            Growth {
                kernels: "choose_free_top",
                scalars: &[("rows", 1), ("logit_rows", 1)],
                ..ROWS
            },
            Growth {
                kernels: "choose_timestamps_top",
                scalars: &[("rows", 1), ("logit_rows", 1)],
                ..ROWS
            },
            Growth {
                kernels: "log_probability",
                ..ROWS
            },
            Growth {
                kernels: "follow",
                ..LONG
            },
        ],
    ),
    ("norm", &[ROWS]),
    (
        "pointwise",
        &[
            ROWS,
            Growth {
                without: Some("rows"),
                scalars: &[("n", 1)],
                ..ROWS
            },
        ],
    ),
    (
        "flash_attention",
        &[
            // With a causal mask a query sees more keys the farther back it is.
            Growth {
                kernels: "flash_full",
                ..TOKENS
            },
            LONG,
        ],
    ),
    (
        "decode_attention",
        &[
            ROWS,
            LONG,
            Growth {
                kernels: "forked",
                scalars: &[("sequences", 1)],
                axis: Axis::None,
                indices: Some("sources"),
                ..ROWS
            },
        ],
    ),
    (
        "paged_attention",
        &[
            Growth {
                scalars: &[("rows", 1), ("paging.rows", 1)],
                ..ROWS
            },
            PAGES,
        ],
    ),
    ("paged_flash_attention", &[PAGED_TOKENS, PAGES]),
    ("attention_scores", &[LONG]),
    ("quantize", &[ROWS]),
    (
        "gemv",
        &[
            Growth {
                scalars: &[("out.m", 1)],
                ..ROWS
            },
            Growth {
                scalars: WEIGHTS,
                axis: Axis::Fast,
                ..ROWS
            },
        ],
    ),
    (
        "projection",
        &[
            Growth {
                scalars: WEIGHTS,
                axis: Axis::Fast,
                ..ROWS
            },
            Growth {
                scalars: &[("n", 1), ("gate.blocks", 32), ("up.blocks", 32)],
                axis: Axis::Fast,
                ..ROWS
            },
            Growth {
                kernels: "heads",
                ..LONG
            },
            PAGES,
        ],
    ),
    (
        "gemm",
        &[
            Growth {
                scalars: &[("out.m", 1)],
                without: Some("tiles"),
                axis: Axis::Fast,
                ..ROWS
            },
            tiles(&[("out.m", 1), ("tiles", 8)]),
            tiles(&[("out.m", 1), ("tiles", 16)]),
            tiles(&[("out.m", 1), ("tiles", 24)]),
            tiles(&[("out.m", 1), ("tiles", 32)]),
            Growth {
                scalars: WEIGHTS,
                ..ROWS
            },
        ],
    ),
    (
        "conv1d",
        &[
            // As many outputs as frames, or half as many.
            Growth {
                kernels: "conv1d_1",
                scalars: &[("frames", 1), ("out.m", 1)],
                axis: Axis::Fast,
                ..ROWS
            },
            Growth {
                kernels: "conv1d_f32_1",
                scalars: &[("frames", 1), ("out.m", 1)],
                axis: Axis::Fast,
                ..ROWS
            },
            Growth {
                kernels: "conv1d_2",
                scalars: &[("frames", 1), ("out.m", 2)],
                axis: Axis::Fast,
                ..ROWS
            },
            Growth {
                scalars: WEIGHTS,
                ..ROWS
            },
        ],
    ),
    (
        "embed",
        &[
            TOKENS,
            Growth {
                scalars: &[("vocab", 1), ("table.blocks", 32)],
                axis: Axis::None,
                indices: Some("ids"),
                ..ROWS
            },
        ],
    ),
];

#[test]
fn every_kernel_is_right_where_offsets_pass_32_bits() {
    let target = Target::sm(90);
    let config = Config {
        memory: MEMORY,
        target,
        ..Config::default()
    };
    let machine = Machine::new(config).expect("address space");
    let mut failures = Vec::new();
    for entry in registry() {
        let growths = GROWTHS.iter().find(|(name, _)| *name == entry.name);
        let (_, growths) = growths.unwrap_or_else(|| panic!("{}: what grows?", entry.name));
        let mut arrays: BTreeMap<String, bool> = BTreeMap::new();
        for growth in *growths {
            let mut done = BTreeSet::new();
            for mut case in (entry.cases)(&mut Random::new(7)) {
                let name = case.name();
                if !name.starts_with(growth.kernels) {
                    continue;
                }
                match run_far(&machine, target, case.as_mut(), growth) {
                    Ok(Some(far)) => {
                        done.insert(name);
                        for (array, elements) in far.passed {
                            *arrays.entry(array).or_default() |= elements;
                        }
                    }
                    Ok(None) => {}
                    Err(what) => {
                        failures.push(format!("{}, {growth:?}: {what}", case.label()));
                        done.insert(name);
                    }
                }
            }
            let sizes = growth.scalars.iter().map(|(name, _)| *name);
            let sizes = sizes.collect::<Vec<_>>().join(", ");
            println!(
                "{}: {} kernels with a large {sizes}",
                entry.name,
                done.len()
            );
            assert!(!done.is_empty(), "{}: no case for {sizes}", entry.name);
        }
        println!("{}: past 2^32 bytes, and elements: {arrays:?}", entry.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
