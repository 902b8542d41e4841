//! What a virtual GPU is asked to be, as fields and as text.

use std::{fmt, str::FromStr};
use warpsmith_kernel::Processor;
use warpsmith_ptx::target::{PtxVersion, Target};
use warpsmith_vgpu::{Compile, Tier};

/// A virtual GPU to open; what is `None` is as usual for the rest.
///
/// As text: a preset or a target, then pairs, all optional, as in `sm75,sms=40,memory=15GiB,ptx=6.5`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct VirtualCard {
    /// What it reports; sm_90 unless given.
    pub target: Option<Target>,
    /// Multiprocessors; one for each thread unless given, as a thread runs one CTA at a time.
    pub sms: Option<u32>,
    /// Whose kernels it is given; those that suit the virtual GPU unless said, a card's where a preset is named.
    pub kernels: Option<Processor>,
    /// Bytes of memory; address space until they are touched.
    pub memory: Option<u64>,
    /// Bytes of shared memory that a CTA may use; the target's unless given.
    pub shared: Option<u32>,
    /// CTAs that a cooperative launch may have.
    pub cooperative: Option<u64>,
    /// The newest PTX that it takes.
    pub ptx: Option<PtxVersion>,
    /// Threads that run CTAs; one for each core unless given. Not part of the text.
    pub workers: Option<usize>,
    /// The code path; the best of this CPU unless given.
    pub tier: Option<Tier>,
    /// Which kernels are compiled to machine code; those for which it pays unless given.
    pub compile: Option<Compile>,
}

/// Cards by name: target, multiprocessors, GiB of memory (NVIDIA's data sheets).
const PRESETS: &[(&str, u16, u32, u64)] = &[
    ("t4", 75, 40, 15),
    ("a100", 80, 108, 40),
    ("rtx3060", 86, 28, 12),
    ("h100", 90, 132, 80),
];

impl VirtualCard {
    /// The card of that name: `t4`, `a100`, `rtx3060`, `h100`. It is given the kernels that the card would be given.
    pub fn preset(name: &str) -> Option<VirtualCard> {
        let (_, sm, sms, gib) = PRESETS.iter().find(|preset| preset.0 == name)?;
        Some(VirtualCard {
            target: Some(Target::sm(*sm)),
            sms: Some(*sms),
            memory: Some(gib << 30),
            kernels: Some(Processor::Card),
            ..VirtualCard::default()
        })
    }
}

/// Text that describes no virtual GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is no setting of a virtual GPU, expected t4, a100, rtx3060, h100 or smNN first, then sms=N, \
     kernels=card|virtual, memory=N[KiB|MiB|GiB], shared=N[KiB|MiB|GiB], cooperative=N, ptx=N.N, \
     tier=baseline|avx2|avx512 or code=compiled|interpreted"
)]
pub struct UnknownSetting {
    /// The part that is not understood.
    pub found: String,
}

impl FromStr for VirtualCard {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<VirtualCard, UnknownSetting> {
        let mut card = VirtualCard::default();
        for (at, part) in text.split(',').enumerate() {
            let unknown = || UnknownSetting {
                found: part.to_owned(),
            };
            match part.split_once('=') {
                None if at == 0 => {
                    card = match VirtualCard::preset(part) {
                        Some(preset) => preset,
                        None => VirtualCard {
                            target: Some(part.parse().map_err(|_| unknown())?),
                            ..card
                        },
                    };
                }
                None => return Err(unknown()),
                Some((key, value)) => card.set(key, value).ok_or_else(unknown)?,
            }
        }
        Ok(card)
    }
}

