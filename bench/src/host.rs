//! What the system tells: the processor, peaks of memory, and what other processes use.

use std::{fs, time::Instant};

/// The processor's name and the cores at hand, `None` where the system does not say.
pub(crate) fn processor() -> Option<String> {
    field(&fs::read_to_string("/proc/cpuinfo").ok()?, "model name")
}

/// The vector extensions of the processor that matter to us, as the system names them.
pub(crate) fn extensions() -> String {
    const TOLD: [&str; 7] = [
        "avx2",
        "fma",
        "avx512f",
        "avx512_vnni",
        "avx512_bf16",
        "avx512_fp16",
        "amx_tile",
    ];
    let flags = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| field(&text, "flags"))
        .unwrap_or_default();
    let there = |name: &&str| flags.split(' ').any(|flag| flag == *name);
    TOLD.into_iter().filter(there).collect::<Vec<_>>().join(" ")
}

/// The most memory that this process had at once, in MiB.
pub(crate) fn peak_mib() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let kib = field(&text, "VmHWM")?;
    Some(kib.trim_end_matches(" kB").parse::<f64>().ok()? / 1024.0)
}

/// The first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut named = lines.filter(|(own, _)| own.trim() == name);
    named.next().map(|(_, value)| value.trim().to_owned())
}

/// Processor time so far, of all processes and of the children of this one that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy {
    at: Instant,
    ticks: Option<(u64, u64)>,
}

/// Clock ticks a second in `/proc` (`USER_HZ`, fixed on Linux).
const HZ: f64 = 100.0;

impl Busy {
    pub(crate) fn now() -> Busy {
        let ticks = || {
            let all = fs::read_to_string("/proc/stat").ok()?;
            let own = fs::read_to_string("/proc/self/stat").ok()?;
            Some((busy(&all)?, children(&own)?))
        };
        Busy {
            at: Instant::now(),
            ticks: ticks(),
        }
    }
}

/// Busy ticks of all processors: user, nice, system, interrupts (proc_stat(5)).
fn busy(stat: &str) -> Option<u64> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .map_while(|word| word.parse().ok())
        .collect();
    Some([0, 1, 2, 5, 6].iter().filter_map(|at| ticks.get(*at)).sum())
}

/// Ticks of ended children and of this process itself (proc_pid_stat(5), fields 14 to 17).
fn children(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    words
        .get(11..15)?
        .iter()
        .map(|word| word.parse::<u64>().ok())
        .sum()
}

/// Cores that others used between two points on average.
pub(crate) fn others(from: Busy, to: Busy) -> Option<f64> {
    let ((all, own), (all_then, own_then)) = (to.ticks?, from.ticks?);
    let ticks = (all - all_then).saturating_sub(own - own_then);
    Some(ticks as f64 / HZ / (to.at - from.at).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_proc_are_understood() {
        let text = "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu avx2\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A Processor"));
        assert_eq!(field(text, "cache size"), None);
        assert_eq!(busy("cpu  1 2 4 800 900 8 16 0 0 0\ncpu0 1 2\n"), Some(31));
        let stat = "7 (a ) b) R 1 7 7 0 -1 0 0 0 0 0 1 2 4 8 20 0";
        assert_eq!(children(stat), Some(15));
        assert_eq!(children("7 (cut"), None);
    }
}
