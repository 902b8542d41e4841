//! What programs register before they start, and the context and card of each thread.

use super::{
    super::{
        context::cuDevicePrimaryCtxRetain,
        query::cuInit,
        raw::{Image, JitOptions, Out},
    },
    error::{Code, well},
};
use crate::{
    context::Context,
    driver::{current, driver, function_with_handle, with_stack},
    library::Library,
    link::link_texts,
    module::{Function, Program, compile},
    status::Status,
    table::{Handle, Table, lock},
};
use rustc_hash::FxHashMap;
use std::{
    cell::Cell,
    ffi::c_int,
    sync::{Arc, LazyLock, Mutex},
};

/// What a compiler put into the program: a fat binary, which is loaded when something of it is first used.
pub(super) struct Binary {
    image: Image,
    library: Mutex<Option<Result<Arc<Library>, Code>>>,
    /// Where the program keeps the addresses of its managed variables, with their names.
    pub(super) managed: Mutex<Vec<(Out<u64>, String)>>,
}

/// A kernel or a variable of a fat binary.
#[derive(Clone)]
pub(super) struct Symbol {
    pub(super) binary: Arc<Binary>,
    pub(super) name: String,
}

/// All that is registered, by addresses of the host.
#[derive(Default)]
pub(super) struct Registered {
    pub(super) kernels: FxHashMap<usize, Symbol>,
    pub(super) variables: FxHashMap<usize, Symbol>,
}

pub(super) static BINARIES: LazyLock<Table<Binary>> = LazyLock::new(Table::default);
pub(super) static REGISTERED: LazyLock<Mutex<Registered>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The card of this thread, while no context is current.
    static DEVICE: Cell<c_int> = const { Cell::new(0) };
}

/// Primary contexts that the runtime keeps.
static KEPT: Mutex<Vec<(c_int, Handle)>> = Mutex::new(Vec::new());

impl Binary {
    pub(super) fn new(image: Image) -> Binary {
        Binary {
            image,
            library: Mutex::default(),
            managed: Mutex::default(),
        }
    }

    /// Its program, loaded the first time; one that is refused stays so.
    pub(super) fn library(&self) -> Result<Arc<Library>, Code> {
        let mut library = lock(&self.library);
        library.get_or_insert_with(|| self.load()).clone()
    }

    fn load(&self) -> Result<Arc<Library>, Code> {
        let settings = &driver()?.settings;
        let pieces = self.image.pieces()?;
        // Of several, one may be a library that has nothing for this card and that nothing needs, as the device runtime:
        // what is missing is named when they are linked.
        let found = pieces.iter().map(|piece| piece.ptx(settings.target.sm));
        let is_spare =
            |one: &Result<_, Status>| pieces.len() > 1 && *one == Err(Status::NoBinaryForGpu);
        let texts = found
            .filter(|one| !is_spare(one))
            .collect::<Result<Vec<_>, _>>()?;
        let program: Program = match &texts[..] {
            [] => return Err(Status::NoBinaryForGpu.into()),
            [text] => compile(settings, text, &JitOptions::NONE)?,
            several => {
                let named = several.iter().enumerate().map(|(at, text)| {
                    let text = String::from_utf8_lossy(text).into_owned();
                    (format!("part {}", at + 1), text)
                });
                let linked = link_texts(&named.collect::<Vec<_>>()).map_err(|log| {
                    crate::report::refused(&log);
                    Status::InvalidPtx
                })?;
                compile(settings, linked.as_bytes(), &JitOptions::NONE)?
            }
        };
        Ok(Arc::new(Library::new(program)))
    }

    /// Tells the program where its managed variables are.
    pub(super) fn bind(&self) -> Result<(), Code> {
        let managed = lock(&self.managed);
        if managed.is_empty() {
            return Ok(());
        }
        let context = ready()?;
        let (module, _) = self.library()?.module(&context.core, &driver()?.modules)?;
        for (place, name) in managed.iter() {
            let (address, _) = module.variable(name).ok_or(Code::INVALID_SYMBOL)?;
            place.put(address)?;
        }
        Ok(())
    }
}

