//! Sound files in their own rate, mixed to one channel.
//!
//! What is damaged is silence of its length, so that times after it stay right, and is told of.

use std::io::ErrorKind;
use std::sync::PoisonError;

use symphonia::core::errors::Error as Fault;
use symphonia::core::formats::FormatReader;
use symphonia::core::io::{MediaSource, ReadOnlySource};
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use crate::Error;
use crate::ogg::Gaps;
use crate::open::{Codec, Opened, Trouble, guard, sound_of};
use crate::opus;
use crate::parts::Parts;

/// Times of packets that are so much later than the sound before them leave a gap, in milliseconds: containers round
/// times, and the first block of a codec may give nothing.
const GAP_MS: u64 = 40;
/// A sound may be so much shorter than its header says, in milliseconds: encoders pad.
const SHORT_MS: u64 = 250;
/// Silence that fills gaps, in seconds, all together: more is a damaged time.
const MOST_FILLED_S: u64 = 3600;
/// Packets that cannot be read, one after the other, until nothing more is expected.
const MOST_FAILURES: u32 = 1000;
/// Packets of another rate, one after the other, until the rate has changed.
const MOST_ODD: u32 = 50;
/// Samples of silence at a time.
const BLOCK: u64 = 1 << 16;

/// A piece that could not be decoded, in samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) from: u64,
    /// Where it ends, if that is known.
    pub(crate) to: Option<u64>,
    pub(crate) why: String,
}

/// A sound being decoded.
pub(crate) struct Decoder {
    format: Box<dyn FormatReader>,
    codec: Codec,
    track: u32,
    scale: Option<TimeBase>,
    rate: u32,
    extension: Option<String>,
    /// A packet's samples that are not yet given.
    interleaved: Vec<f32>,
    channels: usize,
    /// Samples of silence that are not yet given; they come first.
    silence: u64,
    /// Samples in each channel still to be dropped, and all there were.
    skip: usize,
    skipped: usize,
    /// Samples given.
    position: u64,
    /// The time of the first packet, or of the first after times began anew.
    base: Option<i64>,
    /// Samples that the header promises.
    expected: Option<u64>,
    filled: u64,
    gaps: Known,
    /// Where the stream that is decoded began.
    since: u64,
    lost: Vec<Lost>,
    /// Whether anything was decoded yet.
    began: bool,
    /// The first fault of a packet, which counts if no packet is sound.
    fault: Option<String>,
    failures: u32,
    odd: u32,
    ended: bool,
}

/// What is known of gaps that the times of packets do not tell of.
pub(crate) enum Known {
    /// Nothing: times tell.
    Times,
    /// Files may stand end to end, and where times count packets, what is missing is known.
    Parts(Parts),
    /// Times are those of pages, and these are missing.
    Pages(Gaps),
}

impl Decoder {
    /// A decoder of the first sound track.
    pub(crate) fn new(
        media: Box<dyn MediaSource>,
        extension: Option<&str>,
        gaps: Known,
    ) -> Result<Decoder, Error> {
        let opened = Opened::new(media, extension)?;
        let mut decoder = Decoder {
            format: opened.format,
            codec: opened.codec,
            track: opened.track,
            scale: opened.scale,
            rate: opened.rate,
            extension: extension.map(str::to_owned),
            interleaved: Vec::new(),
            channels: 0,
            silence: 0,
            skip: opened.skip,
            skipped: opened.skip,
            position: 0,
            base: None,
            expected: opened.expected,
            filled: 0,
            gaps,
            since: 0,
            lost: Vec::new(),
            began: false,
            fault: None,
            failures: 0,
            odd: 0,
            ended: false,
        };
        // Where the header does not tell, the first sound packet does.
        while decoder.rate == 0 && !decoder.began && decoder.read()? {}
        Ok(decoder)
    }

    /// A decoder of files that may stand end to end.
    pub(crate) fn of_parts(parts: Parts, extension: Option<&str>) -> Result<Decoder, Error> {
        // A reader that can seek guesses lengths from sizes.
        let media = Box::new(ReadOnlySource::new(parts.clone()));
        Decoder::new(media, extension, Known::Parts(parts))
    }

    /// Samples a second.
    pub(crate) fn rate(&self) -> u32 {
        self.rate
    }

    /// What could not be decoded so far.
    pub(crate) fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Appends the samples of a packet to `out`; false once there are no more.
    pub(crate) fn next(&mut self, out: &mut Vec<f32>) -> Result<bool, Error> {
        if self.silence == 0 && self.interleaved.is_empty() && !self.read()? {
            return Ok(false);
        }
        let before = out.len();
        if self.silence > 0 {
            let now = self.silence.min(BLOCK);
            out.resize(before + now as usize, 0.0);
            self.silence -= now;
        } else if self.channels > 0 {
            let scale = 1.0 / self.channels as f32;
            let frames = self.interleaved.chunks_exact(self.channels);
            out.extend(frames.map(|frame| frame.iter().sum::<f32>() * scale));
            self.interleaved.clear();
        }
        self.position += (out.len() - before) as u64;
        Ok(true)
    }

