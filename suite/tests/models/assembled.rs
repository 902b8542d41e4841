//! The persistent kernel through NVIDIA's assembler: every target, and a large model's sizes.

use crate::support::reference;
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};
use warpsmith::{
    device::{Device, Fresh, Selector, Settings, Stream},
    formats::quant::WeightType,
    graph::{
        At, Attention, Cache, Error, Graph, MatMul, Persistent, PersistentShape, Plan, Precision,
        Rotation, SamplerState, Table, Until, Vector, Weights,
    },
    models::llama::{Bundle, Run, Session, SessionOptions},
};
use warpsmith_library::{
    attention::CacheType, epilogue::Activation, pointwise::Curve, rope::Pairing, weights::pack,
};
use warpsmith_ptx::{print::print, verify::Verified};

const TARGETS: [&str; 9] = ["70", "75", "80", "86", "89", "90", "90a", "100", "120"];

fn assembler(target: &str) -> PathBuf {
    // The newest one has dropped sm_70.
    let (variable, name) = match target {
        "70" => ("WARPSMITH_PTXAS12", "ptxas12"),
        _ => ("WARPSMITH_PTXAS", "ptxas"),
    };
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools");
    let path = std::env::var_os(variable).map_or_else(|| tools.join(name), PathBuf::from);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo xtask fetch`",
        path.display()
    );
    path
}

/// Registers of a thread, and bytes of static shared memory.
fn assemble(module: &Verified, target: &str, what: &str) -> [u32; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("kernel.ptx");
    std::fs::write(&source, print(module)).expect("the PTX");
    let output = Command::new(assembler(target))
        .arg(format!("-arch=sm_{target}"))
        .args(["-v", "-o"])
        .arg(folder.path().join("kernel.cubin"))
        .arg(&source)
        .output()
        .expect("the assembler");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{what} sm_{target}: {said}");
    let number = |before: &str| {
        let (text, _) = said.split_once(before)?;
        text.rsplit(|c: char| !c.is_ascii_digit())
            .find(|word| !word.is_empty())?
            .parse()
            .ok()
    };
    let registers = number(" registers").unwrap_or_else(|| panic!("no registers in: {said}"));
    [registers, number(" bytes smem").unwrap_or(0)]
}

/// Registers of a multiprocessor (CUDA C++ programming guide, "Compute capabilities").
const REGISTERS: u32 = 64 << 10;

#[test]
fn every_target_takes_it_and_a_cta_fits() {
    for target in TARGETS {
        let selector: Selector = format!("virtual:sm{target},sms=80,kernels=card")
            .parse()
            .expect("a device");
        let device = Device::open(&selector).expect("a virtual GPU");
        let path = reference().join("synth/tiny-llama3.gguf");
        let bundle = Bundle::load(&device, &path, &mut |_, _| {}).expect("a model");
        // Larger CTAs have fewer registers each: the first and the last target tell.
        let sizes: &[u32] = match target {
            "70" | "120" => &[128, 256],
            _ => &[128],
        };
        for &threads in sizes {
            let options = SessionOptions {
                context: 64,
                run: Run::Persistent,
                shape: PersistentShape {
                    threads,
                    ..PersistentShape::default()
                },
                ..SessionOptions::default()
            };
            let mut session = Session::new(&bundle.model, &options).expect("a session");
            let kernel = session.persistent(&[2]).expect("a kernel");
            // Whatever can copy asynchronously fetches weights ahead.
            let ahead = kernel.report().prefetched > 0;
            assert_eq!(ahead, !matches!(target, "70" | "75"), "sm_{target}");
            let [registers, shared] = assemble(kernel.module(), target, "tiny");
            assert!(
                registers * threads <= REGISTERS,
                "{registers} registers for sm_{target}"
            );
            assert!(shared <= 48 << 10, "{shared} bytes for sm_{target}");
        }
    }
}

/// A decode step of `layers` layers that share their weights, which nobody reads.
struct Large {
    stream: Stream,
    state: SamplerState,
    plan: Plan,
}

const WIDTH: u32 = 3584;
const HEADS: u32 = 28;
const KV_HEADS: u32 = 4;
const HEAD: u32 = 128;
const INNER: u32 = 18944;
const POSITIONS: u32 = 2048;

fn large(device: &Device, layers: u32) -> Result<Large, Error> {
    let stream = device.stream()?;
    let matrix = |rows: u32, columns: u32| {
        let elements = u64::from(rows) * u64::from(columns);
        let bytes = WeightType::Q4_0.bytes_of(elements).expect("whole blocks");
        let packed = pack(WeightType::Q4_0, &vec![0; bytes as usize], rows, columns);
        Weights::upload(&stream, "w", &packed.expect("a packed matrix")).map(Arc::new)
    };
    let vector = |len: u32| Vector::upload(&stream, &vec![1.0; len as usize]).map(Arc::new);
    let (q, kv) = (
        matrix(HEADS * HEAD, WIDTH)?,
        matrix(KV_HEADS * HEAD, WIDTH)?,
    );
    let (out, up, down) = (
        matrix(WIDTH, HEADS * HEAD)?,
        matrix(INNER, WIDTH)?,
        matrix(WIDTH, INNER)?,
    );
    let (gain, bias, kv_bias) = (
        vector(WIDTH)?,
        vector(HEADS * HEAD)?,
        vector(KV_HEADS * HEAD)?,
    );
    let table = Arc::new(Table::upload(&stream, &[0.1; HEAD as usize / 2], 1.0)?);
    let cache = Arc::new(Cache::new(
        &stream,
        CacheType::F16,
        [KV_HEADS, POSITIONS, HEAD],
    )?);
    let state = SamplerState::new(&stream, 64, 64)?;
    let mut graph = Graph::new();
    let (ids, positions, visible) = (
        graph.ids(&state.token),
        graph.ids(&state.position),
        graph.ids(&state.length),
    );
    let product =
        |graph: &mut Graph, x, weights: &Arc<Weights>, bias: Option<&Arc<Vector>>, residual| {
            graph.matmul(MatMul {
                x,
                weights: Arc::clone(weights),
                bias: bias.cloned(),
                activation: Activation::None,
                residual,
            })
        };
    let mut x = graph.embed(&q, ids)?;
    for _ in 0..layers {
        let normed = graph.rms_norm(x, &gain, 1e-6, 1)?;
        let queries = product(&mut graph, normed, &q, Some(&bias), None)?;
        let keys = product(&mut graph, normed, &kv, Some(&kv_bias), None)?;
        let values = product(&mut graph, normed, &kv, Some(&kv_bias), None)?;
        let (queries, keys) = graph.rotate(Rotation {
            q: queries,
            k: keys,
            positions,
            head_dim: HEAD,
            table: Arc::clone(&table),
            pairing: Pairing::Halves,
        })?;
        graph.append([keys, values], At::Positions(positions), &cache)?;
        let attended = graph.attend(Attention {
            q: queries,
            visible,
            cache: Arc::clone(&cache),
            heads: HEADS,
            scale: 0.1,
            seen: None,
            sources: None,
        })?;
        x = product(&mut graph, attended, &out, None, Some(x))?;
        let normed = graph.rms_norm(x, &gain, 1e-6, 1)?;
        let gate = product(&mut graph, normed, &up, None, None)?;
        let up = product(&mut graph, normed, &up, None, None)?;
        let inner = graph.gated(gate, up, Curve::Silu)?;
        x = product(&mut graph, inner, &down, None, Some(x))?;
    }
    let x = graph.rms_norm(x, &gain, 1e-6, 1)?;
    let logits = product(&mut graph, x, &q, None, None)?;
    graph.draw(logits, &Arc::new(state.sampler()))?;
    let plan = Plan::new(&stream, &graph, Precision::Fast)?;
    Ok(Large {
        stream,
        state,
        plan,
    })
}

#[test]
fn the_sizes_of_seven_billion_parameters_are_emitted_and_assembled() {
    for target in ["75", "90"] {
        let selector: Selector = format!("virtual:sm{target},sms=80,kernels=card")
            .parse()
            .expect("a device");
        let settings = Settings {
            fresh: Fresh::AsIs,
            ..Settings::default()
        };
        let device = Device::open_with(&selector, settings).expect("a virtual GPU");
        let Large {
            stream,
            state,
            plan,
        } = large(&device, 28).expect("a plan");
        let until = Until {
            token: &state.token,
            position: &state.position,
            ends: &[1],
            context: POSITIONS,
            most: POSITIONS,
        };
        let shape = PersistentShape {
            threads: 256,
            ..PersistentShape::default()
        };
        let kernel = Persistent::new(&stream, &plan, &until, shape).expect("a kernel");
        assert_eq!(kernel.report().steps, plan.report().launches);
        assert_eq!(kernel.report().prefetched > 0, target == "90");
        let [registers, _] = assemble(kernel.module(), target, "3584 x 28 x 2048");
        assert!(
            registers * 256 <= REGISTERS,
            "{registers} registers for sm_{target}"
        );
    }
}
