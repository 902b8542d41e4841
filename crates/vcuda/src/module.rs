//! Modules: PTX to "code", code to kernels and variables.

use crate::{
    card::{WITHOUT_ASKING, shared_limit},
    core::{Core, Owner},
    host::JitOptions,
    settings::Settings,
    status::Status,
    table::{Handle, Table, lock},
};
use rustc_hash::FxHashMap;
use std::{
    ffi::CString,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use warpsmith_ptx::{
    diag::Diagnostic,
    ir::{Directive, FunctionKind},
    parse::parse,
    target::PtxVersion,
    types::Space,
    verify::{Verified, verify},
};
use warpsmith_vgpu as vgpu;

/// PTX that is good for a card.
pub(crate) struct Program {
    pub(crate) text: String,
    pub(crate) verified: Verified,
}

impl Program {
    /// The names of its kernels.
    pub(crate) fn kernels(&self) -> Vec<String> {
        let kernels = self.verified.functions.iter();
        let kernels = kernels.filter(|one| one.kind == FunctionKind::Entry && one.body.is_some());
        kernels.map(|kernel| kernel.name.to_string()).collect()
    }
}

/// Compiles PTX for a card; why it is refused is in the log.
pub(crate) fn compile(
    settings: &Settings,
    ptx: &[u8],
    options: &JitOptions,
) -> Result<Program, Status> {
    let refuse = |status: Status, log: String| {
        options.tell(&log);
        crate::report::refused(&log);
        status
    };
    let found = |found: Vec<Diagnostic>| {
        let lines: Vec<String> = found
            .iter()
            .map(|found| format!("error: {found}"))
            .collect();
        refuse(Status::InvalidPtx, lines.join("\n"))
    };
    let text = std::str::from_utf8(ptx)
        .map_err(|error| refuse(Status::InvalidPtx, format!("error: {error}")))?;
    let limit = settings.ptx_limit;
    let too_new = |version: PtxVersion| {
        let log = format!("error: unsupported .version {version}; this driver takes up to {limit}");
        refuse(Status::UnsupportedPtxVersion, log)
    };
    let module = parse(text).map_err(|why| match named_version(text) {
        // What is newer than all that the parser knows may have anything in it.
        Some(version) if version > limit => too_new(version),
        Some(_) | None => found(why),
    })?;
    if module.version > limit {
        return Err(too_new(module.version));
    }
    let (target, card) = (module.target, settings.target);
    if !target.runs_on(card) {
        let log = format!("error: .target {target} does not run on {card}");
        return Err(refuse(Status::NoBinaryForGpu, log));
    }
    // What the driver brings along is linked in.
    if let Some(text) =
        crate::link::completed(&module).map_err(|log| refuse(Status::InvalidPtx, log))?
    {
        return compile(settings, text.as_bytes(), options);
    }
    let verified = verify(module).map_err(found)?;
    let text = text.to_owned();
    Ok(Program { text, verified })
}

/// The version that the first line with `.version` names.
fn named_version(text: &str) -> Option<PtxVersion> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".version"))?;
    let (major, minor) = line.split_whitespace().next()?.split_once('.')?;
    Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?))
}

/// A loaded module.
pub(crate) struct Module {
    pub(crate) core: Arc<Core>,
    inner: vgpu::Module,
    pub(crate) verified: Verified,
    /// Its number in reports.
    pub(crate) number: u64,
    /// Handles of functions that were asked for.
    pub(crate) handles: Mutex<FxHashMap<String, Handle>>,
}

impl Module {
    pub(crate) fn new(core: &Arc<Core>, program: &Program) -> Result<Module, vgpu::Error> {
        let Program { text, verified } = program;
        let inner = core.machine.load(verified)?;
        let module = Module {
            core: core.clone(),
            inner,
            number: crate::report::module(text, verified),
            verified: verified.clone(),
            handles: Mutex::default(),
        };
        for (address, bytes) in module.variables() {
            core.holds_now(address, bytes, Owner::Module);
        }
        // Variables that both sides use.
        let managed = verified.vars.iter().filter(|var| var.managed);
        for (address, bytes) in managed.filter_map(|var| module.variable(&var.name)) {
            // The host writes there without a call, also while kernels run.
            core.machine.host_pointer(address);
            core.holds_now(address, bytes, Owner::Variable);
        }
        Ok(module)
    }

    fn variables(&self) -> impl Iterator<Item = (u64, u64)> {
        let names = self.verified.vars.iter().map(|var| &*var.name);
        names.filter_map(|name| self.inner.global(name))
    }

    /// The names of its kernels.
    pub(crate) fn kernels(&self) -> Vec<String> {
        self.inner.kernels().map(str::to_owned).collect()
    }

    /// A kernel with its handle, which it gets the first time.
    pub(crate) fn function_handle(
        self: &Arc<Module>,
        functions: &Table<Function>,
        name: &str,
    ) -> Result<(Arc<Function>, Handle), Status> {
        let mut handles = lock(&self.handles);
        if let Some(handle) = handles.get(name) {
            return Ok((functions.find(*handle)?, *handle));
        }
        let function = Arc::new(self.function(name).ok_or(Status::NotFound)?);
        let handle = functions.insert(function.clone());
        handles.insert(name.to_owned(), handle);
        Ok((function, handle))
    }

    /// Bytes of its constant variables.
    fn constants(&self) -> u64 {
        let vars = self.verified.vars.iter();
        let constants = vars.filter(|var| var.space == Space::Const);
        constants.filter_map(|var| var.bytes()).sum()
    }

    /// What it brought into the context goes.
    pub(crate) fn unload(&self) {
        for (address, _) in self.variables() {
            self.core.holds_no_more(address);
        }
    }

