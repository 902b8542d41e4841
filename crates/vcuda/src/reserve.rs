//! Memory whose addresses are reserved apart from it.

use crate::{context::Context, core::Owner, status::Status, table::lock};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Addresses are reserved and memory is made in multiples of this.
pub(crate) const GRANULE: u64 = 2 << 20;

/// Reserved addresses.
pub(crate) struct Span {
    /// What was taken from the card for it.
    block: u64,
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

impl Span {
    pub(crate) fn new(context: &Context, bytes: u64, align: u64) -> Result<Span, Status> {
        let align = align.max(GRANULE);
        if bytes == 0 || !bytes.is_multiple_of(GRANULE) || !align.is_power_of_two() {
            return Err(Status::InvalidValue);
        }
        let room = bytes.checked_add(align).ok_or(Status::OutOfMemory)?;
        let block = context.core.machine.alloc(room)?;
        Ok(Span {
            block,
            start: block.next_multiple_of(align),
            bytes,
        })
    }

    /// Gives the addresses back.
    pub(crate) fn free(&self, context: &Context) -> Result<(), Status> {
        Ok(context.core.machine.free(self.block)?)
    }
}

/// Memory that can be mapped, at one address at a time.
pub(crate) struct Backing {
    pub(crate) card: usize,
    pub(crate) bytes: u64,
    state: Mutex<State>,
    /// Whether it goes when it is mapped nowhere.
    released: AtomicBool,
}

enum State {
    /// At an address.
    At(u64),
    /// What it holds while it is nowhere; nothing before it was first mapped.
    Kept(Option<Vec<u8>>),
}

impl Backing {
    pub(crate) fn new(card: usize, bytes: u64) -> Backing {
        Backing {
            card,
            bytes,
            state: Mutex::new(State::Kept(None)),
            released: AtomicBool::new(false),
        }
    }

    /// The program has no use for its handle any more.
    pub(crate) fn released(&self) {
        self.released.store(true, Relaxed);
    }

    pub(crate) fn is_released(&self) -> bool {
        self.released.load(Relaxed)
    }

    pub(crate) fn address(&self) -> Option<u64> {
        match &*lock(&self.state) {
            State::At(address) => Some(*address),
            State::Kept(_) => None,
        }
    }

    pub(crate) fn map(&self, context: &Context, address: u64) -> Result<(), Status> {
        let mut state = lock(&self.state);
        let State::Kept(kept) = &*state else {
            crate::report::lacks("memory mapped at two addresses at once");
            return Err(Status::NotSupported);
        };
        if let Some(bytes) = kept {
            context.core.machine.write(address, bytes)?;
        }
        context.core.holds_now(address, self.bytes, Owner::Mapped);
        *state = State::At(address);
        Ok(())
    }

    /// Takes it from where it is; what it holds stays with it.
    pub(crate) fn unmap(&self, context: &Arc<Context>) -> Result<(), Status> {
        let mut state = lock(&self.state);
        let State::At(address) = *state else {
            return Err(Status::InvalidValue);
        };
        context.synchronize()?;
        let mut bytes = vec![0; self.bytes as usize];
        context.core.machine.read(address, &mut bytes)?;
        context.core.holds_no_more(address);
        *state = State::Kept(Some(bytes));
        Ok(())
    }
}
