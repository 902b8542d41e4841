//! Random sequences of calls of the driver library: wrong handles, sizes and orders, from several threads.
//!
//! Pointers are null or to memory that is large enough, as no driver can tell others. All else may be wrong: the library
//! answers with a code, ends, and leaves alone what is not its own.

mod driver;
mod table;

use crate::rng::Rng;
use driver::{ARGS, Driver, Function};
use std::{
    collections::BTreeMap,
    ffi::CStr,
    path::Path,
    sync::{Mutex, PoisonError},
};
use table::{FUNCTIONS, NAMES, PROGRAMS};

/// Small cards, so that memory runs out; a launch that does not end is stopped.
const SETTINGS: &CStr = c"DEVICES=2 MEMORY=4M SM=90 SMS=2 WORKERS=2 BUDGET=100000";

/// Bytes of a piece of memory of the host, and how often it is given out.
const PIECE: usize = 1 << 16;
const PIECES: usize = 4;
/// What stands before and behind each, and must stay.
const GUARD: usize = 4096;
const MARK: u8 = 0xA7;

/// Calls of a sequence.
const CALLS: usize = 30;

/// Handles that calls gave, by kind; those that were given back stay among them.
type Known = BTreeMap<char, Vec<u64>>;

/// The library, with what was made so far.
pub struct Caller {
    functions: Vec<(&'static str, &'static str, Function)>,
    known: Mutex<Known>,
}

/// Memory of one thread that calls are given.
struct Scratch {
    bytes: Vec<u8>,
    /// Pointers and structures, each an array of words.
    words: Vec<Box<[u64; 64]>>,
}

impl Scratch {
    fn new() -> Scratch {
        let mut bytes = vec![MARK; PIECES * (PIECE + 2 * GUARD)];
        for at in 0..PIECES {
            let start = at * (PIECE + 2 * GUARD) + GUARD;
            bytes[start..start + PIECE].fill(0);
        }
        Scratch {
            bytes,
            words: Vec::new(),
        }
    }

    fn piece(&self, at: usize) -> u64 {
        let start = at % PIECES * (PIECE + 2 * GUARD) + GUARD;
        self.bytes[start..].as_ptr() as u64
    }

    fn words(&mut self, words: &[u64]) -> u64 {
        let mut all = Box::new([0; 64]);
        all[..words.len()].copy_from_slice(words);
        let address = all.as_ptr() as u64;
        self.words.push(all);
        address
    }

    /// Whether all that is not theirs is as it was.
    fn is_whole(&self) -> bool {
        (0..PIECES).all(|at| {
            let start = at * (PIECE + 2 * GUARD);
            let end = start + GUARD + PIECE;
            let guards = [
                &self.bytes[start..start + GUARD],
                &self.bytes[end..end + GUARD],
            ];
            guards
                .iter()
                .all(|guard| guard.iter().all(|byte| *byte == MARK))
        })
    }
}

/// What a sequence did that it must not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Memory of the program's was written that no call was given.
    #[error("memory was written that was not given")]
    Touched,
}

impl Caller {
    /// Loads the library; `None` if it is not there.
    pub fn new(file: &Path) -> Option<Caller> {
        let driver = Driver::load(file)?;
        if !driver.configure(SETTINGS) {
            return None;
        }
        let functions = FUNCTIONS
            .iter()
            .map(|(name, args)| Some((*name, *args, driver.find(name)?)));
        Some(Caller {
            functions: functions.collect::<Option<Vec<_>>>()?,
            known: Mutex::default(),
        })
    }

    /// Runs a sequence, and says each call to `trace` before it is made.
    ///
    /// # Errors
    /// [`Wrong`].
    pub fn run(
        &self,
        seed: u64,
        index: u64,
        trace: &(impl Fn(&str, &[u64]) + Sync),
    ) -> Result<(), Wrong> {
        let mut rng = Rng::of_input(seed, index);
        let threads = if rng.below(4) == 0 { 3 } else { 1 };
        let seeds: Vec<u64> = (0..threads).map(|_| rng.next()).collect();
        let whole = std::thread::scope(|scope| {
            let all: Vec<_> = seeds
                .iter()
                .map(|seed| scope.spawn(move || self.calls(*seed, trace)))
                .collect();
            // A panic of a thread of ours is ours, and shows in the process.
            all.into_iter()
                .all(|thread| matches!(thread.join(), Ok(true)))
        });
        if whole { Ok(()) } else { Err(Wrong::Touched) }
    }

