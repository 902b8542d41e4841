//! How a stream shows itself.

use crate::stream::Stream;
use std::{fmt, sync::atomic::Ordering};

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.shared.done.load(Ordering::Relaxed);
        let sent = self.shared.sent.load(Ordering::Relaxed);
        f.debug_struct("Stream")
            .field("sent", &sent)
            .field("done", &done)
            .finish()
    }
}
