//! A worker process: started, listened to, and ended when it is silent for too long.

use super::{args::Args, line::Line};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// How a worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All was done.
    Done,
    /// It said nothing for too long.
    Silent,
    /// The time of the whole program was up.
    TimeUp,
    /// It ended before its work did.
    Died(String),
}

/// Runs `work` in a process of its own and hands over each line.
pub(super) fn run(
    args: &Args,
    work: &[&str],
    deadline: Instant,
    each: &mut dyn FnMut(Line),
) -> End {
    let started = std::env::current_exe().and_then(|program| {
        Command::new(program)
            .args(args.for_worker())
            .args(work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
    });
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return End::Died(format!("not started: {error}")),
    };
    let (send, receive) = mpsc::channel();
    let output = child.stdout.take().expect("stdout was piped");
    // Ends when the worker does, as that closes its end.
    thread::spawn(move || {
        for text in BufReader::new(output).lines().map_while(Result::ok) {
            let line = serde_json::from_str(&text).unwrap_or(Line::Note { text });
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let patience = Duration::from_secs(args.patience);
    let mut done = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receive.recv_timeout(patience.min(left)) {
            Ok(Line::Done) => done = true,
            Ok(line) => each(line),
            Err(RecvTimeoutError::Timeout) => {
                kill(&mut child);
                return if left <= patience {
                    End::TimeUp
                } else {
                    End::Silent
                };
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match child.wait() {
        Ok(_) if done => End::Done,
        Ok(status) => End::Died(status.to_string()),
        Err(error) => End::Died(error.to_string()),
    }
}

/// Ends a worker; one that the driver holds on to is left behind.
fn kill(child: &mut Child) {
    // It may have ended by itself.
    drop(child.kill());
    let until = Instant::now() + Duration::from_secs(10);
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
}
