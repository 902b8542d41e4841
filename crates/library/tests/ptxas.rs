//! NVIDIA's assembler takes every kernel of the library for every target, and spills no register of a model's kernels.

use std::{
    collections::{HashMap, HashSet},
    env, fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
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

/// How much the assembler does for a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Care {
    /// It optimises, and the registers it spills are counted.
    Optimised,
    /// It only says whether it takes the module.
    Accepted,
}

struct Job {
    label: String,
    entry: String,
    target: Target,
    care: Care,
    text: String,
}

/// Modules that one process assembles: starting it takes as long as a small kernel.
const BATCH: usize = 16;

/// Assembles modules of one target with one care; what is wrong with each.
fn check(jobs: &[Job], scratch: &Path) -> Vec<String> {
    let all = match assemble(jobs, scratch) {
        Ok(spilt) => jobs.iter().map(|job| judge(job, &spilt)).collect(),
        Err(error) if jobs.len() == 1 => vec![Err(error)],
        // One of them is at fault, and says so alone.
        Err(_) => return jobs.chunks(1).flat_map(|job| check(job, scratch)).collect(),
    };
    let report = |(job, found): (&Job, Result<(), String>)| {
        let error = found.err()?;
        Some(format!("{} for {}: {error}", job.label, job.target))
    };
    jobs.iter().zip(all).filter_map(report).collect()
}

/// Bytes that each entry spills.
fn assemble(jobs: &[Job], scratch: &Path) -> Result<HashMap<String, u32>, String> {
    let [Job { target, care, .. }, ..] = jobs else {
        return Ok(HashMap::new());
    };
    let mut command = Command::new(assembler(*target));
    command.arg(format!("-arch={target}")).arg("-v");
    match care {
        Care::Optimised => {}
        Care::Accepted => {
            command.arg("-O0");
        }
    }
    command.arg("-o").arg(scratch.with_extension("cubin"));
    for (at, job) in jobs.iter().enumerate() {
        let source = scratch.with_extension(format!("{at}.ptx"));
        fs::write(&source, &job.text).map_err(|error| error.to_string())?;
        command.arg(source);
    }
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(said);
    }
    let mut spilt = HashMap::new();
    for report in said.split("Compiling entry function '").skip(1) {
        let (entry, rest) = report.split_once('\'').unwrap_or_default();
        let bytes = rest.split(',').find_map(|part| {
            let bytes = part.trim().strip_suffix(" bytes spill stores")?;
            bytes.parse().ok()
        });
        spilt.insert(
            entry.to_owned(),
            bytes.ok_or_else(|| format!("no report of spills in: {said}"))?,
        );
    }
    Ok(spilt)
}

fn judge(job: &Job, spilt: &HashMap<String, u32>) -> Result<(), String> {
    let allowed = match (job.care, may_spill(&job.label)) {
        (Care::Accepted, _) => u32::MAX,
        (Care::Optimised, true) => FEW_BYTES,
        (Care::Optimised, false) => 0,
    };
    match spilt.get(&job.entry) {
        Some(bytes) if *bytes <= allowed => Ok(()),
        Some(bytes) => Err(format!("spills {bytes} bytes")),
        None => Err(format!("no report of `{}`", job.entry)),
    }
}

