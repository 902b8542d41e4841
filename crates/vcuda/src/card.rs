//! What a card says about itself: attributes and occupancy.

use crate::settings::Settings;

/// Shared memory that a block may use without asking.
pub(crate) const WITHOUT_ASKING: u32 = 48 << 10;
/// Shared memory that each block costs beside its own, from sm_80 on.
const RESERVED: u32 = 1 << 10;

fn threads_per_sm(sm: u16) -> u32 {
    match sm {
        75 => 1024,
        86 | 87 | 89 | 120.. => 1536,
        _ => 2048,
    }
}

fn blocks_per_sm(sm: u16) -> u32 {
    match sm {
        75 | 86 | 87 => 16,
        89 | 120.. => 24,
        _ => 32,
    }
}

fn reserved(sm: u16) -> u32 {
    if sm >= 80 { RESERVED } else { 0 }
}

/// Shared memory that a block may use when it asks.
pub(crate) fn shared_limit(settings: &Settings) -> u32 {
    settings.target.shared_limit().unwrap_or(WITHOUT_ASKING)
}

fn shared_per_sm(settings: &Settings) -> u32 {
    shared_limit(settings) + reserved(settings.target.sm)
}

/// Blocks that fit on a multiprocessor at the same time, by threads and shared memory.
pub(crate) fn occupancy(settings: &Settings, threads: u32, shared: u64) -> u32 {
    let sm = settings.target.sm;
    if threads == 0 || threads > 1024 || shared > u64::from(shared_limit(settings)) {
        return 0;
    }
    let by_threads = threads_per_sm(sm) / threads.next_multiple_of(32);
    let each = shared + u64::from(reserved(sm));
    let by_shared = u64::from(shared_per_sm(settings))
        .checked_div(each)
        .unwrap_or(u64::MAX);
    let least = u64::from(by_threads.min(blocks_per_sm(sm))).min(by_shared);
    least as u32
}

/// The attribute with this number in the driver's headers; 0 for what is not here, `None` for what does not exist.
pub(crate) fn attribute(settings: &Settings, index: usize, number: i32) -> Option<i32> {
    let sm = settings.target.sm;
    let value = match number {
        // Most threads of a block, and along x, y, z.
        1..=3 => 1024,
        4 => 64,
        // The most blocks along x, y, z.
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => WITHOUT_ASKING as i32,
        // Constant memory.
        9 => 64 << 10,
        // Threads of a warp.
        10 => 32,
        // The largest pitch.
        11 => i32::MAX,
        // Registers of a block, and of a multiprocessor.
        12 | 82 => 65536,
        // Clock and memory clock in kHz.
        13 | 36 => 1_000_000,
        14 => 512,
        16 => settings.sms as i32,
        21..=30 | 42..=49 | 51..=74 | 77 => images(number),
        // Kernels run beside each other.
        31 => 1,
        // PCI bus.
        33 => index as i32 + 1,
        // Width of the memory bus.
        37 => 256,
        // Second-level cache.
        38 => 4 << 20,
        39 => threads_per_sm(sm) as i32,
        // Copy engines.
        40 => 2,
        // One address space with the host: kernels reach its memory, registered memory too, and it theirs that is managed.
        19 | 41 | 83 | 89 | 91 | 99 | 101 => 1,
        // Reserved addresses; words that streams write and wait for, of 64 bits and by "nor", too.
        102 | 122 | 123 => 1,
        75 => i32::from(sm / 10),
        76 => i32::from(sm % 10),
        81 => shared_per_sm(settings) as i32,
        // Cooperative launches.
        95 => 1,
        97 => shared_limit(settings) as i32,
        106 => blocks_per_sm(sm) as i32,
        111 => reserved(sm) as i32,
        115 => i32::from(settings.pools),
        // Clusters, and access by tensor maps.
        120 | 127 => i32::from(sm >= 90),
        _ if (1..=150).contains(&number) => 0,
        _ => return None,
    };
    Some(value)
}

/// Limits of arrays, textures and surfaces, the same for all cards of today.
fn images(number: i32) -> i32 {
    match number {
        // Textures of one, two and three dimensions; layers of two.
        21 | 22 => 131_072,
        23 => 65536,
        24..=26 => 16384,
        27 | 28 => 32768,
        29 => 2048,
        // Alignment of surfaces.
        30 => 512,
        // Layers of one dimension.
        42 => 32768,
        43 => 2048,
        // Gathers.
        44 => 1,
        45 | 46 => 32768,
        // Textures that are deep instead of wide.
        47 | 48 => 8192,
        49 => 32768,
        // Alignment of rows of memory that is no array.
        51 => 32,
        // Cubes.
        52 | 53 => 32768,
        54 => 2046,
        // Surfaces: as textures, but of one dimension.
        55 => 32768,
        56 => 131_072,
        57 => 65536,
        58..=60 => 16384,
        61 => 32768,
        62 => 2048,
        63 | 64 => 32768,
        65 => 2048,
        66 | 67 => 32768,
        68 => 2046,
        // Memory that is no array: elements, elements of a row, rows, bytes of a row.
        69 => 1 << 28,
        70 => 131_072,
        71 => 65000,
        72 => 2_097_120,
        // Several levels.
        73 | 74 | 77 => 32768,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_is_what_threads_and_shared_memory_leave() {
        let settings = |sm: &str| Settings::read(|name| (name == "SM").then(|| sm.to_owned()));
        for (sm, threads, shared, blocks) in [
            ("90", 256, 0, 8),
            ("90", 32, 0, 32),
            ("90", 1024, 227 << 10, 1),
            ("90", 1024, (227 << 10) + 1, 0),
            ("90", 33, 100 << 10, 2),
            ("75", 256, 0, 4),
            ("75", 32, 64 << 10, 1),
            ("75", 1025, 0, 0),
            ("75", 0, 0, 0),
        ] {
            let settings = settings(sm).expect("known targets");
            assert_eq!(
                occupancy(&settings, threads, shared),
                blocks,
                "{sm} {threads} {shared}"
            );
        }
    }
}
