//! Dynamic time warping: the cheapest way through a matrix, from its first to its last element.

/// A way through a matrix: the row and column of each step, neither ever going back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Rows.
    pub rows: Vec<usize>,
    /// Columns.
    pub columns: Vec<usize>,
}

/// Where the cheapest way to an element comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Diagonal,
    Above,
    Left,
}

/// The way of least cost through `cost`, row after row of `columns`: each step goes down, right, or both.
/// Where the step down or the diagonal one is not alone the cheapest, the step to the right is taken, as in
/// openai-whisper. Empty for an empty matrix.
pub fn path(cost: &[f32], columns: usize) -> Path {
    if columns == 0 || cost.is_empty() {
        return Path::default();
    }
    let mut above = vec![f32::INFINITY; columns + 1];
    above[0] = 0.0;
    let mut trace = Vec::with_capacity(cost.len());
    for row in cost.chunks_exact(columns) {
        let mut current = vec![f32::INFINITY; columns + 1];
        for (j, &x) in row.iter().enumerate() {
            let (diagonal, up, left) = (above[j], above[j + 1], current[j]);
            let (before, from) = if diagonal < up && diagonal < left {
                (diagonal, From::Diagonal)
            } else if up < diagonal && up < left {
                (up, From::Above)
            } else {
                (left, From::Left)
            };
            current[j + 1] = x + before;
            trace.push(from);
        }
        above = current;
    }
    let (mut i, mut j) = (cost.len() / columns, columns);
    let mut path = Path::default();
    while i > 0 && j > 0 {
        path.rows.push(i - 1);
        path.columns.push(j - 1);
        // Along the edges there is one way.
        let from = match (i, j) {
            (1, 1) => break,
            (1, _) => From::Left,
            (_, 1) => From::Above,
            _ => trace[(i - 1) * columns + j - 1],
        };
        match from {
            From::Diagonal => (i, j) = (i - 1, j - 1),
            From::Above => i -= 1,
            From::Left => j -= 1,
        }
    }
    path.rows.reverse();
    path.columns.reverse();
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The cost of the cheapest way to the last element, by trying all.
    fn cheapest(cost: &[f32], columns: usize, i: usize, j: usize) -> f64 {
        let here = f64::from(cost[i * columns + j]);
        let mut ways = Vec::new();
        if i > 0 {
            ways.push(cheapest(cost, columns, i - 1, j));
        }
        if j > 0 {
            ways.push(cheapest(cost, columns, i, j - 1));
        }
        if i > 0 && j > 0 {
            ways.push(cheapest(cost, columns, i - 1, j - 1));
        }
        here + ways.into_iter().reduce(f64::min).unwrap_or(0.0)
    }

    proptest! {
        #[test]
        fn no_way_is_cheaper(
            columns in 1usize..6,
            rows in 1usize..6,
            // No two ways of so many random numbers cost the same.
            cost in proptest::collection::vec(-1f32..1.0, 36),
        ) {
            let cost = cost[..rows * columns].to_vec();
            let way = path(&cost, columns);
            prop_assert_eq!((way.rows[0], way.columns[0]), (0, 0));
            let steps = way.rows.windows(2).zip(way.columns.windows(2));
            for (i, j) in steps {
                let step = (i[1] - i[0], j[1] - j[0]);
                prop_assert!(matches!(step, (0, 1) | (1, 0) | (1, 1)));
            }
            let end = (way.rows.last().copied(), way.columns.last().copied());
            prop_assert_eq!(end, (Some(rows - 1), Some(columns - 1)));
            let sum: f64 = way.rows.iter().zip(&way.columns)
                .map(|(i, j)| f64::from(cost[i * columns + j])).sum();
            let least = cheapest(&cost, columns, rows - 1, columns - 1);
            prop_assert!((sum - least).abs() < 1e-5, "{} {}", sum, least);
        }
    }

    #[test]
    fn an_empty_matrix_has_no_way() {
        assert_eq!(path(&[], 3), Path::default());
        assert_eq!(path(&[], 0), Path::default());
    }
}
