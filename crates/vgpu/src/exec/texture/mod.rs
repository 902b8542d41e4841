//! Textures and surfaces (PTX ISA 9.7.10, 9.7.11).
//!
//! - A handle is looked up when it is used: one that stands for nothing, or for something of another geometry, is a fault.
//! - Of vectors with a place that only fills them up that place is not read.
//! - Surfaces are accessed as global memory is; the checker sees each element of either.

mod emit;
mod surface;

pub(super) use emit::lower;

use super::{
    AccessId, Ctx, Handler, Micro, OptSlot, Slot, SpanId, Words, args, bulk::may, choices,
    half::F16,
};
use crate::{
    error::{FaultKind, Misuse},
    memory::{Bad, Word},
    texture::{At, Filter, Geometry, Image, Level, Object, Query, Surface, Texture},
};

choices! {
    /// The geometry that an instruction names.
    enum TextureShape {
        D1,
        D2,
        D3,
        A1,
        A2,
        Cube,
        Acube,
    }

    /// Which level is read, or which channel of the four neighbours.
    enum How {
        Finest,
        Level,
        Change,
        Red,
        Green,
        Blue,
        Alpha,
    }

    /// What the results are.
    enum Results {
        Words,
        /// Rounded to halves.
        Halves,
        /// Two halves in a word.
        Pairs,
    }

    /// What is asked of an object.
    enum Question {
        Width,
        Height,
        Depth,
        Layers,
        Levels,
        Normalized,
        /// Whether coordinates must not be normalized.
        Forced,
        Filter,
        Address0,
        Address1,
        Address2,
        /// Whether elements lie row behind row for everybody.
        Linear,
    }
}

impl TextureShape {
    /// Whether there is a layer before the coordinates.
    fn is_layered(self) -> bool {
        matches!(
            self,
            TextureShape::A1 | TextureShape::A2 | TextureShape::Acube
        )
    }

    /// Coordinates behind it.
    fn coordinates(self) -> usize {
        match self {
            TextureShape::D1 | TextureShape::A1 => 1,
            TextureShape::D2 | TextureShape::A2 => 2,
            TextureShape::D3 | TextureShape::Cube | TextureShape::Acube => 3,
        }
    }

    /// Whether textures of a geometry are read by it, by the numbers of elements or otherwise.
    fn reads(self, geometry: Geometry, by_number: bool) -> bool {
        match geometry {
            Geometry::Buffer => self == TextureShape::D1 && by_number,
            Geometry::Line => self == TextureShape::D1,
            Geometry::Plane => self == TextureShape::D2,
            Geometry::Volume => self == TextureShape::D3,
            Geometry::Lines => self == TextureShape::A1,
            Geometry::Planes => self == TextureShape::A2,
            Geometry::Cube => self == TextureShape::Cube,
            Geometry::Cubes => self == TextureShape::Acube,
        }
    }

    /// Whether surfaces of a geometry are accessed by it: the faces of cubes are layers.
    fn accesses(self, geometry: Geometry) -> bool {
        match geometry {
            Geometry::Cube | Geometry::Cubes => self == TextureShape::A2,
            other => self.reads(other, false),
        }
    }
}

args! {
    struct Fetch {
        shape: TextureShape,
        how: How,
        results: Results,
        /// Whether coordinates are numbers of elements.
        by_number: bool,
        handle: Slot,
        /// Slots of the layer, the coordinates, and the level or the changes.
        from: Words,
        /// Slots of the results.
        to: Words,
        /// Where it goes that all of it is in memory.
        resident: OptSlot,
        access: AccessId,
    }

    struct Ask {
        question: Question,
        surface: bool,
        handle: Slot,
        level: OptSlot,
        dst: Slot,
    }
}

