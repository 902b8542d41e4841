//! Variables and their initialisers.

use super::{DEPTH, Parser, Result, lex::Kind};
use crate::{
    diag::Code,
    ir::{Init, InitSymbol, Linkage, Var},
    target::PtxVersion,
    types::{Space, Type},
};

impl<'t> Parser<'t> {
    pub(super) fn module_var(&mut self, linkage: Linkage) -> Result<()> {
        let space = self.space()?;
        let managed = self.attribute(space)?;
        let pattern = self.pattern(space)?;
        loop {
            let (mut var, name) = self.declarator(pattern.clone())?;
            (var.linkage, var.managed) = (linkage, managed);
            let index = self.module.vars.len() as u32;
            if let Some(code) = self.var_clash(&var, name) {
                return Err(self.fault(code, var.span));
            }
            self.vars.entry(name).or_insert(index);
            self.module.vars.push(var);
            if self.eat("=") {
                let functions = self.module.functions.len() as u32;
                self.initialisers.push((index, functions, self.at));
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

    /// Why a variable cannot stand beside what has its name. A declaration may come before the definition; both stay.
    fn var_clash(&self, var: &Var, name: &str) -> Option<Code> {
        let duplicate = || Code::DuplicateSymbol {
            name: name.to_owned(),
        };
        if self.functions.contains_key(name) {
            return Some(duplicate());
        }
        let before = self.module.vars.get(*self.vars.get(name)? as usize)?;
        let [first, second] = [before, var].map(|var| var.linkage == Linkage::Extern);
        let hidden = first && var.linkage == Linkage::Local;
        if !(first || second) {
            Some(duplicate())
        } else if hidden || !before.is_like(var) {
            let name = name.to_owned();
            Some(Code::Redeclared { name })
        } else {
            None
        }
    }

    /// `.attribute(.managed)`, whether it is there; its like are not done here.
    fn attribute(&mut self, space: Space) -> Result<bool> {
        let span = self.here();
        if !self.eat(".attribute") {
            return Ok(false);
        }
        self.expect("(")?;
        let name = self.token().text;
        let code = match name {
            ".managed" if space == Space::Global => {
                self.advance();
                self.expect(")")?;
                return Ok(true);
            }
            ".unified" if space == Space::Global => {
                return Err(self.unread(&format!("`.attribute({name})`")));
            }
            ".managed" | ".unified" => Code::DirectivePlace {
                name: format!(".attribute({name})"),
                kind: "a variable that is not in .global",
            },
            _ => {
                let name = name.to_owned();
                Code::UnknownDirective { name }
            }
        };
        Err(self.fault(code, span))
    }

    /// `.global` and its like.
    pub(super) fn space(&mut self) -> Result<Space> {
        let space = match self.token().text {
            ".global" => Space::Global,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".const" => Space::Const,
            ".param" => Space::Param,
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
            Some(Type::B128) if self.module.version < PtxVersion::new(8, 3) => {
                let code = Code::TooNewForVersion {
                    form: ".b128".to_owned(),
                    needs: PtxVersion::new(8, 3),
                    version: self.module.version,
                };
                Err(self.fault(code, token.span()))
            }
            Some(ty) if ty.is_declared() => {
                self.advance();
                Ok(ty)
            }
            None if matches!(token.text, ".texref" | ".samplerref" | ".surfref") => {
                Err(self.unread(token.text))
            }
            _ => Err(self.unexpected("a type of variables and registers")),
        }
    }

    /// A variable behind its space: alignment, type, `.ptr`, name, dimensions.
    pub(super) fn var(&mut self, space: Space) -> Result<(Var, &'t str)> {
        let pattern = self.pattern(space)?;
        self.declarator(pattern)
    }

    /// What the variables of one declaration share.
    pub(super) fn pattern(&mut self, space: Space) -> Result<Var> {
        let mut align = self.align()?;
        // Of several the last one counts.
        while let Some(next) = self.align()? {
            align = Some(next);
        }
        let vector = match self.token().text {
            ".v2" => 2,
            ".v4" => 4,
            _ => 1,
        };
        if vector > 1 {
            self.advance();
        }
        let ty = self.type_here()?;
        let mut ptr = None;
        if self.eat(".ptr") {
            let space = match self.token().text {
                ".global" | ".shared" | ".local" | ".const" => self.space()?,
                _ => Space::Generic,
            };
            ptr = Some((space, self.align()?));
        }
        let mut var = Var::new("", space, ty);
        (var.align, var.vector, var.ptr) = (align, vector, ptr);
        Ok(var)
    }

    /// The name and the dimensions of one variable of a declaration.
    pub(super) fn declarator(&mut self, mut var: Var) -> Result<(Var, &'t str)> {
        var.span = self.here();
        let name = self.param_name()?;
        var.name = name.to_owned().into();
        while self.eat("[") {
            if var.dims.is_empty() && self.eat("]") {
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

    /// The name of a variable; parameters that nothing refers to may be called `_`.
    pub(super) fn param_name(&mut self) -> Result<&'t str> {
        match self.token().text {
            "_" if self.nameless => self.ident("a name"),
            _ => self.name("a name"),
        }
    }

    /// The initial value of a variable, which may name the variables and functions before it, so many of each.
    pub(super) fn initialiser(&mut self, depth: u32, behind: (u32, u32)) -> Result<Init> {
        if depth > DEPTH {
            return Err(self.fault(Code::TooDeep { limit: DEPTH }, self.here()));
        }
        if self.eat("{") {
            let mut items = Vec::new();
            if !self.eat("}") {
                loop {
                    items.push(self.initialiser(depth + 1, behind)?);
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect("}")?;
            }
            return Ok(Init::List(items));
        }
        let token = self.token();
        if token.kind != Kind::Ident || token.text == "WARP_SZ" {
            let value = self.expression()?.imm();
            if self.is("(") {
                return Err(self.unsupported("a part of an address in an initialiser"));
            }
            return Ok(Init::Imm(value));
        }
        self.advance();
        let generic = token.text == "generic" && self.eat("(");
        let name = if generic {
            let name = self.ident("a symbol")?;
            self.expect(")")?;
            name
        } else {
            token.text
        };
        let symbol = match (self.vars.get(name), self.functions.get(name)) {
            (Some(before), _) if *before < behind.0 => InitSymbol::Var(*before),
            (None, Some(function)) if function.0 < behind.1 => InitSymbol::Func(*function),
            _ => {
                let name = name.to_owned();
                return Err(self.fault(Code::UnknownSymbol { name }, token.span()));
            }
        };
        let offset = if self.is("+") { self.integer()? } else { 0 };
        Ok(Init::Address {
            symbol,
            offset,
            generic,
        })
    }
}
