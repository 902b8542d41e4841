//! Variables and their initialisers.

use super::{DEPTH, Parser, Result, lex::Kind};
use crate::{
    diag::Code,
    ir::{Init, InitSymbol, Linkage, Var},
    types::{Space, Type},
};

impl<'t> Parser<'t> {
    pub(super) fn module_var(&mut self, linkage: Linkage) -> Result<()> {
        let space = self.space()?;
        loop {
            let (mut var, name) = self.var(space)?;
            var.linkage = linkage;
            let index = self.module.vars.len() as u32;
            let span = self.here();
            let declared_before = self.vars.get(name).copied();
            match declared_before {
                // A declaration may come before the definition; both stay.
                Some(before)
                    if self.module.vars[before as usize].linkage != Linkage::Extern
                        && linkage != Linkage::Extern =>
                {
                    let name = name.to_owned();
                    return Err(self.fault(Code::DuplicateSymbol { name }, span));
                }
                Some(_) => {}
                None => {
                    self.vars.insert(name, index);
                }
            }
            self.module.vars.push(var);
            if self.eat("=") {
                self.initialisers.push((index, self.at));
                let mut depth = 0u32;
                while !(depth == 0 && (self.is(",") || self.is(";"))) {
                    match self.token().text {
                        "{" | "(" => depth += 1,
                        "}" | ")" => depth = depth.saturating_sub(1),
                        _ if self.token().kind == Kind::End => return Err(self.unexpected(";")),
                        _ => {}
                    }
                    self.advance();
                }
            }
            if !self.eat(",") {
                return self.expect(";");
            }
        }
    }

    /// `.global` and its like.
    pub(super) fn space(&mut self) -> Result<Space> {
        let space = match self.token().text {
            ".global" => Space::Global,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".const" => Space::Const,
            ".param" => Space::Param,
            ".reg" => return Err(self.unsupported(".reg parameters")),
            ".tex" => return Err(self.unsupported(".tex variables")),
            _ => return Err(self.unexpected("a state space")),
        };
        self.advance();
        Ok(space)
    }

    pub(super) fn align(&mut self) -> Result<Option<u32>> {
        if self.eat(".align") {
            self.small().map(Some)
        } else {
            Ok(None)
        }
    }

    pub(super) fn type_here(&mut self) -> Result<Type> {
        let token = self.token();
        let ty = token.text.strip_prefix('.').and_then(Type::from_name);
        match ty {
            Some(ty) => {
                self.advance();
                Ok(ty)
            }
            None if matches!(
                token.text,
                ".texref" | ".samplerref" | ".surfref" | ".attribute"
            ) =>
            {
                Err(self.unsupported(token.text))
            }
            None => Err(self.unexpected("a type")),
        }
    }

    /// A variable behind its space: alignment, type, `.ptr`, name, dimensions.
    pub(super) fn var(&mut self, space: Space) -> Result<(Var, &'t str)> {
        let mut align = self.align()?;
        let vector = match self.token().text {
            ".v2" => 2,
            ".v4" => 4,
            _ => 1,
        };
        if vector > 1 {
            self.advance();
        }
        let ty = self.type_here()?;
        if align.is_none() {
            align = self.align()?;
        }
        let mut ptr = None;
        if self.eat(".ptr") {
            let space = match self.token().text {
                ".global" | ".shared" | ".local" | ".const" => self.space()?,
                _ => Space::Generic,
            };
            ptr = Some((space, self.align()?));
        }
        let name = self.ident("a name")?;
        let mut var = Var::new(name.to_owned(), space, ty);
        (var.align, var.vector, var.ptr) = (align, vector, ptr);
        while self.eat("[") {
            if self.eat("]") {
                var.dims.push(None);
                continue;
            }
            let span = self.here();
            let size = self.integer()?;
            let size = u64::try_from(size).map_err(|_| {
                let text = size.to_string();
                self.fault(Code::NumberOverflow { text }, span)
            })?;
            var.dims.push(Some(size));
            self.expect("]")?;
        }
        Ok((var, name))
    }

    pub(super) fn initialiser(&mut self, depth: u32) -> Result<Init> {
        if depth > DEPTH {
            return Err(self.fault(Code::TooDeep { limit: DEPTH }, self.here()));
        }
        if self.eat("{") {
            let mut items = Vec::new();
            while !self.eat("}") {
                items.push(self.initialiser(depth + 1)?);
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Init::List(items));
        }
        let token = self.token();
        if token.kind != Kind::Ident || token.text == "WARP_SZ" {
            return Ok(Init::Imm(self.expression()?.imm()));
        }
        self.advance();
        let generic = token.text == "generic" && self.eat("(");
        if token.text == "mask" && self.is("(") {
            return Err(self.unsupported("mask() in an initialiser"));
        }
        let name = if generic {
            let name = self.ident("a symbol")?;
            self.expect(")")?;
            name
        } else {
            token.text
        };
        let symbol = match (self.vars.get(name), self.functions.get(name)) {
            (Some(var), _) => InitSymbol::Var(*var),
            (None, Some(function)) => InitSymbol::Func(*function),
            (None, None) => {
                let name = name.to_owned();
                return Err(self.fault(Code::UnknownSymbol { name }, token.span()));
            }
        };
        let offset = if self.is("+") || self.is("-") {
            self.integer()?
        } else {
            0
        };
        Ok(Init::Address {
            symbol,
            offset,
            generic,
        })
    }
}
