//! Libraries: programs that are loaded into each context when something of them is first used there.

use crate::{
    context::{Context, Core},
    driver::driver,
    module::{Function, Module, Program},
    status::Status,
    table::{Handle, lock},
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

    /// Its module in a context.
    pub(crate) fn module(&self, context: &Context) -> Result<(Arc<Module>, Handle), Status> {
        let mut modules = lock(&self.modules);
        let of_it = |module: &Module| Arc::ptr_eq(&module.core, &context.core);
        if let Some(found) = modules.iter().find(|(module, _)| of_it(module)) {
            return Ok(found.clone());
        }
        let module = Arc::new(Module::new(context, &self.program)?);
        let handle = driver()?.modules.insert(module.clone());
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

/// The function that a handle stands for: of a module, or of a kernel of a library in this context.
pub(crate) fn function(handle: Handle) -> Result<Arc<Function>, Status> {
    function_with_handle(handle).map(|(function, _)| function)
}

/// A function of a library, with the handle it has as a function.
pub(crate) fn function_with_handle(handle: Handle) -> Result<(Arc<Function>, Handle), Status> {
    let driver = driver()?;
    if let Ok(function) = driver.functions.find(handle) {
        return Ok((function, handle));
    }
    let kernel = driver.kernels.find(handle)?;
    let context = crate::context::usable()?;
    let (module, _) = kernel.library.module(&context)?;
    let name = kernel.name.to_str().map_err(|_| Status::InvalidHandle)?;
    module.function_handle(driver, name)
}
