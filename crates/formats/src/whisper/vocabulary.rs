//! Lists of tokens in the byte alphabet, as CTranslate2 writes them beside a model.
//!
//! A token is spelled with one printable character for each byte; control tokens (`<|en|>`) happen
//! to be spelled as they are.

use crate::Error;

/// The tokens of a `vocabulary.txt`: one a line.
pub(super) fn from_lines(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::Utf8 {
        what: "vocabulary".to_owned(),
        at: error.valid_up_to() as u64,
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').map(spelled).collect()
}

/// The tokens of a `vocabulary.json`: a list of texts.
pub(super) fn from_json(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let tokens: Vec<String> = serde_json::from_slice(bytes).map_err(|source| Error::Json {
        what: "vocabulary",
        source,
    })?;
    tokens.iter().map(|token| spelled(token)).collect()
}

/// The bytes that a token spells.
fn spelled(token: &str) -> Result<Vec<u8>, Error> {
    let byte = |c: char| byte_of(c).ok_or(c);
    token
        .chars()
        .map(byte)
        .collect::<Result<_, _>>()
        .map_err(|c| Error::Field {
            field: format!("token {token:?}"),
            found: format!("spelled with {c:?}"),
            want: "characters of the byte alphabet",
        })
}

/// The byte that `c` spells: printable bytes of Latin-1 stand for themselves, the 68 others are
/// U+0100 and the characters after it, in byte order.
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    match u8::try_from(code) {
        Ok(byte @ (b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)) => Some(byte),
        Ok(_) => None,
        Err(_) => {
            let byte = match code - 0x100 {
                n @ 0..=32 => n,
                n @ 33..=66 => n - 33 + 0x7F,
                67 => 0xAD,
                _ => return None,
            };
            u8::try_from(byte).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_spelled_by_one_character() {
        let mut bytes: Vec<u8> = ('\0'..='\u{200}').filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(spelled("\u{120}a\u{10a}").expect("spelled"), b" a\n");
    }

    #[test]
    fn a_character_outside_the_alphabet_is_named() {
        let error = from_lines("ok\n\u{4f60}\n".as_bytes()).expect_err("outside");
        assert!(matches!(error, Error::Field { .. }), "{error}");
        let error = from_json(b"[1]").expect_err("no text");
        assert!(matches!(error, Error::Json { .. }), "{error}");
    }
}
