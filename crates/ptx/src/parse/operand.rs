//! Operands of instructions.

use super::{Parser, Result, body::Body, lex::Kind, number::Value, scope::Symbol};
use crate::{
    diag::Code,
    ir::{Address, Base, Imm, Operand, Span, VarId},
    op::Op,
    special::Special,
};

/// What an operand's reading depends on.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) op: Op,
    /// Whether decimal fractions are `f32`.
    pub(super) single: bool,
}

impl Context {
    fn imm(self, value: Value) -> Imm {
        match value {
            Value::Real(value) if self.single => Imm::F32((value as f32).to_bits()),
            other => other.imm(),
        }
    }
}

/// How deep vectors and lists nest: a vector in a list.
const NESTING: u32 = 2;

impl<'t> Parser<'t> {
    pub(super) fn operand(
        &mut self,
        body: &Body<'t>,
        context: Context,
        depth: u32,
    ) -> Result<Operand> {
        let first = self.simple(body, context, depth)?;
        if !self.eat("|") {
            return Ok(first);
        }
        let second = self.simple(body, context, NESTING)?;
        Ok(Operand::Pair(Box::new((first, second))))
    }

    fn simple(&mut self, body: &Body<'t>, context: Context, depth: u32) -> Result<Operand> {
        let token = self.token();
        let span = token.span();
        match (token.kind, token.text) {
            (Kind::Punct, "{" | "[") | (Kind::Punct, "(") if depth >= NESTING => {
                Err(self.fault(Code::TooDeep { limit: NESTING }, span))
            }
            (Kind::Punct, "{") => {
                self.advance();
                Ok(Operand::Vec(self.items(body, context, depth, "}")?))
            }
            (Kind::Punct, "(") if context.op == Op::Call => {
                self.advance();
                Ok(Operand::List(self.items(body, context, depth, ")")?))
            }
            (Kind::Punct, "[") => {
                self.advance();
                self.address(body, context, depth)
            }
            (Kind::Punct, "!") if self.ahead(1).kind == Kind::Ident => {
                self.advance();
                let name = self.ident("a predicate")?;
                match body.scopes.find(name) {
                    Some(Symbol::Reg(reg)) => Ok(Operand::NotReg(reg)),
                    _ => Err(self.unknown(name, span)),
                }
            }
            (Kind::Ident, "_") => {
                self.advance();
                Ok(Operand::Sink)
            }
            (Kind::Ident, _) => self.named(body, context),
            _ => Ok(Operand::Imm(context.imm(self.expression()?))),
        }
    }

    fn unknown(&self, name: &str, span: Span) -> Box<crate::diag::Diagnostic> {
        let name = name.to_owned();
        self.fault(Code::UnknownSymbol { name }, span)
    }

