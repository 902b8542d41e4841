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

/// The PTX versions that there are, each major with its last minor (PTX ISA manual, release notes).
const VERSIONS: &[(u8, u8)] = &[
    (1, 5),
    (2, 3),
    (3, 2),
    (4, 3),
    (5, 1),
    (6, 5),
    (7, 8),
    (8, 8),
    (9, 5),
];

impl PtxVersion {
    /// The newest version that is known here, that of CUDA 13.5.
    pub const NEWEST: PtxVersion = PtxVersion::new(9, 5);

    /// All versions, in words: `1.0 to 1.5, 2.0 to 2.3`.
    pub fn names() -> String {
        let ranges = VERSIONS.iter();
        let ranges = ranges.map(|(major, last)| format!("{major}.0 to {major}.{last}"));
        ranges.collect::<Vec<_>>().join(", ")
    }

    /// Whether the manual has such a version.
    pub fn exists(self) -> bool {
        let major = VERSIONS.iter().find(|(major, _)| *major == self.major);
        major.is_some_and(|(_, last)| self.minor <= *last)
    }
}

/// A target that is not known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target `{found}`, expected one of {}", Target::names(0))]
pub struct UnknownTarget {
    /// The text given.
    pub found: String,
}

/// `(sm, suffix, first PTX version, shared memory per block with opt-in in bytes)`: what ptxas 13.5 takes.
const KNOWN: &[(u16, Suffix, PtxVersion, u32)] = &[
    (20, Suffix::None, PtxVersion::new(2, 0), 48 << 10),
    (21, Suffix::None, PtxVersion::new(2, 0), 48 << 10),
    (30, Suffix::None, PtxVersion::new(3, 0), 48 << 10),
    (32, Suffix::None, PtxVersion::new(4, 0), 48 << 10),
    (35, Suffix::None, PtxVersion::new(3, 1), 48 << 10),
    (37, Suffix::None, PtxVersion::new(4, 1), 48 << 10),
    (50, Suffix::None, PtxVersion::new(4, 0), 48 << 10),
    (52, Suffix::None, PtxVersion::new(4, 1), 48 << 10),
    (53, Suffix::None, PtxVersion::new(4, 2), 48 << 10),
    (60, Suffix::None, PtxVersion::new(5, 0), 48 << 10),
    (61, Suffix::None, PtxVersion::new(5, 0), 48 << 10),
    (62, Suffix::None, PtxVersion::new(5, 0), 48 << 10),
    (70, Suffix::None, PtxVersion::new(5, 1), 96 << 10),
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
    (101, Suffix::None, PtxVersion::new(8, 6), 227 << 10),
    (101, Suffix::Family, PtxVersion::new(8, 8), 227 << 10),
    (101, Suffix::Arch, PtxVersion::new(8, 6), 227 << 10),
    (103, Suffix::None, PtxVersion::new(8, 8), 227 << 10),
    (103, Suffix::Family, PtxVersion::new(8, 8), 227 << 10),
    (103, Suffix::Arch, PtxVersion::new(8, 8), 227 << 10),
    (107, Suffix::None, PtxVersion::new(9, 4), 227 << 10),
    (107, Suffix::Family, PtxVersion::new(9, 4), 227 << 10),
    (107, Suffix::Arch, PtxVersion::new(9, 4), 227 << 10),
    (110, Suffix::None, PtxVersion::new(9, 0), 227 << 10),
    (110, Suffix::Family, PtxVersion::new(9, 0), 227 << 10),
    (110, Suffix::Arch, PtxVersion::new(9, 0), 227 << 10),
    (120, Suffix::None, PtxVersion::new(8, 7), 99 << 10),
    (120, Suffix::Family, PtxVersion::new(8, 8), 99 << 10),
    (120, Suffix::Arch, PtxVersion::new(8, 7), 99 << 10),
    (121, Suffix::None, PtxVersion::new(8, 8), 99 << 10),
    (121, Suffix::Family, PtxVersion::new(8, 8), 99 << 10),
    (121, Suffix::Arch, PtxVersion::new(8, 8), 99 << 10),
];

