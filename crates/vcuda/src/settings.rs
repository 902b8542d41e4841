//! What the driver pretends to be, and how it fails.

use std::path::PathBuf;
use warpsmith_ptx::target::{PtxVersion, Target};
use warpsmith_vgpu::check::{Checks, Kind};

/// Where the variables' names begin.
pub(crate) const PREFIX: &str = "WARPSMITH_VCUDA_";

/// The newest CUDA version, which the driver reports if nothing else is asked for.
const NEWEST: (u32, u32) = (13, 5);

/// A driver and its cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) devices: usize,
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) sms: u32,
    /// By card; the last entry is for the rest.
    pub(crate) memory: Vec<u64>,
    pub(crate) workers: usize,
    /// 12090 for CUDA 12.9.
    pub(crate) driver: i32,
    pub(crate) ptx_limit: PtxVersion,
    pub(crate) pools: bool,
    pub(crate) poison: bool,
    /// What is looked for while kernels run.
    pub(crate) checks: Option<Checks>,
    /// The order in which CTAs, warps and lanes run.
    pub(crate) seed: Option<u64>,
    /// Instructions that a launch may run.
    pub(crate) budget: Option<u64>,
    /// The folder that is told of modules, faults and findings.
    pub(crate) report: Option<PathBuf>,
    pub(crate) faults: Faults,
}

/// When it fails; launches and allocations of a card count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Faults {
    /// What `cuInit` returns.
    pub(crate) init: u32,
    pub(crate) fail_launch: Option<u64>,
    pub(crate) refuse_launch: Option<u64>,
    pub(crate) fail_alloc: Option<u64>,
    pub(crate) lose: Option<u64>,
}

/// A value that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is `{found}`, expected {expected}")]
pub(crate) struct BadSetting {
    name: &'static str,
    found: String,
    expected: &'static str,
}

impl Settings {
    /// Reads all settings through `lookup`, which is given a name without its beginning.
    ///
    /// # Errors
    /// The first value that is not understood.
    pub(crate) fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Settings, BadSetting> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let read = Reader(&lookup);
        let (major, minor) = read.or("DRIVER", "a version such as 12.9", NEWEST, version)?;
        let newest = PtxVersion::newest_of_cuda(major, minor);
        let limit = read.or("PTX_LIMIT", "a version such as 7.8", None, |text| {
            let (major, minor) = version(text)?;
            let (major, minor) = (u8::try_from(major).ok()?, u8::try_from(minor).ok()?);
            Some(Some(PtxVersion::new(major, minor)))
        })?;
        let at = |name| {
            read.or(name, "a number from 1", None, |text| {
                Some(Some(positive(text)?))
            })
        };
        Ok(Settings {
            devices: read.or("DEVICES", "a number up to 1024", 1, |text| {
                text.parse().ok().filter(|count| *count <= 1024)
            })?,
            name: read.or(
                "NAME",
                "a name",
                "Warpsmith virtual card".to_owned(),
                |text| Some(text.to_owned()),
            )?,
            target: read.or("SM", "a target such as 75", Target::sm(90), |text| {
                text.parse().ok()
            })?,
            sms: read.or("SMS", "a number from 1 to 1024", cores as u32, |text| {
                text.parse().ok().filter(|sms| (1..=1024).contains(sms))
            })?,
            memory: read.or("MEMORY", "sizes such as 256M,1G", vec![8 << 30], |text| {
                text.split(',').map(size).collect()
            })?,
            workers: read.or("WORKERS", "a number from 1 to 1024", cores, |text| {
                text.parse()
                    .ok()
                    .filter(|workers| (1..=1024).contains(workers))
            })?,
            driver: (major * 1000 + minor * 10) as i32,
            ptx_limit: limit.unwrap_or(newest),
            pools: read.or("POOLS", "0 or 1", true, flag)?,
            poison: read.or("FRESH", "0 or 255", true, |text| match text {
                "0" => Some(false),
                "255" => Some(true),
                _ => None,
            })?,
            checks: read.or("CHECK", "`all` or kinds of findings", None, checks)?,
            seed: read.or("SEED", "a number", None, |text| {
                Some(Some(text.parse().ok()?))
            })?,
            budget: at("BUDGET")?,
            report: read.or("REPORT", "a folder", None, |text| Some(Some(text.into())))?,
            faults: Faults {
                init: read.or("INIT", "a code", 0, |text| text.parse().ok())?,
                fail_launch: at("FAIL_LAUNCH")?,
                refuse_launch: at("REFUSE_LAUNCH")?,
                fail_alloc: at("FAIL_ALLOC")?,
                lose: at("LOSE")?,
            },
        })
    }

    /// Bytes of memory of card `index`.
    pub(crate) fn memory_of(&self, index: usize) -> u64 {
        let own = self.memory.get(index).or(self.memory.last());
        own.copied().unwrap_or(8 << 30)
    }
}

