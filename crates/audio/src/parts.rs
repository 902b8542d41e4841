//! Files of MPEG audio or FLAC that stand end to end in one: where each begins.
//!
//! A reader takes the first one's header for that of them all, and stops where it says.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::pending::Pending;
use crate::step::{Gap, Step};
use crate::{flac, mpeg};

/// A reader that ends where the next file begins.
#[derive(Clone)]
pub(crate) struct Parts(Arc<Mutex<Splitter>>);

struct Splitter {
    pending: Pending<Box<dyn Read + Send>>,
    /// Where the pending bytes begin.
    at: u64,
    /// Bytes from there on that belong to the file.
    passing: u64,
    /// Bytes from there on that belong to none.
    dropping: u64,
    /// Where the tag of a file that may follow begins.
    tagged: Option<u64>,
    /// Whether another file begins here.
    another: bool,
    walk: Walk,
}

/// What is looked for.
enum Walk {
    /// What the file is, behind its tags.
    Start,
    Mpeg(mpeg::Walk),
    Flac(flac::Walk),
}

impl Parts {
    pub(crate) fn new(from: impl Read + Send + 'static) -> Parts {
        Parts(Arc::new(Mutex::new(Splitter {
            pending: Pending::new(Box::new(from)),
            at: 0,
            passing: 0,
            dropping: 0,
            tagged: None,
            another: false,
            walk: Walk::Start,
        })))
    }

    /// Goes on to the file that follows, past what is left of this one: where it begins.
    pub(crate) fn follow(&self) -> Result<Option<u64>, Error> {
        let mut splitter = self.splitter();
        splitter.follow().map_err(|source| Error::Io {
            what: "sound",
            source,
        })
    }

    /// The length of the next gap of the file, if it is no later than after `at` samples.
    pub(crate) fn gap(&self, at: u64) -> Option<u64> {
        let mut splitter = self.splitter();
        let gap = splitter.gaps()?.pop_front_if(|gap| gap.at <= at)?;
        Some(gap.samples)
    }

    /// Whether the file's packets say when they are.
    pub(crate) fn are_timed(&self) -> bool {
        matches!(self.splitter().walk, Walk::Flac(_))
    }

    fn splitter(&self) -> MutexGuard<'_, Splitter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Parts {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut splitter = self.splitter();
        let there = splitter.there()?;
        let read = there.min(out.len());
        out[..read].copy_from_slice(splitter.pending.take(read));
        splitter.at += read as u64;
        splitter.passing -= read as u64;
        Ok(read)
    }
}

impl Splitter {
    /// How many of the pending bytes are the file's: none at its end.
    fn there(&mut self) -> io::Result<usize> {
        while !self.another {
            if self.dropping > 0 {
                if !self.pending.fill(1)? {
                    return Ok(0);
                }
                let now = self.dropping.min(self.pending.there().len() as u64);
                self.pending.take(now as usize);
                self.dropping -= now;
                self.at += now;
                continue;
            }
            if self.passing > 0 {
                self.pending.fill(1)?;
                let there = self.pending.there().len() as u64;
                return Ok(there.min(self.passing) as usize);
            }
            match self.step()? {
                Step::Pass(bytes) => {
                    self.passing = bytes;
                    self.tagged = None;
                }
                Step::Drop(bytes) => {
                    self.dropping = bytes;
                    self.tagged = None;
                }
                Step::Tag(bytes) => {
                    self.dropping = bytes;
                    self.tagged.get_or_insert(self.at);
                }
                Step::Another => self.another = true,
                Step::End => return Ok(0),
            }
        }
        Ok(0)
    }

    fn step(&mut self) -> io::Result<Step> {
        loop {
            match &mut self.walk {
                Walk::Start => {
                    if let Some(tag) = mpeg::tag(&mut self.pending)? {
                        return Ok(Step::Pass(tag.bytes()));
                    }
                    self.walk = match flac::begins(&mut self.pending)? {
                        true => Walk::Flac(flac::Walk::default()),
                        false => Walk::Mpeg(mpeg::Walk::default()),
                    };
                }
                Walk::Mpeg(walk) => return walk.step(&mut self.pending),
                Walk::Flac(walk) => return walk.step(&mut self.pending),
            }
        }
    }

    fn follow(&mut self) -> io::Result<Option<u64>> {
        loop {
            match self.there()? {
                0 => break,
                there => {
                    self.pending.take(there);
                    self.at += there as u64;
                    self.passing -= there as u64;
                }
            }
        }
        if !std::mem::take(&mut self.another) {
            return Ok(None);
        }
        self.walk = Walk::Start;
        Ok(Some(self.tagged.take().unwrap_or(self.at)))
    }

