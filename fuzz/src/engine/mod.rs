//! The loop: input after input of one target, until the budget is spent or a fault is found.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Target;
use crate::mutate::{Material, mutate};
use crate::rng::Rng;
use crate::shrink::shrink;
use crate::worker::{Fault, Worker};

/// The time one input may take unless told otherwise.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(2);

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// After this time.
    Time(Duration),
    /// After this many inputs.
    Iterations(u64),
}

/// What a run without a finding did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Inputs run.
    pub iterations: u64,
    /// Their bytes together.
    pub bytes: u64,
    /// The longest time that one input took.
    pub slowest: Duration,
}

/// An input on which a target failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The target's name.
    pub target: &'static str,
    /// What happened.
    pub fault: Fault,
    /// The input, made small (except for one that takes too long, which is left as it was).
    pub input: Vec<u8>,
    /// The length of the input that was found first.
    pub found_len: usize,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the input under that seed.
    pub index: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            target,
            fault,
            input,
            found_len,
            seed,
            index,
        } = self;
        writeln!(f, "{target}: {fault}")?;
        writeln!(
            f,
            "  seed {seed}, input {index}, {} bytes (found with {found_len})",
            input.len()
        )?;
        write!(f, "  b\"{}\"", input[..input.len().min(512)].escape_ascii())?;
        if input.len() > 512 {
            write!(f, "... (the first 512 bytes)")
        } else {
            Ok(())
        }
    }
}

impl std::error::Error for Finding {}

/// The endless sequence of inputs of one target and one seed.
pub struct Inputs {
    seeds: Vec<Vec<u8>>,
    tokens: Vec<Vec<u8>>,
    seed: u64,
}

impl Inputs {
    /// Reads the target's seeds and tokens once.
    pub fn new(target: &dyn Target, seed: u64) -> Self {
        let seeds = target.seeds();
        let mut tokens = target.dictionary();
        tokens.retain(|token| !token.is_empty());
        tokens.extend(words(&seeds));
        Inputs {
            seeds,
            tokens,
            seed,
        }
    }

    /// Input number `index`: first nothing at all, then the seeds as they are, then mutations.
    pub fn at(&self, index: u64) -> Vec<u8> {
        let Some(after_empty) = index.checked_sub(1) else {
            return Vec::new();
        };
        if let Some(seed) = usize::try_from(after_empty)
            .ok()
            .and_then(|i| self.seeds.get(i))
        {
            return seed.clone();
        }
        let mut rng = Rng::of_input(self.seed, index);
        let mut input = if self.seeds.is_empty() {
            Vec::new()
        } else {
            rng.pick(&self.seeds).clone()
        };
        let material = Material {
            seeds: &self.seeds,
            tokens: &self.tokens,
        };
        mutate(&mut input, &mut rng, &material);
        input
    }
}

/// Feeds `target` the inputs of `seed` until the budget is spent, with [`DEFAULT_LIMIT`] for each.
///
/// # Errors
/// The first [`Finding`], its input made small.
pub fn fuzz(
    target: impl Into<Arc<dyn Target>>,
    budget: Budget,
    seed: u64,
) -> Result<Stats, Box<Finding>> {
    fuzz_with(target, budget, seed, DEFAULT_LIMIT, |_| {})
}

/// Like [`fuzz`], with the time that one input may take, and a look at each input before it is run: what takes the
/// whole process down, such as an overflowing stack, leaves no other trace.
///
/// # Errors
/// The first [`Finding`], its input made small.
pub fn fuzz_with(
    target: impl Into<Arc<dyn Target>>,
    budget: Budget,
    seed: u64,
    limit: Duration,
    mut observe: impl FnMut(&[u8]),
) -> Result<Stats, Box<Finding>> {
    let target = target.into();
    let inputs = Inputs::new(&*target, seed);
    let worker = Worker::new(Arc::clone(&target)).expect("the system starts one more thread");
    let start = Instant::now();
    let mut stats = Stats::default();
    loop {
        let spent = match budget {
            Budget::Time(time) => start.elapsed() >= time,
            Budget::Iterations(count) => stats.iterations >= count,
        };
        if spent {
            return Ok(stats);
        }
        let index = stats.iterations;
        let input = inputs.at(index);
        observe(&input);
        match worker.run(&input, limit) {
            Ok(time) => stats.slowest = stats.slowest.max(time),
            Err(fault) => {
                let found_len = input.len();
                let input = match &fault {
                    Fault::Slow { .. } => input,
                    Fault::Panic { .. } => shrink(input, |bytes| {
                        observe(bytes);
                        worker
                            .run(bytes, limit)
                            .is_err_and(|other| other.same_place(&fault))
                    }),
                };
                return Err(Box::new(Finding {
                    target: target.name(),
                    fault,
                    input,
                    found_len,
                    seed,
                    index,
                }));
            }
        }
        stats.iterations += 1;
        stats.bytes += input.len() as u64;
    }
}

/// The distinct words of the seeds, up to 512 of 2 to 32 bytes each.
fn words(seeds: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    for seed in seeds {
        for word in seed[..seed.len().min(1 << 16)]
            .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        {
            if (2..=32).contains(&word.len())
                && words.len() < 512
                && !words.iter().any(|known| known == word)
            {
                words.push(word.to_vec());
            }
        }
    }
    words
}

#[cfg(test)]
mod tests;
