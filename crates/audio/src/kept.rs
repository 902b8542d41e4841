//! Frames of which some are left out: those in which a detector finds no speech.

use std::collections::VecDeque;
use std::ops::Range;

use crate::Error;
use crate::frames::Frames;
use crate::speech::{Detector, Places};

/// Frames of which some are left out.
pub(crate) struct Kept {
    pub(crate) frames: Frames,
    /// Frames of which it is not yet certain whether they are kept.
    waiting: VecDeque<Vec<f32>>,
    /// The number of the first of them.
    next: u64,
    /// The frames that were kept, by their numbers.
    ranges: Vec<Range<u64>>,
}

impl Kept {
    pub(crate) fn new(frames: Frames) -> Kept {
        Kept {
            frames,
            waiting: VecDeque::new(),
            next: 0,
            ranges: Vec::new(),
        }
    }

    /// Puts the next frame that is kept into `out`; false once there are no more.
    pub(crate) fn next(&mut self, out: &mut [f32]) -> Result<bool, Error> {
        if self.frames.detector.is_none() {
            return self.frames.next(out);
        }
        loop {
            let detector = self.frames.detector.as_mut();
            if let Some(frame) = self.waiting.front()
                && let Some(keeps) = detector.and_then(Detector::decide)
            {
                out.copy_from_slice(frame);
                self.waiting.pop_front();
                self.next += 1;
                if keeps {
                    self.keep(self.next - 1);
                    return Ok(true);
                }
                continue;
            }
            let mut frame = vec![0.0; out.len()];
            if !self.frames.next(&mut frame)? {
                return Ok(false);
            }
            self.waiting.push_back(frame);
        }
    }

    fn keep(&mut self, frame: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.end == frame => last.end += 1,
            Some(_) | None => self.ranges.push(frame..frame + 1),
        }
    }

    /// Which frames were kept; nothing if all are.
    pub(crate) fn places(&self) -> Option<Places> {
        self.frames.detector.as_ref().map(|_| Places {
            ranges: self.ranges.clone(),
        })
    }
}