    /// A handle or an address that a call gave.
    fn learn(&self, kind: char, value: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let all = known.entry(kind).or_default();
        all.push(value);
        // Old ones are forgotten, or they would be all that is tried.
        if all.len() > 24 {
            all.remove(0);
        }
    }

    /// Makes what most calls need: kernels, memory, a stream, an event, a graph.
    fn begin(&self, scratch: &mut Scratch) {
        let mut made = |name: &str, kind: char, rest: &[u64]| {
            let out = scratch.words(&[]);
            let mut args = [0; ARGS];
            args[0] = out;
            args[1..=rest.len()].copy_from_slice(rest);
            let found = self.functions.iter().find(|one| one.0 == name);
            let value = match found.map(|(_, _, function)| function.call(&args)) {
                Some(0) => scratch.words.last().map_or(0, |words| words[0]),
                Some(_) | None => return 0,
            };
            self.learn(kind, value);
            value
        };
        let module = made("cuModuleLoadData", 'M', &[PROGRAMS[0].as_ptr() as u64]);
        for name in [c"nothing", c"waits", c"inc"] {
            made("cuModuleGetFunction", 'F', &[module, name.as_ptr() as u64]);
        }
        made("cuMemAlloc_v2", 'a', &[4096]);
        made("cudaMallocManaged", 'a', &[4096, 1]);
        made("cuStreamCreate", 'S', &[1]);
        made("cuEventCreate", 'E', &[0]);
        let graph = made("cuGraphCreate", 'G', &[0]);
        made("cuGraphAddEmptyNode", 'N', &[graph, 0, 0]);
        made("cuGraphInstantiateWithFlags", 'X', &[graph, 0]);
    }

    /// Calls a function of the table with one argument.
    fn call(&self, name: &str, argument: u64) {
        let mut args = [0; ARGS];
        args[0] = argument;
        if let Some((_, _, function)) = self.functions.iter().find(|one| one.0 == name) {
            function.call(&args);
        }
    }

    fn calls(&self, seed: u64, trace: &impl Fn(&str, &[u64])) -> bool {
        let mut rng = Rng::of_input(seed, 0);
        let mut scratch = Scratch::new();
        // Most sequences have a context, and many a new one: in one that a kernel has spoilt nothing goes on.
        let device = rng.below(2) as u64;
        self.call("cuInit", 0);
        if rng.below(8) > 0 {
            self.call("cudaSetDevice", device);
        }
        if rng.below(2) > 0 {
            self.call("cudaDeviceReset", 0);
            self.call("cudaSetDevice", device);
        }
        if rng.below(8) > 0 {
            self.begin(&mut scratch);
        }
        for _ in 0..CALLS {
            let (name, letters, function) = *rng.pick(&self.functions);
            let (args, outs) = self.args(letters, &mut rng, &mut scratch);
            trace(name, &args);
            let code = function.call(&args);
            if code == 0 {
                for (kind, at) in outs {
                    self.learn(kind, scratch.words[at][0]);
                }
            }
        }
        // What is under way uses the memory of this thread.
        self.call("cuCtxSynchronize", 0);
        for device in 0..2 {
            self.call("cudaSetDevice", device);
            self.call("cudaDeviceSynchronize", 0);
        }
        let whole = scratch.is_whole();
        // Streams of contexts that are current nowhere may use it still.
        std::mem::forget(scratch);
        whole
    }