/// The lanes that run an op.
fn active(ctx: &Ctx) -> impl Iterator<Item = usize> + use<> {
    let mask = ctx.mask;
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// The object of the lane before, which is mostly that of the next one.
#[derive(Default)]
struct Last(Option<(u64, Object)>);

impl Last {
    fn find(&mut self, ctx: &Ctx, handle: u64) -> Option<&Object> {
        if self.0.as_ref().is_none_or(|(known, _)| *known != handle) {
            self.0 = ctx.objects.find(handle).map(|object| (handle, object));
        }
        self.0.as_ref().map(|(_, object)| object)
    }

    /// The texture of a lane; without one it has faulted.
    fn texture(
        &mut self,
        ctx: &mut Ctx,
        span: SpanId,
        lane: usize,
        handle: u64,
    ) -> Option<&Texture> {
        match self.find(ctx, handle) {
            Some(Object::Texture(texture)) => Some(texture),
            Some(Object::Surface(_)) | None => {
                misuse(ctx, span, Misuse::Texture, lane, handle);
                None
            }
        }
    }

    /// The same of surfaces.
    fn surface(
        &mut self,
        ctx: &mut Ctx,
        span: SpanId,
        lane: usize,
        handle: u64,
    ) -> Option<Surface> {
        match self.find(ctx, handle) {
            Some(Object::Surface(surface)) => Some(*surface),
            Some(Object::Texture(_)) | None => {
                misuse(ctx, span, Misuse::Surface, lane, handle);
                None
            }
        }
    }
}

fn misuse(ctx: &mut Ctx, span: SpanId, what: Misuse, lane: usize, address: u64) {
    ctx.fault(span, FaultKind::Misuse(what), lane as u32, Some(address));
}

/// Up to 16 bytes at an address.
fn load(ctx: &Ctx, address: u64, bytes: u64) -> Result<[u8; 16], Bad> {
    fn word<T: Word + Into<u64>>(ctx: &Ctx, address: u64) -> Result<u128, Bad> {
        Ok(u128::from(ctx.global.load::<T>(address)?.into()))
    }
    let all = match bytes {
        1 => word::<u8>(ctx, address)?,
        2 => word::<u16>(ctx, address)?,
        4 => word::<u32>(ctx, address)?,
        8 => word::<u64>(ctx, address)?,
        _ => word::<u64>(ctx, address)? | word::<u64>(ctx, address.wrapping_add(8))? << 64,
    };
    Ok(all.to_le_bytes())
}

/// An element of an image, as the checker lets; zeros where it may not be read.
fn element(
    ctx: &mut Ctx,
    (span, access): (SpanId, AccessId),
    lane: usize,
    (image, at): (&Image, [u32; 3]),
) -> [u8; 16] {
    let (address, bytes) = (image.element(at), image.format.bytes());
    if !may(ctx, (span, access), lane as u32, (address, bytes)) {
        return [0; 16];
    }
    load(ctx, address, bytes).unwrap_or_else(|bad| {
        ctx.refuse(span, bad, lane as u32, address, bytes as u32);
        [0; 16]
    })
}

impl Fetch {
    /// The word at a place of those that a lane gives.
    fn word(&self, ctx: &Ctx, at: usize, lane: usize) -> u32 {
        let slot = ctx.extra(self.from.behind(at as u32), 1)[0];
        ctx.cells::<u32>(Slot(slot))[lane]
    }

    /// Floats from a place on.
    fn floats(&self, ctx: &Ctx, at: usize, count: usize, lane: usize) -> [f32; 3] {
        std::array::from_fn(|i| {
            if i < count {
                f32::from_bits(self.word(ctx, at + i, lane))
            } else {
                0.0
            }
        })
    }

    fn query(&self, ctx: &Ctx, lane: usize) -> Query {
        let (layers, count) = (
            usize::from(self.shape.is_layered()),
            self.shape.coordinates(),
        );
        let layer = if layers == 1 {
            self.word(ctx, 0, lane)
        } else {
            0
        };
        let behind = layers + count;
        let at = if self.by_number {
            At::Element(std::array::from_fn(|i| {
                if i < count {
                    self.word(ctx, layers + i, lane) as i32
                } else {
                    0
                }
            }))
        } else {
            At::Place(self.floats(ctx, layers, count, lane))
        };
        let level = match self.how {
            How::Level if self.by_number => Level::Number(self.word(ctx, behind, lane) as i32),
            How::Level => Level::At(f32::from_bits(self.word(ctx, behind, lane))),
            How::Change => {
                let by = |first| self.floats(ctx, first, count, lane);
                Level::Change([by(behind), by(behind + count)])
            }
            How::Finest | How::Red | How::Green | How::Blue | How::Alpha => Level::Finest,
        };
        Query { at, layer, level }
    }
}

/// What lanes read of textures.
struct Fetches;
impl Handler for Fetches {
    type Args = Fetch;
    fn run(ctx: &mut Ctx, op: &Micro<Fetch>) {
        let (mut out, mut last) = ([[0u32; 32]; 4], Last::default());
        let span = op.span();
        for lane in active(ctx) {
            let handle = ctx.cells::<u64>(op.handle)[lane];
            let Some(texture) = last.texture(ctx, span, lane, handle) else {
                continue;
            };
            if !op.shape.reads(texture.image.geometry, op.by_number) {
                misuse(ctx, span, Misuse::Geometry, lane, handle);
                continue;
            }
            let query = op.query(ctx, lane);
            let mut read =
                |image: &Image, at: [u32; 3]| element(ctx, (span, op.access), lane, (image, at));
            let words = match op.how {
                How::Finest | How::Level | How::Change => texture.sample(query, &mut read),
                How::Red => texture.gather(query, 0, &mut read),
                How::Green => texture.gather(query, 1, &mut read),
                How::Blue => texture.gather(query, 2, &mut read),
                How::Alpha => texture.gather(query, 3, &mut read),
            };
            for (out, word) in out.iter_mut().zip(rounded(op.results, words)) {
                out[lane] = word;
            }
        }
        let count = match op.results {
            Results::Words | Results::Halves => 4,
            Results::Pairs => 2,
        };
        for (at, out) in out.iter().enumerate().take(count) {
            let slot = ctx.extra(op.to.behind(at as u32), 1)[0];
            ctx.put_cells(Slot(slot), *out);
        }
        if let Some(slot) = op.resident.get() {
            ctx.put_mask(slot, u32::MAX);
        }
    }
}

/// Results as the instruction has them.
fn rounded(results: Results, words: [u32; 4]) -> [u32; 4] {
    let half = |word: u32| u32::from(F16::from_f32(f32::from_bits(word)).0);
    match results {
        Results::Words => words,
        Results::Halves => words.map(half),
        Results::Pairs => {
            let [a, b, c, d] = words.map(half);
            [a | b << 16, c | d << 16, 0, 0]
        }
    }
}

/// What objects say about themselves.
struct Asks;
impl Handler for Asks {
    type Args = Ask;
    fn run(ctx: &mut Ctx, op: &Micro<Ask>) {
        let (mut out, mut last) = ([0u32; 32], Last::default());
        let span = op.span();
        for lane in active(ctx) {
            let handle = ctx.cells::<u64>(op.handle)[lane];
            let level = op
                .level
                .get()
                .map_or(0, |slot| ctx.cells::<u32>(slot)[lane]);
            out[lane] = if op.surface {
                match last.surface(ctx, span, lane, handle) {
                    Some(surface) => of_image(op.question, &surface.image),
                    None => 0,
                }
            } else {
                match last.texture(ctx, span, lane, handle) {
                    Some(texture) => of_texture(op.question, texture, level),
                    None => 0,
                }
            };
        }
        ctx.put_cells(op.dst, out);
    }
}

fn of_image(question: Question, image: &Image) -> u32 {
    match question {
        Question::Width => image.size[0],
        Question::Height => image.size[1],
        Question::Depth if image.geometry == Geometry::Volume => image.size[2],
        Question::Depth => 1,
        Question::Layers => image.layers(),
        Question::Levels => 1,
        Question::Linear
        | Question::Normalized
        | Question::Forced
        | Question::Filter
        | Question::Address0
        | Question::Address1
        | Question::Address2 => 0,
    }
}

/// Numbers of modes are those of the manual's lists: nearest and linear; wrap, mirror, clamp as OpenGL does, clamp to the edge,
/// clamp to the border.
fn of_texture(question: Question, texture: &Texture, level: u32) -> u32 {
    use crate::texture::Address;
    let sampler = &texture.sampler;
    let address = |i: usize| match sampler.address[i] {
        Address::Wrap => 0,
        Address::Mirror => 1,
        Address::Clamp => 3,
        Address::Border => 4,
    };
    match question {
        Question::Levels => 1 + texture.coarser.len() as u32,
        Question::Normalized => sampler.normalized.into(),
        Question::Filter => (sampler.filter == Filter::Linear).into(),
        Question::Address0 => address(0),
        Question::Address1 => address(1),
        Question::Address2 => address(2),
        Question::Width
        | Question::Height
        | Question::Depth
        | Question::Layers
        | Question::Forced
        | Question::Linear => match texture.at_level(level as usize) {
            Some(image) => of_image(question, image),
            None => 0,
        },
    }
}
