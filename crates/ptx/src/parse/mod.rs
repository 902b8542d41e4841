//! The parser: PTX text as a [`Module`].
//!
//! It reports all it finds, going on behind the next `;`, and takes time and memory in proportion
//! to the text. Names redeclared in nested scopes are made unique: the second `p` becomes `p_1`.

mod body;
mod lex;
mod number;
mod operand;
mod scope;
mod vars;

use crate::{
    diag::{Code, Diagnostic},
    ir::{Directive, FuncId, Function, FunctionKind, Linkage, Module, Name, Origin, Span, Var},
    target::{PtxVersion, Target},
};
use lex::{Kind, Token};
use rustc_hash::FxHashMap;

/// Parameters and their names.
type Params<'t> = (Vec<Var>, Vec<&'t str>);

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// How deep scopes, initialisers and expressions may nest.
const DEPTH: u32 = 64;

/// Registers a module may declare.
pub const MAX_REGISTERS: u64 = 1 << 20;

/// Findings after which the parser stops.
const MAX_FINDINGS: usize = 1000;

/// Bytes of text it takes.
const MAX_TEXT: u64 = 1 << 30;

/// Parses a module; all that is wrong with it otherwise.
pub fn parse(text: &str) -> std::result::Result<Module, Vec<Diagnostic>> {
    if text.len() as u64 > MAX_TEXT {
        let code = Code::TooMany {
            what: "bytes",
            limit: MAX_TEXT,
        };
        return Err(vec![Diagnostic::new(code, Span::None)]);
    }
    let (tokens, found) = lex::lex(text);
    let mut parser = Parser {
        source: text,
        tokens,
        at: 0,
        found,
        module: Module {
            version: PtxVersion::new(0, 0),
            target: Target::sm(0),
            target_options: Vec::new(),
            address_size: 32,
            vars: Vec::new(),
            functions: Vec::new(),
            files: Vec::new(),
            sections: Vec::new(),
        },
        vars: FxHashMap::default(),
        functions: FxHashMap::default(),
        initialisers: Vec::new(),
        registers: 0,
        saw: (false, false),
    };
    parser.run();
    if parser.found.is_empty() {
        Ok(parser.module)
    } else {
        Err(parser.found)
    }
}

struct Parser<'t> {
    source: &'t str,
    tokens: Vec<Token<'t>>,
    at: usize,
    found: Vec<Diagnostic>,
    module: Module,
    vars: FxHashMap<&'t str, u32>,
    functions: FxHashMap<&'t str, FuncId>,
    /// Module variables with initialisers that wait for all symbols to be known.
    initialisers: Vec<(u32, usize)>,
    registers: u64,
    /// Whether `.version` and `.target` were there.
    saw: (bool, bool),
}

