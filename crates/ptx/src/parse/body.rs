//! Function bodies: scopes, declarations, labels and statements.

use super::{
    DEPTH, MAX_REGISTERS, Parser, Result,
    lex::Kind,
    operand::Context,
    registers::{self, Register},
    scope::{self, Labels, Scopes, Symbol},
};
use crate::{
    diag::{Code, Diagnostic},
    ir::{FuncId, Guard, Inst, LabelId, Operand, Reg, RegId, Span, Stmt, StmtKind, Var, VarId},
    isa,
    op::Op,
    qual::{Qual, Quals},
    types::{Space, Type},
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

/// A body that is being parsed.
pub(super) struct Body<'t> {
    pub(super) function: FuncId,
    pub(super) scopes: Scopes<'t>,
    pub(super) labels: Labels<'t>,
    /// The open scopes, as `labels` numbers them.
    pub(super) open: Vec<u32>,
    pub(super) stmts: Vec<Stmt>,
    /// Registers that are results, each with the parameter that it goes to.
    pub(super) results: Vec<(RegId, Register)>,
}

/// Forms whose order is looked for, of one module: a hostile text cannot make it many.
const MAX_ORDERS: usize = 1 << 13;

/// Parses the body of a function whose header is in the module; stands on its `{`.
pub(super) fn parse<'t>(
    parser: &mut Parser<'t>,
    id: FuncId,
    params: &[&'t str],
    returns: &[&'t str],
    registers: &[Register],
) {
    let opening = parser.here();
    let mut scopes = Scopes::new();
    let labels = find_labels(parser, id, &mut scopes);
    let mut body = Body {
        function: id,
        scopes,
        labels,
        open: vec![0],
        stmts: Vec::new(),
        results: Vec::new(),
    };
    parser.advance();
    parser.symbols(&mut body, params, registers, VarId::Param);
    parser.symbols(&mut body, returns, registers, VarId::Return);
    let name = parser.module.functions[id.index()].name.clone();
    let closed = loop {
        if parser.full() || parser.token().kind == Kind::End {
            break false;
        }
        let before = parser.at;
        if parser.eat("}") {
            body.open.pop();
            if !body.scopes.leave() {
                break true;
            }
            continue;
        }
        if let Err(fault) = parser.statement(&mut body) {
            parser.found.push(fault.in_function(&name));
            parser.recover_statement(&body);
        }
        if parser.at == before && !parser.is("}") {
            parser.advance();
        }
    };
    if !closed && !parser.full() {
        let fault = Diagnostic::new(Code::UnterminatedBody, opening);
        parser.found.push(fault.in_function(&name));
    }
    if body.falls_through() {
        body.store_results(None, opening);
    }
    parser.module.functions[id.index()].body = Some(body.stmts);
}

/// Finds scopes and labels of the body ahead, and puts the labels into the function in the order
/// they are placed.
fn find_labels<'t>(parser: &mut Parser<'t>, id: FuncId, scopes: &mut Scopes<'t>) -> Labels<'t> {
    let mut labels = Labels {
        placed: FxHashMap::default(),
        scopes: FxHashMap::default(),
        parents: vec![0],
        names: FxHashMap::default(),
        closers: FxHashSet::default(),
    };
    let mut open = vec![0u32];
    let mut at = parser.at + 1;
    // Braces inside a statement are vectors or initialisers.
    let (mut start, mut inner) = (true, 0u32);
    while at < parser.tokens.len() && !open.is_empty() {
        let token = parser.tokens[at];
        let scope = open[open.len() - 1];
        match (token.kind, token.text) {
            (Kind::End, _) => break,
            (Kind::Punct, "{") if start => {
                let new = labels.parents.len() as u32;
                labels.parents.push(scope);
                labels.scopes.insert(at, new);
                open.push(new);
            }
            (Kind::Punct, "{") => inner += 1,
            (Kind::Punct, "}") if inner > 0 => inner -= 1,
            (Kind::Punct, "}") => {
                labels.closers.insert(at);
                open.pop();
                start = true;
            }
            (Kind::Punct, ";") => (start, inner) = (true, 0),
            (Kind::Ident, name) if parser.tokens[at + 1].text == ":" => {
                let function = &mut parser.module.functions[id.index()];
                let next = LabelId(function.labels.len() as u32);
                let label = match labels.names.entry((scope, name)) {
                    Entry::Vacant(entry) => {
                        function.labels.push(scopes.claim(name).into());
                        *entry.insert(next)
                    }
                    Entry::Occupied(entry) => {
                        let name = name.to_owned();
                        let fault = Diagnostic::new(Code::DuplicateLabel { name }, token.span());
                        parser.found.push(fault.in_function(&function.name));
                        *entry.get()
                    }
                };
                labels.placed.insert(at, label);
                at += 1;
                start = true;
            }
            (Kind::Dot, ".loc") if start => {
                at = parser.loc_end(at);
                continue;
            }
            _ => start = false,
        }
        at += 1;
    }
    labels
}

impl<'t> Parser<'t> {
    /// Makes parameters known in a body.
    fn symbols(
        &mut self,
        body: &mut Body<'t>,
        names: &[&'t str],
        registers: &[Register],
        id: fn(u32) -> VarId,
    ) {
        for (index, name) in names.iter().enumerate() {
            let var = id(index as u32);
            let register = registers.iter().find(|register| register.var == var);
            let new = match register {
                Some(register) => self.load_register(body, name, *register),
                None => {
                    let symbol = match var {
                        VarId::Return(at) => Symbol::Return(at),
                        VarId::Param(at) | VarId::Module(at) | VarId::Function(at) => {
                            Symbol::Param(at)
                        }
                    };
                    match *name {
                        // Nothing refers to it.
                        "_" => !names[..index].contains(name),
                        _ => body.scopes.declare(name, symbol).is_some(),
                    }
                }
            };
            if !new {
                let function = &self.module.functions[body.function.index()];
                let name = (*name).to_owned();
                let fault = Diagnostic::new(Code::DuplicateSymbol { name }, function.span);
                self.found.push(fault.in_function(&function.name));
            }
        }
    }

    /// Goes behind the next `;`, or before the brace that ends a scope.
    fn recover_statement(&mut self, body: &Body<'t>) {
        loop {
            if self.token().kind == Kind::End || body.labels.closers.contains(&self.at) {
                return;
            }
            let done = self.is(";");
            self.advance();
            if done {
                return;
            }
        }
    }

    pub(super) fn push(&mut self, body: &mut Body<'t>, kind: StmtKind, span: Span) {
        body.stmts.push(Stmt { kind, span });
    }

    fn statement(&mut self, body: &mut Body<'t>) -> Result<()> {
        let token = self.token();
        let span = token.span();
        match (token.kind, token.text) {
            (Kind::Punct, "{") => {
                if body.scopes.depth() > DEPTH {
                    return Err(self.fault(Code::TooDeep { limit: DEPTH }, span));
                }
                let outer = body.open.last().copied().unwrap_or(0);
                let scope = body.labels.scopes.get(&self.at).copied();
                body.open.push(scope.unwrap_or(outer));
                body.scopes.enter();
                self.advance();
                Ok(())
            }
            (Kind::Dot, ".reg") => self.registers(body),
            (Kind::Dot, ".shared" | ".local" | ".param" | ".const" | ".global") => {
                self.body_vars(body)
            }
            (Kind::Dot, ".loc") => {
                let kind = self.loc()?;
                self.push(body, kind, span);
                Ok(())
            }
            (Kind::Dot, ".pragma") => {
                self.advance();
                let text = self.string()?;
                self.expect(";")?;
                self.push(body, StmtKind::Pragma(text), span);
                Ok(())
            }
            (Kind::Dot, name) => {
                let name = name.to_owned();
                Err(self.fault(Code::UnknownDirective { name }, span))
            }
            (Kind::Ident, _) if self.ahead(1).text == ":" => self.label(body),
            (Kind::Ident, _) | (Kind::Punct, "@") => {
                self.selectors.clear();
                let inst = self.instruction(body)?;
                if inst.op == Op::Ret {
                    body.store_results(inst.guard, span);
                }
                self.push_selected(body, inst, span)
            }
            _ => Err(self.unexpected("a statement")),
        }
    }

    fn label(&mut self, body: &mut Body<'t>) -> Result<()> {
        let span = self.here();
        let Some(name) = body.labels.placed.get(&self.at).copied() else {
            return Err(self.unexpected("a statement"));
        };
        self.name("a label")?;
        self.advance();
        let kind = match self.token().text {
            ".branchtargets" => {
                self.advance();
                let mut targets = Vec::new();
                loop {
                    let at = self.here();
                    let target = self.ident("a label")?;
                    targets.push(self.label_named(body, target, at)?);
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(";")?;
                StmtKind::BranchTargets { name, targets }
            }
            ".calltargets" => {
                self.advance();
                let mut targets = Vec::new();
                loop {
                    let at = self.here();
                    let target = self.ident("a function")?;
                    let known = self.functions.get(target).copied();
                    targets.push(known.ok_or_else(|| {
                        let name = target.to_owned();
                        self.fault(Code::UnknownSymbol { name }, at)
                    })?);
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(";")?;
                StmtKind::CallTargets { name, targets }
            }
            ".callprototype" => {
                self.advance();
                self.nameless = true;
                let lists = self.prototype_lists();
                self.nameless = false;
                let (mut returns, mut params) = lists?;
                registers::take(&mut params, &mut returns);
                self.eat(".noreturn");
                self.expect(";")?;
                StmtKind::CallPrototype {
                    name,
                    returns,
                    params,
                }
            }
            _ => StmtKind::Label(name),
        };
        self.push(body, kind, span);
        Ok(())
    }

    /// `(results) _ (parameters)`.
    fn prototype_lists(&mut self) -> Result<(Vec<Var>, Vec<Var>)> {
        let (returns, _) = self.params()?;
        match self.token().text {
            "_" => self.advance(),
            _ => return Err(self.unexpected("_")),
        }
        let (params, _) = self.params()?;
        Ok((returns, params))
    }

    pub(super) fn label_named(&self, body: &Body<'t>, name: &str, span: Span) -> Result<LabelId> {
        let scope = body.open.last().copied().unwrap_or(0);
        body.labels.find(scope, name).ok_or_else(|| {
            let name = name.to_owned();
            self.fault(Code::UndefinedLabel { name }, span)
        })
    }

    fn registers(&mut self, body: &mut Body<'t>) -> Result<()> {
        self.advance();
        if matches!(self.token().text, ".v2" | ".v4") {
            return Err(self.unread("vector registers"));
        }
        let ty = self.type_here()?;
        loop {
            let span = self.here();
            let name = self.name("a register name")?;
            let count = if self.eat("<") {
                let count = self.count()?;
                self.expect(">")?;
                Some(count)
            } else {
                None
            };
            self.registers += u64::from(count.unwrap_or(1));
            if self.registers > MAX_REGISTERS {
                self.registers -= u64::from(count.unwrap_or(1));
                let code = Code::TooMany {
                    what: "registers",
                    limit: MAX_REGISTERS,
                };
                return Err(self.fault(code, span));
            }
            self.declare(body, ty, name, count, span)?;
            if !self.eat(",") {
                return self.expect(";");
            }
        }
    }

    fn declare(
        &mut self,
        body: &mut Body<'t>,
        ty: Type,
        name: &'t str,
        count: Option<u32>,
        span: Span,
    ) -> Result<()> {
        let scope = body.open.last().copied().unwrap_or(0);
        if count.is_none() && body.labels.names.contains_key(&(scope, name)) {
            let name = name.to_owned();
            return Err(self.fault(Code::DuplicateSymbol { name }, span));
        }
        let regs = &mut self.module.functions[body.function.index()].regs;
        let first = RegId(regs.len() as u32);
        let unique = match count {
            None => body.scopes.declare(name, Symbol::Reg(first)),
            Some(count) => body.scopes.declare_range(name, first, count),
        };
        let Some(unique) = unique else {
            let name = name.to_owned();
            return Err(self.fault(Code::DuplicateSymbol { name }, span));
        };
        match count {
            None => regs.push(scope::register(ty, &unique)),
            Some(count) => {
                let prefix = scope::prefix(&unique);
                regs.extend((0..count).map(|number| Reg {
                    ty,
                    prefix: prefix.clone(),
                    number: Some(number),
                }));
            }
        }
        Ok(())
    }

    fn body_vars(&mut self, body: &mut Body<'t>) -> Result<()> {
        let span = self.here();
        let space = self.space()?;
        if matches!(space, Space::Global | Space::Const) {
            return Err(self.unread(&format!(".{} variables in a function", space.name())));
        }
        let pattern = self.pattern(space)?;
        loop {
            let (mut var, name) = self.declarator(pattern.clone())?;
            let scope = body.open.last().copied().unwrap_or(0);
            if body.labels.names.contains_key(&(scope, name)) {
                let name = name.to_owned();
                return Err(self.fault(Code::DuplicateSymbol { name }, span));
            }
            let vars = &mut self.module.functions[body.function.index()].vars;
            let symbol = Symbol::Var(vars.len() as u32);
            let Some(unique) = body.scopes.declare(name, symbol) else {
                let name = name.to_owned();
                return Err(self.fault(Code::DuplicateSymbol { name }, span));
            };
            if unique != name {
                var.name = unique.into();
            }
            let sized = var.dims.iter().all(|dim| dim.is_some_and(|size| size > 0));
            vars.push(var);
            if !sized {
                let name = name.to_owned();
                return Err(self.fault(Code::NoSize { name }, span));
            }
            if self.is("=") {
                let (name, space) = (name.to_owned(), space.name());
                return Err(self.fault(Code::InitSpace { name, space }, span));
            }
            if !self.eat(",") {
                return self.expect(";");
            }
        }
    }

    fn instruction(&mut self, body: &Body<'t>) -> Result<Inst> {
        let guard = if self.eat("@") {
            let negated = self.eat("!");
            let span = self.here();
            let name = self.ident("a predicate")?;
            match body.scopes.find(name) {
                Some(Symbol::Reg(reg)) => Some(Guard { reg, negated }),
                _ => {
                    let name = name.to_owned();
                    return Err(self.fault(Code::UnknownSymbol { name }, span));
                }
            }
        } else {
            None
        };
        let span = self.here();
        let name = self.ident("an instruction")?;
        let op = Op::from_name(name).ok_or_else(|| {
            let name = name.to_owned();
            self.fault(Code::UnknownOpcode { name }, span)
        })?;
        let mut quals = Quals::new(&[]);
        while self.token().kind == Kind::Dot {
            let text = &self.token().text[1..];
            let qual = Qual::from_name(text).ok_or_else(|| {
                let name = text.to_owned();
                let code = if isa::is_open(op, &quals) && isa::is_word(op, text) {
                    let section = isa::section(op, &quals);
                    let what = format!("`.{name}` of `{}` (PTX ISA {section})", op.name());
                    Code::Unsupported { what }
                } else {
                    let op = op.name();
                    Code::UnknownQualifier { op, name }
                };
                self.fault(code, self.here())
            })?;
            if !quals.push(qual) {
                let code = Code::TooMany {
                    what: "qualifiers",
                    limit: Quals::MAX as u64,
                };
                return Err(self.fault(code, self.here()));
            }
            self.advance();
        }
        let quals = self.in_order(op, quals);
        let single = quals.has(Qual::T(Type::F32)) && !quals.has(Qual::T(Type::F64));
        let context = Context { op, single };
        let loads = matches!(op, Op::Ld | Op::Ldu | Op::St | Op::Suld | Op::Sust);
        let of_one = loads
            && ![Qual::V2, Qual::V4, Qual::V8]
                .map(|v| quals.has(v))
                .contains(&true);
        let mut operands = SmallVec::new();
        if !self.is(";") {
            loop {
                let selectors = self.selectors.len();
                let operand = self.operand(body, context, 0)?;
                for selector in &mut self.selectors[selectors..] {
                    selector.operand = operands.len();
                }
                operands.push(match operand {
                    // A vector of one is that one.
                    Operand::Vec(items) if of_one && items.len() == 1 => items[0].clone(),
                    other => other,
                });
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.expect(";")?;
        Ok(Inst {
            op,
            quals,
            operands,
            guard,
        })
    }

    /// Qualifiers in the order of the table, if they are in it in another one.
    fn in_order(&mut self, op: Op, quals: Quals) -> Quals {
        if let Some(known) = self.orders.get(&(op, quals)) {
            return *known;
        }
        if self.orders.len() >= MAX_ORDERS {
            return quals;
        }
        let known = match isa::form(op, &quals) {
            Some(_) => quals,
            None => isa::canonical(op, &quals).unwrap_or(quals),
        };
        self.orders.insert((op, quals), known);
        known
    }
}
