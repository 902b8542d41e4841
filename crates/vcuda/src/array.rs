//! Arrays: elements of a format in memory of a card that only textures, surfaces and copies reach.

use crate::{
    card,
    context::Context,
    core::{Core, Owner},
    status::Status,
    table::Handle,
};
use std::sync::{Arc, OnceLock};
use warpsmith_vgpu::texture::{Channel, Format, Geometry, Image};

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) format: u32,
    pub(crate) channels: u32,
    pub(crate) flags: u32,
}

/// Flags of arrays.
pub(crate) const LAYERED: u32 = 1;
pub(crate) const SURFACE: u32 = 2;
pub(crate) const CUBEMAP: u32 = 4;
pub(crate) const GATHER: u32 = 8;
/// Flags that are known and not done here, and what they ask for.
const ABSENT: [(u32, &str); 5] = [
    (0x10, "arrays of depths"),
    (0x20, "arrays that graphics draws to"),
    (0x40, "sparse arrays"),
    (0x80, "arrays that are mapped later"),
    (0x100, "arrays of video"),
];

/// Formats of channels, by their numbers.
const FORMATS: [(u32, Channel); 8] = [
    (0x01, Channel::U8),
    (0x02, Channel::U16),
    (0x03, Channel::U32),
    (0x08, Channel::S8),
    (0x09, Channel::S16),
    (0x0A, Channel::S32),
    (0x10, Channel::F16),
    (0x20, Channel::F32),
];
/// Formats of graphics and video, which are not done here.
const OTHER_FORMATS: std::ops::RangeInclusive<u32> = 0x50..=0xCB;

/// The format of elements.
pub(crate) fn format(number: u32, channels: u32) -> Result<Format, Status> {
    let found = FORMATS.iter().find(|(known, _)| *known == number);
    let Some((_, channel)) = found else {
        if OTHER_FORMATS.contains(&number) {
            crate::report::lacks("formats of graphics and video");
            return Err(Status::NotSupported);
        }
        return Err(Status::InvalidValue);
    };
    if !matches!(channels, 1 | 2 | 4) {
        return Err(Status::InvalidValue);
    }
    Ok(Format {
        channel: *channel,
        channels: channels as u8,
    })
}

/// The number of a format, and its channels.
pub(crate) fn number(format: Format) -> (u32, u32) {
    let found = FORMATS.iter().find(|(_, known)| *known == format.channel);
    (
        found.map_or(0, |(number, _)| *number),
        format.channels.into(),
    )
}

impl Descriptor {
    /// How elements lie, and elements of a row, rows of a slice, slices.
    fn geometry(&self) -> Result<(Geometry, [usize; 3]), Status> {
        let Descriptor {
            width,
            height,
            depth,
            flags,
            ..
        } = *self;
        if let Some((_, what)) = ABSENT.iter().find(|(flag, _)| flags & flag != 0) {
            crate::report::lacks(what);
            return Err(Status::NotSupported);
        }
        let (layered, cube) = (flags & LAYERED != 0, flags & CUBEMAP != 0);
        let geometry = match (layered, cube) {
            (false, false) if depth > 0 => Geometry::Volume,
            (false, false) if height > 0 => Geometry::Plane,
            (false, false) => Geometry::Line,
            (true, false) if height > 0 => Geometry::Planes,
            (true, false) => Geometry::Lines,
            (false, true) => Geometry::Cube,
            (true, true) => Geometry::Cubes,
        };
        let right = match geometry {
            Geometry::Volume => height > 0,
            Geometry::Planes | Geometry::Lines => depth > 0,
            Geometry::Cube => width == height && depth == 6,
            Geometry::Cubes => width == height && depth > 0 && depth.is_multiple_of(6),
            Geometry::Plane | Geometry::Line | Geometry::Buffer => true,
        };
        let known = LAYERED | SURFACE | CUBEMAP | GATHER;
        if !right
            || width == 0
            || flags & !known != 0
            || flags & GATHER != 0 && geometry != Geometry::Plane
        {
            return Err(Status::InvalidValue);
        }
        Ok((geometry, [width, height.max(1), depth.max(1)]))
    }

