//! Attention and what feeds it: rotation, the cache.

use crate::{
    error::{Error, equal},
    graph::Graph,
    node::{Extent, Kind, Node},
    op::{At, Attention, Op, Rotation, Seen},
    resource::Cache,
};
use std::sync::Arc;

impl Graph {
    /// A rotary embedding: the rotated queries and keys.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn rotate(&mut self, rotation: Rotation) -> Result<(Node, Node), Error> {
        let q = self.floats_of("rotate", "q", rotation.q)?;
        let k = self.floats_of("rotate", "k", rotation.k)?;
        let positions = self.entry("rotate", "positions", rotation.positions, Kind::U32)?;
        equal("rotate", "rows of the keys", q.rows, k.rows)?;
        equal("rotate", "positions", q.rows, positions.rows)?;
        let dim = rotation.head_dim;
        let rotated = 2 * rotation.table.inverse_frequencies.len() as u32;
        if dim == 0
            || !q.columns.is_multiple_of(dim)
            || !k.columns.is_multiple_of(dim)
            || rotated > dim
        {
            let got = format!(
                "{dim} for {} and {} columns, {rotated} of each head rotated",
                q.columns, k.columns
            );
            return Err(Error::Value {
                op: "rotate",
                what: "head_dim",
                want: "a divisor, with the rotation inside a head",
                got,
            });
        }
        let queries = self.push(Op::Rotate(rotation), Kind::F32, q.rows, q.columns);
        let keys = self.push(
            Op::RotatedKeys { rotation: queries },
            Kind::F32,
            k.rows,
            k.columns,
        );
        Ok((queries, keys))
    }

    /// Writes keys and values of each row to the cache. Later attention over the cache sees them.
    ///
    /// # Errors
    /// A wrong operand, by name; rows that do not fit, where that is known.
    pub fn append(&mut self, [k, v]: [Node; 2], to: At, cache: &Arc<Cache>) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("append", k, v)?;
        equal(
            "append",
            "columns",
            cache.kv_heads * cache.head_dim,
            columns,
        )?;
        let fits = |what, room: u32, wanted: u64| {
            if wanted <= room.into() {
                return Ok(());
            }
            Err(Error::Shape {
                op: "append",
                what,
                want: room.into(),
                got: wanted,
            })
        };
        match to {
            At::Positions(positions) | At::Rows(positions) => {
                let at = self.entry("append", "positions", positions, Kind::U32)?;
                equal("append", "positions", rows, at.rows)?;
            }
            At::From(start) => fits("end", cache.max_len, u64::from(start) + u64::from(rows))?,
        }
        if let At::Rows(_) = to {
            fits("rows", cache.sequences, rows.into())?;
        }
        let cache = Arc::clone(cache);
        Ok(self.push(Op::Append { k, v, to, cache }, Kind::F32, rows, columns))
    }

    /// Attention: `[rows, heads * head_dim]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn attend(&mut self, attention: Attention) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("attend", "q", attention.q)?;
        let (heads, cache) = (attention.heads, &attention.cache);
        if heads == 0 || !heads.is_multiple_of(cache.kv_heads) {
            let got = format!("{heads} over {} key heads", cache.kv_heads);
            return Err(Error::Value {
                op: "attend",
                what: "heads",
                want: "a multiple of the key heads",
                got,
            });
        }
        equal("attend", "columns", heads * cache.head_dim, columns)?;
        let visible = self.entry("attend", "visible", attention.visible, Kind::U32)?;
        equal("attend", "visible", rows, visible.rows)?;
        if let Some(sources) = attention.sources {
            let sources = self.entry("attend", "sources", sources, Kind::U32)?;
            equal("attend", "sources", rows * cache.max_len, sources.rows)?;
        }
        let end = match attention.seen {
            Some(Seen::UpTo { start }) => u64::from(start) + u64::from(rows),
            Some(Seen::First { len }) => len.into(),
            None => 0,
        };
        if end > cache.max_len.into() {
            return Err(Error::Shape {
                op: "attend",
                what: "keys",
                want: cache.max_len.into(),
                got: end,
            });
        }
        Ok(self.push(Op::Attend(attention), Kind::F32, rows, columns))
    }
}
