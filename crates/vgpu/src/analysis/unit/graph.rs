//! Which functions a kernel can come to, and which of them can come to themselves.

use super::definition;
use std::collections::BTreeSet;
use warpsmith_ptx::{
    ir::{FuncId, Function, Init, InitSymbol, Inst, LabelId, Module, Operand, Stmt, StmtKind, Var},
    op::Op,
};

/// The call graph of a kernel.
pub(super) struct Graph {
    /// The kernel first, then the functions with bodies it may call.
    pub(super) order: Vec<FuncId>,
    /// Whether each of `order` can come to itself.
    pub(super) recursive: Vec<bool>,
    /// Functions whose address somebody takes.
    taken: Vec<FuncId>,
}

/// What a call names.
pub(super) enum Callee {
    /// One function.
    Direct(FuncId),
    /// What a register holds.
    Pointer(Operand),
}

/// The parts of a call: results, callee, arguments, and the label of a prototype or list of targets.
pub(super) struct Parts<'a> {
    pub(super) results: &'a [Operand],
    pub(super) callee: Callee,
    pub(super) arguments: &'a [Operand],
    pub(super) list: Option<LabelId>,
}

/// The parts of a call as the parser writes it.
pub(super) fn parts(inst: &Inst) -> Option<Parts<'_>> {
    let mut rest = &inst.operands[..];
    let results = take_list(&mut rest);
    let (callee, tail) = rest.split_first()?;
    rest = tail;
    let arguments = take_list(&mut rest);
    Some(Parts {
        results,
        callee: match callee {
            Operand::Func(id) => Callee::Direct(*id),
            pointer @ Operand::Reg(_) => Callee::Pointer(pointer.clone()),
            _ => return None,
        },
        arguments,
        list: match rest.first() {
            Some(Operand::Label(label)) => Some(*label),
            _ => None,
        },
    })
}

fn take_list<'a>(rest: &mut &'a [Operand]) -> &'a [Operand] {
    match rest.split_first() {
        Some((Operand::List(items), tail)) => {
            *rest = tail;
            items
        }
        _ => &[],
    }
}

impl Graph {
    pub(super) fn new(module: &Module, kernel: FuncId) -> Graph {
        let mut graph = Graph {
            order: vec![kernel],
            recursive: Vec::new(),
            taken: taken(module),
        };
        let mut edges: Vec<Vec<FuncId>> = Vec::new();
        while edges.len() < graph.order.len() {
            let function = &module.functions[graph.order[edges.len()].index()];
            let mut to = BTreeSet::new();
            for stmt in function.body.as_deref().unwrap_or(&[]) {
                if let StmtKind::Inst(inst) = &stmt.kind
                    && inst.op == Op::Call
                    && let Some(parts) = parts(inst)
                {
                    to.extend(graph.targets(module, function, &parts));
                }
            }
            for callee in &to {
                if !graph.order.contains(callee) {
                    graph.order.push(*callee);
                }
            }
            edges.push(to.into_iter().collect());
        }
        let at = |id: &FuncId| graph.order.iter().position(|other| other == id);
        let next: Vec<Vec<usize>> = edges
            .iter()
            .map(|to| to.iter().filter_map(at).collect())
            .collect();
        graph.recursive = (0..next.len()).map(|f| reaches(&next, f)).collect();
        graph
    }

    /// The functions with bodies that a call may go to, by increasing number.
    pub(super) fn targets(
        &self,
        module: &Module,
        caller: &Function,
        parts: &Parts<'_>,
    ) -> Vec<FuncId> {
        let has_body = |id: &FuncId| {
            let function = module.functions.get(id.index());
            function.is_some_and(|f| f.body.is_some())
        };
        match &parts.callee {
            Callee::Direct(id) => vec![definition(module, *id)]
                .into_iter()
                .filter(has_body)
                .collect(),
            Callee::Pointer(_) => {
                let listed = parts.list.and_then(|label| named(caller, label));
                let (all, prototype) = match listed {
                    Some(StmtKind::CallTargets { targets, .. }) => {
                        let all = targets.iter().map(|id| definition(module, *id));
                        (all.collect(), None)
                    }
                    Some(StmtKind::CallPrototype {
                        returns, params, ..
                    }) => (self.taken.clone(), Some((sizes(returns), sizes(params)))),
                    _ => (self.taken.clone(), None),
                };
                let fits = |id: &FuncId| {
                    let function = &module.functions[id.index()];
                    prototype.as_ref().is_none_or(|wanted| {
                        *wanted == (sizes(&function.returns), sizes(&function.params))
                    })
                };
                let kept: BTreeSet<FuncId> = all
                    .into_iter()
                    .filter(|id| has_body(id) && fits(id))
                    .collect();
                kept.into_iter().collect()
            }
        }
    }
}

/// What decides where parameters go.
fn sizes(vars: &[Var]) -> Vec<(Option<u64>, u32)> {
    vars.iter()
        .map(|var| (var.bytes(), var.alignment()))
        .collect()
}

/// The list or prototype with this label.
fn named(function: &Function, label: LabelId) -> Option<&StmtKind> {
    let body: &[Stmt] = function.body.as_deref().unwrap_or(&[]);
    body.iter().map(|stmt| &stmt.kind).find(|kind| match kind {
        StmtKind::CallTargets { name, .. } | StmtKind::CallPrototype { name, .. } => *name == label,
        _ => false,
    })
}

/// Functions that are values somewhere: in a register or in an initialiser.
fn taken(module: &Module) -> Vec<FuncId> {
    fn of_init(init: &Init, add: &mut impl FnMut(FuncId)) {
        match init {
            Init::Address {
                symbol: InitSymbol::Func(id),
                ..
            } => add(*id),
            Init::List(items) => items.iter().for_each(|item| of_init(item, add)),
            Init::Address {
                symbol: InitSymbol::Var(_),
                ..
            }
            | Init::Imm(_) => {}
        }
    }
    let mut all = BTreeSet::new();
    let mut add = |id: FuncId| {
        all.insert(definition(module, id));
    };
    for var in &module.vars {
        if let Some(init) = &var.init {
            of_init(init, &mut add);
        }
    }
    for function in &module.functions {
        for stmt in function.body.as_deref().unwrap_or(&[]) {
            match &stmt.kind {
                StmtKind::Inst(inst) if inst.op != Op::Call => {
                    for operand in &inst.operands {
                        if let Operand::Func(id) = operand {
                            add(*id);
                        }
                    }
                }
                StmtKind::CallTargets { targets, .. } => targets.iter().for_each(|id| add(*id)),
                _ => {}
            }
        }
    }
    all.into_iter().collect()
}

/// Whether a node can come to itself.
fn reaches(next: &[Vec<usize>], start: usize) -> bool {
    let mut seen = vec![false; next.len()];
    let mut work = next[start].clone();
    while let Some(at) = work.pop() {
        if at == start {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            work.extend(&next[at]);
        }
    }
    false
}
