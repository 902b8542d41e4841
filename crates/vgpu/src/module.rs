//! Loaded modules and their kernels.

use crate::{
    analysis::{self, Layout, print},
    config,
    dump::Dump,
    error::Error,
    machine::{Inner, Machine},
    op::Program,
    queue::{self, Slot, Task},
};
use rustc_hash::FxHashMap;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use warpsmith_ptx::{
    ir::{Function, FunctionKind, Imm, Init, InitSymbol, Linkage, Name, Span, Var},
    types::{Space, Type},
    verify::Verified,
};

/// A module on a machine. Clones share it; its variables live until the last clone or kernel is gone.
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

struct Loaded {
    machine: Arc<Inner>,
    module: Verified,
    /// Addresses of module variables; 0 for those of other spaces.
    vars: Vec<u64>,
    programs: Mutex<FxHashMap<(usize, [u32; 3]), Programs>>,
}

/// A kernel lowered for a block shape, as far as it is.
#[derive(Default)]
struct Programs {
    plain: Option<Arc<Program>>,
    compiled: Slot,
    /// Whether it is being compiled, or was.
    asked: bool,
}

/// What a launch runs: a program, and in its place a compiled one as soon as there is one.
pub(crate) struct Chosen {
    pub(crate) plain: Arc<Program>,
    pub(crate) compiled: Option<Slot>,
}

impl Chosen {
    fn only(plain: Arc<Program>) -> Chosen {
        Chosen {
            plain,
            compiled: None,
        }
    }
}

/// Warps of a launch for which a kernel is compiled though it has not run before.
const MANY: u64 = 16;

/// When a kernel is compiled that is not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before it runs, whatever that takes.
    Must,
    /// Before it runs, unless it is being compiled.
    First,
    /// Beside running.
    Beside,
    /// Beside running, if it has run before.
    Again,
}

impl When {
    /// For a launch of so many warps. Many take longer interpreted than it takes to compile their kernel.
    pub(crate) fn of(warps: u64) -> When {
        if warps >= MANY {
            When::First
        } else {
            When::Again
        }
    }
}

/// A kernel of a loaded module.
#[derive(Clone)]
pub struct Kernel {
    loaded: Arc<Loaded>,
    index: usize,
    /// The kernel merged with the functions it calls; `None` if it calls none.
    unit: Option<Arc<Function>>,
    layout: Arc<Layout>,
    /// As declared, without gaps.
    static_shared: u32,
}

/// Where a kernel parameter is in the launch's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// First byte.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// Bytes between the shared and local variables of a kernel that is checked.
const GAP: u32 = 256;

impl Module {
    pub(crate) fn new(machine: &Machine, module: &Verified) -> Result<Module, Error> {
        let newest = machine.0.config.max_ptx;
        if module.version > newest {
            return Err(Error::PtxVersion {
                found: module.version,
                newest,
            });
        }
        let mut loaded = Loaded {
            machine: Arc::clone(&machine.0),
            module: module.clone(),
            vars: Vec::with_capacity(module.vars.len()),
            programs: Mutex::default(),
        };
        for var in &module.vars {
            let address = match var.space {
                Space::Global | Space::Const | Space::Generic if var.linkage != Linkage::Extern => {
                    let bytes = var.bytes().ok_or_else(|| unsupported(var, "its size"))?;
                    machine.alloc(bytes)?
                }
                Space::Global | Space::Const | Space::Generic => {
                    return Err(unsupported(var, "an external variable"));
                }
                Space::Shared | Space::Local | Space::Param => 0,
            };
            loaded.vars.push(address);
        }
        for (var, &address) in module.vars.iter().zip(&loaded.vars) {
            if address == 0 {
                continue;
            }
            let bytes = var.bytes().unwrap_or(0) as usize;
            let mut data = vec![0; bytes];
            if let Some(init) = &var.init {
                fill(&mut data, var, init, &loaded)?;
            }
            machine.write(address, &data)?;
            machine
                .0
                .checked(|checker| checker.global.name(address, &var.name));
        }
        Ok(Module(Arc::new(loaded)))
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let index = self.0.module.functions.iter().position(|function| {
            function.name == name && function.kind == FunctionKind::Entry && function.body.is_some()
        })?;
        let unit = analysis::unit(&self.0.module, index);
        let whole = unit.as_ref().unwrap_or(&self.0.module.functions[index]);
        let unit = analysis::distributed(whole).or(unit);
        let whole = unit.as_ref().unwrap_or(&self.0.module.functions[index]);
        let checked = self.0.machine.config.checks.is_some();
        let unit = analysis::warpgroup(whole, checked).or(unit).map(Arc::new);
        let function = unit.as_deref().unwrap_or(&self.0.module.functions[index]);
        let lay_out = |gap| Layout::new(&self.0.module, function, &self.0.vars, gap).ok();
        let tight = lay_out(0)?;
        let static_shared = tight.shared_bytes;
        // Where accesses are checked, a gap tells a variable from the next.
        let roomy = checked.then(|| lay_out(GAP)).flatten();
        let layout = roomy.unwrap_or(tight);
        Some(Kernel {
            loaded: Arc::clone(&self.0),
            index,
            unit,
            layout: Arc::new(layout),
            static_shared,
        })
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0
            .module
            .functions
            .iter()
            .filter(|function| function.kind == FunctionKind::Entry && function.body.is_some())
            .map(|function| function.name.as_ref())
    }

