//! Modules become one.
//!
//! What one module declares `.extern` is what another defines. Of `.weak` definitions the first is taken unless there is
//! another, `.common` variables are one as large as the largest, and what a module keeps to itself is renamed where others
//! have the name.

use rustc_hash::{FxHashMap, FxHashSet};
use warpsmith_ptx::ir::{
    Address, Base, FuncId, Function, FunctionKind, Init, InitSymbol, Inst, Linkage, Module, Name,
    Operand, Stmt, StmtKind, Var, VarId,
};

/// A symbol that modules share, and how it is defined best so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Declared,
    Common,
    Weak,
    Strong,
}

fn strength(linkage: Linkage, defined: bool) -> Strength {
    match linkage {
        Linkage::Extern => Strength::Declared,
        Linkage::Common => Strength::Common,
        Linkage::Weak if defined => Strength::Weak,
        Linkage::Visible | Linkage::Local if defined => Strength::Strong,
        Linkage::Weak | Linkage::Visible | Linkage::Local => Strength::Declared,
    }
}

/// Where the symbols of one module went.
struct Moved {
    vars: Vec<u32>,
    functions: Vec<u32>,
    files: FxHashMap<u32, u32>,
}

/// Links modules.
///
/// # Errors
/// What they do not agree on.
pub(super) fn link(modules: &[(&str, Module)]) -> Result<Module, String> {
    let (_, first) = modules.first().ok_or("error: nothing to link")?;
    let mut out = Module {
        vars: Vec::new(),
        functions: Vec::new(),
        files: Vec::new(),
        sections: Vec::new(),
        ..first.clone()
    };
    // Sections are left out, which debugging needs.
    out.target_options.retain(|option| option != "debug");
    for (_, module) in modules {
        out.version = out.version.max(module.version);
        if module.target.sm > out.target.sm {
            out.target = module.target;
        }
    }
    let mut names = Names::default();
    let mut vars: FxHashMap<Name, (u32, Strength, &str)> = FxHashMap::default();
    // Functions are declared first, each once; their bodies follow.
    let mut functions: FxHashMap<Name, (u32, Strength, &str)> = FxHashMap::default();
    let mut bodies: Vec<Option<(usize, usize)>> = Vec::new();
    let mut moved = Vec::new();
    for (_, module) in modules {
        names.shared.extend(
            module
                .vars
                .iter()
                .filter(|var| is_shared(var.linkage))
                .map(|var| var.name.clone()),
        );
        let shared = module
            .functions
            .iter()
            .filter(|function| is_shared(function.linkage));
        names
            .shared
            .extend(shared.map(|function| function.name.clone()));
    }
    for (number, (piece, module)) in modules.iter().enumerate() {
        let mut map = Moved {
            vars: Vec::new(),
            functions: Vec::new(),
            files: FxHashMap::default(),
        };
        for (index, name) in &module.files {
            let new = out.files.len() as u32 + 1;
            map.files.insert(*index, new);
            out.files.push((new, name.clone()));
        }
        let mut own: FxHashMap<Name, u32> = FxHashMap::default();
        for var in &module.vars {
            let new = out.vars.len() as u32;
            if !is_shared(var.linkage) {
                let at = *own.entry(var.name.clone()).or_insert_with(|| {
                    out.vars.push(Var {
                        name: names.own(&var.name, number),
                        ..var.clone()
                    });
                    new
                });
                map.vars.push(at);
                continue;
            }
            let how = strength(var.linkage, true);
            let Some((at, known, by)) = vars.get_mut(&var.name) else {
                vars.insert(var.name.clone(), (new, how, piece));
                out.vars.push(var.clone());
                map.vars.push(new);
                continue;
            };
            map.vars.push(*at);
            let old = &mut out.vars[*at as usize];
            if old.space != var.space {
                return Err(format!(
                    "error: `{}` is in {:?} of {by} and in {:?} of {piece}",
                    var.name, old.space, var.space
                ));
            }
            if how == Strength::Strong && *known == Strength::Strong {
                return Err(format!(
                    "error: `{}` is defined by {by} and by {piece}",
                    var.name
                ));
            }
            let larger =
                how == Strength::Common && *known == Strength::Common && var.bytes() > old.bytes();
            if how > *known || larger {
                *old = var.clone();
                (*known, *by) = (how, piece);
            }
        }
        let mut own: FxHashMap<Name, u32> = FxHashMap::default();
        for (index, function) in module.functions.iter().enumerate() {
            let new = bodies.len() as u32;
            let here = function.body.as_ref().map(|_| (number, index));
            if !is_shared(function.linkage) && function.kind == FunctionKind::Func {
                let at = *own.entry(function.name.clone()).or_insert_with(|| {
                    out.functions.push(Function {
                        name: names.own(&function.name, number),
                        body: None,
                        ..function.clone()
                    });
                    bodies.push(None);
                    new
                });
                if here.is_some() {
                    bodies[at as usize] = here;
                }
                map.functions.push(at);
                continue;
            }
            let how = strength(function.linkage, here.is_some());
            let Some((at, known, by)) = functions.get_mut(&function.name) else {
                functions.insert(function.name.clone(), (new, how, piece));
                out.functions.push(Function {
                    body: None,
                    ..function.clone()
                });
                bodies.push(here);
                map.functions.push(new);
                continue;
            };
            map.functions.push(*at);
            let old = &mut out.functions[*at as usize];
            let like = |a: &[Var], b: &[Var]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.bytes() == b.bytes())
            };
            if old.kind != function.kind
                || !like(&old.params, &function.params)
                || !like(&old.returns, &function.returns)
            {
                return Err(format!(
                    "error: `{}` has other parameters in {by} than in {piece}",
                    function.name
                ));
            }
            if how == Strength::Strong && *known == Strength::Strong {
                return Err(format!(
                    "error: `{}` is defined by {by} and by {piece}",
                    function.name
                ));
            }
            if how > *known {
                *old = Function {
                    body: None,
                    ..function.clone()
                };
                bodies[*at as usize] = here;
                (*known, *by) = (how, piece);
            }
        }
        moved.push(map);
    }
    for (_, map) in modules.iter().zip(&moved) {
        debug_assert!(map.vars.iter().all(|at| (*at as usize) < out.vars.len()));
    }
    // Initialisers name symbols of the module that the variable was taken from.
    for ((_, module), map) in modules.iter().zip(&moved) {
        for (var, at) in module.vars.iter().zip(&map.vars) {
            let new = &mut out.vars[*at as usize];
            if let (Some(init), true) = (&var.init, new.init == var.init) {
                new.init = Some(moved_init(init, map));
            }
        }
    }
    let declared = std::mem::take(&mut out.functions);
    let mut defined = Vec::new();
    for (header, body) in declared.iter().zip(&bodies) {
        let Some((number, index)) = body else {
            continue;
        };
        let function = &modules[*number].1.functions[*index];
        let body = function
            .body
            .iter()
            .flatten()
            .map(|stmt| moved_stmt(stmt, &moved[*number]));
        defined.push(Function {
            name: header.name.clone(),
            linkage: match header.linkage {
                Linkage::Extern => Linkage::Visible,
                linkage => linkage,
            },
            body: Some(body.collect()),
            ..function.clone()
        });
    }
    // Kernels are not declared: nothing names them before they are defined.
    let calls = |function: &Function| function.kind == FunctionKind::Func;
    let mut place = FxHashMap::default();
    for (at, function) in declared.into_iter().enumerate() {
        if calls(&function) {
            place.insert(at as u32, out.functions.len() as u32);
            let linkage = match (function.linkage, bodies[at].is_some()) {
                (Linkage::Extern, true) => Linkage::Visible,
                (linkage, _) => linkage,
            };
            out.functions.push(Function {
                linkage,
                ..function
            });
        }
    }
    for function in &mut defined {
        for stmt in function.body.iter_mut().flatten() {
            settle(stmt, &place);
        }
    }
    out.functions.extend(defined);
    for var in &mut out.vars {
        if let Some(init) = &mut var.init {
            settle_init(init, &place);
        }
    }
    in_order(&mut out);
    Ok(out)
}

