//! What kernels are built for on a card.

use warpsmith_ptx::target::{PtxVersion, Target};

/// The target that kernels are built for on a card of compute capability `major.minor`: the architecture-specific one
/// where the kernel library has variants for it, else the newest portable one that the card runs.
pub(super) fn target_of_card(major: u16, minor: u16, newest: PtxVersion) -> Target {
    let sm = major * 10 + minor;
    let takes = |target: &Target| target.first_version().is_some_and(|first| first <= newest);
    let specific = Target::SUPPORTED
        .iter()
        .filter(|target| target.sm == sm)
        .max();
    if let Some(target) = specific
        && takes(target)
    {
        return *target;
    }
    (50..=sm)
        .rev()
        .map(Target::sm)
        .find(takes)
        .unwrap_or(Target::sm(50))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_ptx::target::Suffix;

    #[test]
    fn a_card_gets_the_best_target_its_driver_knows() {
        let hopper = Target {
            sm: 90,
            suffix: Suffix::Arch,
        };
        for (major, minor, newest, target) in [
            (9, 0, PtxVersion::new(8, 8), hopper),
            (9, 0, PtxVersion::new(7, 8), Target::sm(90)),
            (7, 5, PtxVersion::new(8, 0), Target::sm(75)),
            (8, 9, PtxVersion::new(7, 4), Target::sm(87)),
            (12, 0, PtxVersion::new(8, 7), Target::sm(120)),
            (13, 0, PtxVersion::new(8, 8), Target::sm(121)),
        ] {
            assert_eq!(target_of_card(major, minor, newest), target);
        }
    }
}
