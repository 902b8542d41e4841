//! `kernels`: the library's kernels and their PTX.

mod check;

use super::output::{is_closed, note, one_line, print};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use std::{collections::BTreeMap, fmt::Write, process::ExitCode};
use warpsmith::{
    kernel::{BuildError, Options},
    library::{
        case::{AnyCase, Random},
        registry::{Entry, registry},
    },
    ptx::target::Target,
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
    #[command(after_help = "Examples:
  warpsmith kernels emit softmax --sm 90
  warpsmith kernels emit decode_attention --sm sm_90a

A family with several kernels gives several modules one after the other, each after a line `// kernel NAME`.")]
    Emit {
        /// A family or a kernel, as `kernels list` shows them.
        name: String,
        /// The target: 75, sm_90, 90a.
        #[arg(long, value_name = "N", default_value = "90")]
        sm: Target,
    },
    Check(check::CheckKernels),
}

impl Kernels {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.action {
            Action::List => list()?,
            Action::Emit { name, sm } => emit(&name, sm)?,
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

fn emit(name: &str, target: Target) -> Result<()> {
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
    let several = chosen.len() > 1;
    let mut refused = Vec::new();
    let mut shown = 0;
    for (kernel, case) in chosen {
        match case.build(target, Options::default()) {
            Ok(built) => {
                if several {
                    print(&format!("// kernel {kernel}\n"))?;
                }
                print(&built.module.text())?;
                shown += 1;
            }
            Err(error @ BuildError::Unsupported { .. }) => refused.push(error),
            Err(error) => return Err(error.into()),
        }
    }
    match refused.pop() {
        Some(error) if shown == 0 => return Err(error.into()),
        last => refused.extend(last),
    }
    refused
        .iter()
        .for_each(|error| note(&format!("left out: {error}")));
    Ok(())
}
