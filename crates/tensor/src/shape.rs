//! Shapes: how many elements they have, and how they are seen as rows.

use crate::error::{Error, Expected};

/// The largest dimension that kernels count.
const MOST: usize = (1 << 31) - 1;

/// Elements of a shape.
pub(crate) fn elements(op: &'static str, shape: &[usize], size: usize) -> Result<usize, Error> {
    let len = shape
        .iter()
        .try_fold(1usize, |len, dim| len.checked_mul(*dim));
    len.filter(|len| {
        len.checked_mul(size)
            .is_some_and(|n| n <= isize::MAX as usize)
    })
    .ok_or_else(|| Error::TooLarge {
        op,
        shape: shape.to_vec(),
    })
}

/// An operand of an operation, for its errors.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) op: &'static str,
    pub(crate) arg: &'static str,
    pub(crate) shape: &'a [usize],
}

impl Operand<'_> {
    fn refuse(self, expected: Expected) -> Error {
        Error::Shape {
            op: self.op,
            arg: self.arg,
            expected,
            found: self.shape.to_vec(),
        }
    }

    fn dim(self, found: usize) -> Result<u32, Error> {
        if found > MOST {
            return Err(Error::Dimension {
                op: self.op,
                arg: self.arg,
                most: MOST,
                found,
            });
        }
        Ok(found as u32)
    }

    /// Refuses all but `shape`.
    pub(crate) fn exactly(self, shape: &[usize]) -> Result<(), Error> {
        if self.shape == shape {
            Ok(())
        } else {
            Err(self.refuse(Expected::Exactly(shape.to_vec())))
        }
    }

    /// Rows, and elements of a row: all dimensions but the last together, and the last.
    pub(crate) fn rows(self) -> Result<[u32; 2], Error> {
        let Some((last, leading)) = self.shape.split_last() else {
            return Err(self.refuse(Expected::AtLeast(1)));
        };
        // No overflow: the products of leading dimensions were formed when the tensor was made.
        let rows = leading.iter().product();
        Ok([self.dim(rows)?, self.dim(*last)?])
    }

    /// As [`Operand::rows`], of `columns` elements.
    pub(crate) fn rows_of(self, columns: u32) -> Result<u32, Error> {
        let expected = columns as usize;
        if self.shape.last().is_some_and(|last| *last == expected) {
            let [rows, _] = self.rows()?;
            Ok(rows)
        } else {
            Err(self.refuse(Expected::Last(expected)))
        }
    }

    /// Both of two dimensions.
    pub(crate) fn matrix(self) -> Result<[u32; 2], Error> {
        match self.shape {
            [rows, columns] => Ok([self.dim(*rows)?, self.dim(*columns)?]),
            _ => Err(self.refuse(Expected::Rank(2))),
        }
    }

    /// Refuses all but matrices of so many rows.
    pub(crate) fn rows_of_two(self, rows: usize) -> Result<(), Error> {
        match self.shape {
            [found, _] if *found == rows => Ok(()),
            _ => Err(self.refuse(Expected::RowsOfTwo(rows))),
        }
    }
}
