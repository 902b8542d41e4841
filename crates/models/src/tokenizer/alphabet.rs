//! The byte alphabet of byte-level BPE: each byte spelled as one printable character.
//!
//! Bytes that are printable in Latin-1 (`!`..=`~`, `¡`..=`¬`, `®`..=`ÿ`) stand for themselves, the
//! other 68 are U+0100, U+0101, ... in byte order.

use std::sync::LazyLock;

/// First character of the bytes that do not stand for themselves.
const SHIFTED: u32 = 0x100;

static CHARS: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut shifted = (SHIFTED..).filter_map(char::from_u32);
    std::array::from_fn(|byte| {
        let byte = byte as u8;
        if stands_for_itself(byte) {
            char::from(byte)
        } else {
            shifted.next().expect("68 characters follow U+0100")
        }
    })
});

/// Bytes of U+0100.., in order.
static SHIFTED_BYTES: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..=255).filter(|&byte| !stands_for_itself(byte)).collect());

fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The character that spells `byte`.
pub(crate) fn to_char(byte: u8) -> char {
    CHARS[usize::from(byte)]
}

/// The byte that `c` spells.
pub(crate) fn to_byte(c: char) -> Option<u8> {
    let code = u32::from(c);
    match u8::try_from(code) {
        Ok(byte) => stands_for_itself(byte).then_some(byte),
        Err(_) => SHIFTED_BYTES.get((code - SHIFTED) as usize).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_character() {
        for byte in 0..=255 {
            assert_eq!(to_byte(to_char(byte)), Some(byte));
        }
        assert_eq!(to_char(b' '), '\u{120}');
        assert_eq!(to_char(b'\n'), '\u{10A}');
        assert_eq!(to_char(0xAD), '\u{143}');
        assert_eq!(to_byte(' '), None);
        assert_eq!(to_byte('\u{144}'), None);
        assert_eq!(to_byte('\u{10FFFF}'), None);
    }
}
