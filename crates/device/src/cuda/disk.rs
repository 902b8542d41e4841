//! What a driver compiled, kept in files across processes.
//!
//! A file holds its whole key (driver, card and PTX), so another key with the same hash is never mistaken for it. What
//! is broken or cannot be written is as if it were not there.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

const MAGIC: &[u8; 8] = b"wscubin1";

/// FNV-1a over 64 bits.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    bytes.iter().fold(seed, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

fn path(folder: &Path, key: &[u8]) -> PathBuf {
    let (a, b) = (
        hash(key, 0xCBF2_9CE4_8422_2325),
        hash(key, 0x9E37_79B9_7F4A_7C15),
    );
    folder.join(format!("{a:016x}{b:016x}.cubin"))
}

fn key(stamp: &str, ptx: &str) -> Vec<u8> {
    [stamp.as_bytes(), b"\0", ptx.as_bytes()].concat()
}

/// The code for `ptx`, if it was kept.
pub(super) fn find(folder: &Path, stamp: &str, ptx: &str) -> Option<Vec<u8>> {
    let key = key(stamp, ptx);
    let file = fs::read(path(folder, &key)).ok()?;
    let rest = file.strip_prefix(MAGIC)?;
    let (head, rest) = rest.split_at_checked(24)?;
    let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let (key_len, code_len, sum) = (number(0), number(8), number(16));
    let (own_key, code) = rest.split_at_checked(usize::try_from(key_len).ok()?)?;
    let whole = own_key == key && code.len() as u64 == code_len && hash(code, key_len) == sum;
    whole.then(|| code.to_vec())
}

/// Keeps the code for `ptx`; other processes see all of it or nothing.
pub(super) fn keep(folder: &Path, stamp: &str, ptx: &str, code: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let key = key(stamp, ptx);
    let mut file = MAGIC.to_vec();
    for number in [
        key.len() as u64,
        code.len() as u64,
        hash(code, key.len() as u64),
    ] {
        file.extend(number.to_le_bytes());
    }
    file.extend(&key);
    file.extend(code);
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(
        "{}.{}.draft",
        process::id(),
        NEXT.fetch_add(1, Relaxed)
    ));
    fs::write(&draft, file)?;
    fs::rename(&draft, path(folder, &key)).inspect_err(|_| drop(fs::remove_file(&draft)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_whole_key() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let folder = folder.path().join("new");
        assert_eq!(find(&folder, "card", "ptx"), None);
        keep(&folder, "card", "ptx", b"code")?;
        keep(&folder, "card", "other", b"")?;
        assert_eq!(find(&folder, "card", "ptx").as_deref(), Some(&b"code"[..]));
        assert_eq!(find(&folder, "card", "other").as_deref(), Some(&b""[..]));
        assert_eq!(find(&folder, "newer card", "ptx"), None);
        assert_eq!(fs::read_dir(&folder)?.count(), 2);
        Ok(())
    }

    #[test]
    fn a_broken_file_is_not_there() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        keep(folder.path(), "card", "ptx", b"some code")?;
        let path = path(folder.path(), &key("card", "ptx"));
        let whole = fs::read(&path)?;
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len])?;
            assert_eq!(find(folder.path(), "card", "ptx"), None, "cut to {len}");
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 0x81;
            fs::write(&path, &broken)?;
            assert_eq!(find(folder.path(), "card", "ptx"), None, "byte {at}");
        }
        Ok(())
    }
}
