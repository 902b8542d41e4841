//! Keys and values in pages.

use crate::{
    error::{Error, equal},
    graph::Graph,
    node::{Extent, Kind, Node},
    op::{Op, PagedAppend, PagedAttention},
};

impl Graph {
    /// Writes keys and values of each row to its sequence's pages: the node is the keys. Later attention sees them.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn append_paged(&mut self, append: PagedAppend) -> Result<Node, Error> {
        let Extent { rows, columns } = self.same("append_paged", append.k, append.v)?;
        let sizes = append.pages.sizes;
        equal(
            "append_paged",
            "columns",
            sizes.kv_heads * sizes.head_dim,
            columns,
        )?;
        for (what, node) in [("positions", append.positions), ("slots", append.slots)] {
            let at = self.entry("append_paged", what, node, Kind::U32)?;
            equal("append_paged", what, rows, at.rows)?;
        }
        Ok(self.push(Op::PagedAppend(append), Kind::F32, rows, columns))
    }

    /// Attention over pages: `[rows, heads * head_dim]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn attend_paged(&mut self, attention: PagedAttention) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("attend_paged", "q", attention.q)?;
        let (heads, sizes) = (attention.heads, attention.pages.sizes);
        if heads == 0 || !heads.is_multiple_of(sizes.kv_heads) {
            return Err(Error::Value {
                op: "attend_paged",
                what: "heads",
                want: "a multiple of the key heads",
                got: format!("{heads} over {} key heads", sizes.kv_heads),
            });
        }
        equal("attend_paged", "columns", heads * sizes.head_dim, columns)?;
        for (what, node) in [("visible", attention.visible), ("slots", attention.slots)] {
            let at = self.entry("attend_paged", what, node, Kind::U32)?;
            equal("attend_paged", what, rows, at.rows)?;
        }
        Ok(self.push(Op::PagedAttend(attention), Kind::F32, rows, columns))
    }
}
