//! The parser: PTX text as a [`Module`].
//!
//! It reports all it finds, going on behind the next `;`, and takes time and memory in proportion
//! to the text. Names redeclared in nested scopes are made unique: the second `p` becomes `p_1`.

mod body;
mod head;
mod lex;
mod loc;
mod number;
mod operand;
mod registers;
mod scope;
mod section;
mod select;
mod vars;

use crate::{
    diag::{Code, Diagnostic},
    ir::{Directive, FuncId, Function, FunctionKind, Init, Linkage, Module, Name, Span, Var},
    op::Op,
    qual::Quals,
    target::{PtxVersion, Target},
};
use head::Head;
use lex::{Kind, Token};
use loc::Locs;
use rustc_hash::{FxHashMap, FxHashSet};

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
///
/// ```
/// use warpsmith_ptx::{parse::parse, print::print};
///
/// let text = "
/// .version 7.0
/// .target sm_70
/// .address_size 64
/// .visible .entry seven(.param .u64 y) {
///     .reg .b32 %r1; .reg .b64 %rd1;
///     ld.param.u64 %rd1, [y];
///     mov.u32 %r1, 7;
///     st.global.u32 [%rd1], %r1;
///     ret;
/// }";
/// let module = parse(text).expect("a module");
/// assert_eq!(&*module.functions[0].name, "seven");
/// assert_eq!(parse(&print(&module)).expect("what was printed"), module);
///
/// let wrong = parse(".version 7.0\n.target sm_70\n.visible .entry f() { add.u32 }").expect_err("no operands");
/// assert!(wrong[0].to_string().contains("3"), "{}", wrong[0]); // the line
/// ```
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
            vars: Vec::new(),
            functions: Vec::new(),
            files: Vec::new(),
            sections: Vec::new(),
            version_span: Span::None,
            span: Span::None,
        },
        vars: FxHashMap::default(),
        functions: FxHashMap::default(),
        initialisers: Vec::new(),
        registers: 0,
        saw: (false, false),
        head: Head::Start,
        orders: FxHashMap::default(),
        selectors: Vec::new(),
        defined: FxHashSet::default(),
        unread: FxHashSet::default(),
        nameless: false,
        locs: Locs::default(),
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
    /// Module variables with initialisers, how many functions stand before each, and where it begins.
    initialisers: Vec<(u32, u32, usize)>,
    /// Whether a parameter may be called `_`.
    nameless: bool,
    /// What `.loc` directives name.
    locs: Locs<'t>,
    /// Names of declarations that are not read.
    unread: FxHashSet<&'t str>,
    registers: u64,
    /// Whether `.version` and `.target` were there.
    saw: (bool, bool),
    /// How far the head has come.
    head: Head,
    /// Qualifiers that were seen, in the order that the table has them in.
    orders: FxHashMap<(Op, Quals), Quals>,
    /// The selectors of the instruction that is being read.
    selectors: Vec<select::Selector>,
    /// Functions that have a body.
    defined: FxHashSet<&'t str>,
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
        let code = match code {
            // It is known, and what it is told to be already.
            Code::UnknownSymbol { name } if self.unread.contains(&*name) => {
                let what = format!("`{name}`");
                Code::Unsupported { what }
            }
            other => other,
        };
        Box::new(Diagnostic::new(code, span))
    }

    /// The refusal of a declaration, whose names are remembered.
    fn unread(&mut self, what: &str) -> Box<Diagnostic> {
        let fault = self.unsupported(what);
        let names = self.tokens[self.at..].iter();
        let names = names
            .take_while(|token| !matches!(token.text, ";" | "="))
            .filter(|token| token.kind == Kind::Ident)
            .map(|token| token.text);
        self.unread.extend(names);
        fault
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

    /// The name of what is declared here, which some words cannot be.
    fn name(&mut self, expected: &'static str) -> Result<&'t str> {
        if matches!(self.token().text, "_" | "%" | "$" | "WARP_SZ") {
            return Err(self.unexpected(expected));
        }
        self.ident(expected)
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
        for (var, functions, at) in std::mem::take(&mut self.initialisers) {
            self.at = at;
            match self.initialiser(0, (var, functions)) {
                Ok(init) => {
                    let var = &mut self.module.vars[var as usize];
                    // The first dimension may be left to the list.
                    if let (Some(dim @ None), Init::List(items)) = (var.dims.first_mut(), &init)
                        && !items.is_empty()
                    {
                        *dim = Some(items.len() as u64);
                    }
                    var.init = Some(init);
                }
                Err(fault) => self.found.push(*fault),
            }
        }
        for var in &self.module.vars {
            let sized = var.dims.iter().all(|dim| dim.is_some_and(|size| size > 0));
            if !sized && var.linkage != Linkage::Extern && !self.full() {
                let name = var.name.to_string();
                let fault = self.fault(Code::NoSize { name }, var.span);
                self.found.push(*fault);
            }
        }
        self.loc_names();
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
        if self.head()? {
            return Ok(());
        }
        match token.text {
            ".file" => {
                self.advance();
                let index = self.small()?;
                let name = self.string()?;
                // Time stamp and size.
                while self.eat(",") {
                    self.integer()?;
                }
                if self.module.files.iter().any(|(known, _)| *known == index) {
                    return Err(self.fault(Code::DuplicateFile { index }, token.span()));
                }
                self.module.files.push((index, name));
            }
            ".section" => self.section()?,
            ".pragma" => self.module_pragma()?,
            ".alias" => return Err(self.alias()?),
            ".entry" | ".func" => self.function(Linkage::Local)?,
            ".visible" | ".extern" | ".weak" | ".common" => {
                self.advance();
                let linkage = match token.text {
                    ".visible" => Linkage::Visible,
                    ".extern" => Linkage::Extern,
                    ".weak" => Linkage::Weak,
                    _ => Linkage::Common,
                };
                let function = self.is(".entry") || self.is(".func");
                if function && linkage != Linkage::Common {
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

    /// A hint for the code that follows; it changes no result.
    fn module_pragma(&mut self) -> Result<()> {
        self.advance();
        let span = self.here();
        let text = self.string()?;
        self.expect(";")?;
        if text != "nounroll" {
            let what = format!("`.pragma \"{text}\"` outside of functions");
            return Err(self.fault(Code::Unsupported { what }, span));
        }
        let text = format!(".pragma \"{text}\";");
        self.module.sections.push(text.into());
        Ok(())
    }

    /// `.alias name, other;` of two functions, which is not done here.
    fn alias(&mut self) -> Result<Box<Diagnostic>> {
        let start = self.here();
        self.advance();
        for separator in [",", ";"] {
            let span = self.here();
            let name = self.ident("a function")?;
            if !self.functions.contains_key(name) {
                let name = name.to_owned();
                return Err(self.fault(Code::UnknownSymbol { name }, span));
            }
            self.expect(separator)?;
        }
        let what = "`.alias`".to_owned();
        Ok(self.fault(Code::Unsupported { what }, start))
    }

    /// `( .param ... )`, or nothing.
    fn params(&mut self) -> Result<Params<'t>> {
        let mut out = (Vec::new(), Vec::new());
        if !self.eat("(") {
            return Ok(out);
        }
        while !self.eat(")") {
            let (var, name) = if self.is(".reg") {
                self.register_param()?
            } else {
                let space = self.space()?;
                self.var(space)?
            };
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
        let (mut returns, return_names) = match kind {
            FunctionKind::Entry => (Vec::new(), Vec::new()),
            FunctionKind::Func => self.params()?,
        };
        let name_span = self.here();
        let name = self.name("a function name")?;
        self.nameless = kind == FunctionKind::Entry;
        let params = self.params();
        self.nameless = false;
        let (mut params, param_names) = params?;
        let directives = self.directives(kind)?;
        if !returns.is_empty() && directives.contains(&Directive::NoReturn) {
            let code = Code::DirectivePlace {
                name: ".noreturn".to_owned(),
                kind: "a function with results",
            };
            self.found.push(*self.fault(code, name_span));
        }
        let declaration = self.eat(";");
        if !declaration && (!self.is("{") || linkage == Linkage::Extern) {
            let expected = if linkage == Linkage::Extern { ";" } else { "{" };
            return Err(self.unexpected(expected));
        }
        let registers = registers::take(&mut params, &mut returns);
        if kind == FunctionKind::Entry && !registers.is_empty() {
            let code = Code::Syntax {
                expected: ".param",
                found: ".reg".to_owned(),
            };
            self.found.push(*self.fault(code, name_span));
        }
        let id = FuncId(self.module.functions.len() as u32);
        let before = *self.functions.entry(name).or_insert(id);
        let function = Function {
            linkage,
            returns,
            params,
            directives,
            span,
            ..Function::new(name.to_owned(), kind)
        };
        if let Some(code) = self.clash(&function, before) {
            self.found.push(*self.fault(code, name_span));
        }
        self.module.functions.push(function);
        if declaration {
            return Ok(());
        }
        self.defined.insert(name);
        body::parse(self, id, &param_names, &return_names, &registers);
        Ok(())
    }

    /// Why a function cannot stand beside one of that name, if there is one, or a variable.
    fn clash(&self, function: &Function, before: FuncId) -> Option<Code> {
        let name = || function.name.to_string();
        if self.vars.contains_key(&*function.name) {
            return Some(Code::DuplicateSymbol { name: name() });
        }
        let before = self.module.functions.get(before.index())?;
        if self.defined.contains(&*function.name) {
            return Some(Code::DuplicateSymbol { name: name() });
        }
        let same = |a: &[Var], b: &[Var]| {
            let alike = |(a, b): (&Var, &Var)| a.is_like(b);
            a.len() == b.len() && a.iter().zip(b).all(alike)
        };
        let alike = before.kind == function.kind
            && same(&before.params, &function.params)
            && same(&before.returns, &function.returns);
        (!alike).then(|| Code::Redeclared { name: name() })
    }

    fn directives(&mut self, kind: FunctionKind) -> Result<Vec<Directive>> {
        let mut out = Vec::new();
        while self.token().kind == Kind::Dot {
            let (name, span) = (self.token().text, self.here());
            self.advance();
            let (directive, of) = match name {
                ".maxntid" => (Directive::MaxNtid(self.dims()?), Some(FunctionKind::Entry)),
                ".reqntid" => (Directive::ReqNtid(self.dims()?), Some(FunctionKind::Entry)),
                ".minnctapersm" => {
                    let count = self.small()?;
                    (Directive::MinNctaPerSm(count), Some(FunctionKind::Entry))
                }
                ".maxnreg" => {
                    let count = self.small()?;
                    (Directive::MaxNreg(count), Some(FunctionKind::Entry))
                }
                ".noreturn" => (Directive::NoReturn, Some(FunctionKind::Func)),
                ".pragma" => {
                    let text = self.string()?;
                    self.expect(";")?;
                    (Directive::Pragma(text), None)
                }
                ".reqnctapercluster" | ".maxclusterrank" | ".explicitcluster"
                | ".blocksareclusters" => {
                    let numbers = match name {
                        ".reqnctapercluster" => self.numbers(3)?,
                        ".maxclusterrank" => vec![self.small()?],
                        _ => Vec::new(),
                    };
                    let directive = Directive::Other(name.to_owned().into(), numbers);
                    (directive, Some(FunctionKind::Entry))
                }
                ".unique" => {
                    let directive = Directive::Other(name.to_owned().into(), Vec::new());
                    (directive, Some(FunctionKind::Func))
                }
                ".abi_preserve" | ".abi_preserve_control" | ".attribute" | ".language" => {
                    let what = format!("`{name}` of a function");
                    return Err(self.fault(Code::Unsupported { what }, span));
                }
                _ => {
                    let name = name.to_owned();
                    return Err(self.fault(Code::UnknownDirective { name }, span));
                }
            };
            if of.is_some_and(|of| of != kind) {
                let name = name.to_owned();
                let kind = match kind {
                    FunctionKind::Entry => "a kernel",
                    FunctionKind::Func => "a function that is called",
                };
                return Err(self.fault(Code::DirectivePlace { name, kind }, span));
            }
            out.push(directive);
        }
        Ok(out)
    }

    /// One to `most` numbers.
    fn numbers(&mut self, most: usize) -> Result<Vec<u32>> {
        let mut numbers = vec![self.small()?];
        while numbers.len() < most && self.eat(",") {
            numbers.push(self.small()?);
        }
        Ok(numbers)
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
