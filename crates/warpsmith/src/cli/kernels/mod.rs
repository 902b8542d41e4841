//! `kernels`: the library's kernels and their PTX.

mod check;

use super::{
    files::Files,
    output::{is_closed, note, one_line, print, writable},
};
use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};
use warpsmith::{
    kernel::{BuildError, Options},
    library::{
        case::{AnyCase, Random},
        registry::{Entry, registry},
    },
    ptx::{
        ir::{Function, Module},
        target::Target,
        verify::{Verified, verify},
    },
};

/// The kernels of the library.
#[derive(Debug, Args)]
pub(crate) struct Kernels {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the families and the kernels in each.
    List,
    /// Prints verified PTX, ready for a driver or ptxas.
    #[command(after_help = format!("Examples:
  warpsmith kernels emit softmax --sm 90
  warpsmith kernels emit decode_attention --sm 121a --out ptx

A family with several kernels is one module with all of them, or with --out a file for each.

Targets: {targets}; sm_90(a) is sm_90 and sm_90a.", targets = Target::names(Target::FIRST_BUILT)))]
    Emit {
        /// A family or a kernel, as `kernels list` shows them.
        name: String,
        /// The target: 75, sm_90, 90a, see below.
        #[arg(long, value_name = "N", default_value = "90", value_parser = built)]
        sm: Target,
        /// Writes NAME.ptx of each kernel to this folder.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    Check(check::CheckKernels),
}

impl Kernels {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.action {
            Action::List => list()?,
            Action::Emit { name, sm, out } => emit(&name, sm, out.as_deref())?,
            Action::Check(check) => {
                return check.run().or_else(|error| {
                    if is_closed(&error) {
                        return Err(error);
                    }
                    note(&format!("error: {}", one_line(&error)));
                    Ok(ExitCode::from(2))
                });
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// One case of each kernel of a family, by the kernel's name.
fn kernels(entry: &Entry) -> BTreeMap<String, Box<dyn AnyCase>> {
    let cases = (entry.cases)(&mut Random::new(0));
    let name = |case: &dyn AnyCase| {
        case.label()
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    cases.into_iter().map(|case| (name(&*case), case)).collect()
}

fn list() -> Result<()> {
    let mut out = String::new();
    for entry in registry() {
        writeln!(out, "{}: {}", entry.name, entry.summary)?;
        for name in kernels(entry).keys() {
            writeln!(out, "    {name}")?;
        }
    }
    print(&out)
}

/// A target that the library is built for.
fn built(text: &str) -> Result<Target, String> {
    let expected = || Target::names(Target::FIRST_BUILT);
    match text.parse::<Target>() {
        Ok(target) if target.sm >= Target::FIRST_BUILT => Ok(target),
        Ok(target) => Err(format!(
            "the library has no kernels for {target}, expected one of {}",
            expected()
        )),
        Err(_) => Err(format!(
            "unknown target `{text}`, expected one of {}",
            expected()
        )),
    }
}

fn emit(name: &str, target: Target, out: Option<&Path>) -> Result<()> {
    let family = registry().iter().find(|entry| entry.name == name);
    let chosen = match family {
        Some(entry) => kernels(entry),
        None => registry()
            .iter()
            .flat_map(kernels)
            .filter(|(kernel, _)| kernel == name)
            .collect(),
    };
    if chosen.is_empty() {
        let families: Vec<&str> = registry().iter().map(|entry| entry.name).collect();
        bail!(
            "no kernel `{name}`: `kernels list` has them all, in families {}",
            families.join(", ")
        );
    }
    let mut refused = Vec::new();
    let mut modules: Vec<(String, Verified)> = Vec::new();
    for (kernel, case) in chosen {
        match case.build(target, Options::default()) {
            Ok(built) => modules.push((kernel, built.module)),
            Err(error @ BuildError::Unsupported { .. }) => refused.push(error),
            Err(error) => return Err(error.into()),
        }
    }
    if modules.is_empty()
        && let Some(error) = refused.pop()
    {
        return Err(error.into());
    }
    match out {
        Some(folder) => {
            writable(folder)?;
            let mut files = Files::default();
            for (kernel, module) in &modules {
                let path = folder.join(format!("{kernel}.ptx"));
                let draft = files.writes("--out", &path)?.draft()?;
                draft.complete(&module.text())?;
            }
        }
        None => print(&one_module(&modules)?)?,
    }
    refused
        .iter()
        .for_each(|error| note(&format!("left out: {error}")));
    Ok(())
}

/// The text of one module with the kernels of all: PTX has one module to a file.
fn one_module(modules: &[(String, Verified)]) -> Result<String> {
    let Some(((_, first), rest)) = modules.split_first() else {
        return Ok(String::new());
    };
    let mut all = Module::clone(first);
    for (kernel, module) in rest {
        let clash = all.functions.iter().any(|known| {
            let same = |one: &&Function| one.name == known.name;
            module.functions.iter().any(|one| same(&one))
        });
        // What they have of variables is the dynamic shared memory, which all share.
        if all.vars.is_empty() {
            all.vars.clone_from(&module.vars);
        }
        if (!module.vars.is_empty() && module.vars != all.vars) || clash {
            bail!(
                "`{kernel}` cannot stand in one module with the others: `--out DIR` writes a file for each"
            );
        }
        all.version = all.version.max(module.version);
        all.functions.extend(module.functions.iter().cloned());
    }
    let verified = verify(all).map_err(|found| match found.into_iter().next() {
        Some(first) => anyhow!(first),
        None => anyhow!("the kernels do not fit one module"),
    })?;
    Ok(verified.text())
}
