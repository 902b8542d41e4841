//! The kernels of heads: arguments of a launch, for caches of both types.

use super::{
    heads::{HeadsPlan, Outputs, Planes, Sizes},
    product::supports,
    source::input,
};
use crate::weights::PlaneSizes;
use half::f16;
use warpsmith_kernel::{BuildError, Cta, Device, Kernel, LaunchError, args};
use warpsmith_ptx::target::Target;

/// The three matrices of an argument struct.
macro_rules! planes {
    ($args:expr) => {
        [
            Planes {
                codes: $args.q_codes,
                high: $args.q_high,
                sub: $args.q_sub,
                scales: $args.q_scales,
                bias: $args.q_bias,
                blocks: $args.q_blocks,
            },
            Planes {
                codes: $args.k_codes,
                high: $args.k_high,
                sub: $args.k_sub,
                scales: $args.k_scales,
                bias: $args.k_bias,
                blocks: $args.k_blocks,
            },
            Planes {
                codes: $args.v_codes,
                high: $args.v_high,
                sub: $args.v_sub,
                scales: $args.v_scales,
                bias: $args.v_bias,
                blocks: $args.v_blocks,
            },
        ]
    };
}

macro_rules! heads {
    ($(#[$args_doc:meta])* $args:ident, $(#[$doc:meta])* $kernel:ident, $t:ty, $name:literal) => {
        args! {
            $(#[$args_doc])*
            pub struct $args {
                x: In<f32>[m, columns], gain: Maybe<f32>[columns], shift: Maybe<f32>[columns],
                q_codes: In<u32>[q_blocks, q_code_block], q_high: Maybe<u32>[q_blocks, q_high_block],
                q_sub: Maybe<u8>[q_blocks, q_sub_block], q_scales: Maybe<u16>[q_blocks, q_scale_block],
                k_codes: In<u32>[k_blocks, k_code_block], k_high: Maybe<u32>[k_blocks, k_high_block],
                k_sub: Maybe<u8>[k_blocks, k_sub_block], k_scales: Maybe<u16>[k_blocks, k_scale_block],
                v_codes: In<u32>[v_blocks, v_code_block], v_high: Maybe<u32>[v_blocks, v_high_block],
                v_sub: Maybe<u8>[v_blocks, v_sub_block], v_scales: Maybe<u16>[v_blocks, v_scale_block],
                q_bias: Maybe<f32>[heads * head_dim], k_bias: Maybe<f32>[kv_heads * head_dim],
                v_bias: Maybe<f32>[kv_heads * head_dim],
                q_gain: Maybe<f32>[head_dim], k_gain: Maybe<f32>[head_dim],
                positions: In<u32>[m], slots: Maybe<u32>[m], table: Maybe<u32>[table_rows, blocks],
                inverse: Maybe<f32>[pairs],
                q: Out<f32>[m, heads * head_dim],
                k_cache: InOut<$t>[sequences * kv_heads, max_len, head_dim],
                v_cache: InOut<$t>[sequences * kv_heads, max_len, head_dim],
                m: Scalar<u32>, columns: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>,
                pairs: Scalar<u32>, max_len: Scalar<u32>, sequences: Scalar<u32>,
                table_rows: Scalar<u32>, blocks: Scalar<u32>,
                q_blocks: Scalar<u32>, q_code_block: Scalar<u32>, q_high_block: Scalar<u32>, q_sub_block: Scalar<u32>, q_scale_block: Scalar<u32>,
                k_blocks: Scalar<u32>, k_code_block: Scalar<u32>, k_high_block: Scalar<u32>, k_sub_block: Scalar<u32>, k_scale_block: Scalar<u32>,
                v_blocks: Scalar<u32>, v_code_block: Scalar<u32>, v_high_block: Scalar<u32>, v_sub_block: Scalar<u32>, v_scale_block: Scalar<u32>,
                eps: Scalar<f32>, head_eps: Scalar<f32>, magnitude: Scalar<f32>,
            }
        }

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $kernel {
            /// What is done.
            pub plan: HeadsPlan,
        }

        impl Kernel for $kernel {
            type Args = $args;

            fn name(&self) -> String {
                self.plan.name($name)
            }

            fn threads(&self) -> u32 {
                self.plan.work.threads()
            }

            fn resized(&self, threads: u32) -> Option<Self> {
                let mut plan = self.plan.clone();
                plan.work = plan.work.resized(threads);
                Some(Self { plan })
            }

            fn supports(&self, target: Target) -> Result<(), BuildError> {
                let layouts = self.plan.parts.map(|part| part.layout);
                supports(&self.plan.source, &layouts, target, || self.name())
            }

            fn grid(&self, a: &$args) -> Result<u64, LaunchError> {
                let sizes = Sizes {
                    m: a.m,
                    columns: a.columns,
                    heads: a.heads,
                    kv_heads: a.kv_heads,
                    head_dim: a.head_dim,
                    pairs: a.pairs,
                    max_len: a.max_len,
                    sequences: a.sequences,
                    tables: [a.table_rows, a.blocks],
                };
                let planes = |[blocks, code_block, high_block, sub_block, scale_block]: [u32; 5]| PlaneSizes {
                    blocks,
                    code_block,
                    high_block,
                    sub_block,
                    scale_block,
                };
                self.plan.grid(
                    sizes,
                    [
                        planes([a.q_blocks, a.q_code_block, a.q_high_block, a.q_sub_block, a.q_scale_block]),
                        planes([a.k_blocks, a.k_code_block, a.k_high_block, a.k_sub_block, a.k_scale_block]),
                        planes([a.v_blocks, a.v_code_block, a.v_high_block, a.v_sub_block, a.v_scale_block]),
                    ],
                )
            }

            fn pieces_ahead(&self) -> u32 {
                self.plan.pieces_ahead()
            }

            fn fetch<'k>(&self, cta: &mut Cta<'k>, a: &$args<Device<'k>>) {
                let (parts, ends) = (planes!(a), self.plan.ends([a.heads, a.kv_heads]));
                let first = cta.id() * self.plan.work.each;
                self.plan.fetch(cta, &parts, ends, first);
            }

            fn body<'k>(&self, cta: &mut Cta<'k>, a: $args<Device<'k>>) {
                let source = &self.plan.source;
                let mut tiles = source.tiles(cta);
                let x = source.prepare(cta, &mut tiles, &input!(a));
                let outputs = Outputs {
                    parts: planes!(a),
                    gains: [a.q_gain, a.k_gain],
                    head_eps: a.head_eps,
                    positions: a.positions,
                    inverse: a.inverse,
                    magnitude: a.magnitude,
                    q: a.q,
                    caches: [a.k_cache, a.v_cache],
                    slots: a.slots,
                    table: a.table,
                    blocks: a.blocks,
                    heads: a.heads,
                    kv_heads: a.kv_heads,
                    max_len: a.max_len,
                };
                self.plan.run(cta, x, &outputs);
            }
        }
    };
}

heads! {
    /// `x` is f32 `[m, columns]`; weights `[heads * head_dim, columns]` and twice `[kv_heads * head_dim, columns]` in the
    /// planes of their layouts; `q` is f32 `[m, heads, head_dim]`; keys and values of row i go to `positions[i]`, or
    /// nowhere if that is not below `max_len`: of the sequence that the kernel's [`Owners`](super::Owners) name. In pages, caches are
    /// `[sequences, kv_heads, max_len, head_dim]` with a page for a sequence and its positions for `max_len`: position p
    /// of row i goes to place `p % page` of page `table[slots[i], p / page]`, if it is below `blocks * page`.
    HeadsArgs,
    /// Into an f32 cache.
    Heads, f32, "heads"
}

heads! {
    /// As [`HeadsArgs`], to a cache in f16.
    HeadsF16Args,
    /// Into an f16 cache; numbers are rounded to nearest even.
    HeadsF16, f16, "heads_f16"
}
