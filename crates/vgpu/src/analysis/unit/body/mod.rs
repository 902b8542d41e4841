//! Writes the merged body, function after function.

mod stack;

use super::{
    STACK, address_of,
    graph::{Callee, Graph, Parts, parts},
    print,
};
use warpsmith_ptx::{
    ir::{
        Address, Base, FuncId, Function, Guard, Imm, Inst, LabelId, Module, Operand, Reg, RegId,
        Span, Stmt, StmtKind, Var, VarId,
    },
    op::Op,
    qual::{Qual, Quals},
    types::{Space, Type},
};

/// Frames begin at multiples of it.
const FRAME: u64 = 16;

pub(super) struct Merge<'a> {
    module: &'a Module,
    graph: &'a Graph,
    out: Function,
    /// The first label of each function in the graph's order.
    entries: Vec<LabelId>,
    transfer: VarId,
    /// The first free byte of the stack, where there is one, and its end.
    top: Option<[RegId; 2]>,
    /// What copies go through: registers of 64, 32 and 16 bits.
    copies: [RegId; 3],
    /// The place of the statement being rewritten.
    span: Span,
}

/// Where a function's names are in the merged body.
struct Names {
    at: usize,
    regs: std::ops::Range<u32>,
    labels: u32,
    vars: Vec<Home>,
    params: Vec<Home>,
    returns: Vec<Home>,
    /// The top of the stack when it began.
    frame: Option<RegId>,
    frame_bytes: u64,
}

/// Where a variable is.
#[derive(Clone, Copy)]
enum Home {
    Fixed(VarId),
    /// Bytes from the frame's start.
    Frame(u64),
}

