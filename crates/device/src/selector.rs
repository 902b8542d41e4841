//! Which device to open, and how.

use crate::{error::Error, rewrite::Rewrite, virtual_card::VirtualCard};
use std::{fmt, path::PathBuf, str::FromStr};

/// Names a device. As text: `auto`, `virtual`, `virtual:sm75,sms=40`, `cuda:0`; see [`VirtualCard`] for the settings.
///
/// ```
/// use warpsmith_device::Selector;
///
/// assert_eq!("auto".parse::<Selector>()?, Selector::Auto);
/// assert_eq!("cuda:1".parse::<Selector>()?, Selector::Cuda(1));
/// let turing: Selector = "virtual:sm75".parse()?; // a virtual card with that target
/// assert!(matches!(turing, Selector::Virtual(card) if card.target.is_some()));
/// assert!("cuda:x".parse::<Selector>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Selector {
    /// The first card if there is one, else the virtual GPU.
    #[default]
    Auto,
    /// The virtual GPU.
    Virtual(VirtualCard),
    /// A card by number.
    Cuda(usize),
}

impl Selector {
    /// The virtual GPU with its defaults.
    pub fn virtual_gpu() -> Selector {
        Selector::Virtual(VirtualCard::default())
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Selector, Error> {
        let unknown = || Error::Selector {
            found: text.to_owned(),
        };
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        match (kind, rest) {
            ("auto", None) => Ok(Selector::Auto),
            ("virtual", None) => Ok(Selector::virtual_gpu()),
            ("virtual", Some(settings)) => Ok(Selector::Virtual(settings.parse()?)),
            ("cuda", None) => Ok(Selector::Cuda(0)),
            ("cuda", Some(index)) => Ok(Selector::Cuda(index.parse().map_err(|_| unknown())?)),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Auto => f.write_str("auto"),
            Selector::Virtual(card) => match card.to_string() {
                usual if usual.is_empty() => f.write_str("virtual"),
                settings => write!(f, "virtual:{settings}"),
            },
            Selector::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// How a device is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Built kernels kept; the least recently used is dropped beyond that.
    pub cache_entries: usize,
    /// A folder for what the driver compiled, shared by processes; `None` keeps nothing. The virtual GPU compiles
    /// nothing worth keeping.
    pub disk_cache: Option<PathBuf>,
    /// When errors of running kernels are looked for.
    pub checks: Checks,
    /// The virtual GPU runs CTAs, and the warps of each, in an order that this number decides; `None` in theirs.
    pub seed: Option<u64>,
    /// What fresh memory of the virtual GPU holds.
    pub fresh: Fresh,
    /// What the virtual GPU checks while kernels run; `None` runs at full speed. See [`Device::take_findings`].
    /// A card checks nothing, so opening one with this is an error.
    ///
    /// [`Device::take_findings`]: crate::Device::take_findings
    pub checker: Option<warpsmith_vgpu::check::Checks>,
    /// What modules pass through before they are loaded; `None` loads them as they are.
    pub rewrite: Option<Rewrite>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cache_entries: 1024,
            disk_cache: None,
            checks: Checks::AtWaits,
            seed: None,
            fresh: Fresh::Poisoned,
            checker: None,
            rewrite: None,
        }
    }
}

impl Settings {
    /// The usual ones, with all checks of kernels while they run.
    pub fn checking() -> Settings {
        Settings {
            checker: Some(warpsmith_vgpu::check::Checks::default()),
            ..Settings::default()
        }
    }

    /// These settings with an order of CTAs, warps and lanes that `seed` decides.
    pub fn with_seed(self, seed: u64) -> Settings {
        Settings {
            seed: Some(seed),
            ..self
        }
    }
}

/// When errors of running kernels are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Where the host waits anyway.
    AtWaits,
    /// After each launch, by waiting for it: slow, and the error comes from the launch that caused it.
    EachLaunch,
}

/// What fresh memory of the virtual GPU holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// `0xFF`, a NaN in every float type.
    Poisoned,
    /// Whatever was there; pages that no one touches cost nothing.
    AsIs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnknownSetting;

    #[test]
    fn text_and_selector_agree() {
        for (text, selector) in [
            ("auto", Selector::Auto),
            ("virtual", Selector::virtual_gpu()),
            ("cuda:3", Selector::Cuda(3)),
        ] {
            assert_eq!(text.parse(), Ok(selector.clone()));
            assert_eq!(selector.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(Selector::Cuda(0)));
        let card = VirtualCard::preset("t4").expect("a preset");
        assert_eq!("virtual:t4".parse(), Ok(Selector::Virtual(card)));
    }

    #[test]
    fn unknown_text_is_refused_with_itself() {
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "auto:0"] {
            assert_eq!(
                text.parse::<Selector>(),
                Err(Error::Selector {
                    found: text.to_owned()
                })
            );
        }
        let found = "sm1".to_owned();
        let want = Error::VirtualCard(UnknownSetting { found });
        assert_eq!("virtual:sm1".parse::<Selector>(), Err(want));
    }
}