/// Variables whose initialisers name others come behind them, as text is read from the top.
fn in_order(module: &mut Module) {
    let names = |init: &Option<Init>| {
        let mut all = Vec::new();
        if let Some(init) = init {
            named(init, &mut all);
        }
        all
    };
    let before: Vec<Vec<u32>> = module.vars.iter().map(|var| names(&var.init)).collect();
    let mut order: Vec<u32> = Vec::with_capacity(before.len());
    let mut placed = FxHashSet::default();
    let mut left: Vec<u32> = (0..before.len() as u32).collect();
    while !left.is_empty() {
        let count = left.len();
        left.retain(|at| {
            let ready = before[*at as usize]
                .iter()
                .all(|one| one == at || placed.contains(one));
            if ready {
                placed.insert(*at);
                order.push(*at);
            }
            !ready
        });
        if left.len() == count {
            order.append(&mut left);
        }
    }
    if order.iter().enumerate().all(|(at, old)| at as u32 == *old) {
        return;
    }
    let mut new_of = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        new_of[*old as usize] = new as u32;
    }
    let vars = order
        .iter()
        .map(|old| module.vars[*old as usize].clone())
        .collect();
    module.vars = vars;
    let map = Moved {
        vars: new_of,
        functions: (0..module.functions.len() as u32).collect(),
        files: module
            .files
            .iter()
            .map(|(index, _)| (*index, *index))
            .collect(),
    };
    for var in &mut module.vars {
        var.init = var.init.as_ref().map(|init| moved_init(init, &map));
    }
    for function in &mut module.functions {
        for stmt in function.body.iter_mut().flatten() {
            *stmt = moved_stmt(stmt, &map);
        }
    }
}

