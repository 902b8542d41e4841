//! A PTX text as reports point into it: its lines, where each was compiled from, what it accesses.

use super::{Folders, Origin, Spot};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use warpsmith_ptx::{
    ir::{Module, Span, StmtKind},
    isa,
    types::Space,
};

/// A PTX file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// What it is called.
    pub name: String,
    text: String,
    /// Where each line ends, without its break.
    lines: Vec<std::ops::Range<usize>>,
    /// Lines of instructions, with the `.loc` that holds there and what it was inlined into, innermost first.
    origins: BTreeMap<u32, Arc<[Origin]>>,
    /// Whose files come before others.
    pub(super) folders: Option<Folders>,
    spaces: BTreeMap<u32, Space>,
    entries: BTreeMap<String, u32>,
}

impl Source {
    /// A text that may or may not parse.
    pub fn new(name: impl Into<String>, text: String) -> Source {
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.trim_end_matches(['\n', '\r']).len();
            lines.push(start..end);
            start += line.len();
        }
        Source {
            name: name.into(),
            text,
            lines,
            ..Source::default()
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes in what its module tells of its lines.
    pub fn describe(&mut self, module: &Module) {
        let mut chains: BTreeMap<[u32; 3], Arc<[Origin]>> = BTreeMap::new();
        let inside = self.inline_lines();
        // LLVM numbers lines of a text of the user's as if each was one more line of the source: they are where it begins.
        let is_inside =
            |span: Span| matches!(span, Span::Ptx { line, .. } if inside.contains(&line));
        for function in &module.functions {
            if let Span::Ptx { line, .. } = function.span {
                self.entries.insert(function.name.to_string(), line);
            }
            let mut origin = None;
            for stmt in function.body.iter().flatten() {
                match (&stmt.kind, stmt.span) {
                    (
                        StmtKind::Loc {
                            file,
                            line,
                            column,
                            inlined,
                        },
                        span,
                    ) if !is_inside(span) => {
                        let place = [*file, *line, *column];
                        let outer = inlined.as_ref().map(|at| {
                            let at = [at.file, at.line, at.column];
                            let known = chains.get(&at).cloned();
                            known.unwrap_or_else(|| named(module, at).into_iter().collect())
                        });
                        let outer = outer.as_deref().unwrap_or_default();
                        let own = named(module, place);
                        let chain: Arc<[Origin]> = own
                            .into_iter()
                            .chain(outer.iter().cloned())
                            .take(DEEPEST)
                            .collect();
                        chains.insert(place, Arc::clone(&chain));
                        origin = (!chain.is_empty()).then_some(chain);
                    }
                    (StmtKind::Inst(inst), Span::Ptx { line, .. }) => {
                        if let Some(origin) = &origin {
                            self.origins.insert(line, origin.clone());
                        }
                        if let Some(form) = isa::form(inst.op, &inst.quals) {
                            self.spaces.insert(line, form.space());
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// A line's text.
    pub fn line(&self, line: u32) -> Option<&str> {
        let range = self.lines.get((line as usize).checked_sub(1)?)?;
        self.text.get(range.clone())
    }

    /// The line of a function's header.
    pub fn entry_line(&self, function: &str) -> Option<u32> {
        self.entries.get(function).copied()
    }

    /// The state space that the instruction of a line names.
    pub(super) fn space(&self, line: u32) -> Option<Space> {
        self.spaces.get(&line).copied()
    }

    /// A place in it.
    pub fn spot(&self, span: Span) -> Spot {
        match span {
            Span::None => Spot::default(),
            Span::Rust(at) => Spot {
                origin: Some(Origin {
                    file: at.file().to_owned(),
                    line: at.line(),
                    column: at.column(),
                }),
                ..Spot::default()
            },
            Span::Ptx { line, column } => {
                let mut spot = Spot {
                    line: Some(line),
                    column: Some(column),
                    chain: self.origins.get(&line).cloned().unwrap_or_default(),
                    ..Spot::default()
                };
                spot.settle(self.folders.as_ref());
                spot
            }
        }
    }
}

impl Source {
    /// Lines inside of assembly that the user wrote, by the comments that compilers put around it.
    fn inline_lines(&self) -> BTreeSet<u32> {
        let mut is_inside = false;
        let lines = self.text.lines().zip(1..);
        let inside = lines.filter(|(line, _)| {
            if line.contains("// begin inline asm") {
                is_inside = true;
            } else if line.contains("// end inline asm") {
                is_inside = false;
            }
            is_inside
        });
        inside.map(|(_, number)| number).collect()
    }
}

/// Places of a chain at most: a text can name more than anybody reads.
const DEEPEST: usize = 64;

/// The place that a `.loc` names, if it is one.
fn named(module: &Module, [file, line, column]: [u32; 3]) -> Option<Origin> {
    let name = module.files.iter().find(|(index, _)| *index == file);
    let name = name.map_or("?", |(_, name)| name.as_ref());
    (line > 0).then(|| Origin {
        file: name.to_owned(),
        line,
        column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_ptx::parse::parse;

    #[test]
    fn lines_know_where_they_were_compiled_from() {
        let text = ".version 7.0\r\n.target sm_80\r\n.address_size 64\r\n.file 1 \"k.cu\"\r\n\
                    .entry k() {\r\n.reg .b32 %r<2>;\r\nmov.u32 %r1, 1;\r\n.loc 1 12 3\r\n\
                    st.shared.u32 [0], %r1;\r\nret;\r\n}\r\n";
        let mut source = Source::new("k.ptx", text.to_owned());
        source.describe(&parse(text).expect("parses"));
        assert_eq!(source.entry_line("k"), Some(5));
        assert_eq!(source.line(9), Some("st.shared.u32 [0], %r1;"));
        assert_eq!((source.line(0), source.line(12)), (None, None));
        let at = |line| source.spot(Span::Ptx { line, column: 1 }).origin;
        assert_eq!(at(7), None);
        assert_eq!(
            at(9),
            Some(Origin {
                file: "k.cu".to_owned(),
                line: 12,
                column: 3
            })
        );
        assert_eq!(source.space(9), Some(Space::Shared));
    }

    #[test]
    fn assembly_of_the_user_is_at_the_line_where_it_begins() {
        let text = ".version 7.0\n.target sm_80\n.address_size 64\n.file 1 \"k.py\"\n\
                    .entry k() {\n.reg .b32 %r<3>;\n.loc 1 10 14\n// begin inline asm\n\
                    .loc 1 10 14\nmov.u32 %r1, 0;\n.loc 1 11 14\nld.global.u32 %r1, [0];\n\
                    // end inline asm\nmov.u32 %r2, 0;\n.loc 1 11 14\nst.global.u32 [0], %r1;\nret;\n}\n";
        let mut source = Source::new("k.ptx", text.to_owned());
        source.describe(&parse(text).expect("parses"));
        let at = |line| source.spot(Span::Ptx { line, column: 1 }).origin;
        let line = |at: Option<Origin>| at.map(|origin| origin.line);
        let lines = [10, 12, 14, 16].map(|number| line(at(number)));
        assert_eq!(lines, [Some(10), Some(10), Some(10), Some(11)]);
    }
}
