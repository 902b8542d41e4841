//! Recordings to subtitles, with Whisper.

use std::{error::Error, ops::ControlFlow, path::Path, sync::Arc};
use warpsmith::{
    audio::Spectrogram,
    device::{Device, Selector},
    models::{
        transcript::{Format, Transcription},
        whisper::{Bundle, ListenOptions, Transcriber},
    },
};

/// One listener: a model on a device, for any number of recordings.
pub struct Listener {
    transcriber: Transcriber,
    bands: usize,
}

impl Listener {
    /// Loads a Whisper model: a folder of Hugging Face's, a file of whisper.cpp's or of openai-whisper's.
    ///
    /// # Errors
    /// What is wrong with the files, by name.
    pub fn open(model: &Path) -> Result<Listener, Box<dyn Error>> {
        let device = Device::open(&Selector::Auto)?; // a card, or else the CPU
        let bundle = Arc::new(Bundle::load(&device, model, &mut |_, _| {})?);
        let bands = bundle.model.dims().n_mels as usize;
        let transcriber = Transcriber::new(&bundle, ListenOptions::default())?;
        Ok(Listener { transcriber, bands })
    }

    /// Subtitles of a recording: WAV, FLAC, MP3, Ogg, M4A, WebM. `progress` is told how many seconds are done.
    ///
    /// # Errors
    /// What is wrong with the recording.
    pub fn subtitles(
        &mut self,
        sound: &Path,
        format: Format,
        mut progress: impl FnMut(f64),
    ) -> Result<String, Box<dyn Error>> {
        let mut sound = Spectrogram::of_file(sound, self.bands)?;
        let heard = self.transcriber.transcribe(&mut sound, &mut |step| {
            progress(step.done as f64 / 100.0);
            ControlFlow::Continue(())
        })?;
        Ok(format.write(Transcription {
            text: &heard.text,
            segments: &heard.segments,
            language: &heard.language,
            missing: sound.missing(),
        }))
    }
}
