//! A shared library with nothing in it but its name, a version, and that it needs another library.
//!
//! Programs ask for functions of `libcudart.so.12` by that version. The driver library has them without one, as those of
//! `libcudart.so.13` are the same: the loader finds them there, where a library of the name that was asked for has the version.

use std::ffi::CStr;

/// What follows what: header of the file, headers of its parts, tables.
const FILE_HEADER: usize = 64;
const PART_HEADER: usize = 56;
const PARTS: usize = 3;
const SYMBOL: usize = 24;

/// Bytes of a page.
const PAGE: u64 = 0x1000;

/// Strings of the library, each with its place.
#[derive(Default)]
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &CStr) -> u64 {
        let at = self.0.len() as u64;
        self.0.extend(text.to_bytes_with_nul());
        at
    }
}

/// The hash of a name, as the System V ABI has it.
fn hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        let high = hash & 0xF000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The definition of a version: flags, its number, its name.
fn version(flags: u16, number: u16, name: &CStr, at: u64, next: u32) -> Vec<u8> {
    let head: Vec<u8> = [1, flags, number, 1]
        .iter()
        .flat_map(|half: &u16| half.to_le_bytes())
        .collect();
    [head, words(&[hash(name), 20, next, at as u32, 0])].concat()
}

/// The bytes of a library of this name, which is its version too, for Linux on x86-64.
pub(super) fn library(name: &CStr, needs: &CStr) -> Vec<u8> {
    let mut strings = Strings::default();
    strings.add(c"");
    let [name_at, needs_at, folder_at] = [name, needs, c"$ORIGIN"].map(|text| strings.add(text));
    // One bucket, one symbol, which is none.
    let tables = [
        vec![0; SYMBOL],
        words(&[1, 1, 0, 0]),
        [
            // The first names the file itself.
            version(1, 1, name, name_at, 28),
            version(0, 2, name, name_at, 0),
        ]
        .concat(),
        vec![0; 8],
        strings.0,
    ];
    let mut at = (FILE_HEADER + PARTS * PART_HEADER) as u64;
    let mut bodies = Vec::new();
    let places = tables.map(|table| {
        let place = at;
        let padded = table.len().next_multiple_of(8);
        bodies.extend_from_slice(&table);
        bodies.resize(bodies.len() + padded - table.len(), 0);
        at += padded as u64;
        (place, table.len() as u64)
    });
    let [
        (symbols, _),
        (hashes, _),
        (versions, _),
        (numbers, _),
        (texts, texts_len),
    ] = places;
    let entries: [(u64, u64); 12] = [
        (1, needs_at),
        (14, name_at),
        // Where what it needs is looked for.
        (29, folder_at),
        (4, hashes),
        (5, texts),
        (6, symbols),
        (10, texts_len),
        (11, SYMBOL as u64),
        // Numbers of versions of symbols, versions, and how many.
        (0x6FFF_FFF0, numbers),
        (0x6FFF_FFFC, versions),
        (0x6FFF_FFFD, 2),
        (0, 0),
    ];
    let dynamic: Vec<u8> = entries
        .iter()
        .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
        .collect();
    let all = at + dynamic.len() as u64;
    let part = |kind: u32, flags: u32, from: u64, len: u64, align: u64| {
        let place = [from, from, from, len, len, align];
        let place = place.iter().flat_map(|word| word.to_le_bytes());
        words(&[kind, flags])
            .into_iter()
            .chain(place)
            .collect::<Vec<u8>>()
    };
    let parts = [
        // All of it, which the loader writes to; what it reads; a stack that holds no code.
        part(1, 6, 0, all, PAGE),
        part(2, 6, at, dynamic.len() as u64, 8),
        part(0x6474_E551, 6, 0, 0, 16),
    ];
    [file_header(), parts.concat(), bodies, dynamic].concat()
}

/// 64 bits, little-endian, a shared object for x86-64, with headers of its parts behind this one.
fn file_header() -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(16, 0);
    header.extend(3u16.to_le_bytes());
    header.extend(62u16.to_le_bytes());
    header.extend(1u32.to_le_bytes());
    for place in [0, FILE_HEADER as u64, 0] {
        header.extend(place.to_le_bytes());
    }
    header.extend(0u32.to_le_bytes());
    for size in [FILE_HEADER, PART_HEADER, PARTS, 64, 0, 0] {
        header.extend((size as u16).to_le_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_abi() {
        // Those that a linker writes for these names.
        for (name, want) in [
            (c"libcudart.so.13", 0x0FF3_DB23),
            (c"GLIBC_2.34", 0x0696_91B4),
            (c"CXXABI_1.3", 0x056B_AFD3),
        ] {
            assert_eq!(hash(name), want, "{name:?}");
        }
    }
}