impl VirtualCard {
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "sms" => self.sms = Some(value.parse().ok().filter(|sms| *sms > 0)?),
            "kernels" => {
                self.kernels = Some(match value {
                    "card" => Processor::Card,
                    "virtual" => Processor::Virtual,
                    _ => return None,
                });
            }
            "code" => {
                self.compile = Some(match value {
                    "compiled" => Compile::Always,
                    "interpreted" => Compile::Never,
                    _ => return None,
                });
            }
            "tier" => {
                let all = [Tier::Baseline, Tier::Avx2, Tier::Avx512];
                self.tier = Some(all.into_iter().find(|tier| tier_name(*tier) == value)?);
            }
            "memory" => self.memory = Some(bytes(value)?),
            "shared" => self.shared = Some(bytes(value)?.try_into().ok()?),
            "cooperative" => self.cooperative = Some(value.parse().ok().filter(|n| *n > 0)?),
            "ptx" => {
                let (major, minor) = value.split_once('.')?;
                self.ptx = Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?));
            }
            _ => return None,
        }
        Some(())
    }
}

/// The name of a code path in settings.
fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Baseline => "baseline",
        Tier::Avx2 => "avx2",
        Tier::Avx512 => "avx512",
    }
}

const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// A number of bytes from 1 to 2^44, with or without a unit.
fn bytes(text: &str) -> Option<u64> {
    let unit = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (1..=1 << 44).contains(&bytes).then_some(bytes)
}

/// `bytes` in the largest unit that divides it.
fn in_units(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match unit {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

impl fmt::Display for VirtualCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VirtualCard {
            target,
            sms,
            kernels,
            memory,
            shared,
            cooperative,
            ptx,
            workers: _,
            tier,
            compile,
        } = self;
        let parts = [
            target.map(|target| target.to_string()),
            sms.map(|sms| format!("sms={sms}")),
            kernels.map(|whose| match whose {
                Processor::Card => "kernels=card".to_owned(),
                Processor::Virtual => "kernels=virtual".to_owned(),
            }),
            memory.map(|memory| format!("memory={}", in_units(memory))),
            shared.map(|shared| format!("shared={}", in_units(shared.into()))),
            cooperative.map(|ctas| format!("cooperative={ctas}")),
            ptx.map(|ptx| format!("ptx={ptx}")),
            tier.map(|tier| format!("tier={}", tier_name(tier))),
            compile.and_then(|compile| match compile {
                Compile::Always => Some("code=compiled".to_owned()),
                Compile::Never => Some("code=interpreted".to_owned()),
                Compile::Worth => None,
            }),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_settings_agree() {
        let card: VirtualCard =
            "sm75,sms=40,kernels=card,memory=15GiB,shared=64KiB,cooperative=80,ptx=6.5"
                .parse()
                .expect("a card");
        let want = VirtualCard {
            target: Some(Target::sm(75)),
            sms: Some(40),
            kernels: Some(Processor::Card),
            memory: Some(15 << 30),
            shared: Some(64 << 10),
            cooperative: Some(80),
            ptx: Some(PtxVersion::new(6, 5)),
            workers: None,
            tier: None,
            compile: None,
        };
        assert_eq!(card, want);
        for text in [
            "sm_90a",
            "sms=3",
            "kernels=virtual,memory=1000",
            "memory=1000",
            "sm_75,memory=15GiB,ptx=6.5",
        ] {
            let card: VirtualCard = text.parse().expect(text);
            assert_eq!(card.to_string(), text);
        }
        let t4: VirtualCard = "t4,sms=2".parse().expect("a card");
        assert_eq!(
            (t4.target, t4.sms, t4.memory),
            (Some(Target::sm(75)), Some(2), Some(15 << 30))
        );
        for (name, ..) in PRESETS {
            let card: VirtualCard = name.parse().expect(name);
            assert_eq!(card.to_string().parse(), Ok(card));
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (text, found) in [
            ("", ""),
            ("t5", "t5"),
            ("sm75,t4", "t4"),
            ("sm75,sms=0", "sms=0"),
            ("sm75,memory=1TB", "memory=1TB"),
            ("memory=99999999999GiB", "memory=99999999999GiB"),
            ("shared=5GiB", "shared=5GiB"),
            ("ptx=7", "ptx=7"),
            ("kernels=gpu", "kernels=gpu"),
            ("ptx=7.8,", ""),
            ("colour=red", "colour=red"),
        ] {
            let error = text.parse::<VirtualCard>().expect_err(text);
            assert_eq!(error.found, found, "{text}");
        }
    }
}
