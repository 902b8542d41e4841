//! Who is told of findings as they come.

use super::Finding;
use std::{fmt, sync::Arc};

/// Who is told of findings.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Finding) + Send + Sync>);

impl Observer {
    /// Calls `tell` with each finding when it is first seen, from the thread that runs the launch.
    pub fn new(tell: impl Fn(&Finding) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(tell))
    }

    pub(crate) fn tell(&self, finding: &Finding) {
        (self.0)(finding);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
