//! The driver as a whole: its settings, its cards, and the objects that handles stand for.

use crate::{
    array::{Array, Mipmapped},
    context::Context,
    core::{Card, Core, Leaks},
    event::Event,
    graph::{Exec, Graph, Node, UserObject},
    library::{Library, LibraryKernel},
    linker::Link,
    module::{Function, Module},
    object::Object,
    pool::Pool,
    reserve::{Backing, Span},
    settings::{PREFIX, Settings},
    status::Status,
    stream::Stream,
    table::{Handle, Table, lock},
};
use std::{
    cell::RefCell,
    sync::{Arc, Mutex, OnceLock},
};

/// All there is once `cuInit` has succeeded.
pub(crate) struct Driver {
    /// The process that initialised it.
    process: u32,
    pub(crate) settings: Settings,
    pub(crate) cards: Vec<Card>,
    pub(crate) contexts: Table<Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) libraries: Table<Library>,
    pub(crate) kernels: Table<LibraryKernel>,
    pub(crate) pools: Table<Pool>,
    pub(crate) spans: Table<Span>,
    pub(crate) backings: Table<Backing>,
    pub(crate) arrays: Table<Array>,
    pub(crate) pyramids: Table<Mipmapped>,
    pub(crate) objects: Table<Object>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) nodes: Table<Node>,
    pub(crate) user_objects: Table<UserObject>,
    pub(crate) execs: Table<Exec>,
    pub(crate) links: Table<Link>,
}

static DRIVER: OnceLock<Result<Driver, Status>> = OnceLock::new();
/// What the program set by a call.
static WORDS: Mutex<String> = Mutex::new(String::new());

/// Sets `NAME=value` pairs before the driver is initialised.
pub(crate) fn configure(words: &str) -> Result<(), Status> {
    if DRIVER.get().is_some() {
        return Err(Status::InvalidValue);
    }
    let mut all = lock(&WORDS);
    all.push(' ');
    all.push_str(words);
    Settings::read(|name| set(&all, name)).map_err(|_| Status::InvalidValue)?;
    Ok(())
}