    /// Address and size of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<(u64, u64)> {
        self.inner.global(name)
    }

    pub(crate) fn function(self: &Arc<Module>, name: &str) -> Option<Function> {
        let kernel = self.inner.kernel(name)?;
        let mut functions = self.verified.functions.iter();
        let entry =
            functions.find(|entry| entry.kind == FunctionKind::Entry && &*entry.name == name)?;
        let threads = entry
            .directives
            .iter()
            .find_map(|directive| match directive {
                Directive::MaxNtid(most) | Directive::ReqNtid(most) => {
                    Some(most.iter().map(|n| (*n).max(1)).product())
                }
                Directive::MinNctaPerSm(_)
                | Directive::MaxNreg(_)
                | Directive::NoReturn
                | Directive::Pragma(_)
                | Directive::Other(..) => None,
            });
        Some(Function {
            name: CString::new(name).ok()?,
            dynamic_shared: AtomicU32::new(WITHOUT_ASKING.saturating_sub(kernel.static_shared())),
            cluster: AtomicU32::new(PORTABLE),
            threads: threads.unwrap_or(1024),
            kernel,
            module: self.clone(),
        })
    }
}

/// A kernel.
pub(crate) struct Function {
    pub(crate) name: CString,
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: vgpu::Kernel,
    /// The most of a block.
    threads: u32,
    /// Bytes of dynamic shared memory that a launch may have.
    dynamic_shared: AtomicU32,
    /// Blocks that a cluster may have: more than all cards can where it was asked for.
    cluster: AtomicU32,
}

/// Blocks of a cluster that every card with clusters can run, and that one can.
const PORTABLE: u32 = 8;
const MOST: u32 = 16;

impl Function {
    /// The attribute with this number in the driver's headers.
    pub(crate) fn attribute(&self, number: i32) -> Option<i32> {
        let version = self.module.verified.version;
        let sm = self.module.core.settings.target.sm;
        let value = match number {
            0 => self.threads,
            1 => self.kernel.static_shared(),
            2 => self.module.constants() as u32,
            // The cache mode.
            7 => 0,
            3 => self.kernel.local_bytes(),
            // As many as let the largest block run.
            4 => (65536 / self.threads.max(1)).min(255),
            5 => u32::from(version.major) * 10 + u32::from(version.minor),
            6 => u32::from(sm),
            8 => self.dynamic_shared.load(Relaxed),
            // The driver chooses the carve-out.
            9 => return Some(-1),
            // Clusters: none are set.
            10..=13 | 15 => 0,
            14 => u32::from(self.most_of_cluster() > PORTABLE),
            _ => return None,
        };
        Some(value as i32)
    }

    pub(crate) fn set_attribute(&self, number: i32, value: i32) -> Result<(), Status> {
        match number {
            8 => {
                let most = shared_limit(self.module.core.settings)
                    .saturating_sub(self.kernel.static_shared());
                let bytes = u32::try_from(value).map_err(|_| Status::InvalidValue)?;
                if bytes > most {
                    return Err(Status::InvalidValue);
                }
                self.dynamic_shared.store(bytes, Relaxed);
                Ok(())
            }
            14 => {
                let most = if value == 0 { PORTABLE } else { MOST };
                self.cluster.store(most, Relaxed);
                Ok(())
            }
            7 | 9 | 15 => Ok(()),
            _ => Err(Status::InvalidValue),
        }
    }

    /// The most threads of a block, and the bytes of dynamic shared memory that fit beside so many blocks.
    pub(crate) fn room(&self, blocks: u32, threads: u32) -> u64 {
        let settings = self.module.core.settings;
        let most =
            u64::from(shared_limit(settings)).saturating_sub(self.kernel.static_shared().into());
        let fits = |bytes: u64| self.occupancy(threads, bytes) >= blocks;
        let (mut low, mut high) = (0, most);
        if !fits(0) {
            return 0;
        }
        while low < high {
            let middle = (low + high).div_ceil(2);
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Blocks of this many threads that fit on a multiprocessor at the same time.
    pub(crate) fn occupancy(&self, threads: u32, dynamic_shared: u64) -> u32 {
        let shared = u64::from(self.kernel.static_shared()).saturating_add(dynamic_shared);
        if threads > self.threads || dynamic_shared > self.dynamic_shared.load(Relaxed).into() {
            return 0;
        }
        crate::card::occupancy(self.module.core.settings, threads, shared)
    }

    /// Blocks that a cluster may have.
    pub(crate) fn most_of_cluster(&self) -> u32 {
        self.cluster.load(Relaxed)
    }

    /// Whether a launch of this size is allowed.
    pub(crate) fn allows(&self, launch: &vgpu::Launch) -> Result<(), Status> {
        let threads = launch.block.iter().map(|n| u64::from(*n)).product::<u64>();
        if threads == 0 || threads > u64::from(self.threads) {
            return Err(Status::InvalidValue);
        }
        if launch.dynamic_shared > self.dynamic_shared.load(Relaxed) {
            return Err(Status::InvalidValue);
        }
        let of_cluster = launch
            .cluster
            .map_or(1, |cluster| cluster.iter().map(|n| u64::from(*n)).product());
        if of_cluster > u64::from(self.most_of_cluster()) {
            return Err(Status::InvalidClusterSize);
        }
        let blocks = launch.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        let each = self.occupancy(threads as u32, launch.dynamic_shared.into());
        let resident = u64::from(each) * u64::from(self.module.core.settings.sms);
        if launch.cooperative && blocks > resident {
            return Err(Status::CooperativeLaunchTooLarge);
        }
        Ok(())
    }
}
