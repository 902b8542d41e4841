//! Speech to text: one window of a clip, greedily and without timestamps, as the peers' figures are.

use super::device;
use crate::{Failed, args::Args, host, stats::median};
use serde::{Deserialize, Serialize};
use std::{fmt::Write, sync::Arc, time::Instant};
use warpsmith::{
    audio::Spectrogram,
    models::whisper::{Bundle, ListenOptions, Transcriber, tokenizer::Start},
};

/// A clip turned into text, again and again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Speech {
    pub(crate) sound_s: f64,
    /// Of each counted run, from the sound to the text; loading is left out.
    pub(crate) work_s: Vec<f64>,
    /// Of each counted run, one encoder pass.
    pub(crate) encode_s: Vec<f64>,
    pub(crate) load_s: f64,
    pub(crate) encoder_launches: usize,
    pub(crate) step_launches: usize,
    /// Multiplications and additions of the encoder pass, with the keys and values of the audio.
    pub(crate) encoder_flops: f64,
    /// Bytes of weights that a step reads.
    pub(crate) step_bytes: f64,
    pub(crate) text: String,
    pub(crate) peak_mib: Option<f64>,
}

/// Measures the model and clip that `args` name; nothing if they name none.
pub(crate) fn measure(args: &Args) -> Result<Option<Speech>, Failed> {
    let Some((model, clip)) = args.whisper.as_ref().zip(args.clip.as_ref()) else {
        return Ok(None);
    };
    let start = Instant::now();
    let bundle = Arc::new(Bundle::load(&device(args)?, model, &mut |_, _| {})?);
    let options = ListenOptions {
        language: Some("en".into()),
        start: Start::NoTimestamps,
        temperatures: vec![0.0],
        best_of: 1,
        ..ListenOptions::default()
    };
    let mut transcriber = Transcriber::new(&bundle, options)?;
    let load_s = start.elapsed().as_secs_f64();
    let dims = *bundle.model.dims();
    let (mut work_s, mut encode_s) = (Vec::new(), Vec::new());
    let (mut text, mut sound_s) = (String::new(), 0.0);
    for run in 0..=args.runs {
        let start = Instant::now();
        let mut sound = Spectrogram::of_file(clip, dims.n_mels as usize)?;
        text = transcriber.transcribe(&mut sound, &mut |_, _, _| {})?.text;
        let work = start.elapsed().as_secs_f64();
        sound_s = sound.seconds();
        let start = Instant::now();
        transcriber.encode_again()?;
        if run > 0 {
            work_s.push(work);
            encode_s.push(start.elapsed().as_secs_f64());
        }
    }
    let session = transcriber.session();
    let [d, frames, mels] = [dims.n_audio_state, dims.n_audio_ctx, dims.n_mels].map(f64::from);
    let [layers, decoder_layers, vocab] =
        [dims.n_audio_layer, dims.n_text_layer, dims.n_vocab].map(f64::from);
    let convolutions = 2.0 * frames * 3.0 * mels * d + frames * 3.0 * d * d;
    let blocks = layers * (12.0 * frames * d * d + 2.0 * frames * frames * d);
    let audio = decoder_layers * 2.0 * frames * d * d;
    Ok(Some(Speech {
        sound_s,
        work_s,
        encode_s,
        load_s,
        encoder_launches: session.encoder_launches(),
        step_launches: session.step_launches(0),
        encoder_flops: 2.0 * (convolutions + blocks + audio),
        step_bytes: 2.0 * (decoder_layers * 14.0 * d * d + vocab * d),
        text,
        peak_mib: host::peak_mib(),
    }))
}

impl Speech {
    /// Its section of the report; `fma` is what the machine's multiply-adds in f32 do, `read` its bandwidth.
    pub(crate) fn write(&self, out: &mut String, fma: f64, read: f64) -> std::fmt::Result {
        let (work, encode) = (median(&self.work_s), median(&self.encode_s));
        writeln!(out, "\n## Speech\n")?;
        writeln!(
            out,
            "{:.2} s of speech in {work:.2} s: real-time factor {:.3} (load of {:.2} s left out), peak memory {:.0} MiB.\n\
             An encoder pass takes {encode:.2} s in {} launches; a step has {}.\n",
            self.sound_s,
            work / self.sound_s,
            self.load_s,
            self.peak_mib.unwrap_or(f64::NAN),
            self.encoder_launches,
            self.step_launches,
        )?;
        writeln!(
            out,
            "The floor: {:.1} GFLOP of the encoder at {:.0} GFLOP/s are {:.3} s, {:.0} % of what it takes; the {:.1} MB of\n\
             weights that a step reads take {:.2} ms.",
            self.encoder_flops / 1e9,
            fma / 1e9,
            self.encoder_flops / fma,
            100.0 * self.encoder_flops / fma / encode,
            self.step_bytes / 1e6,
            1e3 * self.step_bytes / read,
        )
    }
}
