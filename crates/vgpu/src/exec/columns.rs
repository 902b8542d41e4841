//! Rows of four words as four registers, and back: what a vector access of neighbouring lanes has to turn.

#[cfg_attr(target_arch = "x86_64", path = "columns_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "columns_other.rs")]
mod arch;

pub(super) use arch::{four, four_wide, rows, rows_wide};

#[cfg(test)]
mod tests {
    #[test]
    fn columns_of_rows_are_rows_again() {
        let flat: [u32; 128] = std::array::from_fn(|i| i as u32 * 7);
        if crate::Tier::Avx512.is_available() {
            let columns = super::four_wide(&flat);
            assert_eq!(columns, super::four(&flat));
            let [a, b, c, d] = &columns;
            assert_eq!(super::rows_wide([a, b, c, d]), flat);
        }
        let columns = super::four(&flat);
        for (k, column) in columns.iter().enumerate() {
            for (lane, value) in column.iter().enumerate() {
                assert_eq!(*value, flat[4 * lane + k]);
            }
        }
        let [a, b, c, d] = &columns;
        assert_eq!(super::rows([a, b, c, d]), flat);
    }
}