    /// The image of such an array at an address, if a card takes it.
    fn image(&self, core: &Core) -> Result<Image, Status> {
        let format = format(self.format, self.channels)?;
        let (geometry, size) = self.geometry()?;
        let limit = |number: i32| {
            let most = card::attribute(core.settings, core.card.index, number);
            most.unwrap_or(0) as usize
        };
        let most = match (geometry, self.flags & (SURFACE | GATHER)) {
            (Geometry::Line | Geometry::Buffer, _) => [limit(21), 1, 1],
            (Geometry::Plane, flags) if flags & GATHER != 0 => [limit(45), limit(46), 1],
            (Geometry::Plane, _) => [limit(22), limit(23), 1],
            (Geometry::Volume, _) => [limit(24), limit(25), limit(26)],
            (Geometry::Lines, _) => [limit(42), 1, limit(43)],
            (Geometry::Planes, _) => [limit(27), limit(28), limit(29)],
            (Geometry::Cube, _) => [limit(52), limit(52), 6],
            (Geometry::Cubes, _) => [limit(53), limit(53), limit(54)],
        };
        if size.iter().zip(most).any(|(size, most)| *size > most) {
            return Err(Status::InvalidValue);
        }
        Ok(Image::tight(geometry, format, size.map(|n| n as u32), 0))
    }

    /// What is left of an extent at a level.
    fn at_level(&self, level: u32) -> Descriptor {
        let half = |extent: usize| match extent {
            0 => 0,
            extent => (extent >> level).max(1),
        };
        let keeps = self.flags & (LAYERED | CUBEMAP) != 0;
        Descriptor {
            width: half(self.width),
            height: half(self.height),
            depth: if keeps { self.depth } else { half(self.depth) },
            ..*self
        }
    }
}

/// An array, or a level of one with several.
pub(crate) struct Array {
    pub(crate) core: Arc<Core>,
    pub(crate) descriptor: Descriptor,
    pub(crate) image: Image,
    /// Whether its memory is its own, and not that of an array of which it is a level.
    pub(crate) owns: bool,
}

/// An array of several levels, each of half the extents of the one before.
pub(crate) struct Mipmapped {
    pub(crate) core: Arc<Core>,
    pub(crate) address: u64,
    pub(crate) levels: Vec<Arc<Array>>,
    /// The handles of levels that were asked for.
    pub(crate) handles: Vec<OnceLock<Handle>>,
}

impl Array {
    pub(crate) fn new(context: &Context, descriptor: Descriptor) -> Result<Array, Status> {
        let image = descriptor.image(&context.core)?;
        let address = context.alloc(image.bytes(), Owner::Array)?;
        Ok(Array {
            core: context.core.clone(),
            descriptor,
            image: Image { address, ..image },
            owns: true,
        })
    }

    /// Where a byte of a row, a row and a slice are, if so many of each from there on are inside.
    pub(crate) fn place(&self, at: [usize; 3], extent: [usize; 3]) -> Result<u64, Status> {
        let image = &self.image;
        let element = image.format.bytes() as usize;
        let [width, height, depth] = image.size.map(|n| n as usize);
        let sizes = [width * element, height, depth];
        let fits = |i: usize| {
            let end = at[i].checked_add(extent[i]);
            end.is_some_and(|end| end <= sizes[i])
        };
        let whole = at[0].is_multiple_of(element) && extent[0].is_multiple_of(element);
        if !(0..3).all(fits) || !whole {
            return Err(Status::InvalidValue);
        }
        let [x, y, z] = at.map(|n| n as u64);
        Ok(image.address + z * image.slice + y * image.pitch + x)
    }

    /// Where a byte is, if so many from there on are inside; rows follow each other.
    pub(crate) fn bytes(&self, offset: usize, bytes: usize) -> Result<u64, Status> {
        let all = self.image.bytes() as usize;
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= all);
        if inside {
            Ok(self.image.address + offset as u64)
        } else {
            Err(Status::InvalidValue)
        }
    }
}

/// Bytes between the levels of an array, as memory is given out.
const ALIGN: u64 = 256;

impl Mipmapped {
    pub(crate) fn new(
        context: &Context,
        descriptor: Descriptor,
        levels: u32,
    ) -> Result<Mipmapped, Status> {
        let first = descriptor.image(&context.core)?;
        let volume = first.geometry == Geometry::Volume;
        let largest = match volume {
            true => first.size.iter().max(),
            false => first.size[..2].iter().max(),
        };
        let most = largest.map_or(1, |largest| largest.ilog2() + 1);
        // One level at least, and no more than there are halves.
        let levels = levels.clamp(1, most);
        let (mut images, mut bytes) = (Vec::new(), 0);
        for level in 0..levels {
            let descriptor = descriptor.at_level(level);
            let image = descriptor.image(&context.core)?;
            images.push((descriptor, image, bytes));
            bytes += image.bytes().next_multiple_of(ALIGN);
        }
        let address = context.alloc(bytes, Owner::Array)?;
        let level = |(descriptor, image, offset)| {
            Arc::new(Array {
                core: context.core.clone(),
                descriptor,
                image: Image {
                    address: address + offset,
                    ..image
                },
                owns: false,
            })
        };
        Ok(Mipmapped {
            core: context.core.clone(),
            address,
            handles: images.iter().map(|_| OnceLock::new()).collect(),
            levels: images.into_iter().map(level).collect(),
        })
    }
}