/// Kernels of SmolLM2's shapes, which may not spill at all.
const MODEL_SHAPES: &[&str] = &[
    "gemv_q8_q4_1_1",
    "gemv_q8_q8_0_1",
    "project_q8_rms_1x576_",
    "gate_q8_rms_1x576_",
    "heads_f16_q8_rms_1x576_",
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

/// Attention with several fragments of queries to a warp, which plans take on few multiprocessors, as the virtual GPU
/// reports them: it has no registers to spill.
fn is_for_few(label: &str) -> bool {
    let name = label.split_whitespace().nth(1).unwrap_or_default();
    name.starts_with("flash_") && (name.ends_with("_2") || name.ends_with("_4"))
}

/// Products in tiles that plans take on few multiprocessors alone (`Tiling::choose`).
fn is_wide(label: &str) -> bool {
    let name = label.split_whitespace().nth(1).unwrap_or_default();
    name.starts_with("gemm_")
        && ["_4242", "_4244", "_4246"]
            .iter()
            .any(|tile| name.contains(tile))
}

/// Sixteen rows of x to a warp, as plans have them on the virtual GPU alone (`Spread::choose`).
fn is_of_many_rows(label: &str) -> bool {
    label.contains("gemv_q8_") && label.contains("_1611")
}

/// Keys in pages, which are looked up: two registers more than the 64 that the assembler takes for it on sm_80.
fn is_looked_up(label: &str) -> bool {
    label.contains("paged_16_decode_attention_")
}

fn may_spill(label: &str) -> bool {
    is_wide(label)
        || is_looked_up(label)
        || is_of_many_rows(label)
        || !MODEL_SHAPES.iter().any(|name| label.contains(name))
}

/// What a module is but for its version and target.
fn body(text: &str) -> &str {
    text.split_once(".address_size")
        .map_or(text, |(_, body)| body)
}

/// Kernels of models are optimised for every target; others for the first and the last target with the same body.
fn spare(jobs: &mut [Job]) {
    let mut ends: HashMap<String, [usize; 2]> = HashMap::new();
    for (at, job) in jobs.iter().enumerate() {
        let ends = ends.entry(body(&job.text).to_owned()).or_insert([at, at]);
        ends[1] = at;
    }
    for (at, job) in jobs.iter_mut().enumerate() {
        if is_for_few(&job.label) {
            job.care = Care::Accepted;
        }
        if may_spill(&job.label) && !ends[body(&job.text)].contains(&at) {
            job.care = Care::Accepted;
        }
    }
}

#[test]
fn every_kernel_assembles_for_every_target_and_those_of_models_do_not_spill() {
    // WARPSMITH_ONLY narrows this to the kernels whose label contains it.
    let only = env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    let (mut skipped, mut cases) = (0, 0);
    let mut jobs: Vec<Job> = Vec::new();
    let mut seen = HashSet::new();
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
                        if seen.insert(text.clone()) {
                            jobs.push(Job {
                                label: label.clone(),
                                entry: built.entry.to_string(),
                                target: *target,
                                care: Care::Optimised,
                                text,
                            });
                        }
                    }
                    Err(BuildError::Unsupported { .. }) => skipped += 1,
                    Err(error) => failures.push(format!("{label} for {target}: {error}")),
                }
            }
        }
    }
    assert!(cases > 0, "no case is called `{only}`");
    spare(&mut jobs);
    jobs.sort_by_key(|job| (job.target, job.care));
    let batches: Vec<&[Job]> = jobs
        .chunk_by(|a, b| (a.target, a.care) == (b.target, b.care))
        .flat_map(|same| same.chunks(BATCH))
        .collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(failures);
    let folder = env::temp_dir().join(format!("warpsmith-ptxas-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the assembler's files");
    let workers = thread::available_parallelism().map_or(2, NonZero::get);
    thread::scope(|scope| {
        for worker in 0..workers {
            let (next, failed, batches) = (&next, &failed, &batches);
            let scratch = folder.join(format!("{worker}"));
            scope.spawn(move || {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let reports = check(batch, &scratch);
                    failed.lock().expect("no worker panics").extend(reports);
                }
            });
        }
    });
    fs::remove_dir_all(&folder).expect("the folder is ours");
    let mut failed = failed.into_inner().expect("no worker panics");
    failed.sort();
    let optimised = jobs.iter().filter(|job| job.care == Care::Optimised);
    println!(
        "{} modules of {cases} cases assembled, {} of them optimised, {skipped} not for their target",
        jobs.len(),
        optimised.count()
    );
    assert!(
        failed.is_empty(),
        "{} of {} modules fail:\n{}",
        failed.len(),
        jobs.len(),
        failed.join("\n"),
    );
}
