//! What is read and written of surfaces.

use super::{
    super::{
        AccessId, Ctx, Handler, Micro, Slot, SpanId, Words, args,
        bulk::{Combine, combine, may},
        choices,
        half::F16,
    },
    Last, TextureShape, active, load, misuse,
};
use crate::{
    error::Misuse,
    memory::Bad,
    tensor_map::Element,
    texture::{Channel, Format, Outside, Surface, SurfacePlace},
};

choices! {
    /// What becomes of accesses outside.
    pub(super) enum Bounds {
        Trap,
        Clamp,
        Zero,
    }
}

args! {
    pub(super) struct Access {
        pub(super) shape: TextureShape,
        pub(super) bounds: Bounds,
        /// Bytes of a value, and how many there are.
        pub(super) each: u8,
        pub(super) count: u8,
        /// Whether elements are counted along a row, and not bytes.
        pub(super) by_element: bool,
        /// How what is there and what comes become one.
        pub(super) combine: Combine,
        pub(super) handle: Slot,
        /// Slots of the layer and the coordinates.
        pub(super) from: Words,
        /// Slots of the values.
        pub(super) values: Words,
        pub(super) access: AccessId,
    }
}

impl Access {
    /// Layer and coordinates of a lane: along a row, row, slice.
    fn at(&self, ctx: &Ctx, lane: usize) -> [i64; 3] {
        let word = |at: usize| {
            let slot = ctx.extra(self.from.behind(at as u32), 1)[0];
            i64::from(ctx.cells::<u32>(Slot(slot))[lane] as i32)
        };
        match self.shape {
            TextureShape::D1 => [word(0), 0, 0],
            TextureShape::D2 => [word(0), word(1), 0],
            TextureShape::D3 | TextureShape::Cube | TextureShape::Acube => {
                [word(0), word(1), word(2)]
            }
            TextureShape::A1 => [word(1), 0, word(0)],
            TextureShape::A2 => [word(1), word(2), word(0)],
        }
    }

    /// The surface of a lane and where it is accessed; `None` if that is nowhere, or it has faulted.
    fn place(
        &self,
        ctx: &mut Ctx,
        span: SpanId,
        lane: usize,
        last: &mut Last,
    ) -> Option<(Surface, u64)> {
        let handle = ctx.cells::<u64>(self.handle)[lane];
        let surface = last.surface(ctx, span, lane, handle)?;
        if !self.shape.accesses(surface.image.geometry) {
            misuse(ctx, span, Misuse::Geometry, lane, handle);
            return None;
        }
        let mut at = self.at(ctx, lane);
        let element = surface.image.format.bytes();
        let bytes = if self.by_element {
            at[0] *= element as i64;
            element
        } else {
            u64::from(self.each) * u64::from(self.count)
        };
        let outside = match self.bounds {
            Bounds::Trap => Outside::Trap,
            Bounds::Clamp => Outside::Clamp,
            Bounds::Zero => Outside::Zero,
        };
        match surface.place(at, bytes, outside) {
            SurfacePlace::Address(address) => {
                let by = (span, self.access);
                may(ctx, by, lane as u32, (address, bytes)).then_some((surface, address))
            }
            SurfacePlace::Nowhere => None,
            SurfacePlace::Trap => {
                misuse(ctx, span, Misuse::SurfaceRange, lane, handle);
                None
            }
            SurfacePlace::Misaligned => {
                let bytes = bytes as u32;
                ctx.refuse(span, Bad::Align, lane as u32, at[0] as u64, bytes);
                None
            }
        }
    }

    /// The values of a lane, one behind the other.
    fn value(&self, ctx: &Ctx, lane: usize) -> [u8; 16] {
        let mut all = [0; 16];
        let each = usize::from(self.each);
        for (at, to) in all.chunks_mut(each).enumerate().take(self.count.into()) {
            let slot = Slot(ctx.extra(self.values.behind(at as u32), 1)[0]);
            let word = match self.each {
                8 => ctx.cells::<u64>(slot)[lane],
                _ => ctx.cells::<u32>(slot)[lane].into(),
            };
            to.copy_from_slice(&word.to_le_bytes()[..each]);
        }
        all
    }
}

