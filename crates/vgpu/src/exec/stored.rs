//! What a store stores, for the checker: what is undefined of it, and where it changes nothing.

use super::{
    Base, Ctx, Micro, Slot,
    checked::{Beside, Check, LaneAddresses, addresses, part},
    lane::lanes,
    ldst, shadows,
};
use crate::check::{Access, AccessInfo, Lent, Space, Stored};

/// What a store stores, for whoever asks.
pub(super) struct StoredBy<'a> {
    pub(super) ctx: &'a Ctx,
    pub(super) op: &'a Micro<Check>,
    pub(super) info: &'a AccessInfo,
    pub(super) mask: u32,
}

impl Stored for StoredBy<'_> {
    fn undefined(&self, k: usize) -> Option<[u32; 32]> {
        if self.info.asynchronous {
            let copied = self.ctx.warp.copied.as_ref().filter(|_| k == 0)?;
            return Some(**copied);
        }
        if !self.ctx.warp.tainted || self.info.access != Access::Write {
            return None;
        }
        let of = |slot: Option<u32>| slot.map(|slot| *self.ctx.cells(Slot(slot)));
        match self.info.matrix {
            None => of(self.info.values.get(k).copied().flatten()),
            Some(transposed) if k == 0 => {
                let registers = self.info.values.map(|slot| of(slot).unwrap_or([0; 32]));
                Some(shadows::to_rows(&registers, transposed))
            }
            Some(_) => None,
        }
    }

    fn same(&self) -> u32 {
        let matrix = self.info.matrix.is_some();
        let stores = self.info.access == Access::Write && !self.info.object;
        if !stores || self.info.asynchronous || matrix {
            return 0;
        }
        let addresses = addresses(self.ctx, self.op.place());
        stores_same(self.ctx, self.op, self.info, self.mask, &addresses)
    }

    fn lent(&self) -> Option<Lent> {
        if !self.info.asynchronous {
            return None;
        }
        let ctx = self.ctx;
        let words = self.op.words(Beside::Source)?;
        let &[slot, kind, low, high, size, way] = ctx.extra(words, 6) else {
            return None;
        };
        let source = LaneAddresses {
            base: Base {
                slot: Slot(slot),
                scalar: kind & 1 != 0,
                wide: kind & 2 != 0,
            },
            offset: u64::from(low) | u64::from(high) << 32,
        };
        let whole = self.info.element as u8;
        let unless = |none: u32| lanes(|i| if none >> i & 1 != 0 { 0 } else { whole });
        Some(Lent {
            addresses: addresses(ctx, source),
            bytes: match (size.checked_sub(1), way) {
                (None, _) => [whole; 32],
                (Some(slot), part::NOT) => unless(ctx.mask_at(Slot(slot))),
                (Some(slot), part::ONLY) => unless(!ctx.mask_at(Slot(slot))),
                (Some(slot), _) => {
                    let bytes = ctx.cells::<u32>(Slot(slot));
                    lanes(|i| bytes[i].min(u32::from(whole)) as u8)
                }
            },
        })
    }
}

/// The lanes of a store that would leave memory as it is, or that store what another lane of theirs stores there.
fn stores_same(
    ctx: &Ctx,
    op: &Micro<Check>,
    info: &AccessInfo,
    mask: u32,
    addresses: &[u64; 32],
) -> u32 {
    let Some(stored) = op.words(Beside::Stored) else {
        return 0;
    };
    let slots = ctx.extra(stored, info.count as usize);
    let place = match info.space {
        Space::Global | Space::Const => ldst::Memory::Global,
        Space::Shared => ldst::Memory::Shared,
        Space::Local => ldst::Memory::Local,
        Space::Generic => ldst::Memory::Generic,
    };
    let value = |lane: usize, slot: u32| match info.element {
        8 => ctx.cells::<u64>(Slot(slot))[lane],
        bytes => {
            u64::from(ctx.cells::<u32>(Slot(slot))[lane]) & (u64::MAX >> (64 - 8 * bytes.min(8)))
        }
    };
    let mut same = 0;
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let address = addresses[lane];
        let alone = slots.iter().enumerate().all(|(k, slot)| {
            let at = address.wrapping_add(k as u64 * u64::from(info.element));
            let (window, at) = ldst::window(ctx, place, at, lane as u32);
            let held = match info.element {
                1 => window.load::<u8>(at).map(u64::from),
                2 => window.load::<u16>(at).map(u64::from),
                4 => window.load::<u32>(at).map(u64::from),
                _ => window.load::<u64>(at),
            };
            held == Ok(value(lane, *slot))
        });
        // Lanes of one instruction that store to one place.
        let twins = (0..32).filter(|other| {
            *other != lane && mask >> other & 1 != 0 && addresses[*other] == address
        });
        let mut twins = twins.peekable();
        let has_twin = twins.peek().is_some();
        let agrees = twins.all(|other| {
            slots
                .iter()
                .all(|slot| value(other, *slot) == value(lane, *slot))
        });
        if agrees && (alone || has_twin) {
            same |= 1 << lane;
        }
    }
    same
}

/// Nothing is known of what is stored.
pub(super) struct Unknown;
impl Stored for Unknown {
    fn undefined(&self, _k: usize) -> Option<[u32; 32]> {
        None
    }

    fn same(&self) -> u32 {
        0
    }

    fn lent(&self) -> Option<Lent> {
        None
    }
}
