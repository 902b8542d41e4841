//! The order of chunks in an AIFF file.

use std::io::{self, Read, Seek, SeekFrom};

/// Whether what the samples are stands before them, as nearly everywhere: such a file can be read from its start to where
/// it ends, however short it was cut.
pub(crate) fn is_in_order(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    // Behind the name, size and kind of the whole.
    let mut at = 12;
    loop {
        file.seek(SeekFrom::Start(at))?;
        let mut head = Vec::new();
        (&mut *file).take(8).read_to_end(&mut head)?;
        let Some((name, size)) = head.split_first_chunk::<4>() else {
            return Ok(false);
        };
        let size: [u8; 4] = match size.try_into() {
            Ok(size) => size,
            Err(_) => return Ok(false),
        };
        match name {
            b"COMM" => return Ok(true),
            b"SSND" => return Ok(false),
            _ => at += 8 + u64::from(u32::from_be_bytes(size)).next_multiple_of(2),
        }
    }
}