impl Target {
    /// Portable target by number. Whether it exists is checked by [`Target::first_version`].
    pub const fn sm(sm: u16) -> Self {
        Target {
            sm,
            suffix: Suffix::None,
        }
    }

    /// The targets that the kernel library has variants for, and is assembled for in tests.
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

    /// The first number that the kernel library is built for.
    pub const FIRST_BUILT: u16 = 70;

    /// Every target that is known here, the oldest first.
    pub fn all() -> impl Iterator<Item = Target> {
        KNOWN.iter().map(|(sm, suffix, _, _)| Target {
            sm: *sm,
            suffix: *suffix,
        })
    }

    /// The names of all known targets from a number on, as messages and helps show them: `sm_90(a)` is two.
    pub fn names(from: u16) -> String {
        let mut out = String::new();
        let mut last = None;
        for target in Target::all().filter(|target| target.sm >= from) {
            if target.suffix == Suffix::None {
                let separator = if last.is_some() { ", " } else { "" };
                out.push_str(&format!("{separator}sm_{}", target.sm));
                last = Some(target.sm);
                let more: Vec<&str> = Target::all()
                    .filter(|other| other.sm == target.sm && *other != target)
                    .map(|other| other.suffix.letter())
                    .collect();
                if !more.is_empty() {
                    out.push_str(&format!("({})", more.join(",")));
                }
            }
        }
        out
    }

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

    /// The number that counts today: sm_101 became sm_110.
    fn number(self) -> u16 {
        match self.sm {
            101 => 110,
            sm => sm,
        }
    }

    /// The first of the family that a number is of: what `f` targets are built for runs on the later ones of it.
    fn family(self) -> u16 {
        match self.number() {
            100..=109 => 100,
            110..=119 => 110,
            120..=129 => 120,
            sm => sm,
        }
    }

    /// Whether a device of target `device` runs a module built for this target.
    pub fn runs_on(self, device: Target) -> bool {
        match self.suffix {
            Suffix::None => self.sm <= device.sm,
            Suffix::Family => self.family() == device.family() && self.number() <= device.number(),
            Suffix::Arch => self.number() == device.number(),
        }
    }

    /// Whether a module for this target may have what came with another: with a portable one all later do, with
    /// an `f` one the `f` and `a` targets of the family from that number on, with an `a` one that alone.
    pub fn has(self, first: Target) -> bool {
        match first.suffix {
            Suffix::None => first.sm <= self.sm,
            Suffix::Family => {
                self.suffix != Suffix::None
                    && first.family() == self.family()
                    && first.number() <= self.number()
            }
            Suffix::Arch => self.suffix == Suffix::Arch && first.number() == self.number(),
        }
    }
}

impl Target {
    /// As messages say what is needed: `sm_80 or later`, `sm_90a`.
    pub(crate) fn or_later(self) -> String {
        match self.suffix {
            Suffix::None => format!("{self} or later"),
            Suffix::Family => format!("{self} or another specific target of its family"),
            Suffix::Arch => self.to_string(),
        }
    }
}

impl Suffix {
    /// The letter behind the number; empty for a portable target.
    pub const fn letter(self) -> &'static str {
        match self {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, self.suffix.letter())
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    /// Accepts `sm_90a`, `sm90a`, `compute_90a` and `90a`.
    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        let unknown = || UnknownTarget {
            found: text.to_owned(),
        };
        let rest = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("compute_"))
            .or_else(|| text.strip_prefix("sm"))
            .unwrap_or(text);
        let (digits, suffix) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Suffix::Arch),
            Some(b'f') => (&rest[..rest.len() - 1], Suffix::Family),
            _ => (rest, Suffix::None),
        };
        // A sign or leading zeros are no part of a number here.
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let sm = digits.parse().ok().filter(|_| plain).ok_or_else(unknown)?;
        let target = Target { sm, suffix };
        if target.row().is_some() {
            Ok(target)
        } else {
            Err(unknown())
        }
    }
}
