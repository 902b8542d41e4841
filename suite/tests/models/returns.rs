//! A kernel replaced by an immediate return spoils the logits: no arithmetic hides on the host.

use crate::support::{difference, reference};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
};
use warpsmith::{
    device::{Device, Rewrite, Selector, Settings},
    graph::Precision,
    models::llama::{Bundle, Session, SessionOptions},
    ptx::{
        ir::{Inst, Module, Span, Stmt, StmtKind},
        op::Op,
    },
};

/// As near as logits must be to the reference.
const NEAR: f32 = 2e-3;

/// Entry `name` does nothing but return.
fn return_at_once(mut module: Module, name: &str) -> Module {
    for function in &mut module.functions {
        if function.name == name {
            function.labels.clear();
            function.vars.clear();
            function.body = Some(vec![Stmt {
                kind: StmtKind::Inst(Inst::new(Op::Ret, &[], [])),
                span: Span::None,
            }]);
        }
    }
    module
}

/// Logits after a prompt and after each of some steps, by the PTX that `rewrite` leaves.
fn logits(path: &Path, precision: Precision, rewrite: Rewrite) -> Result<Vec<Vec<f32>>, String> {
    let settings = Settings {
        rewrite: Some(rewrite),
        ..Settings::default()
    };
    let device = Device::open_with(&Selector::virtual_gpu(), settings).expect("a virtual GPU");
    let bundle = Bundle::load(&device, path, &mut |_, _| {}).expect("a model");
    let options = SessionOptions {
        context: 64,
        precision,
        ..SessionOptions::default()
    };
    let run = || -> Result<Vec<Vec<f32>>, Box<dyn std::error::Error>> {
        let mut session = Session::new(&bundle.model, &options)?;
        let mut all = Vec::new();
        // Few rows and many take different kernels.
        let many: Vec<u32> = (0..40).map(|at| at * 11 % 300).collect();
        for ids in [&[1, 5, 9, 200, 7], &many[..]] {
            session.prefill(ids, &mut |_, _| {})?;
            all.push(session.logits()?);
        }
        session.sample()?;
        for _ in 0..3 {
            session.step()?;
            all.push(session.logits()?);
        }
        Ok(all)
    };
    run().map_err(|error| error.to_string())
}

/// The names of the kernels that a run uses, and its logits.
fn as_they_are(path: &Path, precision: Precision) -> (BTreeSet<String>, Vec<Vec<f32>>) {
    let names = Arc::<Mutex<BTreeSet<String>>>::default();
    let seen = Arc::clone(&names);
    let rewrite = Rewrite::new(move |module| {
        let entries = module.functions.iter().map(|entry| entry.name.to_string());
        seen.lock().expect("no panic").extend(entries);
        module
    });
    let right = logits(path, precision, rewrite).expect("a run");
    let names = names.lock().expect("no panic").clone();
    (names, right)
}

#[test]
fn any_kernel_that_returns_at_once_spoils_the_logits() {
    for name in ["tiny-qwen2", "tiny-llama3"] {
        let path = reference().join(format!("synth/{name}.gguf"));
        for precision in [Precision::Exact, Precision::Fast] {
            let (kernels, right) = as_they_are(&path, precision);
            assert!(kernels.len() >= 10, "{kernels:?}");
            println!("{name} {precision:?}: {kernels:?}");
            for kernel in &kernels {
                let only = kernel.clone();
                let rewrite = Rewrite::new(move |module| return_at_once(module, &only));
                // A fault, say of a token that nobody drew, spoils them too.
                let Ok(found) = logits(&path, precision, rewrite) else {
                    continue;
                };
                let near = |(found, right): (&Vec<f32>, &Vec<f32>)| {
                    found.iter().all(|x| x.is_finite()) && difference(found, right).most <= NEAR
                };
                assert!(
                    !found.iter().zip(&right).all(near),
                    "{name} {precision:?}: without `{kernel}` the logits are the same"
                );
            }
        }
    }
}
