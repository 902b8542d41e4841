//! The printer: a module as PTX text, the same text for the same module.

mod operands;
mod pieces;

use crate::{
    ir::{
        Directive, Function, FunctionKind, Init, InitSymbol, Inst, Linkage, Module, Name, Stmt,
        StmtKind, Var,
    },
    types::Space,
};
use pieces::{INDENT, Line, Packed, Text, WORDS, Words, same};

/// Prints a module.
pub fn print(module: &Module) -> String {
    let statements: usize = module
        .functions
        .iter()
        .map(|function| function.body.as_ref().map_or(0, Vec::len))
        .sum();
    let mut out = Printer {
        text: Text::with_room(1024 + 56 * statements),
        module,
        words: &WORDS,
        names: Vec::new(),
    };
    out.module();
    out.finish()
}

/// Prints one instruction of a function, without its end of line.
pub fn print_inst(module: &Module, function: &Function, inst: &Inst) -> String {
    let mut out = Printer {
        text: Text::with_room(256),
        module,
        words: &WORDS,
        names: Vec::new(),
    };
    out.name_registers(function);
    out.inst(function, inst);
    out.byte(b';');
    out.finish()
}

struct Printer<'m> {
    text: Text,
    module: &'m Module,
    words: &'static Words,
    /// The names of the function's registers behind [`SEPARATOR`]; none for long ones.
    names: Vec<Packed>,
}

/// What stands between operands.
const SEPARATOR: &[u8; 2] = b", ";

