//! Debug sections: labels and data, kept as their text.

use super::{Parser, Result, lex::Kind};
use crate::{diag::Code, ir::Imm};
use rustc_hash::FxHashSet;

impl<'t> Parser<'t> {
    /// `.section .debug_info { ... }`.
    pub(super) fn section(&mut self) -> Result<()> {
        let start = self.token();
        self.advance();
        if self.token().kind != Kind::Dot {
            return Err(self.unexpected("the name of a section"));
        }
        self.advance();
        self.expect("{")?;
        let mut labels: FxHashSet<&'t str> = FxHashSet::default();
        loop {
            let token = self.token();
            match (token.kind, token.text) {
                (Kind::Punct, "}") => {
                    let end = token.start as usize + 1;
                    let text = &self.source[start.start as usize..end];
                    self.module.sections.push(text.to_owned().into());
                    self.advance();
                    return Ok(());
                }
                (Kind::End, _) => return Err(self.fault(Code::UnterminatedBody, start.span())),
                (Kind::Ident, name) if self.ahead(1).text == ":" => {
                    if !labels.insert(name) {
                        let name = name.to_owned();
                        return Err(self.fault(Code::DuplicateLabel { name }, token.span()));
                    }
                    self.locs.labels.insert(name);
                    self.advance();
                    self.advance();
                }
                (Kind::Dot, ".b8") => self.data(".b8", 8)?,
                (Kind::Dot, ".b16") => self.data(".b16", 16)?,
                (Kind::Dot, ".b32") => self.data(".b32", 32)?,
                (Kind::Dot, ".b64") => self.data(".b64", 64)?,
                _ => return Err(self.unexpected("a label, or .b8 to .b64 of a section")),
            }
        }
    }

    /// Numbers and addresses of a width.
    fn data(&mut self, name: &str, bits: u32) -> Result<()> {
        self.advance();
        loop {
            let token = self.token();
            let symbol = matches!(token.kind, Kind::Ident | Kind::Dot);
            if symbol && bits >= 32 {
                self.advance();
                if self.eat("+") {
                    self.datum(name, 64)?;
                } else if self.eat("-") {
                    self.ident("a label")?;
                }
            } else {
                self.datum(name, bits)?;
            }
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    /// An integer that fits so many bits, with a sign or without.
    fn datum(&mut self, name: &str, bits: u32) -> Result<()> {
        let span = self.here();
        let at = usize::from(self.is("-"));
        let number = self.ahead(at);
        if number.kind != Kind::Number || number.text.contains(['.', '\'']) {
            return Err(self.unexpected("an integer"));
        }
        let value = match self.unary(0)?.imm() {
            Imm::Int(value) => value,
            Imm::Uint(_) if bits >= 32 => return Ok(()),
            Imm::Uint(_) => i64::MAX,
            Imm::F32(_) | Imm::F64(_) => return Err(self.unexpected("an integer")),
        };
        // Wider ones are cut to their width.
        let (least, most) = (-(1i64 << (bits.min(32) - 1)), (1i64 << bits.min(32)) - 1);
        if bits < 32 && !(least..=most).contains(&value) {
            let form = name.to_owned();
            let code = Code::ConstantRange {
                form,
                value,
                least,
                most,
            };
            return Err(self.fault(code, span));
        }
        Ok(())
    }
}