fn named(init: &Init, into: &mut Vec<u32>) {
    match init {
        Init::List(items) => items.iter().for_each(|item| named(item, into)),
        Init::Address {
            symbol: InitSymbol::Var(at),
            ..
        } => into.push(*at),
        Init::Address { .. } | Init::Imm(_) => {}
    }
}

fn is_shared(linkage: Linkage) -> bool {
    linkage != Linkage::Local
}

/// Names that are taken.
#[derive(Default)]
struct Names {
    shared: FxHashSet<Name>,
    own: FxHashSet<Name>,
}

impl Names {
    /// A name for what a module keeps to itself.
    fn own(&mut self, name: &Name, module: usize) -> Name {
        let taken =
            |names: &Names, name: &Name| names.shared.contains(name) || names.own.contains(name);
        let mut new = name.clone();
        let mut number = module;
        while taken(self, &new) {
            new = format!("{name}__of_{number}").into();
            number += 1000;
        }
        self.own.insert(new.clone());
        new
    }
}

fn moved_init(init: &Init, map: &Moved) -> Init {
    match init {
        Init::Imm(_) => init.clone(),
        Init::List(items) => Init::List(items.iter().map(|item| moved_init(item, map)).collect()),
        Init::Address {
            symbol,
            offset,
            generic,
        } => Init::Address {
            symbol: match symbol {
                InitSymbol::Var(at) => InitSymbol::Var(map.vars[*at as usize]),
                InitSymbol::Func(id) => InitSymbol::Func(FuncId(map.functions[id.index()])),
            },
            offset: *offset,
            generic: *generic,
        },
    }
}

fn settle_init(init: &mut Init, place: &FxHashMap<u32, u32>) {
    match init {
        Init::List(items) => items.iter_mut().for_each(|item| settle_init(item, place)),
        Init::Address {
            symbol: InitSymbol::Func(id),
            ..
        } => {
            id.0 = place.get(&id.0).copied().unwrap_or(id.0);
        }
        Init::Address { .. } | Init::Imm(_) => {}
    }
}