impl Printer<'_> {
    /// The text. All that is appended is text, so nothing is replaced.
    fn finish(self) -> String {
        match String::from_utf8(self.text.into_bytes()) {
            Ok(text) => text,
            Err(fault) => String::from_utf8_lossy(fault.as_bytes()).into_owned(),
        }
    }

    #[inline]
    fn put(&mut self, text: &str) {
        self.text.put(text.as_bytes());
    }

    fn byte(&mut self, byte: u8) {
        self.text.block(&[byte], 1);
    }

    /// What `write` writes stays.
    fn on_line(&mut self, write: impl FnOnce(&mut Line<'_>)) {
        let mut line = self.text.line();
        write(&mut line);
        let len = line.len;
        self.text.keep(len);
    }

    fn number(&mut self, value: u64) {
        self.on_line(|line| line.number(value));
    }

    /// Renders the names of a function's registers once.
    fn name_registers(&mut self, function: &Function) {
        self.names.clear();
        self.names.reserve(function.regs.len());
        // Registers of one prefix follow each other, and so do their numbers.
        let mut prefix: &str = "";
        let mut before = Packed::new(SEPARATOR);
        let mut last: Option<(u32, Packed)> = None;
        // What makes the last digit one greater.
        let mut step = 0;
        for reg in &function.regs {
            if !same(&reg.prefix, prefix) {
                prefix = &reg.prefix;
                before = Packed::new(&[SEPARATOR.as_slice(), prefix.as_bytes()].concat());
                last = None;
            }
            let name = match (reg.number, last) {
                (Some(number), Some((last, name)))
                    if last.checked_add(1) == Some(number) && last % 10 != 9 =>
                {
                    Some(name.plus(step))
                }
                (Some(number), _) => {
                    let name = before.and_then(|before| before.numbered(number));
                    step = name.map_or(0, Packed::step);
                    name
                }
                (None, _) => before,
            };
            last = reg.number.zip(name);
            self.names.push(name.unwrap_or(Packed::NONE));
        }
    }

    fn module(&mut self) {
        let module = self.module;
        self.put(".version ");
        self.number(module.version.major.into());
        self.byte(b'.');
        self.number(module.version.minor.into());
        self.put("\n.target sm_");
        self.number(module.target.sm.into());
        self.put(module.target.suffix.letter());
        for option in &module.target_options {
            self.put(", ");
            self.put(option);
        }
        self.put("\n.address_size 64\n");
        for (index, name) in &module.files {
            self.put(".file ");
            self.number((*index).into());
            self.put(" \"");
            self.put(name);
            self.put("\"\n");
        }
        // Declarations come before variables, which may hold a function's address.
        let declared = module
            .functions
            .iter()
            .take_while(|function| function.body.is_none())
            .count();
        for function in &module.functions[..declared] {
            self.function(function);
        }
        for var in &module.vars {
            self.var(var);
            self.put(";\n");
        }
        for function in &module.functions[declared..] {
            self.byte(b'\n');
            self.function(function);
        }
        for section in &module.sections {
            self.byte(b'\n');
            self.put(section);
            self.byte(b'\n');
        }
    }

    fn linkage(&mut self, linkage: Linkage) {
        self.put(match linkage {
            Linkage::Local => "",
            Linkage::Visible => ".visible ",
            Linkage::Extern => ".extern ",
            Linkage::Weak => ".weak ",
            Linkage::Common => ".common ",
        });
    }

    fn var(&mut self, var: &Var) {
        self.linkage(var.linkage);
        self.byte(b'.');
        self.put(var.space.name());
        if var.managed {
            self.put(" .attribute(.managed)");
        }
        if let (Some(align), None) = (var.align, var.ptr) {
            self.put(" .align ");
            self.number(align.into());
        }
        match var.vector {
            2 => self.put(" .v2"),
            4 => self.put(" .v4"),
            _ => {}
        }
        self.put(" .");
        self.put(var.ty.name());
        if let Some((space, align)) = var.ptr {
            self.put(" .ptr");
            if space != Space::Generic {
                self.put(" .");
                self.put(space.name());
            }
            if let Some(align) = align {
                self.put(" .align ");
                self.number(align.into());
            }
        }
        self.byte(b' ');
        self.put(&var.name);
        for dim in &var.dims {
            self.byte(b'[');
            if let Some(dim) = dim {
                self.number(*dim);
            }
            self.byte(b']');
        }
        if let Some(init) = &var.init {
            self.put(" = ");
            self.init(init);
        }
    }

    fn init(&mut self, init: &Init) {
        match init {
            Init::Imm(imm) => self.imm(*imm),
            Init::Address {
                symbol,
                offset,
                generic,
            } => {
                if *generic {
                    self.put("generic(");
                }
                let module = self.module;
                match symbol {
                    InitSymbol::Var(at) => {
                        self.name_at(module.vars.get(*at as usize).map(|var| &var.name))
                    }
                    InitSymbol::Func(id) => self.name_at(
                        module
                            .functions
                            .get(id.index())
                            .map(|function| &function.name),
                    ),
                }
                if *generic {
                    self.byte(b')');
                }
                self.offset(*offset);
            }
            Init::List(items) => {
                self.byte(b'{');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.put(", ");
                    }
                    self.init(item);
                }
                self.byte(b'}');
            }
        }
    }

    /// A name, or a mark that no parser takes where an id dangles.
    fn name_at(&mut self, name: Option<&Name>) {
        self.put(name.map_or("<dangling>", |name| name));
    }

    fn params(&mut self, params: &[Var]) {
        self.byte(b'(');
        for (at, param) in params.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            self.var(param);
        }
        self.byte(b')');
    }

    fn function(&mut self, function: &Function) {
        self.linkage(function.linkage);
        self.put(match function.kind {
            FunctionKind::Entry => ".entry ",
            FunctionKind::Func => ".func ",
        });
        if !function.returns.is_empty() {
            self.params(&function.returns);
            self.byte(b' ');
        }
        self.put(&function.name);
        self.params(&function.params);
        self.byte(b'\n');
        for directive in &function.directives {
            self.directive(directive);
        }
        let Some(body) = &function.body else {
            self.put(";\n");
            return;
        };
        self.put("{\n");
        self.name_registers(function);
        self.registers(function);
        for var in &function.vars {
            self.put("    ");
            self.var(var);
            self.put(";\n");
        }
        for stmt in body {
            self.stmt(function, stmt);
        }
        self.put("}\n");
    }

    fn directive(&mut self, directive: &Directive) {
        match directive {
            Directive::MaxNtid(dims) => self.numbers(".maxntid", dims),
            Directive::ReqNtid(dims) => self.numbers(".reqntid", dims),
            Directive::MinNctaPerSm(count) => self.numbers(".minnctapersm", &[*count]),
            Directive::MaxNreg(count) => self.numbers(".maxnreg", &[*count]),
            Directive::NoReturn => self.put(".noreturn"),
            Directive::Pragma(text) => {
                self.put(".pragma \"");
                self.put(text);
                self.put("\";");
            }
            Directive::Other(name, numbers) => self.numbers(name, numbers),
        }
        self.byte(b'\n');
    }

    fn numbers(&mut self, name: &str, numbers: &[u32]) {
        self.put(name);
        for (at, number) in numbers.iter().enumerate() {
            self.put(if at > 0 { ", " } else { " " });
            self.number((*number).into());
        }
    }

    /// Runs of one type and prefix numbered from 0 as `%r<n>`, the others one by one.
    fn registers(&mut self, function: &Function) {
        let regs = &function.regs;
        let mut at = 0;
        while at < regs.len() {
            let first = &regs[at];
            let run = regs[at..]
                .iter()
                .enumerate()
                .take_while(|(number, reg)| {
                    reg.number == Some(*number as u32)
                        && reg.ty == first.ty
                        && same(&reg.prefix, &first.prefix)
                })
                .count();
            self.put("    .reg .");
            self.put(first.ty.name());
            self.byte(b' ');
            self.put(&first.prefix);
            if run > 1 {
                self.byte(b'<');
                self.number(run as u64);
                self.byte(b'>');
            } else if let Some(number) = first.number {
                self.number(number.into());
            }
            self.put(";\n");
            at += run.max(1);
        }
    }

    /// File, line and column of a `.loc`.
    fn place(&mut self, [file, line, column]: [u32; 3]) {
        for (at, number) in [file, line, column].into_iter().enumerate() {
            self.put(if at > 0 { " " } else { "" });
            self.number(number.into());
        }
    }

    fn stmt(&mut self, function: &Function, stmt: &Stmt) {
        let label = |id: crate::ir::LabelId| function.labels.get(id.index());
        match &stmt.kind {
            StmtKind::Inst(inst) => {
                let first = &self.words.indented[inst.op as usize];
                if inst.guard.is_some() {
                    self.put(INDENT);
                    self.inst(function, inst);
                } else {
                    self.from_opcode(function, inst, first);
                }
                self.text.block(b";\n", 2);
            }
            StmtKind::Label(id) => {
                self.name_at(label(*id));
                self.put(":\n");
            }
            StmtKind::Loc {
                file,
                line,
                column,
                inlined,
            } => {
                self.put("    .loc ");
                self.place([*file, *line, *column]);
                if let Some(inlined) = inlined {
                    self.put(", function_name ");
                    self.put(&inlined.function);
                    if inlined.offset > 0 {
                        self.put(" + ");
                        self.number(inlined.offset);
                    }
                    self.put(", inlined_at ");
                    self.place([inlined.file, inlined.line, inlined.column]);
                }
                self.byte(b'\n');
            }
            StmtKind::BranchTargets { name, targets } => {
                self.name_at(label(*name));
                self.put(": .branchtargets ");
                for (at, target) in targets.iter().enumerate() {
                    self.put(if at > 0 { ", " } else { "" });
                    self.name_at(label(*target));
                }
                self.put(";\n");
            }
            StmtKind::CallPrototype {
                name,
                returns,
                params,
            } => {
                self.name_at(label(*name));
                self.put(": .callprototype ");
                self.params(returns);
                self.put(" _ ");
                self.params(params);
                self.put(";\n");
            }
            StmtKind::CallTargets { name, targets } => {
                self.name_at(label(*name));
                self.put(": .calltargets ");
                let module = self.module;
                for (at, target) in targets.iter().enumerate() {
                    self.put(if at > 0 { ", " } else { "" });
                    self.name_at(module.functions.get(target.index()).map(|f| &f.name));
                }
                self.put(";\n");
            }
            StmtKind::Pragma(text) => {
                self.put("    .pragma \"");
                self.put(text);
                self.put("\";\n");
            }
        }
    }
}
