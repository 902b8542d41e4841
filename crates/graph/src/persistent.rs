//! Persistent runs: a plan compiled to one cooperative kernel that makes token after token until it is told to end.

use crate::{
    error::Error,
    plan::Plan,
    span::Span,
    step::{TiledStep, Touched},
};
use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{Ordering, fence},
    },
    time::Duration,
};
use warpsmith_device::{Buffer, Event, Grid, Loaded, Placement, Stream, Touch, Use, Words};
use warpsmith_kernel::{LaunchError, args::Signature, item::Body, require};
use warpsmith_library::persistent::{
    self as library, End, PersistentArgs, Prefetch, RECORD, Schedule, shared,
};
use warpsmith_ptx::verify::Verified;

/// How a plan becomes one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersistentShape {
    /// Threads of a CTA: a power of two from 32 to 1024; 0 takes what suits the device.
    pub threads: u32,
    /// CTAs; 0 takes as many as run at the same time.
    pub ctas: u32,
    /// How tiles come to CTAs; `None` takes what suits the device: claimed where multiprocessors are virtual, for the host
    /// may hold any of their threads up.
    pub schedule: Option<Schedule>,
    /// What CTAs fetch while they wait; `None` takes what suits the device: a card's fetch where shared memory has room.
    pub prefetch: Option<Prefetch>,
}

/// Threads of a CTA on the virtual GPU, which runs one warp at a time: nothing is gained by more, and barriers cost less.
const FEW_THREADS: u32 = 32;
/// Threads of a CTA on a card.
const MANY_THREADS: u32 = 256;

/// What tells that a run is over.
#[derive(Debug)]
pub struct Until<'a> {
    /// The token that a step of the plan leaves, and words that are told with it.
    pub token: &'a Buffer<u32>,
    /// A position that a step leaves: one word.
    pub position: &'a Buffer<u32>,
    /// Tokens after which nothing follows.
    pub ends: &'a [u32],
    /// The position after which nothing follows, as the last token then has no place.
    pub context: u32,
    /// Tokens of a run at most.
    pub most: u32,
}

/// What a persistent kernel is, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersistentReport {
    /// Steps of a token.
    pub steps: usize,
    /// Different bodies in the kernel.
    pub bodies: usize,
    /// Steps that wait for an earlier one.
    pub waits: usize,
    /// CTAs.
    pub ctas: u32,
    /// Threads of a CTA.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Bytes of a CTA's shared memory for what it fetches while it waits; 0 where it fetches nothing.
    pub prefetched: u32,
}

/// A plan as one kernel. It keeps the plan's memory and all that the plan uses.
pub struct Persistent {
    module: Verified,
    kernel: Loaded,
    report: PersistentReport,
    context: u32,
    capacity: u32,
    records: Buffer<u32>,
    table: Buffer<u8>,
    arrived: Buffer<u32>,
    claimed: Buffer<u32>,
    verdict: Buffer<u32>,
    ends: Buffer<u32>,
    token: Span<u32>,
    position: Span<u32>,
    uses: Vec<(Arc<dyn Any + Send + Sync>, Touch)>,
    words: Words,
    stream: Stream,
    /// The end of the run under way.
    running: Option<Event>,
}

/// Steps of a plan, ready for the kernel's tables.
struct Tables {
    bodies: Vec<Arc<dyn Body>>,
    records: Vec<u32>,
    arguments: Vec<u8>,
    waits: usize,
    uses: Vec<(Arc<dyn Any + Send + Sync>, Touch)>,
}

/// Arguments of a step start at a multiple of this.
const ALIGN: usize = 16;

fn tables(parts: Vec<TiledStep>) -> Result<Tables, Error> {
    let mut tables = Tables {
        bodies: Vec::new(),
        records: Vec::new(),
        arguments: Vec::new(),
        waits: 0,
        uses: Vec::new(),
    };
    for (at, part) in parts.iter().enumerate() {
        let known = tables.bodies.iter().position(|body| body.is(&*part.body));
        let kind = known.unwrap_or_else(|| {
            tables.bodies.push(Arc::clone(&part.body));
            tables.bodies.len() - 1
        });
        // Every CTA walks the steps in order: who has arrived at a step is done with those before it.
        let before = (0..at)
            .rev()
            .find(|b| part.touched.meets(&parts[*b].touched));
        let wait = before.map_or(0, |before| before as u32 + 1);
        tables.waits += usize::from(wait > 0);
        let tiles = u32::try_from(part.tiles)
            .ok()
            .filter(|tiles| *tiles < 1 << 24);
        let tiles = tiles.ok_or(LaunchError::Value {
            what: "tiles",
            found: part.tiles,
            expected: "below 2^24 for a step of a persistent kernel",
        })?;
        let start = tables.arguments.len().next_multiple_of(ALIGN);
        tables.arguments.resize(start, 0);
        tables.arguments.extend_from_slice(&part.arguments);
        tables
            .records
            .extend([kind as u32, tiles, start as u32, wait]);
        for (memory, touch) in &part.touched.memory {
            let known = tables
                .uses
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, memory));
            match known {
                Some((_, so_far)) if *touch == Touch::Write => *so_far = Touch::Write,
                Some(_) => {}
                None => tables.uses.push((Arc::clone(memory), *touch)),
            }
        }
    }
    Ok(tables)
}