impl<'t> Parser<'t> {
    fn token(&self) -> Token<'t> {
        self.tokens[self.at]
    }

    fn ahead(&self, by: usize) -> Token<'t> {
        self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    fn here(&self) -> Span {
        self.token().span()
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is(&self, text: &str) -> bool {
        let token = self.token();
        token.text == text && matches!(token.kind, Kind::Punct | Kind::Dot)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.advance();
        }
        found
    }

    fn fault(&self, code: Code, span: Span) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(code, span))
    }

    fn unexpected(&self, expected: &'static str) -> Box<Diagnostic> {
        let found = self.token().text.chars().take(60).collect();
        self.fault(Code::Syntax { expected, found }, self.here())
    }

    fn expect(&mut self, text: &'static str) -> Result<()> {
        if self.eat(text) {
            Ok(())
        } else {
            Err(self.unexpected(text))
        }
    }

    fn ident(&mut self, expected: &'static str) -> Result<&'t str> {
        let token = self.token();
        if token.kind != Kind::Ident {
            return Err(self.unexpected(expected));
        }
        self.advance();
        Ok(token.text)
    }

    fn string(&mut self) -> Result<Name> {
        let token = self.token();
        if token.kind != Kind::Text {
            return Err(self.unexpected("a string"));
        }
        self.advance();
        Ok(token.text[1..token.text.len() - 1].to_owned().into())
    }

    /// Goes behind the next `;` or behind the next `{ }`.
    fn recover(&mut self) {
        let mut depth = 0u32;
        loop {
            let token = self.token();
            match (token.kind, token.text) {
                (Kind::End, _) => return,
                (_, ";") if depth == 0 => return self.advance(),
                (_, "{") => depth += 1,
                (_, "}") if depth <= 1 => return self.advance(),
                (_, "}") => depth -= 1,
                _ => {}
            }
            self.advance();
        }
    }

    fn full(&self) -> bool {
        self.found.len() >= MAX_FINDINGS
    }

    fn run(&mut self) {
        while self.token().kind != Kind::End && !self.full() {
            let before = self.at;
            if let Err(fault) = self.item() {
                self.found.push(*fault);
                self.recover();
            }
            if self.at == before {
                self.advance();
            }
        }
        for (var, at) in std::mem::take(&mut self.initialisers) {
            self.at = at;
            match self.initialiser(0) {
                Ok(init) => self.module.vars[var as usize].init = Some(init),
                Err(fault) => self.found.push(*fault),
            }
        }
        if self.found.is_empty() {
            for (seen, name) in [(self.saw.0, ".version"), (self.saw.1, ".target")] {
                if !seen {
                    let code = Code::MissingDirective { name };
                    let span = Span::Ptx { line: 1, column: 1 };
                    self.found.push(Diagnostic::new(code, span));
                }
            }
        }
    }

    /// One directive, variable or function.
    fn item(&mut self) -> Result<()> {
        let token = self.token();
        if token.kind != Kind::Dot {
            return Err(self.unexpected("a directive"));
        }
        match token.text {
            ".version" => {
                self.advance();
                let text = self.token().text;
                let version = text.split_once('.').and_then(|(major, minor)| {
                    Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?))
                });
                self.module.version = version.ok_or_else(|| self.unexpected("a version"))?;
                self.saw.0 = true;
                self.advance();
            }
            ".target" => {
                self.advance();
                let span = self.here();
                let name = self.ident("a target")?;
                self.saw.1 = true;
                while self.eat(",") {
                    let option = self.ident("a target option")?;
                    self.module.target_options.push(option.to_owned().into());
                }
                self.module.target = name.parse().map_err(|_| {
                    let name = name.to_owned();
                    self.fault(Code::UnknownTarget { name }, span)
                })?;
            }
            ".address_size" => {
                self.advance();
                self.module.address_size = match self.small()? {
                    32 => 32,
                    64 => 64,
                    other => {
                        let what = format!("address size {other}");
                        return Err(self.fault(Code::Unsupported { what }, token.span()));
                    }
                };
            }
            ".file" => {
                self.advance();
                let index = self.small()?;
                let name = self.string()?;
                self.module.files.push((index, name));
                // Time stamp and size.
                while self.eat(",") {
                    self.integer()?;
                }
            }
            ".section" => self.section()?,
            ".pragma" => {
                return Err(self.unsupported(".pragma outside functions"));
            }
            ".entry" | ".func" => self.function(Linkage::Local)?,
            ".visible" | ".extern" | ".weak" | ".common" => {
                self.advance();
                let linkage = match token.text {
                    ".visible" => Linkage::Visible,
                    ".extern" => Linkage::Extern,
                    ".weak" => Linkage::Weak,
                    _ => Linkage::Common,
                };
                if self.is(".entry") || self.is(".func") {
                    self.function(linkage)?;
                } else {
                    self.module_var(linkage)?;
                }
            }
            ".global" | ".const" | ".shared" | ".local" | ".param" => {
                self.module_var(Linkage::Local)?;
            }
            name => {
                let name = name.to_owned();
                return Err(self.fault(Code::UnknownDirective { name }, token.span()));
            }
        }
        Ok(())
    }

    fn unsupported(&self, what: &str) -> Box<Diagnostic> {
        let what = what.to_owned();
        self.fault(Code::Unsupported { what }, self.here())
    }

    /// A debug section, kept as its text.
    fn section(&mut self) -> Result<()> {
        let start = self.token();
        while !self.is("{") {
            if self.token().kind == Kind::End || self.is(";") {
                return Err(self.unexpected("{"));
            }
            self.advance();
        }
        let mut depth = 0u32;
        loop {
            let token = self.token();
            match (token.kind, token.text) {
                (Kind::End, _) => return Err(self.fault(Code::UnterminatedBody, start.span())),
                (_, "{") => depth += 1,
                (_, "}") => depth -= 1,
                _ => {}
            }
            self.advance();
            if depth == 0 {
                let end = token.start as usize + 1;
                let text = &self.source[start.start as usize..end];
                self.module.sections.push(text.to_owned().into());
                return Ok(());
            }
        }
    }

    /// `( .param ... )`, or nothing.
    fn params(&mut self) -> Result<Params<'t>> {
        let mut out = (Vec::new(), Vec::new());
        if !self.eat("(") {
            return Ok(out);
        }
        while !self.eat(")") {
            let space = self.space()?;
            let (var, name) = self.var(space)?;
            out.0.push(var);
            out.1.push(name);
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(out)
    }

    fn function(&mut self, linkage: Linkage) -> Result<()> {
        let kind = if self.is(".entry") {
            FunctionKind::Entry
        } else {
            FunctionKind::Func
        };
        let span = self.here();
        self.advance();
        let (returns, return_names) = self.params()?;
        let name_span = self.here();
        let name = self.ident("a function name")?;
        let (params, param_names) = self.params()?;
        let directives = self.directives()?;
        let declaration = self.eat(";");
        if !declaration && !self.is("{") {
            return Err(self.unexpected("{"));
        }
        let id = FuncId(self.module.functions.len() as u32);
        let before = *self.functions.entry(name).or_insert(id);
        let defined = |at: FuncId| {
            let known = self.module.functions.get(at.index());
            known.is_some_and(|known| known.body.is_some())
        };
        if (before != id && !declaration && defined(before)) || self.vars.contains_key(name) {
            let name = name.to_owned();
            self.found
                .push(*self.fault(Code::DuplicateSymbol { name }, name_span));
        }
        self.module.functions.push(Function {
            name: name.to_owned().into(),
            kind,
            linkage,
            origin: Origin::Text,
            returns,
            params,
            directives,
            regs: Vec::new(),
            vars: Vec::new(),
            labels: Vec::new(),
            body: None,
            span,
        });
        if declaration {
            return Ok(());
        }
        body::parse(self, id, &param_names, &return_names);
        Ok(())
    }

    fn directives(&mut self) -> Result<Vec<Directive>> {
        let mut out = Vec::new();
        while self.token().kind == Kind::Dot {
            let name = self.token().text;
            self.advance();
            out.push(match name {
                ".maxntid" => Directive::MaxNtid(self.dims()?),
                ".reqntid" => Directive::ReqNtid(self.dims()?),
                ".minnctapersm" => Directive::MinNctaPerSm(self.small()?),
                ".maxnreg" => Directive::MaxNreg(self.small()?),
                ".noreturn" => Directive::NoReturn,
                ".pragma" => {
                    let text = self.string()?;
                    self.eat(";");
                    Directive::Pragma(text)
                }
                ".maxnctapersm" | ".reqnctapercluster" | ".maxclusterrank" | ".explicitcluster"
                | ".blocksareclusters" | ".unique" => {
                    let mut numbers = Vec::new();
                    while self.token().kind == Kind::Number {
                        numbers.push(self.small()?);
                        self.eat(",");
                    }
                    Directive::Other(name.to_owned().into(), numbers)
                }
                _ => {
                    let name = name.to_owned();
                    let span = self.tokens[self.at - 1].span();
                    return Err(self.fault(Code::UnknownDirective { name }, span));
                }
            });
        }
        Ok(out)
    }

    fn dims(&mut self) -> Result<[u32; 3]> {
        let mut dims = [self.small()?, 1, 1];
        for dim in &mut dims[1..] {
            if !self.eat(",") {
                break;
            }
            *dim = self.small()?;
        }
        Ok(dims)
    }
}
