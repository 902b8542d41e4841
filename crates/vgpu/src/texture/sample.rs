//! What a kernel gets that reads a texture.

use super::{
    Address, Channel, Filter, Geometry, Image, Texture,
    filter::{Coordinate, Taps, half, intensity},
};

/// Where a texture is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// By coordinates, or by a direction from the middle of a cube.
    Place([f32; 3]),
    /// By the numbers of elements, whatever the sampler says.
    Element([i32; 3]),
}

/// Which level is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    /// The finest that the sampler lets.
    Finest,
    At(f32),
    /// By its number.
    Number(i32),
    /// As far as the coordinates change from one pixel to the next, in each of two directions.
    Change([[f32; 3]; 2]),
}

/// What is asked of a texture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) at: At,
    pub(crate) layer: u32,
    pub(crate) level: Level,
}

/// A channel that is gathered, by its number.
type Component = usize;

/// Reads the element of a level at a place.
pub(crate) type Read<'r> = &'r mut dyn FnMut(&Image, [u32; 3]) -> [u8; 16];

/// A place in a level: coordinates in units of elements.
struct Spot {
    along: [Coordinate; 3],
    slice: u32,
}

/// The face of a cube that a direction goes through, and where, from 0 to 1 (Programming Guide, "Cubemap Textures").
fn face([x, y, z]: [f32; 3]) -> (u32, [f64; 2]) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, s, t, m) = if az >= ax && az >= ay {
        if z >= 0.0 {
            (4, x, -y, az)
        } else {
            (5, -x, -y, az)
        }
    } else if ay >= ax {
        if y >= 0.0 {
            (2, x, z, ay)
        } else {
            (3, x, -z, ay)
        }
    } else if x >= 0.0 {
        (0, -z, -y, ax)
    } else {
        (1, z, -y, ax)
    };
    let place = |c: f32| (f64::from(c) / f64::from(m) + 1.0) / 2.0;
    (face, [place(s), place(t)])
}

impl Texture {
    /// Whether what is read are floating-point numbers.
    pub(crate) fn gives_floats(&self) -> bool {
        self.sampler.as_float || self.image.format.channel.is_float()
    }

    /// The image of a level, if there is one.
    pub(crate) fn at_level(&self, level: usize) -> Option<&Image> {
        match level.checked_sub(1) {
            None => Some(&self.image),
            Some(coarser) => self.coarser.get(coarser),
        }
    }

    /// The same; behind the last it is the last.
    fn nearest_level(&self, level: usize) -> &Image {
        let last = || self.coarser.last().unwrap_or(&self.image);
        self.at_level(level).unwrap_or_else(last)
    }

    /// What stands at a place: the bits of four numbers.
    pub(crate) fn sample(&self, query: Query, read: Read<'_>) -> [u32; 4] {
        let at = match query.at {
            At::Element(at) => return self.element(at, query, read),
            At::Place(at) => at,
        };
        let (level, part) = self.level(query);
        // Integers are not added up.
        if !self.gives_floats() || self.sampler.filter == Filter::Point && part == 0.0 {
            let image = self.nearest_level(level);
            let spot = self.spot(image, at, query.layer);
            let taps = spot.along.each_ref().map(|one| one.taps(Filter::Point));
            return self.bits(image, taps.map(|[(at, _), _]| at), spot.slice, read);
        }
        let mut of = |level: usize| {
            let image = self.nearest_level(level);
            let spot = self.spot(image, at, query.layer);
            let filter = self.sampler.filter;
            let taps = spot.along.each_ref().map(|one| one.taps(filter));
            self.filtered(image, taps, spot.slice, read)
        };
        let fine = of(level);
        if part == 0.0 {
            return fine.map(|x| (x as f32).to_bits());
        }
        let coarse = of(level + 1);
        std::array::from_fn(|i| {
            let x = fine[i] * (1.0 - part) + coarse[i] * part;
            (x as f32).to_bits()
        })
    }

    /// One channel of the four elements that a linear filter would take: those at (0, 1), (1, 1), (1, 0) and (0, 0).
    pub(crate) fn gather(&self, query: Query, component: Component, read: Read<'_>) -> [u32; 4] {
        let At::Place(at) = query.at else {
            return [0; 4];
        };
        let image = self.nearest_level(self.level(query).0);
        let spot = self.spot(image, at, query.layer);
        let [x, y, _] = spot.along.each_ref().map(|one| one.taps(Filter::Linear));
        [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(i, j)| {
            let place = [x[i].0, y[j].0, Some(0)];
            self.bits(image, place, spot.slice, read)[component]
        })
    }

    /// The level that is read, and what part the next one has.
    fn level(&self, query: Query) -> (usize, f64) {
        let last = self.coarser.len();
        if last == 0 {
            return (0, 0.0);
        }
        let sampler = &self.sampler;
        let wanted = match query.level {
            Level::Finest => f64::NEG_INFINITY,
            Level::At(level) => f64::from(level),
            Level::Number(level) => f64::from(level),
            Level::Change(by) => self.change(query.at, by).log2(),
        };
        let biased = match wanted.is_nan() {
            true => f64::NEG_INFINITY,
            false => wanted + f64::from(sampler.bias),
        };
        let [least, most] = sampler.levels.map(f64::from);
        let level = biased.min(most).max(least).min(last as f64).max(0.0);
        match sampler.mip_filter {
            Filter::Point => ((level + 0.5).floor().min(last as f64) as usize, 0.0),
            Filter::Linear => {
                let steps = (level * 256.0 + 0.5).floor();
                ((steps / 256.0).floor() as usize, steps % 256.0 / 256.0)
            }
        }
    }

