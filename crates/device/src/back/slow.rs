//! One warning for those whose build leaves the virtual GPU unoptimised.

use std::sync::Once;

/// What to write, and where.
const WARNING: &str = "the virtual GPU was built without optimisation and is a hundred times slower than it could be; \
                       in the Cargo.toml of your workspace: [profile.dev.package.\"*\"] opt-level = 3";

/// Warns, once in a process, where the virtual GPU is not optimised: those who listen to `tracing` there, others on standard
/// error.
pub(super) fn warn() {
    static ONCE: Once = Once::new();
    if warpsmith_vgpu::OPTIMISED {
        return;
    }
    ONCE.call_once(|| match tracing::dispatcher::has_been_set() {
        true => tracing::warn!("{WARNING}"),
        false => eprintln!("warning: {WARNING}"),
    });
}
