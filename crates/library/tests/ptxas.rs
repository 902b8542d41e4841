//! NVIDIA's assembler takes every kernel of the library for every target, and spills no register of a model's kernels.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use warpsmith_kernel::{BuildError, Options};
use warpsmith_library::{case::Random, registry::registry};
use warpsmith_ptx::target::Target;

/// The assembler for a target: the newest one has dropped sm_70.
fn assembler(target: Target) -> PathBuf {
    let (variable, name) = if target.sm < 75 {
        ("WARPSMITH_PTXAS12", "ptxas12")
    } else {
        ("WARPSMITH_PTXAS", "ptxas")
    };
    let path = env::var_os(variable).map_or_else(
        || {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../.tools")
                .join(name)
        },
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "{} is missing: run `cargo xtask fetch`, or set {variable} to an assembler that knows {target}",
        path.display(),
    );
    path
}

struct Job {
    label: String,
    target: Target,
    text: String,
}

fn check(job: &Job, scratch: &Path) -> Result<(), String> {
    let (source, binary) = (
        scratch.with_extension("ptx"),
        scratch.with_extension("cubin"),
    );
    fs::write(&source, &job.text).map_err(|error| error.to_string())?;
    let output = Command::new(assembler(job.target))
        .arg(format!("-arch={}", job.target))
        .arg("-v")
        .arg("-o")
        .args([&binary, &source])
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(said);
    }
    let spilt = said.split(',').find(|part| part.contains("spill stores"));
    match spilt.and_then(|part| part.trim().split(' ').next()) {
        Some("0") => Ok(()),
        Some(bytes)
            if may_spill(job) && bytes.parse().is_ok_and(|bytes: u32| bytes <= FEW_BYTES) =>
        {
            Ok(())
        }
        Some(bytes) => Err(format!("spills {bytes} bytes")),
        None => Err(format!("no report of spills in: {said}")),
    }
}

/// Kernels of SmolLM2's shapes, which may not spill at all.
const MODEL_SHAPES: &[&str] = &[
    "gemv_q8_q4_1_1",
    "gemv_q8_q8_0_1",
    "gemm_q4_1_",
    "gemm_q8_0_",
    "flash_causal_64",
    "decode_attention_f16_64_3",
    "rms_norm",
    "rope_",
    "kv_scatter",
    "quantize_q8",
    "to_f16",
    "embed_",
];

/// Bytes that other kernels may spill: eight registers.
const FEW_BYTES: u32 = 32;

fn may_spill(job: &Job) -> bool {
    !MODEL_SHAPES.iter().any(|name| job.label.contains(name))
}

#[test]
fn every_kernel_assembles_for_every_target_and_those_of_models_do_not_spill() {
    // WARPSMITH_ONLY narrows this to the kernels whose label contains it.
    let only = env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    let (mut skipped, mut cases) = (0, 0);
    let mut jobs: HashMap<String, Job> = HashMap::new();
    for entry in registry() {
        for case in (entry.cases)(&mut Random::new(1)) {
            let label = format!("{}: {}", entry.name, case.label());
            if !label.contains(&only) {
                continue;
            }
            cases += 1;
            for target in Target::SUPPORTED {
                match case.build(*target, Options::default()) {
                    Ok(built) => {
                        let text = built.module.text();
                        jobs.entry(text.clone()).or_insert_with(|| Job {
                            label: label.clone(),
                            target: *target,
                            text,
                        });
                    }
                    Err(BuildError::Unsupported { .. }) => skipped += 1,
                    Err(error) => failures.push(format!("{label} for {target}: {error}")),
                }
            }
        }
    }
    assert!(cases > 0, "no case is called `{only}`");
    let jobs: Vec<Job> = jobs.into_values().collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(failures);
    let folder = env::temp_dir().join(format!("warpsmith-ptxas-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the assembler's files");
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (next, failed, jobs) = (&next, &failed, &jobs);
            let scratch = folder.join(format!("{worker}"));
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = check(job, &scratch) {
                        let report = format!("{} for {}: {error}", job.label, job.target);
                        failed.lock().expect("no worker panics").push(report);
                    }
                }
            });
        }
    });
    fs::remove_dir_all(&folder).expect("the folder is ours");
    let mut failed = failed.into_inner().expect("no worker panics");
    failed.sort();
    println!(
        "{} modules of {cases} cases assembled, {skipped} not for their target",
        jobs.len()
    );
    assert!(
        failed.is_empty(),
        "{} of {} modules fail:\n{}",
        failed.len(),
        jobs.len(),
        failed.join("\n"),
    );
}
