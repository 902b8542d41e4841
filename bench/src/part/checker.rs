//! What the checks of running kernels cost: a prompt and a token of the model, plain and checked, kernel by kernel.

use super::{
    model::{ids, load_to, session},
    open,
    share::{Share, timed},
};
use crate::{Failed, args::Args};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsmith::{
    models::llama::Run,
    vgpu::check::{Checks, Kind},
};

/// Device time of families of kernels on one thread, since what is checked runs on one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Checker {
    /// What is checked, from nothing to everything.
    pub(crate) levels: Vec<String>,
    pub(crate) families: Vec<Family>,
}

/// Kernels whose names begin alike.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Family {
    pub(crate) name: String,
    /// Milliseconds at each level.
    pub(crate) ms: Vec<f64>,
}

/// Tokens of the prompt: a chunk whose products take the kernels of long prompts.
const PROMPT: usize = 128;
/// Runs of which the quickest counts: noise only adds.
const RUNS: usize = 3;

const FAMILIES: [(&str, &[&str]); 5] = [
    ("gemm", &["gemm"]),
    ("gemv", &["gemv", "project_", "gate_", "heads_"]),
    ("attention", &["flash", "attention", "decode_attention"]),
    ("reductions", &["rms_norm", "softmax", "argmax"]),
    ("others", &[""]),
];

pub(crate) fn measure(args: &Args) -> Result<Checker, Failed> {
    use Kind::*;
    let bounds = [
        OobGlobal,
        OobShared,
        OobLocal,
        OobConst,
        OobParam,
        Misaligned,
        UseAfterFree,
        BadSpace,
        SharedLimit,
        UninitGlobal,
        UninitShared,
        UninitLocal,
        UninitRegister,
    ];
    let races = [RaceShared, RaceGlobal, BenignRace];
    let levels: [(&str, Option<Vec<Kind>>); 4] = [
        ("nothing", None),
        ("bounds and initialisation", Some(bounds.to_vec())),
        ("these and races", Some([&bounds[..], &races].concat())),
        ("everything", Some(Kind::ALL.to_vec())),
    ];
    let mut families: Vec<Family> = FAMILIES
        .iter()
        .map(|(name, _)| Family {
            name: (*name).to_owned(),
            ms: Vec::new(),
        })
        .collect();
    for (_, kinds) in &levels {
        let device = open(args, 1, kinds.clone().map(|kinds| Checks { kinds }))?;
        let bundle = load_to(&device, args)?;
        let ids = ids(PROMPT, bundle.model.config().vocab);
        let mut session = session(args, &bundle, Run::Eager)?;
        let mut best = BTreeMap::new();
        // The first run lowers the kernels and is not counted.
        for run in 0..=RUNS {
            session.reset();
            let stream = session.stream().clone();
            let prompt = timed(&stream, || Ok(session.prefill(&ids, &mut |_, _| {})?))?;
            session.sample()?;
            let token = timed(&stream, || Ok(session.step().map(drop)?))?;
            if run > 0 {
                for (name, ms) in sums([prompt, token]) {
                    let slot = best.entry(name).or_insert(ms);
                    *slot = ms.min(*slot);
                }
            }
        }
        let found = device.take_findings();
        if let Some(first) = found.first() {
            return Err(format!("a kernel of ours is not clean: {first:?}").into());
        }
        for family in &mut families {
            let ms = best.get(family.name.as_str());
            family.ms.push(ms.copied().unwrap_or(f64::NAN));
        }
    }
    // A model need not have kernels of each.
    families.retain(|family| family.ms.iter().all(|ms| ms.is_finite()));
    Ok(Checker {
        levels: levels.map(|(name, _)| name.to_owned()).to_vec(),
        families,
    })
}

/// Milliseconds by family.
fn sums(shares: [Share; 2]) -> BTreeMap<&'static str, f64> {
    let mut sums = BTreeMap::new();
    for kernel in shares.into_iter().flat_map(|share| share.kernels) {
        let starts = |starts: &[&str]| starts.iter().any(|start| kernel.name.starts_with(start));
        if let Some((family, _)) = FAMILIES.iter().find(|(_, all)| starts(all)) {
            *sums.entry(*family).or_insert(0.0) += kernel.ms;
        }
    }
    sums
}