impl<'a> Merge<'a> {
    pub(super) fn new(module: &'a Module, graph: &'a Graph) -> Merge<'a> {
        let kernel = &module.functions[graph.order[0].index()];
        let mut merge = Merge {
            module,
            graph,
            out: Function {
                regs: Vec::new(),
                vars: Vec::new(),
                labels: Vec::new(),
                body: Some(Vec::new()),
                ..kernel.clone()
            },
            entries: Vec::new(),
            transfer: VarId::Function(0),
            top: None,
            copies: [RegId(0); 3],
            span: kernel.span,
        };
        let all = || graph.order.iter().map(|id| &module.functions[id.index()]);
        let most = all()
            .map(|f| layout(&f.params).1.max(layout(&f.returns).1))
            .max();
        merge.transfer = merge.var("transfer", most.unwrap_or(0).max(print::BYTES));
        merge.copies = [Type::B64, Type::B32, Type::B16].map(|ty| merge.reg(ty));
        let allocates = all().any(uses_stack);
        if allocates || graph.recursive.contains(&true) {
            merge.top = Some([Type::B64; 2].map(|ty| merge.reg(ty)));
        }
        merge.entries = (0..graph.order.len()).map(|_| merge.label()).collect();
        merge
    }

    pub(super) fn run(mut self) -> Function {
        for at in 0..self.graph.order.len() {
            self.function(at);
        }
        if let Some(top) = self.top {
            // Behind all other local variables.
            let stack = self.var("stack", STACK);
            for (reg, offset) in top.into_iter().zip([0, STACK as i64]) {
                let operands = [Operand::Reg(reg), Operand::Var(stack, offset)];
                let begin = Inst::new(Op::Mov, &[Qual::T(Type::B64)], operands);
                let begin = Stmt {
                    kind: StmtKind::Inst(begin),
                    span: self.out.span,
                };
                self.out.body.get_or_insert_default().insert(0, begin);
            }
        }
        self.out
    }

    fn function(&mut self, at: usize) {
        let module = self.module;
        let function = &module.functions[self.graph.order[at].index()];
        let names = self.names(at, function);
        self.span = function.span;
        self.put(StmtKind::Label(self.entries[at]));
        if at > 0 {
            self.prologue(&names, function);
        }
        for stmt in function.body.as_deref().unwrap_or(&[]) {
            self.span = stmt.span;
            self.stmt(&names, function, &stmt.kind);
        }
        self.leave(&names, function);
    }

    /// Makes room for what the function names.
    fn names(&mut self, at: usize, function: &Function) -> Names {
        let recursive = self.graph.recursive[at];
        let first = self.out.regs.len() as u32;
        self.out.regs.extend(function.regs.iter().cloned());
        let frame = (at > 0 && (recursive || uses_stack(function))).then(|| self.reg(Type::B64));
        let labels = self.out.labels.len() as u32;
        self.out.labels.extend(function.labels.iter().cloned());
        let mut frame_bytes = 0u64;
        let mut home = |this: &mut Self, var: &Var| {
            let own = matches!(var.space, Space::Local | Space::Param);
            if recursive && own {
                let align = u64::from(var.alignment()).min(FRAME);
                let start = frame_bytes.next_multiple_of(align);
                frame_bytes = start.saturating_add(var.bytes().unwrap_or(0)).min(1 << 32);
                return Home::Frame(start);
            }
            let mut var = var.clone();
            var.space = if own { Space::Local } else { var.space };
            this.out.vars.push(var);
            Home::Fixed(VarId::Function(this.out.vars.len() as u32 - 1))
        };
        let vars = function.vars.iter().map(|var| home(self, var)).collect();
        let params = match at {
            // The launch gives them.
            0 => (0..function.params.len() as u32)
                .map(|i| Home::Fixed(VarId::Param(i)))
                .collect(),
            _ => function.params.iter().map(|var| home(self, var)).collect(),
        };
        let returns = function.returns.iter().map(|var| home(self, var)).collect();
        Names {
            at,
            regs: first..self.out.regs.len() as u32,
            labels,
            vars,
            params,
            returns,
            frame,
            frame_bytes: frame_bytes.next_multiple_of(FRAME),
        }
    }

    fn prologue(&mut self, names: &Names, function: &Function) {
        if let (Some(frame), Some([top, _])) = (names.frame, self.top) {
            self.aligned(frame, top, FRAME as i64);
            self.add(top, frame, names.frame_bytes as i64);
            self.room(names);
        }
        let (places, _) = layout(&function.params);
        for ((var, home), place) in function.params.iter().zip(&names.params).zip(places) {
            let to = self.address(names, *home, 0);
            self.copy(var, to, self.transferred(place));
        }
    }

    /// Gives results back and returns; the kernel exits.
    fn leave(&mut self, names: &Names, function: &Function) {
        if names.at == 0 {
            self.emit(Op::Exit, &[], []);
            return;
        }
        let (places, _) = layout(&function.returns);
        for ((var, home), place) in function.returns.iter().zip(&names.returns).zip(places) {
            let from = self.address(names, *home, 0);
            self.copy(var, self.transferred(place), from);
        }
        if let (Some(frame), Some([top, _])) = (names.frame, self.top) {
            let operands = [Operand::Reg(top), Operand::Reg(frame)];
            self.emit(Op::Mov, &[Qual::T(Type::B64)], operands);
        }
        self.emit(Op::Ret, &[], [Operand::Label(self.entries[names.at])]);
    }

    fn stmt(&mut self, names: &Names, function: &Function, kind: &StmtKind) {
        let label = |id: LabelId| LabelId(names.labels + id.0);
        match kind {
            StmtKind::Inst(inst) => self.inst(names, function, inst),
            StmtKind::Label(id) => self.put(StmtKind::Label(label(*id))),
            StmtKind::BranchTargets { name, targets } => self.put(StmtKind::BranchTargets {
                name: label(*name),
                targets: targets.iter().map(|id| label(*id)).collect(),
            }),
            StmtKind::CallPrototype { .. } | StmtKind::CallTargets { .. } => {}
            StmtKind::Loc { .. } | StmtKind::Pragma(_) => self.put(kind.clone()),
        }
    }

    fn inst(&mut self, names: &Names, function: &Function, inst: &Inst) {
        let guard = inst.guard.map(|guard| Guard {
            reg: RegId(names.regs.start + guard.reg.0),
            ..guard
        });
        let special = matches!(
            inst.op,
            Op::Call | Op::Ret | Op::Alloca | Op::Stacksave | Op::Stackrestore
        );
        if !special {
            let mut new = self.rewritten(names, inst);
            new.guard = guard;
            self.put(StmtKind::Inst(new));
            return;
        }
        // A guard becomes a branch around what the instruction becomes.
        let around = guard.map(|guard| {
            let around = self.label();
            let mut branch = Inst::new(Op::Bra, &[], [Operand::Label(around)]);
            branch.guard = Some(Guard {
                negated: !guard.negated,
                ..guard
            });
            self.put(StmtKind::Inst(branch));
            around
        });
        match inst.op {
            Op::Ret => self.leave(names, function),
            Op::Call => self.call(names, function, inst),
            _ => self.stack(names, inst),
        }
        if let Some(around) = around {
            self.put(StmtKind::Label(around));
        }
    }

    fn call(&mut self, names: &Names, function: &Function, inst: &Inst) {
        let Some(parts) = parts(inst) else {
            return;
        };
        let targets = self.graph.targets(self.module, function, &parts);
        if let Callee::Direct(id) = parts.callee
            && targets.is_empty()
        {
            self.missing(names, &parts, id, inst);
            return;
        }
        let first = targets.first().map(|id| &self.module.functions[id.index()]);
        if let Some(callee) = first {
            let (places, _) = layout(&callee.params);
            for ((var, argument), place) in callee.params.iter().zip(parts.arguments).zip(places) {
                self.give(names, var, argument, place);
            }
        }
        self.enter(names, &parts, &targets);
        if let Some(callee) = first {
            let (places, _) = layout(&callee.returns);
            for ((var, result), place) in callee.returns.iter().zip(parts.results).zip(places) {
                self.take(names, var, result, place);
            }
        }
    }

    /// A call of a function that has no body: assertions trap, `vprintf` prints, others are refused by name later.
    fn missing(&mut self, names: &Names, parts: &Parts<'_>, callee: FuncId, inst: &Inst) {
        let function = self.module.functions.get(callee.index());
        match function.map(|function| (function, &*function.name)) {
            Some((_, "__assertfail")) => {
                self.emit(Op::Trap, &[], [Operand::Func(callee)]);
            }
            Some((function, print::NAME))
                if layout(&function.params).0 == [0, 8] && parts.arguments.len() == 2 =>
            {
                self.print(names, parts, callee, function);
            }
            _ => self.emit(Op::Call, inst.quals.as_slice(), [Operand::Func(callee)]),
        }
    }

    fn print(&mut self, names: &Names, parts: &Parts<'_>, callee: FuncId, function: &Function) {
        for ((var, argument), place) in function.params.iter().zip(parts.arguments).zip([0, 8]) {
            self.give(names, var, argument, place);
        }
        // Who watches what is written sees the result come.
        let [area, result] = [0, print::RESULT].map(|place| Operand::Addr(self.transferred(place)));
        let local = [Qual::Local, Qual::T(Type::B32)];
        self.emit(Op::St, &local, [result, Operand::Imm(Imm::Int(0))]);
        self.emit(Op::Call, &[], [Operand::Func(callee), area]);
        for (var, result) in function.returns.iter().zip(parts.results) {
            self.take(names, var, result, print::RESULT);
        }
    }

    fn enter(&mut self, names: &Names, parts: &Parts<'_>, targets: &[FuncId]) {
        let mut call = Inst::new(Op::Call, &[], []);
        call.operands.push(match &parts.callee {
            Callee::Direct(_) => Operand::Sink,
            Callee::Pointer(pointer) => self.operand(names, pointer),
        });
        let saves = if self.graph.recursive[names.at] {
            names.regs.clone()
        } else {
            0..0
        };
        let saves = saves.map(|reg| Operand::Reg(RegId(reg))).collect();
        call.operands.push(Operand::List(saves));
        for target in targets {
            let address = address_of(self.module, *target);
            let at = self.graph.order.iter().position(|id| id == target);
            if let Some(at) = at {
                call.operands.push(Operand::Imm(Imm::uint(address)));
                call.operands.push(Operand::Label(self.entries[at]));
            }
        }
        self.put(StmtKind::Inst(call));
    }

    /// An argument to its place in the transfer area.
    fn give(&mut self, names: &Names, var: &Var, argument: &Operand, place: u64) {
        let to = self.transferred(place);
        match argument {
            Operand::Var(id, offset) => {
                let from = self.address(names, home(names, *id), *offset);
                self.copy(var, to, from);
            }
            other => {
                let value = self.operand(names, other);
                let quals = [Qual::Local, Qual::T(var.ty)];
                self.emit(Op::St, &quals, [Operand::Addr(to), value]);
            }
        }
    }

    /// A result from its place in the transfer area.
    fn take(&mut self, names: &Names, var: &Var, result: &Operand, place: u64) {
        let from = self.transferred(place);
        match result {
            Operand::Var(id, offset) => {
                let to = self.address(names, home(names, *id), *offset);
                self.copy(var, to, from);
            }
            Operand::Sink => {}
            other => {
                let value = self.operand(names, other);
                let quals = [Qual::Local, Qual::T(var.ty)];
                self.emit(Op::Ld, &quals, [value, Operand::Addr(from)]);
            }
        }
    }

    fn transferred(&self, place: u64) -> Address {
        Address {
            base: Base::Var(self.transfer),
            offset: place as i64,
        }
    }

    fn address(&mut self, names: &Names, home: Home, offset: i64) -> Address {
        match (home, names.frame) {
            (Home::Frame(start), Some(frame)) => Address {
                base: Base::Reg(frame),
                offset: start as i64 + offset,
            },
            (Home::Fixed(var), _) => Address {
                base: Base::Var(var),
                offset,
            },
            (Home::Frame(start), None) => Address {
                base: Base::Absolute,
                offset: start as i64 + offset,
            },
        }
    }

    /// Copies a variable's bytes in the largest pieces that its alignment allows.
    fn copy(&mut self, var: &Var, to: Address, from: Address) {
        let bytes = var.bytes().unwrap_or(0);
        let align = u64::from(var.alignment()).min(8);
        let mut at = 0;
        while at < bytes {
            let mut size = align;
            while size > bytes - at {
                size /= 2;
            }
            let (ty, through) = match size {
                8 => (Type::B64, self.copies[0]),
                4 => (Type::B32, self.copies[1]),
                2 => (Type::B16, self.copies[2]),
                _ => (Type::B8, self.copies[2]),
            };
            let part = |address: Address| {
                Operand::Addr(Address {
                    offset: address.offset + at as i64,
                    ..address
                })
            };
            let quals = [Qual::Local, Qual::T(ty)];
            let through = Operand::Reg(through);
            self.emit(Op::Ld, &quals, [through.clone(), part(from)]);
            self.emit(Op::St, &quals, [part(to), through]);
            at += size;
        }
    }

    /// `to` is `from` rounded up.
    fn aligned(&mut self, to: RegId, from: RegId, align: i64) {
        let sum = self.reg(Type::B64);
        self.add(sum, from, align - 1);
        let operands = [to, sum].map(Operand::Reg);
        let [to, sum] = operands;
        let mask = Operand::Imm(Imm::Int(-align));
        self.emit(Op::And, &[Qual::T(Type::B64)], [to, sum, mask]);
    }

    fn add(&mut self, to: RegId, from: RegId, bytes: i64) {
        let operands = [
            Operand::Reg(to),
            Operand::Reg(from),
            Operand::Imm(Imm::Int(bytes)),
        ];
        self.emit(Op::Add, &[Qual::T(Type::S64)], operands);
    }

    /// The instruction with the merged body's names, without its guard.
    fn rewritten(&mut self, names: &Names, inst: &Inst) -> Inst {
        let own = inst.operands.iter().any(|operand| match operand {
            Operand::Addr(Address {
                base: Base::Var(id),
                ..
            }) => !matches!(home(names, *id), Home::Fixed(VarId::Param(_))),
            _ => false,
        });
        let moves = matches!(inst.op, Op::Ld | Op::St) && inst.quals.has(Qual::Param) && own;
        let words: Vec<Qual> = inst
            .quals
            .as_slice()
            .iter()
            .map(|word| match word {
                Qual::Param if moves => Qual::Local,
                other => *other,
            })
            .collect();
        Inst {
            op: inst.op,
            quals: Quals::new(&words),
            operands: inst
                .operands
                .iter()
                .map(|operand| self.operand(names, operand))
                .collect(),
            guard: None,
        }
    }

    fn operand(&mut self, names: &Names, operand: &Operand) -> Operand {
        let reg = |id: RegId| RegId(names.regs.start + id.0);
        match operand {
            Operand::Reg(id) => Operand::Reg(reg(*id)),
            Operand::NotReg(id) => Operand::NotReg(reg(*id)),
            Operand::Var(id, offset) => match (home(names, *id), names.frame) {
                (Home::Fixed(var), _) => Operand::Var(var, *offset),
                (Home::Frame(start), Some(frame)) => {
                    let address = self.reg(Type::B64);
                    self.add(address, frame, start as i64 + offset);
                    Operand::Reg(address)
                }
                (Home::Frame(start), None) => Operand::Imm(Imm::Int(start as i64 + offset)),
            },
            Operand::Addr(Address { base, offset }) => Operand::Addr(match base {
                Base::Reg(id) => Address {
                    base: Base::Reg(reg(*id)),
                    offset: *offset,
                },
                Base::Var(id) => self.address(names, home(names, *id), *offset),
                Base::Absolute => Address {
                    base: Base::Absolute,
                    offset: *offset,
                },
            }),
            Operand::Vec(items) => Operand::Vec(self.operands(names, items)),
            Operand::List(items) => Operand::List(self.operands(names, items)),
            Operand::Pair(pair) => Operand::Pair(Box::new((
                self.operand(names, &pair.0),
                self.operand(names, &pair.1),
            ))),
            Operand::Label(id) => Operand::Label(LabelId(names.labels + id.0)),
            Operand::Func(id) => Operand::Imm(Imm::uint(address_of(self.module, *id))),
            Operand::Imm(_) | Operand::Special(_) | Operand::Sink => operand.clone(),
        }
    }

    fn operands(&mut self, names: &Names, items: &[Operand]) -> Box<[Operand]> {
        items.iter().map(|item| self.operand(names, item)).collect()
    }

    fn emit<const N: usize>(&mut self, op: Op, quals: &[Qual], operands: [Operand; N]) {
        self.put(StmtKind::Inst(Inst::new(op, quals, operands)));
    }

    fn put(&mut self, kind: StmtKind) {
        let span = self.span;
        let body = self.out.body.get_or_insert_default();
        body.push(Stmt { kind, span });
    }

    fn reg(&mut self, ty: Type) -> RegId {
        let id = RegId(self.out.regs.len() as u32);
        self.out.regs.push(Reg {
            ty,
            prefix: "%unit".into(),
            number: Some(id.0),
        });
        id
    }

    fn label(&mut self) -> LabelId {
        let id = LabelId(self.out.labels.len() as u32);
        self.out.labels.push(format!("$unit{}", id.0).into());
        id
    }

    fn var(&mut self, name: &'static str, bytes: u64) -> VarId {
        self.out.vars.push(local(name, bytes));
        VarId::Function(self.out.vars.len() as u32 - 1)
    }
}