struct Reader<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Reader<'_> {
    fn or<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        default: T,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, BadSetting> {
        let Some(found) = (self.0)(name) else {
            return Ok(default);
        };
        parse(&found).ok_or(BadSetting {
            name,
            found,
            expected,
        })
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 100 && minor < 100).then_some((major, minor))
}

/// All kinds, or those that are named.
fn checks(text: &str) -> Option<Option<Checks>> {
    if text == "all" {
        return Some(Some(Checks::default()));
    }
    let kinds = text.split(',').map(|name| name.parse().ok());
    let kinds = kinds.collect::<Option<Vec<Kind>>>()?;
    Some(Some(Checks { kinds }))
}

fn positive(text: &str) -> Option<u64> {
    text.parse().ok().filter(|n| *n > 0)
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// `256M` and the like; at most 2^44 bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (bytes > 0 && bytes <= 1 << 44).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, BadSetting> {
        Settings::read(|name| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_is_named_is_set_and_the_rest_is_usual() -> Result<(), BadSetting> {
        let usual = read(&[])?;
        assert_eq!(
            (usual.devices, usual.driver, usual.faults),
            (1, 13050, Faults::default())
        );
        assert_eq!(usual.ptx_limit, PtxVersion::NEWEST);
        let set = read(&[
            ("DEVICES", "3"),
            ("SM", "75"),
            ("MEMORY", "1G,64K,12"),
            ("DRIVER", "11.4"),
            ("LOSE", "7"),
            ("POOLS", "0"),
        ])?;
        assert_eq!(
            (set.devices, set.target, set.driver),
            (3, Target::sm(75), 11040)
        );
        assert_eq!(
            [0, 1, 2, 9].map(|index| set.memory_of(index)),
            [1 << 30, 64 << 10, 12, 12]
        );
        assert_eq!(set.ptx_limit, PtxVersion::new(7, 4));
        assert_eq!((set.faults.lose, set.pools), (Some(7), false));
        assert_eq!(
            read(&[("PTX_LIMIT", "6.0")])?.ptx_limit,
            PtxVersion::new(6, 0)
        );
        Ok(())
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (name, found) in [
            ("DEVICES", "-1"),
            ("DEVICES", "99999"),
            ("SM", "nine"),
            ("SMS", "0"),
            ("MEMORY", ""),
            ("MEMORY", "0"),
            ("MEMORY", "99999999999G"),
            ("DRIVER", "12"),
            ("PTX_LIMIT", "256.0"),
            ("POOLS", "yes"),
            ("FRESH", "7"),
            ("CHECK", "all,"),
            ("CHECK", "nothing"),
            ("SEED", "x"),
            ("BUDGET", "0"),
            ("INIT", ""),
            ("FAIL_LAUNCH", "0"),
        ] {
            let error = read(&[(name, found)]).expect_err(name);
            assert_eq!((error.name, &*error.found), (name, found));
        }
    }
}
