//! The machine: configuration, device memory, helper threads.

use crate::{
    check::{Checker, Finding, Host, StreamOrder, Turn},
    config::{Compile, Config},
    error::Error,
    memory::{Addresses, Arena, Fresh},
    module::Module,
    outside::Outside,
    pool::Pool,
    printed::Printed,
    texture::{Object, Objects, Surface, Texture},
    tier::Tier,
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use warpsmith_ptx::verify::Verified;

/// A virtual GPU. Clones share it.
///
/// ```
/// use warpsmith_ptx::{parse::parse, verify::verify};
/// use warpsmith_vgpu::{Config, Launch, Machine, check::Checks};
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
/// let machine = Machine::new(Config { checks: Some(Checks::default()), ..Config::default() })?;
/// let module = machine.load(&verify(parse(text).expect("PTX")).expect("right PTX"))?;
/// let (kernel, y) = (module.kernel("seven").expect("its entry"), machine.alloc(4)?);
/// let stream = machine.stream()?;
/// stream.launch(Launch {
///     kernel,
///     grid: [1, 1, 1],
///     block: [1, 1, 1],
///     dynamic_shared: 0,
///     params: y.to_le_bytes().to_vec(),
///     cooperative: false,
///     cluster: None,
/// })?;
/// stream.synchronize()?;
/// let mut word = [0; 4];
/// machine.read(y, &mut word)?;
/// assert_eq!(u32::from_le_bytes(word), 7);
/// assert!(machine.take_findings().is_empty());
/// # Ok::<(), warpsmith_vgpu::Error>(())
/// ```
#[derive(Clone)]
pub struct Machine(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) tier: Tier,
    pub(crate) arena: Arena,
    pub(crate) pool: Pool,
    /// The checker between launches; one launch at a time has it.
    pub(crate) checker: Option<Mutex<Option<Box<Checker>>>>,
    pub(crate) printed: Arc<Printed>,
    pub(crate) objects: Arc<Objects>,
    /// What the host has waited for, and how many streams there were.
    host: Host,
    streams: AtomicU64,
    pub(crate) outside: Arc<Outside>,
}

impl Machine {
    /// Reserves device memory and starts the helper threads.
    ///
    /// # Errors
    /// If the system gives no address space or threads, or the CPU lacks the tier asked for.
    pub fn new(config: Config) -> Result<Machine, Error> {
        let tier = match config.tier {
            Some(tier) if !tier.is_available() => return Err(Error::Tier { tier }),
            Some(tier) => tier,
            None => Tier::best(),
        };
        let workers = match config.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let fresh = if config.poison {
            Fresh::Poisoned
        } else {
            Fresh::Anything
        };
        let addresses = if config.unified {
            Addresses::OfTheHost
        } else {
            Addresses::Own
        };
        let arena = Arena::new(config.memory, fresh, addresses)?;
        // What is checked runs in one order.
        let helpers = if config.checks.is_some() {
            0
        } else {
            workers - 1
        };
        let pool = Pool::new(helpers)?;
        let checker = match &config.checks {
            Some(checks) => {
                let range = arena.range();
                let checker = Checker::new(checks.clone(), config.observer.clone(), range);
                let fail = |error: std::io::Error| Error::Reserve {
                    bytes: range.1,
                    reason: error.to_string(),
                };
                Some(Mutex::new(Some(Box::new(checker.map_err(fail)?))))
            }
            None => None,
        };
        Ok(Machine(Arc::new(Inner {
            config,
            tier,
            arena,
            pool,
            checker,
            printed: Arc::default(),
            objects: Arc::default(),
            host: Host::default(),
            streams: AtomicU64::new(0),
            outside: Arc::default(),
        })))
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The code path in use.
    pub fn tier(&self) -> Tier {
        self.0.tier
    }

    /// A block of device memory, 256-byte aligned; its contents are undefined.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        let address = self.0.arena.alloc(bytes)?;
        self.0
            .checked(|checker| checker.global.allocated(address, bytes));
        Ok(address)
    }

    /// Gives a block back now, whatever streams still do with it; see [`Stream::free`](crate::Stream::free).
    ///
    /// # Errors
    /// [`Error::NotAllocated`].
    pub fn free(&self, address: u64) -> Result<(), Error> {
        self.0.free(address)
    }

