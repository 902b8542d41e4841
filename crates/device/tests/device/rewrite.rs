//! Modules rewritten on their way to a device.

use crate::kernels::{Scale, ScaleArgs, ramp, scaled};
use warpsmith_device::{Device, Error, Rewrite, Selector, Settings};
use warpsmith_ptx::{
    ir::{Inst, Module, Operand, Stmt, StmtKind},
    op::Op,
};

fn device(change: fn(Module) -> Module) -> Result<Device, Error> {
    let settings = Settings {
        rewrite: Some(Rewrite::new(change)),
        ..Settings::default()
    };
    Device::open_with(&Selector::virtual_gpu(), settings)
}

/// What `Scale` by 3 leaves of four elements, or why it was not launched.
fn run(device: &Device) -> Result<Vec<f32>, Error> {
    let stream = device.stream()?;
    let x = stream.upload_new(&ramp(4))?;
    let mut y = stream.alloc(4)?;
    let args = ScaleArgs {
        x: x.view(),
        y: y.view_mut(),
        rows: 1,
        n: 4,
        a: 3.0,
    };
    stream.launch(&Scale::default(), &args)?;
    stream.download(&y)?.wait()
}

fn instructions(module: &mut Module) -> impl Iterator<Item = &mut Inst> {
    let bodies = module.functions.iter_mut().flat_map(|f| f.body.as_mut());
    bodies.flatten().filter_map(|stmt: &mut Stmt| {
        if let StmtKind::Inst(inst) = &mut stmt.kind {
            Some(inst)
        } else {
            None
        }
    })
}

#[test]
fn what_runs_is_what_a_rewrite_made() -> Result<(), Error> {
    assert_eq!(run(&device(|module| module)?)?, scaled(4, 3.0));
    let doubled = device(|mut module| {
        for inst in instructions(&mut module).filter(|inst| inst.op == Op::Mul) {
            // x * a becomes x + x.
            if let [_, x, by] = &mut inst.operands[..]
                && inst.quals.has(warpsmith_ptx::qual::Qual::Rn)
            {
                inst.op = Op::Add;
                *by = x.clone();
            }
        }
        module
    });
    assert_eq!(run(&doubled?)?, scaled(4, 2.0));
    Ok(())
}

#[test]
fn what_a_rewrite_made_is_verified() -> Result<(), Error> {
    let device = device(|mut module| {
        for inst in instructions(&mut module) {
            inst.operands.push(Operand::Sink);
        }
        module
    })?;
    let refused = run(&device);
    let Err(Error::Rewritten { found }) = refused else {
        panic!("refused, not {refused:?}")
    };
    assert!(!found.is_empty());
    assert_eq!(device.cache_stats().entries, 0);
    Ok(())
}
