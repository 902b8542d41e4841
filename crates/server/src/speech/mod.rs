//! A speech model that is served: its queue, and the thread of its transcriber.

mod worker;

use crate::{
    error::ApiError,
    metrics::Metrics,
    queue::{self, Place, Queue},
    start::{Failure, Worker},
};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use warpsmith_audio::Missing;
use warpsmith_device::Device;
use warpsmith_models::{
    Error,
    whisper::{Bundle, Heard, ListenOptions, Transcriber, transcript::Segment},
};

/// Makes a transcriber: when the server starts, and again after a fault.
pub type MakeTranscriber = Box<dyn FnMut() -> Result<Transcriber, Error> + Send>;

/// A speech model to be served.
pub struct SpeechModel {
    /// What requests call it.
    pub name: String,
    /// Its tokenizer.
    pub bundle: Arc<Bundle>,
    /// What makes a transcriber with `options`.
    pub make: MakeTranscriber,
    /// How it listens where a request says nothing else.
    pub options: ListenOptions,
    /// The device, for what it counts.
    pub device: Device,
    /// Requests that wait beside the one that runs.
    pub waiting: usize,
}

/// A sound to be written down.
pub(crate) struct Job {
    sound: Vec<u8>,
    options: ListenOptions,
    /// A part for each window of the sound at most, and an end.
    to: UnboundedSender<Said>,
    /// Held until it is done.
    _place: Vec<Place>,
}

impl queue::Job for Job {
    fn is_gone(&self) -> bool {
        self.to.is_closed()
    }
}

/// What the thread says of a sound.
pub(crate) enum Said {
    /// Segments that came.
    Segments(Vec<Segment>),
    /// All of it.
    Done(Box<Done>),
    Failed(ApiError),
}

/// A sound that is written down.
pub(crate) struct Done {
    pub(crate) heard: Heard,
    pub(crate) seconds: f64,
    pub(crate) missing: Vec<Missing>,
}

/// A served model, as requests see it.
pub(crate) struct Speech {
    pub(crate) name: String,
    pub(crate) bundle: Arc<Bundle>,
    pub(crate) options: ListenOptions,
    pub(crate) queue: Arc<Queue<Job>>,
    pub(crate) device: Device,
}

impl Speech {
    pub(crate) fn start(
        model: SpeechModel,
        metrics: &Arc<Metrics>,
    ) -> Result<(Speech, Worker), Failure> {
        let SpeechModel {
            name,
            bundle,
            make,
            options,
            device,
            waiting,
        } = model;
        let queue = Arc::new(Queue::new(waiting + 1));
        let n_mels = bundle.model.dims().n_mels as usize;
        let worker = worker::start(&name, make, n_mels, Arc::clone(&queue), Arc::clone(metrics))?;
        let speech = Speech {
            name,
            bundle,
            options,
            queue,
            device,
        };
        Ok((speech, worker))
    }

    /// Has a sound written down.
    ///
    /// # Errors
    /// 429 where the queue is full; a server that shuts down.
    pub(crate) fn ask(
        &self,
        sound: Vec<u8>,
        options: ListenOptions,
    ) -> Result<UnboundedReceiver<Said>, ApiError> {
        let place = self.queue.places("file", 1)?;
        let (to, said) = unbounded_channel();
        self.queue.push([Job {
            sound,
            options,
            to,
            _place: place,
        }])?;
        Ok(said)
    }
}
