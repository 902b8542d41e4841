//! Standard input as a sound that ends with Ctrl-C.

use crate::cli::interrupt;
use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};

/// Bytes that are read at a time, and how many such pieces wait.
const PIECE: usize = 1 << 14;
const PIECES: usize = 64;
/// How often Ctrl-C is looked for while nothing comes.
const MOMENT: Duration = Duration::from_millis(100);

/// What comes on standard input, until it or the user ends it.
pub(super) struct Live {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
}

impl Live {
    /// Begins to read.
    pub(super) fn begin() -> Live {
        let (to, pieces) = sync_channel(PIECES);
        // A read that waits cannot be called off.
        thread::spawn(move || {
            let mut input = io::stdin().lock();
            loop {
                let mut piece = vec![0; PIECE];
                let read = input.read(&mut piece).map(|len| {
                    piece.truncate(len);
                    piece
                });
                let last = read.as_ref().map_or(true, Vec::is_empty);
                if to.send(read).is_err() || last {
                    break;
                }
            }
        });
        Live {
            pieces,
            piece: io::Cursor::default(),
        }
    }
}

impl Read for Live {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(out)?;
            if read > 0 || out.is_empty() || interrupt::raised() {
                return Ok(read);
            }
            match self.pieces.recv_timeout(MOMENT) {
                Ok(piece) => {
                    let piece = piece?;
                    if piece.is_empty() {
                        return Ok(0);
                    }
                    self.piece = io::Cursor::new(piece);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
