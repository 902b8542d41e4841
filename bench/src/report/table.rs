//! Tables in Markdown that read well on a terminal.

use serde_json::Value;
use std::fmt::Write;

/// A figure: what it is, ours, its digits behind the point, and where theirs is.
pub(super) type Figure<T> = (String, Option<f64>, usize, T);

/// Our figures, and beside them those of each peer with the ratio of both. Figures that we have not are left out.
pub(super) fn beside<T>(
    out: &mut String,
    peers: &[Value],
    figures: &[Figure<T>],
    theirs: impl Fn(&Value, &T) -> Option<f64>,
) -> std::fmt::Result {
    let mut rows = vec![head(["figure", "warpsmith"])];
    for peer in peers {
        let text = |key: &str| peer[key].as_str().unwrap_or_default();
        rows[0].push(format!("{} {}", text("peer"), text("version")));
        rows[0].push("ours / theirs".to_owned());
    }
    for (what, ours, digits, at) in figures {
        let Some(ours) = ours else { continue };
        let mut row = vec![what.clone(), format!("{ours:.digits$}")];
        for peer in peers {
            match theirs(peer, at) {
                Some(theirs) => {
                    row.push(format!("{theirs:.digits$}"));
                    row.push(format!("{:.2}", ours / theirs));
                }
                None => row.extend(["-".to_owned(), "-".to_owned()]),
            }
        }
        rows.push(row);
    }
    table(out, &rows)
}

/// A table whose columns stand under each other; the first row is its head.
pub(super) fn table(out: &mut String, rows: &[Vec<String>]) -> std::fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        })
        .collect();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            write!(out, "| {cell:<width$} ")?;
        }
        writeln!(out, "|")?;
        if number == 0 {
            for (at, width) in widths.iter().enumerate() {
                let (line, end) = ("-".repeat(width - 1), if at == 0 { "-" } else { ":" });
                write!(out, "| {line}{end} ")?;
            }
            writeln!(out, "|")?;
        }
    }
    Ok(())
}

/// A row of names.
pub(super) fn head<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_a_table_stand_under_each_other() {
        let mut out = String::new();
        let rows = [["a", "ours"], ["b", "12345"]].map(|row| row.map(str::to_owned).to_vec());
        assert!(table(&mut out, &rows).is_ok());
        assert_eq!(out, "| a   | ours  |\n| --- | ----: |\n| b   | 12345 |\n");
    }

    #[test]
    fn a_figure_stands_beside_a_peers_with_their_ratio_and_one_we_have_not_is_left_out() {
        let peers = [serde_json::json!({ "peer": "p", "version": "1", "speed": 4 })];
        let figures = [
            ("a".to_owned(), Some(2.0), 1, "speed"),
            ("b".to_owned(), None, 1, "speed"),
            ("c".to_owned(), Some(2.0), 0, "unknown"),
        ];
        let mut out = String::new();
        assert!(beside(&mut out, &peers, &figures, |peer, at| peer[*at].as_f64()).is_ok());
        let want = "\
| figure | warpsmith | p 1 | ours / theirs |
| ------ | --------: | --: | ------------: |
| a      | 2.0       | 4.0 | 0.50          |
| c      | 2         | -   | -             |
";
        assert_eq!(out, want);
    }
}