    /// How many elements of the finest level the place moves from one pixel to the next, in the direction where that is more.
    fn change(&self, at: At, by: [[f32; 3]; 2]) -> f64 {
        let image = &self.image;
        let major = match at {
            At::Place(at) => at.iter().fold(0.0f32, |most, x| most.max(x.abs())),
            At::Element(_) => 1.0,
        };
        let scale = |i: usize| match image.geometry {
            // A face is two units wide where it is one unit away.
            Geometry::Cube | Geometry::Cubes => f64::from(image.size[0]) / 2.0 / f64::from(major),
            _ if self.sampler.normalized => f64::from(image.size[i]),
            _ => 1.0,
        };
        let squares = by.map(|by| {
            let all = by.iter().enumerate();
            let terms = all.map(|(i, d)| (f64::from(*d) * scale(i)).powi(2));
            terms.sum::<f64>()
        });
        squares[0].max(squares[1]).sqrt()
    }

    fn spot(&self, image: &Image, at: [f32; 3], layer: u32) -> Spot {
        let sampler = &self.sampler;
        let layer = layer.min(image.layers().max(1) - 1);
        let cube = matches!(image.geometry, Geometry::Cube | Geometry::Cubes);
        let (slice, x) = if cube {
            let (face, [s, t]) = face(at);
            (6 * layer + face, [s, t, 0.0])
        } else {
            (layer, at.map(f64::from))
        };
        let dimensions = image.geometry.dimensions();
        let along = std::array::from_fn(|i| {
            let count = if i < dimensions { image.size[i] } else { 1 };
            let scaled = cube || sampler.normalized;
            Coordinate {
                x: match (i < dimensions, scaled) {
                    (false, _) => 0.5,
                    (true, false) => x[i],
                    (true, true) => x[i] * f64::from(count),
                },
                count,
                address: match sampler.address[i] {
                    _ if i >= dimensions || cube => Address::Clamp,
                    Address::Wrap | Address::Mirror if !sampler.normalized => Address::Clamp,
                    mode => mode,
                },
            }
        });
        Spot { along, slice }
    }

    /// The element of a number; zeros outside.
    fn element(&self, at: [i32; 3], query: Query, read: Read<'_>) -> [u32; 4] {
        let level = match query.level {
            Level::Number(level) => usize::try_from(level).ok(),
            Level::Finest | Level::At(_) | Level::Change(_) => Some(0),
        };
        let Some(image) = level.and_then(|level| self.at_level(level)) else {
            return [0; 4];
        };
        let dimensions = image.geometry.dimensions();
        let place: [Option<u32>; 3] = std::array::from_fn(|i| {
            if i >= dimensions {
                return Some(0);
            }
            let index = u32::try_from(at[i]).ok();
            index.filter(|index| *index < image.size[i])
        });
        if place.contains(&None) {
            return [0; 4];
        }
        let layer = query.layer.min(image.layers().max(1) - 1);
        self.bits(image, place, layer, read)
    }

    /// The sum of the elements around a place, each by its part.
    fn filtered(
        &self,
        image: &Image,
        [x, y, z]: [Taps; 3],
        slice: u32,
        read: Read<'_>,
    ) -> [f64; 4] {
        let mut sum = [0.0; 4];
        for (z, in_z) in z {
            for (y, in_y) in y {
                for (x, in_x) in x {
                    let part = in_x * in_y * in_z;
                    if part == 0.0 {
                        continue;
                    }
                    let color = self.color(image, [x, y, z], slice, read);
                    for (sum, color) in sum.iter_mut().zip(color) {
                        *sum += part * color;
                    }
                }
            }
        }
        sum
    }

    /// An element as numbers.
    fn color(
        &self,
        image: &Image,
        place: [Option<u32>; 3],
        slice: u32,
        read: Read<'_>,
    ) -> [f64; 4] {
        let [Some(x), Some(y), Some(z)] = place else {
            return self.sampler.border.map(f64::from);
        };
        let format = image.format;
        let words = format.unpack(read(image, [x, y, z.max(slice)]));
        std::array::from_fn(|i| {
            if i >= usize::from(format.channels) {
                return if i == 3 { 1.0 } else { 0.0 };
            }
            let word = words[i];
            match format.channel {
                Channel::F32 => f32::from_bits(word).into(),
                Channel::F16 => half(word as u16),
                Channel::U8 if self.sampler.srgb && i < 3 => intensity(f64::from(word) / 255.0),
                Channel::U8 => f64::from(word) / 255.0,
                Channel::U16 => f64::from(word) / 65535.0,
                Channel::S8 => (f64::from(word as i32) / 127.0).max(-1.0),
                Channel::S16 => (f64::from(word as i32) / 32767.0).max(-1.0),
                // The driver makes no such texture.
                Channel::U32 => f64::from(word),
                Channel::S32 => f64::from(word as i32),
            }
        })
    }

    /// An element as the bits of four numbers, of which those that it has not are 0, 0 and 1.
    fn bits(&self, image: &Image, place: [Option<u32>; 3], slice: u32, read: Read<'_>) -> [u32; 4] {
        let format = image.format;
        let as_it_is = !self.gives_floats() || format.channel == Channel::F32;
        let [Some(x), Some(y), Some(z)] = place else {
            return match self.gives_floats() {
                true => self.sampler.border.map(f32::to_bits),
                false => [0; 4],
            };
        };
        if !as_it_is {
            let color = self.color(image, place, slice, read);
            return color.map(|x| (x as f32).to_bits());
        }
        let mut words = format.unpack(read(image, [x, y, z.max(slice)]));
        if format.channels < 4 {
            words[3] = match self.gives_floats() {
                true => 1f32.to_bits(),
                false => 1,
            };
        }
        words
    }
}