/// The driver is initialised.
pub(super) fn start() -> Result<(), Code> {
    if driver().is_ok() {
        return Ok(());
    }
    well(cuInit(0))?;
    // A runtime is older than the driver, or as old.
    if driver()?.settings.driver / 1000 < super::version() / 1000 {
        return Err(Code::INSUFFICIENT_DRIVER);
    }
    Ok(())
}

/// The card that this thread uses.
pub(super) fn device() -> c_int {
    current().map_or_else(
        |_none| DEVICE.get(),
        |context| context.core.card.index as c_int,
    )
}

/// From now on this thread uses a card: its primary context is current.
pub(super) fn choose(device: c_int) -> Result<(), Code> {
    let driver = driver()?;
    let card = driver.card(device)?;
    let known = lock(&card.primary).context;
    let kept = lock(&KEPT)
        .iter()
        .any(|(index, handle)| *index == device && Some(*handle) == known);
    let context = match known.filter(|_| kept) {
        Some(handle) => handle,
        None => {
            let mut handle = Handle::NULL;
            well(cuDevicePrimaryCtxRetain(Out::to(&mut handle), device))?;
            let mut all = lock(&KEPT);
            all.retain(|(index, _)| *index != device);
            all.push((device, handle));
            handle
        }
    };
    DEVICE.set(device);
    with_stack(|stack| match stack.last_mut() {
        Some(top) => *top = context,
        None => stack.push(context),
    });
    Ok(())
}

/// The context of this thread, which is made where there is none.
pub(super) fn ready() -> Result<Arc<Context>, Code> {
    start()?;
    if let Ok(context) = current() {
        return Ok(context);
    }
    choose(DEVICE.get())?;
    Ok(current()?)
}

/// The kernel that an address of the host, or a handle, stands for.
pub(super) fn kernel(at: Handle) -> Result<(Arc<Function>, Handle), Code> {
    let context = ready()?;
    let known = lock(&REGISTERED).kernels.get(&at.0).cloned();
    let Some(Symbol { binary, name }) = known else {
        return function_with_handle(at).map_err(|_| Code::INVALID_DEVICE_FUNCTION);
    };
    let (module, _) = binary
        .library()?
        .module(&context.core, &driver()?.modules)?;
    let found = module.function_handle(&driver()?.functions, &name);
    found.map_err(|_| Code::INVALID_DEVICE_FUNCTION)
}

/// The address of the host that stands for a kernel of a fat binary.
pub(super) fn host_of(handle: Handle) -> Result<Option<Handle>, Code> {
    let driver = driver()?;
    let function = driver.functions.find(handle)?;
    let context = ready()?;
    // Others need not be loaded for the search.
    let mut named: Vec<(usize, Symbol)> = Vec::new();
    for (host, symbol) in &lock(&REGISTERED).kernels {
        if function.name.to_bytes() == symbol.name.as_bytes() {
            named.push((*host, symbol.clone()));
        }
    }
    let is_it = |symbol: &Symbol| {
        let module = symbol
            .binary
            .library()
            .map(|one| one.module(&context.core, &driver.modules));
        matches!(module, Ok(Ok((module, _))) if Arc::ptr_eq(&module, &function.module))
    };
    let found = named.iter().find(|(_, symbol)| is_it(symbol));
    Ok(found.map(|(host, _)| Handle(*host)))
}

/// Address and size of the variable that an address of the host stands for.
pub(super) fn variable(at: usize) -> Result<(u64, u64), Code> {
    let context = ready()?;
    let known = lock(&REGISTERED).variables.get(&at).cloned();
    let Some(Symbol { binary, name }) = known else {
        // A managed variable stands for itself.
        let found = context.core.block(at as u64, 0);
        return found
            .map(|(start, block)| (start, block.bytes))
            .map_err(|_| Code::INVALID_SYMBOL);
    };
    let (module, _) = binary
        .library()?
        .module(&context.core, &driver()?.modules)?;
    module.variable(&name).ok_or(Code::INVALID_SYMBOL)
}

/// A range of such a variable.
pub(super) fn part(at: usize, offset: usize, bytes: usize) -> Result<u64, Code> {
    let (address, len) = variable(at)?;
    let end = (offset as u64).checked_add(bytes as u64);
    if end.is_none_or(|end| end > len) {
        return Err(Code::INVALID_VALUE);
    }
    Ok(address + offset as u64)
}
