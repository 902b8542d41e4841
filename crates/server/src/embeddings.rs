//! Embeddings, computed by a thread of their own.

use crate::{
    error::ApiError,
    queue::{self, Place, Popped, Queue, Wait},
    start::{Failure, Worker, guarded},
};
use std::sync::Arc;
use tokio::sync::oneshot;
use warpsmith_models::{
    Error,
    llama::{Pooling, Session},
};

/// Makes a session: when the server starts, and again after a fault.
pub type MakeSession = Box<dyn FnMut() -> Result<Session, Error> + Send>;

/// What waits for the thread.
pub(crate) struct Job {
    texts: Vec<Vec<u32>>,
    pooling: Pooling,
    to: oneshot::Sender<Result<Vec<Vec<f32>>, ApiError>>,
    /// Held until it is done.
    _place: Vec<Place>,
}

impl queue::Job for Job {
    fn is_gone(&self) -> bool {
        self.to.is_closed()
    }
}

/// The thread, as requests see it.
pub(crate) struct Embeddings {
    pub(crate) queue: Arc<Queue<Job>>,
    /// Tokens of a text at most.
    pub(crate) context: u32,
}

impl Embeddings {
    /// The vectors of texts.
    ///
    /// # Errors
    /// 429 where the queue is full; what the model says.
    pub(crate) async fn of(
        &self,
        texts: Vec<Vec<u32>>,
        pooling: Pooling,
    ) -> Result<Vec<Vec<f32>>, ApiError> {
        let place = self.queue.places("input", 1)?;
        let (to, answer) = oneshot::channel();
        self.queue.push([Job {
            texts,
            pooling,
            to,
            _place: place,
        }])?;
        let made = answer.await;
        made.map_err(|_| ApiError::internal("the embeddings were not made"))?
    }

    pub(crate) fn start(
        mut make: MakeSession,
        waiting: usize,
        name: &str,
    ) -> Result<(Embeddings, Worker), Failure> {
        let queue = Arc::new(Queue::new(waiting + 1));
        let jobs = Arc::clone(&queue);
        let (worker, context) = Worker::start(&format!("{name}-embeddings"), move |ready| {
            let session = match guarded(&mut make) {
                Ok(session) => {
                    ready(Ok(session.context()));
                    session
                }
                Err(failure) => return ready(Err(failure)),
            };
            run(&jobs, session, &mut make);
        })?;
        Ok((Embeddings { queue, context }, worker))
    }
}

fn run(queue: &Queue<Job>, session: Session, make: &mut MakeSession) {
    let mut session = Some(session);
    while let Popped::Job(job) = queue.pop(Wait::Yes) {
        if session.is_none() {
            session = guarded(&mut *make).ok();
        }
        let Some(own) = &mut session else {
            let error = ApiError::unavailable("the model cannot run");
            let _ = job.to.send(Err(error));
            continue;
        };
        let mut all = Vec::with_capacity(job.texts.len());
        let mut failed = None;
        for text in &job.texts {
            if job.to.is_closed() {
                break;
            }
            match guarded(|| own.embed(text, job.pooling)) {
                Ok(vector) => all.push(vector),
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
        }
        let answer = match failed {
            None => Ok(all),
            Some(failure) => {
                tracing::error!(%failure, "an embedding failed");
                session = None;
                Err(ApiError::internal(format!("the model failed: {failure}")))
            }
        };
        let _ = job.to.send(answer);
    }
}
