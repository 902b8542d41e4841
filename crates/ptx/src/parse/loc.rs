//! `.loc`: where the instructions behind it were compiled from, and what that was inlined into.

use super::{Parser, Result, lex::Kind};
use crate::{
    diag::Code,
    ir::{Inlined, Name, Span, StmtKind},
};
use rustc_hash::FxHashSet;

/// What `.loc` directives say of other places, which is looked at when the whole text is read.
#[derive(Default)]
pub(super) struct Locs<'t> {
    /// Places that a `.loc` named.
    places: FxHashSet<[u32; 3]>,
    /// Labels that `function_name` names, and where.
    names: Vec<(&'t str, Span)>,
    /// Labels of debug sections.
    pub(super) labels: FxHashSet<&'t str>,
}

impl<'t> Parser<'t> {
    /// The token behind a `.loc`, which has no `;`.
    pub(super) fn loc_end(&self, start: usize) -> usize {
        let last = self.tokens.len() - 1;
        let token = |at: usize| self.tokens[at.min(last)];
        let numbers = |mut at: usize| {
            while token(at).kind == Kind::Number {
                at += 1;
            }
            at
        };
        let mut at = numbers(start + 1);
        if token(at).text == "," && token(at + 1).text == "function_name" {
            at += 3;
            if token(at).text == "+" {
                at += 2;
            }
            if token(at).text == "," && token(at + 1).text == "inlined_at" {
                at = numbers(at + 2);
            }
        }
        at.min(last)
    }

    /// `.loc file line column`, with `, function_name label + offset, inlined_at file line column` behind it.
    pub(super) fn loc(&mut self) -> Result<StmtKind> {
        self.advance();
        let [file, line, column] = self.place()?;
        let inlined = match self.eat(",") {
            true => Some(Box::new(self.inlined()?)),
            false => None,
        };
        self.locs.places.insert([file, line, column]);
        Ok(StmtKind::Loc {
            file,
            line,
            column,
            inlined,
        })
    }

    fn place(&mut self) -> Result<[u32; 3]> {
        Ok([self.small()?, self.small()?, self.small()?])
    }

    fn word(&mut self, word: &'static str) -> Result<()> {
        if self.token().text != word || self.token().kind != Kind::Ident {
            return Err(self.unexpected(word));
        }
        self.advance();
        Ok(())
    }

    fn inlined(&mut self) -> Result<Inlined> {
        self.word("function_name")?;
        let token = self.token();
        if token.text != ".debug_str" {
            self.ident("a label of a debug section")?;
            self.locs.names.push((token.text, token.span()));
        } else {
            self.advance();
        }
        let function = Name::Owned(token.text.to_owned());
        let offset = match self.eat("+") {
            true if self.token().kind != Kind::Number => return Err(self.unexpected("an offset")),
            true => {
                let span = self.here();
                let value = self.unary(0)?;
                value.bits().ok_or_else(|| self.not_integer(span))?
            }
            false => 0,
        };
        self.expect(",")?;
        self.word("inlined_at")?;
        let span = self.here();
        let place = self.place()?;
        if !self.locs.places.contains(&place) {
            let [file, line, column] = place;
            let code = Code::NoSuchLoc { file, line, column };
            self.found.push(*self.fault(code, span));
        }
        let [file, line, column] = place;
        Ok(Inlined {
            function,
            offset,
            file,
            line,
            column,
        })
    }

    /// Refuses names of functions that no section has; all sections are read.
    pub(super) fn loc_names(&mut self) {
        for (name, span) in std::mem::take(&mut self.locs.names) {
            if !self.locs.labels.contains(name) && !self.full() {
                let name = name.to_owned();
                let fault = self.fault(Code::UndefinedLabel { name }, span);
                self.found.push(*fault);
            }
        }
    }
}
