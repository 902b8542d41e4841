//! Speech to text: one window of a clip, greedily and without timestamps, as the peers' figures are.

use super::{
    device,
    share::{Share, timed},
};
use crate::{Failed, args::Args, host};
use serde::{Deserialize, Serialize};
use std::{ops::ControlFlow, path::Path, sync::Arc, time::Instant};
use warpsmith::{
    audio::Spectrogram,
    formats::quant::WeightType,
    models::{
        Files, Rounding,
        llama::Run,
        whisper::{Bundle, ListenOptions, Transcriber, tokenizer::Start},
    },
};

/// A clip turned into text, again and again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Speech {
    /// The name of the model's file or folder.
    pub(crate) model: String,
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
    /// Passes of the decoder after the prompt.
    pub(crate) steps: usize,
    /// Bytes of weights that a step reads.
    pub(crate) step_bytes: f64,
    pub(crate) text: String,
    pub(crate) peak_mib: Option<f64>,
    /// Kernels of an encoder pass.
    pub(crate) encoder: Share,
}

/// Measures the model and clip that `args` name, matrices rounded to blocks of `rounding`; nothing if they name none.
pub(crate) fn measure(args: &Args, rounding: Option<WeightType>) -> Result<Option<Speech>, Failed> {
    let Some((path, clip)) = args.whisper.as_ref().zip(args.clip.as_ref()) else {
        return Ok(None);
    };
    let start = Instant::now();
    let rounding = rounding.map(Rounding::to).transpose()?;
    let files = Files { path, rounding };
    let bundle = Arc::new(Bundle::load(&device(args)?, files, &mut |_, _| {})?);
    let options = ListenOptions {
        language: Some("en".into()),
        start: Start::NoTimestamps,
        temperatures: vec![0.0],
        best_of: 1,
        ..ListenOptions::default()
    };
    let eager = ListenOptions {
        run: Run::Eager,
        ..options.clone()
    };
    let mut transcriber = Transcriber::new(&bundle, options)?;
    let load_s = start.elapsed().as_secs_f64();
    let dims = *bundle.model.dims();
    let (mut work_s, mut encode_s) = (Vec::new(), Vec::new());
    let (mut text, mut steps, mut sound_s) = (String::new(), 0, 0.0);
    for run in 0..=args.runs {
        let start = Instant::now();
        let mut sound = Spectrogram::of_file(clip, dims.n_mels as usize)?;
        let heard = transcriber.transcribe(&mut sound, &mut |_| ControlFlow::Continue(()))?;
        let work = start.elapsed().as_secs_f64();
        steps = heard
            .segments
            .iter()
            .map(|segment| segment.tokens.len())
            .sum();
        text = heard.text;
        sound_s = sound.seconds();
        let start = Instant::now();
        transcriber.encode_again()?;
        if run > 0 {
            work_s.push(work);
            encode_s.push(start.elapsed().as_secs_f64());
        }
    }
    let peak_mib = host::peak_mib();
    let encoder = share(Transcriber::new(&bundle, eager)?, clip)?;
    let session = transcriber.session();
    let [d, frames, mels] = [dims.n_audio_state, dims.n_audio_ctx, dims.n_mels].map(f64::from);
    let [layers, decoder_layers, vocab] =
        [dims.n_audio_layer, dims.n_text_layer, dims.n_vocab].map(f64::from);
    let convolutions = 2.0 * frames * 3.0 * mels * d + frames * 3.0 * d * d;
    let blocks = layers * (12.0 * frames * d * d + 2.0 * frames * frames * d);
    let audio = decoder_layers * 2.0 * frames * d * d;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Some(Speech {
        model: name.to_string_lossy().into_owned(),
        sound_s,
        work_s,
        encode_s,
        load_s,
        encoder_launches: session.encoder_launches(),
        step_launches: session.step_launches(0),
        encoder_flops: 2.0 * (convolutions + blocks + audio),
        steps,
        step_bytes: 2.0 * (decoder_layers * 14.0 * d * d + vocab * d),
        text,
        peak_mib,
        encoder,
    }))
}

/// Kernels of an encoder pass by time.
fn share(mut transcriber: Transcriber, clip: &Path) -> Result<Share, Failed> {
    let mels = transcriber.session().model().dims().n_mels as usize;
    let mut sound = Spectrogram::of_file(clip, mels)?;
    transcriber.transcribe(&mut sound, &mut |_| ControlFlow::Continue(()))?;
    let stream = transcriber.session().stream().clone();
    timed(&stream, || Ok(transcriber.encode_again()?))
}
