//! Speech: convolutions, decisions, the step from one token to the next.

use super::{Lowering, present};
use crate::{
    error::Error,
    memory::{Memory, Place},
    node::{Extent, Node},
    op::{Convolution, Decision, Looks},
    resource::Lines,
};
use half::f16;
use std::sync::Arc;
use warpsmith_kernel::Half;
use warpsmith_library::{
    attention::{Scores, ScoresArgs},
    conv::{Conv1d, Conv1dArgs, Conv1dF32, Conv1dF32Args},
    decoding::{
        Choose, ChooseArgs, Follow, FollowArgs, Parents, Pick, Probability, ProbabilityArgs,
        Vocabulary,
    },
    epilogue::{Epilogue, Outputs},
    gemm::{Precision, Tiling},
    pointwise::{Cast, CastArgs, Convert},
};

impl Lowering<'_> {
    pub(super) fn convolve(&mut self, at: usize, conv: &Convolution) -> Result<Place, Error> {
        let Extent {
            rows: frames,
            columns: channels,
        } = self.graph.entries[conv.x.index as usize].extent;
        let Extent {
            rows: outputs,
            columns: n,
        } = self.graph.entries[at].extent;
        let (x, y) = (self.place(conv.x), self.value(at));
        let residual = conv.residual.map(|residual| self.place(residual));
        let bias = conv
            .bias
            .as_ref()
            .map(|bias| crate::span::Span::of(&bias.buffer));
        let epilogue = Epilogue {
            bias: present(bias.as_ref()),
            activation: conv.activation,
            residual: present(residual.as_ref()),
        };
        let weights = Arc::clone(&conv.weights);
        let (layout, stride) = (weights.layout, conv.stride);
        let len = u64::from(frames) * u64::from(channels);
        let out = u64::from(outputs) * u64::from(n);
        let (to, side) = (y.clone(), residual.clone());
        let finish = move |memory: &Memory| Outputs {
            bias,
            residual: side.map(|side| memory.span(&side, out)),
            y: memory.span(&to, out),
            m: outputs,
            n,
        };
        let fits = self.precision == Precision::Fast
            && channels.is_multiple_of(8)
            && self.hardware.target.sm >= f16::FIRST_SM;
        if !fits {
            let mut used = vec![&x, &y];
            used.extend(&residual);
            let from = x.clone();
            let kernel = Conv1dF32 {
                layout,
                stride,
                epilogue,
            };
            self.push(&used, kernel, move |memory| Conv1dF32Args {
                x: memory.span(&from, len),
                w: weights.planes(),
                out: finish(memory),
                frames,
                channels,
            });
            return Ok(y);
        }
        let halves = self.piece::<f16>(len);
        let (from, half) = (x.clone(), halves.clone());
        self.push(
            &[&x, &halves],
            Cast::<f32, f16>::new(Convert),
            move |memory| CastArgs {
                x: memory.span(&from, len),
                y: memory.span(&half, len),
                n: len,
            },
        );
        let mut used = vec![&halves, &y];
        used.extend(&residual);
        let from = halves.clone();
        let kernel = Conv1d {
            layout,
            tiling: Tiling::choose(outputs, n, self.hardware),
            stride,
            epilogue,
        };
        self.push(&used, kernel, move |memory| Conv1dArgs {
            x: memory.span(&from, len),
            w: weights.planes(),
            out: finish(memory),
            frames,
            channels,
        });
        Ok(y)
    }

    pub(super) fn decide(&mut self, logits: Node, decision: &Decision) -> Place {
        let Extent {
            rows: logit_rows,
            columns: vocab,
        } = self.graph.entries[logits.index as usize].extent;
        let Decision {
            lines,
            rules,
            pick,
            vocabulary,
        } = decision;
        let rows = lines.rows;
        let (lines, pick) = (Arc::clone(lines), *pick);
        let target = match pick {
            Pick::Top(_) => lines.candidates.clone(),
            Pick::Draw => lines.choices.clone(),
        };
        let count = pick.count();
        let y = Place::Outside(target.cast(), 0);
        let (from, to) = (self.place(logits), y.clone());
        let Vocabulary {
            vocab: _,
            end,
            timestamps,
            first_limit,
        } = *vocabulary;
        let kernel = Choose {
            rules: *rules,
            pick,
            threads: if self.hardware.is_virtual() {
                256
            } else {
                1024
            },
        };
        self.push(&[&from.clone()], kernel, move |memory| ChooseArgs {
            logits: memory.span(&from, u64::from(logit_rows) * u64::from(vocab)),
            history: lines.history.clone(),
            banned: lines.banned.clone(),
            banned_first: lines.banned_first.clone(),
            settings: lines.settings.clone(),
            y: memory.span(&to, u64::from(rows) * u64::from(count) * 2),
            rows,
            logit_rows,
            vocab,
            mask_words: vocab.div_ceil(32),
            count,
            end,
            timestamps,
            first_limit,
        });
        y
    }

    pub(super) fn follow(&mut self, lines: &Arc<Lines>, parents: Parents) -> Place {
        let own = Arc::clone(lines);
        let kernel = Follow {
            parents,
            rows: lines.rows,
        };
        self.push(&[], kernel, move |_| FollowArgs {
            choices: own.choices.clone(),
            tokens: own.tokens.clone(),
            positions: own.positions.clone(),
            visible: own.visible.clone(),
            history: own.history.clone(),
            sources: own.sources.clone(),
            rows: own.rows,
            max_len: own.max_len,
            timestamps: own.timestamps,
        });
        Place::Outside(lines.tokens.cast(), 0)
    }

    pub(super) fn look(&mut self, at: usize, looks: &Looks) -> Place {
        let extent = |node: Node| self.graph.entries[node.index as usize].extent;
        let Extent { rows, columns } = extent(looks.q);
        let count = extent(looks.chosen).rows;
        let (q, chosen, y) = (
            self.place(looks.q),
            self.place(looks.chosen),
            self.value(at),
        );
        let all = [q.clone(), chosen.clone(), y.clone()];
        let cache = Arc::clone(&looks.cache);
        let (len, scale) = (looks.len, looks.scale);
        let kernel = Scores {
            head_dim: cache.head_dim,
            cache: cache.ty,
        };
        self.push(&[&q, &chosen, &y], kernel, move |memory| {
            let [q, chosen, y] = &all;
            ScoresArgs {
                q: memory.span(q, u64::from(rows) * u64::from(columns)),
                k: cache.keys.clone(),
                chosen: memory.span(chosen, count.into()),
                y: memory.span(y, u64::from(count) * u64::from(rows) * u64::from(len)),
                rows,
                heads: cache.kv_heads,
                head_dim: cache.head_dim,
                count,
                max_len: cache.max_len,
                row_bytes: cache.head_dim * cache.ty.bytes(),
                len,
                scale,
            }
        });
        y
    }

    pub(super) fn log_probability(
        &mut self,
        at: usize,
        logits: Node,
        ids: Node,
        limit: u32,
    ) -> Place {
        let Extent {
            rows,
            columns: vocab,
        } = self.graph.entries[logits.index as usize].extent;
        let (x, ids, y) = (self.place(logits), self.place(ids), self.value(at));
        let all = [x.clone(), ids.clone(), y.clone()];
        self.push(&[&x, &ids, &y], Probability, move |memory| {
            let [x, ids, y] = &all;
            ProbabilityArgs {
                logits: memory.span(x, u64::from(rows) * u64::from(vocab)),
                ids: memory.span(ids, rows.into()),
                y: memory.span(y, rows.into()),
                rows,
                vocab,
                limit,
            }
        });
        y
    }
}
