//! Libraries: programs that are loaded into each context when something of them is first used there.

use crate::{
    core::Core,
    module::{Module, Program},
    status::Status,
    table::{Handle, Table, lock},
};
use std::{
    ffi::CString,
    sync::{Arc, Mutex},
};

/// A program that belongs to no context.
pub(crate) struct Library {
    program: Program,
    /// What it is in each context: that context's module.
    modules: Mutex<Vec<(Arc<Module>, Handle)>>,
    /// Handles of kernels that were asked for.
    pub(crate) handles: Mutex<Vec<(String, Handle)>>,
}

/// A kernel of a library.
pub(crate) struct LibraryKernel {
    pub(crate) name: CString,
    pub(crate) library: Arc<Library>,
}

impl Library {
    pub(crate) fn new(program: Program) -> Library {
        Library {
            program,
            modules: Mutex::default(),
            handles: Mutex::default(),
        }
    }

    /// Its module in a context; one that is loaded now gets a handle among `known`.
    pub(crate) fn module(
        &self,
        core: &Arc<Core>,
        known: &Table<Module>,
    ) -> Result<(Arc<Module>, Handle), Status> {
        let mut modules = lock(&self.modules);
        let of_it = |module: &Module| Arc::ptr_eq(&module.core, core);
        if let Some(found) = modules.iter().find(|(module, _)| of_it(module)) {
            return Ok(found.clone());
        }
        let module = Arc::new(Module::new(core, &self.program)?);
        let handle = known.insert(module.clone());
        modules.push((module.clone(), handle));
        Ok((module, handle))
    }

    /// The names of its kernels.
    pub(crate) fn kernels(&self) -> Vec<String> {
        self.program.kernels()
    }

    /// Its modules, which it gives up.
    pub(crate) fn give_up(&self) -> Vec<(Arc<Module>, Handle)> {
        std::mem::take(&mut *lock(&self.modules))
    }

    /// A context goes.
    pub(crate) fn forget(&self, core: &Arc<Core>) {
        lock(&self.modules).retain(|(module, _)| !Arc::ptr_eq(&module.core, core));
    }
}