    /// Address and size of a module variable in device memory.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        let vars = self.0.module.vars.iter().zip(&self.0.vars);
        vars.filter(|(_, address)| **address != 0)
            .find(|(var, _)| var.name == name)
            .map(|(var, address)| (*address, var.bytes().unwrap_or(0)))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        for address in self.vars.iter().filter(|address| **address != 0) {
            // They are ours and allocated until here.
            drop(self.machine.free(*address));
        }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kernels()).finish()
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernel").field(self.name()).finish()
    }
}

impl Kernel {
    pub(crate) fn function(&self) -> &Function {
        self.unit
            .as_deref()
            .unwrap_or(&self.loaded.module.functions[self.index])
    }

    pub(crate) fn machine(&self) -> &Arc<Inner> {
        &self.loaded.machine
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        &self.function().name
    }

    /// Where each parameter is.
    pub fn params(&self) -> Vec<Param> {
        let vars = self.function().params.iter().zip(&self.layout.params);
        vars.map(|(var, offset)| Param {
            offset: *offset as u32,
            size: var.bytes().unwrap_or(0) as u32,
            align: var.alignment(),
        })
        .collect()
    }

    /// Bytes of all parameters.
    pub fn param_bytes(&self) -> u32 {
        self.layout.param_bytes
    }

    /// Bytes of static shared memory.
    pub fn static_shared(&self) -> u32 {
        self.static_shared
    }

    /// Bytes of shared memory that a CTA takes beside the dynamic ones.
    pub(crate) fn laid_shared(&self) -> u32 {
        self.layout.shared_bytes
    }

    /// Bytes of local memory per thread.
    pub fn local_bytes(&self) -> u32 {
        self.layout.local_bytes
    }

    /// Declared registers in units of 32 bits.
    pub fn regs(&self) -> u32 {
        self.function()
            .regs
            .iter()
            .map(|reg| reg.ty.bits().div_ceil(32))
            .sum()
    }

    /// What the virtual GPU makes of it for blocks of this shape, as text: blocks, ops with their arguments, and what is
    /// compiled, as it is for launches of many warps. `text` is that of its module, whose lines are quoted.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it cannot be run here either.
    pub fn dump(&self, block: [u32; 3], text: &str) -> Result<String, Error> {
        let program = self.program(block, When::Must)?;
        let dump = Dump {
            program: &program.plain,
            function: self.function(),
            text,
            block,
        };
        Ok(dump.text())
    }

    /// Whether its module can print.
    pub(crate) fn prints(&self) -> bool {
        let functions = &self.loaded.module.functions;
        functions
            .iter()
            .any(|function| function.name == print::NAME && function.body.is_none())
    }

