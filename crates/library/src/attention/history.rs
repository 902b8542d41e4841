//! Where the key at a position of a sequence is, for those who read it and those who write it.

use crate::values::Uniform;
use warpsmith_kernel::{
    Global, InKernel, LaunchError, Read, Val, args,
    args::Mode,
    require,
    uni::{self, Join, Uni},
};

/// Whose keys and values a row has behind it, and how they lie in caches `[sequences, kv_heads, max_len, head_dim]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum History {
    /// Those of the one sequence that all rows belong to.
    Shared,
    /// Each row writes a sequence of its own, and at each position sees that of the row it was forked from: beams are
    /// reordered without a copy.
    Forked,
    /// Those of one of several sequences, in pages that [`Paging`] names; each page is a sequence of the caches.
    Paged {
        /// Positions of a page, a power of two up to 256.
        page: u32,
    },
}

args! {
    /// In which pages sequences are: row i belongs to sequence `slots[i]`, whose position t is at place `t % page` of page
    /// `table[slots[i], t / page]`.
    pub struct Paging {
        slots: Maybe<u32>[rows], table: Maybe<u32>[sequences, blocks],
        rows: Scalar<u32>, sequences: Scalar<u32>, blocks: Scalar<u32>,
    }
}

impl<M: Mode<Scalar<u32> = u32>> Paging<M>
where
    M::Maybe<u32>: Default,
{
    /// That of sequences that do not lie in pages.
    pub fn none() -> Self {
        Paging {
            slots: M::Maybe::default(),
            table: M::Maybe::default(),
            rows: 0,
            sequences: 0,
            blocks: 0,
        }
    }
}

/// The caches of a launch, and the rows that read or write them.
#[derive(Clone, Copy)]
pub(crate) struct Caches {
    pub(crate) sequences: u32,
    /// Sequences there must be at least, where they do not lie in pages.
    pub(crate) least: u32,
    pub(crate) max_len: u32,
    pub(crate) rows: u32,
}

impl History {
    /// How a kernel's name begins.
    pub(crate) fn prefix(self) -> String {
        match self {
            History::Shared => String::new(),
            History::Forked => "forked_".into(),
            History::Paged { page } => format!("paged_{page}_"),
        }
    }

    /// Refuses caches and paging that are not for it.
    pub(crate) fn check(self, caches: Caches, paging: &Paging) -> Result<(), LaunchError> {
        let Caches {
            sequences,
            least,
            max_len,
            rows,
        } = caches;
        let named =
            |name, found: u32, fits: bool, expected| require(fits, name, found.into(), expected);
        let Paging {
            rows: named_rows,
            sequences: tables,
            blocks,
            ..
        } = *paging;
        let want = "at least 1, and one for each forked row";
        named("sequences", sequences, sequences >= least.max(1), want)?;
        let History::Paged { page } = self else {
            named("max_len", max_len, max_len > 0, "at least 1")?;
            let want = "0 where there are no pages";
            named("rows", named_rows, named_rows == 0, want)?;
            named("table", tables, tables == 0, want)?;
            return named("blocks", blocks, blocks == 0, want);
        };
        let whole = max_len == page && page.is_power_of_two() && page <= 256;
        let want = "the kernel's page, a power of two up to 256";
        named("max_len", max_len, whole, want)?;
        named("rows", named_rows, named_rows == rows, "one for each row")?;
        named("table", tables, tables > 0, "at least 1")?;
        let few = blocks > 0 && u64::from(blocks) * u64::from(page) < 1 << 31;
        named("blocks", blocks, few, "at least 1, below 2^31 positions")
    }

    /// Positions that a row has room for.
    pub(crate) fn room<'k>(
        self,
        max_len: Uniform<'k>,
        paging: &Paging<InKernel<'k>>,
    ) -> Uniform<'k> {
        match self {
            History::Shared | History::Forked => max_len,
            History::Paged { page } => paging.blocks * page,
        }
    }

    /// Positions of a sequence of the caches.
    pub(crate) fn places<'k>(self, max_len: Uniform<'k>) -> Uniform<'k> {
        match self {
            History::Shared | History::Forked => max_len,
            History::Paged { page } => Val::constant(page),
        }
    }

    /// What row `row` writes.
    #[track_caller]
    pub(crate) fn written<'k, U>(
        self,
        row: Val<'k, u32, U>,
        paging: &Paging<InKernel<'k>>,
    ) -> Lies<'k, U>
    where
        U: Join<U, Out = U>,
        uni::Cta: Join<U, Out = U>,
    {
        match self {
            History::Shared => Lies::First,
            History::Forked => Lies::In(row),
            History::Paged { page } => Lies::Paged {
                table: paging.table.row(paging.slots.at(row)),
                page,
            },
        }
    }

    /// What row `row` sees; `sources` names the sequence of each of its positions where it was forked.
    #[track_caller]
    pub(crate) fn seen<'k>(
        self,
        row: Uniform<'k>,
        sources: Global<'k, u32, Read>,
        paging: &Paging<InKernel<'k>>,
    ) -> Lies<'k> {
        match self {
            History::Forked => Lies::Forked(sources.row(row)),
            History::Shared | History::Paged { .. } => self.written(row, paging),
        }
    }
}

/// How the positions of one row's sequence lie in caches.
#[derive(Clone, Copy)]
pub(crate) enum Lies<'k, U = uni::Cta> {
    /// In sequence 0.
    First,
    /// In this sequence.
    In(Val<'k, u32, U>),
    /// Each in its place of the sequence that its entry names.
    Forked(Global<'k, u32, Read, U>),
    /// So many together, in the page that an entry for each block of positions names.
    Paged {
        table: Global<'k, u32, Read, U>,
        page: u32,
    },
}

/// Where a position is.
#[derive(Clone, Copy)]
pub(crate) struct Home<'k, U> {
    /// Sequence of the caches; `None` is 0.
    pub(crate) sequence: Option<Val<'k, u32, U>>,
    /// Place in it.
    pub(crate) place: Val<'k, u32, U>,
}

impl<'k, U: Uni> Lies<'k, U> {
    /// Where position `t` is.
    #[track_caller]
    pub(crate) fn home<V>(self, t: Val<'k, u32, V>) -> Home<'k, V>
    where
        V: Join<uni::Cta, Out = V> + Join<V, Out = V>,
        U: Join<V, Out = V>,
    {
        let (sequence, place) = match self {
            Lies::First => (None, t),
            Lies::In(sequence) => (Some(sequence + Val::<u32, V>::constant(0)), t),
            Lies::Forked(sources) => (Some(sources.at(t)), t),
            Lies::Paged { table, page } => {
                let number = table.at(t >> page.trailing_zeros());
                (Some(number), t & (page - 1))
            }
        };
        Home { sequence, place }
    }
}

impl<'k, V: Uni> Home<'k, V>
where
    V: Join<uni::Cta, Out = V> + Join<V, Out = V>,
{
    /// How far behind the first position of its head it is, where positions are `row` apart and sequences `stride`.
    #[track_caller]
    pub(crate) fn offset(self, stride: Val<'k, u64, uni::Cta>, row: u64) -> Val<'k, u64, V> {
        match self.sequence {
            None => self.place.u64() * row,
            Some(sequence) => sequence.u64() * stride + self.place.u64() * row,
        }
    }
}