    /// What the checks have found since the last call; empty without them.
    pub fn take_findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.0.checked(|checker| findings = checker.take());
        findings
    }

    /// What kernels have printed since the last call, in the order in which their calls ran. 64 MiB are kept.
    pub fn take_printed(&self) -> String {
        self.0.printed.take()
    }

    /// Adds a finding for each block of memory that is still allocated and that `counts`, by its address; variables of
    /// modules apart.
    pub fn check_leaks(&self, counts: impl Fn(u64) -> bool) {
        self.0.checked(|checker| checker.leaks(&counts));
    }

    /// Free and total bytes of device memory.
    pub fn memory_info(&self) -> (u64, u64) {
        self.0.arena.info()
    }

    /// Takes a module: places its variables in device memory.
    ///
    /// # Errors
    /// If it is for a newer PTX version or another address size, or memory is short.
    pub fn load(&self, module: &Verified) -> Result<Module, Error> {
        Module::new(self, module)
    }

    /// Writes device memory now.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let done = self.0.arena.window().write(address, bytes);
        check(done, address, bytes.len() as u64)?;
        self.0
            .checked(|checker| checker.global.written(address, bytes.len() as u64));
        Ok(())
    }

    /// Reads device memory now.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let done = self.0.arena.window().read(address, bytes);
        check(done, address, bytes.len() as u64)?;
        self.0
            .checked(|checker| checker.host_reads(address, bytes.len() as u64));
        Ok(())
    }

    /// Reads device memory now, for a copy that has a turn in a stream.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read_in(
        &self,
        turn: Option<&Turn>,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        self.read(address, bytes)?;
        if let Some(turn) = turn {
            let len = bytes.len() as u64;
            self.0
                .checked(|checker| checker.host_copies(turn, address, len));
        }
        Ok(())
    }

    /// The handle by which kernels read a texture, until [`Machine::forget`].
    pub fn texture(&self, texture: Texture) -> u64 {
        self.0.objects.insert(Object::Texture(Arc::new(texture)))
    }

    /// The handle by which kernels read and write a surface, until [`Machine::forget`].
    pub fn surface(&self, surface: Surface) -> u64 {
        self.0.objects.insert(Object::Surface(surface))
    }

    /// Takes back the handle of a texture or surface; whether there was one.
    pub fn forget(&self, handle: u64) -> bool {
        self.0.objects.remove(handle)
    }

    /// Device memory of `bytes` that the host writes while kernels run, by [`Machine::store_word`]: a kernel may wait for
    /// that, whatever else waits. [`Machine::free_words`] gives it back.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alloc_words(&self, bytes: u64) -> Result<u64, Error> {
        let address = self.alloc(bytes)?;
        self.0.outside.words.fetch_add(1, Ordering::SeqCst);
        Ok(address)
    }

    /// Gives back what [`Machine::alloc_words`] gave.
    ///
    /// # Errors
    /// [`Error::NotAllocated`].
    pub fn free_words(&self, address: u64) -> Result<(), Error> {
        self.free(address)?;
        self.0.outside.words.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    /// One aligned word of device memory, while kernels run: what was written before it is seen after this.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn load_word(&self, address: u64) -> Result<u32, Error> {
        let word = self.0.arena.window().load::<u32>(address);
        std::sync::atomic::fence(Ordering::Acquire);
        word.map_err(|_| Error::Range { address, len: 4 })
    }

    /// Writes one aligned word of device memory, while kernels run, after all that was written before this.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn store_word(&self, address: u64, value: u32) -> Result<(), Error> {
        std::sync::atomic::fence(Ordering::Release);
        let done = self.0.arena.window().store(address, value);
        done.map_err(|_| Error::Range { address, len: 4 })
    }

    /// Where a byte of device memory is in this process; whoever writes there races with running kernels, which may wait
    /// for that from now on.
    pub fn host_pointer(&self, address: u64) -> Option<*mut u8> {
        self.0.outside.words.fetch_add(1, Ordering::SeqCst);
        self.0.arena.window().pointer(address)
    }
}

/// Why kernels are only interpreted here, if they are.
pub fn no_compiler() -> Option<String> {
    if !Tier::Avx2.is_available() {
        return Some("they are compiled for AVX2 and AVX-512 alone".to_owned());
    }
    let error = crate::native::probe().err()?;
    Some(format!("the system gives no memory for code: {error}"))
}

impl Inner {
    /// Whether kernels are compiled.
    pub(crate) fn compiles(&self) -> bool {
        let config = &self.config;
        let wanted = match config.compile {
            Compile::Never => false,
            Compile::Worth => config.seed.is_none(),
            Compile::Always => true,
        };
        wanted && self.tier.is_compiled() && config.checks.is_none() && config.budget.is_none()
    }

    /// What a new stream's launches come after, where that is checked.
    pub(crate) fn stream_order(&self) -> Option<StreamOrder> {
        self.checker.as_ref()?;
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        Some(StreamOrder::new(number, self.host.clone()))
    }

    /// Tells the checker something, if there is one.
    pub(crate) fn checked(&self, f: impl FnOnce(&mut Checker)) {
        if let Some(checker) = &self.checker {
            let mut checker = checker.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(checker) = checker.as_mut() {
                f(checker);
            }
        }
    }

    /// Gives a block back; what is checked is not handed out again, so that a later use shows.
    pub(crate) fn free(&self, address: u64) -> Result<(), Error> {
        if self.checker.is_none() {
            return self.arena.free(address);
        }
        self.arena.retire(address)?;
        self.checked(|checker| checker.global.freed(address));
        Ok(())
    }
}

/// The error of a range that is not in device memory.
pub(crate) fn check(done: bool, address: u64, len: u64) -> Result<(), Error> {
    if done {
        Ok(())
    } else {
        Err(Error::Range { address, len })
    }
}
