//! Targets and PTX versions, with the order between them.

use std::{fmt, str::FromStr};

/// An architecture-specific suffix of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// Portable to later architectures.
    None,
    /// Family-specific (`f`).
    Family,
    /// Architecture-specific (`a`).
    Arch,
}

/// A virtual architecture such as `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The number: 75 for `sm_75`.
    pub sm: u16,
    /// The suffix letter.
    pub suffix: Suffix,
}

/// Two figures, as in `.version 7.8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxVersion {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl PtxVersion {
    /// A version from its two figures.
    pub const fn new(major: u8, minor: u8) -> Self {
        PtxVersion { major, minor }
    }

    /// The newest PTX that a driver of CUDA `major.minor` takes (PTX ISA manual, release notes).
    pub fn newest_of_cuda(major: u32, minor: u32) -> Self {
        match (major, minor) {
            (..=9, _) => PtxVersion::new(6, 0),
            (10, minor) => PtxVersion::new(6, 3 + minor.min(2) as u8),
            (11, minor) => PtxVersion::new(7, minor.min(8) as u8),
            (12, minor @ ..=5) => PtxVersion::new(8, minor as u8),
            (12, minor) => PtxVersion::new(8, minor.min(9) as u8 - 1),
            (major, minor) => PtxVersion::new((major - 4).min(255) as u8, minor.min(255) as u8),
        }
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A target that is not known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target `{found}`, expected one of sm_50 to sm_121 (`sm_75`, `75`, `sm_90a`)")]
pub struct UnknownTarget {
    /// The text given.
    pub found: String,
}

/// `(sm, suffix, first PTX version, shared memory per block with opt-in in bytes)`.
const KNOWN: &[(u16, Suffix, PtxVersion, u32)] = &[
    (50, Suffix::None, PtxVersion::new(4, 0), 48 << 10),
    (52, Suffix::None, PtxVersion::new(4, 1), 48 << 10),
    (53, Suffix::None, PtxVersion::new(4, 2), 48 << 10),
    (60, Suffix::None, PtxVersion::new(5, 0), 48 << 10),
    (61, Suffix::None, PtxVersion::new(5, 0), 48 << 10),
    (62, Suffix::None, PtxVersion::new(5, 0), 48 << 10),
    (70, Suffix::None, PtxVersion::new(6, 0), 96 << 10),
    (72, Suffix::None, PtxVersion::new(6, 1), 96 << 10),
    (75, Suffix::None, PtxVersion::new(6, 3), 64 << 10),
    (80, Suffix::None, PtxVersion::new(7, 0), 163 << 10),
    (86, Suffix::None, PtxVersion::new(7, 1), 99 << 10),
    (87, Suffix::None, PtxVersion::new(7, 4), 163 << 10),
    (88, Suffix::None, PtxVersion::new(9, 0), 99 << 10),
    (89, Suffix::None, PtxVersion::new(7, 8), 99 << 10),
    (90, Suffix::None, PtxVersion::new(7, 8), 227 << 10),
    (90, Suffix::Arch, PtxVersion::new(8, 0), 227 << 10),
    (100, Suffix::None, PtxVersion::new(8, 6), 227 << 10),
    (100, Suffix::Family, PtxVersion::new(8, 8), 227 << 10),
    (100, Suffix::Arch, PtxVersion::new(8, 6), 227 << 10),
    (103, Suffix::None, PtxVersion::new(8, 8), 227 << 10),
    (103, Suffix::Arch, PtxVersion::new(8, 8), 227 << 10),
    (110, Suffix::None, PtxVersion::new(9, 0), 227 << 10),
    (120, Suffix::None, PtxVersion::new(8, 7), 99 << 10),
    (120, Suffix::Family, PtxVersion::new(8, 8), 99 << 10),
    (120, Suffix::Arch, PtxVersion::new(8, 7), 99 << 10),
    (121, Suffix::None, PtxVersion::new(8, 8), 99 << 10),
];

impl Target {
    /// Portable target by number. Whether it exists is checked by [`Target::first_version`].
    pub const fn sm(sm: u16) -> Self {
        Target {
            sm,
            suffix: Suffix::None,
        }
    }

    /// The targets that the kernel library is built and assembled for.
    pub const SUPPORTED: &'static [Target] = &[
        Target::sm(70),
        Target::sm(75),
        Target::sm(80),
        Target::sm(86),
        Target::sm(89),
        Target::sm(90),
        Target {
            sm: 90,
            suffix: Suffix::Arch,
        },
        Target::sm(100),
        Target::sm(120),
    ];

    fn row(self) -> Option<&'static (u16, Suffix, PtxVersion, u32)> {
        KNOWN
            .iter()
            .find(|row| row.0 == self.sm && row.1 == self.suffix)
    }

    /// The first PTX version that knows this target; `None` if there is no such target.
    pub fn first_version(self) -> Option<PtxVersion> {
        self.row().map(|row| row.2)
    }

    /// Bytes of shared memory one CTA may use with opt-in.
    pub fn shared_limit(self) -> Option<u32> {
        self.row().map(|row| row.3)
    }

    /// Whether a device of target `device` runs a module built for this target.
    pub fn runs_on(self, device: Target) -> bool {
        match self.suffix {
            Suffix::None => self.sm <= device.sm,
            Suffix::Family => self.sm / 10 == device.sm / 10 && self.sm <= device.sm,
            Suffix::Arch => self.sm == device.sm,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    /// Accepts `sm_90a`, `sm90a` and `90a`.
    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        let unknown = || UnknownTarget {
            found: text.to_owned(),
        };
        let rest = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("sm"))
            .unwrap_or(text);
        let (digits, suffix) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Suffix::Arch),
            Some(b'f') => (&rest[..rest.len() - 1], Suffix::Family),
            _ => (rest, Suffix::None),
        };
        let target = Target {
            sm: digits.parse().map_err(|_| unknown())?,
            suffix,
        };
        if target.row().is_some() {
            Ok(target)
        } else {
            Err(unknown())
        }
    }
}
