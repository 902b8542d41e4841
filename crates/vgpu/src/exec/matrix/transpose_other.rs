//! The transposition of a matrix of 8 by 8 halves in portable code.

/// Makes rows columns: two elements to a word, 4 words to a row.
#[inline(always)]
pub(super) fn transpose(rows: &mut [u32; 32]) {
    let from = *rows;
    let at = |row: usize, column: usize| from[4 * row + column / 2] >> (16 * (column % 2)) & 0xFFFF;
    for (i, word) in rows.iter_mut().enumerate() {
        let (row, column) = (i / 4, i % 4 * 2);
        *word = at(column, row) | at(column + 1, row) << 16;
    }
}
