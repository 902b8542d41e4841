//! Words of a history, most of which are never touched.

use memmap2::MmapMut;

/// Words that are zero until they are touched.
pub(super) enum Words {
    Mapped(MmapMut),
    Owned(Vec<u64>),
}

impl Words {
    pub(super) fn mapped(bytes: usize) -> std::io::Result<Words> {
        let map = memmap2::MmapOptions::new()
            .len(bytes.next_multiple_of(8).max(8))
            .no_reserve_swap()
            .map_anon()?;
        Ok(Words::Mapped(map))
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        match self {
            Words::Mapped(map) => map.len() / 8,
            Words::Owned(words) => words.len(),
        }
    }

    #[inline(always)]
    pub(super) fn all(&mut self) -> &mut [u64] {
        match self {
            Words::Mapped(map) => bytemuck::cast_slice_mut(map),
            Words::Owned(words) => words,
        }
    }
}
