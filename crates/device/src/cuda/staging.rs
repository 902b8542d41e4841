//! Page-locked host memory through which transfers go, used again and again.

use super::api::{Context, CudaEvent, Pinned};
use crate::{error::Error, lock::lock};
use std::sync::{Arc, Mutex};

/// The largest piece that an upload is cut into.
pub(super) const PIECE: usize = 16 << 20;

/// How many pieces may be under way before an upload waits for one.
const IN_FLIGHT: usize = 8;

/// Pieces of page-locked memory.
#[derive(Debug, Default)]
pub(super) struct Staging(Mutex<Pieces>);

#[derive(Debug, Default)]
struct Pieces {
    free: Vec<Pinned>,
    /// Oldest first, each with the event after its copy.
    in_flight: Vec<(Pinned, Arc<CudaEvent>)>,
}

impl Staging {
    /// A piece of at least `bytes`. Waits where many are under way.
    pub(super) fn take(&self, context: &Arc<Context>, bytes: usize) -> Result<Pinned, Error> {
        let oldest = {
            let mut pieces = lock(&self.0);
            pieces.collect();
            if let Some(piece) = pieces.fitting(bytes) {
                return Ok(piece);
            }
            (pieces.in_flight.len() >= IN_FLIGHT).then(|| pieces.in_flight[0].1.clone())
        };
        if let Some(oldest) = oldest {
            oldest.wait_done()?;
            let mut pieces = lock(&self.0);
            pieces.collect();
            if let Some(piece) = pieces.fitting(bytes) {
                return Ok(piece);
            }
        }
        Pinned::new(
            context,
            bytes.next_power_of_two().max(4096).min(bytes.max(PIECE)),
        )
    }

    /// Takes a piece back whose copy `event` ends.
    pub(super) fn give_back_after(&self, piece: Pinned, event: Arc<CudaEvent>) {
        lock(&self.0).in_flight.push((piece, event));
    }

    /// Takes a piece back that no copy uses.
    pub(super) fn give_back(&self, piece: Pinned) {
        if piece.len() <= PIECE {
            lock(&self.0).free.push(piece);
        }
    }
}

impl Pieces {
    fn collect(&mut self) {
        let Pieces { free, in_flight } = self;
        let done = in_flight.extract_if(.., |(_, event)| event.is_done().unwrap_or(true));
        free.extend(
            done.map(|(piece, _)| piece)
                .filter(|piece| piece.len() <= PIECE),
        );
    }

    /// The smallest free piece that is large enough.
    fn fitting(&mut self, bytes: usize) -> Option<Pinned> {
        let fitting = self
            .free
            .iter()
            .enumerate()
            .filter(|(_, piece)| piece.len() >= bytes);
        let at = fitting.min_by_key(|(_, piece)| piece.len())?.0;
        Some(self.free.swap_remove(at))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for (_, event) in &lock(&self.0).in_flight {
            // It fails only where the card is lost, and its copies with it.
            drop(event.wait_done());
        }
    }
}