    fn gaps(&mut self) -> Option<&mut VecDeque<Gap>> {
        match &mut self.walk {
            Walk::Mpeg(walk) => Some(&mut walk.gaps),
            Walk::Start | Walk::Flac(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::samples::{Missing, Samples};
    use std::io::Cursor;

    fn file(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/audio/");
        std::fs::read(format!("{folder}{name}")).expect("reference data")
    }

    /// The samples of a file and what is missing, the same from a stream.
    fn heard(bytes: &[u8]) -> (Vec<f32>, Vec<Missing>) {
        let read = |mut samples: Samples| {
            let mut out = Vec::new();
            while samples.next(&mut out).expect("a sound") {}
            (out, samples.missing())
        };
        let whole = read(Samples::of_bytes(bytes.to_vec()).expect("a sound"));
        let stream = Cursor::new(bytes.to_vec());
        assert_eq!(read(Samples::of_stream(stream).expect("a sound")), whole);
        whole
    }

    fn twice(samples: &[f32]) -> Vec<f32> {
        [samples, samples].concat()
    }

    /// A tag of ID3v2 with a picture that has what looks like frames.
    fn tagged(file: &[u8]) -> Vec<u8> {
        let mut tag = b"ID3\x04\0\0\0\0\x10\0".to_vec();
        tag.resize(10 + 16 * 128, 0);
        for at in (20..1800).step_by(576) {
            tag[at..at + 4].copy_from_slice(b"\xff\xfd\xa4\x00");
        }
        [&tag, file].concat()
    }

    #[test]
    fn files_end_to_end_are_heard_one_after_the_other() {
        for name in ["goforward.mp3", "goforward.flac"] {
            let one = file(name);
            let (samples, missing) = heard(&one);
            assert_eq!(missing, [], "{name}");
            let three = [&one[..], &one, &one].concat();
            let want = (samples.repeat(3), Vec::new());
            assert!(heard(&three) == want, "{name}");
        }
        let one = file("goforward.mp3");
        let (samples, _) = heard(&one);
        // Tags behind the first and before the second are no sound.
        let mut back = b"TAG".to_vec();
        back.resize(128, b' ');
        let both = [&one[..], &back, &tagged(&one)].concat();
        assert!(heard(&both) == (twice(&samples), Vec::new()));
        // Of two kinds.
        let flac = file("goforward.flac");
        let (lossless, _) = heard(&flac);
        let want = ([&samples[..], &lossless].concat(), Vec::new());
        assert!(heard(&[&one[..], &flac].concat()) == want);
    }

    #[test]
    fn frames_beyond_those_that_a_header_counts_are_heard() {
        let one = file("goforward.mp3");
        let (samples, _) = heard(&one);
        // The tag is 20 bytes, the frame that counts 432.
        let bare = &one[20 + 432..];
        let (rest, missing) = heard(bare);
        assert_eq!(missing, []);
        assert!(rest.len() > samples.len());
        let want = ([&samples[..], &rest].concat(), Vec::new());
        assert!(heard(&[&one[..], bare].concat()) == want);
        // A few more are what the header says they are: padding.
        let frames = &bare[bare.len() - 3 * 216..];
        assert!(heard(&[&one[..], frames].concat()) == (samples, Vec::new()));
    }

    #[test]
    fn damage_in_one_file_leaves_the_next_at_its_time() {
        for name in ["goforward.mp3", "goforward.flac"] {
            let one = file(name);
            let (samples, _) = heard(&one);
            let cut = &one[..one.len() / 2];
            let (got, missing) = heard(&[cut, &one].concat());
            assert_eq!(got.len(), 2 * samples.len(), "{name}");
            assert!(got.ends_with(&samples), "{name}");
            let [Missing { start, end, why }] = &missing[..] else {
                panic!("{name}: {missing:?}");
            };
            assert!((1.0..2.0).contains(start), "{name}: {start}");
            assert_eq!(*end, Some(samples.len() as f64 / 16_000.0), "{name}");
            assert_eq!(why, "the file ends before its sound", "{name}");
        }
    }

    #[test]
    fn frames_of_another_rate_are_another_file() {
        let one = file("goforward.mp3");
        // Without the frame that counts.
        let bare = &one[20 + 432..];
        // Silence of layer 3 at 44.1 kHz.
        let mut frame = b"\xff\xfb\x90\xc0".to_vec();
        frame.resize(417, 0);
        let other = frame.repeat(20);
        for (first, more) in [(&one[..], &b""[..]), (bare, b""), (bare, &one)] {
            let (samples, _) = heard(first);
            let (got, missing) = heard(&[first, &other, more].concat());
            assert!(got == samples);
            let [Missing { start, end, why }] = &missing[..] else {
                panic!("{missing:?}");
            };
            assert_eq!((*start, *end), (samples.len() as f64 / 16_000.0, None));
            let want = format!("another file begins at byte {}: ", first.len());
            assert!(why.starts_with(&want), "{why}");
            assert!(why.ends_with("the sample rate changes from 16000 to 44100"));
        }
        let (silence, missing) = heard(&other);
        assert_eq!(silence.len(), (20 * 1152 * 16_000_usize).div_ceil(44_100));
        assert_eq!(missing, []);
    }

    #[test]
    fn a_file_that_cannot_be_joined_is_named_by_its_place() {
        let (one, other) = (file("goforward.flac"), file("goforward_44k_stereo.flac"));
        let (samples, _) = heard(&one);
        let mut broken = one[..42].to_vec();
        broken[4] = 0x80;
        for (next, reason) in [
            (
                &other,
                "cannot decode: the sample rate changes from 16000 to 44100",
            ),
            (&broken, "expected WAV, FLAC, "),
        ] {
            let (got, missing) = heard(&[&one[..], next].concat());
            assert_eq!(got, samples);
            let [Missing { start, end, why }] = &missing[..] else {
                panic!("{missing:?}");
            };
            assert_eq!((*start, *end), (samples.len() as f64 / 16_000.0, None));
            let want = format!("another file begins at byte {}: {reason}", one.len());
            assert!(why.starts_with(&want), "{why}");
        }
    }
}