fn moved_stmt(stmt: &Stmt, map: &Moved) -> Stmt {
    let file = |file: &u32| map.files.get(file).copied().unwrap_or(*file);
    let kind = match &stmt.kind {
        StmtKind::Inst(inst) => StmtKind::Inst(Inst {
            operands: inst
                .operands
                .iter()
                .map(|operand| moved_operand(operand, map))
                .collect(),
            ..inst.clone()
        }),
        // Names of inlined functions are in sections, which are left out.
        StmtKind::Loc {
            file: at,
            line,
            column,
            inlined: _,
        } => StmtKind::Loc {
            file: file(at),
            line: *line,
            column: *column,
            inlined: None,
        },
        StmtKind::CallTargets { name, targets } => StmtKind::CallTargets {
            name: *name,
            targets: targets
                .iter()
                .map(|id| FuncId(map.functions[id.index()]))
                .collect(),
        },
        StmtKind::Label(_)
        | StmtKind::BranchTargets { .. }
        | StmtKind::CallPrototype { .. }
        | StmtKind::Pragma(_) => stmt.kind.clone(),
    };
    Stmt {
        kind,
        span: stmt.span,
    }
}

fn moved_operand(operand: &Operand, map: &Moved) -> Operand {
    let var = |var: VarId| match var {
        VarId::Module(at) => VarId::Module(map.vars[at as usize]),
        VarId::Function(_) | VarId::Param(_) | VarId::Return(_) => var,
    };
    let all = |operands: &[Operand]| operands.iter().map(|one| moved_operand(one, map)).collect();
    match operand {
        Operand::Var(id, offset) => Operand::Var(var(*id), *offset),
        Operand::Addr(Address {
            base: Base::Var(id),
            offset,
        }) => Operand::Addr(Address {
            base: Base::Var(var(*id)),
            offset: *offset,
        }),
        Operand::Vec(operands) => Operand::Vec(all(operands)),
        Operand::List(operands) => Operand::List(all(operands)),
        Operand::Pair(pair) => Operand::Pair(Box::new((
            moved_operand(&pair.0, map),
            moved_operand(&pair.1, map),
        ))),
        Operand::Func(id) => Operand::Func(FuncId(map.functions[id.index()])),
        Operand::Reg(_)
        | Operand::NotReg(_)
        | Operand::Imm(_)
        | Operand::Special(_)
        | Operand::Addr(_)
        | Operand::Label(_)
        | Operand::Sink => operand.clone(),
    }
}

/// Lets calls name the declarations.
fn settle(stmt: &mut Stmt, place: &FxHashMap<u32, u32>) {
    fn operand(one: &mut Operand, place: &FxHashMap<u32, u32>) {
        match one {
            Operand::Func(id) => id.0 = place.get(&id.0).copied().unwrap_or(id.0),
            Operand::Vec(all) | Operand::List(all) => {
                all.iter_mut().for_each(|one| operand(one, place))
            }
            Operand::Pair(pair) => {
                operand(&mut pair.0, place);
                operand(&mut pair.1, place);
            }
            Operand::Reg(_)
            | Operand::NotReg(_)
            | Operand::Imm(_)
            | Operand::Special(_)
            | Operand::Var(..)
            | Operand::Addr(_)
            | Operand::Label(_)
            | Operand::Sink => {}
        }
    }
    match &mut stmt.kind {
        StmtKind::Inst(inst) => inst.operands.iter_mut().for_each(|one| operand(one, place)),
        StmtKind::CallTargets { targets, .. } => {
            for id in targets {
                id.0 = place.get(&id.0).copied().unwrap_or(id.0);
            }
        }
        StmtKind::Label(_)
        | StmtKind::Loc { .. }
        | StmtKind::BranchTargets { .. }
        | StmtKind::CallPrototype { .. }
        | StmtKind::Pragma(_) => {}
    }
}
