//! What orders launches: the streams they are enqueued on, events, and the host's waiting.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far each stream is known to have come: launches by the number of their stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress(Vec<(u64, u64)>);

impl Progress {
    fn of(&self, stream: u64) -> u64 {
        let own = self.0.iter().find(|(number, _)| *number == stream);
        own.map_or(0, |(_, launches)| *launches)
    }

    fn set(&mut self, stream: u64, launches: u64) {
        match self.0.iter_mut().find(|(number, _)| *number == stream) {
            Some((_, own)) => *own = (*own).max(launches),
            None => self.0.push((stream, launches)),
        }
    }

    fn join(&mut self, other: &Progress) {
        for (stream, launches) in &other.0 {
            self.set(*stream, *launches);
        }
    }
}

/// A launch's place among those of other streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchOrder {
    stream: u64,
    number: u64,
    known: Progress,
}

impl LaunchOrder {
    /// Whether that other launch has ended when this one begins.
    pub(crate) fn comes_after(&self, other: &LaunchOrder) -> bool {
        self.known.of(other.stream) >= other.number
    }

    /// The place of the launch behind it.
    pub(crate) fn next(mut self) -> LaunchOrder {
        self.known.set(self.stream, self.number);
        self.number += 1;
        self
    }
}

/// What the host knows, shared by the streams of a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host(Arc<Mutex<Progress>>);

impl Host {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host has waited for all of this.
    pub(crate) fn waited(&self, point: &Progress) {
        self.lock().join(point);
    }
}

/// What one stream does after.
#[derive(Debug)]
pub(crate) struct StreamOrder {
    stream: u64,
    known: Mutex<Progress>,
    host: Host,
}

impl StreamOrder {
    /// For a new stream with a number of its own.
    pub(crate) fn new(stream: u64, host: Host) -> StreamOrder {
        StreamOrder {
            stream,
            known: Mutex::default(),
            host,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That many launches are enqueued; the first one's place.
    pub(crate) fn launches(&self, count: u64) -> LaunchOrder {
        let mut known = self.lock();
        known.join(&self.host.lock());
        let before = known.clone();
        let number = known.of(self.stream) + 1;
        known.set(self.stream, number + count - 1);
        LaunchOrder {
            stream: self.stream,
            number,
            known: before,
        }
    }

    /// What the host knows.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// All that is enqueued so far, and what that comes after.
    pub(crate) fn point(&self) -> Progress {
        self.lock().clone()
    }

    /// What follows comes after that point of another stream.
    pub(crate) fn wait(&self, point: &Progress) {
        self.lock().join(point);
    }

    /// The host has waited for all of it.
    pub(crate) fn waited(&self) {
        self.host.waited(&self.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_ordered_by_events_and_by_the_host() {
        let host = Host::default();
        let streams = [1, 2].map(|number| StreamOrder::new(number, host.clone()));
        let first = streams[0].launches(1);
        let second = streams[0].launches(1);
        assert!(second.comes_after(&first));
        let beside = streams[1].launches(1);
        assert!(!beside.comes_after(&first) && !first.comes_after(&beside));
        streams[1].wait(&streams[0].point());
        let behind = streams[1].launches(1);
        assert!(behind.comes_after(&first) && behind.comes_after(&second));
        let [one, two] = [(); 2].map(|()| streams[0].launches(3));
        assert!(two.comes_after(&one.clone().next().next()));
        assert!(one.clone().next().comes_after(&one) && !one.comes_after(&one.clone().next()));
        let third = streams[0].launches(1);
        assert!(!third.comes_after(&beside));
        streams[1].waited();
        let fourth = streams[0].launches(1);
        assert!(fourth.comes_after(&beside) && fourth.comes_after(&behind));
    }
}
