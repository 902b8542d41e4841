//! The thread of a transcriber: one sound after the other, anew after a fault.
//!
//! Windows of several sounds do not go through the encoder together: on the virtual GPU with two threads, the layers of Whisper
//! tiny took 0.97 of the time of two windows for both at once, which is no reason to let one sound wait for another.

use super::{Done, Job, MakeTranscriber, Said};
use crate::{
    error::ApiError,
    metrics::Metrics,
    queue::{Popped, Queue, Wait},
    start::{Failure, Worker, guarded},
};
use std::{ops::ControlFlow, sync::Arc};
use warpsmith_audio::Spectrogram;
use warpsmith_models::{Error, whisper::Transcriber};

/// The thread, when its transcriber is made.
pub(super) fn start(
    name: &str,
    mut make: MakeTranscriber,
    n_mels: usize,
    queue: Arc<Queue<Job>>,
    metrics: Arc<Metrics>,
) -> Result<Worker, Failure> {
    let (worker, ()) = Worker::start(name, move |ready| {
        let mut transcriber = match guarded(&mut make) {
            Ok(made) => {
                ready(Ok(()));
                Some(made)
            }
            Err(failure) => return ready(Err(failure)),
        };
        while let Popped::Job(job) = queue.pop(Wait::Yes) {
            if transcriber.is_none() {
                transcriber = guarded(&mut make).ok();
            }
            let Some(own) = &mut transcriber else {
                let error = ApiError::unavailable("the model cannot run");
                let _ = job.to.send(Said::Failed(error));
                continue;
            };
            match listen(own, job, n_mels, &metrics) {
                Outcome::Fine => {}
                // What it was doing is not known: another one is made.
                Outcome::Fault => transcriber = None,
            }
        }
    })?;
    Ok(worker)
}

enum Outcome {
    Fine,
    Fault,
}

fn listen(own: &mut Transcriber, job: Job, n_mels: usize, metrics: &Metrics) -> Outcome {
    let Job {
        sound,
        options,
        to,
        _place,
    } = job;
    let heard = guarded(|| {
        let mut sound = Spectrogram::of_bytes(sound, n_mels)?;
        own.listen_with(options)?;
        let heard = own.transcribe(&mut sound, &mut |step| {
            let _ = to.send(Said::Segments(step.came.to_vec()));
            match to.is_closed() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(Done {
            heard,
            seconds: sound.seconds(),
            missing: sound.missing().to_vec(),
        })
    });
    let (said, outcome) = match heard {
        Ok(done) => {
            metrics.heard(done.seconds);
            (Said::Done(Box::new(done)), Outcome::Fine)
        }
        Err(Failure {
            error: Some(Error::Audio(error)),
            ..
        }) => {
            let error = ApiError::field("file", format!("the sound cannot be read: {error}"));
            (Said::Failed(error), Outcome::Fine)
        }
        Err(failure) => {
            tracing::error!(%failure, "a transcriber failed");
            let error = ApiError::internal(format!("the model failed: {failure}"));
            (Said::Failed(error), Outcome::Fault)
        }
    };
    let _ = to.send(said);
    outcome
}