    /// Decodes a packet, with what is missing before it; false at the end.
    fn read(&mut self) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        let packet = match guard(|| self.format.next_packet()) {
            Ok(Some(packet)) => packet,
            Ok(None) => return self.end(None),
            // A file cut short is taken as far as it goes.
            Err(Trouble::Fault(Fault::IoError(error)))
                if error.kind() == ErrorKind::UnexpectedEof =>
            {
                return self.end(None);
            }
            Err(Trouble::Fault(Fault::ResetRequired)) => return self.restart().map(|()| true),
            Err(trouble) => {
                self.failures += 1;
                let last = self.failures > MOST_FAILURES || !trouble.is_passed();
                let why = trouble.to_string();
                if last {
                    return self.end(Some(why));
                }
                self.fault.get_or_insert(why);
                return Ok(true);
            }
        };
        self.failures = 0;
        if packet.track_id != self.track {
            return Ok(true);
        }
        let trims = [packet.trim_start, packet.trim_end].map(|dur| self.samples(dur.get() as i64));
        self.mind(&packet, trims[0]);
        self.interleaved.clear();
        let decoded = self.decode(&packet, trims.map(|trim| trim.max(0) as usize));
        let (rate, channels) = match decoded {
            Ok(found) => found,
            Err(trouble) => {
                self.interleaved.clear();
                let why = trouble.to_string();
                self.fault.get_or_insert_with(|| why.clone());
                if !trouble.is_of_packet() {
                    return self.end(Some(why));
                }
                let all = self.samples(packet.dur.get() as i64).max(0) as u64;
                self.lose(all, why);
                return Ok(true);
            }
        };
        if self.rate == 0 {
            self.rate = rate;
        }
        if rate != self.rate && !self.interleaved.is_empty() {
            self.interleaved.clear();
            self.odd += 1;
            let why = format!("the sample rate changes from {} to {rate}", self.rate);
            if self.odd > MOST_ODD || !self.began {
                return Err(Error::Decode { reason: why });
            }
            let all = self.samples(packet.dur.get() as i64).max(0) as u64;
            self.lose(all, why);
            return Ok(true);
        }
        self.odd = 0;
        self.channels = channels;
        if let Some(there) = self.interleaved.len().checked_div(channels) {
            let dropped = self.skip.min(there);
            self.skip -= dropped;
            self.interleaved.drain(..dropped * channels);
        }
        self.began |= !self.interleaved.is_empty();
        Ok(true)
    }

    /// Decodes into `interleaved`: the rate and the number of channels.
    fn decode(&mut self, packet: &Packet, trims: [usize; 2]) -> Result<(u32, usize), Trouble> {
        let (codec, interleaved) = (&mut self.codec, &mut self.interleaved);
        match codec {
            Codec::Known(decoder) => guard(|| {
                let buffer = decoder.decode(packet)?;
                buffer.copy_to_vec_interleaved(interleaved);
                Ok((buffer.spec().rate(), buffer.spec().channels().count()))
            }),
            Codec::Opus(decoder) => {
                let decoded = guard(|| Ok(decoder.decode(&packet.data, trims, interleaved)))?;
                decoded.map_err(|error| Trouble::Other(error.to_string()))?;
                Ok((opus::RATE, decoder.channels()))
            }
        }
    }

    /// A time of the track in samples.
    fn samples(&self, time: i64) -> i64 {
        let Some(scale) = self.scale else { return time };
        let parts = i128::from(time) * i128::from(scale.numer.get()) * i128::from(self.rate);
        i64::try_from(parts / i128::from(scale.denom.get())).unwrap_or(i64::MAX)
    }

    /// Fills what is missing before a packet.
    fn mind(&mut self, packet: &Packet, trimmed: i64) {
        while let Some(samples) = self.gap() {
            self.lose(samples, "bytes that are no part of it".to_owned());
        }
        let timed = match &self.gaps {
            Known::Times => true,
            Known::Parts(parts) => parts.are_timed(),
            Known::Pages(_) => false,
        };
        if !timed || self.scale.is_none() || !self.began {
            return;
        }
        let time = self.samples(packet.pts.get()).saturating_add(trimmed);
        let time = time.saturating_sub(self.skipped as i64);
        let here = (self.position + self.silence) as i64;
        // Times may begin anywhere; what counts is how they go on.
        let base = *self.base.get_or_insert(time.saturating_sub(here));
        let gap = time.saturating_sub(base).saturating_sub(here);
        let limit = (u64::from(self.rate) * GAP_MS / 1000) as i64;
        if gap < -limit {
            self.base = None;
        } else if gap > limit {
            let why = self.fault.clone();
            self.lose(
                gap as u64,
                why.unwrap_or_else(|| "a gap in its times".to_owned()),
            );
            self.fault = None;
        }
    }

    /// The length of a gap that is known to be here.
    fn gap(&mut self) -> Option<u64> {
        let here = self.position + self.silence;
        match &mut self.gaps {
            Known::Times => None,
            Known::Parts(parts) => parts.gap(here.saturating_sub(self.since)),
            Known::Pages(gaps) => {
                let mut gaps = gaps.lock().unwrap_or_else(PoisonError::into_inner);
                // Blocks overlap: a page may have given a little less than it says.
                let near = here + u64::from(self.rate) * GAP_MS / 1000 + self.skipped as u64;
                let at = gaps.iter().position(|gap| gap.serial == self.track)?;
                let samples = gaps[at]
                    .samples
                    .filter(|_| self.since + gaps[at].at <= near)?;
                gaps.remove(at);
                Some(samples)
            }
        }
    }

    /// Silence instead of samples.
    fn lose(&mut self, samples: u64, why: String) {
        let most = MOST_FILLED_S * u64::from(self.rate);
        if samples == 0 {
            return;
        }
        if self.filled.saturating_add(samples) > most {
            self.base = None;
            return;
        }
        self.filled += samples;
        let from = self.position + self.silence;
        self.silence += samples;
        let to = Some(from + samples);
        match self.lost.last_mut() {
            Some(last) if last.to == Some(from) => last.to = to,
            Some(_) | None => self.lost.push(Lost { from, to, why }),
        }
    }

    /// A sound that follows in the same file, as in chained Ogg files.
    fn restart(&mut self) -> Result<(), Error> {
        let (params, track) = sound_of(&*self.format)?;
        let codec = Codec::new(&params)?;
        let rate = codec.rate().or(params.sample_rate).unwrap_or(self.rate);
        if rate != self.rate {
            return Err(self.changed(rate));
        }
        (self.track, self.scale) = (track.id, track.time_base);
        self.skip = codec.skip(&params);
        self.skipped = self.skip;
        (self.codec, self.base, self.expected) = (codec, None, None);
        self.since = self.position + self.silence;
        Ok(())
    }

    /// The end, unless another file follows, or all that there was is damaged; `why` it is not the sound's own.
    fn end(&mut self, why: Option<String>) -> Result<bool, Error> {
        let next = match &self.gaps {
            Known::Parts(parts) => parts.follow()?,
            Known::Times | Known::Pages(_) => None,
        };
        if next.is_none()
            && !self.began
            && let Some(reason) = self.fault.take().or_else(|| why.clone())
        {
            self.ended = true;
            return Err(Error::Decode { reason });
        }
        let from = self.position + self.silence;
        let short = u64::from(self.rate) * SHORT_MS / 1000;
        let expected = self.expected.map(|all| all.saturating_add(self.since));
        let promised = expected.filter(|all| *all > from + short);
        let cut = match &self.gaps {
            Known::Pages(gaps) => {
                let gaps = gaps.lock().unwrap_or_else(PoisonError::into_inner);
                let last = gaps.iter().rfind(|gap| gap.serial == self.track);
                last.is_some_and(|gap| gap.samples.is_none())
            }
            Known::Times | Known::Parts(_) => false,
        };
        let why = why.or_else(|| cut.then(|| "the file ends in the middle of a page".to_owned()));
        if promised.is_some() || why.is_some() {
            let why = why.unwrap_or_else(|| "the file ends before its sound".to_owned());
            match promised.filter(|_| next.is_some()) {
                // What follows keeps its time.
                Some(to) => self.lose(to - from, why),
                None => self.lost.push(Lost {
                    from,
                    to: promised,
                    why,
                }),
            }
        }
        match next {
            Some(at) => self.follow(at),
            None => self.ended = true,
        }
        Ok(!self.ended || self.silence > 0 || !self.interleaved.is_empty())
    }

    /// Goes on with the file that begins at byte `at`; one that cannot be joined is missing, and the end.
    fn follow(&mut self, at: u64) {
        let here = self.position + self.silence;
        match self.open_next() {
            Ok(opened) => {
                (self.format, self.codec) = (opened.format, opened.codec);
                (self.track, self.scale) = (opened.track, opened.scale);
                (self.skip, self.skipped) = (opened.skip, opened.skip);
                (self.expected, self.base, self.since) = (opened.expected, None, here);
                (self.failures, self.odd) = (0, 0);
            }
            Err(error) => {
                self.ended = true;
                let why = format!("another file begins at byte {at}: {error}");
                self.lost.push(Lost {
                    from: here,
                    to: None,
                    why,
                });
            }
        }
    }

    /// The file that `parts` is now at.
    fn open_next(&self) -> Result<Opened, Error> {
        let Known::Parts(parts) = &self.gaps else {
            return Err(Error::NoTrack);
        };
        let media = Box::new(ReadOnlySource::new(parts.clone()));
        let opened = Opened::new(media, self.extension.as_deref())?;
        match opened.rate {
            rate if rate == self.rate || rate == 0 => Ok(opened),
            rate => Err(self.changed(rate)),
        }
    }

    /// The error of another sample rate.
    fn changed(&self, rate: u32) -> Error {
        Error::Decode {
            reason: format!("the sample rate changes from {} to {rate}", self.rate),
        }
    }
}