impl Persistent {
    /// Compiles the steps of `plan` to one kernel for the stream's device, and puts its tables there.
    ///
    /// # Errors
    /// [`Error::Resize`] for a kernel that has no form of this CTA size, [`Error::Residency`], [`Error::Shared`], device
    /// errors.
    pub fn new(
        stream: &Stream,
        plan: &Plan,
        until: &Until<'_>,
        shape: PersistentShape,
    ) -> Result<Persistent, Error> {
        let PersistentShape {
            threads,
            ctas,
            schedule,
            prefetch,
        } = shape;
        let device = stream.device();
        let is_virtual = device.info().hardware().is_virtual();
        let threads = match threads {
            0 if is_virtual => FEW_THREADS,
            0 => MANY_THREADS,
            threads => threads,
        };
        let schedule = match schedule {
            None if is_virtual => Schedule::Claimed,
            None => Schedule::Static,
            Some(schedule) => schedule,
        };
        require(
            threads.is_power_of_two() && (32..=1024).contains(&threads),
            "threads",
            threads.into(),
            "a power of two from 32 to 1024",
        )?;
        require(!plan.steps().is_empty(), "steps", 0, "at least 1")?;
        let parts = plan.steps().iter().map(|step| step.part(threads));
        let tables = tables(parts.collect::<Result<_, _>>()?)?;
        let target = device.info().target;
        let recipe = |prefetch| library::Persistent {
            threads,
            schedule,
            prefetch,
            bodies: &tables.bodies,
        };
        let first = match prefetch {
            None if is_virtual => Prefetch::Off,
            None => Prefetch::On,
            Some(prefetch) => prefetch,
        };
        let most = device.info().shared_per_block;
        let mut chosen = recipe(first);
        let mut built = chosen.build(target)?;
        if built.dynamic_shared > most && prefetch.is_none() {
            chosen = recipe(Prefetch::Off);
            built = chosen.build(target)?;
        }
        let prefetched = chosen.prefetched(target);
        if built.dynamic_shared > most {
            let bytes = built.dynamic_shared;
            return Err(Error::Shared { bytes, most });
        }
        let kernel = device.load(&built.module)?.entry(&built.entry)?;
        let resident = device.resident_ctas(&kernel, threads, built.dynamic_shared)?;
        let wanted = if ctas == 0 { resident } else { ctas.into() };
        if wanted > resident || resident == 0 {
            let (ctas, most) = (wanted.max(1), resident);
            return Err(Error::Residency { ctas, most });
        }
        let steps = plan.steps().len();
        let words = until.token.len() as u64;
        let ring = u64::from(shared::RING) + u64::from(until.most.max(1)) * words;
        require(
            ring < 1 << 31,
            "most",
            until.most.into(),
            "a ring below 2^31 words",
        )?;
        Ok(Persistent {
            report: PersistentReport {
                steps,
                bodies: tables.bodies.len(),
                waits: tables.waits,
                ctas: wanted as u32,
                threads,
                dynamic_shared: built.dynamic_shared,
                prefetched,
            },
            module: built.module,
            kernel,
            context: until.context,
            capacity: until.most.max(1),
            records: stream.upload_new(&tables.records)?,
            table: stream.upload_new(&tables.arguments)?,
            arrived: stream.alloc(steps + 1)?,
            claimed: stream.alloc(steps)?,
            verdict: stream.alloc(1)?,
            ends: stream.upload_new(until.ends)?,
            token: Span::of(until.token),
            position: Span::of(until.position),
            uses: tables.uses,
            words: device.words(ring as usize)?,
            stream: stream.clone(),
            running: None,
        })
    }

    /// What it is.
    pub fn report(&self) -> PersistentReport {
        self.report
    }

    /// The kernel as PTX, for tools.
    pub fn module(&self) -> &Verified {
        &self.module
    }