fn set(words: &str, name: &str) -> Option<String> {
    let mut pairs = words
        .split_whitespace()
        .rev()
        .filter_map(|word| word.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// Initialises once; later calls return what the first did.
pub(crate) fn init() -> Result<(), Status> {
    match DRIVER.get_or_init(start) {
        Ok(_) => driver().map(drop),
        Err(status) => Err(*status),
    }
}

/// A setting of the environment.
fn variable(name: &str) -> Option<String> {
    std::env::var(format!("{PREFIX}{name}")).ok()
}

/// What the program and its environment ask for.
fn wanted() -> Result<Settings, Status> {
    let words = lock(&WORDS).clone();
    let lookup = |name: &str| set(&words, name).or_else(|| variable(name));
    Settings::read(lookup).map_err(|_| Status::InvalidValue)
}

/// The version of CUDA that the driver reports, which is known before it is initialised.
pub(crate) fn version() -> Result<i32, Status> {
    match driver() {
        Ok(driver) => Ok(driver.settings.driver),
        Err(_not_initialised) => Ok(wanted()?.driver),
    }
}

fn start() -> Result<Driver, Status> {
    let settings = wanted()?;
    if settings.faults.init != 0 {
        return Err(Status::of_code(settings.faults.init).unwrap_or(Status::Unknown));
    }
    if settings.devices == 0 {
        return Err(Status::NoDevice);
    }
    crate::report::begin(&settings);
    crate::host::at_exit(ends);
    Ok(Driver {
        process: std::process::id(),
        cards: (0..settings.devices).map(Card::new).collect(),
        settings,
        contexts: Table::default(),
        streams: Table::default(),
        events: Table::default(),
        modules: Table::default(),
        functions: Table::default(),
        libraries: Table::default(),
        kernels: Table::default(),
        pools: Table::default(),
        spans: Table::default(),
        backings: Table::default(),
        arrays: Table::default(),
        pyramids: Table::default(),
        objects: Table::default(),
        graphs: Table::default(),
        nodes: Table::default(),
        user_objects: Table::default(),
        execs: Table::default(),
        links: Table::default(),
    })
}

/// The process ends.
extern "C" fn ends() {
    if let Ok(driver) = driver() {
        // A panic must not get into the code that ends a process.
        let _lost = std::panic::catch_unwind(|| driver.ends());
    }
}

/// The driver, if it is initialised.
pub(crate) fn driver() -> Result<&'static Driver, Status> {
    match DRIVER.get() {
        // A process that was forked off has none of the threads.
        Some(Ok(driver)) if driver.process == std::process::id() => Ok(driver),
        Some(_) | None => Err(Status::NotInitialized),
    }
}

impl Driver {
    /// A context of a card.
    pub(crate) fn context(&'static self, card: &'static Card) -> Result<Context, Status> {
        let core = Core::new(&self.settings, card)?;
        Ok(Context::new(core, &self.streams))
    }

    /// Ends a context: waits for its work, forgets its objects, gives its memory back.
    pub(crate) fn destroy(&self, context: &Context) {
        let _errors_go_with_the_context = context.synchronize();
        self.forget(&context.core);
        context.end(self.leaks_of(&context.core));
    }

    /// What a context that ends is asked for.
    fn leaks_of(&self, core: &Core) -> Leaks {
        let all = self.contexts.all();
        let other = |context: &Arc<Context>| {
            context.core.card.index == core.card.index && !std::ptr::eq(&*context.core, core)
        };
        if all.iter().any(other) {
            Leaks::Own
        } else {
            Leaks::OfCard
        }
    }

    /// The context whose memory an address is in.
    pub(crate) fn holder(&self, address: u64) -> Option<Arc<Context>> {
        let mut all = self.contexts.all().into_iter();
        all.find(|context| context.core.block(address, 0).is_ok())
    }

    pub(crate) fn card(&self, index: i32) -> Result<&Card, Status> {
        let index = usize::try_from(index).map_err(|_| Status::InvalidDevice)?;
        self.cards.get(index).ok_or(Status::InvalidDevice)
    }

    /// Forgets all objects of a context.
    fn forget(&self, core: &Arc<Core>) {
        let of_it = |other: &Arc<Core>| Arc::ptr_eq(other, core);
        self.execs.forget(|exec| of_it(&exec.core));
        self.graphs.forget(|graph| of_it(&graph.core));
        self.nodes.forget(|node| of_it(&node.core));
        self.libraries.each(|library| library.forget(core));
        self.events.forget(|event| of_it(&event.core));
        self.streams.forget(|stream| of_it(&stream.core));
        self.functions
            .forget(|function| of_it(&function.module.core));
        self.modules.forget(|module| of_it(&module.core));
        self.objects.forget(|object| of_it(&object.core));
        self.arrays.forget(|array| of_it(&array.core));
        self.pyramids.forget(|all| of_it(&all.core));
    }
}

impl Driver {
    /// What is to be told when the process ends: of contexts that were not destroyed, what was printed and what leaked.
    pub(crate) fn ends(&self) {
        for context in self.contexts.all() {
            context.tell();
            if context.is_done() {
                context.core.leaks(self.leaks_of(&context.core));
            }
        }
    }
}

thread_local! {
    /// The contexts of this thread, the current one last.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// Changes this thread's contexts.
pub(crate) fn with_stack<T>(f: impl FnOnce(&mut Vec<Handle>) -> T) -> T {
    STACK.with_borrow_mut(f)
}

/// The current context, whatever state it is in.
pub(crate) fn current() -> Result<Arc<Context>, Status> {
    let driver = driver()?;
    let top = with_stack(|stack| stack.last().copied()).unwrap_or(Handle::NULL);
    driver
        .contexts
        .find(top)
        .map_err(|_| Status::InvalidContext)
}

/// The current context, if it is well.
pub(crate) fn usable() -> Result<Arc<Context>, Status> {
    let context = current()?;
    context.core.well()?;
    Ok(context)
}

/// The function that a handle stands for: of a module, or of a kernel of a library in this context.
pub(crate) fn function(handle: Handle) -> Result<Arc<Function>, Status> {
    function_with_handle(handle).map(|(function, _)| function)
}

/// A function of a library, with the handle it has as a function.
pub(crate) fn function_with_handle(handle: Handle) -> Result<(Arc<Function>, Handle), Status> {
    let driver = driver()?;
    if let Ok(function) = driver.functions.find(handle) {
        return Ok((function, handle));
    }
    let kernel = driver.kernels.find(handle)?;
    let context = usable()?;
    let (module, _) = kernel.library.module(&context.core, &driver.modules)?;
    let name = kernel.name.to_str().map_err(|_| Status::InvalidHandle)?;
    module.function_handle(&driver.functions, name)
}
