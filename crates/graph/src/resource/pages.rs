//! Paged keys and values: memory of many sequences of any lengths, given out page by page.
//!
//! Who owns which page is the caller's affair, through a table on the device; two rows of it may name the same page as
//! long as nobody writes there.

use crate::{
    error::Error,
    span::{Planned, Span},
};
use warpsmith_device::{Buffer, Stream};
use warpsmith_library::attention::{CacheType, History, Paging};

/// How pages are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSizes {
    /// Element type.
    pub ty: CacheType,
    /// Pages there are.
    pub pages: u32,
    /// Positions of a page: a power of two up to 256.
    pub page: u32,
    /// Key heads.
    pub kv_heads: u32,
    /// Dimensions of a head.
    pub head_dim: u32,
}

impl PageSizes {
    /// How kernels find keys in them.
    pub(crate) fn history(self) -> History {
        History::Paged { page: self.page }
    }
}

/// The pages of one layer, keys and values each `[pages, kv_heads, page, head_dim]`; the owner of the memory.
#[derive(Debug)]
pub struct PageStore {
    keys: Buffer<u8>,
    values: Buffer<u8>,
    sizes: PageSizes,
}

/// The pages of one layer and the table that says whose they are, as an operand.
#[derive(Debug)]
pub struct Pages {
    pub(crate) keys: Span<u8>,
    pub(crate) values: Span<u8>,
    pub(crate) table: Span<u32>,
    pub(crate) sizes: PageSizes,
    pub(crate) sequences: u32,
    pub(crate) blocks: u32,
}

impl Pages {
    /// As an argument of a launch of `rows` rows of the sequences that `slots` names.
    pub(crate) fn paging(&self, slots: Span<u32>, rows: u32) -> Paging<Planned> {
        Paging {
            slots: Some(slots),
            table: Some(self.table.clone()),
            rows,
            sequences: self.sequences,
            blocks: self.blocks,
        }
    }
}

impl PageStore {
    /// Memory for pages; their contents are undefined until written. No transfer.
    ///
    /// # Errors
    /// Out of memory; [`Error::Value`] where a size is zero, a page is no power of two up to 256, or a page of all heads
    /// has 2^31 bytes.
    pub fn new(stream: &Stream, sizes: PageSizes) -> Result<PageStore, Error> {
        let PageSizes {
            ty,
            pages,
            page,
            kv_heads,
            head_dim,
        } = sizes;
        let bytes = sizes.page_bytes();
        if pages == 0 || !page.is_power_of_two() || page > 256 || bytes == 0 || bytes >= 1 << 31 {
            let got = format!(
                "{pages} x {kv_heads} x {page} x {head_dim} of {}",
                ty.name()
            );
            return Err(Error::Value {
                op: "pages",
                what: "shape",
                want: "positive, pages of a power of two up to 256 positions, below 2^31 bytes each",
                got,
            });
        }
        let all = bytes as usize * pages as usize;
        Ok(PageStore {
            keys: stream.alloc(all)?,
            values: stream.alloc(all)?,
            sizes,
        })
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.keys.bytes() + self.values.bytes()
    }

    /// Copies page `from` to page `to`: two copies within the device.
    ///
    /// # Errors
    /// A page that is not there, or one onto itself; device errors.
    pub fn copy(&mut self, stream: &Stream, from: u32, to: u32) -> Result<(), Error> {
        let bytes = self.sizes.page_bytes() as usize;
        let range = |page: u32| page as usize * bytes..(page as usize + 1) * bytes;
        for side in [&mut self.keys, &mut self.values] {
            let mut parts = side.disjoint_mut(&[range(from), range(to)])?;
            let (from, to) = parts.split_at_mut(1);
            if let (Some(from), Some(to)) = (from.first(), to.first_mut()) {
                stream.copy(to.reborrow(), from.view())?;
            }
        }
        Ok(())
    }

    /// The pages as an operand, with a table of `sequences` rows.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the table's length is a multiple of `sequences`; [`Error::Value`] where it is empty or
    /// has room for 2^31 positions.
    pub fn pages(&self, table: &Buffer<u32>, sequences: u32) -> Result<Pages, Error> {
        let blocks = (table.len() as u64).checked_div(u64::from(sequences));
        let blocks = blocks.and_then(|blocks| u32::try_from(blocks).ok());
        let blocks = blocks.filter(|blocks| {
            (1..1 << 31).contains(&(u64::from(*blocks) * u64::from(self.sizes.page)))
        });
        let Some(blocks) = blocks else {
            return Err(Error::Value {
                op: "pages",
                what: "table",
                want: "rows of at least one page, below 2^31 positions",
                got: format!("{} entries for {sequences} sequences", table.len()),
            });
        };
        if u64::from(blocks) * u64::from(sequences) != table.len() as u64 {
            return Err(Error::Shape {
                op: "pages",
                what: "table",
                want: u64::from(blocks) * u64::from(sequences),
                got: table.len() as u64,
            });
        }
        Ok(Pages {
            keys: Span::of(&self.keys),
            values: Span::of(&self.values),
            table: Span::of(table),
            sizes: self.sizes,
            sequences,
            blocks,
        })
    }
}

impl PageSizes {
    /// Bytes of the keys of a page.
    pub(crate) fn page_bytes(&self) -> u64 {
        let row = u64::from(self.head_dim) * u64::from(self.ty.bytes());
        row.saturating_mul(u64::from(self.page))
            .saturating_mul(u64::from(self.kv_heads))
    }
}