    fn items(
        &mut self,
        body: &Body<'t>,
        context: Context,
        depth: u32,
        close: &'static str,
    ) -> Result<Box<[Operand]>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.operand(body, context, depth + 1)?);
            if !self.eat(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items.into())
    }

    /// A name: a register, a variable, a special register, a label or a function.
    fn named(&mut self, body: &Body<'t>, context: Context) -> Result<Operand> {
        let span = self.here();
        let name = self.ident("an operand")?;
        let label = match context.op {
            Op::Bra => return self.label_named(body, name, span).map(Operand::Label),
            Op::Brx | Op::Call => self.label_named(body, name, span).ok(),
            _ => None,
        };
        if let Some(symbol) = body.scopes.find(name) {
            return match symbol {
                Symbol::Reg(reg) => {
                    self.selector(context.op)?;
                    Ok(Operand::Reg(reg))
                }
                other => self.variable(body, context, var(other)),
            };
        }
        if let Some(label) = label {
            return Ok(Operand::Label(label));
        }
        if let Some(special) = self.special(name) {
            return Ok(Operand::Special(special));
        }
        if let Some(at) = self.vars.get(name).copied() {
            return self.variable(body, context, VarId::Module(at));
        }
        match self.functions.get(name) {
            Some(function) => Ok(Operand::Func(*function)),
            None => Err(self.unknown(name, span)),
        }
    }

    /// A variable's address, with bytes or elements behind it: `tile+16`, `tile[4]`.
    fn variable(&mut self, body: &Body<'t>, context: Context, id: VarId) -> Result<Operand> {
        if !self.eat("[") {
            return Ok(Operand::Var(id, self.offset()?));
        }
        let span = self.here();
        if self.token().kind == Kind::Ident && self.token().text != "WARP_SZ" {
            let what = "an element of an array at the index in a register".to_owned();
            return Err(self.fault(Code::Unsupported { what }, span));
        }
        let index = self.integer()?;
        self.expect("]")?;
        let function = &self.module.functions[body.function.index()];
        let var = match id {
            VarId::Module(at) => self.module.vars.get(at as usize),
            VarId::Function(at) => function.vars.get(at as usize),
            VarId::Param(at) => function.params.get(at as usize),
            VarId::Return(at) => function.returns.get(at as usize),
        };
        let element = var.map_or(0, |var| i64::from(var.ty.bytes()) * i64::from(var.vector));
        let offset = index.checked_mul(element).ok_or_else(|| {
            let text = index.to_string();
            self.fault(Code::NumberOverflow { text }, span)
        })?;
        Ok(match context.op {
            Op::Ld | Op::Ldu | Op::St | Op::Atom | Op::Red => Operand::Addr(Address {
                base: Base::Var(id),
                offset,
            }),
            _ => Operand::Var(id, offset),
        })
    }

    /// A special register; takes its component.
    fn special(&mut self, name: &str) -> Option<Special> {
        if !name.starts_with('%') && name != "WARP_SZ" {
            return None;
        }
        if let Some(special) = Special::from_name(name) {
            return Some(special);
        }
        let component = self.token();
        if component.kind != Kind::Dot || component.text.len() != 2 {
            return None;
        }
        let special = Special::from_name(&format!("{name}{}", component.text))?;
        self.advance();
        Some(special)
    }

    /// `+8`, `+-8` or nothing.
    fn offset(&mut self) -> Result<i64> {
        if self.eat("+") { self.integer() } else { Ok(0) }
    }

    /// Behind `[`: an address, or a list with coordinates.
    fn address(&mut self, body: &Body<'t>, context: Context, depth: u32) -> Result<Operand> {
        if self.token().kind != Kind::Ident || self.token().text == "WARP_SZ" {
            let offset = self.integer()?;
            self.expect("]")?;
            return Ok(Operand::Addr(Address {
                base: Base::Absolute,
                offset,
            }));
        }
        let span = self.here();
        let name = self.ident("an address")?;
        let base = match body.scopes.find(name) {
            Some(Symbol::Reg(reg)) => Base::Reg(reg),
            Some(other) => Base::Var(var(other)),
            None => match self.vars.get(name) {
                Some(at) => Base::Var(VarId::Module(*at)),
                None => return Err(self.unknown(name, span)),
            },
        };
        if self.eat(",") {
            let first = match base {
                Base::Reg(reg) => Operand::Reg(reg),
                Base::Var(id) => Operand::Var(id, 0),
                Base::Absolute => Operand::Sink,
            };
            let mut items = vec![first];
            items.extend(self.items(body, context, depth, "]")?);
            return Ok(Operand::List(items.into()));
        }
        let offset = self.offset()?;
        self.expect("]")?;
        Ok(Operand::Addr(Address { base, offset }))
    }
}

fn var(symbol: Symbol) -> VarId {
    match symbol {
        Symbol::Var(at) => VarId::Function(at),
        Symbol::Param(at) => VarId::Param(at),
        Symbol::Return(at) => VarId::Return(at),
        // Callers deal with registers first; a register has no address.
        Symbol::Reg(reg) => VarId::Function(reg.0),
    }
}
