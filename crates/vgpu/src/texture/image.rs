//! Images: where elements are, and what their bytes are.

/// What a channel of an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of PTX
pub enum Channel {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

impl Channel {
    /// Bytes of one.
    pub fn bytes(self) -> u64 {
        match self {
            Channel::U8 | Channel::S8 => 1,
            Channel::U16 | Channel::S16 | Channel::F16 => 2,
            Channel::U32 | Channel::S32 | Channel::F32 => 4,
        }
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        match self {
            Channel::F16 | Channel::F32 => true,
            Channel::U8
            | Channel::U16
            | Channel::U32
            | Channel::S8
            | Channel::S16
            | Channel::S32 => false,
        }
    }

    /// Whether it is an integer with a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Channel::S8 | Channel::S16 | Channel::S32)
    }
}

/// What the elements of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Each channel.
    pub channel: Channel,
    /// How many there are: 1, 2 or 4.
    pub channels: u8,
}

impl Format {
    /// Bytes of an element.
    pub fn bytes(self) -> u64 {
        self.channel.bytes() * u64::from(self.channels)
    }

    /// The channels of an element, extended to 32 bits as their type says.
    pub(crate) fn unpack(self, element: [u8; 16]) -> [u32; 4] {
        let word = u128::from_le_bytes(element);
        let bits = 8 * self.channel.bytes() as u32;
        std::array::from_fn(|i| {
            if i >= usize::from(self.channels) {
                return 0;
            }
            let shifted = (word >> (bits * i as u32)) as u32;
            let (up, down) = (shifted << (32 - bits), 32 - bits);
            if self.channel.is_signed() {
                (up as i32 >> down) as u32
            } else {
                up >> down
            }
        })
    }

    /// An element of channels of which the low bits count.
    pub(crate) fn pack(self, channels: [u32; 4]) -> [u8; 16] {
        let bits = 8 * self.channel.bytes() as u32;
        let mask = u32::MAX >> (32 - bits);
        let each = channels.iter().take(self.channels.into()).enumerate();
        let word = each.fold(0u128, |word, (i, channel)| {
            word | u128::from(channel & mask) << (bits * i as u32)
        });
        word.to_le_bytes()
    }
}

/// How the elements of an image lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// Memory of one dimension that is no array, read by the numbers of elements.
    Buffer,
    /// One dimension.
    Line,
    /// Two.
    Plane,
    /// Three.
    Volume,
    /// Layers of one dimension.
    Lines,
    /// Layers of two.
    Planes,
    /// Six planes, the faces of a cube.
    Cube,
    /// Layers of such.
    Cubes,
}

impl Geometry {
    /// The dimensions in which neighbours lie.
    pub fn dimensions(self) -> usize {
        match self {
            Geometry::Buffer | Geometry::Line | Geometry::Lines => 1,
            Geometry::Plane | Geometry::Planes | Geometry::Cube | Geometry::Cubes => 2,
            Geometry::Volume => 3,
        }
    }
}

/// Elements in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where the first is.
    pub address: u64,
    /// How they lie.
    pub geometry: Geometry,
    /// What they are.
    pub format: Format,
    /// Elements of a row, rows of a slice, slices; 1 where there is no such dimension. Faces and layers are slices.
    pub size: [u32; 3],
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
}

impl Image {
    /// One without gaps.
    pub fn tight(geometry: Geometry, format: Format, size: [u32; 3], address: u64) -> Image {
        let pitch = u64::from(size[0]) * format.bytes();
        Image {
            address,
            geometry,
            format,
            size,
            pitch,
            slice: pitch * u64::from(size[1]),
        }
    }

    /// Bytes of all slices.
    pub fn bytes(&self) -> u64 {
        self.slice * u64::from(self.size[2])
    }

    /// Where the element at a place is.
    pub(crate) fn element(&self, [x, y, z]: [u32; 3]) -> u64 {
        let row = u64::from(y) * self.pitch + u64::from(z) * self.slice;
        self.address
            .wrapping_add(row)
            .wrapping_add(u64::from(x) * self.format.bytes())
    }

    /// Layers: of cubes, how many cubes.
    pub(crate) fn layers(&self) -> u32 {
        match self.geometry {
            Geometry::Lines | Geometry::Planes => self.size[2],
            Geometry::Cubes => self.size[2] / 6,
            Geometry::Buffer
            | Geometry::Line
            | Geometry::Plane
            | Geometry::Volume
            | Geometry::Cube => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_what_their_bytes_say() {
        let format = |channel, channels| Format { channel, channels };
        let bytes: [u8; 16] = std::array::from_fn(|i| (17 * i + 0x81) as u8);
        for (one, want) in [
            (format(Channel::U8, 4), [0x81, 0x92, 0xA3, 0xB4]),
            (format(Channel::S8, 2), [0xFFFF_FF81, 0xFFFF_FF92, 0, 0]),
            (format(Channel::U16, 2), [0x9281, 0xB4A3, 0, 0]),
            (format(Channel::S16, 1), [0xFFFF_9281, 0, 0, 0]),
            (format(Channel::F16, 1), [0x9281, 0, 0, 0]),
            (
                format(Channel::S32, 4),
                [0xB4A3_9281, 0xF8E7_D6C5, 0x3C2B_1A09, 0x806F_5E4D],
            ),
        ] {
            let got = one.unpack(bytes);
            assert_eq!(got, want, "{one:?}");
            let len = one.bytes() as usize;
            let again = one.pack(got);
            assert_eq!(
                (&again[..len], &again[len..]),
                (&bytes[..len], &[0; 16][len..])
            );
        }
    }
}