    /// A handle or an address: one that was given, or nearly one, or none.
    fn handle(&self, kind: char, rng: &mut Rng) -> u64 {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let given = known.get(&kind).filter(|all| !all.is_empty());
        // Mostly one of the newest, as the context of older ones may have gone.
        let any = given.map(|all| match rng.below(4) {
            0 => *rng.pick(all),
            1 => all[all.len() - 1 - rng.below(all.len().min(4))],
            _ => all[all.len() - 1],
        });
        // Memory of the host that was given back is no address that a driver could tell.
        let other = known
            .iter()
            .filter(|(kind, all)| **kind != 'H' && !all.is_empty())
            .map(|(_, all)| all)
            .collect::<Vec<_>>();
        match rng.below(24) {
            0 => 0,
            1 => rng.below(4) as u64,
            2 if kind != 'a' => rng.next(),
            3 if !other.is_empty() => {
                let all = other[rng.below(other.len())];
                *rng.pick(all)
            }
            4 if kind == 'a' => any.unwrap_or(0).wrapping_add(rng.below(8192) as u64),
            _ if kind == 'S' && rng.below(3) == 0 => rng.below(3) as u64,
            _ => any.unwrap_or(0),
        }
    }

    fn args(
        &self,
        letters: &str,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> ([u64; ARGS], Vec<(char, usize)>) {
        let (mut args, mut outs) = ([0; ARGS], Vec::new());
        let mut letters = letters.chars();
        let mut at = 0;
        while let Some(letter) = letters.next() {
            args[at] = match letter {
                '>' => {
                    let address = scratch.words(&[]);
                    if let Some(kind) = letters.next() {
                        outs.push((kind, scratch.words.len() - 1));
                    }
                    if rng.below(40) == 0 {
                        outs.pop();
                        0
                    } else {
                        address
                    }
                }
                _ => self.argument(letter, rng, scratch),
            };
            at += 1;
        }
        (args, outs)
    }

    fn argument(&self, letter: char, rng: &mut Rng, scratch: &mut Scratch) -> u64 {
        let often = |rng: &mut Rng, usual: &[u64], wild: u64| {
            if rng.below(12) == 0 {
                wild
            } else {
                *rng.pick(usual)
            }
        };
        match letter {
            'C' | 'M' | 'F' | 'S' | 'E' | 'G' | 'X' | 'N' | 'P' | 'L' | 'K' | 'U' | 'H' | 'a'
            | 'A' | 'B' | 'T' => self.handle(letter, rng),
            'o' | 'h' if rng.below(30) == 0 => 0,
            'o' => scratch.words(&[2]),
            'h' => scratch.piece(rng.below(PIECES)),
            'y' => *rng.pick(&[0, 1, 4, 63, 64, 256, 4096, PIECE as u64]),
            'z' => {
                let wild = rng.next();
                often(rng, &[0, 1, 4, 12, 64, 100, 4096, 1 << 20, 1 << 40], wild)
            }
            'c' => rng.below(4) as u64,
            'D' | 'i' => {
                let wild = rng.next();
                often(rng, &[0, 0, 1, 2, 5, 8, 100, u64::MAX], wild)
            }
            'u' => often(rng, &[0, 0, 1, 2, 4], 0xFFFF),
            'd' => rng.next() & 0xFFFF_FFFF,
            't' => rng.pick(NAMES).as_ptr() as u64,
            'm' if rng.below(3) > 0 => PROGRAMS[0].as_ptr() as u64,
            'm' => rng.pick(PROGRAMS).as_ptr() as u64,
            'g' => often(rng, &[1, 1, 1, 2, 3], 70_000),
            'b' => often(rng, &[1, 1, 2, 32, 33], 1025),
            's' => often(rng, &[0, 0, 64, 1024], 1 << 20),
            'f' if rng.below(20) == 0 => 0,
            'f' => driver::host_function(),
            'q' => self.parameters(rng, scratch),
            'r' => {
                let nodes: [u64; 4] = std::array::from_fn(|_| self.handle('N', rng));
                scratch.words(&nodes)
            }
            'w' | 'W' => self.boxes(letter, rng, scratch),
            'p' | 'e' | 'j' => self.image(letter, rng, scratch),
            'k' => {
                let (function, params) = (self.handle('F', rng), self.parameters(rng, scratch));
                let two = |low: u64, high: u64| low | (high << 32);
                let sizes = [two(1, 1), two(1, *rng.pick(&[0, 1, 32])), two(1, 1), 0];
                scratch.words(&[&[function][..], &sizes, &[params, 0]].concat())
            }
            'v' => {
                let to = self.handle('a', rng);
                let size = *rng.pick(&[1, 2, 4, 3]);
                scratch.words(&[
                    to,
                    64,
                    (size << 32) | 7,
                    rng.below(100) as u64,
                    rng.below(4) as u64,
                ])
            }
            'x' => {
                let data = scratch.piece(0);
                scratch.words(&[driver::host_function(), data])
            }
            '3' => 3,
            _ => 0,
        }
    }

    /// Pointers to an address and a number.
    fn parameters(&self, rng: &mut Rng, scratch: &mut Scratch) -> u64 {
        if rng.below(20) == 0 {
            return 0;
        }
        let address = self.handle('a', rng);
        let (first, second) = (
            scratch.words(&[address]),
            scratch.words(&[rng.below(40) as u64]),
        );
        scratch.words(&[first, second])
    }

    /// `CUDA_ARRAY3D_DESCRIPTOR`, `CUDA_RESOURCE_DESC` or `CUDA_TEXTURE_DESC`.
    fn image(&self, letter: char, rng: &mut Rng, scratch: &mut Scratch) -> u64 {
        let extent = |rng: &mut Rng| match rng.below(30) {
            0 => rng.next(),
            _ => *rng.pick(&[0, 1, 4, 6, 6, 33]),
        };
        let format = *rng.pick(&[0x20, 0x20, 1, 0x0A, 0x10, 0x30, 0xC0]);
        let element = format | *rng.pick(&[1, 1, 2, 4, 3]) << 32;
        let mut words = vec![0; 18];
        match letter {
            'p' => {
                words[..3].fill_with(|| extent(rng));
                words[3] = element;
                words[4] = *rng.pick(&[0, 0, 2, 1, 4, 5, 8, 0x40]);
            }
            'e' => {
                words[0] = *rng.pick(&[0, 0, 1, 2, 3, 7]);
                let kind = ['A', 'B', 'a', 'a'][(words[0] & 3) as usize];
                words[1] = self.handle(kind, rng);
                words[2] = element;
                words[3] = *rng.pick(&[4, 64, 1 << 20]);
                words[4] = extent(rng);
                words[5] = *rng.pick(&[32, 64, 100]);
            }
            _ => {
                words[0] = rng.below(5) as u64 | (rng.below(5) as u64) << 32;
                words[1] = rng.below(5) as u64 | (rng.below(3) as u64) << 32;
                words[2] = *rng.pick(&[0, 1, 2, 3, 0x10, 0x40]) | (rng.below(3) as u64) << 32;
            }
        }
        scratch.words(&words)
    }

    /// `CUDA_MEMCPY3D`, or the flat one, whose sides of the host have room for it.
    fn boxes(&self, letter: char, rng: &mut Rng, scratch: &mut Scratch) -> u64 {
        let side = |rng: &mut Rng| {
            let kind = *rng.pick(&[1, 2, 2, 3, 9]);
            let host = scratch.piece(rng.below(PIECES));
            let device = self.handle('a', rng);
            let array = self.handle('A', rng);
            let [x, y, z] = [4, 3, 2].map(|most| rng.below(most) as u64);
            let pitch = *rng.pick(&[0, 64, 128, 512]);
            match letter {
                'w' => vec![
                    x,
                    y,
                    z,
                    0,
                    kind,
                    host,
                    device,
                    array,
                    0,
                    pitch,
                    rng.below(8) as u64,
                ],
                _ => vec![x, y, kind, host, device, array, pitch],
            }
        };
        let (from, to) = (side(rng), side(rng));
        let mut size = vec![*rng.pick(&[0, 1, 60, 64, 100]), rng.below(5) as u64];
        if letter == 'w' {
            size.push(rng.below(3) as u64);
        }
        scratch.words(&[from, to, size].concat())
    }
}
