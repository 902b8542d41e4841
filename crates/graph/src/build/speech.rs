//! Convolutions, decisions, sequences that follow them.

use crate::{
    error::{Error, equal},
    graph::Graph,
    node::{Extent, Kind, Node},
    op::{Convolution, Decision, Looks, Op},
    resource::Lines,
};
use std::sync::Arc;
use warpsmith_library::{
    conv::TAPS,
    decoding::{Parents, Pick},
};

impl Graph {
    /// A convolution over time: `[outputs of the stride, rows of W]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn convolve(&mut self, conv: Convolution) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("convolve", "x", conv.x)?;
        equal("convolve", "columns", conv.weights.columns, columns * TAPS)?;
        let (outputs, n) = (conv.stride.outputs(rows), conv.weights.rows);
        if let Some(bias) = &conv.bias {
            equal("convolve", "bias", n, bias.len())?;
        }
        if let Some(residual) = conv.residual {
            let residual = self.floats_of("convolve", "residual", residual)?;
            equal("convolve", "rows of the residual", outputs, residual.rows)?;
            equal("convolve", "columns of the residual", n, residual.columns)?;
        }
        Ok(self.push(Op::Convolve(conv), Kind::F32, outputs, n))
    }

    /// Decides on the next tokens of each row; they are in the buffers of the lines.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn decide(&mut self, logits: Node, decision: Decision) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("decide", "logits", logits)?;
        let lines = &decision.lines;
        equal("decide", "vocabulary", columns, decision.vocabulary.vocab)?;
        equal(
            "decide",
            "mask",
            columns.div_ceil(32),
            lines.banned.len() as u32,
        )?;
        // Lines that begin alike share one row.
        if rows != 1 {
            equal("decide", "rows", lines.rows, rows)?;
        }
        if let Pick::Top(count) = decision.pick {
            let room = lines.candidates.len() as u64 / u64::from(lines.rows.max(1) * 2);
            if u64::from(count) > room {
                return Err(Error::Shape {
                    op: "decide",
                    what: "candidates",
                    want: room,
                    got: count.into(),
                });
            }
        }
        let rows = lines.rows;
        Ok(self.push(Op::Decide { logits, decision }, Kind::U32, rows, 1))
    }

    /// Each row takes its choice: the node is the tokens.
    ///
    /// # Errors
    /// None today: the sizes are those of the lines.
    pub fn follow(&mut self, lines: &Arc<Lines>, parents: Parents) -> Result<Node, Error> {
        let op = Op::Follow {
            lines: Arc::clone(lines),
            parents,
        };
        Ok(self.push(op, Kind::U32, lines.rows, 1))
    }

    /// Scores `[heads chosen * rows, len]`, a head after the other.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn look(&mut self, looks: Looks) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("look", "q", looks.q)?;
        let cache = &looks.cache;
        equal("look", "columns", cache.kv_heads * cache.head_dim, columns)?;
        let chosen = self.entry("look", "chosen", looks.chosen, Kind::U32)?.rows;
        if looks.len > cache.max_len {
            return Err(Error::Shape {
                op: "look",
                what: "keys",
                want: cache.max_len.into(),
                got: looks.len.into(),
            });
        }
        let len = looks.len;
        Ok(self.push(Op::Look(looks), Kind::F32, chosen * rows, len))
    }

    /// The log-probability of one id of each row, among the first `limit`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn log_probability(&mut self, logits: Node, ids: Node, limit: u32) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("log_probability", "logits", logits)?;
        let own = self.entry("log_probability", "ids", ids, Kind::U32)?;
        equal("log_probability", "ids", rows, own.rows)?;
        if !(1..=columns).contains(&limit) {
            return Err(Error::Shape {
                op: "log_probability",
                what: "limit",
                want: columns.into(),
                got: limit.into(),
            });
        }
        let op = Op::LogProbability { logits, ids, limit };
        Ok(self.push(op, Kind::F32, rows, 1))
    }
}
