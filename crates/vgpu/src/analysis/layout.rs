//! Where the variables and parameters of a kernel are.

use crate::{check::Variables, error::Error};
use warpsmith_ptx::{
    ir::{Function, Module, Name, VarId},
    types::Space,
};

/// Where a kernel's variables are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Address of each module variable in its space.
    pub(crate) module: Vec<u64>,
    /// Address of each function variable in its space.
    pub(crate) function: Vec<u64>,
    /// Offset of each parameter.
    pub(crate) params: Vec<u64>,
    /// Bytes of all parameters.
    pub(crate) param_bytes: u32,
    /// Bytes of static shared memory.
    pub(crate) shared_bytes: u32,
    /// Bytes of local memory per thread.
    pub(crate) local_bytes: u32,
    /// Shared variables but open ones.
    pub(crate) shared: Variables,
    /// Where dynamic shared memory starts.
    pub(crate) open_shared: Option<u64>,
    /// Local variables.
    pub(crate) local: Variables,
}

impl Layout {
    /// Lays out a kernel, given the arena addresses of module variables (0 for shared ones), with `gap` bytes of
    /// nothing behind each variable, and before those in shared memory.
    pub(crate) fn new(
        module: &Module,
        function: &Function,
        arena: &[u64],
        gap: u32,
    ) -> Result<Layout, Error> {
        let fail = |name: &Name| Error::Unsupported {
            kernel: function.name.clone(),
            span: function.span,
            what: format!("the size of variable {name}"),
        };
        let mut layout = Layout {
            module: arena.to_vec(),
            function: vec![0; function.vars.len()],
            params: Vec::with_capacity(function.params.len()),
            param_bytes: 0,
            shared_bytes: 0,
            local_bytes: 0,
            shared: Variables::default(),
            open_shared: None,
            local: Variables::default(),
        };
        let place = |end: &mut u32, var: &warpsmith_ptx::ir::Var| -> Option<u64> {
            let at = end.checked_next_multiple_of(var.alignment())?;
            *end = at.checked_add(u32::try_from(var.bytes()?).ok()?)?;
            (*end <= 1 << 28).then_some(u64::from(at))
        };
        for param in &function.params {
            let at = place(&mut layout.param_bytes, param).ok_or_else(|| fail(&param.name))?;
            layout.params.push(at);
        }
        let mut open = Vec::new();
        let vars = module
            .vars
            .iter()
            .enumerate()
            .map(|(i, var)| (VarId::Module(i as u32), var));
        let own = function
            .vars
            .iter()
            .enumerate()
            .map(|(i, var)| (VarId::Function(i as u32), var));
        for (id, var) in vars.chain(own) {
            let end = match var.space {
                // An address that starts from 0 and not from a variable meets none.
                Space::Shared if layout.shared_bytes == 0 && var.bytes() != Some(0) => {
                    layout.shared_bytes = gap;
                    &mut layout.shared_bytes
                }
                Space::Shared => &mut layout.shared_bytes,
                Space::Local => &mut layout.local_bytes,
                Space::Generic | Space::Global | Space::Const | Space::Param => continue,
            };
            if var.space == Space::Shared && var.bytes() == Some(0) {
                open.push((id, var));
                continue;
            }
            let at = place(end, var).ok_or_else(|| fail(&var.name))?;
            *end = end.checked_add(gap).ok_or_else(|| fail(&var.name))?;
            let (bytes, name) = (var.bytes().unwrap_or(0), &var.name);
            if var.space == Space::Shared {
                layout.shared.push(name, at, bytes);
            } else {
                layout.local.push(name, at, bytes);
            }
            layout.set(id, at);
        }
        // Dynamic shared memory: every open array starts at the end of the static part.
        let align = open
            .iter()
            .map(|(_, var)| var.alignment())
            .max()
            .unwrap_or(1);
        if !open.is_empty() {
            let start = layout.shared_bytes.next_multiple_of(align.max(16));
            layout.open_shared = Some(u64::from(start));
            layout.shared_bytes = start;
            for (id, _) in open {
                layout.set(id, u64::from(start));
            }
        }
        layout.local_bytes = layout.local_bytes.next_multiple_of(16);
        Ok(layout)
    }

    fn set(&mut self, id: VarId, at: u64) {
        match id {
            VarId::Module(i) => self.module[i as usize] = at,
            VarId::Function(i) => self.function[i as usize] = at,
            VarId::Param(_) | VarId::Return(_) => {}
        }
    }

    /// The address of a variable in its space.
    pub(crate) fn address(&self, id: VarId) -> Option<u64> {
        match id {
            VarId::Module(i) => self.module.get(i as usize).copied(),
            VarId::Function(i) => self.function.get(i as usize).copied(),
            VarId::Param(i) => self.params.get(i as usize).copied(),
            VarId::Return(_) => None,
        }
    }
}