    /// Starts it: one launch that makes at most `tokens` tokens. Nothing waits here.
    ///
    /// # Errors
    /// Device errors.
    pub fn start(&mut self, tokens: u32) -> Result<Running<'_>, Error> {
        self.wait()?;
        for word in [shared::STOP, shared::MADE, shared::STATUS] {
            self.words.set(word as usize, 0);
        }
        self.stream.fill_zero(&mut self.arrived)?;
        self.stream.fill_zero(&mut self.claimed)?;
        let words = Span::new(self.words.address(), self.words.len(), None);
        let args: PersistentArgs<crate::span::Planned> = PersistentArgs {
            records: Span::of(&self.records),
            table: Span::of(&self.table),
            arrived: Span::of(&self.arrived),
            claimed: Span::of(&self.claimed),
            verdict: Span::of(&self.verdict),
            token_words: self.token.len() as u32,
            token: self.token.clone(),
            position: self.position.clone(),
            ends: Span::of(&self.ends),
            shared_words: words.len() as u32,
            shared: words,
            steps: self.report.steps as u32,
            record_words: RECORD,
            table_bytes: self.table.len() as u32,
            ends_len: self.ends.len() as u32,
            capacity: self.capacity,
            // No more tokens than the ring holds.
            tokens: tokens.min(self.capacity),
            context: self.context,
        };
        let mut own = Touched::default();
        let arguments = warpsmith_device::Arguments::check(
            || library::NAME.into(),
            |visitor| PersistentArgs::visit::<crate::span::Planned>(&args, visitor),
        )?;
        PersistentArgs::visit::<crate::span::Planned>(&args, &mut own);
        let uses = self.uses.iter().chain(&own.memory);
        let uses: Vec<Use> = uses
            .map(|(memory, touch)| Use::of(memory, *touch))
            .collect();
        let grid = Grid {
            dynamic_shared: self.report.dynamic_shared,
            placement: Placement::Cooperative,
            ..Grid::linear(self.report.ctas, self.report.threads)
        };
        self.stream
            .launch_built(&self.kernel, grid, arguments.bytes(), &uses)?;
        self.running = Some(self.stream.record()?);
        Ok(Running {
            persistent: self,
            seen: 0,
        })
    }

    /// Waits for the run under way.
    fn wait(&mut self) -> Result<(), Error> {
        if self.running.take().is_some() {
            self.stream.synchronize()?;
        }
        Ok(())
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        self.words.set(shared::STOP as usize, 1);
        // The kernel writes to the words until it ends; an error has no one left to be told to.
        let _lost = self.wait();
    }
}

/// A run under way. Dropping it tells the kernel to end, and waits for that.
pub struct Running<'a> {
    persistent: &'a mut Persistent,
    seen: u32,
}

/// How often the host looks for a token before it sleeps in between.
const LOOKS: u32 = 50;
/// How long it sleeps first, and how many times that at most: each sleep is longer than the one before, for each time it
/// wakes it may take a core from the device.
const SLEEP: Duration = Duration::from_micros(100);
const MOST_SLEEPS: u32 = 10;

impl Running<'_> {
    fn word(&self, index: u32) -> u32 {
        self.persistent.words.get(index as usize).unwrap_or(0)
    }

    /// Asks the kernel to end with the token that it is making: at most one more than [`Running::made`] says after this.
    pub fn stop(&self) {
        self.persistent.words.set(shared::STOP as usize, 1);
        // What is read after this is no older than the flag.
        fence(Ordering::SeqCst);
    }

    /// Tokens made so far.
    pub fn made(&self) -> u32 {
        self.word(shared::MADE)
    }

    /// The next token as soon as it is made; `None` after the last.
    ///
    /// # Errors
    /// If the kernel failed.
    pub fn token(&mut self) -> Result<Option<u32>, Error> {
        let mut words = [0];
        Ok(self.record(&mut words)?.then_some(words[0]))
    }

    /// Writes the first words of the next token as soon as it is made; false after the last.
    ///
    /// # Errors
    /// If the kernel failed.
    pub fn record(&mut self, into: &mut [u32]) -> Result<bool, Error> {
        let mut looks = 0;
        loop {
            let ended = self.word(shared::STATUS) != 0;
            if self.word(shared::MADE) > self.seen {
                let words = self.persistent.token.len() as u32;
                let slot = shared::RING + self.seen % self.persistent.capacity * words;
                self.seen += 1;
                for (at, word) in (0..words).zip(into) {
                    *word = self.word(slot + at);
                }
                return Ok(true);
            }
            if ended {
                return Ok(false);
            }
            looks += 1;
            if looks > LOOKS {
                std::thread::sleep(SLEEP * (looks - LOOKS).min(MOST_SLEEPS));
                let done = match &self.persistent.running {
                    Some(event) => event.is_done()?,
                    None => true,
                };
                if done && self.word(shared::STATUS) == 0 {
                    // It ended without a word: whatever failed is told here.
                    self.persistent.wait()?;
                    return Ok(false);
                }
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Waits for the end; why it ended, and the tokens that were made in all.
    ///
    /// # Errors
    /// If the kernel failed.
    pub fn finish(self) -> Result<(Option<End>, u32), Error> {
        self.persistent.wait()?;
        Ok((End::of(self.word(shared::STATUS)), self.word(shared::MADE)))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.stop();
        // The next use of the stream tells what failed.
        if let Some(event) = &self.persistent.running {
            let _told_later = event.wait();
        }
    }
}

impl std::fmt::Debug for Persistent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Persistent")
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
