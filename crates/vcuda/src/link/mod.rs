//! Linking: pieces of PTX become one, with what the device runtime has.

mod merge;
#[cfg(test)]
mod tests;

use crate::fatbin::OURS;
use merge::link;
use warpsmith_ptx::{
    ir::{Module, Operand},
    parse::parse,
    print::print,
};

/// The PTX in code of ours, or all of it.
pub(crate) fn unwrapped(bytes: &[u8]) -> &[u8] {
    let inner = bytes.strip_prefix(&OURS[..]).and_then(|rest| {
        let (len, rest) = rest.split_first_chunk::<8>()?;
        rest.get(..u64::from_le_bytes(*len) as usize)
    });
    let text = inner.unwrap_or(bytes);
    let end = text
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    &text[..end]
}

/// Links texts; a single one stays as it is.
pub(crate) fn link_texts(pieces: &[(String, String)]) -> Result<String, String> {
    if let [(_, text)] = pieces {
        return Ok(text.clone());
    }
    let modules = pieces.iter().map(|(name, text)| {
        let module = parse(text).map_err(|found| {
            let lines: Vec<String> = found
                .iter()
                .map(|one| format!("error: {name}: {one}"))
                .collect();
            lines.join("\n")
        })?;
        Ok((name.as_str(), module))
    });
    let modules = modules.collect::<Result<Vec<_>, String>>()?;
    Ok(print(&link(&modules)?))
}

/// What the device runtime has: functions that modules only declare, in PTX.
const RUNTIME: &str = include_str!("../runtime.ptx");
/// Those that wait for a grid, and those of the heap.
const GRID: [&str; 2] = ["cudaCGGetIntrinsicHandle", "cudaCGSynchronize"];
const HEAP: [&str; 2] = ["malloc", "free"];

/// The text of a module with the functions of the device runtime that it calls; `None` if it needs none.
///
/// # Errors
/// Why they do not go together.
pub(crate) fn completed(module: &Module) -> Result<Option<String>, String> {
    let called = |names: [&str; 2]| {
        module
            .functions
            .iter()
            .flat_map(|one| one.body.iter().flatten())
            .any(|stmt| {
                let operands = stmt.inst().into_iter().flat_map(|inst| &inst.operands);
                operands.into_iter().any(|operand| match operand {
                    Operand::Func(id) => {
                        let name = &module.functions[id.index()].name;
                        let own = module
                            .functions
                            .iter()
                            .any(|one| one.name == *name && one.body.is_some());
                        names.contains(&name.as_ref()) && !own
                    }
                    _ => false,
                })
            })
    };
    let (grid, heap) = (called(GRID), called(HEAP));
    if !grid && !heap {
        return Ok(None);
    }
    let mut runtime =
        parse(RUNTIME).map_err(|found| format!("error: the device runtime: {found:?}"))?;
    if !heap {
        runtime.vars.clear();
    }
    let wanted = |name: &str| grid && GRID.contains(&name) || heap && HEAP.contains(&name);
    runtime.functions.retain(|function| wanted(&function.name));
    let mut own = module.clone();
    own.sections.clear();
    let both = [("the module", own), ("the device runtime", runtime)];
    Ok(Some(print(&link(&both)?)))
}