    /// What runs for a block shape, lowered the first time.
    pub(crate) fn program(&self, block: [u32; 3], when: When) -> Result<Chosen, Error> {
        let machine = &self.loaded.machine;
        let all = || {
            let all = &self.loaded.programs;
            all.lock().unwrap_or_else(PoisonError::into_inner)
        };
        let key = (self.index, block);
        let task = || Task {
            module: self.loaded.module.clone(),
            index: self.index,
            unit: self.unit.clone(),
            layout: Arc::clone(&self.layout),
            tier: machine.tier,
            block,
            checked: machine.config.checks.is_some(),
            counted: machine.config.budget.is_some(),
            apart: machine.config.seed.is_some(),
        };
        let (plain, compiled, asked) = {
            let mut all = all();
            let found = all.entry(key).or_default();
            (
                found.plain.clone(),
                Arc::clone(&found.compiled),
                found.asked,
            )
        };
        if let Some(program) = compiled.get() {
            return Ok(Chosen::only(Arc::clone(program)));
        }
        let when = match machine.config.compile {
            config::Compile::Always => When::Must,
            config::Compile::Worth | config::Compile::Never => when,
        };
        let native = machine.compiles() && (when != When::Again || plain.is_some());
        if native && (when == When::Must || when == When::First && !asked) {
            let program = task().lower(true)?;
            return Ok(Chosen::only(Arc::clone(compiled.get_or_init(|| program))));
        }
        let plain = match plain {
            Some(plain) => plain,
            None => task().lower(false)?,
        };
        let mut all = all();
        let found = all.entry(key).or_default();
        let plain = Arc::clone(found.plain.get_or_insert(plain));
        if native && !std::mem::replace(&mut found.asked, true) {
            queue::compile(task(), Arc::clone(&compiled));
        }
        Ok(Chosen {
            plain,
            compiled: Some(compiled),
        })
    }
}

fn unsupported(var: &Var, what: &str) -> Error {
    Error::Unsupported {
        kernel: var.name.clone(),
        span: Span::None,
        what: what.to_owned(),
    }
}

/// Encodes an initialiser; list items fill elements in order.
fn fill(data: &mut [u8], var: &Var, init: &Init, loaded: &Loaded) -> Result<(), Error> {
    let size = var.ty.bytes().max(1) as usize;
    match init {
        Init::List(items) => {
            let each = match items.first() {
                Some(Init::List(_)) => data.len() / outer(var, data.len(), size, items.len()),
                _ => size,
            };
            for (part, item) in data.chunks_mut(each.max(1)).zip(items) {
                fill(part, var, item, loaded)?;
            }
            Ok(())
        }
        Init::Imm(imm) => {
            let bits = match (imm, var.ty) {
                (Imm::F64(x), Type::F32) => u64::from((f64::from_bits(*x) as f32).to_bits()),
                (Imm::F32(x), Type::F64) => f64::from(f32::from_bits(*x)).to_bits(),
                (Imm::F32(x), _) => u64::from(*x),
                (Imm::F64(x) | Imm::Uint(x), _) => *x,
                (Imm::Int(x), _) => *x as u64,
            };
            put(data, bits, size);
            Ok(())
        }
        Init::Address {
            symbol: InitSymbol::Var(i),
            offset,
            ..
        } => {
            let base = loaded.vars.get(*i as usize).copied().unwrap_or(0);
            if base == 0 {
                return Err(unsupported(
                    var,
                    "the address of a variable of another space",
                ));
            }
            put(data, base.wrapping_add_signed(*offset), size);
            Ok(())
        }
        Init::Address {
            symbol: InitSymbol::Func(id),
            offset,
            ..
        } => {
            let address = analysis::address_of(&loaded.module, *id);
            put(data, address.wrapping_add_signed(*offset), size);
            Ok(())
        }
    }
}

fn put(data: &mut [u8], bits: u64, size: usize) {
    let len = size.min(8).min(data.len());
    data[..len].copy_from_slice(&bits.to_le_bytes()[..len]);
}

/// How many rows of nested lists the part of a variable has: the dimension that divides it so.
fn outer(var: &Var, bytes: usize, size: usize, at_least: usize) -> usize {
    let mut rest = bytes / (size * usize::from(var.vector)).max(1);
    let dims: Vec<usize> = var.dims.iter().map(|d| d.unwrap_or(1) as usize).collect();
    for at in 0..dims.len() {
        if dims[at..].iter().product::<usize>() == rest {
            return dims[at].max(1);
        }
    }
    rest = rest.max(1);
    at_least.clamp(1, rest)
}
