//! Managed variables: `.attribute(.managed)`, which is for the driver alone, as all memory has one address on both sides.

use std::borrow::Cow;

const ATTRIBUTE: &str = ".attribute";

/// A text without these attributes, whose lines and columns are as before, and the names of the variables that had them.
pub(crate) fn taken_out(text: &str) -> (Cow<'_, str>, Vec<String>) {
    let (mut out, mut names) = (Cow::Borrowed(text), Vec::new());
    for (at, _) in text.match_indices(ATTRIBUTE) {
        let rest = &text[at + ATTRIBUTE.len()..];
        let Some((inside, behind)) = rest
            .trim_start()
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
        else {
            continue;
        };
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        if inside.trim() != ".managed" || line.contains("//") || !line.contains(".global") {
            continue;
        }
        let end = text.len() - behind.len();
        let blank = text[at..end].replace(|c: char| c != '\n', " ");
        out.to_mut().replace_range(at..end, &blank);
        // The name is the last word before an array's size, a value or the end.
        let words = behind
            .split(['[', '=', ';', ','])
            .next()
            .unwrap_or_default();
        names.extend(words.split_whitespace().last().map(str::to_owned));
    }
    (out, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managed_variables_are_named_and_all_else_stays_in_its_place() {
        let text = ".global .attribute(.managed) .align 4 .u32 m;\n// .attribute(.managed)\n.global .attribute( .managed ) .b8 t[4] = {1, 2};\n.global .attribute(.unified) .u32 u;";
        let (out, names) = taken_out(text);
        assert_eq!(names, ["m", "t"]);
        assert_eq!(out.len(), text.len());
        assert_eq!(
            out.split_whitespace().collect::<Vec<_>>().join(" "),
            ".global .align 4 .u32 m; // .attribute(.managed) .global .b8 t[4] = {1, 2}; .global .attribute(.unified) .u32 u;"
        );
        assert!(
            matches!(taken_out(".global .u32 x;"), (Cow::Borrowed(_), names) if names.is_empty())
        );
    }
}
