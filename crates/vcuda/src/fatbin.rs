//! Fat binaries: the newest PTX in one, plain or compressed.

use crate::status::Status;

/// How our code begins: this, the length of the PTX as eight bytes, the PTX, a zero byte.
pub(crate) const OURS: [u8; 8] = *b"\x7fVCUDA1\n";

/// PTX in our wrapping.
pub(crate) fn wrap(ptx: &str) -> Vec<u8> {
    let len = (ptx.len() as u64).to_le_bytes();
    [&OURS[..], &len, ptx.as_bytes(), b"\0"].concat()
}

/// How one begins, and the wrapping that compilers put a pointer to it in.
pub(crate) const MAGIC: u32 = 0xBA55_ED50;
pub(crate) const WRAPPED: u32 = 0x4662_43B1;
/// Bytes of its header: magic, version, bytes of the header, bytes behind it.
pub(crate) const HEADER: usize = 16;

/// The kind of a part that is PTX.
const PTX: u16 = 1;
/// Flags of a part: how it is compressed.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The most bytes that a part may have when it is unpacked.
const MOST: usize = 1 << 28;

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}

/// All bytes of a fat binary, by its header.
pub(crate) fn len(header: &[u8]) -> Option<usize> {
    let start = u16::from_le_bytes(field(header, 6)?);
    let rest = usize::try_from(long(header, 8)?).ok()?;
    usize::from(start)
        .checked_add(rest)
        .filter(|len| *len <= MOST)
}

/// The PTX for the newest target that runs on `sm`.
///
/// # Errors
/// [`Status::NoBinaryForGpu`] if there is none, [`Status::InvalidImage`] if it is damaged.
pub(crate) fn ptx(bytes: &[u8], sm: u16) -> Result<Vec<u8>, Status> {
    let parts = parts(bytes).ok_or(Status::InvalidImage)?;
    let fit = parts
        .iter()
        .filter(|part| part.kind == PTX && part.arch <= u32::from(sm));
    let best = fit
        .max_by_key(|part| part.arch)
        .ok_or(Status::NoBinaryForGpu)?;
    best.text().ok_or(Status::InvalidImage)
}

/// A part of a fat binary.
struct Part<'a> {
    kind: u16,
    arch: u32,
    version: (u16, u16),
    flags: u64,
    unpacked: u64,
    bytes: &'a [u8],
}

fn parts(bytes: &[u8]) -> Option<Vec<Part<'_>>> {
    let all = bytes.get(..len(bytes)?)?;
    let mut at = usize::from(u16::from_le_bytes(field(all, 6)?));
    let mut parts = Vec::new();
    while at < all.len() {
        let part = all.get(at..)?;
        let header = word(part, 4)? as usize;
        let size = usize::try_from(long(part, 8)?).ok()?;
        let flags = long(part, 40)?;
        let packed = word(part, 16)? as usize;
        let content = part.get(header..header.checked_add(size)?)?;
        let is_packed = flags & (LZ4 | ZSTD) != 0;
        parts.push(Part {
            kind: u16::from_le_bytes(field(part, 0)?),
            arch: word(part, 28)?,
            version: (
                u16::from_le_bytes(field(part, 26)?),
                u16::from_le_bytes(field(part, 24)?),
            ),
            flags,
            unpacked: long(part, 56)?,
            bytes: if is_packed {
                content.get(..packed)?
            } else {
                content
            },
        });
        at = at.checked_add(header)?.checked_add(size)?;
    }
    Some(parts)
}

impl Part<'_> {
    fn text(&self) -> Option<Vec<u8>> {
        let most = usize::try_from(self.unpacked)
            .ok()
            .filter(|len| *len <= MOST)?;
        let mut text = match self.flags & (LZ4 | ZSTD) {
            0 => self.bytes.to_vec(),
            LZ4 => lz4_flex::block::decompress(self.bytes, most).ok()?,
            ZSTD => unpack(self.bytes, most)?,
            _ => return None,
        };
        while text.last() == Some(&0) {
            text.pop();
        }
        // Some makers keep the version in the header alone.
        if !text.windows(8).any(|some| some == b".version") {
            let (major, minor) = self.version;
            text.splice(..0, format!(".version {major}.{minor}").into_bytes());
        }
        Some(text)
    }
}

fn unpack(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut text = vec![0; most];
    let mut decoder = ruzstd::decoding::FrameDecoder::new();
    let written = decoder.decode_all(bytes, &mut text).ok()?;
    text.truncate(written);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fat binary of one part of PTX for sm_70.
    fn fat(flags: u64, unpacked: u64, content: &[u8]) -> Vec<u8> {
        let mut part = Vec::new();
        part.extend([1, 0, 1, 1]);
        part.extend(72u32.to_le_bytes());
        part.extend((content.len() as u64).to_le_bytes());
        part.extend((content.len() as u32).to_le_bytes());
        part.extend(0u32.to_le_bytes());
        part.extend([0, 0, 7, 0]);
        part.extend(70u32.to_le_bytes());
        part.extend([0; 8]);
        part.extend(flags.to_le_bytes());
        part.extend([0; 8]);
        part.extend(unpacked.to_le_bytes());
        part.extend([0; 8]);
        part.extend(content);
        let mut all = MAGIC.to_le_bytes().to_vec();
        all.extend([1, 0, 16, 0]);
        all.extend((part.len() as u64).to_le_bytes());
        all.extend(part);
        all
    }

    #[test]
    fn ptx_is_found_plain_and_packed() {
        let text = b"\n.target sm_70\n";
        let want = Ok(b".version 7.0\n.target sm_70\n".to_vec());
        assert_eq!(ptx(&fat(0, 0, text), 90), want);
        // One run of literals.
        let lz4 = [&[(15 << 4) as u8, 0][..], text].concat();
        assert_eq!(ptx(&fat(LZ4, 15, &lz4), 70), want);
        // A frame of one raw block.
        let zstd = [&[0x28, 0xB5, 0x2F, 0xFD, 0x20, 15, 0x79, 0, 0][..], text].concat();
        assert_eq!(ptx(&fat(ZSTD, 15, &zstd), 90), want);
        assert_eq!(ptx(&fat(0, 0, text), 60), Err(Status::NoBinaryForGpu));
    }

    #[test]
    fn damaged_ones_are_refused() {
        let good = fat(0, 0, b".version 7.0\n");
        for len in 0..good.len() {
            assert_eq!(ptx(&good[..len], 90), Err(Status::InvalidImage), "{len}");
        }
        assert_eq!(ptx(&fat(LZ4, 1 << 40, b"x"), 90), Err(Status::InvalidImage));
        assert_eq!(ptx(&fat(ZSTD, 9, b"x"), 90), Err(Status::InvalidImage));
        assert_eq!(
            ptx(&fat(LZ4 | ZSTD, 9, b"x"), 90),
            Err(Status::InvalidImage)
        );
    }
}
