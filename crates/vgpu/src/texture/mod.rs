//! Textures and surfaces: images in device memory, and what kernels find where they read them (CUDA C++ Programming Guide,
//! "Texture Fetching"; PTX ISA 5.3).
//!
//! What an image holds is the driver's to lay out. Whoever reads one is given the element at a place and no more, so that each
//! access is checked where memory is touched.

mod filter;
mod image;
mod objects;
mod sample;

pub use image::{Channel, Format, Geometry, Image};
pub(crate) use objects::{Object, Objects};
pub(crate) use sample::{At, Level, Query};
use std::sync::Arc;

/// What stands for elements outside of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The image again and again; with coordinates that are not normalized, as `Clamp`.
    Wrap,
    /// The element at the edge.
    Clamp,
    /// The image and its mirror image in turn; with coordinates that are not normalized, as `Clamp`.
    Mirror,
    /// The color of the border.
    Border,
}

/// How a value is made of those around a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest.
    Point,
    /// By their distances, each in 256 steps.
    Linear,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Of each dimension.
    pub address: [Address; 3],
    /// Within a level.
    pub filter: Filter,
    /// Whether coordinates are fractions of the extents.
    pub normalized: bool,
    /// Whether integers become numbers from 0 to 1, or from -1 to 1.
    pub as_float: bool,
    /// Whether red, green and blue stand for intensities as sRGB has them.
    pub srgb: bool,
    /// The color of the border.
    pub border: [f32; 4],
    /// Between levels.
    pub mip_filter: Filter,
    /// What is added to the level that is asked for.
    pub bias: f32,
    /// The least and the greatest level.
    pub levels: [f32; 2],
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            address: [Address::Clamp; 3],
            filter: Filter::Point,
            normalized: false,
            as_float: false,
            srgb: false,
            border: [0.0; 4],
            mip_filter: Filter::Point,
            bias: 0.0,
            levels: [0.0; 2],
        }
    }
}

/// An image and how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// The image.
    pub image: Image,
    /// Those of half, a quarter ... of its extents, if there are any.
    pub coarser: Arc<[Image]>,
    /// How it is read.
    pub sampler: Sampler,
}

/// An image that is read and written as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// The image.
    pub image: Image,
}

/// What becomes of accesses outside of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    Trap,
    Clamp,
    Zero,
}

/// Where an access to a surface goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurfacePlace {
    Address(u64),
    /// Nowhere: nothing is written, and zeros are read.
    Nowhere,
    /// It ends the kernel.
    Trap,
    Misaligned,
}

impl Surface {
    /// Where `bytes` at a byte of a row, a row and a slice are.
    pub(crate) fn place(&self, at: [i64; 3], bytes: u64, outside: Outside) -> SurfacePlace {
        let image = &self.image;
        let row = u64::from(image.size[0]) * image.format.bytes();
        if at[0].rem_euclid(bytes as i64) != 0 {
            return SurfacePlace::Misaligned;
        }
        // The last place of the row that is as large.
        let Some(last) = (row / bytes).checked_sub(1).map(|last| last * bytes) else {
            return match outside {
                Outside::Trap => SurfacePlace::Trap,
                Outside::Clamp | Outside::Zero => SurfacePlace::Nowhere,
            };
        };
        let most = [
            last as i64,
            i64::from(image.size[1]) - 1,
            i64::from(image.size[2]) - 1,
        ];
        let nearest: [i64; 3] = std::array::from_fn(|i| at[i].clamp(0, most[i].max(0)));
        match outside {
            Outside::Trap if nearest != at => return SurfacePlace::Trap,
            Outside::Zero if nearest != at => return SurfacePlace::Nowhere,
            Outside::Trap | Outside::Clamp | Outside::Zero => {}
        }
        let [x, y, z] = nearest.map(|n| n as u64);
        SurfacePlace::Address(image.address + z * image.slice + y * image.pitch + x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_outside_of_a_surface_end_move_or_vanish() {
        let format = Format {
            channel: Channel::U8,
            channels: 4,
        };
        let surface = Surface {
            image: Image::tight(Geometry::Volume, format, [3, 5, 2], 1000),
        };
        let at = |place: [i64; 3], bytes, outside| surface.place(place, bytes, outside);
        assert_eq!(surface.image.bytes(), 3 * 4 * 5 * 2);
        let inside = 1000 + 60 + 4 * 12 + 8;
        for outside in [Outside::Trap, Outside::Clamp, Outside::Zero] {
            assert_eq!(at([8, 4, 1], 4, outside), SurfacePlace::Address(inside));
            assert_eq!(at([2, 0, 0], 4, outside), SurfacePlace::Misaligned);
        }
        for place in [[12, 4, 1], [8, 5, 1], [8, 4, 2], [-4, 0, 0], [0, -1, 0]] {
            assert_eq!(at(place, 4, Outside::Trap), SurfacePlace::Trap);
            assert_eq!(at(place, 4, Outside::Zero), SurfacePlace::Nowhere);
        }
        assert_eq!(
            at([400, 9, 7], 4, Outside::Clamp),
            SurfacePlace::Address(inside)
        );
        assert_eq!(
            at([-4, -1, -9], 4, Outside::Clamp),
            SurfacePlace::Address(1000)
        );
        // Twelve bytes have room for one access to eight.
        assert_eq!(at([8, 0, 0], 8, Outside::Trap), SurfacePlace::Trap);
        assert_eq!(
            at([8, 0, 0], 8, Outside::Clamp),
            SurfacePlace::Address(1000)
        );
        assert_eq!(at([0, 0, 0], 16, Outside::Clamp), SurfacePlace::Nowhere);
    }
}