fn home(names: &Names, id: VarId) -> Home {
    let (list, at) = match id {
        VarId::Module(_) => return Home::Fixed(id),
        VarId::Function(at) => (&names.vars, at),
        VarId::Param(at) => (&names.params, at),
        VarId::Return(at) => (&names.returns, at),
    };
    list.get(at as usize).copied().unwrap_or(Home::Fixed(id))
}

fn local(name: &'static str, bytes: u64) -> Var {
    let mut var = Var::new(name, Space::Local, Type::B8);
    var.align = Some(FRAME as u32);
    var.dims = [Some(bytes)].into_iter().collect();
    var
}

/// Where each of these goes in the transfer area, and its size.
fn layout(vars: &[Var]) -> (Vec<u64>, u64) {
    let mut end = 0u64;
    let places = vars.iter().map(|var| {
        let start = end.next_multiple_of(u64::from(var.alignment()).min(FRAME));
        end = start.saturating_add(var.bytes().unwrap_or(0));
        start
    });
    let places = places.collect();
    (places, end)
}

fn uses_stack(function: &Function) -> bool {
    let body: &[Stmt] = function.body.as_deref().unwrap_or(&[]);
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Inst(inst) => {
            matches!(inst.op, Op::Alloca | Op::Stacksave | Op::Stackrestore)
        }
        _ => false,
    })
}