/// Writes bytes, in pieces of up to 8.
fn store(ctx: &Ctx, address: u64, bytes: &[u8]) -> Result<(), Bad> {
    let word = |part: &[u8]| {
        let mut whole = [0; 8];
        whole[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(whole)
    };
    match bytes.len() {
        1 => ctx.global.store::<u8>(address, word(bytes) as u8),
        2 => ctx.global.store::<u16>(address, word(bytes) as u16),
        4 => ctx.global.store::<u32>(address, word(bytes) as u32),
        8 => ctx.global.store::<u64>(address, word(bytes)),
        _ => {
            let (low, high) = bytes.split_at(8);
            ctx.global.store::<u64>(address, word(low))?;
            ctx.global.store::<u64>(address.wrapping_add(8), word(high))
        }
    }
}

/// `suld`.
pub(super) struct Loads;
impl Handler for Loads {
    type Args = Access;
    fn run(ctx: &mut Ctx, op: &Micro<Access>) {
        let (mut out, mut last) = ([[0u64; 32]; 4], Last::default());
        let each = usize::from(op.each);
        for lane in active(ctx) {
            let Some((_, address)) = op.place(ctx, op.span(), lane, &mut last) else {
                continue;
            };
            let bytes = u64::from(op.each) * u64::from(op.count);
            match load(ctx, address, bytes) {
                Ok(all) => {
                    for (out, part) in out.iter_mut().zip(all.chunks(each)) {
                        let mut word = [0; 8];
                        word[..each].copy_from_slice(part);
                        out[lane] = u64::from_le_bytes(word);
                    }
                }
                Err(bad) => ctx.refuse(op.span(), bad, lane as u32, address, bytes as u32),
            }
        }
        for (at, out) in out.iter().enumerate().take(op.count.into()) {
            let slot = Slot(ctx.extra(op.values.behind(at as u32), 1)[0]);
            if op.each == 8 {
                ctx.put_cells(slot, *out);
            } else {
                ctx.put_cells(slot, out.map(|word| word as u32));
            }
        }
    }
}

/// `sust.b` and `sured`.
pub(super) struct Stores;
impl Handler for Stores {
    type Args = Access;
    fn run(ctx: &mut Ctx, op: &Micro<Access>) {
        let mut last = Last::default();
        for lane in active(ctx) {
            let Some((surface, address)) = op.place(ctx, op.span(), lane, &mut last) else {
                continue;
            };
            let all = op.value(ctx, lane);
            let bytes = usize::from(op.each) * usize::from(op.count);
            let done = match op.combine {
                Combine::Nothing => store(ctx, address, &all[..bytes]),
                known => match typed(known, op, &surface) {
                    Some(known) => combine(&ctx.global, address, &all[..bytes], known),
                    None => {
                        let handle = ctx.cells::<u64>(op.handle)[lane];
                        misuse(ctx, op.span(), Misuse::Geometry, lane, handle);
                        continue;
                    }
                },
            };
            if let Err(bad) = done {
                ctx.refuse(op.span(), bad, lane as u32, address, bytes as u32);
            }
        }
        ctx.changes += 1;
    }
}

/// A reduction of elements is of their type; `None` if they have not the width of the value.
fn typed(known: Combine, op: &Access, surface: &Surface) -> Option<Combine> {
    if !op.by_element {
        return Some(known);
    }
    let format = surface.image.format;
    if format.bytes() != u64::from(op.each) {
        return None;
    }
    known.of(match (op.each, format.channel.is_signed()) {
        (8, false) => Element::U64,
        (8, true) => Element::S64,
        (_, false) => Element::U32,
        (_, true) => Element::S32,
    })
}

/// `sust.p`.
pub(super) struct Formats;
impl Handler for Formats {
    type Args = Access;
    fn run(ctx: &mut Ctx, op: &Micro<Access>) {
        let mut last = Last::default();
        for lane in active(ctx) {
            let Some((surface, address)) = op.place(ctx, op.span(), lane, &mut last) else {
                continue;
            };
            let all = op.value(ctx, lane);
            let mut words = [0; 4];
            for (word, part) in words.iter_mut().zip(all.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*part);
            }
            let format = surface.image.format;
            let (element, bytes) = (formatted(format, words), format.bytes());
            if let Err(bad) = store(ctx, address, &element[..bytes as usize]) {
                ctx.refuse(op.span(), bad, lane as u32, address, bytes as u32);
            }
        }
        ctx.changes += 1;
    }
}

/// Numbers of 32 bits as an element has them: the nearest that its type has.
fn formatted(format: Format, words: [u32; 4]) -> [u8; 16] {
    let signed = |word: u32, bits: u32| {
        let most = (1i32 << (bits - 1)) - 1;
        (word as i32).clamp(-most - 1, most) as u32
    };
    format.pack(words.map(|word| match format.channel {
        Channel::U8 => word.min(0xFF),
        Channel::U16 => word.min(0xFFFF),
        Channel::S8 => signed(word, 8),
        Channel::S16 => signed(word, 16),
        Channel::F16 => F16::from_f32(f32::from_bits(word)).0.into(),
        Channel::U32 | Channel::S32 | Channel::F32 => word,
    }))
}
