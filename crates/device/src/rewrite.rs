//! Changes modules on their way to a device: a kernel's PTX replaced by one's own, or instrumented.

use crate::error::Error;
use std::{borrow::Cow, fmt, sync::Arc};
use warpsmith_ptx::{
    ir::Module,
    verify::{Verified, verify},
};

/// A function that each module passes through before it is loaded; what it gives is verified like any other module.
///
/// It must keep the entries with their parameters: launches go on packing what the kernel's signature says. Clones are
/// the same function, and equal; two made apart are not.
#[derive(Clone)]
pub struct Rewrite(Arc<dyn Fn(Module) -> Module + Send + Sync>);

impl Rewrite {
    /// Rewrites by `change`.
    pub fn new(change: impl Fn(Module) -> Module + Send + Sync + 'static) -> Rewrite {
        Rewrite(Arc::new(change))
    }

    /// `module`, changed.
    ///
    /// # Errors
    /// [`Error::Rewritten`] with all that the verifier found.
    pub(crate) fn apply(&self, module: &Module) -> Result<Verified, Error> {
        verify((self.0)(module.clone())).map_err(|found| Error::Rewritten { found })
    }
}

/// `module`, or what `rewrite` makes of it.
pub(crate) fn rewritten<'m>(
    module: &'m Verified,
    rewrite: Option<&Rewrite>,
) -> Result<Cow<'m, Verified>, Error> {
    match rewrite {
        None => Ok(Cow::Borrowed(module)),
        Some(rewrite) => rewrite.apply(module).map(Cow::Owned),
    }
}

impl PartialEq for Rewrite {
    fn eq(&self, other: &Rewrite) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Rewrite {}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rewrite")
    }
}
